//! Where rows live changes nothing, and folds, merges and reloads lose nothing.

use std::collections::BTreeMap;
use std::fs;

use agentmem::ann::Mode;
use agentmem::hybrid::Index;
use agentmem::row::Row;
use proptest::prelude::*;

use crate::fixtures::{NDIM, WORDS, filled, letters, open, row, searches, vector};

type Rows = Vec<(Row, Vec<f32>)>;

#[derive(Clone, Debug)]
enum Step {
    Apply(Rows, Vec<usize>),
    Fold,
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (prop::collection::vec(row(), 0..12), prop::collection::vec(0_usize..1000, 0..4))
            .prop_map(|(rows, removed)| Step::Apply(rows, removed)),
        3 => Just(Step::Fold),
        1 => Just(Step::Reopen),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    /// Any history of applying, folding and reopening holds the rows of a dictionary, and ranks them to the bit
    /// as an index that got them all at once.
    #[test]
    fn where_rows_live_changes_nothing(steps in prop::collection::vec(step(), 1..14)) {
        let dir = tempfile::tempdir().unwrap();
        let mut index = open(dir.path()).unwrap();
        let follower = open(dir.path()).unwrap();
        let mut model: BTreeMap<u64, (Row, Vec<f32>)> = BTreeMap::new();
        let mut log: Vec<(u64, Rows, Vec<u64>)> = Vec::new();
        let mut seq = 0;
        for step in steps {
            match step {
                Step::Apply(rows, removed) => {
                    seq += 1;
                    for (row, flat) in &rows {
                        model.insert(row.key, (row.clone(), flat.clone()));
                    }
                    let removed: Vec<u64> =
                        removed.iter().filter_map(|at| model.keys().nth(at % model.len().max(1)).copied()).collect();
                    for key in &removed {
                        model.remove(key);
                    }
                    index.apply(rows.clone(), &removed, seq).unwrap();
                    follower.apply(rows.clone(), &removed, seq).unwrap();
                    log.push((seq, rows, removed));
                }
                Step::Fold => {
                    index.fold(1, true).unwrap();
                    follower.reload().unwrap();
                }
                Step::Reopen => {
                    index = open(dir.path()).unwrap();
                    let watermark = index.watermark();
                    for (seq, rows, removed) in log.iter().filter(|(seq, ..)| *seq > watermark) {
                        index.apply(rows.clone(), removed, *seq).unwrap();
                    }
                }
            }
        }
        let whole = Index::private(NDIM, Mode::Exact).unwrap();
        whole.apply(model.values().cloned().collect(), &[], seq).unwrap();
        let expected = searches(&whole).unwrap();
        for tested in [&index, &follower] {
            prop_assert_eq!(tested.keys(), model.keys().copied().collect::<Vec<_>>());
            prop_assert_eq!(tested.applied(), seq);
            prop_assert_eq!(&searches(tested).unwrap(), &expected);
        }
        for hit in expected.iter().flatten() {
            prop_assert_eq!(&hit.row, &model[&hit.row.key].0);
        }
        whole.fold(1, false).unwrap();
        prop_assert_eq!(&searches(&whole).unwrap(), &expected);
        index.fold(1, false).unwrap();
        index.verify().unwrap();
    }
}

/// Rows that pile up in many folds are merged, those that died are dropped, and what nobody names is deleted.
#[test]
fn segments_merge_and_wear_off() {
    let dir = tempfile::tempdir().unwrap();
    let index = open(dir.path()).unwrap();
    for batch in 0..20_u64 {
        let rows = (0..5).map(|at| {
            (
                Row {
                    key: batch * 5 + at,
                    text: format!("common {batch}"),
                    is_current: true,
                    ..Row::default()
                },
                vector(at),
            )
        });
        index.apply(rows.collect(), &[], batch + 1).unwrap();
        index.fold(1, false).unwrap();
    }
    let stats = index.stats();
    assert!(stats.segments < 8, "{stats:?}");
    assert_eq!((stats.live, stats.dead), (100, 0));
    index
        .apply(Vec::new(), &(0..90).collect::<Vec<_>>(), 21)
        .unwrap();
    assert_eq!(index.stats().dead, 90);
    index.fold(1, false).unwrap();
    let stats = index.stats();
    assert_eq!((stats.live, stats.dead), (10, 0), "{stats:?}");
    let folders = fs::read_dir(dir.path())
        .unwrap()
        .filter(|item| item.as_ref().unwrap().path().is_dir())
        .count();
    assert!(
        folders <= 2 * stats.segments + 2,
        "{folders} folders for {stats:?}"
    );
    index
        .apply(Vec::new(), &(0..100).collect::<Vec<_>>(), 22)
        .unwrap();
    index.fold(1, false).unwrap();
    assert_eq!(
        (index.stats().rows, index.is_empty(), index.watermark()),
        (0, true, 22)
    );
    assert!(open(dir.path()).unwrap().is_empty());
}

/// A fold that fails changes nothing, and the next one makes up for it.
#[test]
fn a_failed_fold_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let index = filled(dir.path());
    index
        .apply(
            vec![(
                Row {
                    key: 500,
                    text: "late".into(),
                    is_current: true,
                    ..Row::default()
                },
                vector(3),
            )],
            &[2],
            10,
        )
        .unwrap();
    let before = searches(&index).unwrap();
    let hidden = dir.path().with_extension("hidden");
    fs::rename(dir.path(), &hidden).unwrap();
    assert!(index.fold(1, false).is_err());
    fs::rename(&hidden, dir.path()).unwrap();
    assert_eq!((index.watermark(), index.applied()), (9, 10));
    assert_eq!(searches(&index).unwrap(), before);
    index
        .apply(
            vec![(
                Row {
                    key: 501,
                    text: "later".into(),
                    is_current: true,
                    ..Row::default()
                },
                vector(4),
            )],
            &[500],
            11,
        )
        .unwrap();
    let before = searches(&index).unwrap();
    assert!(index.fold(1, false).unwrap());
    assert_eq!(searches(&index).unwrap(), before);
    assert_eq!(searches(&open(dir.path()).unwrap()).unwrap(), before);
}

/// Opening and reloading while generations come and old files go meets a whole generation each time.
#[test]
fn opening_meets_no_half_generation() {
    let dir = tempfile::tempdir().unwrap();
    let writer = open(dir.path()).unwrap();
    let reader = open(dir.path()).unwrap();
    let apply = |index: &Index, number: u64| {
        let row = Row {
            key: number % 40,
            text: format!("common {number}"),
            is_current: true,
            ..Row::default()
        };
        index
            .apply(vec![(row, vector(number))], &[], number + 1)
            .unwrap();
    };
    std::thread::scope(|scope| {
        let folds = scope.spawn(|| {
            for number in 0..60 {
                apply(&writer, number);
                writer.fold(1, false).unwrap();
            }
        });
        let mut seen = 0;
        while !folds.is_finished() || seen < 60 {
            let opened = open(dir.path()).unwrap();
            assert!(opened.watermark() >= seen);
            seen = opened.watermark();
            assert_eq!(opened.len() as u64, seen.min(40));
            reader.reload().unwrap();
            assert_eq!(reader.len() as u64, reader.watermark().min(40));
        }
    });
}

/// Rows that are replaced and removed while folds and merges run end as if they had not run.
#[test]
fn changes_during_a_fold_are_kept() {
    let dir = tempfile::tempdir().unwrap();
    let index = open(dir.path()).unwrap();
    let row = |key: u64, round: u64| {
        let text = format!(
            "{} common {}",
            WORDS[(key % 12) as usize],
            letters(key + round * 1_000)
        );
        (
            Row {
                key,
                text,
                is_current: true,
                ..Row::default()
            },
            vector(key + round),
        )
    };
    let mut model: BTreeMap<u64, (Row, Vec<f32>)> = BTreeMap::new();
    let mut seq = 0;
    std::thread::scope(|scope| {
        let folds = scope.spawn(|| {
            for _ in 0..25 {
                index.fold(1, true).unwrap();
            }
        });
        while !folds.is_finished() || seq < 100 {
            seq += 1;
            let rows: Vec<_> = (0..40)
                .map(|at| row((seq * 17 + at * 3) % 400, seq))
                .collect();
            let removed: Vec<u64> = (0..4).map(|at| (seq * 29 + at * 7) % 400).collect();
            for (row, flat) in &rows {
                model.insert(row.key, (row.clone(), flat.clone()));
            }
            for key in &removed {
                model.remove(key);
            }
            index.apply(rows, &removed, seq).unwrap();
        }
    });
    let whole = Index::private(NDIM, Mode::Exact).unwrap();
    whole
        .apply(model.values().cloned().collect(), &[], seq)
        .unwrap();
    let expected = searches(&whole).unwrap();
    assert_eq!(index.keys(), model.keys().copied().collect::<Vec<_>>());
    assert_eq!(searches(&index).unwrap(), expected);
    index.fold(1, false).unwrap();
    let again = open(dir.path()).unwrap();
    assert_eq!((again.watermark(), again.tail_len()), (seq, 0));
    assert_eq!(searches(&again).unwrap(), expected);
}

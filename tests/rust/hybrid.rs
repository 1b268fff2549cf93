//! The hybrid index against plain oracles: where rows live changes nothing, filters are exact, nothing is lost.
#![allow(missing_docs, clippy::unwrap_used)]
// The oracle compares as JSON does: exactly.
#![allow(clippy::float_cmp)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use agentmem::ann::Mode;
use agentmem::filter::{Filter, parse_where};
use agentmem::hybrid::{Hints, Hit, Index, Ranking, Request};
use agentmem::row::Row;
use agentmem::{Error, bm25};
use proptest::prelude::*;
use proptest::sample::select;

const NDIM: usize = 8;
static NO_HINTS: Hints = Hints::new();
/// The measured ranking: rows of a session support one another.
static RANKING: LazyLock<Ranking> = LazyLock::new(|| Ranking::measured(60.0));
const NOW: i64 = 1_000_000;
const WORDS: [&str; 12] = [
    "deploy",
    "staging",
    "coffee",
    "auth.ts:42",
    "gpt-4o",
    "Nẵng",
    "nang",
    "部署方案",
    "snake_case",
    "the",
    "🎉",
    "don't",
];
const SCOPES: [&str; 9] = [
    "",
    "acme",
    "acme/a",
    "acme/a/b",
    "acme-corp",
    "acme0",
    "a%",
    "a_me",
    "acm",
];

fn vector(seed: u64) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    (0..NDIM)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 40) as f32 / (1 << 23) as f32 - 1.0
        })
        .collect()
}

fn metadata() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        select(vec![
            r#"{"n": 1}"#,
            r#"{"n": 1.0}"#,
            r#"{"n": 2.5}"#,
            r#"{"n": true}"#,
            r#"{"n": "x"}"#,
            r#"{"n": "1"}"#,
            r#"{"n": [1, "x"]}"#,
            r#"{"n": null}"#,
            r#"{"n": -3, "o": {"p": "q"}}"#,
            r#"{"n": {"p": 1}}"#,
        ])
        .prop_map(str::to_owned),
        (195_usize..205, "[a-c]")
            .prop_map(|(length, end)| format!(r#"{{"n": "{}{end}"}}"#, "y".repeat(length))),
    ]
}

fn row() -> impl Strategy<Value = (Row, Vec<f32>)> {
    let words = prop::collection::vec(select(&WORDS[..]), 0..12);
    let times = (
        0_i64..40,
        prop::option::of(0_i64..40),
        prop::option::of(0_i64..40),
        prop::option::of(NOW - 5..NOW + 5),
    );
    let names = (
        select(&SCOPES[..]),
        prop::option::of("[st]"),
        prop::option::of("[uv]"),
        prop::collection::vec("[gh,]", 0..3),
    );
    let numbers = (
        0_u64..60,
        1_u8..3,
        any::<bool>(),
        48_i64..53,
        0_i64..4,
        0_u64..12,
        0_usize..4,
    );
    (
        words,
        times,
        names,
        numbers,
        metadata(),
        select(vec!["fact", "rule"]),
    )
        .prop_map(
            |(
                words,
                (created, event, from, to),
                (scope, session, subject, tags),
                numbers,
                metadata,
                kind,
            )| {
                let (number, tier, is_current, priority, trust, seed, vectors) = numbers;
                let row = Row {
                    key: u64::from(tier) << 56 | number,
                    tier,
                    kind: kind.to_owned(),
                    scope: scope.to_owned(),
                    session,
                    position: number as i64,
                    text: words.join(" "),
                    created_ms: created,
                    event_ms: event,
                    valid_from_ms: from,
                    valid_to_ms: to,
                    is_current: is_current || number % 2 == 0,
                    priority,
                    trust,
                    subject,
                    tags,
                    metadata,
                    sources: vec![format!("L0:{number}")],
                };
                let flat = (0..vectors)
                    .flat_map(|at| vector(seed + at as u64))
                    .collect();
                (row, flat)
            },
        )
}

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

fn request<'a>(text: &'a str, vector: Option<&'a [f32]>, filter: &'a Filter) -> Request<'a> {
    Request {
        text,
        vector,
        k: 200,
        depth: 200,
        weights: (1.0, 1.0),
        ranking: &RANKING,
        hints: &NO_HINTS,
        filter,
    }
}

fn everything() -> Filter {
    Filter {
        as_of_ms: None,
        now_ms: NOW,
        ..Filter::default()
    }
}

fn open(dir: &Path) -> agentmem::Result<Index> {
    Index::open(dir, "epoch", "space", NDIM, Mode::Exact)
}

fn searches(index: &Index) -> agentmem::Result<Vec<Vec<Hit>>> {
    let filter = everything();
    WORDS
        .iter()
        .copied()
        .chain(["coffee deploy 部署 nẵng auth", ""])
        .enumerate()
        .map(|(seed, text)| {
            // No row is in the first group; some are in the second.
            let hints = vec![vec![(-9, -5)], vec![(seed as i64, 20), (30, 33)]];
            index.search(&Request {
                hints: &hints,
                ..request(text, Some(&vector(seed as u64)), &filter)
            })
        })
        .collect()
}

/// A row as an oracle sees it, and whether a filter lets it through.
fn lets_through(filter: &Filter, conditions: &str, row: &Row) -> bool {
    let time = row.event_ms.unwrap_or(row.created_ms);
    let visible = match filter.as_of_ms {
        None => row.is_current && row.valid_to_ms.is_none_or(|to| to > filter.now_ms),
        Some(at) => {
            row.valid_from_ms.unwrap_or(row.created_ms) <= at
                && row.valid_to_ms.is_none_or(|to| to > at)
        }
    };
    let scoped = filter.scopes.is_empty()
        || filter.scopes.iter().any(|scope| {
            scope.is_empty() || row.scope == *scope || row.scope.starts_with(&format!("{scope}/"))
        });
    visible
        && scoped
        && filter.tiers >> row.tier & 1 == 1
        && filter
            .kinds
            .as_ref()
            .is_none_or(|kinds| kinds.contains(&row.kind))
        && filter.tags.iter().all(|tag| row.tags.contains(tag))
        && filter
            .any_tags
            .as_ref()
            .is_none_or(|tags| tags.iter().any(|tag| row.tags.contains(tag)))
        && filter
            .session
            .as_ref()
            .is_none_or(|session| row.session.as_ref() == Some(session))
        && filter.since_ms.is_none_or(|since| time >= since)
        && filter.until_ms.is_none_or(|until| time < until)
        && holds(conditions, row)
}

/// The meaning of each `where` that the filter test uses, written out by hand.
fn holds(conditions: &str, row: &Row) -> bool {
    let parsed: serde_json::Value = serde_json::from_str(&row.metadata).unwrap_or_default();
    let at = |path: &str| {
        let mut value = &parsed;
        for key in path.split('.') {
            value = value.get(key)?;
        }
        Some(value)
    };
    let values: Vec<&serde_json::Value> = match at("n") {
        Some(serde_json::Value::Array(items)) => items.iter().collect(),
        Some(serde_json::Value::Object(_)) | None => Vec::new(),
        Some(value) => vec![value],
    };
    let numbers = || values.iter().filter_map(|value| value.as_f64());
    let texts = || values.iter().filter_map(|value| value.as_str());
    let long = format!("{}b", "y".repeat(200));
    match conditions {
        "" => true,
        r#"{"n": 1}"# => numbers().any(|n| n == 1.0),
        r#"{"n": {"$ne": 1}}"# => !numbers().any(|n| n == 1.0),
        r#"{"n": {"$gte": 1, "$lt": 3}}"# => {
            numbers().any(|n| n >= 1.0) && numbers().any(|n| n < 3.0)
        }
        r#"{"n": {"$in": ["x", 2.5, null]}}"# => {
            texts().any(|t| t == "x")
                || numbers().any(|n| n == 2.5)
                || values.iter().any(|v| v.is_null())
        }
        r#"{"n": {"$nin": [true, -3]}}"# => {
            !numbers().any(|n| n == -3.0) && !values.iter().any(|v| v.as_bool() == Some(true))
        }
        r#"{"n": {"$exists": false}}"# => at("n").is_none(),
        r#"{"n.p": {"$exists": true}}"# => at("n.p").is_some(),
        r#"{"o.p": "q"}"# => at("o.p").is_some_and(|v| v == "q"),
        "LONG" => texts().any(|t| t > long.as_str()),
        r#"{"$priority": {"$gt": 50}, "$trust": {"$in": [1, 2]}}"# => {
            row.priority > 50 && [1, 2].contains(&row.trust)
        }
        r#"{"$session": {"$exists": true}, "$subject": {"$ne": "u"}}"# => {
            row.session.is_some() && row.subject.as_deref() != Some("u")
        }
        r#"{"$tag": {"$gt": "g"}}"# => row.tags.iter().any(|tag| tag.as_str() > "g"),
        other => unreachable!("{other}"),
    }
}

const CONDITIONS: [&str; 13] = [
    "",
    r#"{"n": 1}"#,
    r#"{"n": {"$ne": 1}}"#,
    r#"{"n": {"$gte": 1, "$lt": 3}}"#,
    r#"{"n": {"$in": ["x", 2.5, null]}}"#,
    r#"{"n": {"$nin": [true, -3]}}"#,
    r#"{"n": {"$exists": false}}"#,
    r#"{"n.p": {"$exists": true}}"#,
    r#"{"o.p": "q"}"#,
    "LONG",
    r#"{"$priority": {"$gt": 50}, "$trust": {"$in": [1, 2]}}"#,
    r#"{"$session": {"$exists": true}, "$subject": {"$ne": "u"}}"#,
    r#"{"$tag": {"$gt": "g"}}"#,
];

fn filter() -> impl Strategy<Value = (Filter, &'static str)> {
    let scopes = prop::collection::vec(select(&SCOPES[..]).prop_map(str::to_owned), 0..3);
    let tags = (
        prop::collection::vec("[gh,]", 0..2),
        prop::option::of(prop::collection::vec("[gh,]", 0..2)),
    );
    let kinds = prop::option::of(prop::collection::vec(
        select(vec!["fact", "rule", "other"]),
        0..2,
    ));
    let times = (
        prop::option::of(0_i64..40),
        prop::option::of(0_i64..40),
        prop::option::of(0_i64..40),
    );
    (
        scopes,
        tags,
        kinds,
        times,
        0_u32..8,
        prop::option::weighted(0.2, "[st]"),
        select(&CONDITIONS[..]),
    )
        .prop_map(
            |(
                scopes,
                (tags, any_tags),
                kinds,
                (since_ms, until_ms, as_of_ms),
                tiers,
                session,
                conditions,
            )| {
                let json = match conditions {
                    "" => "{}".to_owned(),
                    "LONG" => format!(r#"{{"n": {{"$gt": "{}b"}}}}"#, "y".repeat(200)),
                    json => json.to_owned(),
                };
                let filter = Filter {
                    tiers,
                    scopes,
                    kinds: kinds.map(|all| all.into_iter().map(str::to_owned).collect()),
                    tags,
                    any_tags,
                    session,
                    since_ms,
                    until_ms,
                    now_ms: NOW,
                    as_of_ms,
                    conditions: parse_where(&json).unwrap(),
                    keys: None,
                };
                (filter, conditions)
            },
        )
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

    /// A filter lets exactly those rows through that a plain reading of it does, in the tail and in segments.
    #[test]
    fn filters_are_exact(
        rows in prop::collection::vec(row(), 1..80),
        filters in prop::collection::vec(filter(), 1..12),
        cut in 0_usize..80,
    ) {
        let index = Index::private(NDIM, Mode::Exact).unwrap();
        let mut model = BTreeMap::new();
        for (at, (row, flat)) in rows.into_iter().enumerate() {
            let row = Row { text: format!("{} common", row.text), ..row };
            model.insert(row.key, row.clone());
            let flat = if flat.is_empty() { vector(1) } else { flat };
            index.apply(vec![(row, flat)], &[], 0).unwrap();
            if at == cut {
                index.fold(1, false).unwrap();
            }
        }
        for (filter, conditions) in &filters {
            let expected: Vec<u64> =
                model.values().filter(|row| lets_through(filter, conditions, row)).map(|row| row.key).collect();
            let query = vector(5);
            for request in [request("common", None, filter), request("", Some(&query), filter)] {
                let mut found: Vec<u64> =
                    index.search(&request).unwrap().iter().map(|hit| hit.row.key).collect();
                found.sort_unstable();
                prop_assert_eq!(&found, &expected, "{:?} {}", filter, conditions);
            }
        }
    }

    /// Scores are those of the formula, computed plainly in `f64` from the texts.
    #[test]
    fn bm25_is_the_formula(texts in prop::collection::vec(prop::collection::vec(select(vec!["aa", "bb", "cc", "dd"]), 1..60), 1..40)) {
        let index = Index::private(NDIM, Mode::Exact).unwrap();
        let rows = texts.iter().zip(0..).map(|(words, key)| {
            (Row { key, text: words.join(" "), is_current: true, ..Row::default() }, Vec::new())
        });
        index.apply(rows.collect(), &[], 0).unwrap();
        index.fold(1, false).unwrap();
        let n = texts.len() as f64;
        let average = texts.iter().map(Vec::len).sum::<usize>() as f64 / n;
        let filter = everything();
        for hit in index.search(&request("aa cc", None, &filter)).unwrap() {
            let words = &texts[hit.row.key as usize];
            let byte = bm25::length_byte(words.len() as u32);
            let length = f64::from(tantivy::fieldnorm::FieldNormReader::id_to_fieldnorm(byte));
            let score: f64 = ["aa", "cc"]
                .iter()
                .map(|term| {
                    let df = texts.iter().filter(|words| words.contains(term)).count() as f64;
                    let tf = words.iter().filter(|word| *word == term).count() as f64;
                    let idf = (1.0 + (n - df + 0.5) / (df + 0.5)).ln();
                    idf * tf * 2.2 / (tf + 1.2 * (1.0 - 0.75 + 0.75 * length / average))
                })
                .sum();
            let got = f64::from(hit.bm25_score.unwrap());
            prop_assert!((got - score).abs() < 1e-4 * score.max(1.0), "{} {}", got, score);
        }
    }
}

fn filled(dir: &Path) -> Index {
    let index = open(dir).unwrap();
    for batch in 0..3_u64 {
        let rows = (0..40).map(|at| {
            let number = batch * 40 + at;
            let row = Row {
                key: number,
                text: format!(
                    "{} {} common",
                    WORDS[number as usize % 12],
                    WORDS[number as usize / 12 % 12]
                ),
                scope: SCOPES[number as usize % 9].to_owned(),
                is_current: true,
                metadata: format!(r#"{{"n": {number}}}"#),
                ..Row::default()
            };
            (row, vector(number))
        });
        index
            .apply(rows.collect(), &[batch * 40 + 1], batch + 1)
            .unwrap();
        index.fold(1, false).unwrap();
    }
    index.apply(Vec::new(), &[7, 50], 9).unwrap();
    index.fold(1, false).unwrap();
    index
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for item in fs::read_dir(dir).unwrap() {
        let path = item.unwrap().path();
        if path.is_dir() {
            all.extend(files(&path));
        } else if path.file_name().unwrap() != "LOCK" {
            all.push(path);
        }
    }
    all.sort();
    all
}

/// Whatever happens to a file: an error that says so, or the same answers.
#[test]
fn damage_is_noticed() {
    let dir = tempfile::tempdir().unwrap();
    let expected = searches(&filled(dir.path())).unwrap();
    let all = files(dir.path());
    assert!(all.len() > 20, "{all:?}");
    let (mut trials, mut noticed) = (0, 0);
    let mut try_it = |what: &str, path: &Path, content: Option<&[u8]>| {
        let before = fs::read(path).unwrap();
        match content {
            Some(content) => fs::write(path, content).unwrap(),
            None => fs::remove_file(path).unwrap(),
        }
        trials += 1;
        match open(dir.path()).and_then(|index| Ok((searches(&index)?, index))) {
            Err(Error::IndexCorrupt { .. }) => noticed += 1,
            Err(other) => panic!("{what} {}: {other}", path.display()),
            // Without its manifest a folder is an empty index with watermark 0: the store applies everything anew.
            Ok((_, index)) if index.watermark() == 0 && index.is_empty() => {}
            Ok((found, _)) => assert_eq!(found, expected, "{what} {}", path.display()),
        }
        fs::write(path, before).unwrap();
    };
    for (number, path) in all.iter().enumerate() {
        let content = fs::read(path).unwrap();
        if content.is_empty() {
            continue;
        }
        for place in [
            0,
            content.len() / 2,
            content.len() - 1,
            (number * 7919) % content.len(),
        ] {
            let mut flipped = content.clone();
            flipped[place] ^= 1 << (number % 8);
            try_it("flipped", path, Some(&flipped));
        }
        try_it("cut", path, Some(&content[..content.len() / 2]));
        try_it("emptied", path, Some(&[]));
        try_it("deleted", path, None);
        let other = fs::read(&all[(number + 5) % all.len()]).unwrap();
        try_it("swapped", path, Some(&other));
    }
    assert!(
        trials >= 150 && noticed * 10 >= trials * 9,
        "{noticed} of {trials}"
    );
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

/// Two rows with the same score are ordered by key, wherever they are; one row counts by its best vector.
#[test]
fn ties_go_to_the_smaller_key() {
    let index = Index::private(NDIM, Mode::Exact).unwrap();
    let filter = everything();
    for key in [9, 3, 7, 1, 5] {
        let row = Row {
            key,
            text: "same words".into(),
            is_current: true,
            ..Row::default()
        };
        index
            .apply(vec![(row, [vector(8), vector(2)].concat())], &[], 0)
            .unwrap();
        if key == 7 {
            index.fold(1, false).unwrap();
        }
    }
    let query = vector(2);
    let hits = index
        .search(&Request {
            k: 3,
            depth: 3,
            ..request("same", Some(&query), &filter)
        })
        .unwrap();
    assert_eq!(
        hits.iter().map(|hit| hit.row.key).collect::<Vec<_>>(),
        [1, 3, 5]
    );
    assert!(hits.iter().all(|hit| hit.cosine.unwrap() > 0.999));
}

/// Long posting lists are not always read to their end; the ranking is the same as if they were.
#[test]
fn frequent_terms_rank_alike() {
    let word = |rank: u64| format!("zq{}", letters(rank));
    let text = |seed: u64| {
        let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        (0..14)
            .map(|_| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                // Ranks fall off as in Zipf's law.
                let uniform = (state >> 33) as f64 / (1_u64 << 31) as f64;
                word((2_000_f64.powf(uniform) - 1.0) as u64)
            })
            .collect::<Vec<_>>()
            .join(" ")
    };
    let tail = Index::private(NDIM, Mode::Exact).unwrap();
    let folded = Index::private(NDIM, Mode::Exact).unwrap();
    let rows: Vec<_> = (0..4_000)
        .map(|key| {
            let is_current = key % 5 != 0;
            let row = Row {
                key,
                text: text(key),
                is_current,
                ..Row::default()
            };
            (row, Vec::new())
        })
        .collect();
    tail.apply(rows.clone(), &[], 0).unwrap();
    for half in rows.chunks(3_000) {
        folded.apply(half.to_vec(), &[], 0).unwrap();
        folded.fold(1, false).unwrap();
    }
    for index in [&tail, &folded] {
        assert_eq!(
            index
                .remove(&(0..4_000).step_by(9).collect::<Vec<_>>())
                .unwrap(),
            445
        );
    }
    let filter = everything();
    for seed in 10_000..10_080 {
        for depth in [5, 50] {
            // Now words as they fall, now a few telling ones among the most frequent.
            let text = match seed % 2 {
                0 => text(seed),
                _ => [60 + seed % 90, 0, 150 + seed % 70, 1, 2]
                    .map(word)
                    .join(" "),
            };
            let request = Request {
                k: depth,
                depth,
                ..request(&text, None, &filter)
            };
            let expected = tail.search(&request).unwrap();
            assert_eq!(expected.len(), depth);
            assert_eq!(folded.search(&request).unwrap(), expected, "{text}");
        }
    }
}

/// A number in letters: the analyzer parts letters from digits.
fn letters(mut number: u64) -> String {
    let mut out = String::new();
    loop {
        out.push(char::from(b'a' + (number % 26) as u8));
        number /= 26;
        if number == 0 {
            return out;
        }
    }
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

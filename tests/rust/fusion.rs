//! From two signals to one ranking: support of sessions, named times, first places, small terms.
#![allow(missing_docs, clippy::unwrap_used)]

use agentmem::ann::Mode;
use agentmem::filter::Filter;
use agentmem::hybrid::{
    Hints, Hit, Index, Method, Ranking, Relevance, Request, Signals, Terms, part,
};
use agentmem::row::Row;
use agentmem::rrf;

const NDIM: usize = 4;
static NO_HINTS: Hints = Hints::new();
const DAY: i64 = 86_400_000;

fn row(key: u64, session: Option<&str>, text: &str) -> Row {
    Row {
        key,
        session: session.map(str::to_owned),
        position: key as i64,
        text: text.to_owned(),
        is_current: true,
        ..Row::default()
    }
}

fn index(rows: Vec<(Row, Vec<f32>)>) -> Index {
    let index = Index::private(NDIM, Mode::Exact).unwrap();
    index.apply(rows, &[], 0).unwrap();
    index
}

fn search(
    index: &Index,
    text: &str,
    vector: impl Into<Option<&'static [f32; 4]>>,
    ranking: &Ranking,
    hints: &Hints,
) -> Vec<Hit> {
    let filter = Filter::default();
    index
        .search(&Request {
            text,
            vector: vector.into().map(<[f32; 4]>::as_slice),
            k: 50,
            depth: 50,
            weights: (1.0, 1.0),
            ranking,
            hints,
            names: &[],
            filter: &filter,
        })
        .unwrap()
}

fn keys(hits: &[Hit]) -> Vec<u64> {
    hits.iter().map(|hit| hit.row.key).collect()
}

static NORTH: [f32; 4] = [1.0, 0.0, 0.0, 0.0];
static EAST: [f32; 4] = [0.0, 1.0, 0.0, 0.0];

/// Two sessions of ten turns; two neighbouring turns of the second, and one lone row, share a word with the question.
fn talk() -> Index {
    let mut rows = Vec::new();
    for key in 0..10 {
        rows.push((row(key, Some("a"), "small talk"), EAST.to_vec()));
    }
    for key in 10..20 {
        let text = match key {
            14 => "the violin is at the luthier's",
            15 => "violin ready on friday",
            16 => "ready then",
            _ => "small talk",
        };
        rows.push((row(key, Some("b"), text), EAST.to_vec()));
    }
    rows.push((
        row(20, Some("c"), "a violin and then ready by noon"),
        EAST.to_vec(),
    ));
    index(rows)
}

#[test]
fn a_row_is_lifted_by_its_neighbours() {
    let index = talk();
    let plain = search(
        &index,
        "violin ready",
        None,
        &Ranking::plain(60.0),
        &NO_HINTS,
    );
    let measured = search(
        &index,
        "violin ready",
        None,
        &Ranking::measured(60.0),
        &NO_HINTS,
    );
    let place = |hits: &[Hit], key| hits.iter().position(|hit| hit.row.key == key).unwrap();
    // Turn 16 says only "ready": what its neighbours say is support.
    assert!(place(&plain, 16) > place(&plain, 20));
    assert!(place(&measured, 16) < place(&measured, 20));
    assert_eq!(keys(&measured)[0], 15);
}

#[test]
fn an_answer_that_repeats_nothing_is_found_beside_its_question() {
    let index = talk();
    let found = |ranking: &Ranking, keys: Option<Vec<u64>>| {
        let filter = Filter {
            keys,
            ..Filter::default()
        };
        let request = Request {
            text: "violin ready",
            vector: None,
            k: 50,
            depth: 50,
            weights: (1.0, 1.0),
            ranking,
            hints: &NO_HINTS,
            names: &[],
            filter: &filter,
        };
        let hits = index.search(&request).unwrap();
        hits.iter().map(|hit| hit.row.key).collect::<Vec<_>>()
    };
    // Turns 13 and 17 hold no word of the question; nor do those of the third session, which has one turn.
    let mut plain = found(&Ranking::plain(60.0), None);
    plain.sort_unstable();
    assert_eq!(plain, [14, 15, 16, 20]);
    let mut measured = found(&Ranking::measured(60.0), None);
    measured.sort_unstable();
    assert_eq!(measured, [13, 14, 15, 16, 17, 20]);
    let filtered = found(&Ranking::measured(60.0), Some(vec![13, 14, 20]));
    assert!(filtered.iter().all(|key| [13, 14, 20].contains(key)));
    assert!(filtered.contains(&13));
    index.remove(&[13]).unwrap();
    assert!(!found(&Ranking::measured(60.0), None).contains(&13));
}

#[test]
fn parts_add_up_and_say_which_list_they_are_of() {
    let index = talk();
    let hits = search(
        &index,
        "violin ready",
        None,
        &Ranking::measured(60.0),
        &NO_HINTS,
    );
    for hit in &hits {
        let sum: f64 = hit.parts.iter().map(|part| part.value).sum();
        assert!((sum - hit.score).abs() < 1e-12);
        assert!(hit.parts[part::SESSION].rank > 0);
        assert_eq!(hit.rrf_k, Some(10.0));
    }
    let best = &hits[0];
    assert_eq!(best.parts[part::BM25].rank, best.bm25_rank.unwrap());
    assert!(hits.iter().any(|hit| hit.parts[part::FIRST].value > 0.0));
}

#[test]
fn without_sessions_the_ranking_is_that_of_two_lists() {
    let rows = (0..40_u64)
        .map(|key| {
            let text = ["red kite", "red", "kite over oslo", "oslo"][key as usize % 4];
            let angle = key as f32 / 7.0;
            (
                row(key, None, text),
                vec![angle.cos(), angle.sin(), 0.0, 0.0],
            )
        })
        .collect();
    let index = index(rows);
    let (plain, measured) = (Ranking::plain(60.0), Ranking::measured(60.0));
    assert_eq!(
        search(&index, "red oslo", &NORTH, &measured, &NO_HINTS),
        search(&index, "red oslo", &NORTH, &plain, &NO_HINTS),
    );
    let hits = search(&index, "red oslo", &NORTH, &plain, &NO_HINTS);
    let list = |rank: fn(&Hit) -> Option<u32>| {
        let mut list: Vec<&Hit> = hits.iter().filter(|hit| rank(hit).is_some()).collect();
        list.sort_by_key(|hit| rank(hit));
        list.iter().map(|hit| hit.row.key).collect::<Vec<_>>()
    };
    let lists = [list(|hit| hit.bm25_rank), list(|hit| hit.ann_rank)];
    let fused = rrf::fuse(&[&lists[0], &lists[1]], None, 60.0);
    assert_eq!(
        keys(&hits),
        fused.iter().map(|&(key, _)| key).collect::<Vec<_>>()
    );
}

#[test]
fn the_first_of_either_signal_stays_in() {
    // A session of 40 rows with the word, all alike; one row elsewhere that only its vector finds.
    let mut rows: Vec<_> = (0..40)
        .map(|key| (row(key, Some("a"), "deploy to staging"), EAST.to_vec()))
        .collect();
    rows.push((row(99, Some("b"), "unrelated"), NORTH.to_vec()));
    let by_vector = search(
        &index(rows),
        "deploy",
        &NORTH,
        &Ranking::measured(60.0),
        &NO_HINTS,
    );
    assert!(keys(&by_vector)[..5].contains(&99));
    let mut rows: Vec<_> = (0..40)
        .map(|key| (row(key, Some("a"), "nothing"), NORTH.to_vec()))
        .collect();
    rows.push((row(99, Some("b"), "deploy to staging"), EAST.to_vec()));
    let by_words = search(
        &index(rows),
        "deploy",
        &NORTH,
        &Ranking::measured(60.0),
        &NO_HINTS,
    );
    assert!(keys(&by_words)[..5].contains(&99));
}

fn year() -> Index {
    let rows = (0..365)
        .map(|day| {
            let row = Row {
                event_ms: Some(day * DAY),
                ..row(day as u64, None, "lunch with the team")
            };
            (row, EAST.to_vec())
        })
        .collect();
    index(rows)
}

#[test]
fn a_named_time_lifts_its_rows_and_drops_none() {
    let index = year();
    let hints = vec![vec![(200 * DAY, 203 * DAY)]];
    let found = search(&index, "lunch", &NORTH, &Ranking::measured(60.0), &hints);
    assert_eq!(keys(&found)[..3], [200, 201, 202]);
    assert_eq!(found.len(), 50);
}

#[test]
fn of_several_times_the_first_with_rows_is_meant() {
    let index = year();
    let empty = vec![(-20 * DAY, -10 * DAY)];
    let ranking = Ranking::measured(60.0);
    let none = search(&index, "lunch", &NORTH, &ranking, &vec![empty.clone()]);
    assert_eq!(none, search(&index, "lunch", &NORTH, &ranking, &NO_HINTS));
    let second = vec![
        empty,
        vec![(100 * DAY, 101 * DAY)],
        vec![(5 * DAY, 6 * DAY)],
    ];
    assert_eq!(
        search(&index, "lunch", &NORTH, &ranking, &second)[0]
            .row
            .key,
        100
    );
}

#[test]
fn a_session_or_text_that_begins_with_a_date_has_a_time() {
    let time = |session: Option<&str>, text: &str| row(1, session, text).time_ms();
    let expected = 20_146 * DAY; // 2025-02-27
    assert_eq!(time(Some("2025-02-27 standup"), "x"), expected);
    assert_eq!(time(None, "[2025-02-27 10:00:00] lunch"), expected);
    for other in [
        "2025-02-30",
        "2025-2-27",
        "12025-02-27",
        "2025-02-271",
        "",
        "[",
        "2025-02-2é",
    ] {
        assert_eq!(time(Some(other), other), 0, "{other}");
    }
}

#[test]
fn recency_and_priority_are_bounded_by_a_first_place() {
    let rows = (0..30)
        .map(|key| {
            let row = Row {
                event_ms: Some(key as i64 * DAY),
                priority: if key == 3 { 1_000 } else { 0 },
                ..row(key, None, "tea")
            };
            (row, EAST.to_vec())
        })
        .collect();
    let index = index(rows);
    let mut ranking = Ranking::plain(60.0);
    ranking.terms = Terms {
        recency: 1.0,
        half_life_ms: DAY as f64,
        priority: 1.0,
        diversity: 0.0,
    };
    let filter = Filter {
        now_ms: 29 * DAY,
        ..Filter::default()
    };
    let hits = index
        .search(&Request {
            text: "tea",
            vector: Some(&NORTH),
            k: 30,
            depth: 30,
            weights: (1.0, 1.0),
            ranking: &ranking,
            hints: &NO_HINTS,
            names: &[],
            filter: &filter,
        })
        .unwrap();
    let first = rrf::part(1.0, 60.0, 1);
    for hit in &hits {
        assert!(hit.parts[part::RECENCY].value <= first);
        assert!(hit.parts[part::PRIORITY].value <= first);
    }
    let of = |key| hits.iter().find(|hit| hit.row.key == key).unwrap();
    assert!((of(29).parts[part::RECENCY].value - first).abs() < 1e-12);
    assert!((of(28).parts[part::RECENCY].value - first / 2.0).abs() < 1e-12);
    assert!((of(3).parts[part::PRIORITY].value - first).abs() < 1e-12);
}

#[test]
fn no_session_fills_more_than_its_share() {
    let mut rows: Vec<_> = (0..20)
        .map(|key| (row(key, Some("a"), "tea tea"), NORTH.to_vec()))
        .collect();
    rows.extend((20..30).map(|key| (row(key, Some("b"), "tea and cake"), EAST.to_vec())));
    let index = index(rows);
    let mut ranking = Ranking::measured(60.0);
    let first_ten = |ranking: &Ranking| {
        let filter = Filter::default();
        let request = Request {
            text: "tea",
            vector: Some(&NORTH),
            k: 10,
            depth: 50,
            weights: (1.0, 1.0),
            ranking,
            hints: &NO_HINTS,
            names: &[],
            filter: &filter,
        };
        let hits = index.search(&request).unwrap();
        hits.iter().filter(|hit| hit.row.key < 20).count()
    };
    assert_eq!(first_ten(&ranking), 10);
    ranking.terms.diversity = 0.6;
    assert_eq!(first_ten(&ranking), 6);
}

#[test]
fn min_max_scores_are_another_way() {
    let ranking = Ranking {
        method: Method::Score,
        ..Ranking::measured(60.0)
    };
    let hits = search(&talk(), "violin ready", None, &ranking, &NO_HINTS);
    assert_eq!(keys(&hits)[0], 15);
    assert_eq!(hits[0].rrf_k, None);
    for hit in &hits {
        assert!(hit.parts[part::BM25].value <= ranking.own.bm25);
    }
}

#[test]
fn relevance_rises_with_both_signals_and_needs_both() {
    let ranking = Ranking {
        relevance: Some(Relevance {
            bias: -4.0,
            weights: [6.0, 4.0, 1.0, 1.0, 1.0],
        }),
        ..Ranking::measured(60.0)
    };
    let rows = vec![
        (
            row(1, None, "the violin is at the luthier's"),
            NORTH.to_vec(),
        ),
        (row(2, None, "a violin"), EAST.to_vec()),
        (row(3, None, "tea"), EAST.to_vec()),
    ];
    let index = index(rows);
    let hits = search(
        &index,
        "where is the violin luthier",
        &NORTH,
        &ranking,
        &NO_HINTS,
    );
    let of = |key| {
        let hit = hits.iter().find(|hit| hit.row.key == key).unwrap();
        hit.relevance.unwrap()
    };
    assert!(of(1) > of(2) && of(2) > of(3));
    assert!(
        hits.iter()
            .all(|hit| (0.0..=1.0).contains(&hit.relevance.unwrap()))
    );
    let blank = search(&index, "", &NORTH, &ranking, &NO_HINTS);
    assert!(blank.iter().all(|hit| hit.relevance.is_none()));
}

#[test]
fn wrong_numbers_are_refused() {
    let good = Ranking::measured(60.0);
    let wrong = [
        Ranking {
            session: -1.0,
            ..good.clone()
        },
        Ranking {
            near: Signals::new(f64::NAN, 1.0),
            ..good.clone()
        },
        Ranking {
            method: Method::Rrf {
                lone: 0.0,
                grouped: 10.0,
            },
            ..good.clone()
        },
        Ranking {
            terms: Terms {
                recency: 1.0,
                ..Terms::default()
            },
            ..good.clone()
        },
        Ranking {
            terms: Terms {
                diversity: 1.5,
                ..Terms::default()
            },
            ..good
        },
    ];
    for ranking in wrong {
        assert!(ranking.check().is_err(), "{ranking:?}");
    }
}

//! Rows, requests and searches that the tests of the hybrid index share.

use std::path::Path;
use std::sync::LazyLock;

use agentmem::ann::Mode;
use agentmem::filter::Filter;
use agentmem::hybrid::{Confidence, Hints, Hit, Index, Ranking, Request};
use agentmem::row::Row;
use proptest::prelude::*;
use proptest::sample::select;

pub(crate) const NDIM: usize = 8;
pub(crate) static NO_HINTS: Hints = Hints::new();
/// The measured ranking: rows of a session support one another, and words are trusted as far as they deserve.
pub(crate) static RANKING: LazyLock<Ranking> = LazyLock::new(|| Ranking {
    confidence: Some(Confidence::measured()),
    ..Ranking::measured(60.0)
});
pub(crate) const NOW: i64 = 1_000_000;
pub(crate) const WORDS: [&str; 12] = [
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
pub(crate) const SCOPES: [&str; 9] = [
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

pub(crate) fn vector(seed: u64) -> Vec<f32> {
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

pub(crate) fn metadata() -> impl Strategy<Value = String> {
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

pub(crate) fn row() -> impl Strategy<Value = (Row, Vec<f32>)> {
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

pub(crate) fn request<'a>(
    text: &'a str,
    vector: Option<&'a [f32]>,
    filter: &'a Filter,
) -> Request<'a> {
    Request {
        text,
        vector,
        k: 200,
        depth: 200,
        weights: (1.0, 1.0),
        ranking: &RANKING,
        hints: &NO_HINTS,
        names: &[],
        filter,
    }
}

pub(crate) fn everything() -> Filter {
    Filter {
        as_of_ms: None,
        now_ms: NOW,
        ..Filter::default()
    }
}

pub(crate) fn open(dir: &Path) -> agentmem::Result<Index> {
    Index::open(dir, "epoch", "space", NDIM, Mode::Exact)
}

pub(crate) fn searches(index: &Index) -> agentmem::Result<Vec<Vec<Hit>>> {
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
                names: &["u".to_owned()],
                ..request(text, Some(&vector(seed as u64)), &filter)
            })
        })
        .collect()
}

/// A number in letters: the analyzer parts letters from digits.
pub(crate) fn letters(mut number: u64) -> String {
    let mut out = String::new();
    loop {
        out.push(char::from(b'a' + (number % 26) as u8));
        number /= 26;
        if number == 0 {
            return out;
        }
    }
}

pub(crate) fn filled(dir: &Path) -> Index {
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

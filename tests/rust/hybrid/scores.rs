//! Scores are the formula's and ties are broken by key, wherever rows live.

use agentmem::ann::Mode;
use agentmem::bm25;
use agentmem::hybrid::{Index, Request};
use agentmem::row::Row;
use proptest::prelude::*;
use proptest::sample::select;

use crate::fixtures::{NDIM, everything, letters, request, vector};

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

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

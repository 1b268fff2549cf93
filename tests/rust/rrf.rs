//! Reciprocal Rank Fusion against an oracle in exact fractions, and its laws.

use std::collections::{BTreeMap, BTreeSet};

use agentmem::rrf::{K, fuse};
use proptest::prelude::*;

/// The definition, read off the paper: scores as exact fractions over a common denominator.
fn oracle(rankings: &[Vec<u64>], k: u128) -> BTreeMap<u64, (u128, u128)> {
    let mut scores: BTreeMap<u64, (u128, u128)> = BTreeMap::new();
    for ranking in rankings {
        let mut seen = BTreeSet::new();
        for (place, id) in ranking.iter().enumerate() {
            if seen.insert(*id) {
                let denominator = k + place as u128 + 1;
                let (top, bottom) = scores.get(id).copied().unwrap_or((0, 1));
                scores.insert(*id, (top * denominator + bottom, bottom * denominator));
            }
        }
    }
    scores
}

fn borrow(rankings: &[Vec<u64>]) -> Vec<&[u64]> {
    rankings.iter().map(Vec::as_slice).collect()
}

fn rankings() -> impl Strategy<Value = Vec<Vec<u64>>> {
    prop::collection::vec(prop::collection::vec(0_u64..30, 0..20), 0..5)
}

#[test]
fn example_of_the_contract() {
    let fused = fuse(&[&[1, 2], &[2, 3]], None, K);
    assert_eq!(
        fused,
        [
            (2, 1.0 / 62.0 + 1.0 / 61.0),
            (1, 1.0 / 61.0),
            (3, 1.0 / 62.0)
        ]
    );
}

#[test]
fn nothing_gives_nothing() {
    assert!(fuse(&[], None, K).is_empty());
    assert!(fuse(&[&[], &[]], None, K).is_empty());
}

#[test]
fn an_id_counts_once_a_list_at_its_first_place() {
    assert_eq!(
        fuse(&[&[7, 7, 8]], None, K),
        [(7, 1.0 / 61.0), (8, 1.0 / 63.0)]
    );
}

#[test]
fn weights_scale_their_list() {
    let fused = fuse(&[&[1], &[2]], Some(&[0.5, 2.0]), 60.0);
    assert_eq!(fused, [(2, 2.0 / 61.0), (1, 0.5 / 61.0)]);
    let silent = fuse(&[&[1], &[2]], Some(&[0.0, 1.0]), 60.0);
    assert_eq!(
        silent,
        [(2, 1.0 / 61.0), (1, 0.0)],
        "a weight of 0 keeps the union"
    );
}

#[test]
fn ties_go_to_the_smaller_id() {
    assert_eq!(
        fuse(&[&[u64::MAX], &[0]], None, 1.0),
        [(0, 0.5), (u64::MAX, 0.5)]
    );
}

proptest! {
    #[test]
    fn equals_the_oracle(rankings in rankings(), k in 1_u128..100) {
        let fused = fuse(&borrow(&rankings), None, k as f64);
        let exact = oracle(&rankings, k);
        prop_assert_eq!(fused.len(), exact.len(), "the union is kept");
        for (id, score) in &fused {
            let (top, bottom) = exact[id];
            prop_assert!((score - top as f64 / bottom as f64).abs() < 1e-12);
        }
        for pair in fused.windows(2) {
            let ((a, _), (b, _)) = (pair[0], pair[1]);
            let ((a_top, a_bottom), (b_top, b_bottom)) = (exact[&a], exact[&b]);
            prop_assert!(a_top * b_bottom >= b_top * a_bottom || (pair[0].1 - pair[1].1).abs() < 1e-15);
            prop_assert!(pair[0].1 > pair[1].1 || a < b);
        }
    }

    #[test]
    fn the_order_of_the_lists_does_not_matter(rankings in rankings(), k in 0.5_f64..100.0) {
        let mut turned = rankings.clone();
        turned.reverse();
        prop_assert_eq!(fuse(&borrow(&rankings), None, k), fuse(&borrow(&turned), None, k));
    }

    #[test]
    fn a_second_signal_lifts(ranking in prop::collection::btree_set(0_u64..99, 2..20), at in any::<prop::sample::Index>()) {
        let ranking: Vec<u64> = ranking.into_iter().collect();
        let id = ranking[at.index(ranking.len())];
        let score = |lists: &[&[u64]]| fuse(lists, None, K).into_iter().find(|(other, _)| *other == id).map(|(_, score)| score);
        prop_assert!(score(&[&ranking, &[id]]) > score(&[&ranking]));
    }
}

//! Reciprocal Rank Fusion: several ranked lists of ids become one, by ranks alone.
//!
//! A pure function. The result depends on the lists' content only: neither the order in which the lists are
//! given nor a hasher decides a tie.
//!
//! Source: Cormack, Clarke, Büttcher: Reciprocal Rank Fusion outperforms Condorcet and individual rank learning
//! methods, SIGIR 2009.

use rustc_hash::FxHashMap;

/// The constant of the paper: found there by a pilot study, and flat around its best value.
pub const K: f64 = 60.0;

/// What a list adds to the score of the row at `rank`, from 1.
#[inline]
#[must_use]
pub fn part(weight: f64, k: f64, rank: u32) -> f64 {
    weight / (k + f64::from(rank))
}

/// Fuses rankings: the score of an id is the sum over the lists of `weight / (k + rank)`, ranks counted from 1.
///
/// An id counts once a list, at its first place; a list without it adds nothing. Best first, equal scores by
/// smaller id. `weights` holds one finite, non-negative number a list, all 1 if `None`; a list beyond the end of
/// `weights` weighs 1. `k` is positive and finite. The caller checks both.
///
/// The terms of one id are added from the smallest to the largest, so the sum does not depend on the lists' order.
#[must_use]
pub fn fuse(rankings: &[&[u64]], weights: Option<&[f64]>, k: f64) -> Vec<(u64, f64)> {
    let places: usize = rankings.iter().map(|ranking| ranking.len()).sum();
    let mut terms: Vec<(u64, f64)> = Vec::with_capacity(places);
    // The list in which an id was seen last: one map serves all lists.
    let mut seen_in: FxHashMap<u64, usize> = FxHashMap::default();
    seen_in.reserve(places);
    for (list, ranking) in rankings.iter().enumerate() {
        let weight = weights
            .and_then(|weights| weights.get(list))
            .copied()
            .unwrap_or(1.0);
        for (place, &id) in ranking.iter().enumerate() {
            if seen_in.insert(id, list) != Some(list) {
                terms.push((id, part(weight, k, place as u32 + 1)));
            }
        }
    }
    terms.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let mut fused: Vec<(u64, f64)> = Vec::with_capacity(seen_in.len());
    for (id, term) in terms {
        match fused.last_mut() {
            Some((last, score)) if *last == id => *score += term,
            _ => fused.push((id, term)),
        }
    }
    fused.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    fused
}

//! How likely a hit answers the query: a logistic model over a few features of both signals.
//!
//! Ranks and fused scores say which row is best, never whether any is good. The features are absolute: how much of the
//! query's weight in words a row holds, and how near its vector is.

use super::candidate::Found;
use super::ranking::Relevance;

/// Features of a hit.
pub const FEATURES: usize = 5;

/// Rows from which on an unknown word says as much as it can.
const LARGE: f64 = 10_000.0;

/// What the features need to know about the whole query.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Whole {
    /// The BM25 score that no row can reach: the sum of all terms' weights, those that no row holds included.
    pub(super) possible: f32,
    /// The share of it whose terms some row holds.
    pub(super) known: f32,
    /// Live rows.
    pub(super) rows: u64,
    /// The best BM25 score.
    pub(super) best_bm25: f32,
    /// The best cosine.
    pub(super) best_cosine: f32,
    /// What the cosine of a row outside the list can't exceed.
    pub(super) floor_cosine: f32,
}

impl Whole {
    /// The features of a hit, each in 0..1: its share of the possible BM25 score; its cosine; the mean of the best share
    /// and the best cosine of any row; how much of the query's weight any row knows, where what is unknown tells less the
    /// fewer rows there are; how far its cosine stands out over that of the last candidate.
    fn features(&self, found: &Found) -> [f64; FEATURES] {
        let share = |score| self.share(score);
        let near = |cosine: f32| f64::from(cosine).clamp(0.0, 1.0);
        let cosine = found.cosine.unwrap_or(self.floor_cosine);
        [
            share(found.bm25_score.unwrap_or(0.0)),
            near(cosine),
            f64::midpoint(share(self.best_bm25), near(self.best_cosine)),
            1.0 - f64::from(1.0 - self.known).clamp(0.0, 1.0) * self.vocabulary(),
            near(cosine - self.floor_cosine),
        ]
    }

    /// A BM25 score's share of what is possible.
    fn share(&self, score: f32) -> f64 {
        if self.possible > 0.0 {
            f64::from(score / self.possible).clamp(0.0, 1.0)
        } else {
            0.0
        }
    }

    /// How far the rows' words stand for all that could be said: by the number of rows, whole from 10,000 on.
    fn vocabulary(&self) -> f64 {
        ((self.rows.max(1) as f64).ln() / LARGE.ln()).min(1.0)
    }

    /// The calibrated chance, 0 to 1.
    pub(super) fn relevance(&self, model: &Relevance, found: &Found) -> f64 {
        let sum: f64 = self
            .features(found)
            .iter()
            .zip(model.weights)
            .map(|(feature, weight)| feature * weight)
            .sum();
        1.0 / (1.0 + (-(model.bias + sum)).exp())
    }
}

//! How far a query's words deserve to be heard beside its vector.
//!
//! Reciprocal ranks give the first row of a list the same whether it holds the query's words or only one that every
//! row holds ("the user"). Where the best row holds little of what the query asks and nothing rare, the lexical lists
//! weigh less; never nothing, so both signals take part.

use super::candidate::Candidate;
use super::ranking::Signals;
use super::search::Signal;
use crate::bm25::K1;
use crate::error::Result;

/// Rows of the vectors' list that are looked at, whatever the depth.
const LOOKED_AT: usize = 50;
/// First rows that are not part of what they stand out from.
const FIRST: usize = 5;
/// Rows below which a list has no spread to speak of.
const FEWEST: usize = 12;
/// How steeply the weight falls below a bound. The first place of a list of weight w is worth as much as some 20 / w
/// ranks of the other list's end, so a word that tells nothing must weigh next to nothing.
const STEEPNESS: i32 = 8;

/// What the best row of the lexical signal holds of the query.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Held {
    /// The terms' share of the weights of all the query's terms, unknown ones included, however long the row is.
    pub(super) share: f64,
    /// The inverse document frequency of its rarest term, in nats.
    pub(super) rarest: f64,
}

/// The weight of the lexical lists is the largest of `(share / full)⁸`, `(rarest / rare)⁸` and
/// `min(1, (share / some)⁸) · min(1, (apart / z)³)`, from `least` to 1.
///
/// `share` and `rarest` are of what the best row holds; `z` is by how many standard deviations the best cosine lies
/// over the mean of the rows after the first five, 0 where there are few.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Confidence {
    /// The share from which on words weigh all, whatever the vectors say.
    pub full: f64,
    /// The share from which on they weigh all where no vector stands out.
    pub some: f64,
    /// The inverse document frequency, in nats, from which on a single word weighs all: how rare a word is can only be
    /// known of a store that is large enough.
    pub rare: f64,
    /// The standard deviations up to which no vector stands out.
    pub apart: f64,
    /// The least weight.
    pub least: f64,
}

impl Confidence {
    /// What was measured (`docs/quality.md`).
    #[must_use]
    pub const fn measured() -> Self {
        Self {
            full: 0.5,
            some: 0.25,
            rare: 7.0,
            apart: 7.0,
            least: 0.01,
        }
    }

    pub(super) fn numbers(self) -> [f64; 5] {
        [self.full, self.some, self.rare, self.apart, self.least]
    }

    /// The weights of the signals, with that of the words lowered.
    ///
    /// What the vectors themselves weigh bounds what they may take from the words.
    pub(super) fn weigh(&self, weights: Signals, held: Held, ann: &[Candidate]) -> Signals {
        if ann.is_empty() || weights.bm25 <= 0.0 {
            return weights;
        }
        let whole = (held.share / self.full).powi(STEEPNESS);
        let rare = (held.rarest / self.rare).powi(STEEPNESS);
        let some = (held.share / self.some).powi(STEEPNESS).min(1.0);
        let plain = (self.apart / standing_out(ann).max(self.apart)).powi(3);
        let trusted = whole
            .max(rare)
            .max(some * plain)
            .clamp(self.least.min(1.0), 1.0);
        let taken = (weights.ann / weights.bm25).min(1.0) * (1.0 - trusted);
        Signals::new(weights.bm25 * (1.0 - taken), weights.ann)
    }
}

impl Signal<'_> {
    /// What a row holds of the query, whose terms weigh `possible` together.
    pub(super) fn held(&self, row: Option<&Candidate>, possible: f32) -> Result<Held> {
        let mut held = Held::default();
        let Some((placed, _)) = &self.lexical else {
            return Ok(held);
        };
        if let Some(best) = row.filter(|_| possible > 0.0)
            && let Some((source, _)) = self.sources.get(best.source as usize)
            && let Some(terms) = placed.get(best.source as usize)
        {
            let (mut sum, mut rarest) = (0.0, 0.0_f32);
            for (place, weight) in terms {
                if source.holds(place, best.row)? {
                    sum += weight;
                    rarest = rarest.max(*weight);
                }
            }
            held.share = f64::from(sum / possible).min(1.0);
            held.rarest = f64::from(rarest / (K1 + 1.0));
        }
        Ok(held)
    }
}

/// By how many standard deviations the best cosine lies over those after the first.
fn standing_out(ann: &[Candidate]) -> f64 {
    let looked_at = ann.get(..LOOKED_AT.min(ann.len())).unwrap_or_default();
    let (Some(best), Some(rest)) = (looked_at.first(), looked_at.get(FIRST..)) else {
        return 0.0;
    };
    if looked_at.len() < FEWEST {
        return 0.0;
    }
    let count = rest.len() as f64;
    let mean = rest.iter().map(|row| f64::from(row.score)).sum::<f64>() / count;
    let variance = rest
        .iter()
        .map(|row| (f64::from(row.score) - mean).powi(2))
        .sum::<f64>()
        / count;
    let above = f64::from(best.score) - mean;
    // Rows that are all alike: any distance from them is whole, none is none.
    if variance.sqrt() > 1e-9 {
        above / variance.sqrt()
    } else if above > 1e-6 {
        f64::INFINITY
    } else {
        0.0
    }
}

#[cfg(test)]
#[allow(
    clippy::float_cmp,
    reason = "weights come back as they were given, or as constants"
)]
mod tests {
    use super::*;

    fn list(scores: impl IntoIterator<Item = f32>) -> Vec<Candidate> {
        scores
            .into_iter()
            .zip(0..)
            .map(|(score, key)| Candidate {
                key,
                score,
                source: 0,
                row: 0,
            })
            .collect()
    }

    fn lexical(weights: Signals, share: f64, rarest: f64, ann: &[Candidate]) -> f64 {
        let held = Held { share, rarest };
        let Signals { bm25, ann } = Confidence::measured().weigh(weights, held, ann);
        assert_eq!(ann, weights.ann);
        bm25
    }

    fn even() -> Vec<Candidate> {
        list((0..50).map(|place| 0.5 - place as f32 * 0.005))
    }

    fn clear() -> Vec<Candidate> {
        list(std::iter::once(0.9).chain((0..49).map(|place| 0.2 - place as f32 * 0.001)))
    }

    #[test]
    fn words_that_a_row_holds_and_rare_ones_weigh_all() {
        let both = Signals::new(1.0, 1.0);
        for ann in [even(), clear(), list([0.9]), Vec::new()] {
            assert_eq!(lexical(both, 0.5, 0.0, &ann), 1.0);
            assert_eq!(lexical(both, 0.9, 0.0, &ann), 1.0);
            assert_eq!(lexical(both, 0.0, 7.0, &ann), 1.0);
        }
        assert_eq!(lexical(both, 0.25, 0.0, &even()), 1.0);
    }

    #[test]
    fn words_weigh_less_beside_a_clear_vector_and_never_nothing() {
        let both = Signals::new(1.0, 1.0);
        let beside = lexical(both, 0.42, 0.0, &clear());
        assert!((0.2..0.3).contains(&beside), "{beside}");
        for ann in [even(), clear()] {
            let least = lexical(both, 0.0, 0.0, &ann);
            assert!((least - 0.01).abs() < 1e-12, "{least}");
        }
        let shares = [0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0];
        let weights = shares.map(|share| lexical(both, share, 0.0, &clear()));
        assert!(weights.is_sorted(), "{weights:?}");
        let weights = [0.0, 2.0, 4.0, 6.0, 8.0].map(|rare| lexical(both, 0.0, rare, &clear()));
        assert!(weights.is_sorted() && weights[2] < 0.1, "{weights:?}");
    }

    #[test]
    fn vectors_take_no_more_than_they_weigh() {
        let blind = lexical(Signals::new(1.0, 0.2), 0.0, 0.0, &clear());
        assert!((blind - 0.802).abs() < 1e-12, "{blind}");
        assert_eq!(lexical(Signals::new(1.0, 0.0), 0.0, 0.0, &clear()), 1.0);
        assert_eq!(lexical(Signals::new(0.0, 1.0), 0.0, 0.0, &clear()), 0.0);
        // Without vectors nothing takes the words' place.
        assert_eq!(lexical(Signals::new(1.0, 1.0), 0.0, 0.0, &[]), 1.0);
    }

    #[test]
    fn rows_that_are_alike_and_lists_that_are_short_have_no_spread() {
        let same = list(std::iter::repeat_n(0.5, 50));
        assert_eq!(standing_out(&same), 0.0);
        assert_eq!(standing_out(&list([0.9, 0.1, 0.1])), 0.0);
        let one = list(std::iter::once(0.9).chain(std::iter::repeat_n(0.5, 49)));
        assert_eq!(standing_out(&one), f64::INFINITY);
        let weight = lexical(Signals::new(1.0, 1.0), 0.4, 0.0, &one);
        let held = (0.4_f64 / 0.5).powi(STEEPNESS);
        assert!((weight - held).abs() < 1e-12, "{weight}");
        // The depth does not matter.
        let deep = list((0..200).map(|place| 0.5 - place as f32 * 0.002));
        assert_eq!(standing_out(&deep), standing_out(&deep[..50]));
    }
}

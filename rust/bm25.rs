//! The lexical signal: Okapi BM25 over joint statistics, accumulated densely.
//!
//! Score of a row = Σ over query terms of idf · (k1 + 1) · tf / (tf + k1 · (1 − b + b · length / average)),
//! idf = ln(1 + (N − df + 0.5) / (df + 0.5)) [Robertson and Zaragoza, The Probabilistic Relevance Framework, 2009].
//! Lengths are quantised to a byte as tantivy does. Tail and segments run the same `f32` operations in the same
//! order (terms by falling weight), so where a row lives never changes its score.

use std::cell::RefCell;
use std::cmp::Ordering;

use tantivy::fieldnorm::FieldNormReader;

use crate::ann::Scored;

/// Term-frequency saturation; the usual value.
pub const K1: f32 = 1.2;
/// Weight of the length; the usual value.
pub const B: f32 = 0.75;

/// The byte that stands for a length in tokens.
#[must_use]
pub fn length_byte(tokens: u32) -> u8 {
    FieldNormReader::fieldnorm_to_id(tokens)
}

/// What a query needs to know about all live rows together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Live rows.
    pub rows: u64,
    /// Tokens in them.
    pub tokens: u64,
}

impl Statistics {
    /// The weight of a term found in `df` live rows.
    #[must_use]
    pub fn weight(self, df: u64) -> f32 {
        let (n, df) = (self.rows.max(df) as f32, df as f32);
        (1.0 + (n - df + 0.5) / (df + 0.5)).ln() * (K1 + 1.0)
    }

    /// The length part of the denominator, for each length byte.
    #[must_use]
    pub fn norms(self) -> Norms {
        let average = (self.tokens as f32 / self.rows.max(1) as f32).max(f32::MIN_POSITIVE);
        let norms = std::array::from_fn(|byte| {
            let length = FieldNormReader::id_to_fieldnorm(byte as u8) as f32;
            K1 * (1.0 - B + B * length / average)
        });
        let saturated = |frequency: f32| norms.map(|norm: f32| frequency / (frequency + norm));
        Norms {
            saturated: [saturated(1.0), saturated(2.0), saturated(3.0)],
            norms,
        }
    }
}

/// What lengths do to scores, for each length byte.
#[derive(Clone, Debug)]
pub struct Norms {
    norms: [f32; 256],
    /// The saturated frequencies of terms that a row holds once, twice and thrice: nearly all.
    saturated: [[f32; 256]; 3],
}

impl Norms {
    /// What a term of this weight adds to rows.
    #[must_use]
    pub fn impact(&self, weight: f32) -> Impact<'_> {
        Impact {
            parts: self
                .saturated
                .map(|saturated| saturated.map(|part| weight * part)),
            weight,
            norms: self,
        }
    }

    /// The part of one term in a row's score; below `weight`.
    #[inline]
    #[must_use]
    pub fn part(&self, weight: f32, frequency: u32, length: u8) -> f32 {
        if let Some(saturated) = self.saturated.get(frequency.wrapping_sub(1) as usize) {
            return weight * saturated[length as usize];
        }
        let frequency = frequency as f32;
        weight * (frequency / (frequency + self.norms[length as usize]))
    }
}

/// What one term adds to rows.
#[derive(Clone, Debug)]
pub struct Impact<'a> {
    weight: f32,
    norms: &'a Norms,
    /// To rows that hold it once, twice and thrice, for each length byte.
    parts: [[f32; 256]; 3],
}

/// Scores that are looked at together.
const LANES: usize = 16;

/// Groups of rows that a floor is looked for in, for each row that is wanted: two of the best seldom share one.
const GROUPS_PER_ROW: usize = 8;

/// Dense scores of one part's rows; all zero between uses.
#[derive(Default)]
pub struct Scores(Vec<f32>);

thread_local! {
    static SCORES: RefCell<Scores> = RefCell::default();
}

/// Runs `work` with this thread's buffer, cleared and of `rows` entries.
pub fn with_scores<T>(rows: usize, work: impl FnOnce(&mut Scores) -> T) -> T {
    let mut scores = SCORES.with(RefCell::take);
    scores.0.clear();
    scores.0.resize(rows, 0.0);
    let result = work(&mut scores);
    SCORES.with(|place| place.replace(scores));
    result
}

impl Scores {
    /// Adds a run of postings of one term. `lengths` holds a byte for each row.
    #[inline]
    pub fn add(&mut self, impact: &Impact<'_>, lengths: &[u8], rows: &[u32], frequencies: &[u32]) {
        // One length for both, so that one comparison stands for both bounds.
        let count = self.0.len().min(lengths.len());
        let (scores, lengths) = (&mut self.0[..count], &lengths[..count]);
        for (&row, &frequency) in rows.iter().zip(frequencies) {
            let row = row as usize;
            if row < count {
                let length = lengths[row];
                scores[row] += match impact.parts.get(frequency.wrapping_sub(1) as usize) {
                    Some(parts) => parts[length as usize],
                    None => impact.norms.part(impact.weight, frequency, length),
                };
            }
        }
    }

    /// Rows whose score is at least `least`, ascending, with their scores.
    #[must_use]
    pub fn at_least(&self, least: f32, allow: impl Fn(u32) -> bool) -> (Vec<u32>, Vec<f32>) {
        let (mut rows, mut sums) = (Vec::new(), Vec::new());
        self.visit(least, |row, score, least| {
            if allow(row) {
                rows.push(row);
                sums.push(score);
            }
            least
        });
        (rows, sums)
    }

    /// The best rows, best first, ties by smaller key.
    #[must_use]
    pub fn top(&self, depth: usize, keys: &[u64]) -> Vec<Scored> {
        let mut top = Top::new(depth, keys);
        top.threshold = self.floor(depth);
        self.visit(top.threshold, |row, score, _| {
            top.push(Scored { row, score });
            top.threshold
        });
        top.finish()
    }

    /// A score that `depth` rows reach, if there are many times as many: of groups of rows the best scores, and of
    /// these the `depth`-th. A group is a lane of consecutive runs.
    fn floor(&self, depth: usize) -> f32 {
        let height = self.0.len() / depth.max(1) / GROUPS_PER_ROW;
        if height == 0 {
            return f32::MIN_POSITIVE;
        }
        let mut peaks = Vec::with_capacity(self.0.len() / height + LANES);
        for runs in self.0.as_chunks::<LANES>().0.chunks(height) {
            let mut most = [0.0_f32; LANES];
            for run in runs {
                for (most, &score) in most.iter_mut().zip(run) {
                    *most = if score > *most { score } else { *most };
                }
            }
            peaks.extend_from_slice(&most);
        }
        if depth == 0 || peaks.len() < depth {
            return f32::MIN_POSITIVE;
        }
        let (_, floor, _) = peaks.select_nth_unstable_by(depth - 1, |a, b| b.total_cmp(a));
        floor.max(f32::MIN_POSITIVE)
    }

    /// The best rows that `allow` lets through, best first, ties by smaller key.
    #[must_use]
    pub fn top_of(&self, depth: usize, keys: &[u64], allow: impl Fn(u32) -> bool) -> Vec<Scored> {
        let mut top = Top::new(depth, keys);
        self.visit(top.threshold, |row, score, _| {
            if allow(row) {
                top.push(Scored { row, score });
            }
            top.threshold
        });
        top.finish()
    }

    #[expect(
        clippy::needless_bitwise_bool,
        reason = "a branch in the fold would keep it from becoming vector instructions"
    )]
    /// Calls `take` with each row whose score is positive and at least `least`; it gives the next `least`.
    fn visit(&self, mut least: f32, mut take: impl FnMut(u32, f32, f32) -> f32) {
        least = least.max(f32::MIN_POSITIVE);
        let (runs, rest) = self.0.as_chunks::<LANES>();
        for (place, run) in runs.iter().enumerate() {
            // Without a branch in it, so that it becomes vector instructions.
            let has_any = run.iter().fold(false, |any, &score| any | (score >= least));
            if has_any {
                for (lane, &score) in run.iter().enumerate() {
                    if score >= least {
                        least = take((place * LANES + lane) as u32, score, least);
                    }
                }
            }
        }
        let first = runs.len() * LANES;
        for (lane, &score) in rest.iter().enumerate() {
            if score >= least {
                least = take((first + lane) as u32, score, least);
            }
        }
    }
}

/// Keeps the best `depth` of many, ties by smaller key.
pub struct Top<'a> {
    depth: usize,
    keys: &'a [u64],
    held: Vec<Scored>,
    /// No score below it can be among the best.
    pub threshold: f32,
}

impl<'a> Top<'a> {
    /// `keys` holds the key of each row.
    #[must_use]
    pub fn new(depth: usize, keys: &'a [u64]) -> Self {
        Self {
            depth,
            keys,
            held: Vec::with_capacity(depth.min(1024) * 2),
            threshold: f32::MIN_POSITIVE,
        }
    }

    fn order(&self) -> impl Fn(&Scored, &Scored) -> Ordering + use<'a> {
        let keys = self.keys;
        let key = move |row: u32| keys.get(row as usize).copied().unwrap_or(u64::MAX);
        move |a, b| {
            b.score
                .total_cmp(&a.score)
                .then_with(|| key(a.row).cmp(&key(b.row)))
        }
    }

    /// Offers one row.
    #[inline]
    pub fn push(&mut self, scored: Scored) {
        self.held.push(scored);
        if self.held.len() >= self.depth.saturating_mul(2).max(16) {
            self.shrink();
        }
    }

    fn shrink(&mut self) {
        if self.held.len() > self.depth && self.depth > 0 {
            let order = self.order();
            self.held.select_nth_unstable_by(self.depth - 1, order);
            self.held.truncate(self.depth);
            if let Some(last) = self.held.last() {
                self.threshold = last.score;
            }
        }
    }

    /// The best, in order.
    #[must_use]
    pub fn finish(mut self) -> Vec<Scored> {
        let order = self.order();
        self.held.sort_unstable_by(order);
        self.held.truncate(self.depth);
        self.held
    }
}

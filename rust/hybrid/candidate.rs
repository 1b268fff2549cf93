//! The rows that signals propose, each once, and the lists in which they stand.

use rustc_hash::FxHashMap;

use crate::row::Place;

/// One candidate of a signal.
#[derive(Clone, Copy)]
pub(super) struct Candidate {
    pub(super) key: u64,
    pub(super) score: f32,
    pub(super) source: u32,
    pub(super) row: u32,
}

impl Candidate {
    /// Sorts candidates of several sources, ties by smaller key, and keeps the best.
    pub(super) fn best(candidates: &mut Vec<Self>, depth: usize) {
        candidates.sort_unstable_by(|a, b| b.score.total_cmp(&a.score).then(a.key.cmp(&b.key)));
        candidates.truncate(depth);
    }
}

/// A candidate in a list: its number among all, and its score there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ranked {
    pub(super) number: u32,
    pub(super) key: u64,
    pub(super) score: f64,
}

impl Ranked {
    /// Best first, ties by smaller key.
    pub(super) fn sort(list: &mut [Self]) {
        list.sort_unstable_by(|a, b| b.score.total_cmp(&a.score).then(a.key.cmp(&b.key)));
    }
}

/// A row that some signal proposes.
#[derive(Clone, Copy, Default)]
pub(super) struct Found {
    pub(super) key: u64,
    pub(super) source: u32,
    pub(super) row: u32,
    pub(super) place: Place,
    pub(super) bm25_rank: Option<u32>,
    pub(super) ann_rank: Option<u32>,
    pub(super) bm25_score: Option<f32>,
    pub(super) cosine: Option<f32>,
}

/// All of them, by number.
#[derive(Default)]
pub(super) struct Pool {
    pub(super) rows: Vec<Found>,
    numbers: FxHashMap<u64, u32>,
}

impl Pool {
    pub(super) fn with_capacity(rows: usize) -> Self {
        let mut numbers = FxHashMap::default();
        numbers.reserve(rows);
        Self {
            rows: Vec::with_capacity(rows),
            numbers,
        }
    }

    /// Takes a signal's candidates in; `note` writes rank and score where they belong.
    pub(super) fn take(
        &mut self,
        candidates: &[Candidate],
        place: impl Fn(&Candidate) -> Place,
        note: impl Fn(&mut Found, u32, f32),
    ) -> Vec<Ranked> {
        let mut list = Vec::with_capacity(candidates.len());
        for (candidate, rank) in candidates.iter().zip(1..) {
            let number = self.add(candidate, &place);
            if let Some(found) = self.rows.get_mut(number as usize) {
                note(found, rank, candidate.score);
            }
            list.push(Ranked {
                number,
                key: candidate.key,
                score: f64::from(candidate.score),
            });
        }
        list
    }

    /// The number of a candidate, which is new or there already.
    pub(super) fn add(
        &mut self,
        candidate: &Candidate,
        place: impl Fn(&Candidate) -> Place,
    ) -> u32 {
        *self.numbers.entry(candidate.key).or_insert_with(|| {
            self.rows.push(Found {
                key: candidate.key,
                source: candidate.source,
                row: candidate.row,
                place: place(candidate),
                ..Found::default()
            });
            self.rows.len() as u32 - 1
        })
    }

    pub(super) fn place(&self, number: u32) -> Place {
        self.rows
            .get(number as usize)
            .map(|found| found.place)
            .unwrap_or_default()
    }
}

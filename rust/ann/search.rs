//! From candidates to answers: exact scores, distinct rows, a total order.

use std::cell::RefCell;

use super::Scored;
use super::codes::Collector;
use super::query::Query;
use crate::bits::Bitset;
use crate::error::{Error, Result};

/// Which rows may be returned.
#[derive(Debug, Clone, Copy)]
pub enum Allowed<'a> {
    /// Every row.
    All,
    /// The rows of a set.
    Bits(&'a Bitset),
    /// A few rows, ascending, without repeats.
    Rows(&'a [u32]),
}

/// What one thread reuses from search to search.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    pub(super) collector: Collector,
    pub(super) vectors: Vec<u32>,
    pub(super) bytes: Vec<u8>,
    pub(super) scored: Vec<Scored>,
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

/// Lends this thread's scratch; a nested call gets a fresh one.
pub(super) fn with_scratch<T>(work: impl FnOnce(&mut Scratch) -> T) -> T {
    SCRATCH.with(|cell| match cell.try_borrow_mut() {
        Ok(mut scratch) => work(&mut scratch),
        Err(_) => work(&mut Scratch::default()),
    })
}

/// Refuses arguments that do not fit the place that is searched.
pub(super) fn check(ndim: usize, got: usize, rows: usize, ids: &[u64]) -> Result<()> {
    if ndim != got {
        return Err(Error::Dimension {
            expected: ndim,
            got,
        });
    }
    if ids.len() < rows {
        return Err(Error::InvalidInput(format!(
            "{} ids were given for {rows} rows; every row needs one",
            ids.len()
        )));
    }
    Ok(())
}

/// Where the float rows of candidates are.
pub(super) trait Place {
    /// Tells whether no row has two vectors.
    fn is_one_each(&self) -> bool;
    fn row_of(&self, vector: u32) -> u32;
    /// Returns the exact score; `buffer` is there to read into.
    fn score(&self, vector: u32, query: &Query, buffer: &mut Vec<u8>) -> Result<f32>;
    /// Asks the memory for a float row that will be scored soon.
    fn prefetch(&self, vector: u32);
}

/// Scores the collected candidates exactly, highest upper bound first, until no other can enter the
/// best `depth` rows; returns these, best first, ties by smaller id.
pub(super) fn rescore(
    scratch: &mut Scratch,
    place: &impl Place,
    query: &Query,
    depth: usize,
    ids: &[u64],
) -> Result<Vec<Scored>> {
    let Scratch {
        collector,
        bytes,
        scored,
        vectors,
    } = scratch;
    let pending = &mut collector.items;
    scored.clear();
    let mut take = depth;
    while !pending.is_empty() {
        let take_now = take.min(pending.len());
        if take_now < pending.len() {
            pending.select_nth_unstable_by(take_now, |a, b| b.upper.total_cmp(&a.upper));
        }
        vectors.clear();
        vectors.extend(pending.drain(..take_now).map(|candidate| candidate.vector));
        vectors
            .iter()
            .take(2)
            .for_each(|&first| place.prefetch(first));
        for (index, &vector) in vectors.iter().enumerate() {
            if let Some(&soon) = vectors.get(index + 2) {
                place.prefetch(soon);
            }
            scored.push(Scored {
                row: place.row_of(vector),
                score: place.score(vector, query, bytes)?,
            });
        }
        if !place.is_one_each() {
            scored.sort_unstable_by(|a, b| {
                a.row.cmp(&b.row).then_with(|| b.score.total_cmp(&a.score))
            });
            scored.dedup_by_key(|scored| scored.row);
        }
        if scored.len() < depth {
            take = depth - scored.len();
            continue;
        }
        scored.select_nth_unstable_by(depth - 1, |a, b| b.score.total_cmp(&a.score));
        let bound = scored[depth - 1].score;
        // An equal score may still win by its id.
        pending.retain(|candidate| candidate.upper >= bound);
        take = (depth / 4).max(16);
    }
    let mut best = scored.clone();
    sort(&mut best, ids);
    best.truncate(depth);
    Ok(best)
}

/// Sorts best first: higher score, then smaller id.
pub fn sort(best: &mut [Scored], ids: &[u64]) {
    let id = |scored: &Scored| ids.get(scored.row as usize).copied().unwrap_or(u64::MAX);
    best.sort_unstable_by(|a, b| {
        b.score
            .total_cmp(&a.score)
            .then_with(|| id(a).cmp(&id(b)))
            .then_with(|| a.row.cmp(&b.row))
    });
}

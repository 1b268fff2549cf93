//! From lists to one ranking: parts, sums, small terms.

use super::candidate::{Found, Pool, Ranked};
use super::ranking::{Method, Ranking, Signals, Terms};
use super::support::{Supported, support};
use crate::rrf;

/// What a score is made of; the numbers of a hit's parts.
pub mod part {
    /// The lexical signal alone.
    pub const BM25: usize = 0;
    /// The vector signal alone.
    pub const ANN: usize = 1;
    /// The lexical signal with support.
    pub const BM25_NEAR: usize = 2;
    /// The vector signal with support.
    pub const ANN_NEAR: usize = 3;
    /// The session.
    pub const SESSION: usize = 4;
    /// First of a signal.
    pub const FIRST: usize = 5;
    /// The lexical signal among rows of the named time.
    pub const BM25_HINT: usize = 6;
    /// The vector signal among rows of the named time.
    pub const ANN_HINT: usize = 7;
    /// The lexical signal among rows of those who are named.
    pub const BM25_NAME: usize = 8;
    /// The vector signal among rows of those who are named.
    pub const ANN_NAME: usize = 9;
    /// Newer rows.
    pub const RECENCY: usize = 10;
    /// Rows of higher priority.
    pub const PRIORITY: usize = 11;
    /// How many there are.
    pub const COUNT: usize = 12;
    /// Their names, in order.
    pub const NAMES: [&str; COUNT] = [
        "bm25",
        "ann",
        "bm25_near",
        "ann_near",
        "session",
        "first",
        "bm25_hint",
        "ann_hint",
        "bm25_name",
        "ann_name",
        "recency",
        "priority",
    ];
}

/// One part of a score.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Part {
    /// The place in the list, from 1; 0 where the row is not in it, and for terms that rank nothing.
    pub rank: u32,
    /// What it adds to the score.
    pub value: f64,
}

/// All parts of a score.
pub type Parts = [Part; part::COUNT];

/// The lists of both signals among the same rows.
pub(super) struct Lists {
    pub(super) bm25: Vec<Ranked>,
    pub(super) ann: Vec<Ranked>,
    /// Neighbours of the first rows of both, each once; their scores are below all others.
    pub(super) beside: Vec<Ranked>,
}

/// What a row got.
#[derive(Clone, Copy)]
pub(super) struct Fused {
    pub(super) number: u32,
    pub(super) score: f64,
    pub(super) parts: Parts,
}

/// Adds up lists.
struct Sum<'a> {
    ranking: &'a Ranking,
    /// The constant of RRF; `None` for min-max scores.
    k: Option<f64>,
    pool: &'a Pool,
    parts: Vec<Parts>,
}

impl Sum<'_> {
    /// The value of a list's place.
    fn value(&self, weight: f64, rank: u32, score: f64, lowest: f64, highest: f64) -> f64 {
        match self.k {
            Some(k) => rrf::part(weight, k, rank),
            None if highest > lowest => weight * (score - lowest) / (highest - lowest),
            None => weight,
        }
    }

    /// Adds a list, best first, with a weight for rows without and with a session.
    fn add(&mut self, part: usize, list: &[Ranked], lone: f64, grouped: f64) {
        if lone == 0.0 && grouped == 0.0 {
            return;
        }
        let highest = list.first().map_or(0.0, |ranked| ranked.score);
        let lowest = list.last().map_or(0.0, |ranked| ranked.score);
        for (ranked, rank) in list.iter().zip(1..) {
            let weight = if self.pool.place(ranked.number).group == 0 {
                lone
            } else {
                grouped
            };
            let value = self.value(weight, rank, ranked.score, lowest, highest);
            self.put(ranked.number, part, rank, value);
        }
    }

    fn put(&mut self, number: u32, part: usize, rank: u32, value: f64) {
        let place = self
            .parts
            .get_mut(number as usize)
            .and_then(|parts| parts.get_mut(part));
        if let Some(place) = place {
            place.rank = rank;
            place.value += value;
        }
    }

    /// Adds the ranks of sessions, by both signals' best rows, to every candidate of them.
    fn add_sessions(&mut self, bm25: &Supported, ann: &Supported, weights: Signals) {
        let mut strengths: Vec<(u64, f64)> = Vec::new();
        for (supported, weight) in [(bm25, weights.bm25), (ann, weights.ann)] {
            let best = supported
                .sessions
                .iter()
                .map(|&(_, best)| best)
                .fold(0.0, f64::max);
            if best > 0.0 {
                let part = |&(group, score): &(u64, f64)| (group, weight * score / best);
                strengths.extend(supported.sessions.iter().map(part));
            }
        }
        strengths.sort_by_key(|&(group, _)| group);
        let mut sessions: Vec<(u64, f64)> = strengths
            .chunk_by(|a, b| a.0 == b.0)
            .filter_map(|run| Some((run.first()?.0, run.iter().map(|&(_, part)| part).sum())))
            .collect();
        sessions.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        let highest = sessions.first().map_or(0.0, |&(_, strength)| strength);
        let lowest = sessions.last().map_or(0.0, |&(_, strength)| strength);
        let mut values: Vec<(u64, u32, f64)> = sessions
            .iter()
            .zip(1..)
            .map(|(&(group, strength), rank)| {
                let weight = self.ranking.session;
                (
                    group,
                    rank,
                    self.value(weight, rank, strength, lowest, highest),
                )
            })
            .collect();
        values.sort_unstable_by_key(|&(group, ..)| group);
        for number in 0..self.parts.len() as u32 {
            let group = self.pool.place(number).group;
            let found = values.binary_search_by_key(&group, |&(group, ..)| group);
            if let Some(&(_, rank, value)) = found.ok().and_then(|at| values.get(at)) {
                self.put(number, part::SESSION, rank, value);
            }
        }
    }
}

/// The floor over which a signal's scores lend support: cosines are centred, BM25 begins at 0.
fn floor_of(ann: &[Ranked]) -> f64 {
    ann.last().map_or(0.0, |ranked| ranked.score)
}

/// Adds up all lists; the order is that of the pool. Gives the constant of RRF too, `None` for min-max scores.
///
/// `hinted` holds the lists among the rows of the named time, `named` what of both lists has a named
/// subject.
pub(super) fn fuse(
    ranking: &Ranking,
    weights: Signals,
    pool: &Pool,
    lists: &Lists,
    hinted: Option<&Lists>,
    named: Option<&Lists>,
) -> (Vec<Fused>, Option<f64>) {
    let has_sessions = pool.rows.iter().any(|row| row.place.group != 0);
    let is_grouped = ranking.is_grouped() && has_sessions;
    let k = match ranking.method {
        Method::Rrf { grouped, .. } if is_grouped => Some(grouped),
        Method::Rrf { lone, .. } => Some(lone),
        Method::Score => None,
    };
    let mut sum = Sum {
        ranking,
        k,
        pool,
        parts: vec![Parts::default(); pool.rows.len()],
    };
    let Ranking {
        lone,
        own,
        near,
        hinted: hint,
        ..
    } = *ranking;
    let Signals { bm25, ann } = weights;
    sum.add(part::BM25, &lists.bm25, lone.bm25 * bm25, own.bm25 * bm25);
    sum.add(part::ANN, &lists.ann, lone.ann * ann, own.ann * ann);
    let supported = |lists: &Lists| {
        let place = |number| pool.place(number);
        let lexical = support(&lists.bm25, &lists.beside, 0.0, &ranking.support, place);
        let vectors = support(
            &lists.ann,
            &lists.beside,
            floor_of(&lists.ann),
            &ranking.support,
            place,
        );
        (lexical, vectors)
    };
    if is_grouped {
        let (lexical, vectors) = supported(lists);
        sum.add(part::BM25_NEAR, &lexical.rows, 0.0, near.bm25 * bm25);
        sum.add(part::ANN_NEAR, &vectors.rows, 0.0, near.ann * ann);
        if ranking.session > 0.0 {
            let strength = Signals::new(near.bm25 * bm25, near.ann * ann);
            sum.add_sessions(&lexical, &vectors, strength);
        }
    }
    if let Some(lists) = hinted {
        let (wb, wa) = (hint.bm25 * bm25, hint.ann * ann);
        if is_grouped {
            let (lexical, vectors) = supported(lists);
            sum.add(part::BM25_HINT, &lexical.rows, wb, wb);
            sum.add(part::ANN_HINT, &vectors.rows, wa, wa);
        } else {
            sum.add(part::BM25_HINT, &lists.bm25, wb, wb);
            sum.add(part::ANN_HINT, &lists.ann, wa, wa);
        }
    }
    if let Some(lists) = named {
        let (wb, wa) = (ranking.named.bm25 * bm25, ranking.named.ann * ann);
        sum.add(part::BM25_NAME, &lists.bm25, wb, wb);
        sum.add(part::ANN_NAME, &lists.ann, wa, wa);
    }
    if is_grouped && ranking.first > 0.0 {
        for (list, weight) in [(&lists.bm25, bm25), (&lists.ann, ann)] {
            if let Some(first) = list.first() {
                let value = ranking.first * weight * first_place(k);
                sum.put(first.number, part::FIRST, 1, value);
            }
        }
    }
    let fused = sum
        .parts
        .into_iter()
        .zip(0..)
        .map(|(parts, number)| Fused {
            number,
            score: parts.iter().map(|part| part.value).sum(),
            parts,
        })
        .collect();
    (fused, k)
}

/// The value of a first place in a list of weight 1: what bounds a small term.
fn first_place(k: Option<f64>) -> f64 {
    k.map_or(1.0, |k| rrf::part(1.0, k, 1))
}

/// Adds recency and priority. `priority` reads a row's.
pub(super) fn add_terms(
    fused: &mut [Fused],
    terms: &Terms,
    k: Option<f64>,
    pool: &Pool,
    now_ms: i64,
    priority: impl Fn(&Found) -> i64,
) {
    let Terms {
        recency,
        half_life_ms,
        priority: urgent,
        ..
    } = *terms;
    let unit = first_place(k);
    for row in fused {
        let Some(found) = pool.rows.get(row.number as usize) else {
            continue;
        };
        if recency > 0.0 {
            let age = now_ms.saturating_sub(found.place.time_ms).max(0) as f64;
            row.parts[part::RECENCY].value = recency * unit * (-age / half_life_ms).exp2();
        }
        if urgent > 0.0 {
            let share = priority(found).clamp(0, 100) as f64 / 100.0;
            row.parts[part::PRIORITY].value = urgent * unit * share;
        }
        row.score = row.parts.iter().map(|part| part.value).sum();
    }
}

/// Sorts best first, ties by smaller key, and keeps the best `k`; no session fills more than its share of them as
/// long as others have rows.
pub(super) fn choose(fused: &mut Vec<Fused>, pool: &Pool, k: usize, diversity: f64) {
    // What is sorted is small; a row's parts are moved once.
    let key = |row: &Fused| pool.rows.get(row.number as usize).map(|found| found.key);
    let mut order: Vec<(f64, Option<u64>, usize)> = fused
        .iter()
        .enumerate()
        .map(|(at, row)| (row.score, key(row), at))
        .collect();
    let best_first = |a: &(f64, Option<u64>, usize), b: &(f64, Option<u64>, usize)| {
        b.0.total_cmp(&a.0).then(a.1.cmp(&b.1))
    };
    if diversity <= 0.0 && k < order.len() {
        order.select_nth_unstable_by(k, best_first);
        order.truncate(k);
    }
    order.sort_unstable_by(best_first);
    *fused = order
        .iter()
        .filter_map(|&(.., at)| fused.get(at).copied())
        .collect();
    if diversity > 0.0 {
        let most = ((k as f64 * diversity).ceil() as usize).max(1);
        let mut taken = rustc_hash::FxHashMap::<u64, usize>::default();
        let (mut first, mut rest) = (Vec::with_capacity(fused.len()), Vec::new());
        for row in fused.drain(..) {
            let group = pool.place(row.number).group;
            let count = taken.entry(group).or_default();
            *count += 1;
            if group != 0 && *count > most {
                rest.push(row);
            } else {
                first.push(row);
            }
        }
        first.append(&mut rest);
        *fused = first;
    }
    fused.truncate(k);
}

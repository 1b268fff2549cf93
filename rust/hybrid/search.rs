//! One search: both signals over all sources, fused, with the rows of the hits.

use rustc_hash::FxHashMap;

use super::Index;
use crate::ann::{Query, Scored};
use crate::bm25::Statistics;
use crate::error::{Error, Result};
use crate::filter::{Filter, Live, select};
use crate::row::Row;
use crate::rrf;
use crate::source::{Selection, Source, TermPlace, with_analyzer};

/// Longest query text in bytes.
const LONGEST_QUERY: usize = 1 << 20;

/// What is searched for.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// Any text; at most 1 MiB. Blank text has no lexical signal.
    pub text: &'a str,
    /// The query's embedding; without it there is no vector signal.
    pub vector: Option<&'a [f32]>,
    /// Hits wanted.
    pub k: usize,
    /// Candidates from each signal; at least `k` are taken.
    pub depth: usize,
    /// Weights of BM25 and of the vectors in the fusion.
    pub weights: (f64, f64),
    /// The fusion's constant.
    pub rrf_k: f64,
    /// What may be returned.
    pub filter: &'a Filter,
}

/// One result.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// Fused score.
    pub score: f64,
    /// 1-based place in the lexical signal.
    pub bm25_rank: Option<u32>,
    /// 1-based place in the vector signal.
    pub ann_rank: Option<u32>,
    /// The lexical score.
    pub bm25_score: Option<f32>,
    /// The cosine.
    pub cosine: Option<f32>,
    /// The row.
    pub row: Row,
}

/// One candidate of a signal.
#[derive(Clone, Copy)]
struct Candidate {
    key: u64,
    score: f32,
    source: u32,
    row: u32,
}

/// Where a key was found.
#[derive(Clone, Copy, Default)]
struct Found {
    source: u32,
    row: u32,
    bm25: Option<(u32, f32)>,
    ann: Option<(u32, f32)>,
}

impl Request<'_> {
    fn check(&self, ndim: usize) -> Result<()> {
        let wrong = |what: String| Err(Error::InvalidInput(what));
        if self.k < 1 {
            return wrong("k is 0; at least 1 is needed".into());
        }
        if self.text.len() > LONGEST_QUERY {
            return wrong(format!(
                "the query has {} bytes; at most {LONGEST_QUERY} are allowed",
                self.text.len()
            ));
        }
        let (bm25, ann) = self.weights;
        let is_weight = |weight: f64| weight.is_finite() && weight >= 0.0;
        if !is_weight(bm25) || !is_weight(ann) || bm25 + ann == 0.0 {
            return wrong(format!(
                "weights are ({bm25}, {ann}); finite numbers of at least 0 are needed, not both 0"
            ));
        }
        if !(self.rrf_k.is_finite() && self.rrf_k > 0.0) {
            return wrong(format!(
                "rrf_k is {}; a finite number above 0 is needed",
                self.rrf_k
            ));
        }
        match self.vector {
            Some(vector) if vector.len() != ndim => Err(Error::Dimension {
                expected: ndim,
                got: vector.len(),
            }),
            _ => Ok(()),
        }
    }
}

impl Index {
    /// Searches: BM25 over the text, cosine over the vector, fused by RRF; at most `k` hits, best first.
    ///
    /// # Errors
    /// `InvalidInput` or `Dimension` for the request; `IndexCorrupt` where a row can't be read.
    pub fn search(&self, request: &Request<'_>) -> Result<Vec<Hit>> {
        request.check(self.identity.ndim)?;
        let terms = with_analyzer(|analyzer| analyzer.query(request.text));
        let query = request.vector.map(Query::new).transpose()?;
        if terms.is_empty() && query.is_none() {
            return Ok(Vec::new());
        }
        let depth = request.depth.max(request.k);

        let state = self.state.read();
        let mut sources: Vec<(&dyn Source, Selection)> = Vec::new();
        let mut lives: Vec<&Live> = Vec::new();
        for (source, live) in state.each() {
            if source.rows() > 0 {
                sources.push((source, select(request.filter, source, live)?));
                lives.push(live);
            }
        }

        let (mut bm25, mut ann) = (Vec::new(), Vec::new());
        let take =
            |into: &mut Vec<Candidate>, number: usize, source: &dyn Source, best: Vec<Scored>| {
                let keys = source.keys();
                into.extend(best.into_iter().map(|Scored { row, score }| Candidate {
                    key: keys.get(row as usize).copied().unwrap_or(u64::MAX),
                    score,
                    source: number as u32,
                    row,
                }));
            };
        if !terms.is_empty() && sources.iter().any(|(_, selection)| !selection.is_empty()) {
            let statistics = state.statistics();
            let norms = statistics.norms();
            let placed = place_terms(&terms, statistics, &sources, &lives)?;
            for (number, ((source, selection), terms)) in sources.iter().zip(&placed).enumerate() {
                if !selection.is_empty() && !terms.is_empty() {
                    take(
                        &mut bm25,
                        number,
                        *source,
                        source.bm25(terms, &norms, depth, selection)?,
                    );
                }
            }
            best(&mut bm25, depth);
        }
        if let Some(query) = &query {
            for (number, (source, selection)) in sources.iter().enumerate() {
                if !selection.is_empty() {
                    take(
                        &mut ann,
                        number,
                        *source,
                        source.ann(query, depth, self.mode, selection)?,
                    );
                }
            }
            best(&mut ann, depth);
        }
        fuse(request, &bm25, &ann)
            .into_iter()
            .map(|(score, found)| {
                let (source, _) = sources
                    .get(found.source as usize)
                    .ok_or_else(|| Error::Engine("a hit has no source".into()))?;
                Ok(Hit {
                    score,
                    bm25_rank: found.bm25.map(|(rank, _)| rank),
                    ann_rank: found.ann.map(|(rank, _)| rank),
                    bm25_score: found.bm25.map(|(_, score)| score),
                    cosine: found.ann.map(|(_, score)| score),
                    row: source.row(found.row)?,
                })
            })
            .collect()
    }
}

/// Looks up each term in each source and weighs it by its frequency in all; for each source, by falling weight.
fn place_terms(
    terms: &[String],
    statistics: Statistics,
    sources: &[(&dyn Source, Selection)],
    lives: &[&Live],
) -> Result<Vec<Vec<(TermPlace, f32)>>> {
    let mut placed: Vec<Vec<(TermPlace, f32)>> = sources.iter().map(|_| Vec::new()).collect();
    let mut found: Vec<(usize, TermPlace)> = Vec::with_capacity(sources.len());
    for term in terms {
        let mut df = 0_u64;
        for (number, ((source, _), live)) in sources.iter().zip(lives).enumerate() {
            if let Some((place, count)) = source.lookup(term)? {
                let dead = live.dead_terms.get(term.as_str()).copied().unwrap_or(0);
                df += u64::from(count.saturating_sub(dead));
                found.push((number, place));
            }
        }
        let weight = statistics.weight(df);
        for (number, place) in found.drain(..) {
            if let Some(list) = placed.get_mut(number) {
                list.push((place, weight));
            }
        }
    }
    // A stable sort by joint weights: every source sums in the same order.
    for list in &mut placed {
        list.sort_by(|a, b| b.1.total_cmp(&a.1));
    }
    Ok(placed)
}

/// Sorts candidates of several sources, ties by smaller key, and keeps the best.
fn best(candidates: &mut Vec<Candidate>, depth: usize) {
    candidates.sort_unstable_by(|a, b| b.score.total_cmp(&a.score).then(a.key.cmp(&b.key)));
    candidates.truncate(depth);
}

fn fuse(request: &Request<'_>, bm25: &[Candidate], ann: &[Candidate]) -> Vec<(f64, Found)> {
    let mut found: FxHashMap<u64, Found> = FxHashMap::default();
    found.reserve(bm25.len() + ann.len());
    for (candidate, rank) in bm25.iter().zip(1..) {
        let place = found.entry(candidate.key).or_default();
        (place.source, place.row) = (candidate.source, candidate.row);
        place.bm25 = Some((rank, candidate.score));
    }
    for (candidate, rank) in ann.iter().zip(1..) {
        let place = found.entry(candidate.key).or_default();
        (place.source, place.row) = (candidate.source, candidate.row);
        place.ann = Some((rank, candidate.score));
    }
    let keys = |list: &[Candidate]| {
        list.iter()
            .map(|candidate| candidate.key)
            .collect::<Vec<_>>()
    };
    let (bm25, ann) = (keys(bm25), keys(ann));
    let weights = [request.weights.0, request.weights.1];
    let mut fused = rrf::fuse(&[&bm25, &ann], Some(&weights), request.rrf_k);
    fused.truncate(request.k);
    fused
        .into_iter()
        .filter_map(|(key, score)| found.get(&key).map(|found| (score, *found)))
        .collect()
}

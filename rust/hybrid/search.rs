//! One search: both signals over all sources, fused, with the rows of the hits.

use std::sync::Arc;

use super::Index;
use super::candidate::{Candidate, Found, Pool, Ranked};
use super::fusion::{self, Lists, Parts};
use super::ranking::{Hints, Ranking, Signals};
use super::relevance::Whole;
use crate::ann::{Mode, Query, Scored};
use crate::bm25::{Norms, Statistics};
use crate::error::{Error, Result};
use crate::filter::{Filter, Live, select};
use crate::row::{Place, Row};
use crate::source::{Selection, Source, TermPlace, with_analyzer};

/// Longest query text in bytes.
const LONGEST_QUERY: usize = 1 << 20;

/// First rows of each signal whose neighbours are candidates too, whatever they say themselves.
const MOST_LENDING: usize = 5;
/// Rows that these mostly bring: a neighbour on each side.
const MOST_BESIDE: usize = 4 * MOST_LENDING;

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
    /// Weights of BM25 and of the vectors: every list of a signal is weighed by its signal's.
    pub weights: (f64, f64),
    /// How the signals become one ranking.
    pub ranking: &'a Ranking,
    /// Times that the query names.
    pub hints: &'a Hints,
    /// Names that the query may hold; those that are no row's subject count for nothing.
    pub names: &'a [String],
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
    /// The calibrated chance that the row answers the query; `None` where there is no model or a signal is missing.
    pub relevance: Option<f64>,
    /// What the score is made of.
    pub parts: Parts,
    /// The constant of RRF that was used; `None` for min-max scores.
    pub rrf_k: Option<f64>,
    /// The row.
    pub row: Row,
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
        self.ranking.check()?;
        match self.vector {
            Some(vector) if vector.len() != ndim => Err(Error::Dimension {
                expected: ndim,
                got: vector.len(),
            }),
            _ => Ok(()),
        }
    }
}

/// The terms of a query in one source, each with its weight.
type Weighed = Vec<(TermPlace, f32)>;

/// A source with the rows of it that may be returned.
pub(super) type Selected<'a> = (&'a dyn Source, Selection);

/// Both signals of one query, ready to be run over any selection of rows.
pub(super) struct Signal<'a> {
    /// For each source its terms, by falling weight; `None` where the text has no terms.
    pub(super) lexical: Option<(Vec<Weighed>, Arc<Norms>)>,
    query: Option<Query>,
    mode: Mode,
    depth: usize,
    weights: Signals,
    pub(super) sources: &'a [Selected<'a>],
}

impl Signal<'_> {
    /// The best rows of each signal; `selections` replaces those of the sources.
    fn run(&self, selections: Option<&[Selection]>) -> Result<(Vec<Candidate>, Vec<Candidate>)> {
        let (mut bm25, mut ann) = (Vec::new(), Vec::new());
        for (number, (source, all)) in self.sources.iter().enumerate() {
            let selection = selections.and_then(|some| some.get(number)).unwrap_or(all);
            if selection.is_empty() {
                continue;
            }
            let take = |into: &mut Vec<Candidate>, best: Vec<Scored>| {
                let keys = source.keys();
                into.extend(best.into_iter().map(|Scored { row, score }| Candidate {
                    key: keys.get(row as usize).copied().unwrap_or(u64::MAX),
                    score,
                    source: number as u32,
                    row,
                }));
            };
            if let Some((placed, norms)) = &self.lexical
                && let Some(terms) = placed.get(number)
                && !terms.is_empty()
            {
                take(&mut bm25, source.bm25(terms, norms, self.depth, selection)?);
            }
            if let Some(query) = &self.query {
                take(
                    &mut ann,
                    source.ann(query, self.depth, self.mode, selection)?,
                );
            }
        }
        Candidate::best(&mut bm25, self.depth);
        Candidate::best(&mut ann, self.depth);
        Ok((bm25, ann))
    }

    /// The rows beside the first of each signal in their sessions, each once, as far as they may be returned.
    fn beside(
        &self,
        pool: &mut Pool,
        lists: &Lists,
        place: impl Fn(&Candidate) -> Place,
    ) -> Vec<Ranked> {
        let mut beside: Vec<Ranked> = Vec::new();
        let firsts = [&lists.bm25, &lists.ann]
            .into_iter()
            .flat_map(|list| list.iter().take(MOST_LENDING));
        let mut seen: Vec<u32> = Vec::with_capacity(2 * MOST_LENDING);
        for first in firsts {
            let here = pool.place(first.number);
            if here.group == 0 || seen.contains(&first.number) {
                continue;
            }
            seen.push(first.number);
            for (number, (source, selection)) in self.sources.iter().enumerate() {
                source.beside(here, &mut |row| {
                    let key = source.keys().get(row as usize).copied();
                    if let Some(key) = key.filter(|_| selection.contains(row)) {
                        let candidate = Candidate {
                            key,
                            score: f32::NEG_INFINITY,
                            source: number as u32,
                            row,
                        };
                        beside.push(Ranked {
                            number: pool.add(&candidate, &place),
                            key,
                            score: f64::NEG_INFINITY,
                        });
                    }
                });
            }
        }
        beside.sort_unstable_by_key(|ranked| ranked.number);
        beside.dedup_by_key(|ranked| ranked.number);
        beside
    }

    /// The best rows of each signal among those of the first group of spans that any row is in.
    fn run_hinted(&self, hints: &Hints) -> Result<Option<(Vec<Candidate>, Vec<Candidate>)>> {
        for spans in hints {
            let selections: Vec<Selection> = self
                .sources
                .iter()
                .map(|(source, selection)| {
                    let (first, last) = source.time_range();
                    if spans
                        .iter()
                        .any(|&(from, until)| from <= last && first < until)
                    {
                        source.within(spans, selection)
                    } else {
                        Selection::Rows(Vec::new())
                    }
                })
                .collect();
            if selections.iter().any(|selection| !selection.is_empty()) {
                return self.run(Some(&selections)).map(Some);
            }
        }
        Ok(None)
    }
}

impl Index {
    /// Searches: BM25 over the text, cosine over the vector, fused as `ranking` says; at most `k` hits, best first.
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
        let state = self.state.read();
        let mut sources: Vec<Selected<'_>> = Vec::new();
        let mut lives: Vec<&Live> = Vec::new();
        for (source, live) in state.each() {
            if source.rows() > 0 {
                sources.push((source, select(request.filter, source, live)?));
                lives.push(live);
            }
        }
        if sources.iter().all(|(_, selection)| selection.is_empty()) {
            return Ok(Vec::new());
        }
        let mut whole = Whole::default();
        let lexical = if terms.is_empty() {
            None
        } else {
            let statistics = state.statistics();
            whole.rows = statistics.rows;
            let placed = place_terms(&terms, statistics, &sources, &lives, &mut whole)?;
            Some((placed, state.norms(statistics)))
        };
        let signal = Signal {
            lexical,
            query,
            mode: self.mode,
            depth: request.depth.max(request.k),
            weights: Signals::new(request.weights.0, request.weights.1),
            sources: &sources,
        };
        let (ranked, rrf_k) = rank(request, &signal, whole)?;
        ranked
            .into_iter()
            .map(|(fused, found, relevance)| {
                Ok(Hit {
                    score: fused.score,
                    bm25_rank: found.bm25_rank,
                    ann_rank: found.ann_rank,
                    bm25_score: found.bm25_score,
                    cosine: found.cosine,
                    relevance,
                    parts: fused.parts,
                    rrf_k,
                    row: source_of(&sources, &found)?.row(found.row)?,
                })
            })
            .collect()
    }
}

fn source_of<'a>(sources: &[Selected<'a>], found: &Found) -> Result<&'a dyn Source> {
    sources
        .get(found.source as usize)
        .map(|(source, _)| *source)
        .ok_or_else(|| Error::Engine("a hit has no source".into()))
}

/// A row with its score, what was found of it, and its relevance.
type RankedHit = (fusion::Fused, Found, Option<f64>);

/// Runs both signals and fuses them: the best `k`, with what was found and its relevance.
fn rank(
    request: &Request<'_>,
    signal: &Signal<'_>,
    mut whole: Whole,
) -> Result<(Vec<RankedHit>, Option<f64>)> {
    let ranking = request.ranking;
    let place = |candidate: &Candidate| {
        signal
            .sources
            .get(candidate.source as usize)
            .map(|(source, _)| source.place(candidate.row))
            .unwrap_or_default()
    };
    let uses_sessions = ranking.is_grouped() || ranking.terms.diversity > 0.0;
    let needs_place = ranking.terms.recency > 0.0
        || uses_sessions
            && signal
                .sources
                .iter()
                .any(|(source, _)| source.has_sessions());
    let place = |candidate: &Candidate| {
        if needs_place {
            place(candidate)
        } else {
            Place::default()
        }
    };
    let (bm25, ann) = signal.run(None)?;
    let mut pool = Pool::with_capacity(bm25.len() + ann.len() + MOST_BESIDE);
    let mut lists = Lists {
        beside: Vec::new(),
        bm25: pool.take(&bm25, place, |found, rank, score| {
            (found.bm25_rank, found.bm25_score) = (Some(rank), Some(score));
        }),
        ann: pool.take(&ann, place, |found, rank, score| {
            (found.ann_rank, found.cosine) = (Some(rank), Some(score));
        }),
    };
    if ranking.near != Signals::default() {
        lists.beside = signal.beside(&mut pool, &lists, place);
    }
    let hinted = if ranking.is_hinted() && !request.hints.is_empty() {
        signal.run_hinted(request.hints)?.map(|(bm25, ann)| Lists {
            beside: Vec::new(),
            bm25: pool.take(&bm25, place, |found, _, score| {
                found.bm25_score = Some(score);
            }),
            ann: pool.take(&ann, place, |found, _, score| found.cosine = Some(score)),
        })
    } else {
        None
    };
    let named = if ranking.is_named() && !request.names.is_empty() {
        signal.named(request.names, &pool, &lists)?
    } else {
        None
    };
    let first = |list: &[Candidate]| list.first().map_or(0.0, |candidate| candidate.score);
    (whole.best_bm25, whole.best_cosine) = (first(&bm25), first(&ann));
    whole.floor_cosine = ann.last().map_or(0.0, |candidate| candidate.score);
    let weights = match ranking.confidence.filter(|_| signal.lexical.is_some()) {
        Some(confidence) if !ann.is_empty() => {
            let held = signal.held(bm25.first(), whole.possible)?;
            confidence.weigh(signal.weights, held, &ann)
        }
        _ => signal.weights,
    };
    let (mut fused, k) = fusion::fuse(
        ranking,
        weights,
        &pool,
        &lists,
        hinted.as_ref(),
        named.as_ref(),
    );
    if ranking.terms.recency > 0.0 || ranking.terms.priority > 0.0 {
        let now_ms = request.filter.as_of_ms.unwrap_or(request.filter.now_ms);
        fusion::add_terms(&mut fused, &ranking.terms, k, &pool, now_ms, |found| {
            source_of(signal.sources, found).map_or(0, |source| source.fixed(found.row).priority)
        });
    }
    fusion::choose(&mut fused, &pool, request.k, ranking.terms.diversity);
    let model = ranking
        .relevance
        .as_ref()
        .filter(|_| signal.lexical.is_some() && signal.query.is_some());
    let hits = fused.into_iter().filter_map(|row| {
        let found = *pool.rows.get(row.number as usize)?;
        let relevance = model.map(|model| whole.relevance(model, &found));
        Some((row, found, relevance))
    });
    Ok((hits.collect(), k))
}

/// Looks up each term in each source and weighs it by its frequency in all; for each source, by falling weight.
fn place_terms(
    terms: &[String],
    statistics: Statistics,
    sources: &[Selected<'_>],
    lives: &[&Live],
    whole: &mut Whole,
) -> Result<Vec<Weighed>> {
    let mut placed: Vec<Weighed> = sources.iter().map(|_| Vec::new()).collect();
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
        whole.possible += weight;
        if df > 0 {
            whole.known += weight;
        }
        for (number, place) in found.drain(..) {
            if let Some(list) = placed.get_mut(number) {
                list.push((place, weight));
            }
        }
    }
    if whole.possible > 0.0 {
        whole.known /= whole.possible;
    }
    // A stable sort by joint weights: every source sums in the same order.
    for list in &mut placed {
        list.sort_by(|a, b| b.1.total_cmp(&a.1));
    }
    Ok(placed)
}

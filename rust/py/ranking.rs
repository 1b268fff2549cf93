//! `Ranking`: how the signals become one ranking, made once and given with each search.

use pyo3::prelude::*;

use super::error::InvalidInputError;
use crate::hybrid::{
    Confidence, FEATURES, Method, RECALL_K, Ranking, Relevance, Signals, Support, Terms, part,
};

#[pyclass(frozen, name = "Ranking", module = "agentmem._native")]
pub(super) struct NativeRanking {
    pub(super) inner: Ranking,
}

fn signals((bm25, ann): (f64, f64)) -> Signals {
    Signals::new(bm25, ann)
}

#[pymethods]
impl NativeRanking {
    /// What is not given is as it was measured to be best.
    #[new]
    #[pyo3(signature = (
        *, method = "rrf", k = None, lone = None, own = None, near = None, session = None, first = None,
        hinted = None, named = None, support = None, recency = 0.0, half_life_ms = 0.0, priority = 0.0, diversity = 0.0,
        relevance = None, confidence = None,
    ))]
    #[expect(
        clippy::too_many_arguments,
        reason = "the keyword arguments of one Python class"
    )]
    fn new(
        method: &str,
        k: Option<(f64, f64)>,
        lone: Option<(f64, f64)>,
        own: Option<(f64, f64)>,
        near: Option<(f64, f64)>,
        session: Option<f64>,
        first: Option<f64>,
        hinted: Option<(f64, f64)>,
        named: Option<(f64, f64)>,
        support: Option<(f64, f64, f64, f64)>,
        recency: f64,
        half_life_ms: f64,
        priority: f64,
        diversity: f64,
        relevance: Option<(f64, [f64; FEATURES])>,
        confidence: Option<(f64, f64, f64, f64, f64)>,
    ) -> PyResult<Self> {
        let measured = Ranking::measured(RECALL_K);
        let or = |given: Option<(f64, f64)>, else_: Signals| given.map_or(else_, signals);
        let method = match method {
            "rrf" => k.map_or(measured.method, |(lone, grouped)| Method::Rrf {
                lone,
                grouped,
            }),
            "score" => Method::Score,
            other => {
                return Err(InvalidInputError::new_err(format!(
                    "fusion is {other:?}; \"rrf\" and \"score\" are allowed"
                )));
            }
        };
        let inner = Ranking {
            method,
            lone: or(lone, measured.lone),
            own: or(own, measured.own),
            near: or(near, measured.near),
            session: session.unwrap_or(measured.session),
            first: first.unwrap_or(measured.first),
            hinted: or(hinted, measured.hinted),
            named: or(named, measured.named),
            support: support.map_or(measured.support, |(before, after, decay, session)| {
                Support {
                    before,
                    after,
                    decay,
                    session,
                }
            }),
            confidence: Some(confidence.map_or(
                Confidence::measured(),
                |(full, some, rare, apart, least)| Confidence {
                    full,
                    some,
                    rare,
                    apart,
                    least,
                },
            )),
            terms: Terms {
                recency,
                half_life_ms,
                priority,
                diversity,
            },
            relevance: relevance.map(|(bias, weights)| Relevance { bias, weights }),
        };
        inner.check()?;
        Ok(Self { inner })
    }

    /// The weights of the signals for rows without a session.
    #[getter]
    fn lone(&self) -> (f64, f64) {
        (self.inner.lone.bm25, self.inner.lone.ann)
    }

    /// The constants of RRF: without a session among the candidates, and with one.
    #[getter]
    fn k(&self) -> Option<(f64, f64)> {
        match self.inner.method {
            Method::Rrf { lone, grouped } => Some((lone, grouped)),
            Method::Score => None,
        }
    }
}

/// Adds the class and the names of a score's parts.
pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<NativeRanking>()?;
    module.add("SCORE_PARTS", part::NAMES)
}

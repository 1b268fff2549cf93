//! `Asked`: what a search needs beside text and vector, made once for as many searches as ask the same.

#![allow(
    clippy::needless_pass_by_value,
    reason = "PyO3 hands extracted arguments over by value"
)]

use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};

use super::convert;
use super::hit::NativeHit;
use super::ranking::NativeRanking;
use crate::error::Result;
use crate::filter::{Filter, parse_where};
use crate::hints;
use crate::hybrid::{Hit, Index, Ranking, Request};

/// Everything of a request but its text, its vector and the present.
#[pyclass(frozen, module = "agentmem._native")]
pub(super) struct Asked {
    k: usize,
    depth: usize,
    weights: (f64, f64),
    ranking: Ranking,
    has_hints: bool,
    explain: Option<Py<PyAny>>,
    filter: Filter,
}

#[pymethods]
impl Asked {
    #[new]
    #[pyo3(signature = (
        k, depth, *, weights = (1.0, 1.0), rrf_k = 60.0, ranking = None, hints = false, explain = None,
        as_of_ms = None, tiers = 0b0010, scopes = Vec::new(), kinds = None, tags = None, any_tags = None,
        r#where = None, session = None, since_ms = None, until_ms = None,
    ), text_signature = "(k, depth, *, weights=(1.0, 1.0), rrf_k=60.0, ranking=None, hints=False, explain=None, as_of_ms=None, tiers=2, scopes=(), kinds=None, tags=None, any_tags=None, where=None, session=None, since_ms=None, until_ms=None)")]
    #[expect(
        clippy::too_many_arguments,
        reason = "the keyword arguments of one Python class"
    )]
    fn new(
        k: i64,
        depth: i64,
        weights: (f64, f64),
        rrf_k: f64,
        ranking: Option<PyRef<'_, NativeRanking>>,
        hints: bool,
        explain: Option<Py<PyAny>>,
        as_of_ms: Option<i64>,
        tiers: u32,
        scopes: Vec<Bound<'_, PyString>>,
        kinds: Option<Vec<Bound<'_, PyString>>>,
        tags: Option<Vec<Bound<'_, PyString>>>,
        any_tags: Option<Vec<Bound<'_, PyString>>>,
        r#where: Option<Bound<'_, PyString>>,
        session: Option<Bound<'_, PyString>>,
        since_ms: Option<i64>,
        until_ms: Option<i64>,
    ) -> PyResult<Self> {
        let conditions = r#where
            .as_ref()
            .map(|json| parse_where(&convert::text(json)));
        Ok(Self {
            k: convert::count(k, "k")?,
            depth: convert::count(depth, "depth")?,
            weights,
            ranking: ranking.map_or_else(|| Ranking::plain(rrf_k), |ranking| ranking.inner.clone()),
            has_hints: hints,
            explain,
            filter: Filter {
                tiers,
                scopes: convert::texts(&scopes),
                kinds: kinds.as_deref().map(convert::texts),
                tags: tags.as_deref().map(convert::texts).unwrap_or_default(),
                any_tags: any_tags.as_deref().map(convert::texts),
                session: session.as_ref().map(convert::text),
                since_ms,
                until_ms,
                now_ms: 0,
                as_of_ms,
                conditions: conditions.transpose()?.unwrap_or_default(),
                keys: None,
            },
        })
    }
}

impl Asked {
    /// The filter at a time of asking.
    pub(super) fn filter(&self, now_ms: i64) -> Filter {
        Filter {
            now_ms,
            ..self.filter.clone()
        }
    }

    /// Searches; `share` weighs the vectors of this query beside the weights of all.
    pub(super) fn run(
        &self,
        index: &Index,
        text: &str,
        vector: Option<&[f32]>,
        share: f64,
        filter: &Filter,
    ) -> Result<Vec<Hit>> {
        let hints = if self.has_hints {
            hints::read(text, filter.as_of_ms.unwrap_or(filter.now_ms))
        } else {
            Vec::new()
        };
        let names = if self.ranking.is_named() {
            hints::names(text)
        } else {
            Vec::new()
        };
        index.search(&Request {
            text,
            vector,
            k: self.k,
            depth: self.depth,
            weights: (self.weights.0, self.weights.1 * share),
            ranking: &self.ranking,
            hints: &hints,
            names: &names,
            filter,
        })
    }

    /// The hits as Python has them.
    pub(super) fn hits<'py>(
        &self,
        py: Python<'py>,
        found: Vec<Hit>,
    ) -> PyResult<Bound<'py, PyList>> {
        let hits = found
            .into_iter()
            .map(|hit| {
                let explain = self.explain.as_ref().map(|explain| explain.clone_ref(py));
                Bound::new(py, NativeHit::new(hit, explain))
            })
            .collect::<PyResult<Vec<_>>>()?;
        PyList::new(py, hits)
    }
}

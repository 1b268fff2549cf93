//! `StoreIndex`: the index of a store, kept in step with it by `agentmem.index`.

#![allow(
    clippy::needless_pass_by_value,
    reason = "PyO3 hands extracted arguments over by value"
)]

use std::path::PathBuf;

use numpy::{IntoPyArray, PyArray1};
use parking_lot::Mutex;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};

use super::convert::{self, FilterArguments};
use super::error::InvalidInputError;
use super::ranking::NativeRanking;
use crate::error::Result;
use crate::filter::Filter;
use crate::hints;
use crate::hybrid::{Hit, Index, Ranking, Request};
use crate::tail::Batch;

/// Rows that were analysed already; `StoreIndex.apply` takes them once.
#[pyclass(frozen, module = "agentmem._native")]
pub(super) struct PreparedRows {
    batch: Mutex<Option<Batch>>,
}

#[pyclass(frozen, module = "agentmem._native")]
pub(super) struct StoreIndex {
    index: Index,
}

/// What a search needs beside text, vector and filter.
#[derive(Clone)]
struct Asked {
    k: usize,
    depth: usize,
    weights: (f64, f64),
    ranking: Ranking,
    /// The time from which the text's hints are read.
    hints_at_ms: Option<i64>,
}

impl Asked {
    fn new(
        k: i64,
        depth: i64,
        weights: (f64, f64),
        rrf_k: f64,
        ranking: Option<&NativeRanking>,
        hints_at_ms: Option<i64>,
    ) -> PyResult<Self> {
        Ok(Self {
            k: convert::count(k, "k")?,
            depth: convert::count(depth, "depth")?,
            weights,
            ranking: ranking.map_or_else(|| Ranking::plain(rrf_k), |ranking| ranking.inner.clone()),
            hints_at_ms,
        })
    }

    /// Searches; `share` weighs the vectors of this query beside the weights of all.
    fn run(
        &self,
        index: &Index,
        text: &str,
        vector: Option<&[f32]>,
        share: f64,
        filter: &Filter,
    ) -> Result<Vec<Hit>> {
        let hints = self
            .hints_at_ms
            .map(|now_ms| hints::read(text, now_ms))
            .unwrap_or_default();
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
}

fn hits<'py>(py: Python<'py>, hits: &[Hit], explain: bool) -> PyResult<Bound<'py, PyList>> {
    let tuples = hits
        .iter()
        .map(|hit| convert::hit(py, hit, explain))
        .collect::<PyResult<Vec<_>>>()?;
    PyList::new(py, tuples)
}

#[pymethods]
impl StoreIndex {
    #[staticmethod]
    #[pyo3(signature = (directory, *, epoch, space, ndim, ann = "auto"))]
    fn open(
        py: Python<'_>,
        directory: PathBuf,
        epoch: &str,
        space: &str,
        ndim: usize,
        ann: &str,
    ) -> PyResult<Self> {
        let mode = convert::mode(ann)?;
        let index = py.detach(|| Index::open(&directory, epoch, space, ndim, mode))?;
        Ok(Self { index })
    }

    #[getter]
    fn watermark(&self, py: Python<'_>) -> u64 {
        py.detach(|| self.index.watermark())
    }

    #[getter]
    fn applied(&self, py: Python<'_>) -> u64 {
        py.detach(|| self.index.applied())
    }

    #[getter]
    fn tail_len(&self, py: Python<'_>) -> usize {
        py.detach(|| self.index.tail_len())
    }

    #[getter]
    fn live_len(&self, py: Python<'_>) -> usize {
        py.detach(|| self.index.len())
    }

    fn prepare(&self, py: Python<'_>, rows: Vec<Bound<'_, PyTuple>>) -> PyResult<PreparedRows> {
        let rows = convert::rows(&rows)?;
        let batch = py.detach(|| self.index.prepare(rows))?;
        Ok(PreparedRows {
            batch: Mutex::new(Some(batch)),
        })
    }

    fn apply(
        &self,
        py: Python<'_>,
        rows: Bound<'_, PyAny>,
        removed: Vec<u64>,
        seq: u64,
    ) -> PyResult<()> {
        if let Ok(prepared) = rows.cast::<PreparedRows>() {
            let taken = prepared.get().batch.lock().take();
            let batch = taken
                .ok_or_else(|| InvalidInputError::new_err("these rows were applied already"))?;
            return Ok(py.detach(|| self.index.apply_batch(batch, &removed, seq))?);
        }
        let rows = convert::rows(&rows.extract::<Vec<Bound<'_, PyTuple>>>()?)?;
        Ok(py.detach(|| self.index.apply(rows, &removed, seq))?)
    }

    #[pyo3(signature = (
        text, vector, k, depth, *, weights = (1.0, 1.0), rrf_k = 60.0, ranking = None,
        hints_at_ms = None, explain = false, now_ms, as_of_ms = None, tiers = 0b0010, scopes = Vec::new(), kinds = None, tags = None, any_tags = None, r#where = None, session = None,
        since_ms = None, until_ms = None,
    ), text_signature = "($self, text, vector, k, depth, *, weights=(1.0, 1.0), rrf_k=60.0, ranking=None, hints_at_ms=None, explain=False, now_ms, as_of_ms=None, tiers=2, scopes=(), kinds=None, tags=None, any_tags=None, where=None, session=None, since_ms=None, until_ms=None)")]
    #[expect(
        clippy::too_many_arguments,
        reason = "the keyword arguments of one Python method"
    )]
    fn search<'py>(
        &self,
        py: Python<'py>,
        text: &Bound<'py, PyString>,
        vector: Option<Bound<'py, PyAny>>,
        k: i64,
        depth: i64,
        weights: (f64, f64),
        rrf_k: f64,
        ranking: Option<PyRef<'py, NativeRanking>>,
        hints_at_ms: Option<i64>,
        explain: bool,
        now_ms: i64,
        as_of_ms: Option<i64>,
        tiers: u32,
        scopes: Vec<Bound<'py, PyString>>,
        kinds: Option<Vec<Bound<'py, PyString>>>,
        tags: Option<Vec<Bound<'py, PyString>>>,
        any_tags: Option<Vec<Bound<'py, PyString>>>,
        r#where: Option<Bound<'py, PyString>>,
        session: Option<Bound<'py, PyString>>,
        since_ms: Option<i64>,
        until_ms: Option<i64>,
    ) -> PyResult<Bound<'py, PyList>> {
        let asked = Asked::new(k, depth, weights, rrf_k, ranking.as_deref(), hints_at_ms)?;
        let conditions = r#where;
        let arguments = FilterArguments {
            now_ms,
            as_of_ms,
            tiers,
            scopes,
            kinds,
            tags,
            any_tags,
            conditions,
            session,
            since_ms,
            until_ms,
        };
        let filter = arguments.filter()?;
        let text = convert::text(text);
        let vector = vector.as_ref().map(convert::vector).transpose()?;
        let found = py.detach(|| asked.run(&self.index, &text, vector.as_deref(), 1.0, &filter))?;
        hits(py, &found, explain)
    }

    #[pyo3(signature = (
        texts, vectors, k, depth, *, weights = (1.0, 1.0), rrf_k = 60.0, ranking = None,
        hints_at_ms = None, ann_shares = None, explain = false, now_ms, as_of_ms = None, tiers = 0b0010, scopes = Vec::new(), kinds = None, tags = None, any_tags = None, r#where = None, session = None,
        since_ms = None, until_ms = None,
    ), text_signature = "($self, texts, vectors, k, depth, *, weights=(1.0, 1.0), rrf_k=60.0, ranking=None, hints_at_ms=None, ann_shares=None, explain=False, now_ms, as_of_ms=None, tiers=2, scopes=(), kinds=None, tags=None, any_tags=None, where=None, session=None, since_ms=None, until_ms=None)")]
    #[expect(
        clippy::too_many_arguments,
        reason = "the keyword arguments of one Python method"
    )]
    fn search_many<'py>(
        &self,
        py: Python<'py>,
        texts: Vec<Bound<'py, PyString>>,
        vectors: Option<Bound<'py, PyAny>>,
        k: i64,
        depth: i64,
        weights: (f64, f64),
        rrf_k: f64,
        ranking: Option<PyRef<'py, NativeRanking>>,
        hints_at_ms: Option<i64>,
        ann_shares: Option<Vec<f64>>,
        explain: bool,
        now_ms: i64,
        as_of_ms: Option<i64>,
        tiers: u32,
        scopes: Vec<Bound<'py, PyString>>,
        kinds: Option<Vec<Bound<'py, PyString>>>,
        tags: Option<Vec<Bound<'py, PyString>>>,
        any_tags: Option<Vec<Bound<'py, PyString>>>,
        r#where: Option<Bound<'py, PyString>>,
        session: Option<Bound<'py, PyString>>,
        since_ms: Option<i64>,
        until_ms: Option<i64>,
    ) -> PyResult<Bound<'py, PyList>> {
        let asked = Asked::new(k, depth, weights, rrf_k, ranking.as_deref(), hints_at_ms)?;
        let conditions = r#where;
        let arguments = FilterArguments {
            now_ms,
            as_of_ms,
            tiers,
            scopes,
            kinds,
            tags,
            any_tags,
            conditions,
            session,
            since_ms,
            until_ms,
        };
        let filter = arguments.filter()?;
        let texts = convert::texts(&texts);
        let vectors = vectors.as_ref().map(convert::matrix).transpose()?;
        if let Some((_, rows, _)) = &vectors
            && *rows != texts.len()
        {
            return Err(InvalidInputError::new_err(format!(
                "{} texts and {rows} vectors were given; one vector a text is needed",
                texts.len()
            )));
        }
        let found = py.detach(|| {
            texts
                .iter()
                .enumerate()
                .map(|(at, text)| {
                    let vector = vectors.as_ref().map(|(flat, _, ndim)| {
                        flat.get(at * ndim..(at + 1) * ndim).unwrap_or_default()
                    });
                    let shares = ann_shares.as_deref().and_then(|shares| shares.get(at));
                    let share = shares.copied().unwrap_or(1.0);
                    asked.run(&self.index, text, vector, share, &filter)
                })
                .collect::<Result<Vec<_>>>()
        })?;
        let lists = found
            .iter()
            .map(|found| hits(py, found, explain))
            .collect::<PyResult<Vec<_>>>()?;
        PyList::new(py, lists)
    }

    #[pyo3(signature = (*, minimum = 1, settle = false))]
    fn fold(&self, py: Python<'_>, minimum: i64, settle: bool) -> PyResult<bool> {
        let minimum = convert::count(minimum, "minimum")?;
        Ok(py.detach(|| self.index.fold(minimum, settle))?)
    }

    fn reload(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(py.detach(|| self.index.reload())?)
    }

    fn verify<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (segments, rows) = py.detach(|| self.index.verify())?;
        let report = self.stats(py)?;
        report.set_item("verified_segments", segments)?;
        report.set_item("verified_rows", rows)?;
        Ok(report)
    }

    fn keys<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u64>> {
        py.detach(|| self.index.keys()).into_pyarray(py)
    }

    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let stats = py.detach(|| self.index.stats());
        let report = PyDict::new(py);
        report.set_item("segments", stats.segments)?;
        report.set_item("rows", stats.rows)?;
        report.set_item("dead", stats.dead)?;
        report.set_item("tail", stats.tail)?;
        report.set_item("live", stats.live)?;
        report.set_item("vectors", stats.vectors)?;
        report.set_item("bytes", stats.bytes)?;
        report.set_item("generation", stats.generation)?;
        Ok(report)
    }
}

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

use super::asked::Asked;
use super::convert;
use super::error::InvalidInputError;
use crate::error::Result;
use crate::hybrid::Index;
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

    #[pyo3(signature = (text, vector, asked, now_ms, share = 1.0))]
    fn search<'py>(
        &self,
        py: Python<'py>,
        text: &Bound<'py, PyString>,
        vector: Option<Bound<'py, PyAny>>,
        asked: PyRef<'py, Asked>,
        now_ms: i64,
        share: f64,
    ) -> PyResult<Bound<'py, PyList>> {
        let text = convert::text(text);
        let vector = vector.as_ref().map(convert::vector).transpose()?;
        let asked = &*asked;
        let found = py.detach(|| {
            let filter = asked.filter(now_ms);
            asked.run(&self.index, &text, vector.as_deref(), share, &filter)
        })?;
        asked.hits(py, found)
    }

    #[pyo3(signature = (texts, vectors, asked, now_ms, shares = None))]
    fn search_many<'py>(
        &self,
        py: Python<'py>,
        texts: Vec<Bound<'py, PyString>>,
        vectors: Option<Bound<'py, PyAny>>,
        asked: PyRef<'py, Asked>,
        now_ms: i64,
        shares: Option<Vec<f64>>,
    ) -> PyResult<Bound<'py, PyList>> {
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
        let asked = &*asked;
        let found = py.detach(|| {
            let filter = asked.filter(now_ms);
            texts
                .iter()
                .enumerate()
                .map(|(at, text)| {
                    let vector = vectors.as_ref().map(|(flat, _, ndim)| {
                        flat.get(at * ndim..(at + 1) * ndim).unwrap_or_default()
                    });
                    let share = shares.as_deref().and_then(|shares| shares.get(at));
                    let share = share.copied().unwrap_or(1.0);
                    asked.run(&self.index, text, vector, share, &filter)
                })
                .collect::<Result<Vec<_>>>()
        })?;
        let lists = found
            .into_iter()
            .map(|found| asked.hits(py, found))
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

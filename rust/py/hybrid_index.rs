//! `HybridIndex`: the same engine, public by itself.

#![allow(
    clippy::needless_pass_by_value,
    reason = "PyO3 hands extracted arguments over by value"
)]

use std::path::PathBuf;

use numpy::{IntoPyArray, PyArray1, ToPyArray};
use pyo3::prelude::*;
use pyo3::types::{PyIterator, PyList, PyString};

use super::convert;
use super::error::InvalidInputError;
use crate::filter::Filter;
use crate::hybrid::{Index, Ranking, Request};
use crate::row::Row;

/// A hybrid index without a store: BM25 over texts, cosine over vectors, fused by RRF.
#[pyclass(frozen, module = "agentmem")]
pub(super) struct HybridIndex {
    index: Index,
}

/// Ids and scores of a search, best first, with the rank in each signal.
#[pyclass(frozen, module = "agentmem")]
pub(super) struct SearchResult {
    ids: Vec<u64>,
    scores: Vec<f32>,
    bm25_ranks: Vec<u32>,
    ann_ranks: Vec<u32>,
}

fn same_length(name: &str, got: usize, ids: usize) -> PyResult<()> {
    if got == ids {
        return Ok(());
    }
    Err(InvalidInputError::new_err(format!(
        "{ids} ids and {got} {name} were given; as many are needed"
    )))
}

#[pymethods]
impl HybridIndex {
    #[new]
    #[pyo3(signature = (ndim, *, ann = "auto"))]
    fn new(ndim: i64, ann: &str) -> PyResult<Self> {
        let ndim = convert::count(ndim, "ndim")?;
        Ok(Self {
            index: Index::private(ndim, convert::mode(ann)?)?,
        })
    }

    /// Opens what `save` wrote.
    #[staticmethod]
    #[pyo3(signature = (path, *, ann = "auto"))]
    fn open(py: Python<'_>, path: PathBuf, ann: &str) -> PyResult<Self> {
        let mode = convert::mode(ann)?;
        Ok(Self {
            index: py.detach(|| Index::open_saved(&path, mode))?,
        })
    }

    /// Adds texts and vectors; an id that is added again is replaced.
    #[pyo3(signature = (ids, texts, vectors, *, groups = None, positions = None))]
    fn add(
        &self,
        py: Python<'_>,
        ids: &Bound<'_, PyAny>,
        texts: Vec<Bound<'_, PyString>>,
        vectors: &Bound<'_, PyAny>,
        groups: Option<&Bound<'_, PyAny>>,
        positions: Option<Vec<i64>>,
    ) -> PyResult<()> {
        let ids = convert::ids(ids)?;
        same_length("texts", texts.len(), ids.len())?;
        let texts = convert::texts(&texts);
        if ids.is_empty() {
            return Ok(());
        }
        let (flat, rows, columns) = convert::matrix(vectors)?;
        same_length("vectors", rows, ids.len())?;
        if columns != self.index.ndim() {
            return Err(crate::Error::Dimension {
                expected: self.index.ndim(),
                got: columns,
            }
            .into());
        }
        let groups = groups.map(convert::ids).transpose()?;
        if let Some(groups) = &groups {
            same_length("groups", groups.len(), ids.len())?;
        }
        if let Some(positions) = &positions {
            same_length("positions", positions.len(), ids.len())?;
        }
        py.detach(|| {
            let rows = texts
                .into_iter()
                .zip(&ids)
                .zip(flat.chunks_exact(columns.max(1)))
                .enumerate()
                .map(|(at, ((text, &key), vector))| {
                    let row = Row {
                        key,
                        text,
                        is_current: true,
                        session: groups
                            .as_ref()
                            .and_then(|all| all.get(at))
                            .map(u64::to_string),
                        position: positions
                            .as_ref()
                            .and_then(|all| all.get(at))
                            .copied()
                            .unwrap_or(0),
                        ..Row::default()
                    };
                    (row, vector.to_vec())
                })
                .collect();
            self.index.apply(rows, &[], 0)
        })?;
        Ok(())
    }

    /// Removes ids; gives how many were there.
    fn remove(&self, py: Python<'_>, ids: &Bound<'_, PyAny>) -> PyResult<usize> {
        let ids = convert::ids(ids)?;
        Ok(py.detach(|| self.index.remove(&ids))?)
    }

    /// Searches; `filter` holds the ids that may be returned.
    #[pyo3(signature = (text, vector, k, depth = None, weights = None, filter = None))]
    #[expect(
        clippy::too_many_arguments,
        reason = "the arguments of one Python method"
    )]
    fn search(
        &self,
        py: Python<'_>,
        text: &Bound<'_, PyString>,
        vector: Option<&Bound<'_, PyAny>>,
        k: i64,
        depth: Option<i64>,
        weights: Option<(f64, f64)>,
        filter: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<SearchResult> {
        let k = convert::count(k, "k")?;
        let depth = match depth {
            Some(depth) => convert::count(depth, "depth")?,
            None => k.saturating_mul(4).max(50),
        };
        let text = convert::text(text);
        let vector = vector.map(convert::vector).transpose()?;
        let mut keys = filter.map(convert::ids).transpose()?;
        if let Some(keys) = &mut keys {
            keys.sort_unstable();
            keys.dedup();
        }
        let filter = Filter {
            keys,
            ..Filter::default()
        };
        let hits = py.detach(|| {
            self.index.search(&Request {
                text: &text,
                vector: vector.as_deref(),
                k,
                depth,
                weights: weights.unwrap_or((1.0, 1.0)),
                ranking: &Ranking::measured(crate::rrf::K),
                hints: &Vec::new(),
                names: &[],
                filter: &filter,
            })
        })?;
        Ok(SearchResult {
            ids: hits.iter().map(|hit| hit.row.key).collect(),
            scores: hits.iter().map(|hit| hit.score as f32).collect(),
            bm25_ranks: hits.iter().map(|hit| hit.bm25_rank.unwrap_or(0)).collect(),
            ann_ranks: hits.iter().map(|hit| hit.ann_rank.unwrap_or(0)).collect(),
        })
    }

    /// Writes the index into a folder.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        Ok(py.detach(|| self.index.save(&path))?)
    }

    /// Makes an immutable segment of what was added since the last one; searches get faster.
    fn fold(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(py.detach(|| self.index.fold(1, true))?)
    }

    /// The live ids, ascending.
    fn keys<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u64>> {
        py.detach(|| self.index.keys()).into_pyarray(py)
    }

    #[getter]
    fn ndim(&self) -> usize {
        self.index.ndim()
    }

    fn __len__(&self, py: Python<'_>) -> usize {
        py.detach(|| self.index.len())
    }
}

#[pymethods]
impl SearchResult {
    #[getter]
    fn ids<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u64>> {
        self.ids.to_pyarray(py)
    }

    #[getter]
    fn scores<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f32>> {
        self.scores.to_pyarray(py)
    }

    /// 1-based; 0 where the signal did not find the id.
    #[getter]
    fn bm25_ranks<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u32>> {
        self.bm25_ranks.to_pyarray(py)
    }

    /// 1-based; 0 where the signal did not find the id.
    #[getter]
    fn ann_ranks<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u32>> {
        self.ann_ranks.to_pyarray(py)
    }

    fn __len__(&self) -> usize {
        self.ids.len()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        let pairs: Vec<(u64, f32)> = self
            .ids
            .iter()
            .copied()
            .zip(self.scores.iter().copied())
            .collect();
        PyList::new(py, pairs)?.try_iter()
    }

    fn __repr__(&self) -> String {
        format!("SearchResult(ids={:?}, scores={:?})", self.ids, self.scores)
    }
}

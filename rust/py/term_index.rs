//! The clusterer's terms for Python.

use crate::term_index::TermIndex as Inner;
use numpy::{PyArray1, ToPyArray};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

/// Which terms the live scenes of a clusterer hold, by the slots that the caller gives them.
#[pyclass(module = "agentmem._native")]
pub(super) struct TermIndex(Inner);

fn counted<'py>(counts: &Bound<'py, PyDict>) -> PyResult<Vec<(Bound<'py, PyString>, i64)>> {
    counts
        .iter()
        .map(|(term, count)| Ok((term.cast_into::<PyString>()?, count.extract()?)))
        .collect()
}

#[pymethods]
impl TermIndex {
    #[new]
    #[pyo3(signature = (identifier, /))]
    fn new(identifier: f64) -> Self {
        Self(Inner::new(identifier))
    }

    #[getter]
    fn units(&self) -> i64 {
        self.0.units
    }

    #[setter]
    fn set_units(&mut self, units: i64) {
        self.0.units = units;
    }

    #[getter]
    fn slots(&self) -> usize {
        self.0.slots()
    }

    /// Take over the counts of these terms of a scene, of all of them where none are named.
    #[pyo3(signature = (slot, counts, terms = None, /))]
    fn change(
        &mut self,
        slot: usize,
        counts: &Bound<'_, PyDict>,
        terms: Option<Vec<Bound<'_, PyString>>>,
    ) -> PyResult<()> {
        let changed = match terms {
            None => counted(counts)?,
            Some(terms) => terms
                .into_iter()
                .map(|term| {
                    let count = counts.get_item(&term)?;
                    Ok((term, count.map_or(Ok(0), |count| count.extract())?))
                })
                .collect::<PyResult<_>>()?,
        };
        self.0.change(slot, texts(&changed)?);
        Ok(())
    }

    /// Empty a slot.
    #[pyo3(signature = (slot, /))]
    fn leave(&mut self, slot: usize) {
        self.0.leave(slot);
    }

    /// Make the length of a scene's weighted counts anew, and keep it.
    #[pyo3(signature = (slot, /))]
    fn measure(&mut self, slot: usize) -> f64 {
        self.0.measure(slot)
    }

    /// Keep a length that was measured before.
    #[pyo3(signature = (slot, norm, /))]
    fn set_norm(&mut self, slot: usize, norm: f64) {
        self.0.set_norm(slot, norm);
    }

    /// How near each scene is to terms, by slot.
    #[pyo3(signature = (terms, *, factor, sibling))]
    fn scores<'py>(
        &self,
        py: Python<'py>,
        terms: &Bound<'py, PyDict>,
        factor: f64,
        sibling: f64,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let counts = counted(terms)?;
        Ok(self
            .0
            .scores(&texts(&counts)?, factor, sibling)
            .to_pyarray(py))
    }

    /// How near each scene is to one of them, by slot.
    #[pyo3(signature = (slot, /))]
    fn scores_with<'py>(&self, py: Python<'py>, slot: usize) -> Bound<'py, PyArray1<f64>> {
        self.0.scores_with(slot).to_pyarray(py)
    }

    /// What all scenes count of each term of a scene.
    #[pyo3(signature = (slot, /))]
    fn frequencies<'py>(&self, py: Python<'py>, slot: usize) -> PyResult<Bound<'py, PyDict>> {
        let found = PyDict::new(py);
        for (term, count) in self.0.frequencies(slot) {
            found.set_item(term, count)?;
        }
        Ok(found)
    }
}

fn texts<'a>(counts: &'a [(Bound<'_, PyString>, i64)]) -> PyResult<Vec<(&'a str, i64)>> {
    counts
        .iter()
        .map(|(term, count)| Ok((term.to_str()?, *count)))
        .collect()
}

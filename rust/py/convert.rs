//! Python values to the crate's and back.

use numpy::{PyArray1, PyArray2, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString, PyTuple};

use super::error::InvalidInputError;
use crate::ann::Mode;
use crate::row::Row;

/// The text of a `str`; lone surrogates become U+FFFD, so that any string is a valid one.
pub(super) fn text(value: &Bound<'_, PyString>) -> String {
    match value.to_str() {
        Ok(text) => text.to_owned(),
        Err(_) => value.to_string_lossy().into_owned(),
    }
}

pub(super) fn texts(values: &[Bound<'_, PyString>]) -> Vec<String> {
    values.iter().map(text).collect()
}

pub(super) fn mode(name: &str) -> PyResult<Mode> {
    match name {
        "auto" => Ok(Mode::Auto),
        "exact" => Ok(Mode::Exact),
        "hnsw" => Ok(Mode::Hnsw),
        other => Err(InvalidInputError::new_err(format!(
            "ann is {other:?}; \"auto\", \"exact\" and \"hnsw\" are allowed"
        ))),
    }
}

/// `value` as a C-contiguous array of `dtype`; itself where it is one.
fn array<'py>(value: &Bound<'py, PyAny>, dtype: &str) -> PyResult<Bound<'py, PyAny>> {
    let arguments = PyDict::new(value.py());
    arguments.set_item("dtype", dtype)?;
    value
        .py()
        .import("numpy")?
        .call_method("ascontiguousarray", (value,), Some(&arguments))
}

/// A vector, copied: nobody can change it while the interpreter is released.
pub(super) fn vector(value: &Bound<'_, PyAny>) -> PyResult<Vec<f32>> {
    if let Ok(array) = value.cast::<PyArray1<f32>>() {
        return Ok(array.to_vec()?);
    }
    let made = array(value, "float32")?;
    match made.cast::<PyArray1<f32>>() {
        Ok(array) => Ok(array.to_vec()?),
        Err(_) => Err(InvalidInputError::new_err(
            "a vector must have one dimension",
        )),
    }
}

/// Vectors, flat, and their shape.
pub(super) fn matrix(value: &Bound<'_, PyAny>) -> PyResult<(Vec<f32>, usize, usize)> {
    let made = match value.cast::<PyArray2<f32>>() {
        Ok(array) if array.is_c_contiguous() => value.clone(),
        _ => array(value, "float32")?,
    };
    match made.cast::<PyArray2<f32>>() {
        Ok(array) => {
            let (rows, columns) = (array.shape()[0], array.shape()[1]);
            Ok((array.to_vec()?, rows, columns))
        }
        Err(_) => Err(InvalidInputError::new_err(
            "vectors must have two dimensions, (n, ndim)",
        )),
    }
}

/// Ids: anything that numpy makes an array of integers of. Negative ones are refused.
pub(super) fn ids(value: &Bound<'_, PyAny>) -> PyResult<Vec<u64>> {
    if let Ok(array) = value.cast::<PyArray1<u64>>() {
        return Ok(array.to_vec()?);
    }
    let mut all = Vec::new();
    for item in value.try_iter()? {
        let item = item?;
        all.push(item.extract::<u64>().map_err(|_| {
            InvalidInputError::new_err(format!("id {item} is not an integer of 0 to 2**64 - 1"))
        })?);
    }
    Ok(all)
}

/// A count that must be at least 1.
pub(super) fn count(value: i64, name: &str) -> PyResult<usize> {
    usize::try_from(value)
        .ok()
        .filter(|&count| count >= 1)
        .ok_or_else(|| {
            InvalidInputError::new_err(format!("{name} is {value}; at least 1 is needed"))
        })
}

/// Fields of a row tuple, taken in order.
struct Fields<'a, 'py> {
    tuple: &'a Bound<'py, PyTuple>,
    at: usize,
}

impl<'py> Fields<'_, 'py> {
    fn next(&mut self) -> PyResult<Bound<'py, PyAny>> {
        let item = self.tuple.get_item(self.at)?;
        self.at += 1;
        Ok(item)
    }

    fn value<T: for<'a> FromPyObject<'a, 'py, Error: Into<PyErr>>>(
        &mut self,
        name: &str,
    ) -> PyResult<T> {
        let item = self.next()?;
        item.extract::<T>().map_err(|error| wrong(name, error))
    }

    fn text(&mut self, name: &str) -> PyResult<String> {
        Ok(text(&self.value::<Bound<'py, PyString>>(name)?))
    }

    fn optional_text(&mut self, name: &str) -> PyResult<Option<String>> {
        Ok(self
            .value::<Option<Bound<'py, PyString>>>(name)?
            .as_ref()
            .map(text))
    }

    fn texts(&mut self, name: &str) -> PyResult<Vec<String>> {
        let item = self.next()?;
        // A tuple's items without the protocol of sequences, which costs more than they do.
        let found = match item.cast::<PyTuple>() {
            Ok(items) => items
                .iter()
                .map(|item| Ok(text(item.cast::<PyString>()?)))
                .collect::<PyResult<_>>(),
            Err(_) => item
                .extract::<Vec<Bound<'py, PyString>>>()
                .map(|items| texts(&items)),
        };
        found.map_err(|error| wrong(name, error))
    }
}

fn wrong(name: &str, error: impl Into<PyErr>) -> PyErr {
    let error: PyErr = error.into();
    InvalidInputError::new_err(format!("row field {name}: {error}"))
}

/// Number of fields of a row tuple.
const FIELDS: usize = 19;

/// Row tuples: see `StoreIndex.apply` in `_native.pyi`.
pub(super) fn rows(tuples: &[Bound<'_, PyTuple>]) -> PyResult<Vec<(Row, Vec<f32>)>> {
    tuples.iter().map(row).collect()
}

fn row(tuple: &Bound<'_, PyTuple>) -> PyResult<(Row, Vec<f32>)> {
    if tuple.len() != FIELDS {
        return Err(InvalidInputError::new_err(format!(
            "a row has {FIELDS} fields, {} were given",
            tuple.len()
        )));
    }
    let mut fields = Fields { tuple, at: 0 };
    let row = Row {
        key: fields.value("key")?,
        tier: fields.value("tier")?,
        kind: fields.text("kind")?,
        scope: fields.text("scope")?,
        session: fields.optional_text("session")?,
        position: fields.value::<Option<i64>>("position")?.unwrap_or(0),
        text: fields.text("text")?,
        created_ms: fields.value("created_ms")?,
        event_ms: fields.value("event_ms")?,
        valid_from_ms: fields.value("valid_from_ms")?,
        valid_to_ms: fields.value("valid_to_ms")?,
        is_current: fields.next()?.is_truthy()?,
        priority: fields.value("priority")?,
        trust: fields.value("trust")?,
        subject: fields.optional_text("subject")?,
        tags: fields.texts("tags")?,
        metadata: fields.text("metadata")?,
        sources: fields.texts("sources")?,
    };
    let vectors = match fields.value::<Option<Bound<'_, PyBytes>>>("vectors")? {
        None => Vec::new(),
        Some(bytes) => {
            let (floats, rest) = bytes.as_bytes().as_chunks::<4>();
            if !rest.is_empty() {
                return Err(InvalidInputError::new_err(format!(
                    "row {}: vectors have {} bytes, not a multiple of 4",
                    row.key,
                    bytes.as_bytes().len()
                )));
            }
            floats
                .iter()
                .map(|bytes| f32::from_le_bytes(*bytes))
                .collect()
        }
    };
    Ok((row, vectors))
}

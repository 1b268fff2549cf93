//! What a batch of documents needs of each: its JSON looked at, its vectors made unit.

use memchr::memmem;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString};

use super::convert;
use crate::ann;

/// JSON up to this long with at most so many brackets is neither too large nor too deep.
const PLAIN_BYTES: usize = 16_384;
const PLAIN_BRACKETS: usize = 64;
/// A vector this short has no direction.
const LEAST_NORM: f64 = 1e-12;

fn is_plain(json: &[u8]) -> bool {
    (1..=PLAIN_BYTES).contains(&json.len())
        && memchr::memchr2_iter(b'{', b'[', json).count() <= PLAIN_BRACKETS
        && memmem::find(json, b"null").is_none()
}

/// The texts of encoded JSON; `None` where a closer look is due.
#[pyfunction]
#[pyo3(signature = (encoded, /))]
fn plain_json<'py>(encoded: &Bound<'py, PyList>) -> PyResult<Vec<Option<Bound<'py, PyString>>>> {
    let look = |item: Bound<'py, PyAny>| {
        let bytes = item.cast::<PyBytes>()?;
        let json = Some(bytes.as_bytes()).filter(|json| is_plain(json));
        let text = json.and_then(|json| std::str::from_utf8(json).ok());
        Ok(text.map(|text| PyString::new(item.py(), text)))
    };
    encoded.iter().map(look).collect()
}

/// The rows of each array as bytes, scaled to unit length; those without direction are left out.
#[pyfunction]
#[pyo3(signature = (arrays, /))]
fn unit_rows<'py>(
    py: Python<'py>,
    arrays: &Bound<'py, PyList>,
) -> PyResult<Vec<Bound<'py, PyBytes>>> {
    let scaled = |array: Bound<'py, PyAny>| {
        let (mut flat, _, ndim) = convert::matrix(&array)?;
        let mut kept = 0;
        for start in (0..flat.len()).step_by(ndim.max(1)) {
            let row = &mut flat[start..start + ndim];
            if ann::squared_norm(row)?.sqrt() > LEAST_NORM {
                ann::normalise_in_place(row, ndim)?;
                flat.copy_within(start..start + ndim, kept);
                kept += ndim;
            }
        }
        PyBytes::new_with(py, kept * size_of::<f32>(), |bytes| {
            let (places, _) = bytes.as_chunks_mut::<4>();
            for (place, x) in places.iter_mut().zip(&flat) {
                *place = x.to_le_bytes();
            }
            Ok(())
        })
    };
    arrays.iter().map(scaled).collect()
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(plain_json, module)?)?;
    module.add_function(wrap_pyfunction!(unit_rows, module)?)
}

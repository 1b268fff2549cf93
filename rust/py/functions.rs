//! The pure functions: fusion, analysis, folding, redaction. Nothing here keeps state between calls.

use std::cell::RefCell;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyInt, PyString};

use crate::redact::{self as secrets, Redaction};
use crate::text::{self, Analyzer};
use crate::{Error, Result, rrf};

/// A secret in Python's terms: start and end in characters, kind.
type Span = (usize, usize, &'static str);
/// A text that held secrets: its place among those given, what is left of it, and where they were.
type Redacted<'py> = (usize, Bound<'py, PyString>, Vec<Span>);

/// Batches up to this many bytes are done without letting go of the interpreter; it takes some 50 µs.
const DETACHED_BYTES: usize = 1 << 14;

thread_local! {
    static ANALYZER: RefCell<Analyzer> = RefCell::default();
}

/// The text of a Python string. A lone surrogate has no UTF-8; each becomes one U+FFFD, so that lengths in characters
/// stay.
fn text_of(string: &Bound<'_, PyString>) -> PyResult<String> {
    if let Ok(text) = string.to_cow() {
        return Ok(text.into_owned());
    }
    let encoded = string.call_method1("encode", ("utf-32-le", "surrogatepass"))?;
    let encoded = encoded.cast_into::<PyBytes>()?;
    let units = encoded
        .as_bytes()
        .chunks_exact(4)
        .map(|unit| u32::from_le_bytes([unit[0], unit[1], unit[2], unit[3]]));
    Ok(units
        .map(|unit| char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER))
        .collect())
}

fn texts_of(strings: &[Bound<'_, PyString>]) -> PyResult<Vec<String>> {
    strings.iter().map(text_of).collect()
}

fn detach_if_long<T: Send>(py: Python<'_>, bytes: usize, work: impl FnOnce() -> T + Send) -> T {
    if bytes > DETACHED_BYTES {
        py.detach(work)
    } else {
        work()
    }
}

fn total(texts: &[String]) -> usize {
    texts.iter().map(String::len).sum()
}

fn ids_of(ranking: &Bound<'_, PyAny>, list: usize) -> PyResult<Vec<u64>> {
    let mut ids = Vec::with_capacity(ranking.len().unwrap_or(0));
    for (place, id) in ranking.try_iter()?.enumerate() {
        let id = id?;
        let Ok(id) = id.extract::<u64>() else {
            let given = id.repr().map(|repr| repr.to_string()).unwrap_or_default();
            return Err(Error::InvalidInput(format!(
                "rankings[{list}][{place}] is {given}; ids are integers from 0 to 2**64 - 1"
            ))
            .into());
        };
        ids.push(id);
    }
    Ok(ids)
}

fn checked_weights(weights: Option<Vec<f64>>, lists: usize) -> Result<Option<Vec<f64>>> {
    let Some(weights) = weights else {
        return Ok(None);
    };
    if weights.len() != lists {
        return Err(Error::InvalidInput(format!(
            "weights has {} numbers for {lists} rankings; give one a ranking",
            weights.len()
        )));
    }
    if let Some(at) = weights
        .iter()
        .position(|weight| !weight.is_finite() || *weight < 0.0)
    {
        return Err(Error::InvalidInput(format!(
            "weights[{at}] is {}; weights are finite and not negative",
            weights[at]
        )));
    }
    Ok(Some(weights))
}

/// Fuses ranked lists of ids by Reciprocal Rank Fusion.
#[pyfunction]
#[pyo3(signature = (rankings, *, weights=None, k=None))]
fn fuse(
    rankings: &Bound<'_, PyAny>,
    weights: Option<Vec<f64>>,
    k: Option<&Bound<'_, PyAny>>,
) -> PyResult<Vec<(u64, f64)>> {
    let k = match k {
        None => rrf::K,
        Some(given) => {
            let number = if given.is_instance_of::<pyo3::types::PyBool>() {
                None
            } else {
                given.extract::<f64>().ok()
            };
            number
                .filter(|k| k.is_finite() && *k > 0.0)
                .ok_or_else(|| {
                    let given = given
                        .repr()
                        .map(|repr| repr.to_string())
                        .unwrap_or_default();
                    Error::InvalidInput(format!(
                        "k is {given}; it must be a finite number above 0 (60 is usual)"
                    ))
                })?
        }
    };
    let mut lists = Vec::new();
    for (list, ranking) in rankings.try_iter()?.enumerate() {
        lists.push(ids_of(&ranking?, list)?);
    }
    let weights = checked_weights(weights, lists.len())?;
    let borrowed: Vec<&[u64]> = lists.iter().map(Vec::as_slice).collect();
    Ok(rrf::fuse(&borrowed, weights.as_deref(), k))
}

/// The terms of a document, in order.
#[pyfunction]
#[pyo3(signature = (text, /))]
fn analyze(py: Python<'_>, text: &Bound<'_, PyString>) -> PyResult<Vec<String>> {
    let text = text_of(text)?;
    Ok(detach_if_long(py, text.len(), || {
        let mut terms = Vec::new();
        ANALYZER.with_borrow_mut(|analyzer| {
            analyzer.document(&text, |term| terms.push(term.to_owned()));
        });
        terms
    }))
}

/// The terms of a query: unique, stop words dropped unless nothing else is left.
#[pyfunction]
#[pyo3(signature = (text, /))]
fn analyze_query(py: Python<'_>, text: &Bound<'_, PyString>) -> PyResult<Vec<String>> {
    let text = text_of(text)?;
    Ok(detach_if_long(py, text.len(), || {
        ANALYZER.with_borrow_mut(|analyzer| analyzer.query(&text))
    }))
}

/// The form in which texts are compared for duplicates.
#[pyfunction]
#[pyo3(signature = (text, /))]
fn fold_text(py: Python<'_>, text: &Bound<'_, PyString>) -> PyResult<String> {
    let text = text_of(text)?;
    Ok(detach_if_long(py, text.len(), || text::fold(&text)))
}

/// A digest of each text's folded form.
#[pyfunction]
#[pyo3(signature = (texts, /))]
#[expect(
    clippy::needless_pass_by_value,
    reason = "what Python hands over arrives owned"
)]
fn digests<'py>(
    py: Python<'py>,
    texts: Vec<Bound<'py, PyString>>,
) -> PyResult<Vec<Bound<'py, PyBytes>>> {
    let owned = texts_of(&texts)?;
    let digests: Vec<u128> = detach_if_long(py, total(&owned), || {
        owned.iter().map(|text| text::digest(text)).collect()
    });
    Ok(digests
        .iter()
        .map(|digest| PyBytes::new(py, &digest.to_be_bytes()))
        .collect())
}

/// Byte spans as character spans: one pass, since spans ascend.
fn in_characters(text: &str, spans: &[Redaction]) -> Vec<Span> {
    let (mut at, mut characters) = (0, 0);
    let mut count_to = |offset: usize| {
        characters += text.get(at..offset).map_or(0, |part| part.chars().count());
        at = offset;
        characters
    };
    spans
        .iter()
        .map(|span| (count_to(span.start), count_to(span.end), span.kind))
        .collect()
}

/// What `redact` changes in a Python string; the text outside the spans is the string's own, surrogates included.
fn redacted<'py>(string: &Bound<'py, PyString>, spans: &[Span]) -> PyResult<Bound<'py, PyString>> {
    let py = string.py();
    let mut from = 0;
    let mut parts = Vec::with_capacity(2 * spans.len() + 1);
    let slice = |from: usize, to: usize| {
        string.get_item(pyo3::types::PySlice::new(py, from as isize, to as isize, 1))
    };
    for &(start, end, kind) in spans {
        parts.push(slice(from, start)?);
        parts.push(PyString::new(py, &format!("[redacted:{kind}]")).into_any());
        from = end;
    }
    parts.push(slice(from, string.len()?)?);
    Ok(PyString::new(py, "")
        .call_method1("join", (parts,))?
        .cast_into::<PyString>()?)
}

/// Replaces the secrets in a text.
#[pyfunction]
#[pyo3(signature = (text, /))]
fn redact<'py>(
    py: Python<'py>,
    text: &Bound<'py, PyString>,
) -> PyResult<(Bound<'py, PyString>, Vec<Span>)> {
    let owned = text_of(text)?;
    let spans = detach_if_long(py, owned.len(), || {
        in_characters(&owned, &secrets::find(&owned))
    });
    if spans.is_empty() {
        return Ok((text.clone(), spans));
    }
    Ok((redacted(text, &spans)?, spans))
}

/// Replaces the secrets in texts; only the texts that changed come back.
#[pyfunction]
#[pyo3(signature = (texts, /))]
#[expect(
    clippy::needless_pass_by_value,
    reason = "what Python hands over arrives owned"
)]
fn redact_many<'py>(
    py: Python<'py>,
    texts: Vec<Bound<'py, PyString>>,
) -> PyResult<Vec<Redacted<'py>>> {
    let owned = texts_of(&texts)?;
    let changed: Vec<(usize, Vec<Span>)> = detach_if_long(py, total(&owned), || {
        let all = owned.iter().enumerate();
        all.map(|(index, text)| (index, in_characters(text, &secrets::find(text))))
            .filter(|(_, spans)| !spans.is_empty())
            .collect()
    });
    changed
        .into_iter()
        .map(|(index, spans)| Ok((index, redacted(&texts[index], &spans)?, spans)))
        .collect()
}

/// The spans of time that a question names, in groups of which the first that holds anything is meant.
#[pyfunction]
#[pyo3(signature = (text, now_ms, /))]
fn read_hints(text: &Bound<'_, PyString>, now_ms: i64) -> PyResult<Vec<Vec<(i64, i64)>>> {
    Ok(crate::hints::read(&text_of(text)?, now_ms))
}

/// Adds the functions, `TEXT_VERSION` and `MAX_QUERY_TERMS` to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(fuse, module)?)?;
    module.add_function(wrap_pyfunction!(analyze, module)?)?;
    module.add_function(wrap_pyfunction!(analyze_query, module)?)?;
    module.add_function(wrap_pyfunction!(fold_text, module)?)?;
    module.add_function(wrap_pyfunction!(digests, module)?)?;
    module.add_function(wrap_pyfunction!(read_hints, module)?)?;
    module.add_function(wrap_pyfunction!(redact, module)?)?;
    module.add_function(wrap_pyfunction!(redact_many, module)?)?;
    module.add("TEXT_VERSION", PyInt::new(module.py(), text::VERSION))?;
    module.add(
        "MAX_QUERY_TERMS",
        PyInt::new(module.py(), text::MAX_QUERY_TERMS),
    )?;
    Ok(())
}

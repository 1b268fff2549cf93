//! Tool logs for Python: calls in as tuples, steps out as the package's own frozen dataclass.

use super::error::{InvalidInputError, MermaidParseError};
use crate::mermaid::{self, Arguments, Call, Level, MAX_CALLS, Name, Options, Step};
use parking_lot::Mutex;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyList, PyString, PyType};

/// A str in generalized UTF-8: lone surrogates keep their three bytes.
fn bytes_of(text: &Bound<'_, PyString>) -> PyResult<Vec<u8>> {
    if let Ok(text) = text.to_str() {
        return Ok(text.as_bytes().to_vec());
    }
    let encoded = text.call_method1("encode", ("utf-8", "surrogatepass"))?;
    Ok(encoded.cast_into::<PyBytes>()?.as_bytes().to_vec())
}

/// A str with each lone surrogate as U+FFFD.
fn text_of(text: &Bound<'_, PyString>) -> PyResult<String> {
    if let Ok(text) = text.to_str() {
        return Ok(text.to_owned());
    }
    let bytes = bytes_of(text)?;
    let mut out = String::with_capacity(bytes.len());
    let mut rest = bytes.as_slice();
    while !rest.is_empty() {
        match std::str::from_utf8(rest) {
            Ok(valid) => {
                out.push_str(valid);
                break;
            }
            Err(error) => {
                out.push_str(
                    std::str::from_utf8(rest.get(..error.valid_up_to()).unwrap_or_default())
                        .unwrap_or_default(),
                );
                out.push('\u{FFFD}');
                // Only lone surrogates are not UTF-8 here, and each has three bytes.
                rest = rest.get(error.valid_up_to() + 3..).unwrap_or_default();
            }
        }
    }
    Ok(out)
}

fn name_to_py<'py>(py: Python<'py>, name: &Name) -> PyResult<Bound<'py, PyAny>> {
    match name.as_str() {
        Some(text) => Ok(PyString::new(py, text).into_any()),
        None => {
            PyBytes::new(py, name.as_bytes()).call_method1("decode", ("utf-8", "surrogatepass"))
        }
    }
}

/// One call, owned, so that the interpreter is free while it is read.
struct Owned {
    name: Vec<u8>,
    arguments: String,
    is_json: bool,
    result: Option<String>,
    is_error: bool,
    batch: Option<i64>,
    parent: Option<usize>,
}

impl Owned {
    fn from_py(call: &Bound<'_, PyAny>) -> PyResult<Self> {
        type Fields<'py> = (
            Bound<'py, PyString>,
            Bound<'py, PyString>,
            bool,
            Option<Bound<'py, PyString>>,
            bool,
            Option<i64>,
            Option<usize>,
        );
        let (name, arguments, is_json, result, is_error, batch, parent): Fields<'_> =
            call.extract()?;
        Ok(Self {
            name: bytes_of(&name)?,
            arguments: text_of(&arguments)?,
            is_json,
            result: result.as_ref().map(text_of).transpose()?,
            is_error,
            batch,
            parent,
        })
    }

    fn as_call(&self) -> Call<'_> {
        let arguments = if self.is_json {
            Arguments::Json(&self.arguments)
        } else {
            Arguments::Text(&self.arguments)
        };
        Call {
            name: &self.name,
            arguments,
            result: self.result.as_deref(),
            is_error: self.is_error,
            batch: self.batch,
            parent: self.parent,
        }
    }
}

/// Raw bytes that are copied before they are read; it bounds what a long log holds twice.
const CHUNK_BYTES: usize = 4 << 20;

/// A growing tool log, read once and kept in brief.
#[pyclass(frozen, module = "agentmem._native")]
struct ToolLog {
    log: Mutex<mermaid::Log>,
}

#[pymethods]
impl ToolLog {
    #[new]
    fn new() -> Self {
        Self {
            log: Mutex::new(mermaid::Log::default()),
        }
    }

    /// Reads calls: `(name, arguments, is_json, result, is_error, batch, parent)` each.
    #[pyo3(signature = (calls, /))]
    fn append(&self, py: Python<'_>, calls: &Bound<'_, PyList>) -> PyResult<()> {
        let mut chunk = Vec::new();
        let mut bytes = 0;
        for call in calls {
            let call = Owned::from_py(&call)?;
            bytes += call.name.len()
                + call.arguments.len()
                + call.result.as_ref().map_or(0, String::len);
            chunk.push(call);
            if bytes >= CHUNK_BYTES {
                self.read(py, &chunk)?;
                chunk.clear();
                bytes = 0;
            }
        }
        self.read(py, &chunk)
    }

    /// Number of calls.
    fn __len__(&self, py: Python<'_>) -> usize {
        py.detach(|| self.log.lock().len())
    }

    /// The same calls, to go on from without changing this log.
    fn copy(&self, py: Python<'_>) -> Self {
        py.detach(|| Self {
            log: Mutex::new(self.log.lock().clone()),
        })
    }

    /// The diagram at the first level, from `level` down, that fits.
    #[pyo3(signature = (level, budget_tokens=None, is_exact=false, with_arguments=true))]
    fn canvas(
        &self,
        py: Python<'_>,
        level: &str,
        budget_tokens: Option<usize>,
        is_exact: bool,
        with_arguments: bool,
    ) -> PyResult<NativeCanvas> {
        let level = level_of(level)?;
        let options = Options {
            level,
            budget_tokens,
            is_exact,
        };
        let inner = py.detach(|| {
            let mut log = self.log.lock();
            if with_arguments {
                log.canvas(options)
            } else {
                log.canvas_of_results(options)
            }
        });
        Ok(NativeCanvas { inner })
    }
}

impl ToolLog {
    fn read(&self, py: Python<'_>, calls: &[Owned]) -> PyResult<()> {
        py.detach(|| {
            let mut log = self.log.lock();
            calls
                .iter()
                .try_for_each(|call| log.append(&call.as_call()))
        })
        .map_err(PyErr::from)
    }
}

fn level_of(name: &str) -> PyResult<Level> {
    Level::ALL
        .into_iter()
        .find(|level| level.as_str() == name)
        .ok_or_else(|| {
            let names: Vec<_> = Level::ALL.iter().map(|level| level.as_str()).collect();
            InvalidInputError::new_err(format!("level {name:?} is not one of {}", names.join(", ")))
        })
}

/// A diagram and its measures.
#[pyclass(frozen, module = "agentmem._native")]
struct NativeCanvas {
    inner: mermaid::Canvas,
}

#[pymethods]
impl NativeCanvas {
    /// The Mermaid texts, one a page.
    #[getter]
    fn pages(&self) -> Vec<&str> {
        self.inner
            .pages
            .iter()
            .map(|page| page.text.as_str())
            .collect()
    }

    /// What the diagram says, as `agentmem.Step`s.
    fn steps<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        steps_to_py(py, &self.inner.steps, &[0], &[])
    }

    /// For each step the index of its call.
    #[getter]
    fn order(&self) -> Vec<usize> {
        self.inner.order.clone()
    }

    #[getter]
    fn level(&self) -> &'static str {
        self.inner.level.as_str()
    }

    #[getter]
    fn root(&self) -> &str {
        &self.inner.root
    }

    /// `(raw bytes, raw tokens, diagram bytes, diagram tokens)`, tokens estimated.
    #[getter]
    fn measures(&self) -> (usize, usize, usize, usize) {
        (
            self.inner.raw_bytes,
            self.inner.raw_tokens,
            self.inner.bytes,
            self.inner.tokens,
        )
    }

    /// The mission's look.
    fn tools_view(&self, py: Python<'_>) -> String {
        py.detach(|| mermaid::tools_view(&self.inner.steps))
    }

    /// The pages with failed states in red.
    fn styled_view(&self, py: Python<'_>) -> Vec<String> {
        py.detach(|| mermaid::styled_pages(&self.inner))
    }
}

/// The `Step` class and the setters of its slots.
struct StepClass {
    new: Py<PyAny>,
    class: Py<PyType>,
    setters: [Py<PyAny>; 6],
    outcomes: [Py<PyString>; 3],
}

static STEP: PyOnceLock<StepClass> = PyOnceLock::new();

impl StepClass {
    fn get(py: Python<'_>) -> PyResult<&'static Self> {
        STEP.get_or_try_init(py, || {
            let class = py
                .import("agentmem.toollog.canvas")?
                .getattr("Step")?
                .cast_into::<PyType>()?;
            let setter = |name: &str| -> PyResult<Py<PyAny>> {
                Ok(class.getattr(name)?.getattr("__set__")?.unbind())
            };
            Ok(Self {
                new: py
                    .import("builtins")?
                    .getattr("object")?
                    .getattr("__new__")?
                    .unbind(),
                setters: [
                    setter("tool")?,
                    setter("arguments_summary")?,
                    setter("outcome")?,
                    setter("result_summary")?,
                    setter("ref")?,
                    setter("parallel_group")?,
                ],
                outcomes: ["ok", "error", "pending"]
                    .map(|word| PyString::intern(py, word).unbind()),
                class: class.unbind(),
            })
        })
    }
}

fn steps_to_py<'py>(
    py: Python<'py>,
    steps: &[Step],
    before: &[u32],
    open: &[Option<u32>],
) -> PyResult<Bound<'py, PyList>> {
    let class = StepClass::get(py)?;
    let new = class.new.bind(py);
    let references = mermaid::references(steps, before, open);
    let out = PyList::empty(py);
    let [tool, arguments, outcome, result, reference, group] =
        class.setters.each_ref().map(|setter| setter.bind(py));
    let mut last: Option<(&Name, Bound<'py, PyAny>)> = None;
    for (step, names) in steps.iter().zip(references) {
        let object = new.call1((&class.class,))?;
        let name = match &last {
            Some((name, object)) if **name == step.tool => object.clone(),
            _ => name_to_py(py, &step.tool)?,
        };
        tool.call1((&object, &name))?;
        last = Some((&step.tool, name));
        arguments.call1((&object, step.arguments.as_str()))?;
        let [ok, error, pending] = &class.outcomes;
        let word = match step.outcome {
            mermaid::Outcome::Ok => ok,
            mermaid::Outcome::Error => error,
            mermaid::Outcome::Pending => pending,
        };
        outcome.call1((&object, word))?;
        result.call1((&object, step.result.as_str()))?;
        reference.call1((&object, names.id))?;
        group.call1((&object, names.group))?;
        out.append(object)?;
    }
    Ok(out)
}

/// Turns a diagram's str into UTF-8, or says where a lone surrogate stands.
fn diagram_text(text: &Bound<'_, PyString>) -> PyResult<String> {
    if let Ok(text) = text.to_str() {
        return Ok(text.to_owned());
    }
    let bytes = bytes_of(text)?;
    let valid = std::str::from_utf8(&bytes).map_or_else(|error| error.valid_up_to(), str::len);
    let before = String::from_utf8_lossy(bytes.get(..valid).unwrap_or_default()).into_owned();
    let line = before.matches('\n').count() + 1;
    let column = before
        .rsplit('\n')
        .next()
        .map_or(1, |rest| rest.chars().count() + 1);
    Err(MermaidParseError::new_err((
        line,
        column,
        "a lone surrogate; it is written as an entity",
    )))
}

/// Reads a diagram back: a list of `agentmem.Step`.
#[pyfunction]
#[pyo3(signature = (text, /))]
fn parse<'py>(py: Python<'py>, text: &Bound<'py, PyString>) -> PyResult<Bound<'py, PyList>> {
    let text = diagram_text(text)?;
    let document = py.detach(|| mermaid::parse(&text)).map_err(PyErr::from)?;
    steps_to_py(py, &document.steps, &document.before, &document.open)
}

/// The diagram as agentmem writes it; of its own text, the same text.
#[pyfunction]
#[pyo3(signature = (text, /))]
fn canonical(py: Python<'_>, text: &Bound<'_, PyString>) -> PyResult<String> {
    let text = diagram_text(text)?;
    py.detach(|| mermaid::parse(&text).map(|document| document.to_text()))
        .map_err(PyErr::from)
}

/// Estimates the tokens of a text.
#[pyfunction]
#[pyo3(signature = (text, /))]
fn estimate_tokens(py: Python<'_>, text: &Bound<'_, PyString>) -> PyResult<usize> {
    let text = text_of(text)?;
    Ok(py.detach(|| mermaid::estimate_tokens(&text)))
}

/// The lines of a Claude Code session that can hold calls: number, start, end, and where a copy of a result begins or
/// -1; and the number of all lines.
#[pyfunction]
#[pyo3(signature = (data, start, /))]
fn session_lines(
    py: Python<'_>,
    data: &Bound<'_, PyBytes>,
    start: usize,
) -> (Vec<(usize, usize, usize, i64)>, usize) {
    let bytes = data.as_bytes();
    let (lines, count) = py.detach(|| crate::session_lines::session_lines(bytes, start));
    let rows = lines
        .into_iter()
        .map(|line| {
            let copy = line.copy.map_or(-1, |at| at as i64);
            (line.number, line.start, line.end, copy)
        })
        .collect();
    (rows, count)
}

/// Adds the tool-log part to the module.
pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<ToolLog>()?;
    module.add_class::<NativeCanvas>()?;
    module.add("MAX_CALLS", MAX_CALLS)?;
    module.add_function(wrap_pyfunction!(parse, module)?)?;
    module.add_function(wrap_pyfunction!(canonical, module)?)?;
    module.add_function(wrap_pyfunction!(session_lines, module)?)?;
    module.add_function(wrap_pyfunction!(estimate_tokens, module)?)
}

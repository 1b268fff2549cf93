//! `Hit`: one row that fits a query. A field becomes a Python object when it is read.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict, PyString, PyTuple};

use super::error::InvalidInputError;
use crate::hybrid::{Hit, Part};
use crate::row::Row;

/// The bits of a key that hold the row's number in its tier.
const NUMBER_BITS: u64 = (1 << 56) - 1;
const TIERS: [&str; 4] = ["L0", "L1", "L2", "L3"];

/// The public fields, in order.
const FIELDS: [&str; 23] = [
    "id",
    "tier",
    "kind",
    "text",
    "score",
    "bm25_rank",
    "ann_rank",
    "relevance",
    "subject",
    "tags",
    "metadata",
    "sources",
    "scope",
    "session",
    "position",
    "created",
    "event_time",
    "valid_from",
    "valid_to",
    "is_current",
    "priority",
    "trust",
    "explanation",
];

#[pyclass(frozen, eq, name = "Hit", module = "agentmem")]
pub(super) struct NativeHit {
    hit: Hit,
    /// What makes an explanation of a score's parts, where one was asked for.
    explain: Option<Py<PyAny>>,
}

impl PartialEq for NativeHit {
    fn eq(&self, other: &Self) -> bool {
        self.hit == other.hit && self.explain.is_some() == other.explain.is_some()
    }
}

/// A time of `agentmem.models`.
fn time(py: Python<'_>, unix_ms: i64) -> PyResult<Bound<'_, PyAny>> {
    static FROM_MS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    FROM_MS
        .import(py, "agentmem.models.memory", "from_ms")?
        .call1((unix_ms,))
}

fn optional_time(py: Python<'_>, unix_ms: Option<i64>) -> PyResult<Option<Bound<'_, PyAny>>> {
    unix_ms.map(|unix_ms| time(py, unix_ms)).transpose()
}

/// The fixed fields of a row, as a pickle holds them.
type Fixed = (
    u64,
    u8,
    bool,
    i64,
    i64,
    Option<i64>,
    Option<i64>,
    Option<i64>,
    i64,
    i64,
);
/// Score, ranks, the signals' own scores, relevance and RRF's constant.
type Scores = (
    f64,
    Option<u32>,
    Option<u32>,
    Option<f32>,
    Option<f32>,
    Option<f64>,
    Option<f64>,
);
type State<'py> = (
    Bound<'py, PyBytes>,
    Fixed,
    Scores,
    Vec<(u32, f64)>,
    Option<Py<PyAny>>,
);

impl NativeHit {
    pub(super) fn new(hit: Hit, explain: Option<Py<PyAny>>) -> Self {
        Self { hit, explain }
    }

    fn parts(&self) -> Vec<(u32, f64)> {
        self.hit
            .parts
            .iter()
            .map(|part| (part.rank, part.value))
            .collect()
    }
}

#[pymethods]
impl NativeHit {
    #[classattr]
    fn __match_args__(py: Python<'_>) -> PyResult<Bound<'_, PyTuple>> {
        PyTuple::new(py, FIELDS)
    }

    #[getter]
    fn id(&self) -> String {
        format!("L{}:{}", self.hit.row.tier, self.hit.row.key & NUMBER_BITS)
    }

    #[getter]
    fn tier<'py>(&self, py: Python<'py>) -> Bound<'py, PyString> {
        match TIERS.get(usize::from(self.hit.row.tier)) {
            Some(tier) => PyString::intern(py, tier),
            None => PyString::new(py, &format!("L{}", self.hit.row.tier)),
        }
    }

    #[getter]
    fn kind<'py>(&self, py: Python<'py>) -> Bound<'py, PyString> {
        PyString::intern(py, &self.hit.row.kind)
    }

    #[getter]
    fn text(&self) -> &str {
        &self.hit.row.text
    }

    #[getter]
    fn score(&self) -> f64 {
        self.hit.score
    }

    #[getter]
    fn bm25_rank(&self) -> Option<u32> {
        self.hit.bm25_rank
    }

    #[getter]
    fn ann_rank(&self) -> Option<u32> {
        self.hit.ann_rank
    }

    #[getter]
    fn relevance(&self) -> Option<f64> {
        self.hit.relevance
    }

    #[getter]
    fn subject(&self) -> Option<&str> {
        self.hit.row.subject.as_deref()
    }

    #[getter]
    fn tags<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.hit.row.tags)
    }

    /// A new object for each reading: what one reader changes, no other sees.
    #[getter]
    fn metadata<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        static LOADS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        match self.hit.row.metadata.as_str() {
            "" | "{}" => Ok(PyDict::new(py).into_any()),
            json => LOADS.import(py, "json", "loads")?.call1((json,)),
        }
    }

    #[getter]
    fn sources<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.hit.row.sources)
    }

    #[getter]
    fn scope(&self) -> &str {
        &self.hit.row.scope
    }

    #[getter]
    fn session(&self) -> Option<&str> {
        self.hit.row.session.as_deref()
    }

    #[getter]
    fn position(&self) -> i64 {
        self.hit.row.position
    }

    #[getter]
    fn created<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        time(py, self.hit.row.created_ms)
    }

    #[getter]
    fn event_time<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        optional_time(py, self.hit.row.event_ms)
    }

    #[getter]
    fn valid_from<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        optional_time(py, self.hit.row.valid_from_ms)
    }

    #[getter]
    fn valid_to<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        optional_time(py, self.hit.row.valid_to_ms)
    }

    #[getter]
    fn is_current(&self) -> bool {
        self.hit.row.is_current
    }

    #[getter]
    fn priority(&self) -> i64 {
        self.hit.row.priority
    }

    #[getter]
    fn trust<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        static TRUSTS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        TRUSTS
            .import(py, "agentmem.models.memory", "TRUSTS")?
            .get_item(self.hit.row.trust)
    }

    /// A new object for each reading, as the metadata.
    #[getter]
    fn explanation<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(explain) = &self.explain else {
            return Ok(None);
        };
        let parts = (self.hit.rrf_k, self.parts());
        let asked = (parts, self.hit.bm25_score, self.hit.cosine);
        explain.bind(py).call1(asked).map(Some)
    }

    /// The key of the index: the tier's number in the top byte.
    #[getter]
    fn key(&self) -> u64 {
        self.hit.row.key
    }

    /// The lexical score; none where the words did not find the row.
    #[getter]
    fn bm25_score(&self) -> Option<f32> {
        self.hit.bm25_score
    }

    /// The cosine; none where the row is not among the candidates of the vectors.
    #[getter]
    fn cosine(&self) -> Option<f32> {
        self.hit.cosine
    }

    /// The metadata as JSON.
    #[getter]
    fn metadata_json(&self) -> &str {
        &self.hit.row.metadata
    }

    /// All public fields by name.
    fn asdict<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyDict>> {
        let fields = PyDict::new(slf.py());
        for name in FIELDS {
            fields.set_item(name, slf.getattr(name)?)?;
        }
        Ok(fields)
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let fields = FIELDS
            .iter()
            .map(|name| Ok(format!("{name}={}", slf.getattr(*name)?.repr()?)))
            .collect::<PyResult<Vec<_>>>()?;
        Ok(format!("Hit({})", fields.join(", ")))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (State<'py>,))> {
        let py = slf.py();
        let this = slf.get();
        let (hit, row) = (&this.hit, &this.hit.row);
        let mut bytes = Vec::new();
        row.encode(&mut bytes);
        let fixed = (
            row.key,
            row.tier,
            row.is_current,
            row.position,
            row.created_ms,
            row.event_ms,
            row.valid_from_ms,
            row.valid_to_ms,
            row.priority,
            row.trust,
        );
        let scores = (
            hit.score,
            hit.bm25_rank,
            hit.ann_rank,
            hit.bm25_score,
            hit.cosine,
            hit.relevance,
            hit.rrf_k,
        );
        let explain = this.explain.as_ref().map(|explain| explain.clone_ref(py));
        let state = (
            PyBytes::new(py, &bytes),
            fixed,
            scores,
            this.parts(),
            explain,
        );
        Ok((slf.get_type().getattr("_restore")?, (state,)))
    }

    /// Makes the hit that `__reduce__` took apart.
    #[staticmethod]
    fn _restore(state: State<'_>) -> PyResult<Self> {
        let (bytes, fixed, scores, parts, explain) = state;
        let wrong = || InvalidInputError::new_err("this is not the state of a Hit");
        let (
            key,
            tier,
            is_current,
            position,
            created_ms,
            event_ms,
            valid_from_ms,
            valid_to_ms,
            priority,
            trust,
        ) = fixed;
        let row = Row {
            key,
            tier,
            position,
            created_ms,
            event_ms,
            valid_from_ms,
            valid_to_ms,
            is_current,
            priority,
            trust,
            ..Row::decode(bytes.as_bytes()).ok_or_else(wrong)?
        };
        let (score, bm25_rank, ann_rank, bm25_score, cosine, relevance, rrf_k) = scores;
        let parts: Vec<Part> = parts
            .into_iter()
            .map(|(rank, value)| Part { rank, value })
            .collect();
        let parts = parts.try_into().map_err(|_| wrong())?;
        let hit = Hit {
            score,
            bm25_rank,
            ann_rank,
            bm25_score,
            cosine,
            relevance,
            parts,
            rrf_k,
            row,
        };
        Ok(Self::new(hit, explain))
    }
}

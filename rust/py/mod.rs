//! The Python boundary: `agentmem._native`. The only folder that names `PyO3` or numpy.

mod asked;
mod convert;
mod documents;
mod error;
mod functions;
mod hit;
mod hybrid_index;
mod mermaid;
mod ranking;
mod store_index;
mod term_index;

use pyo3::prelude::*;

/// The native core of agentmem. Hosts use it through `agentmem`.
#[pymodule(gil_used = false)]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let profile = if cfg!(debug_assertions) {
        "debug"
    } else {
        "release"
    };
    module.add("build_profile", profile)?;
    module.add_class::<asked::Asked>()?;
    module.add_class::<hit::NativeHit>()?;
    module.add_class::<store_index::StoreIndex>()?;
    module.add_class::<store_index::PreparedRows>()?;
    module.add_class::<hybrid_index::HybridIndex>()?;
    module.add_class::<hybrid_index::SearchResult>()?;
    module.add_class::<term_index::TermIndex>()?;
    documents::register(module)?;
    ranking::register(module)?;
    mermaid::register(module)?;
    functions::register(module)
}

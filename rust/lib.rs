//! The native core of agentmem: what must be fast, and nothing else.
//!
//! Modules call one way: `py -> hybrid -> {snapshot, tail} -> {bm25, ann, rrf, text} -> error`;
//! `mermaid` and `redact` stand alone. Only `py` names `PyO3` or numpy, behind the feature `python`.

pub mod error;
pub mod redact;
pub mod rrf;
pub mod text;

pub use error::{Error, Result};

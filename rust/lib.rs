//! The native core of agentmem: what must be fast, and nothing else.
//!
//! Modules call one way: `py -> hybrid -> {snapshot, tail} -> {bm25, ann, rrf, text} -> error`;
//! `mermaid`, `redact`, `session_lines` and `term_index` stand alone. Only `py` names `PyO3` or numpy, behind the feature `python`.

pub mod ann;
pub mod bits;
pub mod bm25;
pub mod date;
pub mod error;
pub mod files;
pub mod filter;
pub mod hints;
pub mod hybrid;
pub mod label;
pub mod mermaid;
pub mod redact;
pub mod row;
pub mod rrf;
pub mod segment;
pub mod session_lines;
pub mod snapshot;
mod source;
pub mod tail;
pub mod term_index;
pub mod text;

#[cfg(feature = "python")]
mod py;

pub use error::{Error, Result};

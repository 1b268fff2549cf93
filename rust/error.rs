//! The one error type of the crate. `py/` maps each variant to a Python class, without a wildcard arm.

use std::io;
use std::path::PathBuf;

/// Everything that can go wrong in the native core.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An argument is wrong; the message says which, what was given and what is allowed.
    #[error("{0}")]
    InvalidInput(String),
    /// A vector has the wrong length.
    #[error("a vector of length {expected} is needed, {got} was given")]
    Dimension {
        /// The index's number of dimensions.
        expected: usize,
        /// The length that was given.
        got: usize,
    },
    /// A text is not a diagram that agentmem wrote.
    #[error("line {line}, column {column}: {reason}")]
    MermaidParse {
        /// 1-based line.
        line: usize,
        /// 1-based column, in characters.
        column: usize,
        /// What was found and what is allowed there.
        reason: String,
    },
    /// A derived file is missing, damaged, foreign or stale; it can be rebuilt from the store.
    #[error("{path}: {reason}", path = path.display())]
    IndexCorrupt {
        /// The file or folder.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// Another process is publishing.
    #[error("{0}")]
    IndexBusy(String),
    /// A search engine refused or failed.
    #[error("search engine: {0}")]
    Engine(String),
    /// The operating system refused.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// The crate's result.
pub type Result<T> = std::result::Result<T, Error>;

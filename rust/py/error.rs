//! From the crate's errors to the classes of `agentmem.errors`, without a wildcard arm.

use pyo3::{PyErr, import_exception};

use crate::error::Error;

import_exception!(agentmem.errors, DimensionError);
import_exception!(agentmem.errors, IndexBusyError);
import_exception!(agentmem.errors, IndexCorruptError);
import_exception!(agentmem.errors, InvalidInputError);
import_exception!(agentmem.errors, MermaidParseError);
import_exception!(agentmem.errors, SearchIndexError);

impl From<Error> for PyErr {
    fn from(error: Error) -> Self {
        match error {
            Error::InvalidInput(reason) => InvalidInputError::new_err(reason),
            Error::Dimension { expected, got } => DimensionError::new_err((expected, got)),
            Error::MermaidParse {
                line,
                column,
                reason,
            } => MermaidParseError::new_err((line, column, reason)),
            Error::IndexCorrupt { .. } => {
                IndexCorruptError::new_err(format!("{error}; Memory.rebuild_index() makes it anew"))
            }
            Error::IndexBusy(reason) => IndexBusyError::new_err(reason),
            Error::Engine(_) => SearchIndexError::new_err(error.to_string()),
            Error::Io(error) => error.into(),
        }
    }
}

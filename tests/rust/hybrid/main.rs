//! The hybrid index against plain oracles: where rows live changes nothing, filters are exact, nothing is lost.
#![allow(missing_docs, clippy::unwrap_used)]
// The oracle compares as JSON does: exactly.
#![allow(clippy::float_cmp)]

mod damage;
mod filters;
mod fixtures;
mod folds;
mod scores;

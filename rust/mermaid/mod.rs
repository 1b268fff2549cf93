//! Tool log to Mermaid state diagram and back.
//!
//! A log of tool calls becomes a `stateDiagram-v2` text, grammar `agentmem/1`: one transition a call, numbered states,
//! order, parallel batches, repeats and sub-agents kept, and [`parse`] gives exactly the [`Step`]s that were written.
//! What a step keeps of its call is decided in [`log`] and the modules below it, by rules alone: no model, no clock, no
//! hasher order. Everything is linear in its input and none of it panics, whatever the bytes.
//!
//! Nothing here knows Python, files or the store.

mod arguments;
mod bytes;
mod carry;
mod escape;
mod json;
mod layout;
mod log;
mod model;
mod outcome;
mod parse;
mod root;
mod shell;
mod tokens;
mod view;
mod words;
mod write;

pub use layout::{MAX_DEPTH, Reference, references};
pub use log::{Canvas, Level, Log, Options};
pub use model::{Arguments, Call, MAX_CALLS, Name, Outcome, Place, Step};
pub use parse::{Document, parse};
pub use tokens::estimate_tokens;
pub use view::{styled_pages, tools_view};
pub use write::Page;

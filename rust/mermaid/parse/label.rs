//! A label's parts: tool, arguments, status and result.

use crate::mermaid::escape::{Slot, Undecodable, unescape, unescape_text};
use crate::mermaid::model::{Name, Outcome, Place, Step};

pub(super) fn read_label(label: &str, place: Place) -> std::result::Result<Step, Undecodable> {
    let (tool, rest) = label.split_at(label.find(' ').unwrap_or(label.len()));
    let tool = Name::from_valid(unescape(tool, Slot::Tool)?);
    let (arguments, tail) = match rest.find(" => ") {
        Some(at) => (rest.get(..at).unwrap_or_default(), rest.get(at + 4..)),
        None => (rest, None),
    };
    let start = label.len() - rest.len();
    let arguments = unescape_text(
        arguments.strip_prefix(' ').unwrap_or(arguments),
        Slot::Arguments,
    )
    .map_err(|error| Undecodable {
        at: error.at + start + 1,
        ..error
    })?;
    let tail = tail.unwrap_or_default();
    let (outcome, result) = split_status(tail);
    let result = unescape_text(result, Slot::Result).map_err(|error| Undecodable {
        at: error.at + label.len() - result.len(),
        ..error
    })?;
    Ok(Step {
        tool,
        arguments,
        outcome,
        result,
        place,
    })
}

fn split_status(tail: &str) -> (Outcome, &str) {
    for (word, outcome) in [("FAIL", Outcome::Error), ("PENDING", Outcome::Pending)] {
        if let Some(rest) = tail.strip_prefix(word) {
            if rest.is_empty() {
                return (outcome, rest);
            }
            if let Some(result) = rest.strip_prefix(' ') {
                return (outcome, result);
            }
        }
    }
    (Outcome::Ok, tail)
}

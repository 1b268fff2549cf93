//! The lines of a Claude Code session that can hold tool calls, found without decoding any.
//!
//! Some 40 % of a session's bytes are progress lines of hooks, and a quarter are copies of results for the screen
//! (`toolUseResult`). Both are known by how Claude Code writes a line: only its first `type` is asked, and a copy must
//! come last but for one id. Quotes inside texts are escaped, so no content can look like either; a copy deeper in the
//! line leaves JSON that can't be decoded, and the caller then decodes the whole line.

use memchr::memchr_iter;
use memchr::memmem::Finder;
use std::sync::LazyLock;

/// One line that must be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// Its number in the text, from 0.
    pub number: usize,
    /// Its first byte.
    pub start: usize,
    /// The byte behind its last one.
    pub end: usize,
    /// Where the copy of a result begins that need not be decoded.
    pub copy: Option<usize>,
}

const START: &[u8] = br#"{"parentUuid":"#;
const HOOKS: [&[u8]; 2] = [
    br#""type":"progress","data":{"type":"hook_progress""#,
    br#""type":"progress","data":{"type":"bash_progress""#,
];
const COPY_END: &[u8] = br#"},"sourceToolAssistantUUID":""#;
/// The id behind `COPY_END` and what closes the line.
const COPY_END_BYTES: usize = COPY_END.len() + 36 + 2;
/// The fields before `type` are ids, a folder and a branch: some 300 bytes.
const PREFIX_BYTES: usize = 800;

static KIND: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(br#""type":""#));
static COPY: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(br#","toolUseResult":{"#));
static AGENT: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(br#""agentId""#));

enum Need {
    Nothing,
    Whole,
    Until(usize),
}

fn need(line: &[u8]) -> Need {
    let prefix = line.get(..PREFIX_BYTES).unwrap_or(line);
    if line.is_empty() {
        return Need::Nothing;
    }
    let Some(rest) = KIND
        .find(prefix)
        .filter(|_| line.starts_with(START))
        .and_then(|at| line.get(at..))
    else {
        return Need::Whole;
    };
    if HOOKS.iter().any(|hook| rest.starts_with(hook)) {
        return if line.ends_with(b"}") {
            Need::Nothing
        } else {
            Need::Whole
        };
    }
    let ends_with_copy = line.ends_with(b"}}")
        || line
            .len()
            .checked_sub(COPY_END_BYTES)
            .and_then(|at| line.get(at..))
            .is_some_and(|end| end.starts_with(COPY_END));
    if !ends_with_copy {
        return Need::Whole;
    }
    let Some(found) = COPY.find(rest) else {
        return Need::Whole;
    };
    // The id of a sub-agent stands only in the copy.
    if AGENT.find(rest.get(found..).unwrap_or_default()).is_some() {
        return Need::Whole;
    }
    Need::Until(line.len() - rest.len() + found)
}

/// The lines from byte `from` on that must be decoded, and the number of all lines.
#[must_use]
pub fn session_lines(text: &[u8], from: usize) -> (Vec<Line>, usize) {
    let mut lines = Vec::new();
    let mut number = 0;
    let mut start = from.min(text.len());
    let rest = text.get(start..).unwrap_or_default();
    let ends = memchr_iter(b'\n', rest).map(|at| from + at);
    for end in ends.chain([text.len()]) {
        let copy = match need(text.get(start..end).unwrap_or_default()) {
            Need::Nothing => None,
            Need::Whole => Some(None),
            Need::Until(at) => Some(Some(start + at)),
        };
        if let Some(copy) = copy {
            lines.push(Line {
                number,
                start,
                end,
                copy,
            });
        }
        number += 1;
        start = end + 1;
    }
    (lines, number)
}

//! The lines of a Claude Code session that can hold tool calls, found without decoding any.
//!
//! Some 40 % of a session's bytes are progress lines of hooks, and a quarter are copies of results for the screen
//! (`toolUseResult`). Both are known by how Claude Code writes a line: only its first `type` is asked, and a copy must
//! come last but for one id. Quotes inside texts are escaped, so no content can look like either; a copy deeper in the
//! line leaves JSON that can't be decoded, and the caller then decodes the whole line.
//!
//! Words of the agent say only that there was a turn. A line of them is left out where the next needed line is one of
//! the same message: that one says it too.

use memchr::memmem::Finder;
use memchr::{memchr_iter, memrchr};
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
/// How a line of the host's own bookkeeping begins, which holds no call.
const SNAPSHOT: &[u8] = br#"{"type":"file-history-snapshot","#;
const COPY_END: &[u8] = br#"},"sourceToolAssistantUUID":""#;
/// The id behind `COPY_END` and what closes the line.
const COPY_END_BYTES: usize = COPY_END.len() + 36 + 2;
/// The fields before `type` are ids, a folder and a branch: some 300 bytes.
const PREFIX_BYTES: usize = 800;

static KIND: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(br#""type":""#));
static COPY: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(br#","toolUseResult":{"#));
/// What stands between a message's id and its first block.
const CONTENT: &[u8] = br#""type":"message","role":"assistant","content":[{"type":""#;
/// Fields that give a line another meaning.
static OTHERS: LazyLock<[Finder<'static>; 3]> = LazyLock::new(|| {
    [
        "\"isMeta\"",
        "\"isCompactSummary\"",
        "\"parent_tool_use_id\"",
    ]
    .map(Finder::new)
});
static AGENT_LINE: LazyLock<Finder<'static>> =
    LazyLock::new(|| Finder::new(br#""type":"assistant""#));
static MAIN: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(br#""isSidechain":false"#));
/// How the types of blocks end that are calls or results.
static TOOLS: LazyLock<[Finder<'static>; 2]> =
    LazyLock::new(|| ["tool_use\"", "tool_result\""].map(Finder::new));
static AGENT: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(br#""agentId""#));

enum Need {
    Nothing,
    Whole,
    Until(usize),
}

fn need(line: &[u8]) -> Need {
    let prefix = line.get(..PREFIX_BYTES).unwrap_or(line);
    if line.is_empty() || (line.starts_with(SNAPSHOT) && line.ends_with(b"}")) {
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

/// A line of the main agent that is words alone, or begins with a call.
#[derive(Clone, Copy)]
struct Turn<'a> {
    message: &'a [u8],
    is_words: bool,
}

fn turn(line: &[u8]) -> Option<Turn<'_>> {
    let prefix = line.get(..PREFIX_BYTES).unwrap_or(line);
    let (before, rest) = line.split_at_checked(KIND.find(prefix)?)?;
    let blocks = rest.strip_prefix(CONTENT)?;
    let holds = |finder: &Finder<'_>| finder.find(line).is_some();
    let is_words = blocks.starts_with(b"text\"") && !TOOLS.iter().any(holds);
    let is_turn = (is_words || blocks.starts_with(b"tool_use\""))
        && line.starts_with(START)
        && line.ends_with(b"}")
        && MAIN.find(before).is_some()
        && AGENT_LINE.find(rest).is_some()
        && !OTHERS.iter().any(holds);
    let before = before.strip_suffix(b"\",").filter(|_| is_turn)?;
    let (field, message) = before.split_at_checked(memrchr(b'"', before)?)?;
    field
        .ends_with(b"\"id\":")
        .then_some(Turn { message, is_words })
}

/// The lines from byte `from` on that must be decoded, and the number of all lines.
#[must_use]
pub fn session_lines(text: &[u8], from: usize) -> (Vec<Line>, usize) {
    let mut lines = Vec::new();
    let mut number = 0;
    let mut start = from.min(text.len());
    let rest = text.get(start..).unwrap_or_default();
    let ends = memchr_iter(b'\n', rest).map(|at| from + at);
    // The message of the last needed line, if that was words alone.
    let mut words: Option<&[u8]> = None;
    for end in ends.chain([text.len()]) {
        let line = text.get(start..end).unwrap_or_default();
        let copy = match need(line) {
            Need::Nothing => None,
            Need::Whole => Some(None),
            Need::Until(at) => Some(Some(start + at)),
        };
        if let Some(copy) = copy {
            let turn = turn(line);
            if words.is_some_and(|words| turn.is_some_and(|turn| turn.message == words)) {
                lines.pop();
            }
            words = turn.filter(|turn| turn.is_words).map(|turn| turn.message);
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

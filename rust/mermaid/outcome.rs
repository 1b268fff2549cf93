//! What a result says, in a few words; rules by kind of tool, the first that fits.

use super::json::{self, Brief};
use super::model::Outcome;
use super::shell;
use super::words::{is_private, line_count, mask, one_line, push_field, separate};
use std::borrow::Cow;
use std::fmt::Write as _;

/// Bytes of a summary that are kept before a level cuts it.
pub(super) const KEPT_BYTES: usize = 160;
/// JSON up to this size is read; a larger one is only measured.
const JSON_BYTES: usize = 1 << 20;
/// Head and tail of a long text that rules look at.
const WINDOW: usize = 8 << 10;

/// What sort of tool a call used; it decides which rules its result may meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Gives a file's content: rules on words never run, the words are the file's.
    Read,
    /// Changes a file: its confirmation says nothing.
    Edit,
    /// Gives paths or lines that match.
    Search,
    /// Runs a command.
    Shell,
    /// A sub-agent.
    Agent,
    /// Anything else.
    Other,
}

impl Kind {
    pub(super) fn of(tool: &str) -> Self {
        let short = tool
            .rsplit("__")
            .next()
            .unwrap_or(tool)
            .get(..48.min(tool.len()))
            .unwrap_or(tool)
            .to_ascii_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| short.contains(word));
        if has(&[
            "bash",
            "shell",
            "exec",
            "terminal",
            "run_command",
            "run_ipython",
        ]) || short == "run"
        {
            Self::Shell
        } else if short == "task" || short == "agent" || has(&["subagent", "sub_agent"]) {
            Self::Agent
        } else if has(&["grep", "glob", "find_file", "list_dir"])
            || matches!(
                short.as_str(),
                "ls" | "find" | "search" | "search_dir" | "search_file"
            )
        {
            Self::Search
        } else if has(&["edit", "str_replace", "write", "apply_patch", "insert"])
            || short == "create"
        {
            Self::Edit
        } else if short.starts_with("read")
            || matches!(
                short.as_str(),
                "cat" | "view" | "open" | "goto" | "scroll_down" | "scroll_up"
            )
        {
            Self::Read
        } else {
            Self::Other
        }
    }

    /// What a command line makes of a tool.
    pub(super) fn with_command(self, text: &str) -> Self {
        let text = text.trim_start();
        let text = text
            .strip_prefix("cd ")
            .and_then(|rest| rest.split_once("&& "))
            .map_or(text, |(_, rest)| rest);
        let first = text.split([' ', '\n']).next().unwrap_or_default();
        if !matches!(self, Self::Shell | Self::Other) {
            return self;
        }
        match first {
            "cat" | "sed" | "open" | "goto" | "scroll_down" | "scroll_up" | "head" | "tail" => {
                Self::Read
            }
            "grep" | "rg" | "ag" | "find" | "ls" | "search_dir" | "search_file" | "find_file"
            | "tree" => Self::Search,
            "edit" | "create" | "insert" => Self::Edit,
            _ => self,
        }
    }
}

/// The summary of a result, one line.
pub(super) fn summarize(kind: Kind, outcome: Outcome, result: Option<&str>) -> String {
    let Some(result) = result else {
        return String::new();
    };
    let text = result.trim();
    if text.is_empty() {
        return String::new();
    }
    let mut out = String::new();
    if outcome == Outcome::Error {
        failure(&mut out, kind, text);
    } else {
        success(&mut out, kind, text);
    }
    one_line(&mask(&out), KEPT_BYTES)
}

fn failure(out: &mut String, kind: Kind, text: &str) {
    if text.contains("doesn't want to proceed") || text.contains("The user doesn't want") {
        out.push_str("denied by user");
        return;
    }
    if text.contains("Sibling tool call errored") {
        out.push_str("cancelled, a parallel call failed");
        return;
    }
    let view = window(text);
    if kind == Kind::Shell && shell::summarize(out, &view) {
        return;
    }
    if let Some(code) = shell::exit_code(&view) {
        let _ = write!(out, "exit {code}");
    }
    if let Some(line) = shell::error_line(&view) {
        separate(out);
        out.push_str(line);
    } else if let Some(object) = small_json(text, 2) {
        separate(out);
        of_json(out, &object);
    } else if out.is_empty() {
        out.push_str(
            text.lines()
                .find(|line| !line.trim().is_empty())
                .unwrap_or(text),
        );
    }
}

fn success(out: &mut String, kind: Kind, text: &str) {
    match kind {
        Kind::Edit => {
            // A confirmation says no more than that it is ok; one that begins with an error is told.
            let first = text.lines().next().unwrap_or_default();
            if let Some(line) = shell::error_line(
                first
                    .get(..first.floor_char_boundary(400))
                    .unwrap_or_default(),
            ) {
                out.push_str(line);
            }
        }
        Kind::Read => {
            let _ = write!(out, "{}L", line_count(text));
        }
        Kind::Search => of_search(out, text),
        Kind::Agent => of_agent(out, text),
        Kind::Shell | Kind::Other => {
            if text.len() <= 60 && !text.contains('\n') && !text.starts_with(['{', '[']) {
                out.push_str(text);
            } else if let Some(value) = small_json(
                text,
                if text.get(..200).unwrap_or(text).contains("\"error\"") {
                    2
                } else {
                    1
                },
            ) {
                of_json(out, &value);
            } else if !shell::summarize(out, &window(text)) {
                fallback(out, kind, text);
            }
        }
    }
}

fn small_json(text: &str, levels: u8) -> Option<Brief<'_>> {
    if !text.starts_with(['{', '[']) || text.len() > JSON_BYTES {
        return None;
    }
    json::read(text, levels)
}

/// A long text's head and tail with a line break between them.
fn window(text: &str) -> Cow<'_, str> {
    if text.len() <= 2 * WINDOW {
        return Cow::Borrowed(text);
    }
    let head = text
        .get(..text.floor_char_boundary(WINDOW))
        .unwrap_or_default();
    let tail = text
        .get(text.ceil_char_boundary(text.len() - WINDOW)..)
        .unwrap_or_default();
    Cow::Owned(format!("{head}\n{tail}"))
}

fn of_search(out: &mut String, text: &str) {
    let first = text.lines().next().unwrap_or_default();
    let lower = first.to_ascii_lowercase();
    if lower.starts_with("no files")
        || lower.starts_with("no match")
        || lower.starts_with("found 0")
    {
        out.push_str("0 hits");
        return;
    }
    if let Some(count) = lower
        .strip_prefix("found ")
        .and_then(|rest| rest.split(' ').next())
        && count.bytes().all(|b| b.is_ascii_digit())
    {
        match text.lines().nth(1).filter(|_| count == "1") {
            Some(only) => out.push_str(only),
            None => {
                let _ = write!(out, "{count} hits");
            }
        }
        return;
    }
    match line_count(text) {
        1 => out.push_str(first),
        count => {
            let _ = write!(out, "{count} hits");
        }
    }
}

fn of_agent(out: &mut String, text: &str) {
    let number = |key: &str| {
        let rest = text
            .rsplit_once(key)?
            .1
            .trim_start_matches([':', ' ', '"', '=']);
        let end = rest
            .bytes()
            .position(|b| !b.is_ascii_digit())
            .unwrap_or(rest.len());
        rest.get(..end)?.parse::<u64>().ok()
    };
    if let Some(calls) = number("tool_uses") {
        let _ = write!(out, "{calls} calls");
    }
    if let Some(milliseconds) = number("duration_ms") {
        let _ = write!(out, " {}s", milliseconds / 1000);
    }
    separate(out);
    heading(out, text);
}

/// The first heading, or the first line that says something.
fn heading(out: &mut String, text: &str) {
    let head = text
        .get(..text.floor_char_boundary(4000))
        .unwrap_or_default();
    let line = head
        .lines()
        .find(|line| line.starts_with('#'))
        .or_else(|| head.lines().find(|line| line.trim().len() > 2));
    out.push_str(line.unwrap_or_default().trim_start_matches(['#', ' ', '*']));
}

fn fallback(out: &mut String, kind: Kind, text: &str) {
    let lines = line_count(text);
    if lines > 1 {
        let _ = write!(out, "{lines}L ");
    }
    if kind == Kind::Shell && lines > 1 {
        let tail = text
            .get(text.ceil_char_boundary(text.len().saturating_sub(2000))..)
            .unwrap_or_default();
        out.push_str(
            tail.lines()
                .rev()
                .find(|line| !line.trim().is_empty())
                .unwrap_or_default()
                .trim(),
        );
    } else {
        heading(out, text);
    }
}

/// Keys that tell most about an object, best first.
const TELLING: [&str; 12] = [
    "error",
    "message",
    "status",
    "state",
    "id",
    "reservation_id",
    "order_id",
    "name",
    "title",
    "total",
    "count",
    "result",
];

fn of_json(out: &mut String, value: &Brief<'_>) {
    match value {
        Brief::Array { length, .. } => {
            let _ = write!(out, "[{length}]");
        }
        Brief::Object { length, fields } => {
            if let Some(error) = value.get("error") {
                match error.text_of(&["message", "type"]).or(error.text()) {
                    Some(text) => out.push_str(text),
                    None => push_field(out, "error", error),
                }
                return;
            }
            let mut shown = 0;
            for key in TELLING {
                if shown < 3
                    && let Some(field) = value.get(key)
                    && is_scalar(field)
                {
                    push_field(out, key, field);
                    shown += 1;
                }
            }
            for (key, field) in fields {
                if shown >= 2 {
                    break;
                }
                if is_scalar(field) && !TELLING.contains(&key.as_ref()) && !is_private(key) {
                    push_field(out, key, field);
                    shown += 1;
                }
            }
            if shown < *length {
                let _ = write!(
                    out,
                    "{}+{} keys",
                    if out.is_empty() { "" } else { " " },
                    length - shown
                );
            }
        }
        other => push_field(out, "", other),
    }
}

fn is_scalar(value: &Brief<'_>) -> bool {
    match value {
        Brief::Text(text) => text.len() <= 60,
        Brief::Number(_) | Brief::Bool(_) => true,
        Brief::Null | Brief::Array { .. } | Brief::Object { .. } => false,
    }
}

//! What a call was asked to do, in a few words.

use super::json::{self, Brief, Number};
use super::model::Arguments;
use super::outcome::Kind;
use super::words::{line_count, mask, one_line, push_field};
use memchr::memmem;
use std::fmt::Write as _;

/// Bytes of a summary that are kept before a level cuts it.
pub(super) const KEPT_BYTES: usize = 240;

const PATH_KEYS: [&str; 7] = [
    "file_path",
    "path",
    "filename",
    "notebook_path",
    "target_file",
    "file",
    "filepath",
];
const COMMAND_KEYS: [&str; 4] = ["command", "cmd", "script", "code"];
const CONTENT_KEYS: [&str; 4] = ["content", "file_text", "new_source", "text"];

/// The summary, one line, and what kind of call a tool of this kind makes of it.
pub(super) fn summarize(kind: Kind, arguments: Arguments<'_>) -> (String, Kind) {
    let text = arguments.as_str();
    let looks_like_json = text.trim_start().starts_with(['{', '[', '"']);
    let value = if matches!(arguments, Arguments::Json(_)) || looks_like_json {
        json::read(text, 3)
    } else {
        None
    };
    let mut out = String::new();
    let kind = match &value {
        Some(object @ Brief::Object { .. }) => of_object(&mut out, object, kind),
        Some(Brief::Null) => kind,
        Some(Brief::Text(text)) => {
            out = command(text);
            kind.with_command(text)
        }
        Some(other) => {
            push_field(&mut out, "", other);
            kind
        }
        None => {
            out = command(text);
            kind.with_command(text)
        }
    };
    let masked = mask(&out);
    (one_line(&masked, KEPT_BYTES), kind)
}

fn of_object(out: &mut String, object: &Brief<'_>, kind: Kind) -> Kind {
    if let Some(text) = object
        .text_of(&COMMAND_KEYS)
        .filter(|_| object.text_of(&PATH_KEYS).is_none())
    {
        out.push_str(&command(text));
        return kind.with_command(text);
    }
    if let Some(pattern) = object.text_of(&["pattern", "regex"]) {
        if pattern.contains('*') && !pattern.contains(".*") {
            out.push_str(pattern);
        } else {
            let _ = write!(out, "/{pattern}/");
        }
        if let Some(path) = object.text_of(&["path", "glob", "include"]) {
            let _ = write!(out, " in {path}");
        }
        return kind;
    }
    if let Some(path) = object.text_of(&PATH_KEYS) {
        if let Some(verb) = object.get("command").and_then(Brief::text) {
            let _ = write!(out, "{verb} ");
        }
        out.push_str(path);
        of_file(out, object);
        // Editors that also show files say so in a verb.
        let shows = object.text_of(&["command"]) == Some("view");
        return if shows { Kind::Read } else { kind };
    }
    if let Some(Brief::Array { items, length }) = object.get("todos") {
        let done = items
            .iter()
            .filter(|item| item.text_of(&["status"]) == Some("completed"))
            .count();
        let _ = write!(out, "{done}/{length} done");
        let now = items
            .iter()
            .find(|item| item.text_of(&["status"]) == Some("in_progress"));
        if let Some(text) = now.and_then(|item| item.text_of(&["content", "activeForm"])) {
            let _ = write!(out, " now {text}");
        }
        return kind;
    }
    if let Some(url) = object.text_of(&["url", "uri"]) {
        out.push_str(url.split_once("://").map_or(url, |(_, rest)| rest));
        return kind;
    }
    if let Some(query) = object
        .text_of(&["query", "q"])
        .filter(|_| object.fields().len() <= 3)
    {
        out.push_str(query);
        return kind;
    }
    if object.text_of(&["prompt"]).is_some()
        && let Some(text) = object.text_of(&["description"])
    {
        out.push_str(text);
        return kind;
    }
    for (key, value) in object.fields() {
        push_field(out, key, value);
        if out.len() > 2 * KEPT_BYTES {
            break;
        }
    }
    kind
}

/// What is done to the file.
fn of_file(out: &mut String, object: &Brief<'_>) {
    let old = object.text_of(&["old_string", "old_str"]);
    let new = object.text_of(&["new_string", "new_str"]);
    if old.is_some() || new.is_some() {
        let (added, removed) = changed_lines(old.unwrap_or_default(), new.unwrap_or_default());
        let _ = write!(out, " +{added}-{removed}");
    } else if let Some(Brief::Array { length, .. }) = object.get("edits") {
        let _ = write!(out, " {length} edits");
    } else if let Some(content) = object.text_of(&CONTENT_KEYS) {
        let _ = write!(out, " {}L", line_count(content));
    }
    let number = |key: &str| match object.get(key) {
        Some(Brief::Number(Number::Unsigned(number))) => Some(*number),
        _ => None,
    };
    match (number("offset"), number("limit")) {
        (Some(from), Some(count)) => {
            let _ = write!(out, " L{from}-{}", from.saturating_add(count));
        }
        (Some(from), None) => {
            let _ = write!(out, " L{from}-");
        }
        (None, Some(count)) => {
            let _ = write!(out, " L1-{count}");
        }
        (None, None) => {}
    }
    if let Some(Brief::Array { items, .. }) = object.get("view_range")
        && let [Brief::Number(from), Brief::Number(to)] = items.as_slice()
    {
        let _ = write!(out, " L{from}-{to}");
    }
}

/// Lines added and removed once the common head and tail are taken off.
fn changed_lines(old: &str, new: &str) -> (usize, usize) {
    let (removed, added) = (line_count(old), line_count(new));
    let is_same = |(a, b): &(&str, &str)| a == b;
    let head = old.lines().zip(new.lines()).take_while(is_same).count();
    let most = removed.min(added) - head;
    let backwards = old.lines().rev().zip(new.lines().rev()).take(most);
    let tail = backwards.take_while(is_same).count();
    (added - head - tail, removed - head - tail)
}

/// A shell command without what says nothing: leading `cd`, redirections, a final `tail`, here-document bodies.
pub(super) fn command(text: &str) -> String {
    let mut rest = text.trim();
    while let Some(after) = rest
        .strip_prefix("cd ")
        .and_then(|after| after.split_once("&& "))
    {
        if after.0.contains('\n') {
            break;
        }
        rest = after.1.trim_start();
    }
    let (first, more) = rest.split_once('\n').unwrap_or((rest, ""));
    let mut out = String::with_capacity(first.len().min(2 * KEPT_BYTES));
    let is_here_document = first.contains("<<") && !more.is_empty();
    for word in first.split_whitespace() {
        if word == "2>&1" || word == "2>/dev/null" {
            continue;
        }
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
        if out.len() > 2 * KEPT_BYTES {
            break;
        }
    }
    if let Some(pipe) = memmem::rfind(out.as_bytes(), b" | ") {
        let after = out.get(pipe + 3..).unwrap_or_default();
        let is_cut = after.starts_with("tail") || after.starts_with("head");
        if is_cut && !after.contains(['&', ';', '>']) {
            out.truncate(pipe);
        }
    }
    if !more.is_empty() {
        if is_here_document || line_count(more) > 3 {
            let _ = write!(out, " +{}L", line_count(more));
        } else {
            for word in more.split_whitespace().take(40) {
                out.push(' ');
                out.push_str(word);
            }
        }
    }
    out
}

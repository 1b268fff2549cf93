//! Small helpers on texts that become part of a summary.

use super::json::Brief;
use aho_corasick::AhoCorasick;
use memchr::memchr_iter;
use regex::Regex;
use std::borrow::Cow;
use std::fmt::Write as _;
use std::sync::LazyLock;

/// Number of lines, the last one counted whether or not a newline ends it.
pub(super) fn line_count(text: &str) -> usize {
    let newlines = memchr_iter(b'\n', text.as_bytes()).count();
    newlines + usize::from(!text.is_empty() && !text.ends_with('\n'))
}

/// At most `most` bytes on a character's boundary, `…` in place of what is cut.
pub(super) fn cut(text: &str, most: usize) -> Cow<'_, str> {
    if text.len() <= most {
        return Cow::Borrowed(text);
    }
    if text.contains('/') && !text.contains(' ') && most > '…'.len_utf8() {
        // Of a path the end says most.
        let start = text.ceil_char_boundary(text.len() - (most - '…'.len_utf8()));
        return Cow::Owned(format!("…{}", text.get(start..).unwrap_or_default()));
    }
    let mut end = most.saturating_sub('…'.len_utf8());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let kept = text.get(..end).unwrap_or_default().trim_end();
    if kept.is_empty() {
        Cow::Borrowed("")
    } else {
        Cow::Owned(format!("{kept}…"))
    }
}

/// The text on one line: runs of white space and control characters become one space, ANSI sequences nothing.
pub(super) fn one_line(text: &str, most: usize) -> String {
    let mut out = String::with_capacity(text.len().min(most + 8));
    let mut gap = false;
    let mut rest = text;
    while out.len() <= most {
        let visible = rest.bytes().take(most + 1).take_while(u8::is_ascii_graphic);
        let length = visible.count();
        if length > 0 {
            if gap && !out.is_empty() {
                out.push(' ');
            }
            gap = false;
            // What is cut does not depend on how far a run goes on.
            let length = length.min((most + 1).saturating_sub(out.len()).max(1));
            let (run, after) = rest.split_at(length);
            out.push_str(run);
            rest = after;
            continue;
        }
        let mut characters = rest.chars();
        let Some(character) = characters.next() else {
            break;
        };
        if character == '\u{1B}' {
            skip_ansi(&mut characters);
        } else if character.is_whitespace() || character.is_control() || character == '\u{FEFF}' {
            gap = true;
        } else {
            if gap && !out.is_empty() {
                out.push(' ');
            }
            gap = false;
            out.push(character);
        }
        rest = characters.as_str();
    }
    match cut(&out, most) {
        Cow::Borrowed(kept) if kept.len() == out.len() => out,
        kept => kept.into_owned(),
    }
}

fn skip_ansi(characters: &mut std::str::Chars<'_>) {
    match characters.as_str().bytes().next() {
        Some(b'[') => {
            characters.next();
            characters.find(|character| ('@'..='~').contains(character));
        }
        Some(b']') => {
            characters.find(|character| matches!(character, '\u{7}' | '\\'));
        }
        _ => {
            characters.next();
        }
    }
}

/// Fields whose values are never shown.
const PRIVATE: [&str; 22] = [
    "password",
    "passwd",
    "pwd",
    "secret",
    "token",
    "access_token",
    "refresh_token",
    "api_key",
    "apikey",
    "authorization",
    "cookie",
    "set-cookie",
    "private_key",
    "client_secret",
    "email",
    "phone",
    "phone_number",
    "dob",
    "birth_date",
    "ssn",
    "card_number",
    "cvv",
];

/// For each first letter the lengths of private names, a bit each.
const LENGTHS: [u16; 256] = {
    let mut table = [0; 256];
    let mut index = 0;
    while index < PRIVATE.len() {
        let name = PRIVATE[index].as_bytes();
        table[name[0] as usize] |= 1 << name.len();
        index += 1;
    }
    table
};

/// Whether a field's value is a secret or personal.
pub(super) fn is_private(key: &str) -> bool {
    // Nearly every key fails on its length and first letter.
    let first = key.as_bytes().first().map_or(0, |letter| letter | 0x20);
    let lengths = LENGTHS.get(usize::from(first)).copied().unwrap_or(0);
    key.len() < 16
        && lengths >> key.len() & 1 != 0
        && PRIVATE.iter().any(|name| name.eq_ignore_ascii_case(key))
}

/// What stands in place of a secret.
const MASK: &str = "•••";

/// Texts without one of these hold nothing that [`SECRETS`] would find.
static HINTS: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    let words = [
        "sk-",
        "AKIA",
        "ghp_",
        "gho_",
        "github_pat_",
        "glpat-",
        "xox",
        "eyJ",
        "bearer ",
        "password",
        "passwd",
        "secret",
        "token",
        "api_key",
        "apikey",
        "@",
        "AIza",
    ];
    AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .build(words)
        .ok()
});

static SECRETS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"sk-[A-Za-z0-9_-]{16,}|AKIA[0-9A-Z]{16}|gh[po]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}",
        r"|glpat-[A-Za-z0-9_-]{16,}|xox[abprs]-[A-Za-z0-9-]{10,}|AIza[A-Za-z0-9_-]{30,}",
        r"|eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*|(?i:bearer) +[A-Za-z0-9._~+/=-]{8,}",
        r"|(?i:password|passwd|secret|token|api_?key)=[^\s&•][^\s&]*|://[^/\s:@]+:[^/\s@]+@",
        r"|[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+\.[A-Za-z]{2,}",
    ))
    .ok()
});

/// Whether a text holds a secret or an address.
pub(super) fn holds_secret(text: &str) -> bool {
    matches!(mask(text), Cow::Owned(_))
}

/// The text with secrets and addresses replaced.
pub(super) fn mask(text: &str) -> Cow<'_, str> {
    let is_suspect = HINTS.as_ref().is_some_and(|hints| hints.is_match(text));
    match SECRETS.as_ref() {
        Some(secrets) if is_suspect => secrets.replace_all(text, MASK),
        _ => Cow::Borrowed(text),
    }
}

/// Sets off what follows, if something stands before it.
pub(super) fn separate(out: &mut String) {
    if !out.is_empty() {
        out.push_str(", ");
    }
}

/// Appends a field of an object: identifiers bare, other scalars `key=value`, lists `key[n]`, objects `key{n}`.
pub(super) fn push_field(out: &mut String, key: &str, value: &Brief<'_>) {
    if !out.is_empty() {
        out.push(' ');
    }
    if is_private(key) {
        let _ = write!(out, "{key}={MASK}");
        return;
    }
    match value {
        Brief::Null => {
            let _ = write!(out, "{key}=null");
        }
        Brief::Bool(value) => {
            let _ = write!(out, "{key}={value}");
        }
        Brief::Number(number) => {
            let _ = write!(out, "{key}={number}");
        }
        Brief::Text(text) => {
            let is_bare = key.is_empty() || says_itself(text);
            if !is_bare {
                let _ = write!(out, "{key}=");
            }
            out.push_str(
                text.get(..text.floor_char_boundary(300))
                    .unwrap_or_default(),
            );
        }
        Brief::Array { length, items } => list(out, key, *length, items),
        Brief::Object { length, fields } => {
            let shown = fields.len() <= 4
                && fields
                    .iter()
                    .all(|(_, value)| matches!(value, Brief::Text(_) | Brief::Number(_)));
            if shown {
                for (key, value) in fields {
                    push_field(out, key, value);
                }
            } else {
                let _ = write!(out, "{key}{{{length}}}");
            }
        }
    }
}

fn list(out: &mut String, key: &str, length: usize, items: &[Brief<'_>]) {
    let is_short = length <= 4 && !items.is_empty();
    if is_short
        && items
            .iter()
            .all(|item| matches!(item, Brief::Text(_) | Brief::Number(_)))
    {
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                out.push(',');
            }
            match item {
                Brief::Text(text) => {
                    out.push_str(text.get(..text.floor_char_boundary(80)).unwrap_or_default());
                }
                Brief::Number(number) => {
                    let _ = write!(out, "{number}");
                }
                _ => {}
            }
        }
        return;
    }
    let _ = write!(out, "{key}[{length}]");
    if is_short {
        for item in items {
            for (key, value) in item.fields().iter().take(4) {
                if matches!(value, Brief::Text(_) | Brief::Number(_)) {
                    push_field(out, key, value);
                }
            }
        }
    }
}

/// Whether a value needs no key: one word, with a digit, `_` or `/`, or all capitals.
fn says_itself(text: &str) -> bool {
    !text.is_empty()
        && !text.contains(char::is_whitespace)
        && (text
            .bytes()
            .any(|b| b.is_ascii_digit() || matches!(b, b'_' | b'/'))
            || text.bytes().all(|b| b.is_ascii_uppercase()))
}

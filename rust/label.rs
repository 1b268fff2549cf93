//! Labels: the terms that filters look up, one text form for each fact about a row.
//!
//! A label is a prefix character and a value. Segments keep labels in a sorted dictionary, the tail in a sorted map;
//! filters ask both for single labels and for ranges of them, so both answer alike.

use std::fmt::Write as _;

use serde_json::Value;
use xxhash_rust::xxh3::xxh3_128;

use crate::row::Row;

/// Longest value, in bytes, that a label holds whole; longer ones end in a hash.
const LONGEST: usize = 200;

pub(crate) const TIER: char = 't';
pub(crate) const KIND: char = 'k';
pub(crate) const SESSION: char = 's';
pub(crate) const TAG: char = 'g';
pub(crate) const SUBJECT: char = 'u';
pub(crate) const SCOPE: char = 'p';
pub(crate) const EXISTS: char = 'x';
pub(crate) const METADATA: char = 'm';

/// Divides the value of a long label from the hash of the whole; escaped in paths.
const CUT: char = '\u{1}';

/// A value that metadata can hold at a path.
#[derive(Clone, Debug, PartialEq)]
pub enum Scalar {
    /// JSON `null`.
    Null,
    /// `true` or `false`; not a number.
    Bool(bool),
    /// A number that is an integer, also where it was written as `1.0`.
    Int(i128),
    /// Any other number.
    Float(f64),
    /// A string, compared bytewise.
    Text(String),
}

impl Scalar {
    /// The scalar of a JSON value; `None` for lists and objects.
    #[must_use]
    pub fn from_json(value: &Value) -> Option<Self> {
        match value {
            Value::Null => Some(Self::Null),
            Value::Bool(b) => Some(Self::Bool(*b)),
            Value::String(s) => Some(Self::Text(s.clone())),
            Value::Number(n) => Some(if let Some(i) = n.as_i64() {
                Self::Int(i.into())
            } else if let Some(u) = n.as_u64() {
                Self::Int(u.into())
            } else {
                let f = n.as_f64().unwrap_or(f64::NAN);
                // Every integral float below 2^100 is an i128 without loss.
                if f.fract() == 0.0 && f.abs() < 1e30 {
                    Self::Int(f as i128)
                } else {
                    Self::Float(f)
                }
            }),
            Value::Array(_) | Value::Object(_) => None,
        }
    }

    /// How two values compare; `None` between kinds that have no order.
    #[must_use]
    pub fn compare(&self, other: &Self) -> Option<std::cmp::Ordering> {
        match (self, other) {
            (Self::Int(a), Self::Int(b)) => Some(a.cmp(b)),
            (Self::Float(a), Self::Float(b)) => a.partial_cmp(b),
            (Self::Int(a), Self::Float(b)) => (*a as f64).partial_cmp(b),
            (Self::Float(a), Self::Int(b)) => a.partial_cmp(&(*b as f64)),
            (Self::Text(a), Self::Text(b)) => Some(a.as_bytes().cmp(b.as_bytes())),
            (Self::Bool(a), Self::Bool(b)) => (a == b).then_some(std::cmp::Ordering::Equal),
            (Self::Null, Self::Null) => Some(std::cmp::Ordering::Equal),
            _ => None,
        }
    }
}

/// What a label says about its value.
#[derive(Debug, PartialEq)]
pub(crate) enum Known {
    Whole(Scalar),
    /// Only the first bytes of a longer text.
    Start(String),
}

fn push_bounded(out: &mut String, value: &str) {
    if value.len() <= LONGEST && !value.contains(CUT) {
        out.push_str(value);
        return;
    }
    let end = value.floor_char_boundary(LONGEST);
    let start = value.get(..end).unwrap_or_default();
    // A value that holds the mark itself is always hashed, so that two values never share a label.
    out.push_str(start.split(CUT).next().unwrap_or_default());
    out.push(CUT);
    let _ = write!(out, "{:032x}", xxh3_128(value.as_bytes()));
}

fn push_field(out: &mut String, prefix: char, value: &str) {
    out.push(prefix);
    push_bounded(out, value);
}

/// The label of a row's own field: kind, session, tag or subject.
pub(crate) fn field(prefix: char, value: &str) -> String {
    let mut out = String::with_capacity(value.len() + 1);
    push_field(&mut out, prefix, value);
    out
}

/// The label of a scope. Scopes are never cut: their descendants are a range after them.
pub(crate) fn scope(scope: &str) -> String {
    format!("{SCOPE}{scope}")
}

/// The labels of everything below a scope: from (inclusive), to (exclusive). `0` follows `/`.
pub(crate) fn below(scope: &str) -> (String, String) {
    (format!("{SCOPE}{scope}/"), format!("{SCOPE}{scope}0"))
}

fn push_path(out: &mut String, path: &str) {
    if path.contains(['\0', CUT]) {
        push_bounded(out, &path.replace(CUT, "\u{1}1").replace('\0', "\u{1}0"));
    } else {
        push_bounded(out, path);
    }
}

fn push_exists(out: &mut String, path: &str) {
    out.push(EXISTS);
    push_path(out, path);
}

/// The label that says that a metadata path is there.
pub(crate) fn exists(path: &str) -> String {
    let mut out = String::new();
    push_exists(&mut out, path);
    out
}

fn push_metadata(out: &mut String, path: &str, value: &Scalar) {
    out.push(METADATA);
    push_path(out, path);
    out.push('\0');
    match value {
        Scalar::Null => out.push('z'),
        Scalar::Bool(b) => out.push_str(if *b { "bt" } else { "bf" }),
        Scalar::Int(i) => {
            let _ = write!(out, "n{i}");
        }
        Scalar::Float(f) => {
            let _ = write!(out, "n{f:?}");
        }
        Scalar::Text(s) => {
            out.push('s');
            push_bounded(out, s);
        }
    }
}

/// The label of a scalar at a metadata path.
pub(crate) fn metadata(path: &str, value: &Scalar) -> String {
    let mut out = String::new();
    push_metadata(&mut out, path, value);
    out
}

/// The labels of all numbers (`n`) or texts (`s`) at a path: from (inclusive), to (exclusive).
pub(crate) fn metadata_range(path: &str, kind: char) -> (String, String) {
    let mut from = String::from(METADATA);
    push_path(&mut from, path);
    from.push('\0');
    let mut to = from.clone();
    from.push(kind);
    to.push(char::from_u32(kind as u32 + 1).unwrap_or(char::MAX));
    (from, to)
}

/// Reads the value back from the part of a label after its prefix (`kind` is `n`, `s` or a field's prefix).
pub(crate) fn known(kind: char, value: &str) -> Known {
    if kind == 'n' {
        return Known::Whole(if let Ok(i) = value.parse::<i128>() {
            Scalar::Int(i)
        } else {
            Scalar::Float(value.parse().unwrap_or(f64::NAN))
        });
    }
    match value.split_once(CUT) {
        Some((start, _)) => Known::Start(start.to_owned()),
        None => Known::Whole(Scalar::Text(value.to_owned())),
    }
}

/// Calls `emit` with each (path, value) of a metadata object; `None` says only that the path is there.
pub(crate) fn flatten(metadata: &Value, emit: &mut impl FnMut(&str, Option<&Value>)) {
    fn walk(path: &mut String, value: &Value, emit: &mut impl FnMut(&str, Option<&Value>)) {
        match value {
            Value::Object(fields) => {
                for (key, inner) in fields {
                    let end = path.len();
                    if end > 0 {
                        path.push('.');
                    }
                    path.push_str(key);
                    emit(path, None);
                    walk(path, inner, emit);
                    path.truncate(end);
                }
            }
            Value::Array(items) => {
                for item in items {
                    if !matches!(item, Value::Array(_) | Value::Object(_)) {
                        emit(path, Some(item));
                    }
                }
            }
            scalar => emit(path, Some(scalar)),
        }
    }
    if metadata.is_object() {
        walk(&mut String::new(), metadata, emit);
    }
}

/// Labels one after another in one buffer: rows have several, and each would be an allocation.
#[derive(Default)]
struct Labels {
    text: String,
    ends: Vec<usize>,
}

impl Labels {
    fn add(&mut self, push: impl FnOnce(&mut String)) {
        push(&mut self.text);
        self.ends.push(self.text.len());
    }

    /// Calls `emit` with each label, in order and without repeats.
    fn emit(&self, mut emit: impl FnMut(&str)) {
        let starts = std::iter::once(&0).chain(&self.ends);
        let mut all: Vec<&str> = starts
            .zip(&self.ends)
            .filter_map(|(&start, &end)| self.text.get(start..end))
            .collect();
        all.sort_unstable();
        all.dedup();
        all.into_iter().for_each(&mut emit);
    }
}

/// Calls `emit` with each label of a row, without repeats.
pub(crate) fn of(row: &Row, parsed: &Value, emit: impl FnMut(&str)) {
    let mut all = Labels::default();
    all.add(|out| {
        let _ = write!(out, "{TIER}{}", row.tier);
    });
    all.add(|out| push_field(out, KIND, &row.kind));
    all.add(|out| {
        out.push(SCOPE);
        out.push_str(&row.scope);
    });
    if let Some(session) = &row.session {
        all.add(|out| push_field(out, SESSION, session));
    }
    if let Some(subject) = &row.subject {
        all.add(|out| push_field(out, SUBJECT, subject));
    }
    for tag in &row.tags {
        all.add(|out| push_field(out, TAG, tag));
    }
    flatten(parsed, &mut |path, value| match value {
        None => all.add(|out| push_exists(out, path)),
        Some(value) => {
            if let Some(scalar) = Scalar::from_json(value) {
                all.add(|out| push_metadata(out, path, &scalar));
            }
        }
    });
    all.emit(emit);
}

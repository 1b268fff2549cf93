//! The path prefix that a log's paths share and that its header says once.

use memchr::memmem::Finder;
use rustc_hash::FxHashMap;
use std::borrow::Cow;

/// Calls that are looked at: once they are there, the root of a growing log never changes again.
pub(super) const CALLS: usize = 64;
/// Folder levels that a root may have.
const LEVELS: usize = 10;
/// A root must save this many bytes, or its header costs more than it gives.
const LEAST_SAVED: usize = 60;

/// Counts folders of absolute paths in the first calls of a log.
#[derive(Clone, Default)]
pub(super) struct RootFinder {
    folders: FxHashMap<String, usize>,
    calls: usize,
}

impl RootFinder {
    /// Takes in one call's arguments, if it is among the first.
    ///
    /// Results do not count: a host that names files by relative paths should find those in the diagram.
    pub(super) fn add(&mut self, arguments: &str) {
        if self.calls >= CALLS {
            return;
        }
        self.calls += 1;
        for path in paths(arguments).take(8) {
            let mut end = 0;
            for _ in 0..LEVELS {
                let Some(next) = path.get(end + 1..).and_then(|rest| rest.find('/')) else {
                    break;
                };
                end += 1 + next;
                let folder = path.get(..end).unwrap_or_default();
                match self.folders.get_mut(folder) {
                    Some(count) => *count += 1,
                    None => {
                        self.folders.insert(folder.to_owned(), 1);
                    }
                }
            }
        }
    }

    /// The folder that saves most bytes; of equals the longer, then the first in order. Empty if none is worth it.
    pub(super) fn root(&self) -> String {
        let mut folders: Vec<_> = self
            .folders
            .iter()
            .filter(|(_, count)| **count >= 3)
            .collect();
        folders.sort_unstable();
        let saved = |(folder, count): &(&String, &usize)| (folder.len() + 1) * **count;
        let best = folders
            .into_iter()
            .filter(|entry| saved(entry) >= LEAST_SAVED)
            .max_by(|a, b| {
                // `max_by` keeps the last of equals: order equals so that the first name wins.
                (saved(a), a.0.len())
                    .cmp(&(saved(b), b.0.len()))
                    .then_with(|| b.0.cmp(a.0))
            });
        best.map(|(folder, _)| folder.clone()).unwrap_or_default()
    }
}

/// Absolute paths of at least two levels in a text.
fn paths(text: &str) -> impl Iterator<Item = &str> {
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        while let Some(found) = bytes
            .get(at..)
            .and_then(|rest| rest.iter().position(|b| *b == b'/'))
        {
            let start = at + found;
            let before = start
                .checked_sub(1)
                .and_then(|index| bytes.get(index))
                .copied()
                .unwrap_or(b' ');
            let length = bytes
                .get(start..)
                .unwrap_or_default()
                .iter()
                .take_while(|b| is_path_byte(**b))
                .count();
            at = start + length.max(1);
            let starts = matches!(before, b' ' | b'"' | b'\'' | b'\n' | b'=' | b'(' | b'`');
            if starts && length > 3 {
                return text.get(start..start + length);
            }
        }
        None
    })
}

pub(super) fn is_path_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'/' | b'.' | b'_' | b'-' | b'+' | b'@')
        || byte >= 0x80
}

/// A path prefix that is taken off texts.
pub(super) struct Root<'a> {
    path: &'a str,
    finder: Finder<'a>,
}

impl<'a> Root<'a> {
    pub(super) fn of(path: &'a str) -> Self {
        Self {
            path,
            finder: Finder::new(path),
        }
    }

    /// The text with the root taken off its paths: `root/a.rs` is `a.rs`, the root itself `.`.
    pub(super) fn strip<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.path.is_empty() || self.finder.find(text.as_bytes()).is_none() {
            Cow::Borrowed(text)
        } else {
            Cow::Owned(strip(text, self.path))
        }
    }
}

fn strip(text: &str, root: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(root) {
        let (before, after) = (
            rest.get(..at).unwrap_or_default(),
            rest.get(at + root.len()..).unwrap_or_default(),
        );
        out.push_str(before);
        let inside = out.bytes().last().is_some_and(is_path_byte);
        match after.bytes().next() {
            Some(b'/') if !inside => {
                rest = after.get(1..).unwrap_or_default();
                if !rest.bytes().next().is_some_and(is_path_byte) {
                    out.push('.');
                }
            }
            Some(byte) if inside || is_path_byte(byte) => {
                out.push_str(root);
                rest = after;
            }
            _ if inside => {
                out.push_str(root);
                rest = after;
            }
            _ => {
                out.push('.');
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

//! Identifiers in a result that a task is likely to need again.

use super::words::{holds_secret, is_private};
use rustc_hash::FxHashSet;
use xxhash_rust::xxh3::xxh3_64;

/// Bytes of a result that are searched: its head, and its tail.
const HEAD: usize = 8 << 10;
const TAIL: usize = 2 << 10;
/// Candidates that are kept of one result, and their bytes.
const KEPT: usize = 90;
const KEPT_BYTES: usize = 900;

/// A shorter word is no secret that the rules know by its shape, and has no `=`, `:` or blank for the others: `xoxb-` and
/// ten characters are the shortest.
const SHORTEST_SECRET: usize = 15;

/// How likely a word is to be used again; lower is likelier.
pub(super) const CLASSES: u8 = 4;

/// Whether this ending makes a dotted word a file's name rather than an attribute.
fn is_extension(ending: &str) -> bool {
    matches!(
        ending,
        "py" | "rs"
            | "js"
            | "ts"
            | "tsx"
            | "jsx"
            | "go"
            | "rb"
            | "ex"
            | "exs"
            | "heex"
            | "java"
            | "kt"
            | "c"
            | "h"
            | "cc"
            | "cpp"
            | "hpp"
            | "cs"
            | "php"
            | "sh"
            | "sql"
            | "md"
            | "rst"
            | "txt"
            | "json"
            | "jsonl"
            | "yaml"
            | "yml"
            | "toml"
            | "cfg"
            | "ini"
            | "lock"
            | "html"
            | "css"
            | "scss"
            | "vue"
            | "svelte"
            | "csv"
            | "log"
            | "xml"
            | "png"
            | "zip"
            | "swift"
    )
}

/// Candidate identifiers of one result, in order of appearance.
#[derive(Clone, Debug, Default)]
pub(super) struct Candidates {
    words: String,
    classes: Vec<u8>,
}

impl Candidates {
    /// `(class, word)` in order of appearance.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u8, &str)> {
        self.classes.iter().copied().zip(self.words.split('\n'))
    }
}

/// Space that is used again for each result.
#[derive(Clone, Default)]
pub(super) struct Scratch {
    /// Class, start and end of each word.
    found: Vec<(u8, u32, u32)>,
    kept: Vec<usize>,
    seen: FxHashSet<u64>,
}

/// The candidates of a result whose hash `is_known` does not hold.
pub(super) fn candidates(
    result: &str,
    scratch: &mut Scratch,
    is_known: impl Fn(u64) -> bool,
) -> Candidates {
    let Scratch { found, kept, seen } = scratch;
    found.clear();
    kept.clear();
    seen.clear();
    let head = result.floor_char_boundary(HEAD);
    words(
        result.get(..head).unwrap_or_default(),
        &mut |class, start, end| found.push((class, start as u32, end as u32)),
    );
    if result.len() > head {
        let from = result.ceil_char_boundary(result.len().saturating_sub(TAIL).max(head));
        words(
            result.get(from..).unwrap_or_default(),
            &mut |class, start, end| {
                // Results are far shorter than 4 GB: Python could not hold them twice.
                found.push((class, (from + start) as u32, (from + end) as u32));
            },
        );
    }
    let word = |start: u32, end: u32| result.get(start as usize..end as usize).unwrap_or_default();
    // The likeliest first, each in order of appearance; then back to that order.
    let mut bytes = 0;
    'classes: for wanted in 0..CLASSES {
        for (index, (class, start, end)) in found.iter().enumerate() {
            if *class != wanted {
                continue;
            }
            if kept.len() >= KEPT || bytes > KEPT_BYTES {
                break 'classes;
            }
            let hash = hash_of(word(*start, *end));
            if !is_known(hash) && seen.insert(hash) {
                bytes += (end - start + 1) as usize;
                kept.push(index);
            }
        }
    }
    kept.sort_unstable();
    let mut out = Candidates {
        words: String::with_capacity(bytes),
        classes: Vec::with_capacity(kept.len()),
    };
    for (class, start, end) in kept.iter().filter_map(|index| found.get(*index)) {
        let word = word(*start, *end);
        if word.len() >= SHORTEST_SECRET && holds_secret(word) {
            continue;
        }
        if !out.classes.is_empty() {
            out.words.push('\n');
        }
        out.words.push_str(word);
        out.classes.push(*class);
    }
    out
}

/// What a word is known by.
pub(super) fn hash_of(word: &str) -> u64 {
    xxh3_64(word.as_bytes())
}

const LOWER: u8 = 1;
const UPPER: u8 = 2;
const DIGIT: u8 = 4;
const SLASH: u8 = 8;
const JOINT: u8 = 16;
const DOT: u8 = 32;
const OTHER: u8 = 64;
const AT: u8 = 128;

/// What a byte makes of a word; 0 ends it.
const PARTS: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = match byte as u8 {
            b'a'..=b'z' => LOWER,
            b'A'..=b'Z' => UPPER,
            b'0'..=b'9' => DIGIT,
            b'/' => SLASH,
            b'_' => JOINT,
            b'.' => DOT,
            b'-' | b'#' | b'$' | 0x80..=0xFF => OTHER,
            b'@' => AT,
            _ => 0,
        };
        byte += 1;
    }
    table
};

fn part(byte: u8) -> u8 {
    PARTS.get(usize::from(byte)).copied().unwrap_or(0)
}

/// Bytes that a scan passes over: small letters, and ends of words that say nothing of the word before.
const PLAIN: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = match PARTS[byte] {
            LOWER => true,
            0 => !matches!(byte as u8, b'"' | b'\\' | b'=' | b':'),
            _ => false,
        };
        byte += 1;
    }
    table
};

fn is_plain(byte: u8) -> bool {
    PLAIN.get(usize::from(byte)).copied().unwrap_or(false)
}

/// Whether the last word of plain bytes is `bearer` before a blank.
fn ends_in_bearer(plain: &[u8]) -> bool {
    let Some(last) = plain.iter().rposition(|byte| part(*byte) != 0) else {
        return false;
    };
    plain.get(last + 1) == Some(&b' ')
        && plain.get(..=last).is_some_and(|words| {
            words
                .strip_suffix(b"bearer")
                .is_some_and(|before| before.last().is_none_or(|byte| part(*byte) == 0))
        })
}

/// Calls `each` with the class, start and end of every word that may name something.
///
/// Words of small letters alone are passed over byte by byte: only what follows one, or another sort of byte in it,
/// makes it worth a look.
pub(super) fn words(text: &str, each: &mut impl FnMut(u8, usize, usize)) {
    let bytes = text.as_bytes();
    let byte = |index: usize| bytes.get(index).copied().unwrap_or(b' ');
    let holds_word = |from: usize, to: usize| {
        let between = bytes.get(from..to).unwrap_or_default();
        between.iter().any(|byte| part(*byte) != 0)
    };
    let mut private = false;
    // Where the name of a secret ended: the next word is one.
    let mut secret_from: Option<usize> = None;
    // The line number before, in a listing that numbers its lines: the next one says nothing new.
    let mut line_number = 0u64;
    // All before is settled; from here to `at` all bytes are plain or end words.
    let mut settled = 0;
    let mut at = 0;
    while let Some(skipped) = bytes
        .get(at..)
        .and_then(|rest| rest.iter().position(|byte| !is_plain(*byte)))
    {
        at += skipped;
        if matches!(byte(at), b'"' | b'=' | b':') && (at == settled || part(byte(at - 1)) == 0) {
            at += 1;
            continue;
        }
        let before = bytes.get(settled..at).unwrap_or_default();
        let letters = before.iter().rev().take_while(|byte| part(**byte) != 0);
        let start = at - letters.count();
        let mut parts = if start < at { LOWER } else { 0 };
        while let Some(&next) = bytes.get(at) {
            let more = part(next);
            if more == 0 {
                break;
            }
            parts |= more;
            at += 1;
        }
        let before = bytes.get(settled..start).unwrap_or_default();
        if parts == 0 {
            // The letter after a backslash is an escape, not a word's first.
            let is_next =
                secret_from.is_some_and(|from| !holds_word(from, at)) || ends_in_bearer(before);
            at += 2;
            settled = at;
            secret_from = is_next.then_some(at);
            continue;
        }
        let was_secret =
            secret_from.is_some_and(|from| !holds_word(from, start)) || ends_in_bearer(before);
        settled = at;
        let end = byte(at);
        let is_quoted = end == b'"';
        // `password=x`, `token: x` and `Bearer x` name a secret: the next word is never shown.
        secret_from = (matches!(end, b'=' | b':' | b' ')
            && names_secret(text.get(start..at).unwrap_or_default(), end))
        .then_some(at);
        if was_secret || (parts == LOWER && !is_quoted) {
            continue;
        }
        if is_quoted && byte(at + 1) == b':' {
            private = is_private(text.get(start..at).unwrap_or_default());
            if parts & DIGIT == 0 {
                continue;
            }
        }
        if private || parts & AT != 0 {
            continue;
        }
        let (mut from, mut to) = (start, at);
        if parts & (DOT | OTHER | SLASH) != 0 {
            while from < to && matches!(byte(from), b'.' | b'-' | b'#' | b'$') {
                from += 1;
            }
            while to > from && matches!(byte(to - 1), b'.' | b'-' | b'#' | b'$') {
                to -= 1;
            }
        }
        let is_url = byte(from) == b'/' && byte(from + 1) == b'/';
        while is_url && byte(from) == b'/' {
            from += 1;
        }
        let Some(word) = text
            .get(from..to)
            .filter(|word| (2..=120).contains(&word.len()))
        else {
            continue;
        };
        if parts == DIGIT && word.len() <= 7 {
            let number = word
                .bytes()
                .fold(0, |number, digit| number * 10 + u64::from(digit & 15));
            let follows = number == line_number + 1;
            line_number = number;
            if follows {
                continue;
            }
        }
        // Parts of a clock time say nothing alone.
        let clock =
            (byte(at) == b':' && byte(at + 1).is_ascii_digit() && byte(at - 1).is_ascii_digit())
                || (start >= 2 && byte(start - 1) == b':' && byte(start - 2).is_ascii_digit());
        let quoted = is_quoted && start > 0 && byte(start - 1) == b'"';
        if let Some(class) = class_of(word, parts, quoted, clock) {
            each(if is_url { class.max(2) } else { class }, from, to);
        }
    }
}

/// Whether what follows a word, set off by `end`, is a secret.
fn names_secret(word: &str, end: u8) -> bool {
    if end == b' ' {
        return word.eq_ignore_ascii_case("bearer");
    }
    let last = word.rsplit(['-', '_', '.']).next().unwrap_or(word);
    is_private(word) || is_private(last)
}

fn class_of(word: &str, parts: u8, quoted: bool, clock: bool) -> Option<u8> {
    let has = |part: u8| parts & part != 0;
    let has_letters = has(LOWER | UPPER);
    if has(DIGIT) && !has_letters {
        if clock || word.len() > 12 || has(JOINT | SLASH) {
            return None;
        }
        let is_date = word.len() == 10 && word.bytes().filter(|b| *b == b'-').count() == 2;
        return Some(if is_date { 1 } else { 2 });
    }
    if has(SLASH) {
        return (has_letters && word.len() > 3).then_some(0);
    }
    if has(DIGIT) {
        let is_blob = word.len() > 40 && !has(JOINT | DOT | OTHER);
        return (!clock && word.len() > 2).then_some(if is_blob { 3 } else { 0 });
    }
    if !has_letters {
        return None;
    }
    if has(DOT) {
        let is_file = has(LOWER)
            && word
                .rsplit_once('.')
                .is_some_and(|(stem, end)| !stem.is_empty() && is_extension(end));
        return if is_file {
            Some(0)
        } else {
            (word.len() > 4).then_some(2)
        };
    }
    if has(JOINT) && word.len() > 3 {
        return Some(1);
    }
    if parts == UPPER {
        return match word.len() {
            6 => Some(0),
            0..=2 => None,
            _ => Some(2),
        };
    }
    let is_camel = has(LOWER) && has(UPPER) && word.bytes().skip(1).any(|b| b.is_ascii_uppercase());
    if is_camel {
        return Some(2);
    }
    (quoted && word.len() > 2).then_some(3)
}

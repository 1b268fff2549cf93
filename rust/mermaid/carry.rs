//! Identifiers in a result that a task is likely to need again.

use super::bytes::{AT, DIGIT, DOT, JOINT, LOWER, Looks, OTHER, SLASH, UPPER, is_mark, part};
use super::words::{holds_secret, is_private};
use memchr::memmem::Finder;
use rustc_hash::FxHashSet;
use std::ops::ControlFlow;
use std::sync::LazyLock;
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
const CLASSES: usize = 4;

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

/// Candidate identifiers of one result, the likeliest first, those of a class in order of appearance.
#[derive(Clone, Debug, Default)]
pub(super) struct Candidates {
    words: String,
    /// Where each word stood in the result, and its end in `words`.
    places: Vec<(u32, u16)>,
}

impl Candidates {
    /// `(place in the result, word)`.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &str)> {
        let mut start = 0;
        self.places.iter().map(move |(place, end)| {
            let range = start..usize::from(*end);
            start = range.end;
            (*place, self.words.get(range).unwrap_or_default())
        })
    }
}

/// Space that is used again for each result.
#[derive(Clone, Default)]
pub(super) struct Scratch {
    /// Start and end of the words of each class but the likeliest.
    waiting: [Vec<(u32, u32)>; CLASSES],
    kept: Kept,
}

/// The words of one result that are wanted so far.
#[derive(Clone, Default)]
struct Kept {
    /// Start and end.
    words: Vec<(u32, u32)>,
    bytes: usize,
    seen: FxHashSet<u64>,
}

impl Kept {
    /// Keeps a word that is new; breaks once no more are wanted.
    fn offer(
        &mut self,
        result: &str,
        (start, end): (u32, u32),
        is_known: &impl Fn(u64) -> bool,
    ) -> ControlFlow<()> {
        let hash = hash_of(result.get(start as usize..end as usize).unwrap_or_default());
        if self.seen.insert(hash) && !is_known(hash) {
            self.words.push((start, end));
            self.bytes += (end - start + 1) as usize;
            if self.words.len() >= KEPT || self.bytes > KEPT_BYTES {
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    }
}

impl Scratch {
    /// Finds the words that are wanted: the likeliest first, each class in order of appearance.
    fn find(&mut self, result: &str, is_known: &impl Fn(u64) -> bool) -> ControlFlow<()> {
        let Self { waiting, kept } = self;
        let head = result.floor_char_boundary(HEAD);
        let tail = result.ceil_char_boundary(result.len().saturating_sub(TAIL).max(head));
        for (from, to) in [(0, head), (tail, result.len())] {
            let part = result.get(from..to).unwrap_or_default();
            words(part, &mut |class, start, end| {
                // Results are far shorter than 4 GB: Python could not hold them twice.
                let (start, end) = ((from + start) as u32, (from + end) as u32);
                match waiting.get_mut(usize::from(class)) {
                    Some(waiting) if class > 0 => waiting.push((start, end)),
                    _ => kept.offer(result, (start, end), is_known)?,
                }
                ControlFlow::Continue(())
            })?;
        }
        let mut waiting = waiting.iter().flatten();
        waiting.try_for_each(|word| kept.offer(result, *word, is_known))
    }
}

/// The candidates of a result whose hash `is_known` does not hold.
pub(super) fn candidates(
    result: &str,
    scratch: &mut Scratch,
    is_known: impl Fn(u64) -> bool,
) -> Candidates {
    scratch.waiting.iter_mut().for_each(Vec::clear);
    scratch.kept.words.clear();
    scratch.kept.bytes = 0;
    scratch.kept.seen.clear();
    // Whether it broke off does not matter: what is wanted is kept.
    let _ = scratch.find(result, &is_known);
    let Kept { words, bytes, .. } = &scratch.kept;
    let mut out = Candidates {
        words: String::with_capacity(*bytes),
        places: Vec::with_capacity(words.len()),
    };
    for (start, end) in words {
        let range = *start as usize..*end as usize;
        out.words.push_str(result.get(range).unwrap_or_default());
        out.places.push((*start, out.words.len() as u16));
    }
    out
}

/// Whether a word is a secret itself.
pub(super) fn is_secret(word: &str) -> bool {
    word.len() >= SHORTEST_SECRET && holds_secret(word)
}

/// What a word is known by.
pub(super) fn hash_of(word: &str) -> u64 {
    xxh3_64(word.as_bytes())
}

static BEARER: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("bearer"));

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

/// Calls `each` with the class, start and end of every word that may name something, until it breaks.
///
/// Words of small letters alone are passed over: only what follows one, or another sort of byte in it, makes it worth
/// a look.
pub(super) fn words(
    text: &str,
    each: &mut impl FnMut(u8, usize, usize) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let bytes = text.as_bytes();
    let byte = |index: usize| bytes.get(index).copied().unwrap_or(b' ');
    let holds_word = |from: usize, to: usize| {
        let between = bytes.get(from..to).unwrap_or_default();
        between.iter().any(|byte| part(*byte) != 0)
    };
    let holds_bearer = BEARER.find(bytes).is_some();
    let mut private = false;
    // Where the name of a secret ended: the next word is one.
    let mut secret_from: Option<usize> = None;
    // The line number before, in a listing that numbers its lines: the next one says nothing new.
    let mut line_number = 0u64;
    // All before is settled; from here to the next look all bytes are small letters or end words.
    let mut settled = 0;
    let mut looks = Looks::of(bytes);
    // What ends a settled word is no end of another.
    while let Some(mut at) = looks.next(settled + usize::from(is_mark(byte(settled)))) {
        let start = looks.start(at, settled);
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
            let is_next = secret_from.is_some_and(|from| !holds_word(from, at))
                || holds_bearer && ends_in_bearer(before);
            settled = at + 2;
            secret_from = is_next.then_some(settled);
            continue;
        }
        let was_secret = secret_from.is_some_and(|from| !holds_word(from, start))
            || holds_bearer && ends_in_bearer(before);
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
            each(if is_url { class.max(2) } else { class }, from, to)?;
        }
    }
    ControlFlow::Continue(())
}

/// Whether what follows a word, set off by `end`, is a secret.
fn names_secret(word: &str, end: u8) -> bool {
    if end == b' ' {
        return word.eq_ignore_ascii_case("bearer");
    }
    let joint = |byte: &u8| matches!(byte, b'-' | b'_' | b'.');
    let last = word.bytes().rposition(|byte| joint(&byte));
    is_private(word) || last.is_some_and(|at| is_private(word.get(at + 1..).unwrap_or_default()))
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

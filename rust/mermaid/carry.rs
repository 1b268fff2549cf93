//! Identifiers in a result that a task is likely to need again.

use super::words::is_private;

/// Bytes of a result that are searched: its head, and its tail.
const HEAD: usize = 12 << 10;
const TAIL: usize = 4 << 10;
/// Candidates that are kept of one result, and their bytes.
const KEPT: usize = 96;
const KEPT_BYTES: usize = 1000;

/// How likely a word is to be used again; lower is likelier.
pub(super) const CLASSES: u8 = 4;

/// Endings that make a dotted word a file's name rather than an attribute.
const EXTENSIONS: [&str; 44] = [
    "py", "rs", "js", "ts", "tsx", "jsx", "go", "rb", "ex", "exs", "heex", "java", "kt", "c", "h", "cc", "cpp", "hpp", "cs",
    "php", "sh", "sql", "md", "rst", "txt", "json", "jsonl", "yaml", "yml", "toml", "cfg", "ini", "lock", "html", "css",
    "scss", "vue", "svelte", "csv", "log", "xml", "png", "zip", "swift",
];

/// Candidate identifiers of one result, in order of appearance.
#[derive(Clone, Debug, Default)]
pub(super) struct Candidates {
    words: String,
    classes: Vec<u8>,
}

impl Candidates {
    /// The words, one a line.
    pub(super) fn words(&self) -> &str {
        &self.words
    }

    /// `(class, word)` in order of appearance.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u8, &str)> {
        self.classes.iter().copied().zip(self.words.split('\n'))
    }
}

/// The candidates of a result that `is_known` does not hold.
pub(super) fn candidates(result: &str, is_known: impl Fn(&str) -> bool) -> Candidates {
    let head = result.get(..result.floor_char_boundary(HEAD)).unwrap_or_default();
    let tail = if result.len() > HEAD {
        result.get(result.ceil_char_boundary(result.len().saturating_sub(TAIL).max(HEAD))..).unwrap_or_default()
    } else {
        ""
    };
    let mut found: Vec<(u8, &str)> = Vec::new();
    for part in [head, tail] {
        words(part, &mut |class, word| {
            if !is_known(word) {
                found.push((class, word));
            }
        });
    }
    // The likeliest first, each in order of appearance; then back to that order.
    let mut order: Vec<usize> = (0..found.len()).collect();
    order.sort_by_key(|index| found.get(*index).map_or(u8::MAX, |(class, _)| *class));
    let mut seen = rustc_hash::FxHashSet::default();
    let mut bytes = 0;
    let mut kept = Vec::new();
    for index in order {
        let Some((_, word)) = found.get(index) else { continue };
        if kept.len() >= KEPT || bytes > KEPT_BYTES {
            break;
        }
        if seen.insert(*word) {
            bytes += word.len() + 1;
            kept.push(index);
        }
    }
    kept.sort_unstable();
    let mut out = Candidates::default();
    for (class, word) in kept.into_iter().filter_map(|index| found.get(index)) {
        if !out.classes.is_empty() {
            out.words.push('\n');
        }
        out.words.push_str(word);
        out.classes.push(*class);
    }
    out
}

fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'/' | b'@' | b'#' | b'$') || byte >= 0x80
}

/// Calls `each` with the class and text of every word that may name something.
pub(super) fn words<'a>(text: &'a str, each: &mut impl FnMut(u8, &'a str)) {
    let bytes = text.as_bytes();
    let byte = |index: usize| bytes.get(index).copied().unwrap_or(b' ');
    let mut private = false;
    // The line number before, in a listing that numbers its lines: the next one says nothing new.
    let mut line_number = 0u64;
    let mut at = 0;
    while at < bytes.len() {
        let first = byte(at);
        if !is_word_byte(first) {
            // The letter after a backslash is an escape, not a word's first.
            at += if first == b'\\' { 2 } else { 1 };
            continue;
        }
        let start = at;
        while at < bytes.len() && is_word_byte(byte(at)) {
            at += 1;
        }
        let Some(word) = text.get(start..at) else { continue };
        let word = word.trim_matches(['.', '-', '#', '$']);
        let is_url = word.starts_with("//");
        let word = if is_url { word.trim_start_matches('/') } else { word };
        if word.len() <= 7
            && byte(at) != b'.'
            && let Ok(number) = word.parse::<u64>()
        {
            let follows = number == line_number + 1;
            line_number = number;
            if follows {
                continue;
            }
        }
        let is_key = byte(at) == b'"' && byte(at + 1) == b':';
        if is_key {
            private = is_private(word);
            if !word.bytes().any(|b| b.is_ascii_digit()) {
                continue;
            }
        }
        if private || word.len() < 2 || word.len() > 120 {
            continue;
        }
        // Parts of a clock time say nothing alone.
        let clock = (byte(at) == b':' && byte(at + 1).is_ascii_digit() && byte(at - 1).is_ascii_digit())
            || (start >= 2 && byte(start - 1) == b':' && byte(start - 2).is_ascii_digit());
        let quoted = start > 0 && byte(start - 1) == b'"' && byte(at) == b'"';
        if let Some(class) = class_of(word, quoted, clock) {
            each(if is_url { class.max(2) } else { class }, word);
        }
    }
}

fn class_of(word: &str, quoted: bool, clock: bool) -> Option<u8> {
    let (mut digits, mut upper, mut lower, mut marks, mut slash, mut joint) = (0usize, 0usize, 0usize, 0usize, false, false);
    for byte in word.bytes() {
        match byte {
            b'0'..=b'9' => digits += 1,
            b'A'..=b'Z' => upper += 1,
            b'a'..=b'z' => lower += 1,
            b'/' => slash = true,
            b'_' => joint = true,
            b'@' => return None,
            _ => marks += 1,
        }
    }
    let letters = upper + lower;
    if digits > 0 && letters == 0 {
        if clock || word.len() > 12 || joint {
            return None;
        }
        let is_date = word.len() == 10 && marks == 2 && digits == 8;
        return if is_date { Some(1) } else if slash { None } else { Some(2) };
    }
    if slash {
        return (letters > 0 && word.len() > 3).then_some(0);
    }
    let is_blob = word.len() > 40 && marks == 0;
    if digits > 0 {
        return (!clock && word.len() > 2).then_some(if is_blob { 3 } else { 0 });
    }
    if letters == 0 {
        return None;
    }
    let has_extension = word.rsplit_once('.').is_some_and(|(stem, end)| !stem.is_empty() && EXTENSIONS.contains(&end));
    if has_extension && lower > 0 {
        return Some(0);
    }
    if joint && word.len() > 3 {
        return Some(1);
    }
    if marks > 0 && word.contains('.') {
        return (word.len() > 4).then_some(2);
    }
    if lower == 0 && upper == 6 {
        return Some(0);
    }
    let is_camel = lower > 0 && upper > 0 && word.bytes().skip(1).any(|b| b.is_ascii_uppercase());
    if is_camel || (lower == 0 && upper >= 3) {
        return Some(2);
    }
    (quoted && word.len() > 2).then_some(3)
}

//! The analyzer: the one way from a text to its terms, for the index and for the query.
//!
//! What it promises: any string gives terms in time linear in its length, without a panic; a document that holds a
//! word of the query, in the same spelling or in one that folds to it, shares at least one term with the query; a
//! query that has terms at all is never emptied by the stop list.
//!
//! What is done to a text, in order (each decision holds for documents and queries alike, unless said):
//!
//! - NFKC and case folding; invisible characters are dropped.
//! - Words are stemmed (Snowball English, ASCII words only). Clitics go (`Anna's` → `anna`, `we'll` → `we`);
//!   other apostrophes are dropped (`don't` → `dont`, `O'Brien` → `obrien` and `brien`).
//! - A word with diacritics gives its folded form and then itself: `Nẵng` → `nang`, `nẵng`. A query without
//!   diacritics finds both; a query with them scores twice where they agree, so exact spelling wins.
//! - Compounds are kept whole and given in parts: `src/auth.ts:42` → itself, `auth.ts`, `src`, `auth`, `ts`, `42`.
//! - Han, Kana, Hangul and the scripts of South-East Asia that write no spaces become single characters and pairs.
//! - Pictographs are terms.
//! - Stop words stay in the index and are dropped from queries, so that a query of nothing else still finds.
//! - A term is at most [`MAX_TERM_BYTES`] long; longer ones are cut at a character's end, not dropped.
//!
//! Ranking is left to others.

mod compound;
mod stop;
mod unicode;
mod word;

use rustc_hash::FxHashSet;
use xxhash_rust::xxh3::xxh3_128;

use self::compound::{Class, class, grouping_comma};
use self::unicode::Kind;
use self::word::Words;

/// Raised whenever any text gives other terms than before; an index of another version is rebuilt.
pub const VERSION: u32 = 1;
/// Terms of a query beyond these are ignored: they cost time and add nothing to a ranking.
pub const MAX_QUERY_TERMS: usize = 64;
/// A term's greatest length in UTF-8.
pub const MAX_TERM_BYTES: usize = 64;
/// Combining marks in a row that still count; no script needs more, and floods of them would cost memory.
const MAX_MARKS: usize = 8;
/// Buffers that grew beyond this are given back after the text that needed them.
const KEPT_BUFFER_BYTES: usize = 1 << 16;

/// Where terms go.
trait Sink {
    /// Whether stop words are to be told apart; documents save the look-up.
    const QUERY: bool;
    /// Takes one term.
    fn term(&mut self, term: &str, stop: bool);
    /// Whether a capital letter says nothing here, at the start of a sentence.
    fn capital_is_plain(&self) -> bool {
        true
    }
    /// Takes one term of an unspaced script.
    fn unspaced(&mut self, term: &str) {
        self.term(term, Self::QUERY && stop::is_stop_pair(term));
    }
    /// A sentence ended.
    fn end_sentence(&mut self) {}
}

struct Document<F>(F);

impl<F: FnMut(&str)> Sink for Document<F> {
    const QUERY: bool = false;
    #[inline]
    fn term(&mut self, term: &str, _stop: bool) {
        (self.0)(term);
    }
}

#[derive(Default)]
struct Query {
    content: Terms,
    stop: Terms,
    shouting: bool,
    inside_sentence: bool,
}

/// Unique terms in order of first occurrence.
#[derive(Default)]
struct Terms {
    list: Vec<String>,
    seen: FxHashSet<String>,
}

impl Terms {
    fn push(&mut self, term: &str) {
        if self.list.len() < MAX_QUERY_TERMS && !self.seen.contains(term) {
            self.seen.insert(term.to_owned());
            self.list.push(term.to_owned());
        }
    }
}

impl Sink for Query {
    const QUERY: bool = true;
    fn term(&mut self, term: &str, stop: bool) {
        self.inside_sentence = true;
        if stop {
            self.stop.push(term);
        } else {
            self.content.push(term);
        }
    }
    fn capital_is_plain(&self) -> bool {
        self.shouting || !self.inside_sentence
    }
    fn end_sentence(&mut self) {
        self.inside_sentence = false;
    }
}

/// Turns texts into terms; keep one a thread, it reuses its buffers.
///
/// Cost: one pass. A sentence of 14 English words takes about a microsecond once its words' stems are known.
#[derive(Default, Clone)]
pub struct Analyzer {
    words: Words,
    /// A chunk in NFKC.
    normal: String,
    /// The compound being collected from a chunk that is not ASCII.
    pending: String,
}

impl Analyzer {
    /// An analyzer with empty buffers.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Calls `emit` with each term of a document, in order.
    #[inline]
    pub fn document(&mut self, text: &str, emit: impl FnMut(&str)) {
        self.run(text, &mut Document(emit));
    }

    /// Returns the terms of a query: unique, in order of first occurrence, at most [`MAX_QUERY_TERMS`].
    ///
    /// Stop words are dropped unless nothing else is left. A stop word that is written as a name inside a sentence
    /// (`Will`, `WHO`) is not one.
    pub fn query(&mut self, text: &str) -> Vec<String> {
        let mut sink = Query {
            shouting: !text.chars().any(char::is_lowercase),
            ..Query::default()
        };
        self.run(text, &mut sink);
        if sink.content.list.is_empty() {
            sink.stop.list
        } else {
            sink.content.list
        }
    }

    fn run<S: Sink>(&mut self, text: &str, sink: &mut S) {
        let bytes = text.as_bytes();
        let mut at = 0;
        while let Some(&first) = bytes.get(at) {
            if class(first) == Class::Break {
                if S::QUERY && matches!(first, b'!' | b'?' | b'\n') {
                    sink.end_sentence();
                }
                at += 1;
                continue;
            }
            let start = at;
            let mut seen = 0_u8;
            while let Some(&byte) = bytes.get(at) {
                let class = class(byte);
                if class == Class::Break {
                    if !grouping_comma(bytes, at) {
                        break;
                    }
                    seen |= Class::Joiner as u8;
                }
                seen |= class as u8;
                at += 1;
            }
            // Both ends lie beside an ASCII break or at the text's end, so they are character boundaries.
            let Some(chunk) = text.get(start..at) else {
                continue;
            };
            if seen & Class::Other as u8 != 0 {
                self.unicode_chunk(chunk, sink);
            } else if seen & Class::Joiner as u8 != 0 {
                self.words.compound(chunk, sink);
            } else {
                self.words.leaf(chunk, sink);
            }
            if S::QUERY && chunk.ends_with('.') {
                sink.end_sentence();
            }
        }
        self.normal.shrink_to(KEPT_BUFFER_BYTES);
        self.pending.shrink_to(KEPT_BUFFER_BYTES);
    }

    /// A run without ASCII breaks that is not all ASCII.
    fn unicode_chunk<S: Sink>(&mut self, chunk: &str, sink: &mut S) {
        unicode::nfkc_into(chunk, &mut self.normal);
        let Self {
            words,
            normal,
            pending,
        } = self;
        pending.clear();
        let mut marks = 0;
        // The character of an unspaced script that the next one pairs with.
        let mut neighbour: Option<char> = None;
        // The first half of a flag.
        let mut region: Option<char> = None;
        for (at, c) in normal.char_indices() {
            let kind = unicode::kind(c);
            if kind == Kind::Invisible {
                continue;
            }
            marks = if kind == Kind::Mark { marks + 1 } else { 0 };
            let before = neighbour.take();
            if let Some(first) = region.take() {
                if kind == Kind::Regional {
                    pair(first, c, |flag| sink.term(flag, false));
                    continue;
                }
                single(first, |half| sink.term(half, false));
            }
            match kind {
                Kind::Word => pending.push(c),
                Kind::Mark => {
                    if !pending.is_empty() && marks <= MAX_MARKS {
                        pending.push(c);
                    }
                }
                Kind::Apostrophe => pending.push('\''),
                Kind::Hyphen => pending.push('-'),
                Kind::Unspaced => {
                    words.flush(pending, sink);
                    if let Some(before) = before {
                        pair(before, c, |term| sink.unspaced(term));
                    }
                    single(c, |term| sink.unspaced(term));
                    neighbour = Some(c);
                }
                Kind::Pictograph => {
                    words.flush(pending, sink);
                    single(c, |term| sink.term(term, false));
                }
                Kind::Regional => {
                    words.flush(pending, sink);
                    region = Some(c);
                }
                Kind::Break | Kind::Invisible => {
                    if grouping_comma(normal.as_bytes(), at) {
                        pending.push(c);
                    } else {
                        words.flush(pending, sink);
                        if S::QUERY && matches!(c, '!' | '?' | '。') {
                            sink.end_sentence();
                        }
                    }
                }
            }
        }
        if let Some(half) = region {
            single(half, |term| sink.term(term, false));
        }
        words.flush(pending, sink);
    }
}

fn single(c: char, take: impl FnOnce(&str)) {
    take(c.encode_utf8(&mut [0; 4]));
}

fn pair(first: char, second: char, take: impl FnOnce(&str)) {
    let mut buffer = [0; 8];
    let middle = first.encode_utf8(&mut buffer).len();
    let end = middle + second.encode_utf8(&mut buffer[middle..]).len();
    if let Ok(term) = std::str::from_utf8(&buffer[..end]) {
        take(term);
    }
}

/// Folds a text for the detection of duplicates: NFKC, case folding, each run of white space one space, trimmed.
#[must_use]
pub fn fold(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    if text.is_ascii() {
        for word in ascii_words(text) {
            if !folded.is_empty() {
                folded.push(' ');
            }
            folded.push_str(word);
        }
        folded.make_ascii_lowercase();
        return folded;
    }
    let mut gap = false;
    unicode::fold_text(text, |c| {
        if c.is_whitespace() {
            gap = true;
            return;
        }
        if gap && !folded.is_empty() {
            folded.push(' ');
        }
        gap = false;
        folded.push(c);
    });
    folded
}

/// Folds case and takes diacritics off, đ too: the form in which words are matched however they are spelt.
#[must_use]
pub fn fold_base(text: &str) -> String {
    let mut base = String::with_capacity(text.len());
    unicode::fold_base(text, usize::MAX, &mut base);
    base
}

/// Returns the 128-bit XXH3 of [`fold`]: equal for texts that differ in case, white space or Unicode form only.
#[must_use]
pub fn digest(text: &str) -> u128 {
    if is_folded_ascii(text.as_bytes()) {
        xxh3_128(text.as_bytes())
    } else {
        xxh3_128(fold(text).as_bytes())
    }
}

/// Whether [`fold`] would return an ASCII text as it is.
fn is_folded_ascii(bytes: &[u8]) -> bool {
    let mut before = b' ';
    for &byte in bytes {
        let changes = match byte {
            b' ' => before == b' ',
            b'\t'..=b'\r' | b'A'..=b'Z' => true,
            _ => !byte.is_ascii(),
        };
        if changes {
            return false;
        }
        before = byte;
    }
    before != b' ' || bytes.is_empty()
}

/// Words between white space as `char::is_whitespace` has it: `split_ascii_whitespace` leaves out the vertical tab.
fn ascii_words(text: &str) -> impl Iterator<Item = &str> {
    text.split([' ', '\t', '\n', '\x0b', '\x0c', '\r'])
        .filter(|word| !word.is_empty())
}

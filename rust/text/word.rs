//! Words: clitics, stems, case, diacritics.

use rust_stemmers::{Algorithm, Stemmer};

use super::{MAX_TERM_BYTES, Sink, stop, unicode};

/// Entries of the stem cache, a power of two; 64 KiB. Covers the running vocabulary of ordinary text.
const CACHE_ENTRIES: usize = 1 << 11;
/// Words up to this length are cached, packed into one `u128`.
const PACKED_BYTES: usize = 16;
/// A name with more inner boundaries is no name (base64, hashes) and is not taken apart.
const MAX_NAME_PARTS: usize = 8;

/// Turns words into terms.
#[derive(Default, Clone)]
pub(super) struct Words {
    /// Direct-mapped: word and stem, both packed, zero where empty. Allocated at the first word.
    stems: Vec<(u128, u128)>,
    buffer: String,
    second: String,
}

/// Cuts a term at the last character's end that fits.
pub(super) fn truncate(term: &str) -> &str {
    if term.len() <= MAX_TERM_BYTES {
        term
    } else {
        &term[..term.floor_char_boundary(MAX_TERM_BYTES)]
    }
}

/// How a word's letters and digits are spread.
#[derive(Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "what a word holds, any mixture"
)]
struct Shape {
    letters: bool,
    digits: bool,
    /// A capital after the first letter.
    inner_capital: bool,
    apostrophe: bool,
    other: bool,
}

impl Shape {
    fn of(word: &str) -> Self {
        let mut shape = Self::default();
        for (at, byte) in word.bytes().enumerate() {
            match byte {
                b'a'..=b'z' => shape.letters = true,
                b'A'..=b'Z' => {
                    shape.letters = true;
                    shape.inner_capital |= at > 0;
                }
                b'0'..=b'9' => shape.digits = true,
                b'\'' => shape.apostrophe = true,
                _ => shape.other = true,
            }
        }
        shape
    }
}

impl Words {
    pub(super) fn take_buffer(&mut self) -> String {
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.clear();
        buffer
    }

    pub(super) fn give_buffer(&mut self, buffer: String) {
        self.buffer = buffer;
    }

    /// Emits one word: letters, digits, apostrophes, marks; no joints.
    #[inline]
    pub(super) fn leaf<S: Sink>(&mut self, word: &str, sink: &mut S) {
        if word.is_empty() {
            return;
        }
        let shape = Shape::of(word);
        if shape.apostrophe {
            self.apostrophes(word, sink);
        } else if shape.other {
            self.accented(word, sink);
        } else if shape.inner_capital || (shape.letters && shape.digits) {
            self.name(word, sink);
        } else {
            self.plain(word, shape.letters, sink);
        }
    }

    /// Emits a word with apostrophes.
    fn apostrophes<S: Sink>(&mut self, word: &str, sink: &mut S) {
        let mut word = word.trim_matches('\'');
        while let Some((base, clitic)) = word.rsplit_once('\'')
            && ["s", "ll", "re", "ve", "d", "m"]
                .iter()
                .any(|known| clitic.eq_ignore_ascii_case(known))
        {
            word = base.trim_end_matches('\'');
        }
        let joined: String = word.chars().filter(|&c| c != '\'').collect();
        self.leaf(&joined.to_lowercase(), sink);
        let bytes = word.as_bytes();
        if joined.len() < bytes.len()
            && !bytes[bytes.len().saturating_sub(3)..].eq_ignore_ascii_case(b"n't")
        {
            for part in word.split('\'').filter(|part| part.len() > 1) {
                self.leaf(part, sink);
            }
        }
    }

    /// Emits a name such as `camelCase`, `HTTPServer2`, `gpt4o`: whole, then its parts.
    fn name<S: Sink>(&mut self, word: &str, sink: &mut S) {
        let letters = word.bytes().all(|byte| byte.is_ascii_alphabetic());
        self.plain(word, letters, sink);
        if word.len() > MAX_TERM_BYTES {
            return;
        }
        let mut cuts = [0_usize; MAX_NAME_PARTS];
        let mut parts = 0;
        let bytes = word.as_bytes();
        for at in 1..bytes.len() {
            if is_name_boundary(bytes, at) {
                parts += 1;
                let Some(cut) = cuts.get_mut(parts) else {
                    return;
                };
                *cut = at;
            }
        }
        if parts == 0 {
            return;
        }
        for part in 0..=parts {
            let end = if part == parts {
                word.len()
            } else {
                cuts[part + 1]
            };
            let piece = &word[cuts[part]..end];
            self.plain(
                piece,
                piece.bytes().all(|byte| byte.is_ascii_alphabetic()),
                sink,
            );
        }
    }

    /// Emits an ASCII word without inner structure; `letters` says that it holds nothing else.
    #[inline]
    fn plain<S: Sink>(&mut self, word: &str, letters: bool, sink: &mut S) {
        if !letters {
            if word.bytes().all(|byte| byte.is_ascii_digit()) {
                return sink.term(truncate(word), false);
            }
            let mut term = self.take_buffer();
            term.push_str(truncate(word));
            term.make_ascii_lowercase();
            sink.term(&term, false);
            return self.give_buffer(term);
        }
        let stop = S::QUERY
            && stop::is_stop_word(word)
            && (sink.capital_is_plain() || !is_like_a_name(word));
        if word.len() <= PACKED_BYTES {
            self.packed(word, stop, sink);
        } else {
            let mut term = self.take_buffer();
            term.push_str(truncate(word));
            term.make_ascii_lowercase();
            if word.len() <= MAX_TERM_BYTES {
                sink.term(&english().stem(&term), stop);
            } else {
                sink.term(&term, stop);
            }
            self.give_buffer(term);
        }
    }

    /// Emits the stem of a word of ASCII letters that fits the cache.
    #[inline]
    fn packed<S: Sink>(&mut self, word: &str, stop: bool, sink: &mut S) {
        let mut bytes = [0_u8; PACKED_BYTES];
        for (to, from) in bytes.iter_mut().zip(word.as_bytes()) {
            // Sets the bit that makes an ASCII letter small.
            *to = from | 0x20;
        }
        let key = u128::from_le_bytes(bytes);
        if self.stems.is_empty() {
            self.stems = vec![(0, 0); CACHE_ENTRIES];
        }
        let mixed = ((key as u64) ^ ((key >> 64) as u64).rotate_left(31))
            .wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let slot = (mixed >> 40) as usize % CACHE_ENTRIES;
        let entry = &mut self.stems[slot];
        if entry.0 != key {
            let lower = word.to_ascii_lowercase();
            let stem = english().stem(&lower);
            let mut packed = [0_u8; PACKED_BYTES];
            // Snowball English never lengthens a word, so the stem fits where the word did.
            for (to, from) in packed.iter_mut().zip(stem.as_bytes()) {
                *to = *from;
            }
            *entry = (key, u128::from_le_bytes(packed));
        }
        let stem = entry.1.to_le_bytes();
        let len = PACKED_BYTES - (entry.1.leading_zeros() / 8) as usize;
        if let Ok(term) = std::str::from_utf8(&stem[..len]) {
            sink.term(term, stop);
        }
    }

    /// Emits a word that is not ASCII: without diacritics, then with them if that differs.
    fn accented<S: Sink>(&mut self, word: &str, sink: &mut S) {
        let mut base = self.take_buffer();
        let mut full = std::mem::take(&mut self.second);
        full.clear();
        // Four bytes more than a term holds: enough to know that the word was cut.
        unicode::fold_base(word, MAX_TERM_BYTES + 4, &mut base);
        unicode::fold_word(word, MAX_TERM_BYTES + 4, &mut full);
        let stop = S::QUERY && stop::is_stop_word(&full);
        if !base.is_empty() {
            if base.bytes().all(|byte| byte.is_ascii_alphabetic()) && base.len() <= MAX_TERM_BYTES {
                if base.len() <= PACKED_BYTES {
                    self.packed(&base, stop, sink);
                } else {
                    sink.term(&english().stem(&base), stop);
                }
            } else {
                sink.term(truncate(&base), stop);
            }
        }
        if full != base {
            sink.term(truncate(&full), stop);
        }
        self.second = full;
        self.give_buffer(base);
    }
}

/// Where a name is cut: before a capital that follows a small letter or opens a new word (`HTTP|Server`), and
/// between two or more letters and digits (`gpt|4o`, `10|kg`; not `4o`, `v2`, or the groups of a hash).
fn is_name_boundary(bytes: &[u8], at: usize) -> bool {
    let (Some(&before), Some(&here)) = (
        at.checked_sub(1).and_then(|at| bytes.get(at)),
        bytes.get(at),
    ) else {
        return false;
    };
    if here.is_ascii_uppercase() {
        return before.is_ascii_lowercase()
            || (before.is_ascii_uppercase()
                && bytes.get(at + 1).is_some_and(u8::is_ascii_lowercase));
    }
    let letter = |at: Option<usize>| {
        at.and_then(|at| bytes.get(at))
            .is_some_and(u8::is_ascii_alphabetic)
    };
    (here.is_ascii_digit() && before.is_ascii_alphabetic() && letter(at.checked_sub(2)))
        || (before.is_ascii_digit() && here.is_ascii_alphabetic() && letter(Some(at + 1)))
}

/// Whether a word is written as a name: `Will`, `WHO`, not `I`.
fn is_like_a_name(word: &str) -> bool {
    word.len() > 1 && word.as_bytes().first().is_some_and(u8::is_ascii_uppercase)
}

fn english() -> Stemmer {
    Stemmer::create(Algorithm::English)
}

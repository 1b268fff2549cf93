//! Compounds: what is written without a space but has inner joints, kept whole and given in parts.

use super::word::{Words, truncate};
use super::{MAX_TERM_BYTES, Sink};

/// What an ASCII byte is to the scanner; the values are bits, so that a run's classes can be collected.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Class {
    /// Ends a run: white space, controls, punctuation that joins nothing.
    Break = 0,
    /// A letter or a digit.
    Word = 1,
    /// Punctuation that can stand inside a compound.
    Joiner = 2,
    /// Not ASCII.
    Other = 4,
}

static CLASSES: [Class; 256] = classes();

const fn classes() -> [Class; 256] {
    let mut table = [Class::Break; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = match byte as u8 {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => Class::Word,
            b'.' | b'-' | b'_' | b'+' | b'/' | b'\\' | b':' | b'@' | b'#' | b'&' | b'\'' => {
                Class::Joiner
            }
            0x80..=0xff => Class::Other,
            _ => Class::Break,
        };
        byte += 1;
    }
    table
}

#[inline]
pub(super) fn class(byte: u8) -> Class {
    CLASSES[usize::from(byte)]
}

/// Whether the byte at `at` is a comma that groups the digits of one number: `1,000`, `1,234,567`.
#[inline]
pub(super) fn grouping_comma(bytes: &[u8], at: usize) -> bool {
    bytes.get(at) == Some(&b',')
        && at > 0
        && bytes.get(at - 1).is_some_and(u8::is_ascii_digit)
        && bytes
            .get(at + 1..at + 4)
            .is_some_and(|group| group.iter().all(u8::is_ascii_digit))
        && !bytes.get(at + 4).is_some_and(u8::is_ascii_digit)
}

fn is_joiner(c: char) -> bool {
    u8::try_from(c).is_ok_and(|byte| class(byte) == Class::Joiner)
}

/// Joints between the members of a path, a reference, an address.
fn joins_members(c: char) -> bool {
    matches!(c, '/' | '\\' | ':' | '@' | '#' | '&')
}

/// Joints inside a name. Apostrophes are no joint: the word itself deals with them.
fn joins_words(c: char) -> bool {
    matches!(c, '.' | '-' | '_' | '+')
}

impl Words {
    /// Emits what was collected as one compound and empties it.
    pub(super) fn flush<S: Sink>(&mut self, pending: &mut String, sink: &mut S) {
        if !pending.is_empty() {
            self.compound(pending, sink);
            pending.clear();
        }
    }

    /// Emits a run of word characters and joiners: the whole, its members, its words.
    pub(super) fn compound<S: Sink>(&mut self, run: &str, sink: &mut S) {
        if run.contains(',') {
            let ungrouped: String = run.chars().filter(|&c| c != ',').collect();
            return self.compound(&ungrouped, sink);
        }
        let core = run.trim_matches(is_joiner);
        if core.is_empty() {
            return;
        }
        let after = core.as_ptr() as usize - run.as_ptr() as usize + core.len();
        let signs = run.get(after..).unwrap_or("");
        let signs = match signs.as_bytes() {
            [b'+', b'+', ..] => &signs[..2],
            [b'+' | b'#', ..] => &signs[..1],
            _ => "",
        };
        let jointed = core.contains(|c| joins_members(c) || joins_words(c));
        if !jointed && signs.is_empty() {
            return self.leaf(core, sink);
        }
        if signs.is_empty() && self.acronym(core, sink) {
            return;
        }
        self.whole(core, signs, sink);
        if !jointed {
            return self.leaf(core, sink);
        }
        for member in core.split(joins_members) {
            let member = member.trim_matches(is_joiner);
            if member.contains(joins_words) {
                if member.len() < core.len() && !self.acronym(member, sink) {
                    self.whole(member, "", sink);
                }
                for word in member.split(joins_words) {
                    self.leaf(word.trim_matches('\''), sink);
                }
            } else {
                self.leaf(member, sink);
            }
        }
    }

    /// Emits `U.S.A.` as `usa`, if the compound is one.
    fn acronym<S: Sink>(&mut self, core: &str, sink: &mut S) -> bool {
        let bytes = core.as_bytes();
        let dotted = bytes.len() >= 3
            && bytes.len() <= MAX_TERM_BYTES
            && bytes.iter().enumerate().all(|(at, byte)| {
                if at % 2 == 0 {
                    byte.is_ascii_alphabetic()
                } else {
                    *byte == b'.'
                }
            })
            && bytes.len() % 2 == 1;
        if dotted {
            let letters: String = core.chars().filter(|&c| c != '.').collect();
            self.leaf(&letters.to_ascii_lowercase(), sink);
        }
        dotted
    }

    /// Emits a compound as one term, folded.
    fn whole<S: Sink>(&mut self, core: &str, signs: &str, sink: &mut S) {
        let mut term = self.take_buffer();
        if core.is_ascii() {
            // ASCII: any byte offset is a boundary.
            term.push_str(core.get(..MAX_TERM_BYTES).unwrap_or(core));
            term.make_ascii_lowercase();
        } else {
            super::unicode::fold_base(core, MAX_TERM_BYTES, &mut term);
        }
        term.push_str(signs);
        sink.term(truncate(&term), false);
        self.give_buffer(term);
    }
}

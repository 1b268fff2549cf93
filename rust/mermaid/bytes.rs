//! Words found by the sorts of their bytes, many bytes in one step.

#![allow(clippy::needless_bitwise_bool)] // Without branches the tests of a block are done on vectors.

pub(super) const LOWER: u8 = 1;
pub(super) const UPPER: u8 = 2;
pub(super) const DIGIT: u8 = 4;
pub(super) const SLASH: u8 = 8;
pub(super) const JOINT: u8 = 16;
pub(super) const DOT: u8 = 32;
pub(super) const OTHER: u8 = 64;
pub(super) const AT: u8 = 128;

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

pub(super) fn part(byte: u8) -> u8 {
    PARTS.get(usize::from(byte)).copied().unwrap_or(0)
}

/// Bytes of text that are looked at in one step.
const BLOCK: usize = 64;

/// Finds the bytes that make a word worth a look: all of its bytes but small letters, and ends of a word that say
/// something of it.
pub(super) struct Looks<'a> {
    bytes: &'a [u8],
    /// The first byte of the current block.
    block: usize,
    /// Bits of the block's bytes that are worth a look.
    look: u64,
    /// Bits of the block's bytes that are parts of words.
    word: u64,
}

impl<'a> Looks<'a> {
    pub(super) fn of(bytes: &'a [u8]) -> Self {
        let mut looks = Self {
            bytes,
            block: 0,
            look: 0,
            word: 0,
        };
        looks.read();
        looks
    }

    /// Takes in the current block: the same few tests on each byte, without a branch.
    fn read(&mut self) {
        let rest = self.bytes.get(self.block..).unwrap_or_default();
        let mut padded = [b' '; BLOCK];
        let block = rest.first_chunk().unwrap_or_else(|| {
            padded
                .iter_mut()
                .zip(rest)
                .for_each(|(to, from)| *to = *from);
            &padded
        });
        // Parts of words but small letters.
        let notable = |byte: u8| {
            is_within(byte, b'#', b'$')
                | is_within(byte, b'-', b'9')
                | is_within(byte, b'@', b'Z')
                | (byte == b'_')
                | (byte >= 0x80)
        };
        self.word = bits(block, |byte| notable(byte) | is_within(byte, b'a', b'z'));
        let looks = bits(block, |byte| notable(byte) | (byte == b'\\'));
        let marks = bits(block, is_mark);
        let before = self.block.checked_sub(1).and_then(|at| self.bytes.get(at));
        let after_word = self.word << 1 | u64::from(before.is_some_and(|byte| part(*byte) != 0));
        self.look = looks | (marks & after_word);
    }

    /// The first byte from `at` on that is worth a look; `at` never goes back.
    pub(super) fn next(&mut self, at: usize) -> Option<usize> {
        let mut at = at;
        loop {
            let within = at - self.block;
            if within < BLOCK {
                let left = self.look & (u64::MAX << within);
                if left != 0 {
                    return Some(self.block + left.trailing_zeros() as usize);
                }
                at = self.block + BLOCK;
            }
            self.block = at - at % BLOCK;
            if self.block >= self.bytes.len() {
                return None;
            }
            self.read();
        }
    }

    /// Where the word begins that reaches up to `at` in the current block, not before `settled`.
    pub(super) fn start(&self, at: usize, settled: usize) -> usize {
        let others = !self.word & !(u64::MAX << (at - self.block));
        if others != 0 {
            let start = self.block + BLOCK - others.leading_zeros() as usize;
            return start.max(settled);
        }
        let before = self
            .bytes
            .get(settled..self.block)
            .unwrap_or_default()
            .iter();
        let letters = before.rev().take_while(|byte| part(**byte) != 0).count();
        self.block.max(settled) - letters
    }
}

/// An end that says something of the word before.
pub(super) fn is_mark(byte: u8) -> bool {
    (byte == b'"') | (byte == b'=') | (byte == b':')
}

fn is_within(byte: u8, first: u8, last: u8) -> bool {
    byte.wrapping_sub(first) <= last - first
}

/// One bit for each byte of a block, the first the lowest.
fn bits(block: &[u8; BLOCK], test: impl Fn(u8) -> bool) -> u64 {
    let tested = block.map(|byte| u8::from(test(byte)));
    let (eights, _) = tested.as_chunks::<8>();
    eights.iter().rev().fold(0, |bits, eight| {
        // Each factor's bit moves one byte's lowest bit to its place in the highest byte.
        let eight = u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        bits << 8 | eight
    })
}

#[cfg(test)]
mod tests {
    use super::{LOWER, Looks, is_mark, part};

    /// What [`Looks`] finds, byte by byte.
    fn is_worth_a_look(bytes: &[u8], at: usize) -> bool {
        let sort = part(bytes[at]);
        let after_word = at > 0 && part(bytes[at - 1]) != 0;
        (sort != 0 && sort != LOWER) || bytes[at] == b'\\' || (is_mark(bytes[at]) && after_word)
    }

    #[test]
    fn looks_are_those_that_a_scan_byte_by_byte_finds() {
        let mut state = 7u64;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) as usize
        };
        let letters = b"aaaaaaaaaaaaaaaabz  \"=:.\\_/@-#$A9";
        for length in (0..300).chain([63, 64, 65, 128, 1000]) {
            let any = length % 2 == 0;
            let bytes: Vec<u8> = (0..length)
                .map(|_| {
                    if any {
                        next() as u8
                    } else {
                        letters[next() % letters.len()]
                    }
                })
                .collect();
            let mut looks = Looks::of(&bytes);
            let (mut at, mut found) = (0, Vec::new());
            while let Some(look) = looks.next(at) {
                let letters = bytes[..look]
                    .iter()
                    .rev()
                    .take_while(|byte| part(**byte) != 0);
                assert_eq!(looks.start(look, 0), look - letters.count());
                found.push(look);
                at = look + 1;
            }
            let expected = (0..length).filter(|at| is_worth_a_look(&bytes, *at));
            assert!(found.iter().copied().eq(expected), "{bytes:?}");
        }
    }
}

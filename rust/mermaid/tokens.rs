//! How many tokens a text costs a model: an estimate by character classes, without a vocabulary.

/// Bytes of a long text that are counted; the rest is taken to be alike.
const SAMPLE: usize = 1 << 14;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Lower,
    Upper,
    Digit,
    Space,
    Newline,
    Mark,
    /// First byte of a Latin letter with marks.
    Latin,
    /// First byte of a Han character, kana or full-width mark.
    Han,
    /// Any other byte of a character outside ASCII.
    Wide,
}

const CLASSES: [Class; 256] = {
    let mut table = [Class::Mark; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = match byte as u8 {
            b'a'..=b'z' => Class::Lower,
            b'A'..=b'Z' => Class::Upper,
            b'0'..=b'9' => Class::Digit,
            b' ' | b'\t' => Class::Space,
            b'\n' | b'\r' => Class::Newline,
            0xC3..=0xCB | 0xE1 => Class::Latin,
            0xE3..=0xE9 | 0xEF => Class::Han,
            0x80..=0xFF => Class::Wide,
            _ => Class::Mark,
        };
        byte += 1;
    }
    table
};

/// A class's first byte, and each further one, in 1/84 token: a run of n costs first + (n - 1) * more.
const FIRST_COSTS: [u8; 9] = [30, 123, 120, 24, 40, 56, 20, 53, 98];
const MORE_COSTS: [u8; 9] = [9, 17, 27, 10, 3, 22, 20, 53, 12];
/// Of a small letter after a capital: the word goes on.
const AFTER_CAPITAL: u8 = 9;
/// Of a capital after a space: the word begins as any other.
const CAPITAL_AFTER_SPACE: u8 = 20;
/// Of a character's second byte, where its first one has paid for it.
const SECOND: u8 = 0;

/// Cost of a text's first byte.
static FIRST: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = FIRST_COSTS[CLASSES[byte] as usize];
        byte += 1;
    }
    table
};

/// Cost of a byte after a byte: `before | byte << 8`.
static PAIRS: [u8; 1 << 16] = {
    let mut table = [0; 1 << 16];
    let mut pair = 0;
    while pair < table.len() {
        let (before, class) = (CLASSES[pair & 0xFF], CLASSES[pair >> 8]);
        table[pair] = match (before, class) {
            (Class::Upper, Class::Lower) => AFTER_CAPITAL,
            (Class::Space, Class::Upper) => CAPITAL_AFTER_SPACE,
            (Class::Latin | Class::Han, Class::Wide) => SECOND,
            _ if before as u8 == class as u8 => MORE_COSTS[class as usize],
            _ => FIRST_COSTS[class as usize],
        };
        pair += 1;
    }
    table
};

/// Estimates the tokens of a text for current byte-pair vocabularies (200,000 entries).
///
/// Each byte costs by its class and the class before it: a word with its space two thirds of a token and a little for
/// each letter, marks two thirds, digits and capitals inside words more, a Han character three quarters. Deterministic;
/// a text above 16 kB is estimated from its head, middle and tail.
#[must_use]
pub fn estimate_tokens(text: &str) -> usize {
    let bytes = text.as_bytes();
    if bytes.len() <= SAMPLE {
        return (count(bytes) as usize).div_ceil(84);
    }
    let part = SAMPLE / 4;
    let middle = bytes.len() / 2;
    let sample = [
        bytes.get(..2 * part),
        bytes.get(middle..middle + part),
        bytes.get(bytes.len() - part..),
    ];
    let counted: u64 = sample.into_iter().flatten().map(count).sum();
    (u128::from(counted) * bytes.len() as u128 / SAMPLE as u128 / 84) as usize
}

/// What the second of two bytes costs, the first being the lower one of `pair`.
fn cost(pair: u64) -> u64 {
    let index = (pair & 0xFFFF) as usize;
    u64::from(PAIRS.get(index).copied().unwrap_or(0))
}

fn count(bytes: &[u8]) -> u64 {
    let Some((first, rest)) = bytes.split_first() else {
        return 0;
    };
    let mut total = u64::from(FIRST.get(usize::from(*first)).copied().unwrap_or(0));
    let mut before = u64::from(*first);
    let (eights, rest) = rest.as_chunks();
    for eight in eights {
        // The pairs that start at odd places, and with the byte before those at even ones.
        let odd = u64::from_le_bytes(*eight);
        let even = odd << 8 | before;
        total += cost(even) + cost(odd) + cost(even >> 16) + cost(odd >> 16);
        total += cost(even >> 32) + cost(odd >> 32) + cost(even >> 48) + cost(odd >> 48);
        before = odd >> 56;
    }
    for byte in rest {
        let byte = u64::from(*byte);
        total += cost(byte << 8 | before);
        before = byte;
    }
    total
}

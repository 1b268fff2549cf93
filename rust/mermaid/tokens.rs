//! How many tokens a text costs a model: an estimate by character classes, without a vocabulary.

/// Bytes of a long text that are counted; the rest is taken to be alike.
const SAMPLE: usize = 1 << 16;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Lower,
    Upper,
    Digit,
    Space,
    Newline,
    Mark,
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
            0x80..=0xFF => Class::Wide,
            _ => Class::Mark,
        };
        byte += 1;
    }
    table
};

/// Estimates the tokens of a text for current byte-pair vocabularies (200,000 entries).
///
/// Runs of small letters cost one token per seven or part of it, capitals and digits one per three, marks one per
/// two, wide characters one per three bytes; a space before a word is free. Deterministic; a text above 64 kB is
/// estimated from its head, middle and tail.
#[must_use]
pub fn estimate_tokens(text: &str) -> usize {
    let bytes = text.as_bytes();
    if bytes.len() <= SAMPLE {
        return count(bytes);
    }
    let part = SAMPLE / 4;
    let middle = bytes.len() / 2;
    let sample = [
        bytes.get(..2 * part),
        bytes.get(middle..middle + part),
        bytes.get(bytes.len() - part..),
    ];
    let counted: usize = sample.into_iter().flatten().map(count).sum();
    (counted as u128 * bytes.len() as u128 / SAMPLE as u128) as usize
}

fn count(bytes: &[u8]) -> usize {
    let mut tokens = 0usize;
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let class = CLASSES.get(usize::from(byte)).copied().unwrap_or(Class::Mark);
        let start = at;
        at += 1;
        while bytes.get(at).is_some_and(|b| CLASSES.get(usize::from(*b)) == Some(&class)) {
            at += 1;
        }
        let length = at - start;
        tokens += match class {
            Class::Lower => length.div_ceil(7),
            Class::Upper => {
                // One capital starts the word after it.
                let starts_word = bytes.get(at).is_some_and(u8::is_ascii_lowercase);
                (length - usize::from(starts_word)).div_ceil(3)
            }
            Class::Digit | Class::Wide => length.div_ceil(3),
            Class::Space => usize::from(length > 1),
            Class::Newline => 1,
            Class::Mark => length.div_ceil(2),
        };
    }
    tokens
}

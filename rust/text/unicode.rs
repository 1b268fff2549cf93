//! Characters: what they are to the scanner, and how they are folded.

use std::sync::LazyLock;

use unicode_normalization::char::{decompose_canonical, is_combining_mark};
use unicode_normalization::{IsNormalized, UnicodeNormalization as _, is_nfkc_quick};

/// What a character is to the scanner.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// A letter, a digit, or ASCII punctuation that can join.
    Word,
    /// A combining mark: part of the word before it.
    Mark,
    /// Stands for `'`.
    Apostrophe,
    /// Stands for `-`.
    Hyphen,
    /// A character of a script that puts no space between words.
    Unspaced,
    /// A picture that people search for.
    Pictograph,
    /// Half a flag.
    Regional,
    /// Has no width and no meaning for search.
    Invisible,
    /// Ends a word.
    Break,
}

pub(super) fn kind(c: char) -> Kind {
    let code = u32::from(c);
    if code < 0x80 {
        return match super::class(code as u8) {
            super::Class::Break => Kind::Break,
            _ => Kind::Word,
        };
    }
    match code {
        // Latin, IPA and the Vietnamese block: the common case first.
        0xC0..=0xD6 | 0xD8..=0xF6 | 0xF8..=0x2AF | 0x1E00..=0x1EFF => Kind::Word,
        0xAD
        | 0x34F
        | 0x61C
        | 0x640
        | 0x180B..=0x180F
        | 0x200C..=0x200F
        | 0x202A..=0x202E
        | 0x2060..=0x206F
        | 0x20E3
        | 0xFE00..=0xFE0F
        | 0xFEFF
        | 0x1F3FB..=0x1F3FF
        | 0xE0000..=0xE0FFF => Kind::Invisible,
        0x2BC | 0x2018 | 0x2019 | 0x201B | 0x2032 => Kind::Apostrophe,
        0x2010 | 0x2011 | 0x2043 => Kind::Hyphen,
        0x0E01..=0x0E3A
        | 0x0E40..=0x0E4E
        | 0x0E81..=0x0ECE
        | 0x0EDC..=0x0EDF
        | 0x1000..=0x103F
        | 0x1050..=0x108F
        | 0x1780..=0x17D3
        | 0x1100..=0x11FF
        | 0x2E80..=0x2FDF
        | 0x3005..=0x3007
        | 0x3021..=0x3029
        | 0x3031..=0x3035
        | 0x3038..=0x303B
        | 0x3041..=0x3096
        | 0x3099..=0x309F
        | 0x30A1..=0x30FA
        | 0x30FC..=0x30FF
        | 0x3105..=0x312F
        | 0x3131..=0x318E
        | 0x31A0..=0x31BF
        | 0x31F0..=0x31FF
        | 0x3400..=0x4DBF
        | 0x4E00..=0x9FFF
        | 0xA960..=0xA97F
        | 0xAC00..=0xD7FF
        | 0xF900..=0xFAFF
        | 0x1B000..=0x1B16F
        | 0x20000..=0x3FFFF => Kind::Unspaced,
        0x1F1E6..=0x1F1FF => Kind::Regional,
        0x2300..=0x23FF
        | 0x25B6
        | 0x25C0
        | 0x2600..=0x27BF
        | 0x2B00..=0x2BFF
        | 0x1F000..=0x1FAFF => Kind::Pictograph,
        _ if is_combining_mark(c) => Kind::Mark,
        _ if c.is_alphanumeric() => Kind::Word,
        _ => Kind::Break,
    }
}

/// Whether NFKC leaves a character as it is, alone and beside any other such character, and case folding is plain
/// lower-casing that stays in NFKC. Covers nearly all text in Latin and Cyrillic letters, Chinese, Japanese, Korean.
#[inline]
fn is_stable(c: char) -> bool {
    matches!(u32::from(c),
        0..0x80 | 0xC0..=0xDE | 0xE0..=0x12F | 0x134..=0x13E | 0x141..=0x148 | 0x14A..=0x17E | 0x1A0 | 0x1A1 | 0x1AF
        | 0x1B0 | 0x400..=0x481 | 0x48A..=0x4FF | 0x1E00..=0x1E95 | 0x1EA0..=0x1EF9 | 0x2013 | 0x2014 | 0x2018..=0x201D
        | 0x2022 | 0x20AC | 0x2192 | 0x3001 | 0x3002 | 0x3008..=0x3011 | 0x3041..=0x3096 | 0x30A1..=0x30FA | 0x30FC
        | 0x4E00..=0x9FFF | 0xAC00..=0xD7A3 | 0x1F300..=0x1FAFF)
}

/// NFKC of a character where that is one stable character: itself, or the ASCII form of a full-width one.
#[inline]
fn stable_form(c: char) -> Option<char> {
    match c {
        '\u{FF01}'..='\u{FF5E}' => char::from_u32(u32::from(c) - 0xFEE0),
        c => is_stable(c).then_some(c),
    }
}

/// Puts a text into NFKC. Signs that NFKC would glue to a word as letters become spaces before.
pub(super) fn nfkc_into(text: &str, normal: &mut String) {
    normal.clear();
    for c in text.chars() {
        let Some(form) = stable_form(c) else {
            normal.clear();
            return nfkc_slow(text, normal);
        };
        normal.push(form);
    }
}

fn nfkc_slow(text: &str, normal: &mut String) {
    if is_nfkc_quick(text.chars()) == IsNormalized::Yes {
        return normal.push_str(text);
    }
    let mut marks = 0;
    let bounded = text.chars().filter(move |&c| {
        marks = if is_combining_mark(c) { marks + 1 } else { 0 };
        marks <= 4 * super::MAX_MARKS
    });
    normal.extend(
        bounded
            .map(|c| {
                if matches!(c, '\u{2122}' | '\u{2120}') {
                    ' '
                } else {
                    c
                }
            })
            .nfkc(),
    );
}

/// Appends the fully case-folded NFKC form of a text, character by character.
pub(super) fn fold_text(text: &str, mut push: impl FnMut(char)) {
    if text.chars().all(|c| stable_form(c).is_some()) {
        text.chars()
            .filter_map(stable_form)
            .for_each(|c| push(lower(c)));
    } else {
        // Case folding can undo NFKC and NFKC can bring back capitals; after two rounds the form is stable.
        let once = text.nfkc().flat_map(fold_case).nfkc();
        once.flat_map(fold_case).nfkc().for_each(push);
    }
}

/// Case folding of a stable character.
#[inline]
fn lower(c: char) -> char {
    match c {
        '\0'..='\x7f' => c.to_ascii_lowercase(),
        // Scripts without case.
        '\u{2000}'..='\u{10FFFF}' => c,
        _ => c.to_lowercase().next().unwrap_or(c),
    }
}

/// Folds the case of one character, fully: `ß` and `ẞ` give `ss`, all sigmas one, `ı` and `İ` the plain `i`
/// (so that a text and its upper-case form agree).
fn fold_case(c: char) -> impl Iterator<Item = char> {
    c.to_lowercase()
        .flat_map(char::to_uppercase)
        .flat_map(char::to_lowercase)
        .filter(move |&d| !(c == '\u{130}' && d == '\u{307}'))
}

/// Base letters of U+00C0..U+0250 and U+1E00..U+1F00, where one ASCII letter is the whole folded form; else 0.
static LATIN: LazyLock<[u8; 0x250 + 0x100]> = LazyLock::new(|| {
    let mut table = [0; 0x250 + 0x100];
    for (at, entry) in table.iter_mut().enumerate() {
        let code = if at < 0x250 {
            at as u32
        } else {
            0x1E00 + (at as u32 - 0x250)
        };
        let Some(c) = char::from_u32(code).filter(|_| code >= 0xC0) else {
            continue;
        };
        let mut base = String::new();
        fold_base_slow(c, &mut base);
        if let [byte] = base.as_bytes() {
            *entry = *byte;
        }
    }
    table
});

/// Appends the case-folded text without diacritics to `base`, up to about `limit` bytes.
pub(super) fn fold_base(text: &str, limit: usize, base: &mut String) {
    for c in text.chars() {
        if base.len() >= limit {
            return;
        }
        let code = u32::from(c);
        let slot = match code {
            0..0x80 => {
                base.push(c.to_ascii_lowercase());
                continue;
            }
            0x80..0x250 => Some(code),
            0x1E00..0x1F00 => Some(code - 0x1E00 + 0x250),
            _ => None,
        };
        match slot.and_then(|slot| LATIN.get(slot as usize)) {
            Some(&byte) if byte != 0 => base.push(char::from(byte)),
            _ => fold_base_slow(c, base),
        }
    }
}

/// Appends the case-folded text to `folded`, up to about `limit` bytes.
pub(super) fn fold_word(text: &str, limit: usize, folded: &mut String) {
    for c in text.chars() {
        if folded.len() >= limit {
            return;
        }
        if is_stable(c) {
            folded.push(lower(c));
        } else {
            folded.extend(fold_case(c));
        }
    }
}

/// Marks that carry tone, stress or vowels that writers leave out: those of Latin, Greek, Cyrillic, Hebrew, Arabic.
/// The marks of Indic scripts are letters in all but name and stay.
fn is_diacritic(c: char) -> bool {
    matches!(u32::from(c), 0x300..=0x36F | 0x483..=0x487 | 0x591..=0x5C7 | 0x610..=0x61A | 0x64B..=0x65F | 0x670
        | 0x6D6..=0x6ED | 0x1AB0..=0x1AFF | 0x1DC0..=0x1DFF)
        && is_combining_mark(c)
}

fn fold_base_slow(c: char, base: &mut String) {
    for folded in fold_case(c) {
        decompose_canonical(folded, |part| match part {
            'đ' | 'ð' | 'ɖ' => base.push('d'),
            'ł' => base.push('l'),
            'ø' => base.push('o'),
            'ħ' => base.push('h'),
            'ŧ' => base.push('t'),
            'æ' => base.push_str("ae"),
            'œ' => base.push_str("oe"),
            'þ' => base.push_str("th"),
            part if is_diacritic(part) => {}
            part => base.push(part),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The short cuts for stable characters agree with the full algorithms, for every character there is.
    #[test]
    fn stable_characters_are_stable() {
        let letters: Vec<char> = (0..=0x0010_FFFF).filter_map(char::from_u32).collect();
        let mut stable = 0;
        for &c in letters.iter().filter(|&&c| stable_form(c).is_some()) {
            stable += 1;
            let form = stable_form(c).map(String::from);
            assert_eq!(form, Some(c.nfkc().collect()), "NFKC of {c:?}");
            let folded: String = c
                .nfkc()
                .flat_map(fold_case)
                .nfkc()
                .flat_map(fold_case)
                .nfkc()
                .collect();
            assert_eq!(
                form.map(|form| form.chars().map(lower).collect()),
                Some(folded),
                "case of {c:?}"
            );
        }
        assert!(stable > 30_000);
        let all: String = letters.into_iter().filter(|&c| is_stable(c)).collect();
        assert!(all.nfkc().eq(all.chars()), "neighbours compose");
        let lowered: String = all.chars().map(lower).collect();
        assert!(
            lowered.nfkc().eq(lowered.chars()),
            "neighbours compose after folding"
        );
    }

    /// The table of Latin base letters says what the decomposition says.
    #[test]
    fn latin_table_agrees_with_decomposition() {
        for c in (0..0x2000).filter_map(char::from_u32) {
            let (mut fast, mut slow) = (String::new(), String::new());
            fold_base(c.encode_utf8(&mut [0; 4]), 64, &mut fast);
            fold_base_slow(c, &mut slow);
            assert_eq!(fast, slow, "{c:?}");
        }
    }
}

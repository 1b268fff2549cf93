//! The names that a question may hold: which of them are anyone's, the index knows.

use unicode_normalization::UnicodeNormalization as _;

use super::{LONGEST, words::is_han};

/// Names that are read.
const MOST: usize = 96;
/// Words of a name.
const WORDS: usize = 4;
/// Characters of a Chinese name.
const HAN: std::ops::RangeInclusive<usize> = 2..=4;

/// What of a text may be a name, each once, in NFC: up to four neighbouring words that begin in upper case, and two to
/// four neighbouring Han characters.
#[must_use]
pub fn names(text: &str) -> Vec<String> {
    let end = text
        .char_indices()
        .nth(LONGEST)
        .map_or(text.len(), |(at, _)| at);
    let text = text.get(..end).unwrap_or_default();
    let composed: String;
    let text = if text.is_ascii() {
        text
    } else {
        composed = text.nfc().collect();
        &composed
    };
    let mut found = Vec::new();
    let mut run: Vec<(usize, usize)> = Vec::new();
    let is_joint = |c: char| matches!(c, '\'' | '’' | '-' | '.' | '_');
    let mut at = 0;
    while at < text.len() && found.len() < MOST {
        let rest = text.get(at..).unwrap_or_default();
        let first = rest.chars().next().unwrap_or_default();
        let length =
            |belongs: &dyn Fn(char) -> bool| rest.find(|c| !belongs(c)).unwrap_or(rest.len());
        if is_han(first) {
            emit(text, &mut run, &mut found);
            let end = at + length(&is_han);
            han(text.get(at..end).unwrap_or_default(), &mut found);
            at = end;
        } else if first.is_alphanumeric() {
            let end = at + length(&|c| (c.is_alphanumeric() && !is_han(c)) || is_joint(c));
            let word = text.get(at..end).unwrap_or_default();
            let bare = word.trim_end_matches(is_joint);
            let bare = bare
                .strip_suffix("'s")
                .or(bare.strip_suffix("’s"))
                .unwrap_or(bare);
            let follows = run
                .last()
                .is_none_or(|&(_, end)| text.get(end..at) == Some(" "));
            if !first.is_uppercase() || !follows {
                emit(text, &mut run, &mut found);
            }
            if first.is_uppercase() {
                run.push((at, at + bare.len()));
            }
            at = end;
        } else {
            at += first.len_utf8();
        }
    }
    emit(text, &mut run, &mut found);
    found.truncate(MOST);
    found
}

fn add(name: &str, found: &mut Vec<String>) {
    if !found.iter().any(|known| known == name) {
        found.push(name.to_owned());
    }
}

/// Takes in the names of a run of words, which is empty then.
fn emit(text: &str, run: &mut Vec<(usize, usize)>, found: &mut Vec<String>) {
    for (number, &(start, _)) in run.iter().enumerate() {
        for &(_, end) in run.iter().skip(number).take(WORDS) {
            add(text.get(start..end).unwrap_or_default(), found);
        }
    }
    run.clear();
}

fn han(run: &str, found: &mut Vec<String>) {
    let ends: Vec<usize> = run
        .char_indices()
        .map(|(at, _)| at)
        .chain([run.len()])
        .collect();
    for (number, &start) in ends.iter().enumerate() {
        for length in HAN {
            if let Some(&end) = ends.get(number + length)
                && found.len() < MOST
            {
                add(run.get(start..end).unwrap_or_default(), found);
            }
        }
    }
}

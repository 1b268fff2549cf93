//! The tokens of a question and the words for time among them.

use super::Part;

/// Words, numbers and the marks that stand in dates; characters of Chinese one by one.
pub(super) fn tokens(text: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut start = None;
    let mut is_number = false;
    for (at, c) in text.char_indices() {
        let is_word = c.is_alphanumeric() && !is_han(c);
        if let Some(from) = start
            && (!is_word || c.is_ascii_digit() != is_number)
        {
            // `3rd` stays one token: letters may follow digits, `number` takes them off.
            if !(is_word && is_number) {
                tokens.extend(text.get(from..at));
                start = None;
            }
        }
        if is_word {
            if start.is_none() {
                start = Some(at);
                is_number = c.is_ascii_digit();
            }
        } else if is_han(c) || matches!(c, '-' | '–' | '—' | '/' | '~' | '.') {
            tokens.extend(text.get(at..at + c.len_utf8()));
        }
    }
    if let Some(from) = start {
        tokens.extend(text.get(from..));
    }
    tokens
}

pub(super) fn is_han(c: char) -> bool {
    matches!(u32::from(c), 0x3400..=0x4DBF | 0x4E00..=0x9FFF)
}

/// The number of a token; an English ordinal's too.
pub(super) fn number(token: &str) -> Option<i64> {
    let digits = token
        .strip_suffix("st")
        .or_else(|| token.strip_suffix("nd"))
        .or_else(|| token.strip_suffix("rd"))
        .or_else(|| token.strip_suffix("th"))
        .unwrap_or(token);
    if digits.is_empty() || digits.len() > 4 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    digits.parse().ok()
}

/// A small number, written out or not.
pub(super) fn count(token: &str) -> Option<i64> {
    let words = [
        ("a", 1),
        ("an", 1),
        ("one", 1),
        ("two", 2),
        ("couple", 2),
        ("three", 3),
        ("four", 4),
        ("five", 5),
        ("six", 6),
        ("seven", 7),
        ("eight", 8),
        ("nine", 9),
        ("ten", 10),
        ("mot", 1),
        ("hai", 2),
        ("ba", 3),
        ("bon", 4),
        ("nam", 5),
        ("sau", 6),
        ("bay", 7),
        ("tam", 8),
        ("chin", 9),
        ("muoi", 10),
        ("一", 1),
        ("两", 2),
        ("兩", 2),
        ("二", 2),
        ("三", 3),
        ("四", 4),
        ("五", 5),
        ("六", 6),
        ("七", 7),
        ("八", 8),
        ("九", 9),
        ("十", 10),
    ];
    number(token)
        .or_else(|| find(&words, token))
        .filter(|&number| (1..=999).contains(&number))
}

pub(super) fn find<T: Copy>(words: &[(&str, T)], token: &str) -> Option<T> {
    words
        .iter()
        .find(|(word, _)| *word == token)
        .map(|&(_, value)| value)
}

/// An English month, and whether its name alone is proof.
pub(super) fn english_month(token: &str) -> Option<(i64, bool)> {
    let names = [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ];
    let full = names.iter().zip(1..).find(|(name, _)| **name == token);
    if let Some((_, month)) = full {
        return Some((month, month != 3 && month != 5));
    }
    let is_short = matches!(token.len(), 3 | 4) && (token.len() == 3 || token == "sept");
    let short = names
        .iter()
        .zip(1..)
        .find(|(name, _)| is_short && name.get(..token.len()) == Some(token));
    short.map(|(_, month)| (month, false))
}

/// A Vietnamese month's name after `thang`; how many tokens it takes.
pub(super) fn vietnamese_month(tokens: &[&str]) -> Option<(i64, usize)> {
    let names = [
        ("gieng", 1),
        ("mot", 1),
        ("hai", 2),
        ("ba", 3),
        ("tu", 4),
        ("nam", 5),
        ("sau", 6),
        ("bay", 7),
        ("tam", 8),
        ("chin", 9),
        ("muoi", 10),
        ("chap", 12),
    ];
    let first = tokens.first()?;
    if let Some(month) = number(first) {
        return (1..=12).contains(&month).then_some((month, 1));
    }
    let month = find(&names, first)?;
    match (month, tokens.get(1)) {
        (10, Some(&"mot")) => Some((11, 2)),
        (10, Some(&"hai")) => Some((12, 2)),
        // `thang nam 2024` is no month; the year's word follows `thang` only by mistake.
        _ => Some((month, 1)),
    }
}

/// The English words for a part of a month.
pub(super) fn english_part(token: &str) -> Option<Part> {
    let words = [
        ("early", Part::Early),
        ("beginning", Part::Early),
        ("start", Part::Early),
        ("mid", Part::Middle),
        ("middle", Part::Middle),
        ("late", Part::Late),
        ("end", Part::Late),
    ];
    find(&words, token)
}

/// The Vietnamese ones, without marks.
pub(super) fn vietnamese_part(token: &str) -> Option<Part> {
    let words = [
        ("dau", Part::Early),
        ("giua", Part::Middle),
        ("cuoi", Part::Late),
    ];
    find(&words, token)
}

/// A day of the week, Monday being 0.
pub(super) fn english_weekday(token: &str) -> Option<i64> {
    let names = [
        "monday",
        "tuesday",
        "wednesday",
        "thursday",
        "friday",
        "saturday",
        "sunday",
    ];
    names
        .iter()
        .zip(0..)
        .find(|(name, _)| **name == token)
        .map(|(_, day)| day)
}

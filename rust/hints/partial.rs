//! Dates of which only a part is named: a quarter, a half or an end of a year, a day without its month.

use super::grammar::{Read, Reader, is_day, is_year};
use super::words::{count, find, number};
use super::{Mention, Part};

/// First month and number of months.
type Months = (i64, i64);

fn of_year(part: Part) -> Months {
    match part {
        Part::Early => (1, 3),
        Part::Middle => (5, 4),
        Part::Late => (10, 3),
    }
}

fn quarter(number: i64) -> Option<Months> {
    (1..=4).contains(&number).then_some((3 * number - 2, 3))
}

fn ordinal(token: &str) -> Option<i64> {
    let words = [("first", 1), ("second", 2), ("third", 3), ("fourth", 4)];
    number(token).or_else(|| find(&words, token))
}

impl Reader<'_> {
    pub(super) fn partial(&self, at: usize) -> Read {
        self.english_partial(at)
            .or_else(|| self.vietnamese_partial(at))
            .or_else(|| self.chinese_partial(at))
    }

    fn year(&self, at: usize) -> Option<i64> {
        self.number(at).filter(|&year| is_year(year))
    }

    /// Months of a year that stands at `at + taken` or isn't named.
    fn months(&self, at: usize, (first, count): Months, taken: usize) -> (Mention, usize) {
        let year = self.year(at + taken);
        let taken = taken + usize::from(year.is_some());
        (Mention::PartOfYear { year, first, count }, taken)
    }

    /// `Q2`, `Q2 2024`, `the second quarter of 2024`, `first half of 2024`, `early 2024`, `on the 5th`.
    fn english_partial(&self, at: usize) -> Read {
        let (word, next) = (self.get(at), self.get(at + 1));
        if word == "q" {
            return Some(self.months(at, quarter(self.number(at + 1)?)?, 2));
        }
        if let Some(ordinal) = ordinal(word) {
            let of = usize::from(self.get(at + 2) == "of");
            if next == "quarter" {
                return Some(self.months(at, quarter(ordinal)?, 2 + of));
            }
            if next == "half" && of == 1 && (1..=2).contains(&ordinal) {
                self.year(at + 3)?;
                return Some(self.months(at, (6 * ordinal - 5, 6), 3));
            }
        }
        if let Some(part) = super::words::english_part(word) {
            let between = usize::from(matches!(next, "of" | "in" | "-"));
            self.year(at + 1 + between)?;
            return Some(self.months(at, of_year(part), 1 + between));
        }
        if self.has(at, &["on", "the"]) {
            let token = self.get(at + 2);
            let day = number(token).filter(|&day| is_day(day))?;
            let is_ordinal = token.ends_with(|c: char| c.is_ascii_alphabetic());
            // `on the 5th of March` and `on the 5th floor` say something else.
            let ends = self.get(at + 3);
            let is_day = ends.is_empty() || matches!(ends, "." | "and" | "or" | "at" | "in");
            return (is_ordinal && is_day).then_some((Mention::Day(day), 3));
        }
        None
    }

    /// `quý 2`, `quý 2 năm 2024`, `đầu năm 2024`, `ngày 5`.
    fn vietnamese_partial(&self, at: usize) -> Read {
        let word = self.get(at);
        if word == "quy" {
            let months = quarter(count(self.get(at + 1))?)?;
            let named = usize::from(matches!(self.get(at + 2), "nam" | "/"));
            let has_year = named == 1 && self.year(at + 3).is_some();
            return Some(self.months(at, months, 2 + usize::from(has_year)));
        }
        if let Some(part) = super::words::vietnamese_part(word)
            && self.get(at + 1) == "nam"
        {
            self.year(at + 2)?;
            return Some(self.months(at, of_year(part), 2));
        }
        if word == "ngay" {
            let day = self.number(at + 1).filter(|&day| is_day(day))?;
            let is_whole = !matches!(self.get(at + 2), "/" | "-" | "." | "thang");
            return is_whole.then_some((Mention::Day(day), 2));
        }
        None
    }

    /// `第二季度`, `2024年第二季度`, `上半年`, `2024年下半年`, `2024年初`, `年底`, `5号`.
    fn chinese_partial(&self, at: usize) -> Read {
        let year = self.year(at).filter(|_| self.get(at + 1) == "年");
        let start = if year.is_some() { at + 2 } else { at };
        let found = |months: Months, end: usize| {
            let (first, count) = months;
            Some((Mention::PartOfYear { year, first, count }, end - at))
        };
        let nth = start + usize::from(self.get(start) == "第");
        if self.get(nth + 1) == "季"
            && let Some(months) = count(self.get(nth)).and_then(quarter)
        {
            return found(months, nth + 2 + usize::from(self.get(nth + 2) == "度"));
        }
        if self.has(start + 1, &["半", "年"]) {
            match self.get(start) {
                "上" => return found((1, 6), start + 3),
                "下" => return found((7, 6), start + 3),
                _ => {}
            }
        }
        let end = if year.is_some() { start } else { at + 1 };
        if year.is_some() || self.get(at) == "年" {
            let part = match self.get(end) {
                "初" => Part::Early,
                "中" => Part::Middle,
                "底" | "末" => Part::Late,
                _ => return None,
            };
            // `去年底` and `三年中` are of another year, or no date.
            let is_alone = year.is_some() || matches!(self.before(at, 1), "" | "." | "在" | "到");
            return is_alone.then(|| found(of_year(part), end + 1)).flatten();
        }
        let (day, length) = self.chinese_number(at).filter(|&(day, _)| is_day(day))?;
        let is_day = matches!(self.get(at + length), "号" | "號" | "日");
        let is_whole = self.before(at, 1) != "月" && self.number(at).is_some();
        (is_day && is_whole).then_some((Mention::Day(day), length + 1))
    }
}

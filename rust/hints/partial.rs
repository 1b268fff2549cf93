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

    /// Months of a year that stands after the `taken` tokens, of one counted from now, or of the nearest.
    fn months(&self, at: usize, (first, count): Months, taken: usize) -> (Mention, usize) {
        let mark = usize::from(matches!(
            self.get(at + taken),
            "of" | "in" | "/" | "-" | "nam"
        ));
        if let Some(year) = self.year(at + taken + mark) {
            let year = Some(year);
            return (Mention::PartOfYear { year, first, count }, taken + mark + 1);
        }
        let of = usize::from(self.get(at + taken) == "of");
        let from = match (self.get(at + taken + of), self.get(at + taken + of + 1)) {
            ("last" | "previous", "year") | ("nam", "ngoai" | "truoc" | "roi") => -1,
            ("this", "year") | ("nam", "nay") => 0,
            _ => {
                let year = None;
                return (Mention::PartOfYear { year, first, count }, taken);
            }
        };
        let taken = taken + of + 2;
        (Mention::PartOfYears { from, first, count }, taken)
    }

    /// `Q2`, `Q2/2024`, `Q2 last year`, `the second quarter of 2024`, `first half of 2024`, `early 2024`, `on the 5th`.
    fn english_partial(&self, at: usize) -> Read {
        let (word, next) = (self.get(at), self.get(at + 1));
        if word == "q" {
            return Some(self.months(at, quarter(self.number(at + 1)?)?, 2));
        }
        if let Some(ordinal) = ordinal(word) {
            if next == "quarter" {
                return Some(self.months(at, quarter(ordinal)?, 2));
            }
            let has_year = self.year(at + 3).is_some() || self.get(at + 4) == "year";
            if next == "half" && self.get(at + 2) == "of" && (1..=2).contains(&ordinal) && has_year
            {
                return Some(self.months(at, (6 * ordinal - 5, 6), 2));
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
            return Some(self.months(at, months, 2));
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

    /// `第二季度`, `2024年第二季度`, `上半年`, `2024年下半年`, `去年第二季度`, `2024年初`, `年底`, `5号`.
    fn chinese_partial(&self, at: usize) -> Read {
        let year = self.year(at).filter(|_| self.get(at + 1) == "年");
        let from = match (self.get(at), self.get(at + 1)) {
            ("去", "年") => Some(-1),
            ("今", "年") => Some(0),
            _ => None,
        };
        let is_of_year = year.is_some() || from.is_some();
        let start = if is_of_year { at + 2 } else { at };
        let found = |months: Months, end: usize| {
            let (first, count) = months;
            let mention = match from {
                Some(from) => Mention::PartOfYears { from, first, count },
                None => Mention::PartOfYear { year, first, count },
            };
            Some((mention, end - at))
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
        let end = if is_of_year { start } else { at + 1 };
        if is_of_year || self.get(at) == "年" {
            let part = match self.get(end) {
                "初" => Part::Early,
                "中" => Part::Middle,
                "底" | "末" => Part::Late,
                _ => return None,
            };
            // `三年中` is no date.
            let is_alone = is_of_year || matches!(self.before(at, 1), "" | "." | "在" | "到");
            return is_alone.then(|| found(of_year(part), end + 1)).flatten();
        }
        let (day, length) = self.chinese_number(at).filter(|&(day, _)| is_day(day))?;
        let is_day = matches!(self.get(at + length), "号" | "號" | "日");
        let is_whole = self.before(at, 1) != "月" && self.number(at).is_some();
        (is_day && is_whole).then_some((Mention::Day(day), length + 1))
    }
}

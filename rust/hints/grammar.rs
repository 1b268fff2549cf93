//! Which runs of tokens name a time.

use super::words::{
    count, english_month, english_part, english_weekday, find, number, tokens, vietnamese_month,
    vietnamese_part,
};
use super::{LONGEST, MOST, Mention, Part};
use crate::text;

/// Words before an English month that make sure that it is one.
const CUES: [&str; 14] = [
    "in",
    "during",
    "of",
    "since",
    "by",
    "until",
    "on",
    "last",
    "this",
    "from",
    "to",
    "before",
    "after",
    "throughout",
];

/// The times that a text names, in order.
pub(super) fn mentions(whole: &str) -> Vec<Mention> {
    let end = whole
        .char_indices()
        .nth(LONGEST)
        .map_or(whole.len(), |(at, _)| at);
    let folded = narrow(text::fold_base(whole.get(..end).unwrap_or_default()));
    let reader = Reader {
        tokens: tokens(&folded),
    };
    let mut found = Vec::new();
    let mut at = 0;
    while at < reader.tokens.len() && found.len() < MOST {
        match reader.at(at) {
            Some((mention, taken)) => {
                if !found.contains(&mention) {
                    found.push(mention);
                }
                at += taken.max(1);
            }
            None => at += 1,
        }
    }
    found
}

/// The text with digits and letters of full width as those of ASCII: `２０２５`, `Ｑ２`.
fn narrow(text: String) -> String {
    let is_wide = |c: char| matches!(c, '\u{ff01}'..='\u{ff5e}');
    if !text.contains(is_wide) {
        return text;
    }
    text.chars()
        .map(|c| {
            let ascii = u32::from(c).wrapping_sub(0xfee0);
            if is_wide(c) {
                char::from_u32(ascii).unwrap_or(c).to_ascii_lowercase()
            } else {
                c
            }
        })
        .collect()
}

pub(super) fn is_year(number: i64) -> bool {
    (1900..2200).contains(&number)
}

pub(super) fn is_day(number: i64) -> bool {
    (1..=31).contains(&number)
}

/// A mention and how many tokens it takes.
pub(super) type Read = Option<(Mention, usize)>;

pub(super) struct Reader<'a> {
    tokens: Vec<&'a str>,
}

impl Reader<'_> {
    pub(super) fn get(&self, at: usize) -> &str {
        self.tokens.get(at).copied().unwrap_or("")
    }

    pub(super) fn before(&self, at: usize, back: usize) -> &str {
        at.checked_sub(back).map_or("", |at| self.get(at))
    }

    pub(super) fn number(&self, at: usize) -> Option<i64> {
        number(self.get(at))
    }

    pub(super) fn has(&self, at: usize, words: &[&str]) -> bool {
        words
            .iter()
            .enumerate()
            .all(|(step, word)| self.get(at + step) == *word)
    }

    fn at(&self, at: usize) -> Read {
        self.iso(at)
            .or_else(|| self.partial(at))
            .or_else(|| self.english_month(at))
            .or_else(|| self.english(at))
            .or_else(|| self.vietnamese_month(at))
            .or_else(|| self.vietnamese(at))
            .or_else(|| self.chinese_date(at))
            .or_else(|| self.chinese(at))
    }

    /// `2025-02-27`, `2025/2/27`, `2025-02`.
    fn iso(&self, at: usize) -> Read {
        let year = self.number(at).filter(|&year| is_year(year))?;
        let mark = self.get(at + 1);
        if !matches!(mark, "-" | "/") {
            return None;
        }
        let month = self
            .number(at + 2)
            .filter(|month| (1..=12).contains(month))?;
        let day = self
            .number(at + 4)
            .filter(|&day| self.get(at + 3) == mark && is_day(day));
        let mention = Mention::Month {
            year: Some(year),
            month,
            days: day.map(|day| (day, day)),
            part: None,
        };
        Some((mention, if day.is_some() { 5 } else { 3 }))
    }

    /// A day of a month at `at`, or two of them: the days, and the tokens they take.
    fn days(&self, at: usize) -> Option<((i64, i64), usize)> {
        let first = self.number(at).filter(|&day| is_day(day))?;
        let is_range = matches!(
            self.get(at + 1),
            "-" | "–" | "—" | "~" | "to" | "through" | "until" | "den" | "至" | "到"
        );
        let last = self
            .number(at + 2)
            .filter(|&day| is_range && is_day(day) && day >= first);
        Some(match last {
            Some(last) => ((first, last), 3),
            None => ((first, first), 1),
        })
    }

    fn english_month(&self, at: usize) -> Read {
        let (month, is_sure) = english_month(self.get(at))?;
        let mut taken = 1;
        let the = usize::from(self.get(at + 1) == "the");
        let mut days = self.days(at + 1 + the).map(|(days, length)| {
            taken += the + length;
            days
        });
        if days.is_none() {
            let of = usize::from(self.before(at, 1) == "of");
            let day = number(self.before(at, 1 + of)).filter(|&day| is_day(day));
            days = day.map(|day| (day, day));
        }
        let year = self.number(at + taken).filter(|&year| is_year(year));
        taken += usize::from(year.is_some());
        let part = (1..=3)
            .map_while(|back| {
                let word = self.before(at, back);
                let part = english_part(word);
                (part.is_some() || matches!(word, "in" | "the" | "of" | "-")).then_some(part)
            })
            .flatten()
            .next();
        let has_cue = CUES.contains(&self.before(at, 1));
        if !(is_sure || days.is_some() || year.is_some() || part.is_some() || has_cue) {
            return None;
        }
        let mention = Mention::Month {
            year,
            month,
            days,
            part,
        };
        Some((mention, taken))
    }

    fn english(&self, at: usize) -> Read {
        let word = self.get(at);
        let next = self.get(at + 1);
        match word {
            "today" | "tonight" => return Some((Mention::Days(0, 0), 1)),
            "yesterday" => return Some((Mention::Days(-1, -1), 1)),
            "in" | "during" | "throughout" => {
                let year = self.number(at + 1).filter(|&year| is_year(year))?;
                return Some((Mention::Year(year), 2));
            }
            "last" | "past" | "previous" => {
                if let Some(day) = english_weekday(next) {
                    return Some((Mention::Weekday(day), 2));
                }
                let mention = match next {
                    "night" => Mention::Days(-1, -1),
                    "week" | "weekend" => Mention::Week(-1),
                    "month" => Mention::Months(-1),
                    "quarter" => Mention::Quarters(-1),
                    "year" => Mention::Years(-1),
                    _ => {
                        let days = count(next)? * unit_days(self.get(at + 2))?;
                        return Some((Mention::Days(-days, 0), 3));
                    }
                };
                return Some((mention, 2));
            }
            "this" => {
                let mention = match next {
                    "week" | "weekend" => Mention::Week(0),
                    "month" => Mention::Months(0),
                    "quarter" => Mention::Quarters(0),
                    "year" => Mention::Years(0),
                    _ => return None,
                };
                return Some((mention, 2));
            }
            _ => {}
        }
        let of = usize::from(next == "of");
        let unit = self.get(at + 1 + of);
        if self.get(at + 2 + of) == "ago" {
            let days = unit_days(unit)?;
            return Some((ago(count(word)?, days), 3 + of));
        }
        None
    }

    fn vietnamese_month(&self, at: usize) -> Read {
        if self.get(at) != "thang" {
            return None;
        }
        let (month, length) = vietnamese_month(self.tokens.get(at + 1..)?)?;
        let mut taken = 1 + length;
        let day = number(self.before(at, 1)).filter(|&day| is_day(day));
        let has_year = matches!(self.get(at + taken), "nam" | "/" | "-");
        let year = self
            .number(at + taken + 1)
            .filter(|&year| has_year && is_year(year));
        taken += 2 * usize::from(year.is_some());
        let mention = Mention::Month {
            year,
            month,
            days: day.map(|day| (day, day)),
            part: vietnamese_part(self.before(at, 1)),
        };
        Some((mention, taken))
    }

    fn vietnamese(&self, at: usize) -> Read {
        let fixed: [(&[&str], Mention); 19] = [
            (&["hom", "nay"], Mention::Days(0, 0)),
            (&["hom", "qua"], Mention::Days(-1, -1)),
            (&["toi", "qua"], Mention::Days(-1, -1)),
            (&["hom", "kia"], Mention::Days(-2, -2)),
            (&["tuan", "nay"], Mention::Week(0)),
            (&["tuan", "truoc"], Mention::Week(-1)),
            (&["tuan", "roi"], Mention::Week(-1)),
            (&["tuan", "vua"], Mention::Week(-1)),
            (&["thang", "nay"], Mention::Months(0)),
            (&["thang", "truoc"], Mention::Months(-1)),
            (&["thang", "roi"], Mention::Months(-1)),
            (&["thang", "vua"], Mention::Months(-1)),
            (&["quy", "nay"], Mention::Quarters(0)),
            (&["quy", "truoc"], Mention::Quarters(-1)),
            (&["quy", "roi"], Mention::Quarters(-1)),
            (&["nam", "nay"], Mention::Years(0)),
            (&["nam", "ngoai"], Mention::Years(-1)),
            (&["nam", "truoc"], Mention::Years(-1)),
            (&["nam", "roi"], Mention::Years(-1)),
        ];
        if let Some(days) = count(self.get(at))
            && let Some(unit) = find(
                &[("ngay", 1), ("tuan", 7), ("thang", 30), ("nam", 365)],
                self.get(at + 1),
            )
            && self.get(at + 2) == "truoc"
        {
            return Some((ago(days, unit), 3));
        }
        if let Some((words, mention)) = fixed.iter().find(|(words, _)| self.has(at, words)) {
            return Some((*mention, words.len()));
        }
        if self.get(at) == "nam" {
            let year = self.number(at + 1).filter(|&year| is_year(year))?;
            return Some((Mention::Year(year), 2));
        }
        // `ngay 3/8/2025`: the day stands first.
        if self.get(at) == "ngay" && self.get(at + 2) == "/" {
            let day = self.number(at + 1).filter(|&day| is_day(day))?;
            let month = self
                .number(at + 3)
                .filter(|month| (1..=12).contains(month))?;
            let year = self
                .number(at + 5)
                .filter(|&year| self.get(at + 4) == "/" && is_year(year));
            let mention = Mention::Month {
                year,
                month,
                days: Some((day, day)),
                part: None,
            };
            return Some((mention, if year.is_some() { 6 } else { 4 }));
        }
        None
    }

    /// The number at `at`, in digits or in the characters for 1 to 12, and the tokens it takes.
    pub(super) fn chinese_number(&self, at: usize) -> Option<(i64, usize)> {
        if let Some(number) = self.number(at) {
            return Some((number, 1));
        }
        let first = count(self.get(at))?;
        match (first, count(self.get(at + 1))) {
            (10, Some(ones @ 1..=2)) => Some((10 + ones, 2)),
            _ => Some((first, 1)),
        }
    }

    /// `2025年8月3日`, `8月初`, `十二月`, `2024年`.
    fn chinese_date(&self, at: usize) -> Read {
        let (mut named, mut taken) = self.chinese_number(at)?;
        let mut year = None;
        if self.get(at + taken) == "年" && is_year(named) {
            year = Some(named);
            taken += 1;
            let Some((month, length)) = self.chinese_number(at + taken) else {
                return Some((Mention::Year(named), taken));
            };
            named = month;
            taken += length;
        }
        if self.get(at + taken) != "月" || !(1..=12).contains(&named) {
            return None;
        }
        taken += 1;
        taken += usize::from(self.get(at + taken) == "份");
        let after = taken + usize::from(self.get(at + taken) == "的");
        let days = self.days(at + after).map(|(days, length)| {
            taken = after + length;
            days
        });
        let part = match (self.get(at + after), self.get(at + after + 1)) {
            ("初", _) | ("上", "旬") => Some(Part::Early),
            ("中", _) => Some(Part::Middle),
            ("底" | "末", _) | ("下", "旬") => Some(Part::Late),
            _ => None,
        };
        let mention = Mention::Month {
            year,
            month: named,
            days,
            part,
        };
        Some((mention, taken))
    }

    fn chinese(&self, at: usize) -> Read {
        let one = usize::from(matches!(self.get(at + 1), "个" | "個" | "一"));
        let unit = self.get(at + 1 + one);
        let is_week = matches!(unit, "周" | "週")
            || (unit == "星" && self.get(at + 2 + one) == "期")
            || (unit == "礼" && self.get(at + 2 + one) == "拜");
        let is_quarter = unit == "季";
        let quarter = 2 + one + usize::from(self.get(at + 2 + one) == "度");
        match self.get(at) {
            "上" if is_quarter => return Some((Mention::Quarters(-1), quarter)),
            "这" | "這" | "本" if is_quarter => return Some((Mention::Quarters(0), quarter)),
            "今" if matches!(unit, "天" | "晚") => return Some((Mention::Days(0, 0), 2)),
            "昨" if matches!(unit, "天" | "晚" | "日") => {
                return Some((Mention::Days(-1, -1), 2));
            }
            "前" if unit == "天" => return Some((Mention::Days(-2, -2), 2)),
            "去" if unit == "年" => return Some((Mention::Years(-1), 2)),
            "今" if unit == "年" => return Some((Mention::Years(0), 2)),
            "上" if is_week => return Some((Mention::Week(-1), 2 + one)),
            "上" if unit == "月" => return Some((Mention::Months(-1), 2 + one)),
            "这" | "這" | "本" if is_week => return Some((Mention::Week(0), 2 + one)),
            "这" | "這" | "本" if unit == "月" => return Some((Mention::Months(0), 2 + one)),
            _ => {}
        }
        let (number, taken) = self.chinese_number(at)?;
        let of = usize::from(matches!(self.get(at + taken), "个" | "個"));
        let days = find(
            &[("天", 1), ("周", 7), ("週", 7), ("月", 30), ("年", 365)],
            self.get(at + taken + of),
        )?;
        let end = at + taken + of + 1;
        let is_before = self.get(end) == "前" || self.has(end, &["以", "前"]);
        is_before.then(|| (ago(number.min(999), days), taken + of + 2))
    }
}

fn unit_days(word: &str) -> Option<i64> {
    let words = [
        ("day", 1),
        ("days", 1),
        ("week", 7),
        ("weeks", 7),
        ("month", 30),
        ("months", 30),
        ("year", 365),
        ("years", 365),
    ];
    find(&words, word)
}

/// So many units ago, half a unit either way where the unit is longer than a day.
fn ago(number: i64, days: i64) -> Mention {
    let around = days / 2;
    Mention::Days(-number * days - around, -number * days + around)
}

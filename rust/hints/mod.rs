//! The times that a question names, in English, Vietnamese and Chinese: `in late February`, `tuần trước`, `上个月`.
//!
//! A reader of a few words, not of the language: what it does not know it leaves alone, and what it finds only lifts
//! rows of that time. Days are days of UTC. Nothing is read of texts that hold none of its words, at the cost of one
//! pass.

mod grammar;
mod names;
mod partial;
mod words;

pub use names::names;

use crate::date::{self, Span};

/// Characters of a question that are read.
const LONGEST: usize = 4_000;
/// Mentions that are read.
const MOST: usize = 8;
/// How many years a day or month without a year is looked for.
const YEARS: i64 = 10;
/// Last days of the early part of a month, and around its middle; they overlap, as the words do.
const EARLY_UNTIL: i64 = 12;
const MIDDLE: (i64, i64) = (9, 21);
const LATE_FROM: i64 = 18;

/// Part of a month.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Early,
    Middle,
    Late,
}

/// A time as it is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mention {
    /// A month or some of its days; the nearest one where the year is not named.
    Month {
        year: Option<i64>,
        month: i64,
        days: Option<(i64, i64)>,
        part: Option<Part>,
    },
    /// Months of a year; the nearest ones where the year is not named.
    PartOfYear {
        year: Option<i64>,
        first: i64,
        count: i64,
    },
    /// Months of a year counted from this one.
    PartOfYears { from: i64, first: i64, count: i64 },
    /// Quarters from this one.
    Quarters(i64),
    /// A day of the nearest month.
    Day(i64),
    /// A whole year.
    Year(i64),
    /// Days from now: first and last.
    Days(i64, i64),
    /// Weeks from this one, which begins on Monday.
    Week(i64),
    /// Months from this one.
    Months(i64),
    /// Years from this one.
    Years(i64),
    /// The last day with this number before today, Monday being 0.
    Weekday(i64),
}

/// Groups of spans, in the order in which they are to be tried: only the first that holds anything is meant.
///
/// There are several where a month or day is named without its year.
#[must_use]
pub fn read(text: &str, now_ms: i64) -> Vec<Vec<Span>> {
    let mentions = grammar::mentions(text);
    if mentions.is_empty() {
        return Vec::new();
    }
    let is_open = |mention: &Mention| {
        matches!(
            mention,
            Mention::Month { year: None, .. }
                | Mention::PartOfYear { year: None, .. }
                | Mention::Day(_)
        )
    };
    let tries = if mentions.iter().any(is_open) {
        YEARS
    } else {
        1
    };
    (0..tries)
        .map(|back| {
            let mut spans = Vec::with_capacity(mentions.len() + 1);
            for mention in &mentions {
                mention.spans(now_ms, back, &mut spans);
            }
            spans
        })
        .collect()
}

impl Mention {
    fn spans(&self, now_ms: i64, back: i64, spans: &mut Vec<Span>) {
        let today = date::day_of(now_ms);
        let (year, month, _) = date::civil(today);
        match *self {
            Self::Month {
                year: Some(named),
                month,
                days,
                part,
            } => spans.push(of_month(named, month, days, part)),
            Self::Month {
                year: None,
                month,
                days,
                part,
            } => nearest(spans, now_ms, back, year, |year| {
                of_month(year, month, days, part)
            }),
            Self::PartOfYear {
                year: Some(named),
                first,
                count,
            } => spans.push(date::months(named, first, count)),
            Self::PartOfYear {
                year: None,
                first,
                count,
            } => nearest(spans, now_ms, back, year, |year| {
                date::months(year, first, count)
            }),
            Self::PartOfYears { from, first, count } => {
                spans.push(date::months(year + from, first, count));
            }
            Self::Quarters(from) => {
                let first = 3 * ((month - 1) / 3 + from) + 1;
                spans.push(date::months(year, first, 3));
            }
            Self::Day(named) => nearest(spans, now_ms, back, 12 * year + month - 1, |months| {
                let (year, month) = (months.div_euclid(12), months.rem_euclid(12) + 1);
                of_month(year, month, Some((named, named)), None)
            }),
            Self::Year(named) => spans.push(date::months(named, 1, 12)),
            Self::Days(first, last) => {
                spans.push(date::days(today + first, today + last));
            }
            Self::Week(from) => {
                let monday = today - weekday(today) + 7 * from;
                spans.push(date::days(monday, monday + 6));
            }
            Self::Months(from) => spans.push(date::months(year, month + from, 1)),
            Self::Years(from) => spans.push(date::months(year + from, 1, 12)),
            Self::Weekday(named) => {
                let ago = (weekday(today) - named - 1).rem_euclid(7) + 1;
                spans.push(date::days(today - ago, today - ago));
            }
        }
    }
}

/// Adds the last span that has begun, as many units before it as `back` says; `span` gives that of a unit, `current`
/// being that of now.
fn nearest(
    spans: &mut Vec<Span>,
    now_ms: i64,
    back: i64,
    current: i64,
    span: impl Fn(i64) -> Span,
) {
    let latest = if span(current).0 <= now_ms {
        current
    } else {
        current - 1
    };
    spans.push(span(latest - back));
    // What is planned has a time to come.
    if back == 0 {
        spans.push(span(latest + 1));
    }
}

/// Monday is 0; 1970-01-01 was a Thursday.
fn weekday(day: i64) -> i64 {
    (day + 3).rem_euclid(7)
}

fn of_month(year: i64, month: i64, days: Option<(i64, i64)>, part: Option<Part>) -> Span {
    let length = date::month_days(year, month);
    let (first, last) = match (days, part) {
        (Some((first, last)), _) => (first.min(length), last.min(length)),
        (None, Some(Part::Early)) => (1, EARLY_UNTIL),
        (None, Some(Part::Middle)) => MIDDLE,
        (None, Some(Part::Late)) => (LATE_FROM, length),
        (None, None) => (1, length),
    };
    let day = |day| date::day_number(year, month, day);
    date::days(day(first), day(last.max(first)))
}

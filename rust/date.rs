//! The proleptic Gregorian calendar in UTC, as far as spans of days need it.
//!
//! Day numbers count from 1970-01-01. The conversions are the usual ones over 400-year eras of 146,097 days with years
//! that begin in March, so that the leap day is the last of a year.

/// Milliseconds of a day.
pub const DAY_MS: i64 = 86_400_000;

/// The number of a day. `month` is 1 to 12; `day` may lie beyond the month's end, and then counts on.
#[must_use]
pub fn day_number(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// Year, month and day of a day's number.
#[must_use]
pub fn civil(day: i64) -> (i64, i64, i64) {
    let day = day + 719_468;
    let era = day.div_euclid(146_097);
    let of_era = day.rem_euclid(146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    let date = of_year - (153 * shifted + 2) / 5 + 1;
    (year + era * 400 + i64::from(month <= 2), month, date)
}

/// Days of a month.
#[must_use]
pub fn month_days(year: i64, month: i64) -> i64 {
    let (next_year, next) = if month == 12 {
        (year + 1, 1)
    } else {
        (year, month + 1)
    };
    day_number(next_year, next, 1) - day_number(year, month, 1)
}

/// The number of the day that holds a time.
#[must_use]
pub fn day_of(ms: i64) -> i64 {
    ms.div_euclid(DAY_MS)
}

/// The start of the ISO 8601 date (`2025-02-27`) that a text begins with, in brackets or not; years 1900 to 2199.
#[must_use]
pub fn leading(text: &str) -> Option<i64> {
    let bytes = text.strip_prefix(['[', '(']).unwrap_or(text).as_bytes();
    let date = bytes.first_chunk::<10>()?;
    if date[4] != b'-' || date[7] != b'-' || bytes.get(10).is_some_and(u8::is_ascii_digit) {
        return None;
    }
    let number = |from: usize, to: usize| {
        date.get(from..to)?.iter().try_fold(0_i64, |sum, digit| {
            digit
                .is_ascii_digit()
                .then(|| sum * 10 + i64::from(digit - b'0'))
        })
    };
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let is_date = (1900..2200).contains(&year)
        && (1..=12).contains(&month)
        && (1..=month_days(year, month)).contains(&day);
    is_date.then(|| day_number(year, month, day) * DAY_MS)
}

/// A span of time: from, until (not included), Unix milliseconds.
pub type Span = (i64, i64);

/// The span of whole days from `first` to `last`, both included.
#[must_use]
pub fn days(first: i64, last: i64) -> Span {
    (first * DAY_MS, (last + 1) * DAY_MS)
}

/// The span of `count` months from a month on; months beyond December count on.
#[must_use]
pub fn months(year: i64, month: i64, count: i64) -> Span {
    let start = |number: i64| day_number(number.div_euclid(12), number.rem_euclid(12) + 1, 1);
    let first = year * 12 + month - 1;
    days(start(first), start(first + count) - 1)
}

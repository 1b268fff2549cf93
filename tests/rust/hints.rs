//! What times a question names, in three languages, and what it leaves alone.
#![allow(missing_docs, clippy::unwrap_used)]

use agentmem::date::{DAY_MS, civil, day_number, leading, month_days};
use agentmem::hints::{names, read};
use proptest::prelude::*;

/// 2025-03-15 12:00 UTC, a Saturday.
fn now() -> i64 {
    day_number(2025, 3, 15) * DAY_MS + DAY_MS / 2
}

/// The first group, as dates: first and last day of each span.
fn dates(text: &str) -> Vec<String> {
    let groups = read(text, now());
    let day = |ms: i64| {
        let (year, month, day) = civil(ms.div_euclid(DAY_MS));
        format!("{year}-{month:02}-{day:02}")
    };
    groups
        .first()
        .into_iter()
        .flatten()
        .map(|&(from, until)| format!("{} {}", day(from), day(until - 1)))
        .collect()
}

#[test]
fn months_and_days() {
    let cases = [
        ("What did I do in late February?", "2025-02-18 2025-02-28"),
        ("at the end of January", "2025-01-18 2025-01-31"),
        ("in early-January", "2025-01-01 2025-01-12"),
        ("in mid-February, who called", "2025-02-09 2025-02-21"),
        ("on March 3rd", "2025-03-03 2025-03-03"),
        ("on the 3rd of March", "2025-03-03 2025-03-03"),
        ("from January 6th to 9th", "2025-01-06 2025-01-09"),
        ("January 6-9", "2025-01-06 2025-01-09"),
        ("In April?", "2024-04-01 2024-04-30"),
        ("last May", "2024-05-01 2024-05-31"),
        ("Tháng 2 tôi đã gặp ai?", "2025-02-01 2025-02-28"),
        ("cuối tháng hai", "2025-02-18 2025-02-28"),
        ("ngày 3 tháng 3", "2025-03-03 2025-03-03"),
        ("2月份的会议", "2025-02-01 2025-02-28"),
        ("2月底", "2025-02-18 2025-02-28"),
        ("3月3日下午", "2025-03-03 2025-03-03"),
        ("十二月初", "2024-12-01 2024-12-12"),
    ];
    for (text, expected) in cases {
        assert_eq!(
            dates(text).first().map(String::as_str),
            Some(expected),
            "{text}"
        );
    }
}

#[test]
fn parts_of_a_year_and_days_without_a_month() {
    let cases = [
        ("What did we ship in Q1?", "2025-01-01 2025-03-31"),
        ("in Q4", "2024-10-01 2024-12-31"),
        ("the second quarter of 2024", "2024-04-01 2024-06-30"),
        ("in the first half of 2024", "2024-01-01 2024-06-30"),
        ("in early 2024", "2024-01-01 2024-03-31"),
        ("mid-2024", "2024-05-01 2024-08-31"),
        ("at the end of 2024", "2024-10-01 2024-12-31"),
        ("Who called on the 5th?", "2025-03-05 2025-03-05"),
        ("who called on the 20th", "2025-02-20 2025-02-20"),
        ("quý 4", "2024-10-01 2024-12-31"),
        ("doanh thu quý 2 năm 2024", "2024-04-01 2024-06-30"),
        ("đầu năm 2024", "2024-01-01 2024-03-31"),
        ("ngày 5 tôi gặp ai?", "2025-03-05 2025-03-05"),
        ("第一季度的销售额", "2025-01-01 2025-03-31"),
        ("2024年第二季度", "2024-04-01 2024-06-30"),
        ("2024年下半年", "2024-07-01 2024-12-31"),
        ("2024年初", "2024-01-01 2024-03-31"),
        ("年底的计划", "2024-10-01 2024-12-31"),
        ("5号谁来过", "2025-03-05 2025-03-05"),
        ("revenue in Q2/2024", "2024-04-01 2024-06-30"),
        ("Q2 of 2024", "2024-04-01 2024-06-30"),
        ("Q2-2024", "2024-04-01 2024-06-30"),
        ("Q2 last year", "2024-04-01 2024-06-30"),
        ("the third quarter of last year", "2024-07-01 2024-09-30"),
        ("the first half of last year", "2024-01-01 2024-06-30"),
        ("what did we ship last quarter?", "2024-10-01 2024-12-31"),
        ("this quarter's goals", "2025-01-01 2025-03-31"),
        ("quý 2/2024", "2024-04-01 2024-06-30"),
        ("quý 2 năm ngoái", "2024-04-01 2024-06-30"),
        ("doanh thu quý trước", "2024-10-01 2024-12-31"),
        ("上季度的销售额", "2024-10-01 2024-12-31"),
        ("上个季度谁来过", "2024-10-01 2024-12-31"),
        ("去年第二季度", "2024-04-01 2024-06-30"),
        ("去年底的计划", "2024-10-01 2024-12-31"),
        ("２０２４年第２季度", "2024-04-01 2024-06-30"),
        ("in Ｑ２ ２０２４", "2024-04-01 2024-06-30"),
        ("２０２４年５月３日", "2024-05-03 2024-05-03"),
    ];
    for (text, expected) in cases {
        assert_eq!(
            dates(text).first().map(String::as_str),
            Some(expected),
            "{text}"
        );
    }
    // A day that this month doesn't have is its last.
    assert_eq!(dates("on the 31st")[0], "2025-02-28 2025-02-28");
    for text in [
        "on the 5th floor",
        "on the 2 tables",
        "the second half of the film",
        "early birds",
        "q 7",
        "三年中最好的",
        "ngày mai",
        "一日三餐",
    ] {
        assert!(read(text, now()).is_empty(), "{text}: {:?}", dates(text));
    }
}

#[test]
fn names_are_words_in_upper_case_and_han() {
    let found = |text: &str| names(text);
    assert_eq!(
        found("what did Caroline Smith's brother tell Bob?"),
        ["Caroline", "Caroline Smith", "Smith", "Bob"]
    );
    assert_eq!(found("no names here, 42 times"), Vec::<String>::new());
    assert_eq!(found("王伟说"), ["王伟", "王伟说", "伟说"]);
    assert!(found("Gặp Nguyễn Văn An hôm qua").contains(&"Nguyễn Văn An".to_owned()));
    // However it is composed.
    assert_eq!(found("Nguye\u{302}\u{303}n"), ["Nguyễn"]);
    // A mark between words parts names; a hyphen within one doesn't.
    assert_eq!(found("Ann, Bo"), ["Ann", "Bo"]);
    assert_eq!(found("Jean-Luc"), ["Jean-Luc"]);
    assert!(names(&"A1 ".repeat(5_000)).len() <= 96);
    assert!(names(&"王".repeat(5_000)).len() <= 96);
}

#[test]
fn with_a_year_there_is_one_reading() {
    let cases = [
        ("in March 2024", "2024-03-01 2024-03-31"),
        ("February 29th, 2024", "2024-02-29 2024-02-29"),
        ("on 2024-02-27", "2024-02-27 2024-02-27"),
        ("in 2023", "2023-01-01 2023-12-31"),
        ("ngày 3/8/2024", "2024-08-03 2024-08-03"),
        ("tháng 8 năm 2024", "2024-08-01 2024-08-31"),
        ("2024年8月3日", "2024-08-03 2024-08-03"),
        ("2024年发生了什么", "2024-01-01 2024-12-31"),
    ];
    for (text, expected) in cases {
        assert_eq!(dates(text), [expected], "{text}");
        assert_eq!(read(text, now()).len(), 1);
    }
    // Without one the years before are tried too, and what is planned is meant as well.
    assert_eq!(
        dates("in April"),
        ["2024-04-01 2024-04-30", "2025-04-01 2025-04-30"]
    );
    assert!(read("in April", now()).len() > 3);
}

#[test]
fn times_from_now() {
    let cases = [
        ("yesterday", "2025-03-14 2025-03-14"),
        ("What was said last night", "2025-03-14 2025-03-14"),
        ("last week", "2025-03-03 2025-03-09"),
        ("last month", "2025-02-01 2025-02-28"),
        ("this year", "2025-01-01 2025-12-31"),
        ("last Friday", "2025-03-14 2025-03-14"),
        ("last Saturday", "2025-03-08 2025-03-08"),
        ("three days ago", "2025-03-12 2025-03-12"),
        ("a couple of weeks ago", "2025-02-26 2025-03-04"),
        ("in the past 3 days", "2025-03-12 2025-03-15"),
        ("tuần trước", "2025-03-03 2025-03-09"),
        ("tuan truoc", "2025-03-03 2025-03-09"),
        ("tháng trước", "2025-02-01 2025-02-28"),
        ("hôm qua", "2025-03-14 2025-03-14"),
        ("3 ngày trước", "2025-03-12 2025-03-12"),
        ("năm ngoái", "2024-01-01 2024-12-31"),
        ("上个月", "2025-02-01 2025-02-28"),
        ("上周", "2025-03-03 2025-03-09"),
        ("上星期", "2025-03-03 2025-03-09"),
        ("昨天", "2025-03-14 2025-03-14"),
        ("三天前", "2025-03-12 2025-03-12"),
        ("去年", "2024-01-01 2024-12-31"),
    ];
    for (text, expected) in cases {
        assert_eq!(dates(text), [expected], "{text}");
    }
}

#[test]
fn composed_and_decomposed_accents_read_alike() {
    assert_eq!(
        dates("tua\u{302}\u{300}n tru\u{31b}o\u{31b}\u{301}c"),
        dates("tuần trước")
    );
}

#[test]
fn what_names_no_time_is_left_alone() {
    for text in [
        "",
        "May I see the march of progress?",
        "port 8080 and version 3.11",
        "máy tính của tôi",
        "augment the decision",
        "a second opinion",
        "上海 月亮",
        "the last 3 hops",
        "section 3/4",
        "🎉 \u{0} (((",
    ] {
        assert!(read(text, now()).is_empty(), "{text}: {:?}", dates(text));
    }
}

proptest! {
    #[test]
    fn any_text_is_read(text in "\\PC{0,80}", now in any::<i32>()) {
        for name in names(&text) {
            prop_assert!(!name.trim().is_empty());
        }
        for (from, until) in read(&text, i64::from(now) * 1_000_000).into_iter().flatten() {
            prop_assert!(from < until);
        }
    }

    #[test]
    fn any_run_of_its_words_is_read(
        words in prop::collection::vec(
            prop::sample::select(vec![
                "january", "may", "31", "30th", "the", "of", "2024", "last", "week", "ago", "999", "tháng",
                "hai", "năm", "trước", "ngày", "/", "-", "年", "月", "上", "个", "十", "二", "前", "end", "0",
            ]),
            0..12,
        ),
        now in any::<i32>(),
    ) {
        for (from, until) in read(&words.join(" "), i64::from(now) * 1_000_000).into_iter().flatten() {
            prop_assert!(from < until);
        }
    }

    #[test]
    fn days_have_dates_and_back(day in -1_000_000_i64..1_000_000) {
        let (year, month, date) = civil(day);
        prop_assert!((1..=12).contains(&month));
        prop_assert!((1..=month_days(year, month)).contains(&date));
        prop_assert_eq!(day_number(year, month, date), day);
    }
}

#[test]
fn leading_dates() {
    assert_eq!(leading("1970-01-02"), Some(DAY_MS));
    assert_eq!(leading("(1970-01-02) x"), Some(DAY_MS));
    assert_eq!(leading("1970-13-02"), None);
    assert_eq!(leading("on 1970-01-02"), None);
}

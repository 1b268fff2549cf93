//! Filters are exact: an oracle that reads rows one by one lets the same through.

use std::collections::BTreeMap;

use agentmem::ann::Mode;
use agentmem::filter::{Filter, parse_where};
use agentmem::hybrid::Index;
use agentmem::row::Row;
use proptest::prelude::*;
use proptest::sample::select;

use crate::fixtures::{NDIM, NOW, SCOPES, request, row, vector};

/// A row as an oracle sees it, and whether a filter lets it through.
fn lets_through(filter: &Filter, conditions: &str, row: &Row) -> bool {
    let time = row.event_ms.unwrap_or(row.created_ms);
    let from = row.valid_from_ms.unwrap_or(row.created_ms);
    let is_known = |at: i64| from <= at || (row.kind == "event" && row.created_ms <= at);
    let visible = match filter.as_of_ms {
        None => {
            row.is_current
                && (is_known(filter.now_ms) || from <= row.created_ms || row.kind == "event")
                && row.valid_to_ms.is_none_or(|to| to > filter.now_ms)
        }
        Some(at) => is_known(at) && row.valid_to_ms.is_none_or(|to| to > at),
    };
    let scoped = filter.scopes.is_empty()
        || filter.scopes.iter().any(|scope| {
            scope.is_empty() || row.scope == *scope || row.scope.starts_with(&format!("{scope}/"))
        });
    visible
        && scoped
        && filter.tiers >> row.tier & 1 == 1
        && filter
            .kinds
            .as_ref()
            .is_none_or(|kinds| kinds.contains(&row.kind))
        && filter.tags.iter().all(|tag| row.tags.contains(tag))
        && filter
            .any_tags
            .as_ref()
            .is_none_or(|tags| tags.iter().any(|tag| row.tags.contains(tag)))
        && filter
            .session
            .as_ref()
            .is_none_or(|session| row.session.as_ref() == Some(session))
        && filter.since_ms.is_none_or(|since| time >= since)
        && filter.until_ms.is_none_or(|until| time < until)
        && holds(conditions, row)
}

/// The meaning of each `where` that the filter test uses, written out by hand.
fn holds(conditions: &str, row: &Row) -> bool {
    let parsed: serde_json::Value = serde_json::from_str(&row.metadata).unwrap_or_default();
    let at = |path: &str| {
        let mut value = &parsed;
        for key in path.split('.') {
            value = value.get(key)?;
        }
        Some(value)
    };
    let values: Vec<&serde_json::Value> = match at("n") {
        Some(serde_json::Value::Array(items)) => items.iter().collect(),
        Some(serde_json::Value::Object(_)) | None => Vec::new(),
        Some(value) => vec![value],
    };
    let numbers = || values.iter().filter_map(|value| value.as_f64());
    let texts = || values.iter().filter_map(|value| value.as_str());
    let long = format!("{}b", "y".repeat(200));
    match conditions {
        "" => true,
        r#"{"n": 1}"# => numbers().any(|n| n == 1.0),
        r#"{"n": {"$ne": 1}}"# => !numbers().any(|n| n == 1.0),
        r#"{"n": {"$gte": 1, "$lt": 3}}"# => {
            numbers().any(|n| n >= 1.0) && numbers().any(|n| n < 3.0)
        }
        r#"{"n": {"$in": ["x", 2.5, null]}}"# => {
            texts().any(|t| t == "x")
                || numbers().any(|n| n == 2.5)
                || values.iter().any(|v| v.is_null())
        }
        r#"{"n": {"$nin": [true, -3]}}"# => {
            !numbers().any(|n| n == -3.0) && !values.iter().any(|v| v.as_bool() == Some(true))
        }
        r#"{"n": {"$exists": false}}"# => at("n").is_none(),
        r#"{"n.p": {"$exists": true}}"# => at("n.p").is_some(),
        r#"{"o.p": "q"}"# => at("o.p").is_some_and(|v| v == "q"),
        "LONG" => texts().any(|t| t > long.as_str()),
        r#"{"$priority": {"$gt": 50}, "$trust": {"$in": [1, 2]}}"# => {
            row.priority > 50 && [1, 2].contains(&row.trust)
        }
        r#"{"$session": {"$exists": true}, "$subject": {"$ne": "u"}}"# => {
            row.session.is_some() && row.subject.as_deref() != Some("u")
        }
        r#"{"$tag": {"$gt": "g"}}"# => row.tags.iter().any(|tag| tag.as_str() > "g"),
        other => unreachable!("{other}"),
    }
}

const CONDITIONS: [&str; 13] = [
    "",
    r#"{"n": 1}"#,
    r#"{"n": {"$ne": 1}}"#,
    r#"{"n": {"$gte": 1, "$lt": 3}}"#,
    r#"{"n": {"$in": ["x", 2.5, null]}}"#,
    r#"{"n": {"$nin": [true, -3]}}"#,
    r#"{"n": {"$exists": false}}"#,
    r#"{"n.p": {"$exists": true}}"#,
    r#"{"o.p": "q"}"#,
    "LONG",
    r#"{"$priority": {"$gt": 50}, "$trust": {"$in": [1, 2]}}"#,
    r#"{"$session": {"$exists": true}, "$subject": {"$ne": "u"}}"#,
    r#"{"$tag": {"$gt": "g"}}"#,
];

fn filter() -> impl Strategy<Value = (Filter, &'static str)> {
    let scopes = prop::collection::vec(select(&SCOPES[..]).prop_map(str::to_owned), 0..3);
    let tags = (
        prop::collection::vec("[gh,]", 0..2),
        prop::option::of(prop::collection::vec("[gh,]", 0..2)),
    );
    let kinds = prop::option::of(prop::collection::vec(
        select(vec!["fact", "rule", "other"]),
        0..2,
    ));
    let times = (
        prop::option::of(0_i64..40),
        prop::option::of(0_i64..40),
        prop::option::of(0_i64..40),
    );
    (
        scopes,
        tags,
        kinds,
        times,
        0_u32..8,
        prop::option::weighted(0.2, "[st]"),
        select(&CONDITIONS[..]),
    )
        .prop_map(
            |(
                scopes,
                (tags, any_tags),
                kinds,
                (since_ms, until_ms, as_of_ms),
                tiers,
                session,
                conditions,
            )| {
                let json = match conditions {
                    "" => "{}".to_owned(),
                    "LONG" => format!(r#"{{"n": {{"$gt": "{}b"}}}}"#, "y".repeat(200)),
                    json => json.to_owned(),
                };
                let filter = Filter {
                    tiers,
                    scopes,
                    kinds: kinds.map(|all| all.into_iter().map(str::to_owned).collect()),
                    tags,
                    any_tags,
                    session,
                    since_ms,
                    until_ms,
                    now_ms: NOW,
                    as_of_ms,
                    conditions: parse_where(&json).unwrap(),
                    keys: None,
                };
                (filter, conditions)
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    /// A filter lets exactly those rows through that a plain reading of it does, in the tail and in segments.
    #[test]
    fn filters_are_exact(
        rows in prop::collection::vec(row(), 1..80),
        filters in prop::collection::vec(filter(), 1..12),
        cut in 0_usize..80,
    ) {
        let index = Index::private(NDIM, Mode::Exact).unwrap();
        let mut model = BTreeMap::new();
        for (at, (row, flat)) in rows.into_iter().enumerate() {
            let row = Row { text: format!("{} common", row.text), ..row };
            model.insert(row.key, row.clone());
            let flat = if flat.is_empty() { vector(1) } else { flat };
            index.apply(vec![(row, flat)], &[], 0).unwrap();
            if at == cut {
                index.fold(1, false).unwrap();
            }
        }
        for (filter, conditions) in &filters {
            let expected: Vec<u64> =
                model.values().filter(|row| lets_through(filter, conditions, row)).map(|row| row.key).collect();
            let query = vector(5);
            for request in [request("common", None, filter), request("", Some(&query), filter)] {
                let mut found: Vec<u64> =
                    index.search(&request).unwrap().iter().map(|hit| hit.row.key).collect();
                found.sort_unstable();
                prop_assert_eq!(&found, &expected, "{:?} {}", filter, conditions);
            }
        }
    }
}

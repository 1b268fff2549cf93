//! Filters: which rows a search may return, decided inside the engine before ranking.
//!
//! Labels (see [`crate::label`]) give sets of rows; times, priority and trust are read from columns.

mod evaluate;

pub(crate) use evaluate::{Live, select};

use serde_json::Value;

use crate::error::{Error, Result};
use crate::label::Scalar;

/// Most conditions and values of one filter.
const MOST_CONDITIONS: usize = 256;

/// What a search may return. All parts must hold.
#[derive(Clone, Debug)]
pub struct Filter {
    /// Bit n allows tier n.
    pub tiers: u32,
    /// Paths; each with all below it. None given: everything.
    pub scopes: Vec<String>,
    /// Any of them.
    pub kinds: Option<Vec<String>>,
    /// All of them.
    pub tags: Vec<String>,
    /// Any of them.
    pub any_tags: Option<Vec<String>>,
    /// Exactly this session.
    pub session: Option<String>,
    /// Event time, else creation, not before.
    pub since_ms: Option<i64>,
    /// Event time, else creation, before.
    pub until_ms: Option<i64>,
    /// The time of asking.
    pub now_ms: i64,
    /// Valid time to read at; superseded rows are included.
    pub as_of_ms: Option<i64>,
    /// Conditions on metadata and fields.
    pub conditions: Vec<Condition>,
    /// Only these keys, ascending.
    pub keys: Option<Vec<u64>>,
}

impl Default for Filter {
    fn default() -> Self {
        Self {
            tiers: u32::MAX,
            scopes: Vec::new(),
            kinds: None,
            tags: Vec::new(),
            any_tags: None,
            session: None,
            since_ms: None,
            until_ms: None,
            now_ms: 0,
            as_of_ms: None,
            conditions: Vec::new(),
            keys: None,
        }
    }
}

/// What a condition is about.
#[derive(Clone, Debug, PartialEq)]
pub enum Subject {
    /// A path into the metadata, keys joined by `.`.
    Metadata(String),
    /// A field of the row that labels hold, by its prefix.
    Field(char),
    /// The priority column.
    Priority,
    /// The trust column.
    Trust,
}

/// An order comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// `$gt`
    Greater,
    /// `$gte`
    GreaterOrEqual,
    /// `$lt`
    Less,
    /// `$lte`
    LessOrEqual,
}

/// One test; several on one subject must all hold.
#[derive(Clone, Debug, PartialEq)]
pub enum Test {
    /// Equal to any of these.
    In(Vec<Scalar>),
    /// Equal to none of these; holds without a value.
    NotIn(Vec<Scalar>),
    /// In this order to a number or string.
    Compare(Order, Scalar),
    /// There at all, or not.
    Exists(bool),
}

/// A subject and its test.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// What is tested.
    pub subject: Subject,
    /// The test.
    pub test: Test,
}

fn wrong(what: &str) -> Error {
    Error::InvalidInput(format!("where: {what}"))
}

fn scalar(value: &Value, place: &str) -> Result<Scalar> {
    Scalar::from_json(value).ok_or_else(|| {
        wrong(&format!(
            "{place} needs a string, number, boolean or null, not {value}"
        ))
    })
}

/// Reads the `where` argument: a JSON object of conditions, all of which must hold.
///
/// # Errors
/// `InvalidInput` for anything that is not such an object; the message names the place.
pub fn parse_where(json: &str) -> Result<Vec<Condition>> {
    let value: Value =
        serde_json::from_str(json).map_err(|error| wrong(&format!("not JSON: {error}")))?;
    let Value::Object(fields) = value else {
        return Err(wrong("must be an object of conditions"));
    };
    let mut conditions = Vec::new();
    let mut weight = 0;
    for (key, value) in &fields {
        let subject = match key.as_str() {
            "$kind" => Subject::Field(crate::label::KIND),
            "$session" => Subject::Field(crate::label::SESSION),
            "$subject" => Subject::Field(crate::label::SUBJECT),
            "$tag" => Subject::Field(crate::label::TAG),
            "$priority" => Subject::Priority,
            "$trust" => Subject::Trust,
            other if other.starts_with('$') => {
                return Err(wrong(&format!(
                    "unknown key {other:?}; allowed are $kind, $session, $subject, $tag, $priority, $trust and metadata paths"
                )));
            }
            path => Subject::Metadata(path.to_owned()),
        };
        let tests = match value {
            Value::Object(operators) => operators
                .iter()
                .map(|(operator, operand)| test(key, operator, operand))
                .collect::<Result<Vec<_>>>()?,
            value => vec![Test::In(vec![scalar(value, key)?])],
        };
        if tests.is_empty() {
            return Err(wrong(&format!("{key:?} has no operator")));
        }
        for test in tests {
            weight += match &test {
                Test::In(values) | Test::NotIn(values) => values.len().max(1),
                _ => 1,
            };
            conditions.push(Condition {
                subject: subject.clone(),
                test,
            });
        }
    }
    if weight > MOST_CONDITIONS {
        return Err(wrong(&format!(
            "{weight} conditions and values; at most {MOST_CONDITIONS} are allowed"
        )));
    }
    Ok(conditions)
}

fn test(key: &str, operator: &str, operand: &Value) -> Result<Test> {
    let place = format!("{key:?} {operator}");
    let list = || match operand {
        Value::Array(items) => items.iter().map(|item| scalar(item, &place)).collect(),
        _ => Err(wrong(&format!("{place} needs a list"))),
    };
    let ordered = |order| match scalar(operand, &place)? {
        value @ (Scalar::Int(_) | Scalar::Float(_) | Scalar::Text(_)) => {
            Ok(Test::Compare(order, value))
        }
        _ => Err(wrong(&format!("{place} needs a number or a string"))),
    };
    match operator {
        "$eq" => Ok(Test::In(vec![scalar(operand, &place)?])),
        "$ne" => Ok(Test::NotIn(vec![scalar(operand, &place)?])),
        "$in" => Ok(Test::In(list()?)),
        "$nin" => Ok(Test::NotIn(list()?)),
        "$gt" => ordered(Order::Greater),
        "$gte" => ordered(Order::GreaterOrEqual),
        "$lt" => ordered(Order::Less),
        "$lte" => ordered(Order::LessOrEqual),
        "$exists" => match operand {
            Value::Bool(there) => Ok(Test::Exists(*there)),
            _ => Err(wrong(&format!("{place} needs true or false"))),
        },
        other => Err(wrong(&format!(
            "unknown operator {other:?} for {key:?}; allowed are $eq, $ne, $gt, $gte, $lt, $lte, $in, $nin, $exists"
        ))),
    }
}

impl Order {
    fn holds(self, ordering: std::cmp::Ordering) -> bool {
        match self {
            Self::Greater => ordering.is_gt(),
            Self::GreaterOrEqual => ordering.is_ge(),
            Self::Less => ordering.is_lt(),
            Self::LessOrEqual => ordering.is_le(),
        }
    }
}

impl Test {
    /// Whether the test holds for the values at one subject; `is_there` is for `$exists`.
    #[must_use]
    pub fn holds(&self, values: &[Scalar], is_there: bool) -> bool {
        match self {
            Self::In(wanted) => values.iter().any(|value| wanted.contains(value)),
            Self::NotIn(unwanted) => !values.iter().any(|value| unwanted.contains(value)),
            Self::Compare(order, operand) => values.iter().any(|value| {
                value
                    .compare(operand)
                    .is_some_and(|ordering| order.holds(ordering))
            }),
            Self::Exists(wanted) => is_there == *wanted,
        }
    }
}

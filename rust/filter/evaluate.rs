//! From a filter to the rows of one source.

use rustc_hash::FxHashMap;

use super::{Condition, Filter, Subject, Test};
use crate::bits::Bitset;
use crate::error::Result;
use crate::label::{self, Known, Scalar};
use crate::row::{Fixed, Row};
use crate::source::{RowSet, Selection, Source, Verdict};

/// Below this share of the rows a list is cheaper than bits.
const FEW: usize = 64;

/// What has died in one source since it was made, and what its terms no longer count for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Live {
    pub(crate) dead: Bitset,
    pub(crate) dead_rows: u32,
    /// For each term: dead rows that hold it.
    pub(crate) dead_terms: FxHashMap<Box<str>, u32>,
    /// Tokens of the dead rows.
    pub(crate) dead_tokens: u64,
}

impl Live {
    /// Marks a row dead; false if it was already.
    pub(crate) fn kill(&mut self, source: &dyn Source, row: u32) -> Result<bool> {
        if self.dead.contains(row) {
            return Ok(false);
        }
        let terms = &mut self.dead_terms;
        source.terms_of(row, &mut |term| match terms.get_mut(term) {
            Some(count) => *count += 1,
            None => {
                terms.insert(term.into(), 1);
            }
        })?;
        self.dead.insert(row);
        self.dead_rows += 1;
        self.dead_tokens += u64::from(source.length(row));
        Ok(true)
    }

    /// The live row of a key.
    pub(crate) fn find(&self, source: &dyn Source, key: u64) -> Option<u32> {
        source.find(key).filter(|&row| !self.dead.contains(row))
    }
}

/// The rows of a source that a filter lets through.
pub(crate) fn select(filter: &Filter, source: &dyn Source, live: &Live) -> Result<Selection> {
    let rows = source.rows();
    let Some(set) = labelled(filter, source)? else {
        return Ok(unlabelled(filter, source, live));
    };
    let test = Columns::new(filter);
    let seen = |row: u32| !live.dead.contains(row) && test.sees(&source.fixed(row));
    let list = match set {
        RowSet::Rows(mut list, _) => {
            list.retain(|&row| seen(row));
            list
        }
        RowSet::Bits(bits) => {
            let Some(bits) = narrow(bits, filter, source, live) else {
                return Ok(Selection::Rows(Vec::new()));
            };
            return Ok(shape(bits, rows));
        }
    };
    Ok(Selection::Rows(list))
}

fn shape(bits: Bitset, rows: u32) -> Selection {
    if bits.count() <= rows as usize / FEW {
        Selection::Rows(bits.iter().collect())
    } else {
        Selection::Bits(bits)
    }
}

/// Bits that remain of `bits` after visibility, death and columns.
fn narrow(mut bits: Bitset, filter: &Filter, source: &dyn Source, live: &Live) -> Option<Bitset> {
    let test = Columns::new(filter);
    if filter.as_of_ms.is_none() {
        let current = source.current(filter.tiers);
        if !(current.is_all && current.timed.is_empty()) {
            let timed: Vec<u32> = current
                .timed
                .iter()
                .copied()
                .filter(|&row| bits.contains(row) && test.sees(&source.fixed(row)))
                .collect();
            bits.intersect(&current.bits);
            for row in timed {
                bits.insert(row);
            }
        }
    }
    if live.dead_rows > 0 {
        bits.subtract(&live.dead);
    }
    if filter.as_of_ms.is_some() || test.reads_columns() {
        let out: Vec<u32> = bits
            .iter()
            .filter(|&row| !test.sees(&source.fixed(row)))
            .collect();
        for row in out {
            bits.remove(row);
        }
    }
    if bits.count() == 0 { None } else { Some(bits) }
}

fn unlabelled(filter: &Filter, source: &dyn Source, live: &Live) -> Selection {
    let rows = source.rows();
    if filter.as_of_ms.is_none() && !Columns::new(filter).reads_columns() && live.dead_rows == 0 {
        let current = source.current(filter.tiers);
        if current.is_all && rows > 0 {
            return Selection::All;
        }
    }
    match narrow(Bitset::full(rows as usize), filter, source, live) {
        Some(bits) => shape(bits, rows),
        None => Selection::Rows(Vec::new()),
    }
}

/// The part of a filter that reads a row's fixed fields.
struct Columns<'a> {
    filter: &'a Filter,
    conditions: Vec<&'a Condition>,
}

impl<'a> Columns<'a> {
    fn new(filter: &'a Filter) -> Self {
        let conditions = filter
            .conditions
            .iter()
            .filter(|condition| matches!(condition.subject, Subject::Priority | Subject::Trust))
            .collect();
        Self { filter, conditions }
    }

    fn reads_columns(&self) -> bool {
        self.filter.since_ms.is_some()
            || self.filter.until_ms.is_some()
            || !self.conditions.is_empty()
    }

    fn sees(&self, fixed: &Fixed) -> bool {
        let filter = self.filter;
        let is_visible = match filter.as_of_ms {
            None => {
                // A clock that ran ahead at the time of writing hides nothing.
                fixed.is_current
                    && fixed.begins_ms() <= filter.now_ms.max(fixed.created_ms)
                    && fixed.valid_to_ms.is_none_or(|end| end > filter.now_ms)
            }
            Some(at) => fixed.begins_ms() <= at && fixed.valid_to_ms.is_none_or(|end| end > at),
        };
        let time = fixed.event_ms.unwrap_or(fixed.created_ms);
        is_visible
            && filter.tiers >> fixed.tier & 1 == 1
            && filter.since_ms.is_none_or(|since| time >= since)
            && filter.until_ms.is_none_or(|until| time < until)
            && self.conditions.iter().all(|condition| {
                let value = match condition.subject {
                    Subject::Trust => fixed.trust,
                    _ => fixed.priority,
                };
                condition.test.holds(&[Scalar::Int(value.into())], true)
            })
    }
}

/// The rows that all labels of a filter allow; `None` where it names none.
fn labelled(filter: &Filter, source: &dyn Source) -> Result<Option<RowSet>> {
    let rows = source.rows();
    let mut all: Option<RowSet> = None;
    let mut and = |set: RowSet| {
        let set = set.sorted();
        let both = match all.take() {
            None => set,
            Some(before) => before.intersect(set),
        };
        let is_empty = both.is_empty();
        all = Some(both);
        is_empty
    };
    if let Some(keys) = &filter.keys {
        let mut set = RowSet::new(rows);
        for &key in keys {
            if let Some(row) = source.find(key) {
                set.extend(&[row]);
            }
        }
        if and(set) {
            return Ok(Some(RowSet::new(rows)));
        }
    }
    // The root holds every row.
    if !filter.scopes.is_empty() && !filter.scopes.iter().any(String::is_empty) {
        let mut set = RowSet::new(rows);
        for scope in &filter.scopes {
            source.label(&label::scope(scope), &mut set)?;
            let (from, to) = label::below(scope);
            source.label_range(
                &from,
                &to,
                &mut |_| Verdict::Yes,
                &mut set,
                &mut RowSet::new(rows),
            )?;
        }
        if and(set) {
            return Ok(Some(RowSet::new(rows)));
        }
    }
    let mut any_of: Vec<Vec<String>> = Vec::new();
    if let Some(session) = &filter.session {
        any_of.push(vec![label::field(label::SESSION, session)]);
    }
    any_of.extend(
        filter
            .tags
            .iter()
            .map(|tag| vec![label::field(label::TAG, tag)]),
    );
    if let Some(tags) = &filter.any_tags {
        any_of.push(
            tags.iter()
                .map(|tag| label::field(label::TAG, tag))
                .collect(),
        );
    }
    if let Some(kinds) = &filter.kinds {
        any_of.push(
            kinds
                .iter()
                .map(|kind| label::field(label::KIND, kind))
                .collect(),
        );
    }
    for labels in any_of {
        let mut set = RowSet::new(rows);
        for label in labels {
            source.label(&label, &mut set)?;
        }
        if and(set) {
            return Ok(Some(RowSet::new(rows)));
        }
    }
    for condition in &filter.conditions {
        if matches!(condition.subject, Subject::Priority | Subject::Trust) {
            continue;
        }
        if and(conditioned(condition, source)?) {
            return Ok(Some(RowSet::new(rows)));
        }
    }
    Ok(all)
}

fn conditioned(condition: &Condition, source: &dyn Source) -> Result<RowSet> {
    let rows = source.rows();
    let mut set = RowSet::new(rows);
    match &condition.test {
        Test::In(values) => equal_to_any(&condition.subject, values, source, &mut set)?,
        Test::NotIn(values) => {
            equal_to_any(&condition.subject, values, source, &mut set)?;
            return Ok(set.complement());
        }
        Test::Exists(wanted) => {
            match &condition.subject {
                Subject::Metadata(path) => source.label(&label::exists(path), &mut set)?,
                Subject::Field(prefix) => {
                    let (from, to) = field_range(*prefix);
                    source.label_range(
                        &from,
                        &to,
                        &mut |_| Verdict::Yes,
                        &mut set,
                        &mut RowSet::new(rows),
                    )?;
                }
                Subject::Priority | Subject::Trust => {}
            }
            if !wanted {
                return Ok(set.complement());
            }
        }
        Test::Compare(order, operand) => {
            let kind = if matches!(operand, Scalar::Text(_)) {
                's'
            } else {
                'n'
            };
            let (from, to) = match &condition.subject {
                Subject::Metadata(path) => label::metadata_range(path, kind),
                Subject::Field(prefix) if kind == 's' => field_range(*prefix),
                _ => return Ok(set),
            };
            let start = from.len();
            let mut unsure = RowSet::new(rows);
            let mut visit = |label: &str| {
                let value = label.get(start..).unwrap_or_default();
                match label::known(kind, value) {
                    Known::Whole(value) => {
                        let holds = value
                            .compare(operand)
                            .is_some_and(|ordering| order.holds(ordering));
                        if holds { Verdict::Yes } else { Verdict::No }
                    }
                    Known::Start(_) => Verdict::Unsure,
                }
            };
            source.label_range(&from, &to, &mut visit, &mut set, &mut unsure)?;
            let unsure = match unsure.sorted() {
                RowSet::Rows(list, _) => list,
                RowSet::Bits(bits) => bits.iter().collect(),
            };
            for row in unsure {
                if holds_for(condition, &source.row(row)?)? {
                    set.extend(&[row]);
                }
            }
        }
    }
    Ok(set)
}

fn field_range(prefix: char) -> (String, String) {
    (
        prefix.to_string(),
        char::from_u32(prefix as u32 + 1)
            .unwrap_or(char::MAX)
            .to_string(),
    )
}

fn equal_to_any(
    subject: &Subject,
    values: &[Scalar],
    source: &dyn Source,
    set: &mut RowSet,
) -> Result<()> {
    for value in values {
        match (subject, value) {
            (Subject::Metadata(path), value) => source.label(&label::metadata(path, value), set)?,
            (Subject::Field(prefix), Scalar::Text(text)) => {
                source.label(&label::field(*prefix, text), set)?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// A condition on the row itself, without labels.
pub(crate) fn holds_for(condition: &Condition, row: &Row) -> Result<bool> {
    let texts = |values: &[String]| values.iter().cloned().map(Scalar::Text).collect::<Vec<_>>();
    let values = match &condition.subject {
        Subject::Metadata(path) => {
            let parsed = row.parse_metadata()?;
            let (mut values, mut is_there) = (Vec::new(), false);
            label::flatten(&parsed, &mut |at, value| {
                if at == path {
                    match value {
                        None => is_there = true,
                        Some(value) => values.extend(Scalar::from_json(value)),
                    }
                }
            });
            return Ok(condition.test.holds(&values, is_there));
        }
        Subject::Field(label::KIND) => texts(std::slice::from_ref(&row.kind)),
        Subject::Field(label::SESSION) => texts(row.session.as_slice()),
        Subject::Field(label::SUBJECT) => texts(row.subject.as_slice()),
        Subject::Field(_) => texts(&row.tags),
        Subject::Priority => vec![Scalar::Int(row.priority.into())],
        Subject::Trust => vec![Scalar::Int(row.trust.into())],
    };
    Ok(condition.test.holds(&values, !values.is_empty()))
}

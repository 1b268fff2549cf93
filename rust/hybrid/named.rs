//! The candidates whose subject the query names.

use super::candidate::{Pool, Ranked};
use super::fusion::Lists;
use super::search::Signal;
use crate::error::Result;
use crate::label;
use crate::source::RowSet;

/// A name that stands at more than this part of all rows tells none of them from the others.
const MOST_NAMED: f64 = 0.75;

impl Signal<'_> {
    /// What of both lists has one of the names for its subject; `None` where nothing has.
    pub(super) fn named(
        &self,
        names: &[String],
        pool: &Pool,
        lists: &Lists,
    ) -> Result<Option<Lists>> {
        let labels: Vec<String> = names
            .iter()
            .map(|name| label::field(label::SUBJECT, name))
            .collect();
        let mut sets = Vec::with_capacity(self.sources.len());
        let (mut count, mut all) = (0, 0);
        for (source, _) in self.sources {
            let mut rows = RowSet::new(source.rows());
            for label in &labels {
                source.label(label, &mut rows)?;
            }
            let rows = rows.sorted();
            count += rows.len();
            all += source.rows() as usize;
            sets.push(rows);
        }
        if count == 0 || count as f64 > MOST_NAMED * all as f64 {
            return Ok(None);
        }
        let is_named = |ranked: &&Ranked| {
            pool.rows.get(ranked.number as usize).is_some_and(|found| {
                sets.get(found.source as usize)
                    .is_some_and(|set| set.contains(found.row))
            })
        };
        let of = |list: &[Ranked]| list.iter().filter(is_named).copied().collect();
        Ok(Some(Lists {
            beside: Vec::new(),
            bm25: of(&lists.bm25),
            ann: of(&lists.ann),
        }))
    }
}

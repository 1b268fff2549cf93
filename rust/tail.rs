//! The tail: rows applied since the last generation, in memory, searched exactly beside the segments.
//!
//! It only grows; a row that is replaced or removed stays and its owner marks it dead. A fold freezes a tail and
//! makes a segment of it.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::ann::{self, MAX_VECTORS_PER_ROW, Mode, Query, Scored, TailVectors};
use crate::bm25::{Norms, length_byte, with_scores};
use crate::date::Span;
use crate::error::{Error, Result};
use crate::label;
use crate::row::{Fixed, Place, Row};
use crate::source::{
    Current, MOST_BESIDE, RowSet, Selection, Source, Standing, TermPlace, Verdict, beside,
    with_analyzer, within,
};

/// Terms of one row: id and frequency.
type Terms = Box<[(u32, u32)]>;

/// Rows made ready to be applied, without any lock held.
#[derive(Default)]
pub struct Batch {
    ndim: usize,
    terms: Interner,
    labels: Interner,
    rows: Vec<Prepared>,
}

struct Prepared {
    row: Row,
    place: Place,
    terms: Terms,
    length: u32,
    labels: Box<[u32]>,
    /// One after another.
    vectors: Vec<f32>,
}

/// Strings numbered in order of first occurrence.
#[derive(Default)]
struct Interner {
    ids: FxHashMap<Arc<str>, u32>,
    names: Vec<Arc<str>>,
}

impl Interner {
    fn id(&mut self, name: &str) -> u32 {
        if let Some(&id) = self.ids.get(name) {
            return id;
        }
        self.add(Arc::from(name))
    }

    fn shared(&mut self, name: &Arc<str>) -> u32 {
        match self.ids.get(name) {
            Some(&id) => id,
            None => self.add(Arc::clone(name)),
        }
    }

    fn add(&mut self, name: Arc<str>) -> u32 {
        let id = self.names.len() as u32;
        self.names.push(Arc::clone(&name));
        self.ids.insert(name, id);
        id
    }

    fn name(&self, id: u32) -> &str {
        self.names.get(id as usize).map_or("", |name| name)
    }
}

impl Batch {
    /// Analyses rows and checks them; `vectors` are flat, a multiple of `ndim` long.
    ///
    /// # Errors
    /// `InvalidInput` or `Dimension`, naming the row; nothing was changed then.
    pub fn new(rows: Vec<(Row, Vec<f32>)>, ndim: usize) -> Result<Self> {
        let mut batch = Self {
            ndim,
            ..Self::default()
        };
        let mut ids: Vec<u32> = Vec::new();
        // The last row of a key is the one that counts.
        let last: FxHashMap<u64, usize> = rows
            .iter()
            .enumerate()
            .map(|(at, (row, _))| (row.key, at))
            .collect();
        for (at, (row, flat)) in rows.into_iter().enumerate() {
            if last.get(&row.key) != Some(&at) {
                continue;
            }
            row.check()?;
            let vectors = unit_vectors(row.key, flat, ndim)?;
            ids.clear();
            let terms = &mut batch.terms;
            with_analyzer(|analyzer| {
                for words in row.words() {
                    analyzer.document(words, |term| ids.push(terms.id(term)));
                }
            });
            let length = ids.len() as u32;
            ids.sort_unstable();
            let terms = ids
                .chunk_by(|a, b| a == b)
                .map(|run| (run[0], run.len() as u32))
                .collect();
            let parsed = row.parse_metadata()?;
            let mut labels = Vec::new();
            label::of(&row, &parsed, |label| labels.push(batch.labels.id(label)));
            batch.rows.push(Prepared {
                place: row.place(),
                row,
                terms,
                length,
                labels: labels.into(),
                vectors,
            });
        }
        Ok(batch)
    }

    /// Refuses to be applied where vectors have another length.
    ///
    /// # Errors
    /// `Dimension`.
    pub(crate) fn check_ndim(&self, ndim: usize) -> Result<()> {
        if self.ndim == ndim {
            return Ok(());
        }
        Err(Error::Dimension {
            expected: ndim,
            got: self.ndim,
        })
    }

    /// The keys of the rows, in order.
    pub fn keys(&self) -> impl Iterator<Item = u64> + '_ {
        self.rows.iter().map(|prepared| prepared.row.key)
    }
}

/// The vectors of a row, one after another, each scaled to unit length.
fn unit_vectors(key: u64, mut flat: Vec<f32>, ndim: usize) -> Result<Vec<f32>> {
    if flat.is_empty() {
        return Ok(flat);
    }
    if ndim == 0 || !flat.len().is_multiple_of(ndim) {
        return Err(Error::Dimension {
            expected: ndim,
            got: flat.len(),
        });
    }
    if flat.len() / ndim > MAX_VECTORS_PER_ROW {
        return Err(Error::InvalidInput(format!(
            "row {key} has {} vectors, at most {MAX_VECTORS_PER_ROW} are allowed",
            flat.len() / ndim
        )));
    }
    for vector in flat.chunks_exact_mut(ndim) {
        ann::normalise_in_place(vector, ndim).map_err(|error| match error {
            Error::InvalidInput(reason) => Error::InvalidInput(format!("row {key}: {reason}")),
            other => other,
        })?;
    }
    Ok(flat)
}

#[derive(Default)]
struct Postings {
    rows: Vec<u32>,
    frequencies: Vec<u32>,
}

/// See the module.
pub struct Tail {
    rows: Vec<Row>,
    seqs: Vec<u64>,
    keys: Vec<u64>,
    /// Apart from the rows, because every search reads all of them.
    standings: Vec<Standing>,
    places: Vec<Place>,
    /// Session, position and number of the rows that stand in a session.
    in_sessions: BTreeSet<(u64, i64, u32)>,
    time_range: (i64, i64),
    lengths: Vec<u32>,
    length_bytes: Vec<u8>,
    by_key: FxHashMap<u64, u32>,
    terms: Interner,
    postings: Vec<Postings>,
    forward: Vec<Terms>,
    labels: BTreeMap<Arc<str>, Vec<u32>>,
    row_labels: Vec<Box<[Arc<str>]>>,
    vectors: TailVectors,
    tokens: u64,
}

impl Tail {
    /// An empty tail for vectors of `ndim`.
    ///
    /// # Errors
    /// `InvalidInput` where `ndim` is out of range.
    pub fn new(ndim: usize) -> Result<Self> {
        Ok(Self {
            rows: Vec::new(),
            seqs: Vec::new(),
            keys: Vec::new(),
            standings: Vec::new(),
            places: Vec::new(),
            in_sessions: BTreeSet::new(),
            time_range: (i64::MAX, i64::MIN),
            lengths: Vec::new(),
            length_bytes: Vec::new(),
            by_key: FxHashMap::default(),
            terms: Interner::default(),
            postings: Vec::new(),
            forward: Vec::new(),
            labels: BTreeMap::new(),
            row_labels: Vec::new(),
            vectors: TailVectors::new(ndim)?,
            tokens: 0,
        })
    }

    /// Appends a batch as of `seq`. The owner has marked older rows of the same keys dead, also within the batch.
    ///
    /// # Errors
    /// What the vectors' store says; they were checked before.
    pub(crate) fn append(&mut self, batch: Batch, seq: u64) -> Result<()> {
        let terms: Vec<u32> = batch
            .terms
            .names
            .iter()
            .map(|name| self.terms.shared(name))
            .collect();
        self.postings
            .resize_with(self.terms.names.len(), Postings::default);
        let names = batch.labels.names;
        // A batch shares most of its labels: each is looked up once.
        let mut labelled: Vec<Vec<u32>> = vec![Vec::new(); names.len()];
        for prepared in batch.rows {
            let row = self.rows.len() as u32;
            for vector in prepared.vectors.chunks_exact(self.vectors.ndim()) {
                self.vectors.push(row, vector)?;
            }
            let mut forward = prepared.terms;
            for (id, frequency) in &mut forward {
                *id = terms.get(*id as usize).copied().unwrap_or(u32::MAX);
                if let Some(postings) = self.postings.get_mut(*id as usize) {
                    postings.rows.push(row);
                    postings.frequencies.push(*frequency);
                }
            }
            for &id in &prepared.labels {
                if let Some(rows) = labelled.get_mut(id as usize) {
                    rows.push(row);
                }
            }
            let labels = prepared.labels.iter();
            let labels = labels.filter_map(|&id| names.get(id as usize).cloned());
            self.row_labels.push(labels.collect());
            self.standings.push(Standing {
                tier: prepared.row.tier,
                is_current: prepared.row.is_current,
                is_timed: prepared.row.fixed().is_timed(),
            });
            let time = prepared.place.time_ms;
            self.time_range = (self.time_range.0.min(time), self.time_range.1.max(time));
            if prepared.place.group != 0 {
                let Place {
                    group, position, ..
                } = prepared.place;
                self.in_sessions.insert((group, position, row));
            }
            self.places.push(prepared.place);
            self.keys.push(prepared.row.key);
            self.by_key.insert(prepared.row.key, row);
            self.lengths.push(prepared.length);
            self.length_bytes.push(length_byte(prepared.length));
            self.tokens += u64::from(prepared.length);
            self.seqs.push(seq);
            self.forward.push(forward);
            self.rows.push(prepared.row);
        }
        for (label, mut rows) in names.into_iter().zip(labelled) {
            self.labels.entry(label).or_default().append(&mut rows);
        }
        Ok(())
    }

    /// Tokens of all rows, dead ones included.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        self.tokens
    }

    /// Vectors of all rows.
    #[must_use]
    pub fn vector_count(&self) -> usize {
        self.vectors.len()
    }

    /// The `seq` that a row came with.
    #[must_use]
    pub fn seq(&self, row: u32) -> u64 {
        self.seqs.get(row as usize).copied().unwrap_or(0)
    }

    pub(crate) fn borrowed(&self, row: u32) -> Option<&Row> {
        self.rows.get(row as usize)
    }

    /// Calls `emit` with each term of a row and its frequency.
    pub(crate) fn frequencies(&self, row: u32, mut emit: impl FnMut(&str, u32)) {
        for &(id, frequency) in self.forward.get(row as usize).into_iter().flatten() {
            emit(self.terms.name(id), frequency);
        }
    }

    /// The labels of a row.
    pub(crate) fn labels_of(&self, row: u32) -> &[Arc<str>] {
        self.row_labels
            .get(row as usize)
            .map_or(&[], |labels| labels)
    }
}

impl Source for Tail {
    fn rows(&self) -> u32 {
        self.rows.len() as u32
    }

    fn keys(&self) -> &[u64] {
        &self.keys
    }

    fn find(&self, key: u64) -> Option<u32> {
        self.by_key.get(&key).copied()
    }

    fn fixed(&self, row: u32) -> Fixed {
        self.rows
            .get(row as usize)
            .map(Row::fixed)
            .unwrap_or_default()
    }

    fn row(&self, row: u32) -> Result<Row> {
        self.rows
            .get(row as usize)
            .cloned()
            .ok_or_else(|| Error::Engine(format!("the tail has no row {row}")))
    }

    fn place(&self, row: u32) -> Place {
        self.places.get(row as usize).copied().unwrap_or_default()
    }

    fn beside(&self, place: Place, emit: &mut dyn FnMut(u32)) {
        for position in beside(place.position) {
            let (first, last) = (
                (place.group, position, 0),
                (place.group, position, u32::MAX),
            );
            let rows = self.in_sessions.range(first..=last).take(MOST_BESIDE);
            rows.for_each(|&(.., row)| emit(row));
        }
    }

    fn has_sessions(&self) -> bool {
        !self.in_sessions.is_empty()
    }

    fn time_range(&self) -> (i64, i64) {
        self.time_range
    }

    fn within(&self, spans: &[Span], selection: &Selection) -> Selection {
        let times = self.places.iter().map(|place| place.time_ms);
        within(times, spans, selection)
    }

    fn length(&self, row: u32) -> u32 {
        self.lengths.get(row as usize).copied().unwrap_or(0)
    }

    fn terms_of(&self, row: u32, emit: &mut dyn FnMut(&str)) -> Result<()> {
        self.frequencies(row, |term, _| emit(term));
        Ok(())
    }

    fn label(&self, label: &str, out: &mut RowSet) -> Result<()> {
        if let Some(rows) = self.labels.get(label) {
            out.extend(rows);
        }
        Ok(())
    }

    fn label_range(
        &self,
        from: &str,
        to: &str,
        visit: &mut dyn FnMut(&str) -> Verdict,
        yes: &mut RowSet,
        unsure: &mut RowSet,
    ) -> Result<()> {
        let range = self
            .labels
            .range::<str, _>((Bound::Included(from), Bound::Excluded(to)));
        for (label, rows) in range {
            match visit(label) {
                Verdict::Yes => yes.extend(rows),
                Verdict::Unsure => unsure.extend(rows),
                Verdict::No => {}
            }
        }
        Ok(())
    }

    fn current(&self, tiers: u32) -> Arc<Current> {
        let none = Standing {
            tier: 0,
            is_current: false,
            is_timed: false,
        };
        Arc::new(Current::of(self.rows(), tiers, |row| {
            self.standings.get(row as usize).copied().unwrap_or(none)
        }))
    }

    fn lookup(&self, term: &str) -> Result<Option<(TermPlace, u32)>> {
        Ok(self.terms.ids.get(term).and_then(|&id| {
            let postings = self.postings.get(id as usize)?;
            Some((TermPlace::Tail(id), postings.rows.len() as u32))
        }))
    }

    fn holds(&self, term: &TermPlace, row: u32) -> Result<bool> {
        let TermPlace::Tail(wanted) = term else {
            return Ok(false);
        };
        let terms = self.forward.get(row as usize);
        Ok(terms.is_some_and(|terms| terms.iter().any(|(id, _)| id == wanted)))
    }

    fn bm25(
        &self,
        terms: &[(TermPlace, f32)],
        norms: &Norms,
        depth: usize,
        selection: &Selection,
    ) -> Result<Vec<Scored>> {
        with_scores(self.rows.len(), |scores| {
            for (place, weight) in terms {
                if let TermPlace::Tail(id) = place
                    && let Some(postings) = self.postings.get(*id as usize)
                {
                    scores.add(
                        &norms.impact(*weight),
                        &self.length_bytes,
                        &postings.rows,
                        &postings.frequencies,
                    );
                }
            }
            Ok(match selection {
                Selection::All => scores.top(depth, &self.keys),
                Selection::Bits(bits) => scores.top_of(depth, &self.keys, |row| bits.contains(row)),
                Selection::Rows(rows) => {
                    scores.top_of(depth, &self.keys, |row| rows.binary_search(&row).is_ok())
                }
            })
        })
    }

    fn ann(
        &self,
        query: &Query,
        depth: usize,
        _mode: Mode,
        selection: &Selection,
    ) -> Result<Vec<Scored>> {
        self.vectors
            .search(query, depth, selection.allowed(), &self.keys)
    }

    fn vectors(&self, row: u32) -> Result<Vec<Vec<f32>>> {
        Ok(self.vectors.vectors(row))
    }
}

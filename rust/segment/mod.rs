//! A segment: one immutable folder of rows, with their inverted index and vectors.

mod lexical;
mod rows;
mod write;

pub use write::{Source as WriteSource, write};

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use parking_lot::RwLock;
use serde::{Deserialize, Serialize};

use crate::ann::{Mode, Query, Scored, VectorSegment};
use crate::bm25::Norms;
use crate::date::Span;
use crate::error::Result;
use crate::files::FileEntry;
use crate::row::{Fixed, Place, Row};
use crate::source::{
    Current, MOST_BESIDE, RowSet, Selection, Source, TermPlace, Verdict, beside, with_analyzer,
    within,
};
use lexical::Lexical;
use rows::Rows;

/// A segment as the manifest names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SegmentEntry {
    /// Its folder.
    pub name: String,
    /// Rows, dead ones included.
    pub rows: u32,
    /// Files that are checked whole at open.
    pub files: Vec<FileEntry>,
    /// Files of the vectors, which check themselves.
    pub vectors: Vec<FileEntry>,
}

impl SegmentEntry {
    /// Size of all files.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.files
            .iter()
            .chain(&self.vectors)
            .map(|file| file.bytes)
            .sum()
    }
}

/// An open segment.
pub struct Segment {
    entry: SegmentEntry,
    path: PathBuf,
    rows: Rows,
    lexical: Lexical,
    vectors: VectorSegment,
    /// Made at first need, for each set of tiers that was asked for.
    current: RwLock<Vec<(u32, Arc<Current>)>>,
    /// Groups and rows of what stands in a session, by session, position and number; made at first need.
    in_sessions: OnceLock<(Vec<u64>, Vec<u32>)>,
}

/// More sets of tiers than these are not remembered.
const MOST_TIER_SETS: usize = 16;

impl Segment {
    /// Opens a segment of an index folder and checks its files.
    ///
    /// # Errors
    /// `IndexCorrupt` where anything is missing or not as it was written.
    pub fn open(index: &Path, entry: SegmentEntry, ndim: usize, mode: Mode) -> Result<Self> {
        let path = index.join(&entry.name);
        for file in &entry.files {
            file.check(&path)?;
        }
        let rows = Rows::open(&path)?;
        if rows.len() != entry.rows as usize {
            return Err(crate::files::corrupt(
                path,
                "does not hold the rows of the manifest",
            ));
        }
        let lexical = Lexical::open(&path, rows.len())?;
        let expected: Vec<(String, u64, u64)> = entry
            .vectors
            .iter()
            .map(|file| (file.name.clone(), file.bytes, file.hash()))
            .collect();
        let vectors = VectorSegment::open(&path, ndim, &expected, mode)?;
        Ok(Self {
            entry,
            path,
            rows,
            lexical,
            vectors,
            current: RwLock::default(),
            in_sessions: OnceLock::new(),
        })
    }

    /// What the manifest says.
    #[must_use]
    pub fn entry(&self) -> &SegmentEntry {
        &self.entry
    }

    /// Its folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Tokens of all rows, dead ones included.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        self.rows.tokens()
    }

    /// Reads every file again and compares all checksums.
    ///
    /// # Errors
    /// `IndexCorrupt` naming the file.
    pub fn verify(&self) -> Result<()> {
        for file in &self.entry.files {
            file.check(&self.path)?;
        }
        self.vectors.verify()
    }

    /// Vectors of all rows.
    #[must_use]
    pub fn vector_count(&self) -> usize {
        self.vectors.len()
    }
}

impl Source for Segment {
    fn rows(&self) -> u32 {
        self.rows.len() as u32
    }

    fn keys(&self) -> &[u64] {
        self.rows.keys()
    }

    fn find(&self, key: u64) -> Option<u32> {
        self.rows.find(key)
    }

    fn fixed(&self, row: u32) -> Fixed {
        self.rows.fixed(row)
    }

    fn row(&self, row: u32) -> Result<Row> {
        self.rows.row(row)
    }

    fn place(&self, row: u32) -> Place {
        self.rows.place(row)
    }

    fn beside(&self, place: Place, emit: &mut dyn FnMut(u32)) {
        let (groups, rows) = self.in_sessions.get_or_init(|| {
            let mut rows: Vec<(u64, i64, u32)> = (0..self.rows())
                .map(|row| (self.rows.group(row), self.rows.position(row), row))
                .filter(|&(group, ..)| group != 0)
                .collect();
            rows.sort_unstable();
            rows.into_iter().map(|(group, _, row)| (group, row)).unzip()
        });
        let start = groups.partition_point(|&group| group < place.group);
        let rest = groups.get(start..).unwrap_or_default();
        let end = start + rest.partition_point(|&group| group == place.group);
        let session = rows.get(start..end).unwrap_or_default();
        for position in beside(place.position) {
            let first = session.partition_point(|&row| self.rows.position(row) < position);
            session
                .iter()
                .skip(first)
                .take(MOST_BESIDE)
                .take_while(|&&row| self.rows.position(row) == position)
                .for_each(|&row| emit(row));
        }
    }

    fn has_sessions(&self) -> bool {
        self.rows.has_sessions()
    }

    fn time_range(&self) -> (i64, i64) {
        self.rows.time_range()
    }

    fn within(&self, spans: &[Span], selection: &Selection) -> Selection {
        within(self.rows.times(), spans, selection)
    }

    fn length(&self, row: u32) -> u32 {
        self.rows.length(row)
    }

    fn terms_of(&self, row: u32, emit: &mut dyn FnMut(&str)) -> Result<()> {
        let row = self.rows.row(row)?;
        let mut terms = rustc_hash::FxHashSet::<Box<str>>::default();
        with_analyzer(|analyzer| {
            for words in row.words() {
                analyzer.document(words, |term| {
                    if !terms.contains(term) {
                        terms.insert(term.into());
                        emit(term);
                    }
                });
            }
        });
        Ok(())
    }

    fn label(&self, label: &str, out: &mut RowSet) -> Result<()> {
        self.lexical.label(label, out)
    }

    fn label_range(
        &self,
        from: &str,
        to: &str,
        visit: &mut dyn FnMut(&str) -> Verdict,
        yes: &mut RowSet,
        unsure: &mut RowSet,
    ) -> Result<()> {
        self.lexical.label_range(from, to, visit, yes, unsure)
    }

    fn current(&self, tiers: u32) -> Arc<Current> {
        if let Some((_, current)) = self.current.read().iter().find(|(of, _)| *of == tiers) {
            return Arc::clone(current);
        }
        let made = Arc::new(Current::of(self.rows(), tiers, |row| {
            self.rows.standing(row)
        }));
        let mut held = self.current.write();
        if held.len() >= MOST_TIER_SETS {
            held.clear();
        }
        held.push((tiers, Arc::clone(&made)));
        made
    }

    fn lookup(&self, term: &str) -> Result<Option<(TermPlace, u32)>> {
        Ok(self.lexical.lookup(term)?.map(|info| {
            let df = info.doc_freq;
            (TermPlace::Segment(info), df)
        }))
    }

    fn holds(&self, term: &TermPlace, row: u32) -> Result<bool> {
        match term {
            TermPlace::Segment(info) => self.lexical.holds(info, row),
            TermPlace::Tail(_) => Ok(false),
        }
    }

    fn bm25(
        &self,
        terms: &[(TermPlace, f32)],
        norms: &Norms,
        depth: usize,
        selection: &Selection,
    ) -> Result<Vec<Scored>> {
        let terms: Vec<_> = terms
            .iter()
            .filter_map(|(place, weight)| match place {
                TermPlace::Segment(info) => Some((info, *weight)),
                TermPlace::Tail(_) => None,
            })
            .collect();
        let (lengths, keys) = (self.rows.length_bytes(), self.rows.keys());
        self.lexical
            .bm25(&terms, norms, lengths, keys, depth, selection)
    }

    fn ann(
        &self,
        query: &Query,
        depth: usize,
        mode: Mode,
        selection: &Selection,
    ) -> Result<Vec<Scored>> {
        if self.vectors.is_empty() {
            return Ok(Vec::new());
        }
        self.vectors.search(
            query,
            depth,
            mode,
            selection.allowed(),
            None,
            self.rows.keys(),
        )
    }

    fn vectors(&self, row: u32) -> Result<Vec<Vec<f32>>> {
        self.vectors.vectors(row)
    }
}

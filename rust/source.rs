//! What filters and ranking need from a place that holds rows: a segment or the tail.

use std::cell::RefCell;
use std::sync::Arc;

use tantivy::postings::TermInfo;

use crate::ann::{Allowed, Mode, Query, Scored};
use crate::bits::Bitset;
use crate::bm25::Norms;
use crate::date::Span;
use crate::error::Result;
use crate::row::{Fixed, Place, Row};
use crate::text::Analyzer;

thread_local! {
    static ANALYZER: RefCell<Analyzer> = RefCell::default();
}

/// Runs `work` with this thread's analyzer, whose caches are warm.
pub(crate) fn with_analyzer<T>(work: impl FnOnce(&mut Analyzer) -> T) -> T {
    let mut analyzer = ANALYZER.with(RefCell::take);
    let result = work(&mut analyzer);
    ANALYZER.with(|place| place.replace(analyzer));
    result
}

/// A set of rows while it is collected: a list as long as it is short, bits from then on.
#[derive(Debug)]
pub(crate) enum RowSet {
    /// Not sorted until [`RowSet::sorted`].
    Rows(Vec<u32>, usize),
    Bits(Bitset),
}

impl RowSet {
    pub(crate) fn new(universe: u32) -> Self {
        Self::Rows(Vec::new(), universe as usize)
    }

    pub(crate) fn extend(&mut self, rows: &[u32]) {
        match self {
            Self::Rows(list, universe) => {
                list.extend_from_slice(rows);
                if list.len() > (*universe / 32).max(64) {
                    let mut bits = Bitset::new(*universe);
                    for &row in list.iter() {
                        bits.insert(row);
                    }
                    *self = Self::Bits(bits);
                }
            }
            Self::Bits(bits) => {
                for &row in rows {
                    bits.insert(row);
                }
            }
        }
    }

    /// Sorts the list and drops repeats.
    pub(crate) fn sorted(mut self) -> Self {
        if let Self::Rows(list, _) = &mut self {
            list.sort_unstable();
            list.dedup();
        }
        self
    }

    pub(crate) fn into_bits(self) -> Bitset {
        match self {
            Self::Bits(bits) => bits,
            Self::Rows(list, universe) => {
                let mut bits = Bitset::new(universe);
                for row in list {
                    bits.insert(row);
                }
                bits
            }
        }
    }

    pub(crate) fn complement(self) -> Self {
        let mut bits = self.into_bits();
        bits.invert();
        Self::Bits(bits)
    }

    /// Both must be sorted.
    pub(crate) fn intersect(self, other: Self) -> Self {
        match (self, other) {
            (Self::Bits(mut a), Self::Bits(b)) => {
                a.intersect(&b);
                Self::Bits(a)
            }
            (Self::Rows(mut list, universe), Self::Bits(bits))
            | (Self::Bits(bits), Self::Rows(mut list, universe)) => {
                list.retain(|&row| bits.contains(row));
                Self::Rows(list, universe)
            }
            (Self::Rows(a, universe), Self::Rows(b, _)) => {
                let (mut short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
                short.retain(|row| long.binary_search(row).is_ok());
                Self::Rows(short, universe)
            }
        }
    }

    /// Whether a row is among them; the list must be sorted.
    pub(crate) fn contains(&self, row: u32) -> bool {
        match self {
            Self::Rows(list, _) => list.binary_search(&row).is_ok(),
            Self::Bits(bits) => bits.contains(row),
        }
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Rows(list, _) => list.len(),
            Self::Bits(bits) => bits.count(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The rows that ranking may return from one source.
#[derive(Debug)]
pub(crate) enum Selection {
    All,
    Bits(Bitset),
    /// Ascending.
    Rows(Vec<u32>),
}

impl Selection {
    pub(crate) fn allowed(&self) -> Allowed<'_> {
        match self {
            Self::All => Allowed::All,
            Self::Bits(bits) => Allowed::Bits(bits),
            Self::Rows(rows) => Allowed::Rows(rows),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        matches!(self, Self::Rows(rows) if rows.is_empty())
    }

    pub(crate) fn contains(&self, row: u32) -> bool {
        match self {
            Self::All => true,
            Self::Bits(bits) => bits.contains(row),
            Self::Rows(rows) => rows.binary_search(&row).is_ok(),
        }
    }
}

/// Those of the selected rows whose time, in `times` by row, is in one of the spans.
pub(crate) fn within(
    times: impl Iterator<Item = i64>,
    spans: &[Span],
    selection: &Selection,
) -> Selection {
    let is_in = |time: i64| {
        spans
            .iter()
            .any(|&(from, until)| from <= time && time < until)
    };
    let inside = times.zip(0_u32..).filter(|&(time, _)| is_in(time));
    let rows = inside.map(|(_, row)| row);
    Selection::Rows(match selection {
        Selection::All => rows.collect(),
        Selection::Bits(bits) => rows.filter(|&row| bits.contains(row)).collect(),
        Selection::Rows(list) => rows.filter(|row| list.binary_search(row).is_ok()).collect(),
    })
}

/// What a label in a range says about its rows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Yes,
    No,
    /// Only the row itself can tell.
    Unsure,
}

/// The rows that are current now and of some tiers, as far as that does not depend on the time of asking.
#[derive(Debug)]
pub(crate) struct Current {
    /// Current whenever it is asked.
    pub(crate) bits: Bitset,
    /// Current from or up to some time: to be looked at one by one.
    pub(crate) timed: Vec<u32>,
    /// `bits` holds every row.
    pub(crate) is_all: bool,
}

/// What [`Current`] is made of: a row's tier, whether it is current, whether that depends on the time of asking.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Standing {
    pub(crate) tier: u8,
    pub(crate) is_current: bool,
    pub(crate) is_timed: bool,
}

impl Current {
    pub(crate) fn of(rows: u32, tiers: u32, standing: impl Fn(u32) -> Standing) -> Self {
        let mut bits = Bitset::new(rows as usize);
        let mut timed = Vec::new();
        for row in 0..rows {
            let Standing {
                tier,
                is_current,
                is_timed,
            } = standing(row);
            if is_current && tiers >> tier & 1 == 1 {
                if is_timed {
                    timed.push(row);
                } else {
                    bits.insert(row);
                }
            }
        }
        let is_all = bits.count() == rows as usize;
        Self {
            bits,
            timed,
            is_all,
        }
    }
}

/// Rows that [`Source::beside`] gives at most on either side, however many share a position.
pub(crate) const MOST_BESIDE: usize = 4;

/// The positions right before and after one.
pub(crate) fn beside(position: i64) -> [i64; 2] {
    [position.saturating_sub(1), position.saturating_add(1)]
}

/// Where a term's postings are.
#[derive(Clone, Debug)]
pub(crate) enum TermPlace {
    Segment(TermInfo),
    Tail(u32),
}

/// A place that holds rows. Row numbers are 0 to `rows() - 1`; dead rows are the caller's matter.
pub(crate) trait Source: Send + Sync {
    fn rows(&self) -> u32;
    /// The key of each row.
    fn keys(&self) -> &[u64];
    /// The latest row of a key.
    fn find(&self, key: u64) -> Option<u32>;
    fn fixed(&self, row: u32) -> Fixed;
    fn row(&self, row: u32) -> Result<Row>;
    fn place(&self, row: u32) -> Place;
    /// Calls `emit` with the rows of a place's session right before and after it, dead ones included; with no more than
    /// a few of either.
    fn beside(&self, place: Place, emit: &mut dyn FnMut(u32));
    /// Whether any row, dead ones included, is of a session.
    fn has_sessions(&self) -> bool;
    /// The earliest and the latest time of all rows, dead ones included.
    fn time_range(&self) -> (i64, i64);
    /// Those of the selected rows whose time is in one of the spans, start included, end not.
    fn within(&self, spans: &[Span], selection: &Selection) -> Selection;
    /// Tokens of a row.
    fn length(&self, row: u32) -> u32;
    /// The unique terms of a row.
    fn terms_of(&self, row: u32, emit: &mut dyn FnMut(&str)) -> Result<()>;
    fn label(&self, label: &str, out: &mut RowSet) -> Result<()>;
    fn label_range(
        &self,
        from: &str,
        to: &str,
        visit: &mut dyn FnMut(&str) -> Verdict,
        yes: &mut RowSet,
        unsure: &mut RowSet,
    ) -> Result<()>;
    fn current(&self, tiers: u32) -> Arc<Current>;
    /// A term's postings and how many rows hold it, dead ones included.
    fn lookup(&self, term: &str) -> Result<Option<(TermPlace, u32)>>;
    /// Whether a row holds a term of this source.
    fn holds(&self, term: &TermPlace, row: u32) -> Result<bool>;
    /// `terms` come by falling weight.
    fn bm25(
        &self,
        terms: &[(TermPlace, f32)],
        norms: &Norms,
        depth: usize,
        selection: &Selection,
    ) -> Result<Vec<Scored>>;
    fn ann(
        &self,
        query: &Query,
        depth: usize,
        mode: Mode,
        selection: &Selection,
    ) -> Result<Vec<Scored>>;
    fn vectors(&self, row: u32) -> Result<Vec<Vec<f32>>>;
}

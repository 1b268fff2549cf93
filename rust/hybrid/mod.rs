//! The hybrid index: segments and tail as one, BM25 and vectors as one ranking.
//!
//! Searches hold a read lock, applying and publishing a write lock for as long as it takes to swap; folds and
//! merges build their segment from shared snapshots without any lock.

mod candidate;
mod confidence;
mod fold;
mod fusion;
mod merge;
mod named;
mod ranking;
mod relevance;
mod search;
mod state;
mod support;

pub use confidence::Confidence;
pub use fusion::{Part, Parts, part};
pub use ranking::{Hints, Method, RECALL_K, Ranking, Relevance, Signals, Support, Terms};
pub use relevance::FEATURES;
pub use search::{Hit, Request};

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use parking_lot::{Mutex, RwLock};

use crate::ann::{MAX_NDIM, Mode};
use crate::error::{Error, Result};
use crate::files::{corrupt, make_dir};
use crate::row::Row;
use crate::snapshot::{FORMAT, Identity, Manifest};
use crate::source::Source as _;
use crate::tail::{Batch, Tail};
use crate::text;
use state::State;

/// Where segments are written.
enum Place {
    /// A store's index folder, with generations.
    Store(PathBuf),
    /// A folder of our own, made at the first fold and removed with the index.
    Private(OnceLock<PathBuf>),
}

/// See the module.
pub struct Index {
    place: Place,
    identity: Identity,
    mode: Mode,
    state: RwLock<State>,
    /// One fold, merge or reload at a time.
    folding: Mutex<()>,
}

/// Sizes and counts of an index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Segments of the generation.
    pub segments: usize,
    /// Rows in them, dead ones included.
    pub rows: u64,
    /// Rows that were replaced or removed since they were written.
    pub dead: u64,
    /// Live rows of the tail.
    pub tail: u64,
    /// Live rows of all.
    pub live: u64,
    /// Vectors, those of dead rows included.
    pub vectors: u64,
    /// Bytes of the segments on disk.
    pub bytes: u64,
    /// Number of the generation.
    pub generation: u64,
}

/// The start of the name of a folder of our own.
fn private_prefix() -> String {
    format!("agentmem-{}-", std::process::id())
}

fn check_ndim(ndim: usize) -> Result<()> {
    if ndim == 0 || ndim > MAX_NDIM {
        return Err(Error::InvalidInput(format!(
            "ndim is {ndim}; 1 to {MAX_NDIM} is allowed"
        )));
    }
    Ok(())
}

fn identity(epoch: &str, space: &str, ndim: usize) -> Identity {
    Identity {
        format: FORMAT,
        epoch: epoch.to_owned(),
        space: space.to_owned(),
        ndim,
        analyzer: text::VERSION,
    }
}

impl Index {
    /// Opens the index of a store; empty with watermark 0 where the folder holds none.
    ///
    /// # Errors
    /// `IndexCorrupt` where the generation is damaged or was made for another epoch, space, dimension, analyzer or
    /// format; `InvalidInput` for `ndim`.
    pub fn open(dir: &Path, epoch: &str, space: &str, ndim: usize, mode: Mode) -> Result<Self> {
        check_ndim(ndim)?;
        make_dir(dir)?;
        let identity = identity(epoch, space, ndim);
        let mut state = State::new(ndim)?;
        if let Some((manifest, segments)) = State::open_latest(dir, &identity, &[], mode)? {
            state.load(manifest, segments);
        }
        Ok(Self {
            place: Place::Store(dir.to_owned()),
            identity,
            mode,
            state: RwLock::new(state),
            folding: Mutex::new(()),
        })
    }

    /// An index without a store.
    ///
    /// # Errors
    /// `InvalidInput` for `ndim`.
    pub fn private(ndim: usize, mode: Mode) -> Result<Self> {
        check_ndim(ndim)?;
        Ok(Self {
            place: Place::Private(OnceLock::new()),
            identity: identity("", "", ndim),
            mode,
            state: RwLock::new(State::new(ndim)?),
            folding: Mutex::new(()),
        })
    }

    /// Opens what [`Index::save`] wrote. The folder is only read.
    ///
    /// # Errors
    /// `IndexCorrupt` where it holds no index or a damaged one.
    pub fn open_saved(dir: &Path, mode: Mode) -> Result<Self> {
        let manifest = Manifest::read_any(dir)?.ok_or_else(|| corrupt(dir, "holds no index"))?;
        let this = Self::private(manifest.identity.ndim, mode)?;
        let (manifest, segments) = State::open_latest(dir, &this.identity, &[], mode)?
            .ok_or_else(|| corrupt(dir, "holds no index"))?;
        this.state.write().load(manifest, segments);
        Ok(this)
    }

    /// Dimensions of the vectors.
    #[must_use]
    pub fn ndim(&self) -> usize {
        self.identity.ndim
    }

    /// The last sequence number of the published generation.
    #[must_use]
    pub fn watermark(&self) -> u64 {
        self.state.read().watermark
    }

    /// The last sequence number that was applied.
    #[must_use]
    pub fn applied(&self) -> u64 {
        self.state.read().applied
    }

    /// Upserts rows by key, with flat vectors (a multiple of ndim), then removes keys; then `seq` is applied.
    ///
    /// A key that is both upserted and removed is removed. Applying the same again changes nothing,
    /// nor does what comes late: a generation that was read meanwhile holds it, and what came after it.
    ///
    /// # Errors
    /// `InvalidInput` or `Dimension`, naming the row; nothing was changed then.
    pub fn apply(&self, rows: Vec<(Row, Vec<f32>)>, removed: &[u64], seq: u64) -> Result<()> {
        self.apply_batch(self.prepare(rows)?, removed, seq)
    }

    /// Analyses and checks rows, the longer part of [`Index::apply`]; nothing is changed.
    ///
    /// # Errors
    /// As [`Index::apply`].
    pub fn prepare(&self, rows: Vec<(Row, Vec<f32>)>) -> Result<Batch> {
        Batch::new(rows, self.identity.ndim)
    }

    /// As [`Index::apply`], of rows that were prepared for vectors of this index's length.
    ///
    /// # Errors
    /// `Dimension` where they were prepared for others; nothing was changed then.
    pub fn apply_batch(&self, batch: Batch, removed: &[u64], seq: u64) -> Result<()> {
        batch.check_ndim(self.identity.ndim)?;
        let mut state = self.state.write();
        if seq < state.applied {
            return Ok(());
        }
        state.append(batch, seq)?;
        for &key in removed {
            state.kill(key)?;
            state.removed.push((seq, key));
        }
        state.applied = state.applied.max(seq);
        Ok(())
    }

    /// Removes keys from an index without a store; gives how many were there.
    ///
    /// # Errors
    /// `IndexCorrupt` where a row can't be read.
    pub fn remove(&self, keys: &[u64]) -> Result<usize> {
        let mut state = self.state.write();
        let mut count = 0;
        for &key in keys {
            count += usize::from(state.kill(key)?);
        }
        Ok(count)
    }

    /// Live rows of the tail.
    #[must_use]
    pub fn tail_len(&self) -> usize {
        self.state.read().tail_rows()
    }

    /// Live rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.state.read().statistics().rows as usize
    }

    /// No row is alive.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The live keys, ascending.
    #[must_use]
    pub fn keys(&self) -> Vec<u64> {
        let state = self.state.read();
        let mut keys: Vec<u64> = state
            .each()
            .flat_map(|(source, live)| {
                let rows = source.keys().iter().zip(0_u32..);
                rows.filter(|(_, row)| !live.dead.contains(*row))
                    .map(|(&key, _)| key)
            })
            .collect();
        keys.sort_unstable();
        keys
    }

    /// Sizes and counts.
    #[must_use]
    pub fn stats(&self) -> Stats {
        let state = self.state.read();
        Stats {
            segments: state.segments.len(),
            rows: state
                .segments
                .iter()
                .map(|held| u64::from(held.source.rows()))
                .sum(),
            dead: state
                .segments
                .iter()
                .map(|held| u64::from(held.live.dead_rows))
                .sum(),
            tail: state.tail_rows() as u64,
            live: state.statistics().rows,
            vectors: state
                .segments
                .iter()
                .map(|held| held.source.vector_count() as u64)
                .sum::<u64>()
                + state
                    .tails()
                    .map(|(tail, _)| tail.vector_count() as u64)
                    .sum::<u64>(),
            bytes: state
                .segments
                .iter()
                .map(|held| held.source.entry().bytes())
                .sum(),
            generation: state.generation,
        }
    }

    /// Reads every file of the generation again, and finds a sample of its rows by their own text.
    ///
    /// Gives the number of segments and of rows that were looked for.
    ///
    /// # Errors
    /// `IndexCorrupt` for the first thing that is wrong.
    pub fn verify(&self) -> Result<(usize, usize)> {
        const SAMPLE: u32 = 50;
        let segments: Vec<_> = self
            .state
            .read()
            .segments
            .iter()
            .map(|held| std::sync::Arc::clone(&held.source))
            .collect();
        let mut looked_for = 0;
        for segment in &segments {
            segment.verify()?;
            let step = (segment.rows() / SAMPLE).max(1);
            for row in (0..segment.rows()).step_by(step as usize) {
                let held = segment.row(row)?;
                let wrong = |what: &str| corrupt(segment.path(), format!("row {row}: {what}"));
                if segment.find(held.key) != Some(row) {
                    return Err(wrong("is not found by its key"));
                }
                let mut missing = None;
                segment.terms_of(row, &mut |term| match segment.lookup(term) {
                    Ok(Some(_)) => {}
                    _ => missing = Some(term.to_owned()),
                })?;
                if let Some(term) = missing {
                    return Err(wrong(&format!("its term {term:?} has no postings")));
                }
                segment.vectors(row)?;
                looked_for += 1;
            }
        }
        Ok((segments.len(), looked_for))
    }

    /// An empty tail of this index's dimensions.
    fn new_tail(&self) -> Result<Tail> {
        Tail::new(self.identity.ndim)
    }
}

impl Drop for Index {
    fn drop(&mut self) {
        if let Place::Private(place) = &self.place
            && let Some(dir) = place.get()
            // A forked child holds a copy of the handle; the folder is its parent's.
            && dir.file_name().is_some_and(|name| {
                name.to_string_lossy().starts_with(&private_prefix())
            })
        {
            let _ = std::fs::remove_dir_all(dir);
        }
    }
}

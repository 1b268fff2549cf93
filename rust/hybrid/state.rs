//! What an index holds at one moment.

use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::ann::Mode;
use crate::bits::Bitset;
use crate::bm25::{Norms, Statistics};
use crate::error::Result;
use crate::files::FileEntry;
use crate::filter::Live;
use crate::segment::Segment;
use crate::snapshot::{Identity, Manifest, read_dead};
use crate::source::Source;
use crate::tail::{Batch, Tail};

/// A source and what has died in it.
pub(super) struct Held<T> {
    pub(super) source: Arc<T>,
    pub(super) live: Live,
    /// The file of dead rows in the published generation, and how many it names.
    pub(super) dead_file: Option<(FileEntry, u32)>,
}

impl<T: Source> Held<T> {
    pub(super) fn new(source: Arc<T>) -> Self {
        Self {
            source,
            live: Live::default(),
            dead_file: None,
        }
    }

    /// The source with its dead rows as of now.
    pub(super) fn snapshot(&self) -> (Arc<T>, Bitset) {
        (Arc::clone(&self.source), self.live.dead.clone())
    }

    fn kill(&mut self, key: u64) -> Result<bool> {
        match self.live.find(&*self.source, key) {
            Some(row) => self.live.kill(&*self.source, row),
            None => Ok(false),
        }
    }

    /// Share of the rows that are dead, in percent.
    pub(super) fn dead_percent(&self) -> u32 {
        (u64::from(self.live.dead_rows) * 100 / u64::from(self.source.rows().max(1))) as u32
    }
}

/// A key is alive in at most one of the sources.
pub(super) struct State {
    pub(super) segments: Vec<Held<Segment>>,
    /// Tails that a fold took and has not published yet.
    pub(super) frozen: Vec<Held<Tail>>,
    pub(super) tail: Tail,
    pub(super) tail_live: Live,
    /// Removals after the watermark: sequence number and key.
    pub(super) removed: Vec<(u64, u64)>,
    pub(super) generation: u64,
    pub(super) watermark: u64,
    pub(super) applied: u64,
    /// The published generation.
    pub(super) manifest: Option<Manifest>,
    /// The norms of the statistics that were last asked for.
    norms: Mutex<Option<(Statistics, Arc<Norms>)>>,
}

impl State {
    pub(super) fn new(ndim: usize) -> Result<Self> {
        Ok(Self {
            segments: Vec::new(),
            frozen: Vec::new(),
            tail: Tail::new(ndim)?,
            tail_live: Live::default(),
            removed: Vec::new(),
            generation: 0,
            watermark: 0,
            applied: 0,
            manifest: None,
            norms: Mutex::default(),
        })
    }

    /// All sources.
    pub(super) fn each(&self) -> impl Iterator<Item = (&dyn Source, &Live)> {
        let segments = self
            .segments
            .iter()
            .map(|held| (&*held.source as &dyn Source, &held.live));
        segments.chain(self.tails().map(|(tail, live)| (tail as &dyn Source, live)))
    }

    /// The tails, oldest first.
    pub(super) fn tails(&self) -> impl Iterator<Item = (&Tail, &Live)> {
        let frozen = self.frozen.iter().map(|held| (&*held.source, &held.live));
        frozen.chain(std::iter::once((&self.tail, &self.tail_live)))
    }

    /// Live rows and their tokens.
    pub(super) fn statistics(&self) -> Statistics {
        let mut total = Statistics::default();
        for held in &self.segments {
            total.rows += u64::from(held.source.rows() - held.live.dead_rows);
            total.tokens += held.source.tokens() - held.live.dead_tokens;
        }
        for (tail, live) in self.tails() {
            total.rows += u64::from(tail.rows() - live.dead_rows);
            total.tokens += tail.tokens() - live.dead_tokens;
        }
        total
    }

    /// The norms of the statistics: 1,024 divisions, made when these change.
    pub(super) fn norms(&self, statistics: Statistics) -> Arc<Norms> {
        let mut held = self.norms.lock();
        match &*held {
            Some((of, norms)) if *of == statistics => Arc::clone(norms),
            _ => {
                let norms = Arc::new(statistics.norms());
                *held = Some((statistics, Arc::clone(&norms)));
                norms
            }
        }
    }

    /// Live rows of the tails.
    pub(super) fn tail_rows(&self) -> usize {
        self.tails()
            .map(|(tail, live)| (tail.rows() - live.dead_rows) as usize)
            .sum()
    }

    /// Marks the live row of a key dead, wherever it is.
    pub(super) fn kill(&mut self, key: u64) -> Result<bool> {
        if let Some(row) = self.tail_live.find(&self.tail, key) {
            return self.tail_live.kill(&self.tail, row);
        }
        for held in self.frozen.iter_mut().rev() {
            if held.kill(key)? {
                return Ok(true);
            }
        }
        for held in self.segments.iter_mut().rev() {
            if held.kill(key)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    pub(super) fn append(&mut self, batch: Batch, seq: u64) -> Result<()> {
        for key in batch.keys() {
            self.kill(key)?;
        }
        self.tail.append(batch, seq)
    }

    /// Opens the segments of a generation, those of `known` that are the same as they are.
    fn open_members(
        dir: &Path,
        manifest: &Manifest,
        known: &[Arc<Segment>],
        ndim: usize,
        mode: Mode,
    ) -> Result<Vec<Held<Segment>>> {
        let mut segments = Vec::with_capacity(manifest.members.len());
        for member in &manifest.members {
            let same = known
                .iter()
                .find(|segment| *segment.entry() == member.segment);
            let source = match same {
                Some(segment) => Arc::clone(segment),
                None => Arc::new(Segment::open(dir, member.segment.clone(), ndim, mode)?),
            };
            let mut held = Held::new(source);
            for row in read_dead(dir, member.dead.as_ref(), held.source.rows())? {
                held.live.kill(&*held.source, row)?;
            }
            held.dead_file = member.dead.clone().map(|file| (file, held.live.dead_rows));
            segments.push(held);
        }
        Ok(segments)
    }

    /// Opens the published generation; `None` where there is none.
    ///
    /// Two publications of another process while we open it delete what we were about to read: then we start anew.
    pub(super) fn open_latest(
        dir: &Path,
        identity: &Identity,
        known: &[Arc<Segment>],
        mode: Mode,
    ) -> Result<Option<(Manifest, Vec<Held<Segment>>)>> {
        let mut latest = Manifest::read(dir, identity)?;
        loop {
            let Some(manifest) = latest else {
                return Ok(None);
            };
            match Self::open_members(dir, &manifest, known, identity.ndim, mode) {
                Ok(segments) => return Ok(Some((manifest, segments))),
                Err(error) => {
                    latest = Manifest::read(dir, identity)?;
                    if latest.as_ref() == Some(&manifest) {
                        return Err(error);
                    }
                }
            }
        }
    }

    /// Takes a generation into an empty state.
    pub(super) fn load(&mut self, manifest: Manifest, segments: Vec<Held<Segment>>) {
        self.segments = segments;
        self.generation = manifest.generation;
        self.watermark = manifest.watermark;
        self.applied = manifest.watermark;
        self.manifest = Some(manifest);
    }

    /// Replaces the segments by those of a generation of another process and forgets what it holds of the tails.
    pub(super) fn adopt(
        &mut self,
        segments: Vec<Held<Segment>>,
        manifest: Manifest,
        fresh: Tail,
    ) -> Result<()> {
        let watermark = manifest.watermark;
        self.segments = segments;
        for held in &mut self.frozen {
            forget(&held.source, &mut held.live, watermark)?;
        }
        self.frozen
            .retain(|held| held.live.dead_rows < held.source.rows());
        forget(&self.tail, &mut self.tail_live, watermark)?;
        if self.tail_live.dead_rows == self.tail.rows() {
            self.tail = fresh;
            self.tail_live = Live::default();
        }
        self.removed.retain(|&(seq, _)| seq > watermark);
        let mut newer: Vec<u64> = self.removed.iter().map(|&(_, key)| key).collect();
        for (tail, live) in self.tails() {
            let keys = tail.keys().iter().zip(0_u32..);
            newer.extend(
                keys.filter(|(_, row)| !live.dead.contains(*row))
                    .map(|(&key, _)| key),
            );
        }
        for key in newer {
            for held in &mut self.segments {
                held.kill(key)?;
            }
        }
        self.generation = manifest.generation;
        self.watermark = watermark;
        self.applied = self.applied.max(watermark);
        self.manifest = Some(manifest);
        Ok(())
    }
}

/// Marks the rows of a tail dead that came up to `watermark`: a generation holds them.
fn forget(tail: &Tail, live: &mut Live, watermark: u64) -> Result<()> {
    for row in 0..tail.rows() {
        if tail.seq(row) <= watermark {
            live.kill(tail, row)?;
        }
    }
    Ok(())
}

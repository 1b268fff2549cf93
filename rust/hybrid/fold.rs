//! Folding, publishing, reloading: how changes become segments, and segments a generation.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use super::merge::due;
use super::state::{Held, State};
use super::{Index, Place};
use crate::ann::{Mode, WriteOptions};
use crate::bits::Bitset;
use crate::error::{Error, Result};
use crate::files::{FileEntry, corrupt, create, make_dir};
use crate::filter::Live;
use crate::segment::{Segment, SegmentEntry, WriteSource, write};
use crate::snapshot::{Manifest, Member, write_dead};
use crate::source::Source as _;
use crate::tail::Tail;

/// The lock on an index folder that a publisher holds; the kernel frees it with the process.
struct DirLock(#[expect(dead_code, reason = "closing the file frees the lock")] fs::File);

impl DirLock {
    fn take(dir: &Path) -> Result<Self> {
        let file = create(&dir.join("LOCK"))?;
        match rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Self(file)),
            Err(rustix::io::Errno::WOULDBLOCK) => Err(Error::IndexBusy(format!(
                "{}: another process is publishing; try again later",
                dir.display()
            ))),
            Err(error) => Err(Error::Io(error.into())),
        }
    }
}

pub(super) fn new_name(generation: u64) -> String {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |time| time.as_nanos());
    format!("segment-{generation}-{now:x}")
}

impl Index {
    pub(super) fn options(&self) -> WriteOptions {
        WriteOptions {
            graph: self.mode == Mode::Hnsw,
            sync: matches!(self.place, Place::Store(_)),
        }
    }

    /// The folder for segments, made if it is our own.
    fn dir(&self) -> Result<PathBuf> {
        match &self.place {
            Place::Store(dir) => Ok(dir.clone()),
            Place::Private(place) => {
                if let Some(dir) = place.get() {
                    return Ok(dir.clone());
                }
                let name = super::private_prefix() + &new_name(0);
                let dir = std::env::temp_dir().join(name);
                fs::create_dir(&dir)?;
                make_dir(&dir)?;
                Ok(place.get_or_init(|| dir).clone())
            }
        }
    }

    /// Makes a segment of the tail where at least `minimum` changes wait in it, publishes, then merges what is due.
    ///
    /// With `settle` few segments are left, as is right when nothing else goes on. Tells whether a generation was
    /// published. Neither searches nor applying wait for it.
    ///
    /// # Errors
    /// `IndexBusy` where another process is publishing; of the system. The index is as before then.
    pub fn fold(&self, minimum: usize, settle: bool) -> Result<bool> {
        let _folding = self.folding.lock();
        let dir = self.dir()?;
        let _lock = match &self.place {
            Place::Store(dir) => Some(DirLock::take(dir)?),
            Place::Private(_) => None,
        };
        self.reload_locked()?;
        let mut has_published = false;
        // A change in the tail may be older than the watermark that another process published: many changes are
        // applied under the seq of the last. So nothing is published beside an unfolded tail, or a row that only the
        // tail holds would count as published.
        let waiting = self.waiting();
        if waiting >= minimum.max(1) || waiting > 0 && !due(&self.state.read(), settle).is_empty() {
            self.fold_tail(&dir)?;
            has_published = true;
        }
        while self.merge_once(&dir, settle)? {
            has_published = true;
        }
        Ok(has_published)
    }

    /// Changes that are not in the generation.
    fn waiting(&self) -> usize {
        let state = self.state.read();
        state
            .tails()
            .map(|(tail, _)| tail.rows() as usize)
            .sum::<usize>()
            + state.removed.len()
    }

    fn fold_tail(&self, dir: &Path) -> Result<()> {
        let fresh = self.new_tail()?;
        let (tails, segments, watermark, generation) = {
            let mut state = self.state.write();
            if state.tail.rows() > 0 {
                let source = Arc::new(std::mem::replace(&mut state.tail, fresh));
                let live = std::mem::take(&mut state.tail_live);
                state.frozen.push(Held {
                    source,
                    live,
                    dead_file: None,
                });
            }
            let tails: Vec<(Arc<Tail>, Bitset)> = state.frozen.iter().map(Held::snapshot).collect();
            (tails, members(&state), state.applied, state.generation + 1)
        };
        let options = self.options();
        let entry = write(
            dir,
            &new_name(generation),
            self.ndim(),
            options,
            &WriteSource::Tails(&tails),
        )?;
        let made = self.open_made(dir, entry)?;
        let mut all = segments;
        all.extend(
            made.iter()
                .map(|segment| Shown::new(Arc::clone(segment), Bitset::default())),
        );
        let manifest = self.publish(dir, &all, watermark, generation)?;

        let mut state = self.state.write();
        let folded: Vec<Held<Tail>> = state.frozen.drain(..tails.len()).collect();
        if let Some(segment) = made {
            let mut held = Held::new(segment);
            let parts = folded
                .iter()
                .zip(&tails)
                .map(|(held, (_, dead))| (&held.live, dead, held.source.rows()));
            carry(&mut held, parts)?;
            state.segments.push(held);
        }
        state.removed.retain(|&(seq, _)| seq > watermark);
        state.watermark = watermark;
        state.generation = generation;
        note_dead_files(&mut state, manifest);
        Ok(())
    }

    pub(super) fn open_made(
        &self,
        dir: &Path,
        entry: Option<SegmentEntry>,
    ) -> Result<Option<Arc<Segment>>> {
        entry
            .map(|entry| Segment::open(dir, entry, self.ndim(), self.mode).map(Arc::new))
            .transpose()
    }

    /// Writes the manifest of a generation; `None` for an index without a store.
    pub(super) fn publish(
        &self,
        dir: &Path,
        all: &[Shown],
        watermark: u64,
        generation: u64,
    ) -> Result<Option<Manifest>> {
        if let Place::Private(_) = self.place {
            return Ok(None);
        }
        let former = self
            .state
            .read()
            .manifest
            .as_ref()
            .map(Manifest::names)
            .unwrap_or_default();
        self.publish_into(dir, all, watermark, generation, former)
            .map(Some)
    }

    fn publish_into(
        &self,
        dir: &Path,
        all: &[Shown],
        watermark: u64,
        generation: u64,
        former: Vec<String>,
    ) -> Result<Manifest> {
        let mut members = Vec::with_capacity(all.len());
        for (number, shown) in all.iter().enumerate() {
            let dead = match &shown.dead_file {
                Some(file) => Some(file.clone()),
                None => write_dead(dir, &format!("dead-{generation}-{number}"), &shown.dead)?,
            };
            members.push(Member {
                segment: shown.segment.entry().clone(),
                dead,
            });
        }
        let identity = self.identity.clone();
        let manifest = Manifest {
            identity,
            generation,
            watermark,
            members,
            former,
        };
        manifest.publish(dir)?;
        Ok(manifest)
    }

    /// Loads the generation of another process, if there is a newer one, and drops what it holds from the tail.
    ///
    /// # Errors
    /// `IndexCorrupt` where it is damaged, gone, or older than ours.
    pub fn reload(&self) -> Result<bool> {
        let _folding = self.folding.lock();
        self.reload_locked()
    }

    fn reload_locked(&self) -> Result<bool> {
        let Place::Store(dir) = &self.place else {
            return Ok(false);
        };
        let published = Manifest::read(dir, &self.identity)?;
        let known: Vec<Arc<Segment>> = {
            let state = self.state.read();
            if state.manifest == published {
                return Ok(false);
            }
            let segments = state.segments.iter();
            segments.map(|held| Arc::clone(&held.source)).collect()
        };
        let latest = State::open_latest(dir, &self.identity, &known, self.mode)?;
        let Some((manifest, segments)) = latest else {
            return Err(corrupt(
                dir,
                "the published generation is gone; open the index again",
            ));
        };
        if manifest.watermark < self.watermark() {
            return Err(corrupt(
                dir,
                "an older generation was put in its place; open the index again",
            ));
        }
        let fresh = self.new_tail()?;
        self.state.write().adopt(segments, manifest, fresh)?;
        Ok(true)
    }

    /// Writes all live rows as an index folder that [`Index::open_saved`] reads.
    ///
    /// # Errors
    /// Of the system; what the folder held before stays then.
    pub fn save(&self, dir: &Path) -> Result<()> {
        let _folding = self.folding.lock();
        make_dir(dir)?;
        let _lock = DirLock::take(dir)?;
        let former = Manifest::read_any(dir)?;
        let generation = former.as_ref().map_or(0, |manifest| manifest.generation) + 1;
        let (segments, mut tails): (Vec<_>, Vec<_>) = {
            let mut state = self.state.write();
            if state.tail.rows() > 0 {
                let source = Arc::new(std::mem::replace(&mut state.tail, self.new_tail()?));
                let live = std::mem::take(&mut state.tail_live);
                state.frozen.push(Held {
                    source,
                    live,
                    dead_file: None,
                });
            }
            let segments = state.segments.iter().map(Held::snapshot).collect();
            (segments, state.frozen.iter().map(Held::snapshot).collect())
        };
        let options = WriteOptions {
            sync: true,
            ..self.options()
        };
        let mut made = Vec::new();
        let mut sources = vec![WriteSource::Tails(&tails)];
        if !segments.is_empty() {
            sources.push(WriteSource::Segments(&segments));
        }
        for source in sources {
            let entry = write(dir, &new_name(generation), self.ndim(), options, &source)?;
            made.extend(
                self.open_made(dir, entry)?
                    .map(|segment| Shown::new(segment, Bitset::default())),
            );
        }
        tails.clear();
        let former = former.as_ref().map(Manifest::names).unwrap_or_default();
        self.publish_into(dir, &made, 0, generation, former)?;
        Ok(())
    }
}

/// A segment as a manifest shows it.
pub(super) struct Shown {
    pub(super) segment: Arc<Segment>,
    dead: Bitset,
    /// The file that already names exactly these dead rows.
    dead_file: Option<FileEntry>,
}

impl Shown {
    pub(super) fn new(segment: Arc<Segment>, dead: Bitset) -> Self {
        Self {
            segment,
            dead,
            dead_file: None,
        }
    }
}

pub(super) fn members(state: &State) -> Vec<Shown> {
    state
        .segments
        .iter()
        .map(|held| {
            let (segment, dead) = held.snapshot();
            let same = held
                .dead_file
                .as_ref()
                .filter(|(_, rows)| *rows == held.live.dead_rows);
            Shown {
                segment,
                dead,
                dead_file: same.map(|(file, _)| file.clone()),
            }
        })
        .collect()
}

/// Remembers which dead rows the published generation names.
pub(super) fn note_dead_files(state: &mut State, manifest: Option<Manifest>) {
    if let Some(manifest) = manifest {
        for held in &mut state.segments {
            let member = manifest
                .members
                .iter()
                .find(|member| member.segment == *held.source.entry());
            held.dead_file = member.and_then(|member| member.dead.clone()).map(|file| {
                let rows = (file.bytes / 4) as u32;
                (file, rows)
            });
        }
        state.manifest = Some(manifest);
    }
}

/// Marks rows of a new segment dead that died in its origins while it was made.
pub(super) fn carry<'a>(
    held: &mut Held<Segment>,
    origins: impl Iterator<Item = (&'a Live, &'a Bitset, u32)>,
) -> Result<()> {
    let mut next = 0;
    for (now, before, rows) in origins {
        for row in (0..rows).filter(|&row| !before.contains(row)) {
            if now.dead.contains(row) {
                held.live.kill(&*held.source, next)?;
            }
            next += 1;
        }
    }
    Ok(())
}

//! The vectors of one immutable segment: opened after their checksums, searched without a lock.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use memmap2::Mmap;
use xxhash_rust::xxh3::xxh3_64;

use super::codes::{Block, Image, Signs, sign_terms};
use super::files::{FileEntry, corrupt, map, open_sized, read_at, read_checked};
use super::graph::Graph;
use super::kernels::{kernels, prefetch};
use super::meta::Meta;
use super::query::{Query, codes_stride, signs_size};
use super::search::{Allowed, Place, Scratch, check, rescore, with_scratch};
use super::write::{CODES, FLAG_GRAPH, FLAG_SIGNS, FLOATS, GRAPH, META, SIGNS};
use super::{HNSW_FROM, Mode, Scored};
use crate::bits::Bitset;
use crate::error::Result;

/// Float files up to this size are mapped; larger ones are read row by row, so that they do not
/// count as this process's memory.
const MAP_UP_TO: u64 = 32 * 1024 * 1024;

/// An allowed set smaller than this share of the rows is gathered instead of scanned.
const GATHER_SHARE: usize = 6;

/// Of every this many rows at least one must be allowed for the graph to be walked.
const GRAPH_SHARE: usize = 12;

#[derive(Debug)]
enum Floats {
    Mapped(Mmap),
    File(File),
}

/// The signs of all vectors, and the terms that [`Signs`] has of each.
#[derive(Debug)]
struct SignFile {
    bits: Mmap,
    scales: Vec<f32>,
    deviations: Vec<f32>,
}

/// The vectors of one segment.
#[derive(Debug)]
pub struct VectorSegment {
    dir: PathBuf,
    entries: Vec<FileEntry>,
    ndim: usize,
    scales: Vec<f32>,
    residuals: Vec<f32>,
    checks: Vec<u32>,
    /// Vector number where each row starts, one more at the end; empty when row n has vector n.
    starts: Vec<u32>,
    /// Row of each vector; empty when vector n is of row n.
    rows: Vec<u32>,
    row_count: usize,
    most_per_row: usize,
    codes: Option<Mmap>,
    signs: Option<SignFile>,
    graph: Option<Graph>,
    floats: Floats,
    floats_path: PathBuf,
    /// One bit a vector: its float row was compared with its checksum.
    verified: Vec<AtomicU64>,
}

impl VectorSegment {
    /// Opens a segment's files. All but the float rows and, unless `mode` can use it, the graph are
    /// checked against `expected` now; each float row is when it is first read.
    ///
    /// # Errors
    /// [`crate::Error::IndexCorrupt`] for a file that is missing, cut, changed or foreign; [`crate::Error::Io`];
    /// [`crate::Error::Engine`] if the graph cannot be loaded.
    pub fn open(dir: &Path, ndim: usize, expected: &[FileEntry], mode: Mode) -> Result<Self> {
        let entry = |name: &str| {
            expected
                .iter()
                .find(|entry| entry.0 == name)
                .ok_or_else(|| corrupt(&dir.join(name), "the manifest does not name it"))
        };
        let meta_path = dir.join(META);
        let &(_, bytes, sum) = entry(META)?;
        let mut meta = Vec::with_capacity(usize::try_from(bytes).unwrap_or(0));
        read_checked(&meta_path, &open_sized(&meta_path, bytes)?, sum, |piece| {
            meta.extend_from_slice(piece);
        })?;
        let meta = Meta::parse(&meta, ndim).map_err(|reason| corrupt(&meta_path, reason))?;
        let count = meta.scales.len();

        let plane = |name: &str, size: usize| -> Result<Option<Mmap>> {
            let path = dir.join(name);
            let &(_, bytes, sum) = entry(name)?;
            if bytes != size as u64 {
                return Err(corrupt(
                    &path,
                    format!("{bytes} bytes do not fit {count} vectors"),
                ));
            }
            let file = open_sized(&path, bytes)?;
            read_checked(&path, &file, sum, |_| ())?;
            // An empty file cannot be mapped.
            if bytes == 0 {
                Ok(None)
            } else {
                Ok(Some(map(&file)?))
            }
        };
        let codes = plane(CODES, count * codes_stride(ndim))?;
        let signs = if meta.flags & FLAG_SIGNS == 0 {
            None
        } else {
            let bits = plane(SIGNS, signs_size(count, ndim) + count * 4)?;
            bits.map(|bits| {
                let alignments = bits.get(signs_size(count, ndim)..).unwrap_or_default();
                let terms = alignments.as_chunks::<4>().0.iter();
                let (scales, deviations) = terms
                    .map(|x| sign_terms(f32::from_le_bytes(*x), ndim))
                    .unzip();
                SignFile {
                    bits,
                    scales,
                    deviations,
                }
            })
        };
        let uses_graph = match mode {
            Mode::Exact => false,
            Mode::Auto => count >= HNSW_FROM,
            Mode::Hnsw => true,
        };
        let graph = if meta.flags & FLAG_GRAPH != 0 && uses_graph {
            Some(Graph::open(&dir.join(GRAPH), ndim, count, entry(GRAPH)?)?)
        } else {
            None
        };

        let floats_path = dir.join(FLOATS);
        let &(_, bytes, _) = entry(FLOATS)?;
        if bytes != (count * ndim * 4) as u64 {
            return Err(corrupt(
                &floats_path,
                format!("{bytes} bytes do not fit {count} vectors"),
            ));
        }
        let file = open_sized(&floats_path, bytes)?;
        let floats = if bytes == 0 || bytes > MAP_UP_TO {
            Floats::File(file)
        } else {
            Floats::Mapped(map(&file)?)
        };
        Ok(Self {
            dir: dir.to_owned(),
            entries: expected.to_vec(),
            ndim,
            scales: meta.scales,
            residuals: meta.residuals,
            checks: meta.checks,
            starts: meta.starts,
            rows: meta.rows,
            row_count: meta.row_count,
            most_per_row: meta.most_per_row,
            codes,
            signs,
            graph,
            floats,
            floats_path,
            verified: std::iter::repeat_with(AtomicU64::default)
                .take(count.div_ceil(64))
                .collect(),
        })
    }

    /// Returns the number of vectors.
    #[must_use]
    pub fn len(&self) -> usize {
        self.scales.len()
    }

    /// Tells whether there are no vectors.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.scales.is_empty()
    }

    /// Returns one more than the largest row that has a vector.
    #[must_use]
    pub fn row_count(&self) -> usize {
        self.row_count
    }

    /// Tells whether a graph is loaded.
    #[must_use]
    pub fn has_graph(&self) -> bool {
        self.graph.is_some()
    }

    /// Returns the best `depth` rows by cosine, best first, ties by smaller id.
    ///
    /// A row with several vectors counts once, by its best. `dead` rows are never returned. Every
    /// score is the exact float32 dot. In the exact regime (`Mode::Exact`; fewer than
    /// [`super::SIGNS_FROM`] vectors; a narrow allowed set) the rows are provably the best; above
    /// it the scan of signs or the graph may miss some.
    ///
    /// `ids` maps rows to ids and must cover every row.
    ///
    /// # Errors
    /// [`crate::Error::Dimension`]; [`crate::Error::InvalidInput`] if `ids` is too short;
    /// [`crate::Error::IndexCorrupt`] if a float row does not match its checksum; [`crate::Error::Engine`].
    pub fn search(
        &self,
        query: &Query,
        depth: usize,
        mode: Mode,
        allowed: Allowed,
        dead: Option<&Bitset>,
        ids: &[u64],
    ) -> Result<Vec<Scored>> {
        check(self.ndim, query.ndim(), self.row_count, ids)?;
        let depth = depth.min(self.len());
        if depth == 0 {
            return Ok(Vec::new());
        }
        with_scratch(|scratch| {
            let is_dead = |row: u32| dead.is_some_and(|dead| dead.contains(row));
            let need = depth.saturating_mul(self.most_per_row);
            let narrow = match allowed {
                Allowed::All => None,
                Allowed::Rows(rows) => Some(rows.len()),
                Allowed::Bits(bits) => Some(bits.count()),
            };
            if narrow.is_some_and(|few| few < self.row_count / GATHER_SHARE)
                || matches!(allowed, Allowed::Rows(_))
            {
                self.gather_rows(scratch, query, need, allowed, is_dead);
                return self.finish(scratch, query, depth, ids);
            }
            let is_allowed = |vector: u32| {
                let row = self.row_of(vector);
                !is_dead(row)
                    && match allowed {
                        Allowed::Bits(bits) => bits.contains(row),
                        _ => true,
                    }
            };
            let walk = match mode {
                Mode::Exact => None,
                Mode::Auto if self.len() < HNSW_FROM => None,
                Mode::Auto | Mode::Hnsw => self.graph.as_ref(),
            };
            if let Some(graph) = walk
                && narrow.is_none_or(|some| some >= self.row_count / GRAPH_SHARE)
            {
                let is_open = matches!(allowed, Allowed::All) && dead.is_none();
                let filter = (!is_open).then_some(is_allowed);
                let found = graph.search(query, need, filter, &mut scratch.vectors)?;
                if found >= need.min(self.len()) {
                    self.gather_vectors(scratch, query, need);
                    return self.finish(scratch, query, depth, ids);
                }
            }
            match &self.signs {
                Some(file) if mode != Mode::Exact => {
                    let signs = Signs {
                        bits: file
                            .bits
                            .get(..signs_size(self.len(), self.ndim))
                            .unwrap_or_default(),
                        scales: &file.scales,
                        deviations: &file.deviations,
                    };
                    let collector = &mut scratch.collector;
                    collector.reset(need);
                    let open = matches!(allowed, Allowed::All) && dead.is_none();
                    collector.scan_signs(&signs, query, open, is_allowed);
                    collector.refine_signs(query, |vector| self.image(vector));
                }
                _ => {
                    scratch.collector.reset(need);
                    scratch.collector.scan(self.block(), query, is_allowed);
                    scratch.collector.refine(query, |vector| self.image(vector));
                }
            }
            self.finish(scratch, query, depth, ids)
        })
    }

    /// Returns the vectors of a row, exactly as they were written; none for a row without any.
    ///
    /// # Errors
    /// [`crate::Error::IndexCorrupt`] if they do not match their checksums.
    pub fn vectors(&self, row: u32) -> Result<Vec<Vec<f32>>> {
        let mut bytes = Vec::new();
        self.vectors_of(row)
            .map(|vector| {
                self.with_floats(vector, &mut bytes, |floats| {
                    floats
                        .as_chunks::<4>()
                        .0
                        .iter()
                        .map(|x| f32::from_le_bytes(*x))
                        .collect()
                })
            })
            .collect()
    }

    /// Reads every file in full and compares all checksums.
    ///
    /// # Errors
    /// [`crate::Error::IndexCorrupt`] naming the first file that is wrong.
    pub fn verify(&self) -> Result<()> {
        for (name, bytes, sum) in &self.entries {
            if [FLOATS, CODES, SIGNS, META, GRAPH].contains(&name.as_str()) {
                let path = self.dir.join(name);
                read_checked(&path, &open_sized(&path, *bytes)?, *sum, |_| ())?;
            }
        }
        Ok(())
    }

    fn block(&self) -> Block<'_> {
        Block {
            first: 0,
            codes: self.codes.as_deref().unwrap_or(&[]),
            scales: &self.scales,
            residuals: &self.residuals,
        }
    }

    #[inline]
    fn image(&self, vector: u32) -> Option<Image<'_>> {
        self.block().image(vector as usize, self.ndim)
    }

    #[inline]
    fn row_of(&self, vector: u32) -> u32 {
        self.rows.get(vector as usize).copied().unwrap_or(vector)
    }

    fn vectors_of(&self, row: u32) -> std::ops::Range<u32> {
        if row as usize >= self.row_count {
            return 0..0;
        }
        match self.starts.get(row as usize..row as usize + 2) {
            Some(&[start, end]) => start..end,
            _ if self.starts.is_empty() => row..row + 1,
            _ => 0..0,
        }
    }

    /// Makes the vectors of a narrow allowed set the candidates.
    fn gather_rows(
        &self,
        scratch: &mut Scratch,
        query: &Query,
        need: usize,
        allowed: Allowed,
        is_dead: impl Fn(u32) -> bool,
    ) {
        scratch.vectors.clear();
        let mut add = |row: u32| {
            if !is_dead(row) {
                scratch.vectors.extend(self.vectors_of(row));
            }
        };
        match allowed {
            Allowed::All => {}
            Allowed::Rows(rows) => rows.iter().copied().for_each(&mut add),
            Allowed::Bits(bits) => bits.iter().for_each(&mut add),
        }
        self.gather_vectors(scratch, query, need);
    }

    /// Makes `scratch.vectors` the candidates.
    fn gather_vectors(&self, scratch: &mut Scratch, query: &Query, need: usize) {
        scratch.collector.reset(need);
        scratch
            .collector
            .gather(&scratch.vectors, query, |vector| self.image(vector));
    }

    fn finish(
        &self,
        scratch: &mut Scratch,
        query: &Query,
        depth: usize,
        ids: &[u64],
    ) -> Result<Vec<Scored>> {
        scratch.collector.compact();
        rescore(scratch, self, query, depth, ids)
    }

    /// Lends the bytes of one float row, compared with their checksum at the first time.
    #[inline]
    fn with_floats<T>(
        &self,
        vector: u32,
        buffer: &mut Vec<u8>,
        work: impl FnOnce(&[u8]) -> T,
    ) -> Result<T> {
        let len = self.ndim * 4;
        let at = vector as usize * len;
        let bytes = match &self.floats {
            Floats::Mapped(map) => map
                .get(at..at + len)
                .ok_or_else(|| corrupt(&self.floats_path, format!("vector {vector} is missing")))?,
            Floats::File(file) => {
                buffer.resize(len, 0);
                read_at(file, buffer, at as u64).map_err(|error| {
                    corrupt(
                        &self.floats_path,
                        format!("cannot read vector {vector}: {error}"),
                    )
                })?;
                buffer
            }
        };
        // A set bit only saves work, so no order between threads is needed.
        let bit = 1_u64 << (vector % 64);
        let seen = self.verified.get(vector as usize / 64);
        if seen.is_none_or(|seen| seen.load(Ordering::Relaxed) & bit == 0) {
            if self.checks.get(vector as usize) != Some(&(xxh3_64(bytes) as u32)) {
                return Err(corrupt(
                    &self.floats_path,
                    format!("vector {vector} does not match its checksum"),
                ));
            }
            if let Some(seen) = seen {
                seen.fetch_or(bit, Ordering::Relaxed);
            }
        }
        Ok(work(bytes))
    }
}

impl Place for VectorSegment {
    fn is_one_each(&self) -> bool {
        self.most_per_row <= 1
    }

    fn row_of(&self, vector: u32) -> u32 {
        self.row_of(vector)
    }

    fn score(&self, vector: u32, query: &Query, buffer: &mut Vec<u8>) -> Result<f32> {
        self.with_floats(vector, buffer, |floats| {
            (kernels().dot)(query.vector(), floats)
        })
    }

    fn prefetch(&self, vector: u32) {
        let len = self.ndim * 4;
        let at = vector as usize * len;
        if let Floats::Mapped(map) = &self.floats
            && let Some(bytes) = map.get(at..at + len)
        {
            prefetch(bytes, 0);
        }
    }
}

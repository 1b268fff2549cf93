//! The HNSW graph of a large segment: usearch, built by one thread, never changed afterwards.
//!
//! The graph holds our int8 codes under the cosine metric, which does not see their scales. It only
//! proposes vectors; scores come from the float rows.

use std::fs::File;
use std::path::Path;

use parking_lot::{Condvar, Mutex};
use usearch::{Index, IndexOptions, MetricKind, ScalarKind};

use super::files::{FileEntry, corrupt, open_sized, read_at, read_checked};
use super::query::{Query, codes_stride};
use super::write::{CODES, GRAPH};
use crate::error::{Error, Result};

/// Neighbours a node keeps; twice as many on the lowest level.
const CONNECTIVITY: usize = 16;
/// Candidates held while a node is added.
const EXPANSION_ADD: usize = 128;
/// Candidates held while searching, at least.
const EXPANSION_SEARCH: usize = 256;

fn engine(error: &impl std::fmt::Display) -> Error {
    Error::Engine(format!("usearch: {error}"))
}

fn new_index(ndim: usize) -> Result<Index> {
    Index::new(&IndexOptions {
        dimensions: ndim,
        metric: MetricKind::Cos,
        quantization: ScalarKind::I8,
        connectivity: CONNECTIVITY,
        expansion_add: EXPANSION_ADD,
        expansion_search: EXPANSION_SEARCH,
        multi: false,
    })
    .map_err(|error| engine(&error))
}

fn utf8(path: &Path) -> Result<&str> {
    path.to_str().ok_or_else(|| {
        Error::Engine(format!(
            "usearch needs a path in UTF-8, {} is not",
            path.display()
        ))
    })
}

/// Builds the graph over the codes that were just written to `dir`.
pub(super) fn build(dir: &Path, count: usize, ndim: usize, sync: bool) -> Result<FileEntry> {
    const ROWS: usize = 256;
    let index = new_index(ndim)?;
    index
        .reserve_capacity_and_threads(count, 1)
        .map_err(|error| engine(&error))?;
    let stride = codes_stride(ndim);
    let codes = File::open(dir.join(CODES))?;
    let mut bytes = vec![0_u8; ROWS * stride];
    let mut signed = vec![0_i8; ndim];
    let mut vector = 0;
    while vector < count {
        let rows = ROWS.min(count - vector);
        read_at(
            &codes,
            &mut bytes[..rows * stride],
            (vector * stride) as u64,
        )?;
        for row in bytes[..rows * stride].chunks(stride) {
            for (out, code) in signed.iter_mut().zip(row) {
                *out = (code ^ 0x80).cast_signed();
            }
            index
                .add(vector as u64, &signed)
                .map_err(|error| engine(&error))?;
            vector += 1;
        }
    }
    let path = dir.join(GRAPH);
    index.save(utf8(&path)?).map_err(|error| engine(&error))?;
    let file = File::open(&path)?;
    #[cfg(unix)]
    file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    if sync {
        file.sync_all()?;
    }
    let mut hasher = xxhash_rust::xxh3::Xxh3::new();
    let mut written = 0;
    let mut reader = &file;
    loop {
        let read = std::io::Read::read(&mut reader, &mut bytes)?;
        if read == 0 {
            break;
        }
        hasher.update(&bytes[..read]);
        written += read as u64;
    }
    Ok((GRAPH.to_owned(), written, hasher.digest()))
}

/// A published graph.
pub(super) struct Graph {
    index: Index,
    count: usize,
    /// Searches that may start now: usearch fails a search beyond the threads it reserved for.
    free: Mutex<usize>,
    freed: Condvar,
}

impl std::fmt::Debug for Graph {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Graph")
            .field("count", &self.count)
            .finish_non_exhaustive()
    }
}

/// Gives its place back when dropped.
struct Permit<'a>(&'a Graph);

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        *self.0.free.lock() += 1;
        self.0.freed.notify_one();
    }
}

impl Graph {
    /// Maps a graph after its whole file matched its checksum: usearch crashes on changed bytes.
    pub(super) fn open(path: &Path, ndim: usize, count: usize, entry: &FileEntry) -> Result<Self> {
        let file = open_sized(path, entry.1)?;
        read_checked(path, &file, entry.2, |_| ())?;
        let threads = std::thread::available_parallelism().map_or(4, |n| n.get().clamp(2, 64));
        let index = new_index(ndim)?;
        index.view(utf8(path)?).map_err(|error| engine(&error))?;
        index
            .reserve_capacity_and_threads(count, threads)
            .map_err(|error| engine(&error))?;
        if index.size() != count || index.dimensions() != ndim {
            return Err(corrupt(
                path,
                format!("holds {} vectors, not {count}", index.size()),
            ));
        }
        index.change_expansion_search(EXPANSION_SEARCH);
        Ok(Self {
            index,
            count,
            free: Mutex::new(threads),
            freed: Condvar::new(),
        })
    }

    /// Puts up to `need` allowed vectors near the query into `found`; returns how many.
    ///
    /// `allowed` must not panic: it is called from C++.
    pub(super) fn search(
        &self,
        query: &Query,
        need: usize,
        allowed: Option<impl Fn(u32) -> bool>,
        found: &mut Vec<u32>,
    ) -> Result<usize> {
        let permit = {
            let mut free = self.free.lock();
            while *free == 0 {
                self.freed.wait(&mut free);
            }
            *free -= 1;
            Permit(self)
        };
        let vector = &query.planes.coarse[..query.ndim()];
        let matches = match allowed {
            None => self.index.search(vector, need),
            Some(allowed) => self
                .index
                .filtered_search(vector, need, |key| allowed(key as u32)),
        }
        .map_err(|error| engine(&error))?;
        drop(permit);
        found.clear();
        let keys = matches.keys.iter().map(|&key| key as u32);
        found.extend(keys.filter(|&key| (key as usize) < self.count));
        Ok(found.len())
    }
}

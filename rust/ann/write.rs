//! Writing the vector files of one immutable segment.
//!
//! | file | holds |
//! |---|---|
//! | `vectors.f32` | the vectors, little-endian float32, one after another |
//! | `vectors.i8`  | int8 codes, rows padded to 64 bytes |
//! | `vectors.i1`  | signs, rows padded to 8 bytes, byte by byte in blocks of 64 rows, then the cosine of each vector with its signs; from [`super::SIGNS_FROM`] vectors on |
//! | `vectors.meta` | header, scales, residual norms, checksums of the float rows, row starts |
//! | `vectors.hnsw` | usearch graph, if asked for |

use std::fs::File;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_64;

use super::codes::{encode, pack_signs};
use super::files::{FileEntry, HashedFile, read_at};
use super::kernels::SIGN_ROWS;
use super::query::{MAX_NDIM, check_unit, codes_stride, signs_size};
use super::{SIGNS_FROM, graph};
use crate::error::{Error, Result};

pub(super) const FLOATS: &str = "vectors.f32";
pub(super) const CODES: &str = "vectors.i8";
pub(super) const SIGNS: &str = "vectors.i1";
pub(super) const META: &str = "vectors.meta";
pub(super) const GRAPH: &str = "vectors.hnsw";

/// First bytes of `vectors.meta`: name and version of the format.
pub(super) const MAGIC: &[u8; 8] = b"AMVEC\0\0\x02";
/// Bytes of the header of `vectors.meta`.
pub(super) const HEADER: usize = 24;
/// Header flag: row n has exactly vector n.
pub(super) const FLAG_IDENTITY: u32 = 1;
/// Header flag: `vectors.i1` exists.
pub(super) const FLAG_SIGNS: u32 = 2;
/// Header flag: `vectors.hnsw` exists.
pub(super) const FLAG_GRAPH: u32 = 4;

/// Most vectors of one row.
pub const MAX_VECTORS_PER_ROW: usize = 8;

/// How to write.
#[derive(Debug, Clone, Copy)]
pub struct WriteOptions {
    /// Builds an HNSW graph too (one thread, seconds per 10,000 vectors).
    pub graph: bool,
    /// Waits until the files are on the disk.
    pub sync: bool,
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self {
            graph: false,
            sync: true,
        }
    }
}

/// Writes vectors as they come; memory grows by 16 bytes a vector.
#[derive(Debug)]
pub struct Writer {
    dir: PathBuf,
    ndim: usize,
    options: WriteOptions,
    floats: HashedFile,
    codes: HashedFile,
    scales: Vec<f32>,
    residuals: Vec<f32>,
    checks: Vec<u32>,
    rows: Vec<u32>,
}

impl Writer {
    /// Starts the files in an existing folder; older ones of the same names are replaced.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] if `ndim` is not in `1..=4096`, [`Error::Io`].
    pub fn create(dir: &Path, ndim: usize, options: WriteOptions) -> Result<Self> {
        if ndim == 0 || ndim > MAX_NDIM {
            return Err(Error::InvalidInput(format!(
                "ndim is {ndim}; 1 to {MAX_NDIM} is allowed"
            )));
        }
        Ok(Self {
            dir: dir.to_owned(),
            ndim,
            options,
            floats: HashedFile::create(dir, FLOATS)?,
            codes: HashedFile::create(dir, CODES)?,
            scales: Vec::new(),
            residuals: Vec::new(),
            checks: Vec::new(),
            rows: Vec::new(),
        })
    }

    /// Adds a unit vector of `row`. Rows come in ascending order; a row may have none or up to 8.
    ///
    /// # Errors
    /// [`Error::Dimension`]; [`Error::InvalidInput`] for a vector not of unit length, a row out of
    /// order or with more than 8 vectors, more than 2^31 vectors; [`Error::Io`].
    pub fn push(&mut self, row: u32, vector: &[f32]) -> Result<()> {
        check_unit(vector, self.ndim)?;
        let count = self.rows.len();
        if count >= i32::MAX as usize || row >= i32::MAX as u32 {
            return Err(Error::InvalidInput(
                "a segment holds at most 2^31 - 1 rows and vectors".into(),
            ));
        }
        if let Some(&last) = self.rows.last()
            && row < last
        {
            return Err(Error::InvalidInput(format!(
                "row {row} came after row {last}; rows must ascend"
            )));
        }
        if count >= MAX_VECTORS_PER_ROW && self.rows[count - MAX_VECTORS_PER_ROW] == row {
            return Err(Error::InvalidInput(format!(
                "row {row} has more than {MAX_VECTORS_PER_ROW} vectors"
            )));
        }
        let check = self.floats.append(self.ndim * 4, |bytes| {
            for (out, x) in bytes.as_chunks_mut::<4>().0.iter_mut().zip(vector) {
                *out = x.to_le_bytes();
            }
            xxh3_64(bytes) as u32
        })?;
        let (scale, residual) = self
            .codes
            .append(codes_stride(self.ndim), |codes| encode(vector, codes))?;
        self.scales.push(scale);
        self.residuals.push(residual);
        self.checks.push(check);
        self.rows.push(row);
        Ok(())
    }

    /// Completes the files and returns them as a manifest names them.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::Engine`] if the graph cannot be built.
    pub fn finish(self) -> Result<Vec<FileEntry>> {
        let sync = self.options.sync;
        let count = self.rows.len();
        let (_, floats) = self.floats.finish(sync)?;
        let (codes_path, codes) = self.codes.finish(sync)?;
        let mut entries = vec![floats, codes];

        let mut flags = 0;
        if count >= SIGNS_FROM
            && self.ndim >= LEAST_NDIM
            && let Some(signs) = write_signs(&self.dir, &codes_path, count, self.ndim, sync)?
        {
            entries.push(signs);
            flags |= FLAG_SIGNS;
        }
        if self.options.graph && count > 0 {
            entries.push(graph::build(&self.dir, count, self.ndim, sync)?);
            flags |= FLAG_GRAPH;
        }

        let row_count = self.rows.last().map_or(0, |&row| row as usize + 1);
        let is_identity = self
            .rows
            .iter()
            .enumerate()
            .all(|(vector, &row)| vector == row as usize);
        if is_identity {
            flags |= FLAG_IDENTITY;
        }
        let mut meta = Vec::with_capacity(HEADER + count * 12 + (row_count + 1) * 4);
        meta.extend_from_slice(MAGIC);
        for number in [self.ndim as u32, count as u32, row_count as u32, flags] {
            meta.extend_from_slice(&number.to_le_bytes());
        }
        for number in self.scales.iter().chain(&self.residuals) {
            meta.extend_from_slice(&number.to_le_bytes());
        }
        for number in &self.checks {
            meta.extend_from_slice(&number.to_le_bytes());
        }
        if !is_identity {
            let mut vector = 0_usize;
            for row in 0..=row_count {
                while self.rows.get(vector).is_some_and(|&at| (at as usize) < row) {
                    vector += 1;
                }
                meta.extend_from_slice(&(vector as u32).to_le_bytes());
            }
        }
        let mut file = HashedFile::create(&self.dir, META)?;
        file.append(meta.len(), |bytes| bytes.copy_from_slice(&meta))?;
        entries.push(file.finish(sync)?.1);
        Ok(entries)
    }
}

/// Writes the vector files of one segment; see [`Writer`].
///
/// # Errors
/// As [`Writer::push`] and [`Writer::finish`].
pub fn write<V: AsRef<[f32]>>(
    dir: &Path,
    ndim: usize,
    vectors: impl IntoIterator<Item = (u32, V)>,
    options: WriteOptions,
) -> Result<Vec<FileEntry>> {
    let mut writer = Writer::create(dir, ndim, options)?;
    for (row, vector) in vectors {
        writer.push(row, vector.as_ref())?;
    }
    writer.finish()
}

/// Signs say too little of shorter vectors.
const LEAST_NDIM: usize = 64;

/// The mean cosine of vectors with their signs from which on signs are worth a scan. Gaussian values
/// have 0.80; far below, a few values make up a vector and nearly all rows would pass.
const LEAST_ALIGNMENT: f64 = 0.7;

/// Writes the signs, unless they say too little of these vectors.
fn write_signs(
    dir: &Path,
    codes_path: &Path,
    count: usize,
    ndim: usize,
    sync: bool,
) -> Result<Option<FileEntry>> {
    /// Whole blocks.
    const ROWS: usize = 4 * SIGN_ROWS;
    let from = codes_stride(ndim);
    let codes = File::open(codes_path)?;
    let mut out = HashedFile::create(dir, SIGNS)?;
    let mut buffer = vec![0; ROWS * from];
    let mut cosines = Vec::with_capacity(count);
    let root = (ndim as f64).sqrt();
    let mut done = 0;
    while done < count {
        let rows = ROWS.min(count - done);
        let bytes = &mut buffer[..rows * from];
        read_at(&codes, bytes, (done * from) as u64)?;
        out.append(signs_size(rows, ndim), |signs| {
            pack_signs(bytes, from, signs, &mut cosines);
        })?;
        done += rows;
    }
    let alignments: Vec<f32> = cosines.iter().map(|x| (x / root) as f32).collect();
    let mean = alignments.iter().map(|&x| f64::from(x)).sum::<f64>() / count as f64;
    if mean < LEAST_ALIGNMENT {
        drop(out);
        std::fs::remove_file(dir.join(SIGNS))?;
        return Ok(None);
    }
    out.append(count * 4, |bytes| {
        for (out, x) in bytes.as_chunks_mut::<4>().0.iter_mut().zip(&alignments) {
            *out = x.to_le_bytes();
        }
    })?;
    Ok(Some(out.finish(sync)?.1))
}

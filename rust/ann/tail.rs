//! Recent vectors in memory: append, tombstone, and the same exact search as a segment's.

use std::sync::Arc;

use super::Scored;
use super::codes::{Block, Image, encode};
use super::kernels::{kernels, prefetch};
use super::query::{MAX_NDIM, Query, check_unit, codes_stride};
use super::search::{Allowed, Place, check, rescore, with_scratch};
use super::write::MAX_VECTORS_PER_ROW;
use crate::bits::Bitset;
use crate::error::{Error, Result};

/// Vectors of one chunk: a copy on write of a shared last chunk stays below half a megabyte.
const CHUNK_VECTORS: usize = 256;

#[derive(Debug, Clone, Default)]
struct Chunk {
    floats: Vec<u8>,
    codes: Vec<u8>,
    scales: Vec<f32>,
    residuals: Vec<f32>,
}

/// Vectors of the rows of a tail. A clone shares all full chunks: it is a cheap snapshot.
#[derive(Debug, Clone)]
pub struct TailVectors {
    ndim: usize,
    chunks: Vec<Arc<Chunk>>,
    /// Row of each vector, ascending.
    rows: Vec<u32>,
    dead: Bitset,
    most_per_row: usize,
}

impl TailVectors {
    /// Returns an empty tail.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] if `ndim` is not in `1..=4096`.
    pub fn new(ndim: usize) -> Result<Self> {
        if ndim == 0 || ndim > MAX_NDIM {
            return Err(Error::InvalidInput(format!(
                "ndim is {ndim}; 1 to {MAX_NDIM} is allowed"
            )));
        }
        Ok(Self {
            ndim,
            chunks: Vec::new(),
            rows: Vec::new(),
            dead: Bitset::new(0),
            most_per_row: 1,
        })
    }

    /// Returns the length of each vector, at least 1.
    #[must_use]
    pub fn ndim(&self) -> usize {
        self.ndim
    }

    /// Returns the number of vectors, those of removed rows included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Tells whether there are no vectors.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Adds a unit vector of `row`; rows come in ascending order, up to 8 vectors each.
    ///
    /// # Errors
    /// As [`super::Writer::push`]; nothing is added then.
    pub fn push(&mut self, row: u32, vector: &[f32]) -> Result<()> {
        check_unit(vector, self.ndim)?;
        let count = self.rows.len();
        if row >= i32::MAX as u32 || self.rows.last().is_some_and(|&last| row < last) {
            return Err(Error::InvalidInput(format!(
                "row {row} is out of order; rows must ascend"
            )));
        }
        let here = self.rows.iter().rev().take_while(|&&at| at == row).count() + 1;
        if here > MAX_VECTORS_PER_ROW {
            return Err(Error::InvalidInput(format!(
                "row {row} has more than {MAX_VECTORS_PER_ROW} vectors"
            )));
        }
        self.most_per_row = self.most_per_row.max(here);
        if count.is_multiple_of(CHUNK_VECTORS) {
            self.chunks.push(Arc::default());
        }
        if let Some(chunk) = self.chunks.last_mut() {
            let chunk = Arc::make_mut(chunk);
            let at = chunk.codes.len();
            chunk.codes.resize(at + codes_stride(self.ndim), 0);
            let (scale, residual) = encode(vector, &mut chunk.codes[at..]);
            chunk.scales.push(scale);
            chunk.residuals.push(residual);
            // Not by an iterator of bytes, which costs more than all the rest of a push.
            let at = chunk.floats.len();
            chunk.floats.resize(at + size_of_val(vector), 0);
            let (places, _) = chunk.floats[at..].as_chunks_mut::<4>();
            for (place, x) in places.iter_mut().zip(vector) {
                *place = x.to_le_bytes();
            }
        }
        self.rows.push(row);
        Ok(())
    }

    /// Removes a row: it is not returned again.
    pub fn remove(&mut self, row: u32) {
        self.dead.insert(row);
    }

    /// Returns the best `depth` rows by cosine, exactly; arguments, order and errors as
    /// [`super::VectorSegment::search`].
    ///
    /// # Errors
    /// [`Error::Dimension`]; [`Error::InvalidInput`] if `ids` is too short.
    pub fn search(
        &self,
        query: &Query,
        depth: usize,
        allowed: Allowed,
        ids: &[u64],
    ) -> Result<Vec<Scored>> {
        let row_count = self.rows.last().map_or(0, |&row| row as usize + 1);
        check(self.ndim, query.ndim(), row_count, ids)?;
        let depth = depth.min(self.len());
        if depth == 0 {
            return Ok(Vec::new());
        }
        with_scratch(|scratch| {
            let collector = &mut scratch.collector;
            collector.reset(depth.saturating_mul(self.most_per_row));
            if let Allowed::Rows(rows) = allowed {
                scratch.vectors.clear();
                for &row in rows.iter().filter(|&&row| !self.dead.contains(row)) {
                    let vectors = self.vectors_of(row).map(|vector| vector as u32);
                    scratch.vectors.extend(vectors);
                }
                collector.gather(&scratch.vectors, query, |vector| self.image(vector));
            } else {
                for number in 0..self.chunks.len() {
                    if let Some(block) = self.block(number) {
                        collector.scan(block, query, |vector| {
                            let row = self.rows.get(vector as usize).copied().unwrap_or(u32::MAX);
                            !self.dead.contains(row)
                                && match allowed {
                                    Allowed::Bits(bits) => bits.contains(row),
                                    _ => true,
                                }
                        });
                    }
                }
                collector.refine(query, |vector| self.image(vector));
            }
            collector.compact();
            rescore(scratch, self, query, depth, ids)
        })
    }

    /// Returns the vectors of a row exactly as they were given, also of a removed one.
    #[must_use]
    pub fn vectors(&self, row: u32) -> Vec<Vec<f32>> {
        self.vectors_of(row)
            .map(|vector| {
                let (floats, _) = self.floats(vector).as_chunks::<4>();
                floats.iter().map(|x| f32::from_le_bytes(*x)).collect()
            })
            .collect()
    }

    fn vectors_of(&self, row: u32) -> std::ops::Range<usize> {
        let start = self.rows.partition_point(|&at| at < row);
        let count = self.rows[start..]
            .iter()
            .take_while(|&&at| at == row)
            .count();
        start..start + count
    }

    fn image(&self, vector: u32) -> Option<Image<'_>> {
        let vector = vector as usize;
        self.block(vector / CHUNK_VECTORS)?
            .image(vector % CHUNK_VECTORS, self.ndim)
    }

    fn block(&self, number: usize) -> Option<Block<'_>> {
        self.chunks.get(number).map(|chunk| Block {
            first: (number * CHUNK_VECTORS) as u32,
            codes: &chunk.codes,
            scales: &chunk.scales,
            residuals: &chunk.residuals,
        })
    }

    fn floats(&self, vector: usize) -> &[u8] {
        let at = vector % CHUNK_VECTORS * self.ndim * 4;
        self.chunks
            .get(vector / CHUNK_VECTORS)
            .and_then(|chunk| chunk.floats.get(at..at + self.ndim * 4))
            .unwrap_or(&[])
    }
}

impl Place for TailVectors {
    fn is_one_each(&self) -> bool {
        self.most_per_row == 1
    }

    fn row_of(&self, vector: u32) -> u32 {
        self.rows.get(vector as usize).copied().unwrap_or(u32::MAX)
    }

    fn score(&self, vector: u32, query: &Query, _: &mut Vec<u8>) -> Result<f32> {
        Ok((kernels().dot)(
            query.vector(),
            self.floats(vector as usize),
        ))
    }

    fn prefetch(&self, vector: u32) {
        prefetch(self.floats(vector as usize), 0);
    }
}

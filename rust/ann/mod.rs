//! The vector signal: cosine over unit float32 vectors.
//!
//! Promise: every score is the exact float32 dot, the same bits on every CPU and in every place a
//! vector may live, so any split of rows between segments and tail ranks the same. Rows are found by
//! an int8 scan whose bounds are proven ([`Query`]); larger segments use their signs or a graph
//! first, which may miss a row but never misstates a score ([`Mode`]). What was damaged on the disk is an
//! error, never an answer. Filters are applied before ranking.

mod codes;
mod files;
mod graph;
mod kernels;
mod meta;
mod query;
mod search;
mod segment;
mod tail;
mod write;

pub use files::FileEntry;
pub use query::{MAX_NDIM, Query, normalise, normalise_in_place, squared_norm};
pub use search::{Allowed, sort};
pub use segment::VectorSegment;
pub use tail::TailVectors;
pub use write::{MAX_VECTORS_PER_ROW, WriteOptions, Writer, write};

/// Segments of at least this many vectors carry their signs, which `Mode::Auto` scans first: an eighth
/// of the memory of the int8 scan. Smaller ones are scanned in a few tens of µs anyway, and provably.
pub const SIGNS_FROM: usize = 4_096;

/// Segments of at least this many vectors are searched by their graph, where they have one, in
/// `Mode::Auto`. Measured at 384 dimensions, depth 50: the scan of signs grows by 5 µs per 1,000 vectors
/// of trained or clustered data; at 100,000 Gaussian vectors the graph finds a recall@10 of 0.24 and takes 1 ms a vector to build; at 10,000 clustered ones it takes longer for 1.00.
/// So the crossover lies above 100,000; a million, where the scan would cost
/// about 10 ms, is extrapolated, not measured.
pub const HNSW_FROM: usize = 1_000_000;

/// How a segment is searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// Below [`SIGNS_FROM`] vectors, for a narrow filter, and for vectors that a few values make up, as
    /// `Exact`. Else the signs of the vectors choose who is scored. Scores stay exact and the order
    /// total, but that no row is missing is then likely, not proven: the errors of the signs are taken
    /// as those of random directions; vectors made against that can be missed. Measured against the
    /// exact search: recall@10 and recall@50 above 0.999 on vectors of sentences and on clusters, 0.998
    /// and 0.99 on Gaussian noise, where all rows are about equally far. From [`HNSW_FROM`] on the graph, where
    /// there is one.
    #[default]
    Auto,
    /// Always the int8 scan with proven bounds: recall is 1.
    Exact,
    /// The graph wherever the segment has one and the filter is not narrow.
    Hnsw,
}

/// A row and its score: the cosine of its best vector.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scored {
    /// Row of the segment or tail.
    pub row: u32,
    /// Cosine in -1..=1, up to rounding.
    pub score: f32,
}

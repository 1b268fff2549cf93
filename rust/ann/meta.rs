//! `vectors.meta`: what belongs to each vector besides its values.

use super::write::{FLAG_IDENTITY, HEADER, MAGIC, MAX_VECTORS_PER_ROW};

/// What `vectors.meta` holds.
pub(super) struct Meta {
    pub(super) flags: u32,
    pub(super) scales: Vec<f32>,
    pub(super) residuals: Vec<f32>,
    pub(super) checks: Vec<u32>,
    /// Vector number where each row starts, one more at the end; empty when row n has vector n.
    pub(super) starts: Vec<u32>,
    /// Row of each vector; empty when vector n is of row n.
    pub(super) rows: Vec<u32>,
    pub(super) row_count: usize,
    pub(super) most_per_row: usize,
}

impl Meta {
    /// Reads the file's bytes, already compared with their checksum; says what does not fit.
    pub(super) fn parse(bytes: &[u8], ndim: usize) -> std::result::Result<Self, String> {
        let (header, body) = bytes
            .split_first_chunk::<HEADER>()
            .ok_or("is shorter than its header")?;
        let (magic, numbers) = header.split_at(MAGIC.len());
        if magic != MAGIC {
            return Err("is of another format".into());
        }
        let word = |bytes: &[u8; 4]| u32::from_le_bytes(*bytes);
        let &[found_ndim, count, row_count, flags] = numbers.as_chunks::<4>().0 else {
            return Err("is shorter than its header".into());
        };
        let (count, row_count, flags) = (
            word(&count) as usize,
            word(&row_count) as usize,
            word(&flags),
        );
        if word(&found_ndim) as usize != ndim {
            return Err(format!(
                "has vectors of length {}, not {ndim}",
                word(&found_ndim)
            ));
        }
        let is_identity = flags & FLAG_IDENTITY != 0;
        let words = body.as_chunks::<4>().0;
        let starts_len = if is_identity { 0 } else { row_count + 1 };
        if body.len() % 4 != 0
            || words.len() as u64 != 3 * count as u64 + starts_len as u64
            || (is_identity && row_count != count)
        {
            return Err(format!("{} bytes do not fit {count} vectors", bytes.len()));
        }
        let (scales, rest) = words.split_at(count);
        let (residuals, rest) = rest.split_at(count);
        let (checks, starts) = rest.split_at(count);
        let floats = |words: &[[u8; 4]]| words.iter().map(|x| f32::from_le_bytes(*x)).collect();
        let starts: Vec<u32> = starts.iter().map(word).collect();
        let mut rows = Vec::with_capacity(if is_identity { 0 } else { count });
        let mut most_per_row = 1;
        for (row, pair) in starts.windows(2).enumerate() {
            let here = pair[1]
                .checked_sub(pair[0])
                .filter(|&here| here as usize <= MAX_VECTORS_PER_ROW)
                .ok_or("its row starts are out of order")?;
            most_per_row = most_per_row.max(here as usize);
            rows.extend(std::iter::repeat_n(row as u32, here as usize));
        }
        if !is_identity && (rows.len() != count || starts.first() != Some(&0)) {
            return Err("its row starts do not cover its vectors".into());
        }
        Ok(Self {
            flags,
            scales: floats(scales),
            residuals: floats(residuals),
            checks: checks.iter().map(word).collect(),
            starts,
            rows,
            row_count,
            most_per_row,
        })
    }
}

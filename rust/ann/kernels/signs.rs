//! Sums over the signs of vectors, by lookup: a nibble is the signs of four dimensions, and a table of 16 bytes holds
//! what they add up to for the query. Sixty-four rows stand together, byte by byte, so that one shuffle looks up one
//! nibble of each (André, Kermarrec and Le Scouarnec, Cache locality is not enough, VLDB 2015).

use super::{AHEAD, ROUND, prefetch};

/// Rows of a block. Byte `column * ROWS + row` of a block has the signs of dimensions `8 * column` to `+ 7` of a row.
pub(crate) const ROWS: usize = 64;

/// Largest value of a table: four of them still fit a byte, and those of 4,096 dimensions two.
const MOST: f32 = 63.0;

/// What the sign of each dimension adds to each entry: twice its value where its bit is set.
const TURNED: [[f32; 16]; 4] = {
    let mut turned = [[0.0; 16]; 4];
    let mut at = 0;
    while at < 64 {
        turned[at / 16][at % 16] = if (at % 16) >> (at / 16) & 1 == 1 {
            2.0
        } else {
            0.0
        };
        at += 1;
    }
    turned
};

/// What a query adds up to over the signs of each four dimensions.
#[derive(Debug, Clone, Default)]
pub(crate) struct SignTable {
    /// Sixteen entries for each nibble of a row, the low one of a byte first; padding adds nothing.
    entries: Vec<u8>,
    /// What all sums are raised by.
    bias: i32,
    /// What a sum less the bias is worth.
    pub(crate) step: f32,
    /// The deviation of a sum, in steps, by the rounding of the entries.
    pub(crate) deviation: f32,
}

impl SignTable {
    /// Makes the table of a query for rows of `stride` bytes.
    pub(crate) fn new(vector: &[f32], stride: usize) -> Self {
        let nibbles = vector.chunks(4);
        let size = |nibble: &[f32]| nibble.iter().map(|x| x.abs()).sum::<f32>();
        let largest = nibbles.clone().map(size).fold(f32::MIN_POSITIVE, f32::max);
        let step = 2.0 * largest / MOST;
        let mut entries = vec![0; 32 * stride];
        for (nibble, entries) in nibbles.clone().zip(entries.as_chunks_mut::<16>().0) {
            // All signs negative, raised to 0 at least; a set bit turns one of them.
            let mut sums = [size(nibble) - nibble.iter().sum::<f32>(); 16];
            for (x, turned) in nibble.iter().zip(TURNED) {
                for (sum, turned) in sums.iter_mut().zip(turned) {
                    *sum += turned * x;
                }
            }
            for (entry, sum) in entries.iter_mut().zip(sums) {
                *entry = ((sum / step).clamp(0.0, MOST) + ROUND - ROUND) as u8;
            }
        }
        let bias = nibbles.clone().map(size).sum::<f32>() / step;
        // Each entry is rounded by up to half a step, and so is the bias.
        let deviation = (nibbles.count() as f32 / 12.0 + 0.25).sqrt();
        Self {
            entries,
            bias: bias.round() as i32,
            step,
            deviation,
        }
    }

    /// The table of each byte of a row: its low nibble, then its high one.
    fn columns(&self) -> &[[u8; 32]] {
        self.entries.as_chunks().0
    }
}

/// Gives `out` one sum a row of consecutive blocks, whose last may have fewer rows; `sum` adds up one block or two.
#[inline(always)]
#[allow(clippy::inline_always)] // Into functions compiled for a CPU feature, kernel and all.
fn each(
    bits: &[u8],
    stride: usize,
    table: &SignTable,
    out: &mut [i32],
    sum: impl Fn(&[&[u8]], &mut [[u16; ROWS]]),
) {
    let size = stride * ROWS;
    if size == 0 {
        return;
    }
    let mut sums = [[0; ROWS]; 2];
    for (pair, out) in bits.chunks(2 * size).zip(out.chunks_mut(2 * ROWS)) {
        match pair.split_at_checked(size) {
            Some((first, second)) if second.len() == size => sum(&[first, second], &mut sums),
            Some((first, _)) => sum(&[first], &mut sums[..1]),
            None => return,
        }
        for (out, &sum) in out.iter_mut().zip(sums.as_flattened()) {
            *out = i32::from(sum) - table.bias;
        }
    }
}

pub(super) fn scan_plain(bits: &[u8], stride: usize, table: &SignTable, out: &mut [i32]) {
    each(bits, stride, table, out, |blocks, sums| {
        for (block, sums) in blocks.iter().zip(sums) {
            sums.fill(0);
            for (column, entries) in block.as_chunks::<ROWS>().0.iter().zip(table.columns()) {
                for (sum, byte) in sums.iter_mut().zip(column) {
                    let (low, high) = (byte & 15, byte >> 4);
                    *sum += u16::from(entries[usize::from(low)])
                        + u16::from(entries[16 + usize::from(high)]);
                }
            }
        }
    });
}

#[cfg(target_arch = "x86_64")]
pub(super) mod x86 {
    #[allow(clippy::wildcard_imports)] // Some forty intrinsics.
    use std::arch::x86_64::*;

    use super::{AHEAD, ROWS, SignTable, each, prefetch};

    #[target_feature(enable = "avx2")]
    pub(in super::super) fn scan_avx2(
        bits: &[u8],
        stride: usize,
        table: &SignTable,
        out: &mut [i32],
    ) {
        each(bits, stride, table, out, |blocks, sums| {
            for (block, sums) in blocks.iter().zip(sums) {
                for half in 0..2 {
                    sum_avx2(block, half, table.columns(), sums);
                }
            }
        });
    }

    /// Adds up 32 rows of a block.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn sum_avx2(block: &[u8], half: usize, tables: &[[u8; 32]], out: &mut [u16; ROWS]) {
        let low = _mm256_set1_epi8(15);
        let (mut both, mut odd) = (_mm256_setzero_si256(), _mm256_setzero_si256());
        let columns = block.as_chunks::<ROWS>().0.as_chunks::<2>().0;
        for (columns, tables) in columns.iter().zip(tables.as_chunks::<2>().0) {
            let mut sum = _mm256_setzero_si256();
            for (column, table) in columns.iter().zip(tables) {
                let part = &column.as_chunks::<32>().0[half];
                prefetch(column, AHEAD);
                // SAFETY: both arrays are 32 readable bytes; the loads need no alignment.
                let (bytes, [first, second]) = unsafe {
                    let halves = [0, 16].map(|at| {
                        _mm256_broadcastsi128_si256(_mm_loadu_si128(
                            table.as_ptr().wrapping_add(at).cast(),
                        ))
                    });
                    (_mm256_loadu_si256(part.as_ptr().cast()), halves)
                };
                let high = _mm256_and_si256(_mm256_srli_epi16::<4>(bytes), low);
                let found = _mm256_add_epi8(
                    _mm256_shuffle_epi8(first, _mm256_and_si256(bytes, low)),
                    _mm256_shuffle_epi8(second, high),
                );
                sum = _mm256_add_epi8(sum, found);
            }
            both = _mm256_add_epi16(both, sum);
            odd = _mm256_add_epi16(odd, _mm256_srli_epi16::<8>(sum));
        }
        // `both` has 256 times the odd bytes too, modulo 2^16.
        let even = _mm256_sub_epi16(both, _mm256_slli_epi16::<8>(odd));
        let (evens, odds) = (lanes256(even), lanes256(odd));
        for (out, (&even, &odd)) in out[32 * half..32 * half + 32]
            .as_chunks_mut::<2>()
            .0
            .iter_mut()
            .zip(evens.iter().zip(&odds))
        {
            *out = [even, odd];
        }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn lanes256(register: __m256i) -> [u16; 16] {
        let mut lanes = [0; 16];
        // SAFETY: the array is 32 writable bytes; the store needs no alignment.
        unsafe { _mm256_storeu_si256(lanes.as_mut_ptr().cast(), register) };
        lanes
    }

    #[target_feature(enable = "avx512f,avx512bw,avx2")]
    pub(in super::super) fn scan_avx512(
        bits: &[u8],
        stride: usize,
        table: &SignTable,
        out: &mut [i32],
    ) {
        each(bits, stride, table, out, |blocks, sums| match blocks {
            [first, second] => sum_avx512([first, second], table.columns(), sums),
            [first] => sum_avx512([first], table.columns(), sums),
            _ => {}
        });
    }

    /// Adds up `N` blocks, which share the loads of the tables.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx2")]
    fn sum_avx512<const N: usize>(
        blocks: [&[u8]; N],
        tables: &[[u8; 32]],
        out: &mut [[u16; ROWS]],
    ) {
        let low = _mm512_set1_epi8(15);
        let (mut both, mut odd) = ([_mm512_setzero_si512(); N], [_mm512_setzero_si512(); N]);
        let blocks = blocks.map(|block| block.as_chunks::<ROWS>().0.as_chunks::<2>().0);
        for (pair, tables) in tables.as_chunks::<2>().0.iter().enumerate() {
            let mut sums = [_mm512_setzero_si512(); N];
            for (place, table) in tables.iter().enumerate() {
                // SAFETY: the array is 32 readable bytes; the loads need no alignment.
                let [first, second] = unsafe {
                    [0, 16].map(|at| {
                        _mm512_broadcast_i32x4(_mm_loadu_si128(
                            table.as_ptr().wrapping_add(at).cast(),
                        ))
                    })
                };
                for block in 0..N {
                    let Some(columns) = blocks[block].get(pair) else {
                        continue;
                    };
                    let column = &columns[place];
                    prefetch(column, AHEAD);
                    // SAFETY: the array is 64 readable bytes; the load needs no alignment.
                    let bytes = unsafe { _mm512_loadu_si512(column.as_ptr().cast()) };
                    let high = _mm512_and_si512(_mm512_srli_epi16::<4>(bytes), low);
                    let found = _mm512_add_epi8(
                        _mm512_shuffle_epi8(first, _mm512_and_si512(bytes, low)),
                        _mm512_shuffle_epi8(second, high),
                    );
                    sums[block] = _mm512_add_epi8(sums[block], found);
                }
            }
            for block in 0..N {
                both[block] = _mm512_add_epi16(both[block], sums[block]);
                odd[block] = _mm512_add_epi16(odd[block], _mm512_srli_epi16::<8>(sums[block]));
            }
        }
        for (block, out) in out.iter_mut().take(N).enumerate() {
            // `both` has 256 times the odd bytes too, modulo 2^16.
            let even = _mm512_sub_epi16(both[block], _mm512_slli_epi16::<8>(odd[block]));
            let (evens, odds) = (lanes512(even), lanes512(odd[block]));
            for (out, (&even, &odd)) in out
                .as_chunks_mut::<2>()
                .0
                .iter_mut()
                .zip(evens.iter().zip(&odds))
            {
                *out = [even, odd];
            }
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn lanes512(register: __m512i) -> [u16; 32] {
        let mut lanes = [0; 32];
        // SAFETY: the array is 64 writable bytes; the store needs no alignment.
        unsafe { _mm512_storeu_si512(lanes.as_mut_ptr().cast(), register) };
        lanes
    }
}

//! The arithmetic of the vector signal, dispatched once to what the CPU can do.
//!
//! Promise: every level gives the same bits. Integer sums are exact; the f32 dot has one order of
//! operations (32 lanes, then a fixed tree) and no fused multiply-add, so that wider registers
//! change the speed and nothing else.
#![allow(unsafe_code)] // Calls into functions compiled for a CPU feature, and SIMD loads.

use std::sync::OnceLock;

pub(crate) use signs::{ROWS as SIGN_ROWS, SignTable};

/// Bytes (and dimensions) of one int8 chunk: every row of codes is padded to a multiple of it.
pub(crate) const CHUNK: usize = 64;

/// 1.5 * 2^23: adding it to a smaller number rounds that to the nearest integer, which is then in the
/// low bits of the mantissa. No CPU feature is needed for it.
pub(crate) const ROUND: f32 = 12_582_912.0;

/// Lanes of the f32 dot; the order of its additions, hence its bits, depend on this number.
const LANES: usize = 32;

/// Places that [`Kernels::pass`] may write to, with anything, after the last that passed.
pub(crate) const PASS_ROOM: usize = 16;

/// The query's integer forms that the kernels multiply by; all padded with zeros.
#[derive(Debug, Clone, Default)]
pub(crate) struct Planes {
    /// `wide == 128 * high + low`, low in `0..=127`.
    pub(crate) high: Vec<i8>,
    pub(crate) low: Vec<i8>,
    pub(crate) wide: Vec<i16>,
    /// The coarse plane of a scan, and the same widened.
    pub(crate) coarse: Vec<i8>,
    pub(crate) coarse_wide: Vec<i16>,
}

/// Σ code · wide for four rows of biased codes, each of the planes' padded length.
type Rows4 = fn([&[u8]; 4], &Planes) -> [i32; 4];
/// Σ code · coarse, less `bias`, for consecutive rows of `stride` bytes, one a place of `out`.
type Scan = fn(&[u8], usize, &Planes, i32, &mut [i32]);
/// Σ ±value, by the bits of consecutive blocks of rows of `stride` bytes, one a place of `out`.
type Signs = fn(&[u8], usize, &SignTable, &mut [i32]);
/// The f32 dot of a query and a row of little-endian floats.
type Dot = fn(&[f32], &[u8]) -> f32;
/// From scales and residuals, raw sums, `[factor, weight, slack]` and a threshold: writes the places
/// and upper bounds `scale * (factor * raw) + (weight * residual + slack)` of those that reach the
/// threshold, in order, and returns how many. Each output has [`PASS_ROOM`] more than the sums.
type Pass = fn([&[f32]; 2], &[i32], [f32; 3], f32, (&mut [u32], &mut [f32])) -> usize;
/// From scales and residuals, raw sums and `[factor, weight, slack]`: appends the largest lower bounds
/// `scale * (factor * raw) - (weight * residual + slack)` of groups of at most so many vectors, each vector in one
/// group at most. A group is a lane of consecutive registers: no sum over lanes is needed.
type Peaks = fn([&[f32]; 2], &[i32], [f32; 3], usize, &mut Vec<f32>);
/// Biased codes of `vector * inverse`, and the squared norm of what they lose.
type Encode = fn(&[f32], f32, f32, &mut [u8]) -> f32;

/// One level of CPU support.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kernels {
    /// For messages of tests.
    #[cfg_attr(not(test), allow(dead_code))]
    pub(crate) name: &'static str,
    /// Four rows of int8 codes against the two fine planes.
    pub(crate) fine: Rows4,
    /// Consecutive rows of int8 codes against the coarse plane.
    pub(crate) codes: Scan,
    /// Consecutive blocks of signs.
    pub(crate) signs: Signs,
    pub(crate) dot: Dot,
    pub(crate) pass: Pass,
    pub(crate) peaks: Peaks,
    pub(crate) encode: Encode,
}

const PORTABLE: Kernels = Kernels {
    name: "portable",
    fine: fine_portable,
    codes: |codes, stride, planes, bias, out| {
        scan(codes, stride, bias, out, |rows| {
            codes_portable(rows, planes)
        });
    },
    signs: signs::scan_plain,
    dot: dot_lanes,
    pass: pass_plain,
    peaks: peaks_plain,
    encode: encode_plain,
};

/// Returns the best level of this CPU.
pub(crate) fn kernels() -> &'static Kernels {
    static BEST: OnceLock<Kernels> = OnceLock::new();
    BEST.get_or_init(|| levels().last().copied().unwrap_or(PORTABLE))
}

/// Returns every level this CPU can run, slowest first; all of them give the same bits.
pub(crate) fn levels() -> Vec<Kernels> {
    #[allow(unused_mut)]
    let mut levels = vec![PORTABLE];
    #[cfg(target_arch = "x86_64")]
    levels.extend(x86::levels());
    levels
}

#[inline(always)]
#[allow(clippy::inline_always)] // The body must be compiled for the features of each caller.
fn dot_lanes(query: &[f32], row: &[u8]) -> f32 {
    let (query_blocks, query_rest) = query.as_chunks::<LANES>();
    let (row_blocks, row_rest) = row.as_chunks::<{ LANES * 4 }>();
    let mut sums = [0.0_f32; LANES];
    for (a, b) in query_blocks.iter().zip(row_blocks) {
        let (floats, _) = b.as_chunks::<4>();
        for ((sum, x), y) in sums.iter_mut().zip(a).zip(floats) {
            *sum += x * f32::from_le_bytes(*y);
        }
    }
    let (floats, _) = row_rest.as_chunks::<4>();
    for ((sum, x), y) in sums.iter_mut().zip(query_rest).zip(floats) {
        *sum += x * f32::from_le_bytes(*y);
    }
    let mut width = LANES / 2;
    while width > 0 {
        for lane in 0..width {
            sums[lane] += sums[lane + width];
        }
        width /= 2;
    }
    // -0.0 and 0.0 are one score: adding zero makes their bits one too.
    sums[0] + 0.0
}

#[inline(always)]
#[allow(clippy::inline_always)]
fn pass_plain(
    [scales, residuals]: [&[f32]; 2],
    raw: &[i32],
    [factor, weight, slack]: [f32; 3],
    threshold: f32,
    (places, uppers): (&mut [u32], &mut [f32]),
) -> usize {
    let mut passed = 0;
    let groups = raw
        .chunks(16)
        .zip(scales.chunks(16))
        .zip(residuals.chunks(16));
    for (group, ((raw, scales), residuals)) in groups.enumerate() {
        let mut bounds = [f32::NEG_INFINITY; 16];
        for (((bound, &sum), &scale), &residual) in
            bounds.iter_mut().zip(raw).zip(scales).zip(residuals)
        {
            *bound = scale * (factor * sum as f32) + (weight * residual + slack);
        }
        // Nearly always no vector of a group passes, which is one comparison of registers.
        let highest =
            bounds.iter().fold(
                f32::NEG_INFINITY,
                |most, &bound| {
                    if bound > most { bound } else { most }
                },
            );
        if highest < threshold {
            continue;
        }
        for (lane, &bound) in bounds.iter().enumerate().take(raw.len()) {
            if bound >= threshold {
                places[passed] = (16 * group + lane) as u32;
                uppers[passed] = bound;
                passed += 1;
            }
        }
    }
    passed
}

#[inline(always)]
#[allow(clippy::inline_always)]
fn peaks_plain(
    [scales, residuals]: [&[f32]; 2],
    raw: &[i32],
    [factor, weight, slack]: [f32; 3],
    height: usize,
    out: &mut Vec<f32>,
) {
    let images = scales
        .as_chunks::<16>()
        .0
        .iter()
        .zip(residuals.as_chunks::<16>().0);
    let mut rows = raw.as_chunks::<16>().0.iter().zip(images).peekable();
    while rows.peek().is_some() {
        let mut most = [f32::NEG_INFINITY; 16];
        for (raw, (scales, residuals)) in rows.by_ref().take(height) {
            for lane in 0..16 {
                let radius = weight * residuals[lane] + slack;
                let bound = scales[lane] * (factor * raw[lane] as f32) - radius;
                most[lane] = if bound > most[lane] {
                    bound
                } else {
                    most[lane]
                };
            }
        }
        out.extend_from_slice(&most);
    }
}

#[inline(always)]
#[allow(clippy::inline_always)]
fn encode_plain(vector: &[f32], scale: f32, inverse: f32, codes: &mut [u8]) -> f32 {
    let mut lost = [0.0_f32; LANES];
    let (vector_blocks, vector_rest) = vector.as_chunks::<LANES>();
    let mut blocks = codes.as_chunks_mut::<LANES>().0.iter_mut();
    let mut encode = |values: &[f32], out: &mut [u8; LANES]| {
        for ((sum, &x), code) in lost.iter_mut().zip(values).zip(out) {
            let shifted = x * inverse + ROUND;
            let rest = x - scale * (shifted - ROUND);
            *sum += rest * rest;
            *code = (shifted.to_bits() as u8) ^ 0x80;
        }
    };
    for (values, out) in vector_blocks.iter().zip(&mut blocks) {
        encode(values, out);
    }
    if let Some(out) = blocks.next() {
        encode(vector_rest, out);
    }
    lost.iter().sum()
}

fn fine_portable(rows: [&[u8]; 4], planes: &Planes) -> [i32; 4] {
    rows.map(|row| sum_portable(row, &planes.wide))
}

fn codes_portable(rows: [&[u8]; 4], planes: &Planes) -> [i32; 4] {
    rows.map(|row| sum_portable(row, &planes.coarse_wide))
}

fn sum_portable(row: &[u8], query: &[i16]) -> i32 {
    row.iter().zip(query).fold(0_i32, |sum, (&code, &q)| {
        sum.wrapping_add(i32::from(code) * i32::from(q))
    })
}

/// Bytes that a scan asks for ahead: past the next page border, which no hardware stream crosses.
const AHEAD: usize = 8192;

/// Computes one sum a row, four rows at a time.
#[inline(always)]
#[allow(clippy::inline_always)] // Into functions compiled for a CPU feature, kernel and all.
fn scan(
    codes: &[u8],
    stride: usize,
    bias: i32,
    out: &mut [i32],
    kernel: impl Fn([&[u8]; 4]) -> [i32; 4],
) {
    if stride == 0 {
        return;
    }
    let mut groups = codes.chunks_exact(4 * stride);
    let mut sums = out.chunks_exact_mut(4);
    for (rows, sums) in (&mut groups).zip(&mut sums) {
        prefetch(rows, AHEAD);
        let (a, rest) = rows.split_at(stride);
        let (b, rest) = rest.split_at(stride);
        let (c, d) = rest.split_at(stride);
        let [a, b, c, d] = kernel([a, b, c, d]);
        sums.copy_from_slice(&[
            a.wrapping_sub(bias),
            b.wrapping_sub(bias),
            c.wrapping_sub(bias),
            d.wrapping_sub(bias),
        ]);
    }
    let done = out.len() / 4 * 4;
    for (row, sum) in codes.chunks_exact(stride).zip(out).skip(done) {
        *sum = kernel([row; 4])[0].wrapping_sub(bias);
    }
}

/// Asks the memory for the bytes that come `ahead` bytes after these.
#[inline(always)]
#[allow(clippy::inline_always)]
pub(super) fn prefetch(rows: &[u8], ahead: usize) {
    #[cfg(target_arch = "x86_64")]
    for line in rows.as_chunks::<64>().0 {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch of any address is allowed; nothing is read from it.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().wrapping_add(ahead).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (rows, ahead);
}

mod signs;
#[cfg(test)]
mod tests;
#[cfg(target_arch = "x86_64")]
mod x86;

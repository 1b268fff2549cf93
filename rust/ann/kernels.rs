//! The arithmetic of the vector signal, dispatched once to what the CPU can do.
//!
//! Promise: every level gives the same bits. Integer sums are exact; the f32 dot has one order of
//! operations (32 lanes, then a fixed tree) and no fused multiply-add, so that wider registers
//! change the speed and nothing else.
#![allow(unsafe_code)] // Calls into functions compiled for a CPU feature, and SIMD loads.

use std::sync::OnceLock;

/// Bytes (and dimensions) of one int8 chunk: every row of codes is padded to a multiple of it.
pub(crate) const CHUNK: usize = 64;

/// 1.5 * 2^23: adding it to a smaller number rounds that to the nearest integer, which is then in the
/// low bits of the mantissa. No CPU feature is needed for it.
pub(crate) const ROUND: f32 = 12_582_912.0;

/// Lanes of the f32 dot; the order of its additions, hence its bits, depend on this number.
const LANES: usize = 32;

/// The query's integer forms that the kernels multiply by; all padded with zeros.
#[derive(Debug, Clone, Default)]
pub(crate) struct Planes {
    /// `wide == 128 * high + low`, low in `0..=127`.
    pub(crate) high: Vec<i8>,
    pub(crate) low: Vec<i8>,
    pub(crate) wide: Vec<i16>,
    /// The coarse plane of a scan, padded to whole pairs of chunks, and the same widened.
    pub(crate) coarse: Vec<i8>,
    pub(crate) coarse_wide: Vec<i16>,
}

/// Σ code · wide for four rows of biased codes, each of the planes' padded length.
type Rows4 = fn([&[u8]; 4], &Planes) -> [i32; 4];
/// Σ code · coarse, less `bias`, for consecutive rows of `stride` bytes, one a place of `out`.
type Scan = fn(&[u8], usize, &Planes, i32, &mut [i32]);
/// The f32 dot of a query and a row of little-endian floats.
type Dot = fn(&[f32], &[u8]) -> f32;
/// `out = scale * (factor * raw) + weight * residual + slack`, elementwise.
type Uppers = fn(&[i32], &[f32], &[f32], [f32; 3], &mut [f32]);
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
    /// Consecutive rows of 4-bit codes against the coarse plane.
    pub(crate) nibbles: Scan,
    pub(crate) dot: Dot,
    pub(crate) uppers: Uppers,
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
    nibbles: |codes, stride, planes, bias, out| {
        scan(codes, stride, bias, out, |rows| {
            nibbles_portable(rows, planes)
        });
    },
    dot: dot_lanes,
    uppers: uppers_plain,
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
fn uppers_plain(
    raw: &[i32],
    scales: &[f32],
    residuals: &[f32],
    [factor, weight, slack]: [f32; 3],
    out: &mut [f32],
) {
    for (((upper, &sum), &scale), &residual) in out.iter_mut().zip(raw).zip(scales).zip(residuals) {
        *upper = scale * (factor * sum as f32) + (weight * residual + slack);
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
const AHEAD: usize = 4096;

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

fn nibbles_portable(rows: [&[u8]; 4], planes: &Planes) -> [i32; 4] {
    let (pairs, _) = planes.coarse.as_chunks::<{ 2 * CHUNK }>();
    rows.map(|row| {
        let (chunks, _) = row.as_chunks::<CHUNK>();
        let mut sum = 0_i32;
        for (chunk, pair) in chunks.iter().zip(pairs) {
            let (first, second) = pair.split_at(CHUNK);
            for ((&byte, &a), &b) in chunk.iter().zip(first).zip(second) {
                sum += i32::from(byte & 15) * i32::from(a) + i32::from(byte >> 4) * i32::from(b);
            }
        }
        sum
    })
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{CHUNK, Kernels, Planes, dot_lanes, encode_plain, scan, uppers_plain};
    use std::arch::x86_64::*;

    pub(super) fn levels() -> Vec<Kernels> {
        let mut levels = Vec::new();
        if is_x86_feature_detected!("avx2") {
            levels.push(AVX2);
            if is_x86_feature_detected!("avxvnni") {
                levels.push(AVX_VNNI);
            }
        }
        if is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512vnni")
            && is_x86_feature_detected!("avx2")
        {
            levels.push(AVX512);
        }
        levels
    }

    // SAFETY (every closure in the three tables): a table is handed out by `levels` alone, which
    // puts it in only after all CPU features that its functions are compiled for were detected.
    const AVX2: Kernels = Kernels {
        name: "avx2",
        fine: |rows, planes| unsafe { fine_avx2(rows, planes) },
        codes: |codes, stride, planes, bias, out| unsafe {
            scan_codes_avx2(codes, stride, planes, bias, out);
        },
        nibbles: |codes, stride, planes, bias, out| unsafe {
            scan_nibbles_avx2(codes, stride, planes, bias, out);
        },
        dot: |query, row| unsafe { dot_avx2(query, row) },
        uppers: |raw, scales, residuals, terms, out| unsafe {
            uppers_avx2(raw, scales, residuals, terms, out);
        },
        encode: |vector, scale, inverse, codes| unsafe {
            encode_avx2(vector, scale, inverse, codes)
        },
    };
    const AVX_VNNI: Kernels = Kernels {
        name: "avx-vnni",
        fine: |rows, planes| unsafe { fine_avx_vnni(rows, planes) },
        codes: |codes, stride, planes, bias, out| unsafe {
            scan_codes_avx_vnni(codes, stride, planes, bias, out);
        },
        ..AVX2
    };
    const AVX512: Kernels = Kernels {
        name: "avx512-vnni",
        fine: |rows, planes| unsafe { fine_avx512(rows, planes) },
        codes: |codes, stride, planes, bias, out| unsafe {
            scan_codes_avx512(codes, stride, planes, bias, out);
        },
        nibbles: |codes, stride, planes, bias, out| unsafe {
            scan_nibbles_avx512(codes, stride, planes, bias, out);
        },
        dot: |query, row| unsafe { dot_avx512(query, row) },
        uppers: |raw, scales, residuals, terms, out| unsafe {
            uppers_avx512(raw, scales, residuals, terms, out);
        },
        encode: |vector, scale, inverse, codes| unsafe {
            encode_avx512(vector, scale, inverse, codes)
        },
    };

    #[target_feature(enable = "avx2")]
    fn dot_avx2(query: &[f32], row: &[u8]) -> f32 {
        dot_lanes(query, row)
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2")]
    fn dot_avx512(query: &[f32], row: &[u8]) -> f32 {
        dot_lanes(query, row)
    }

    #[target_feature(enable = "avx2")]
    fn uppers_avx2(raw: &[i32], scales: &[f32], rest: &[f32], terms: [f32; 3], out: &mut [f32]) {
        uppers_plain(raw, scales, rest, terms, out);
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2")]
    fn uppers_avx512(raw: &[i32], scales: &[f32], rest: &[f32], terms: [f32; 3], out: &mut [f32]) {
        uppers_plain(raw, scales, rest, terms, out);
    }

    #[target_feature(enable = "avx2")]
    fn encode_avx2(vector: &[f32], scale: f32, inverse: f32, codes: &mut [u8]) -> f32 {
        encode_plain(vector, scale, inverse, codes)
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2")]
    fn encode_avx512(vector: &[f32], scale: f32, inverse: f32, codes: &mut [u8]) -> f32 {
        encode_plain(vector, scale, inverse, codes)
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn load512<T>(chunk: &[T; CHUNK]) -> __m512i {
        const { assert!(size_of::<T>() == 1) };
        // SAFETY: the array is 64 readable bytes; the load needs no alignment.
        unsafe { _mm512_loadu_si512(chunk.as_ptr().cast()) }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn load256<T>(part: &[T; 32]) -> __m256i {
        const { assert!(size_of::<T>() == 1) };
        // SAFETY: the array is 32 readable bytes; the load needs no alignment.
        unsafe { _mm256_loadu_si256(part.as_ptr().cast()) }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn load_wide(part: &[i16; 16]) -> __m256i {
        // SAFETY: the array is 32 readable bytes; the load needs no alignment.
        unsafe { _mm256_loadu_si256(part.as_ptr().cast()) }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn load128(part: &[u8; 16]) -> __m128i {
        // SAFETY: the array is 16 readable bytes; the load needs no alignment.
        unsafe { _mm_loadu_si128(part.as_ptr().cast()) }
    }

    /// Sums the lanes of each of four registers.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn sum4_256(sums: [__m256i; 4]) -> [i32; 4] {
        let [a, b, c, d] = sums;
        let pairs = _mm256_hadd_epi32(_mm256_hadd_epi32(a, b), _mm256_hadd_epi32(c, d));
        let total = _mm_add_epi32(
            _mm256_castsi256_si128(pairs),
            _mm256_extracti128_si256::<1>(pairs),
        );
        let mut out = [0_i32; 4];
        // SAFETY: the array is 16 writable bytes; the store needs no alignment.
        unsafe { _mm_storeu_si128(out.as_mut_ptr().cast(), total) };
        out
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx2")]
    fn sum4_512(sums: [__m512i; 4]) -> [i32; 4] {
        let [a, b, c, d] = sums;
        sum4_256([halve(a), halve(b), halve(c), halve(d)])
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx2")]
    fn halve(sum: __m512i) -> __m256i {
        _mm256_add_epi32(
            _mm512_castsi512_si256(sum),
            _mm512_extracti64x4_epi64::<1>(sum),
        )
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vnni,avx2")]
    fn fine_avx512(rows: [&[u8]; 4], planes: &Planes) -> [i32; 4] {
        let (a, b, c, d) = chunks4(rows);
        let high = planes.high.as_chunks::<CHUNK>().0;
        let low = planes.low.as_chunks::<CHUNK>().0;
        let mut highs = [_mm512_setzero_si512(); 4];
        let mut lows = [_mm512_setzero_si512(); 4];
        for (((((a, b), c), d), h), l) in a.iter().zip(b).zip(c).zip(d).zip(high).zip(low) {
            let (h, l) = (load512(h), load512(l));
            let codes = [load512(a), load512(b), load512(c), load512(d)];
            for lane in 0..4 {
                highs[lane] = _mm512_dpbusd_epi32(highs[lane], codes[lane], h);
                lows[lane] = _mm512_dpbusd_epi32(lows[lane], codes[lane], l);
            }
        }
        for lane in 0..4 {
            lows[lane] = _mm512_add_epi32(lows[lane], _mm512_slli_epi32::<7>(highs[lane]));
        }
        sum4_512(lows)
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vnni,avx2")]
    fn nibbles_avx512(rows: [&[u8]; 4], planes: &Planes) -> [i32; 4] {
        let (a, b, c, d) = chunks4(rows);
        let pairs = planes.coarse.as_chunks::<CHUNK>().0.as_chunks::<2>().0;
        let mask = _mm512_set1_epi8(15);
        let mut sums = [_mm512_setzero_si512(); 4];
        let mut more = [_mm512_setzero_si512(); 4];
        for ((((a, b), c), d), [first, second]) in a.iter().zip(b).zip(c).zip(d).zip(pairs) {
            let (first, second) = (load512(first), load512(second));
            let codes = [load512(a), load512(b), load512(c), load512(d)];
            for lane in 0..4 {
                let low = _mm512_and_si512(codes[lane], mask);
                let high = _mm512_and_si512(_mm512_srli_epi16::<4>(codes[lane]), mask);
                sums[lane] = _mm512_dpbusd_epi32(sums[lane], low, first);
                more[lane] = _mm512_dpbusd_epi32(more[lane], high, second);
            }
        }
        for lane in 0..4 {
            sums[lane] = _mm512_add_epi32(sums[lane], more[lane]);
        }
        sum4_512(sums)
    }

    #[target_feature(enable = "avxvnni,avx2")]
    fn fine_avx_vnni(rows: [&[u8]; 4], planes: &Planes) -> [i32; 4] {
        let (a, b, c, d) = chunks4(rows);
        let high = planes.high.as_chunks::<32>().0;
        let low = planes.low.as_chunks::<32>().0;
        let mut highs = [_mm256_setzero_si256(); 4];
        let mut lows = [_mm256_setzero_si256(); 4];
        for (((((a, b), c), d), h), l) in a.iter().zip(b).zip(c).zip(d).zip(high).zip(low) {
            let (h, l) = (load256(h), load256(l));
            let codes = [load256(a), load256(b), load256(c), load256(d)];
            for lane in 0..4 {
                highs[lane] = _mm256_dpbusd_avx_epi32(highs[lane], codes[lane], h);
                lows[lane] = _mm256_dpbusd_avx_epi32(lows[lane], codes[lane], l);
            }
        }
        for lane in 0..4 {
            lows[lane] = _mm256_add_epi32(lows[lane], _mm256_slli_epi32::<7>(highs[lane]));
        }
        sum4_256(lows)
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn sum_avx2(rows: [&[u8]; 4], query: &[i16]) -> [i32; 4] {
        let (a, b, c, d) = chunks4(rows);
        let wide = query.as_chunks::<16>().0;
        let mut sums = [_mm256_setzero_si256(); 4];
        for ((((a, b), c), d), q) in a.iter().zip(b).zip(c).zip(d).zip(wide) {
            let q = load_wide(q);
            let codes = [load128(a), load128(b), load128(c), load128(d)];
            for lane in 0..4 {
                // A pair of products is at most 2 * 255 * 8191, far inside i32.
                let products = _mm256_madd_epi16(_mm256_cvtepu8_epi16(codes[lane]), q);
                sums[lane] = _mm256_add_epi32(sums[lane], products);
            }
        }
        sum4_256(sums)
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn nibbles_avx2(rows: [&[u8]; 4], planes: &Planes) -> [i32; 4] {
        let (a, b, c, d) = chunks4::<32>(rows);
        let (a, b, c, d) = (
            a.as_chunks::<2>().0,
            b.as_chunks::<2>().0,
            c.as_chunks::<2>().0,
            d.as_chunks::<2>().0,
        );
        // Each 64-byte chunk of codes meets 64 + 64 bytes of query: four quarters of 32.
        let quads = planes.coarse.as_chunks::<32>().0.as_chunks::<4>().0;
        let mask = _mm256_set1_epi8(15);
        let ones = _mm256_set1_epi16(1);
        let mut sums = [_mm256_setzero_si256(); 4];
        for ((((a, b), c), d), quad) in a.iter().zip(b).zip(c).zip(d).zip(quads) {
            let rows = [a, b, c, d];
            for half in 0..2 {
                let first = load256(&quad[half]);
                let second = load256(&quad[half + 2]);
                for lane in 0..4 {
                    let codes = load256(&rows[lane][half]);
                    let low = _mm256_and_si256(codes, mask);
                    let high = _mm256_and_si256(_mm256_srli_epi16::<4>(codes), mask);
                    // Four products of at most 15 * 127 each: no saturation in 16 bits.
                    let products = _mm256_add_epi16(
                        _mm256_maddubs_epi16(low, first),
                        _mm256_maddubs_epi16(high, second),
                    );
                    sums[lane] = _mm256_add_epi32(sums[lane], _mm256_madd_epi16(products, ones));
                }
            }
        }
        sum4_256(sums)
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vnni,avx2")]
    fn codes_avx512([a, b, c, d]: [&[u8]; 4], planes: &Planes) -> [i32; 4] {
        let rows = chunks4([a, b, c, d]);
        let coarse = planes.coarse.as_chunks::<CHUNK>().0;
        let mut sums = [_mm512_setzero_si512(); 4];
        for ((((a, b), c), d), q) in rows
            .0
            .iter()
            .zip(rows.1)
            .zip(rows.2)
            .zip(rows.3)
            .zip(coarse)
        {
            let q = load512(q);
            sums[0] = _mm512_dpbusd_epi32(sums[0], load512(a), q);
            sums[1] = _mm512_dpbusd_epi32(sums[1], load512(b), q);
            sums[2] = _mm512_dpbusd_epi32(sums[2], load512(c), q);
            sums[3] = _mm512_dpbusd_epi32(sums[3], load512(d), q);
        }
        sum4_512(sums)
    }

    #[inline]
    #[target_feature(enable = "avxvnni,avx2")]
    fn codes_avx_vnni(rows: [&[u8]; 4], planes: &Planes) -> [i32; 4] {
        let (a, b, c, d) = chunks4(rows);
        let coarse = planes.coarse.as_chunks::<32>().0;
        let mut sums = [_mm256_setzero_si256(); 4];
        for ((((a, b), c), d), q) in a.iter().zip(b).zip(c).zip(d).zip(coarse) {
            let q = load256(q);
            sums[0] = _mm256_dpbusd_avx_epi32(sums[0], load256(a), q);
            sums[1] = _mm256_dpbusd_avx_epi32(sums[1], load256(b), q);
            sums[2] = _mm256_dpbusd_avx_epi32(sums[2], load256(c), q);
            sums[3] = _mm256_dpbusd_avx_epi32(sums[3], load256(d), q);
        }
        sum4_256(sums)
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn codes_avx2(rows: [&[u8]; 4], planes: &Planes) -> [i32; 4] {
        sum_avx2(rows, &planes.coarse_wide)
    }

    #[target_feature(enable = "avx2")]
    fn fine_avx2(rows: [&[u8]; 4], planes: &Planes) -> [i32; 4] {
        sum_avx2(rows, &planes.wide)
    }

    type Chunks<'a, const N: usize> = (&'a [[u8; N]], &'a [[u8; N]], &'a [[u8; N]], &'a [[u8; N]]);

    #[inline(always)]
    #[allow(clippy::inline_always)] // Into functions compiled for a CPU feature.
    fn chunks4<const N: usize>([a, b, c, d]: [&[u8]; 4]) -> Chunks<'_, N> {
        (
            a.as_chunks().0,
            b.as_chunks().0,
            c.as_chunks().0,
            d.as_chunks().0,
        )
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vnni,avx2")]
    fn scan_codes_avx512(codes: &[u8], stride: usize, planes: &Planes, bias: i32, out: &mut [i32]) {
        scan(codes, stride, bias, out, |rows| codes_avx512(rows, planes));
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vnni,avx2")]
    fn scan_nibbles_avx512(
        codes: &[u8],
        stride: usize,
        planes: &Planes,
        bias: i32,
        out: &mut [i32],
    ) {
        scan(codes, stride, bias, out, |rows| {
            nibbles_avx512(rows, planes)
        });
    }

    #[target_feature(enable = "avxvnni,avx2")]
    fn scan_codes_avx_vnni(
        codes: &[u8],
        stride: usize,
        planes: &Planes,
        bias: i32,
        out: &mut [i32],
    ) {
        scan(codes, stride, bias, out, |rows| {
            codes_avx_vnni(rows, planes)
        });
    }

    #[target_feature(enable = "avx2")]
    fn scan_codes_avx2(codes: &[u8], stride: usize, planes: &Planes, bias: i32, out: &mut [i32]) {
        scan(codes, stride, bias, out, |rows| codes_avx2(rows, planes));
    }

    #[target_feature(enable = "avx2")]
    fn scan_nibbles_avx2(codes: &[u8], stride: usize, planes: &Planes, bias: i32, out: &mut [i32]) {
        scan(codes, stride, bias, out, |rows| nibbles_avx2(rows, planes));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ann::Query;
    use crate::ann::codes::pack_nibbles;
    use proptest::prelude::*;

    proptest! {
        /// Ends of the range included: the largest sums must not overflow at any level.
        #[test]
        fn all_levels_give_the_same_bits(
            ndim in prop_oneof![1_usize..300, Just(384), Just(4096)],
            rows in 0_usize..11,
            seed in any::<u64>(),
        ) {
            let mut state = seed | 1;
            let mut next = || {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                state
            };
            let vector: Vec<f32> = (0..ndim)
                .map(|_| if seed % 3 == 0 { 1.0 } else { (next() as i32) as f32 + 0.5 })
                .collect();
            let query = Query::new(&vector).expect("not zero");
            let stride = ndim.next_multiple_of(CHUNK);
            let half = ndim.next_multiple_of(2 * CHUNK) / 2;
            let codes: Vec<u8> = (0..rows * stride)
                .map(|_| if seed % 5 == 0 { 255 } else { (next() as u8).max(1) })
                .collect();
            let mut nibbles = vec![0; rows * half];
            for (row, out) in codes.chunks(stride).zip(nibbles.chunks_mut(half)) {
                pack_nibbles(row, out);
            }
            let floats: Vec<u8> = (0..ndim)
                .flat_map(|_| ((next() as i32) as f32 * 1e-9).to_le_bytes())
                .collect();
            let scales: Vec<f32> = (0..rows).map(|_| (next() % 999) as f32 * 1e-3).collect();

            let run = |level: &Kernels| {
                let mut sums = vec![0; rows];
                (level.codes)(&codes, stride, &query.planes, 77, &mut sums);
                let mut small = vec![0; rows];
                (level.nibbles)(&nibbles, half, &query.planes, -5, &mut small);
                let fine: Vec<[i32; 4]> = codes
                    .chunks(stride)
                    .map(|row| (level.fine)([row, row, &codes[..stride], row], &query.planes))
                    .collect();
                let mut uppers = vec![0.0; rows];
                (level.uppers)(&sums, &scales, &scales, [0.3, 0.7, 0.1], &mut uppers);
                let mut encoded = vec![0x80; stride];
                let lost = (level.encode)(query.vector(), 0.01, 100.0, &mut encoded);
                let dot = (level.dot)(query.vector(), &floats);
                let uppers: Vec<u32> = uppers.iter().map(|x| x.to_bits()).collect();
                (sums, small, fine, uppers, encoded, lost.to_bits(), dot.to_bits())
            };
            let levels = levels();
            let expected = run(&levels[0]);
            for (row, sum) in codes.chunks(stride).zip(&expected.0) {
                let plain: i64 = row.iter().zip(&query.planes.coarse)
                    .map(|(&code, &q)| i64::from(code) * i64::from(q)).sum();
                prop_assert_eq!(plain - 77, i64::from(*sum));
            }
            for (row, sums) in codes.chunks(stride).zip(&expected.2) {
                let plain: i64 = row.iter().zip(&query.planes.wide)
                    .map(|(&code, &q)| i64::from(code) * i64::from(q)).sum();
                prop_assert_eq!(plain, i64::from(sums[0]));
            }
            for level in &levels[1..] {
                prop_assert_eq!(&run(level), &expected, "{}", level.name);
            }
        }
    }
}

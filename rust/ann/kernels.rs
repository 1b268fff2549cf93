//! The arithmetic of the vector signal, dispatched once to what the CPU can do.
//!
//! Promise: every level gives the same bits. Integer sums are exact; the f32 dot has one order of
//! operations (32 lanes, then a fixed tree) and no fused multiply-add, so that wider registers
//! change the speed and nothing else.
#![allow(unsafe_code)] // Calls into functions compiled for a CPU feature, and SIMD loads.

use std::sync::OnceLock;

/// Bytes (and dimensions) of one int8 chunk: every row of codes is padded to a multiple of it.
pub(crate) const CHUNK: usize = 64;

/// Lanes of the f32 dot; the order of its additions, hence its bits, depend on this number.
const LANES: usize = 32;

/// The query's integer forms that the kernels multiply by; all padded with zeros.
#[derive(Debug, Clone, Default)]
pub(crate) struct Planes {
    /// `wide == 128 * high + low`, low in `0..=127`.
    pub(crate) high: Vec<i8>,
    pub(crate) low: Vec<i8>,
    pub(crate) wide: Vec<i16>,
    /// One coarse plane for the 4-bit prefilter, padded to whole pairs of chunks.
    pub(crate) coarse: Vec<i8>,
}

/// Σ code · wide for four rows of biased codes, each of the planes' padded length.
type Rows4 = fn([&[u8]; 4], &Planes) -> [i32; 4];
/// The f32 dot of a query and a row of little-endian floats.
type Dot = fn(&[f32], &[u8]) -> f32;
/// `out = scale * (factor * raw) + weight * residual + slack`, elementwise.
type Uppers = fn(&[i32], &[f32], &[f32], [f32; 3], &mut [f32]);
/// Biased codes of `vector * inverse`, and the squared norm of what they lose.
type Encode = fn(&[f32], f32, f32, &mut [u8]) -> f32;

/// One level of CPU support.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kernels {
    pub(crate) name: &'static str,
    /// Rows of int8 codes against the two fine planes.
    pub(crate) codes: Rows4,
    /// Rows of 4-bit codes against the coarse plane.
    pub(crate) nibbles: Rows4,
    pub(crate) dot: Dot,
    pub(crate) uppers: Uppers,
    pub(crate) encode: Encode,
}

const PORTABLE: Kernels = Kernels {
    name: "portable",
    codes: codes_portable,
    nibbles: nibbles_portable,
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
    // 1.5 * 2^23: adding it rounds to the nearest integer and leaves that in the low mantissa bits.
    const ROUND: f32 = 12_582_912.0;
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

#[inline(always)]
#[allow(clippy::inline_always)]
fn codes_portable(rows: [&[u8]; 4], planes: &Planes) -> [i32; 4] {
    rows.map(|row| {
        row.iter()
            .zip(&planes.wide)
            .fold(0_i32, |sum, (&code, &q)| {
                sum.wrapping_add(i32::from(code) * i32::from(q))
            })
    })
}

#[inline(always)]
#[allow(clippy::inline_always)]
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
    use super::{CHUNK, Kernels, Planes, dot_lanes, encode_plain, uppers_plain};
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
        codes: |rows, planes| unsafe { codes_avx2(rows, planes) },
        nibbles: |rows, planes| unsafe { nibbles_avx2(rows, planes) },
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
        codes: |rows, planes| unsafe { codes_avx_vnni(rows, planes) },
        ..AVX2
    };
    const AVX512: Kernels = Kernels {
        name: "avx512-vnni",
        codes: |rows, planes| unsafe { codes_avx512(rows, planes) },
        nibbles: |rows, planes| unsafe { nibbles_avx512(rows, planes) },
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

    #[target_feature(enable = "avx512f")]
    fn load512<T>(chunk: &[T; CHUNK]) -> __m512i {
        const { assert!(size_of::<T>() == 1) };
        // SAFETY: the array is 64 readable bytes; the load needs no alignment.
        unsafe { _mm512_loadu_si512(chunk.as_ptr().cast()) }
    }

    #[target_feature(enable = "avx2")]
    fn load256<T>(part: &[T; 32]) -> __m256i {
        const { assert!(size_of::<T>() == 1) };
        // SAFETY: the array is 32 readable bytes; the load needs no alignment.
        unsafe { _mm256_loadu_si256(part.as_ptr().cast()) }
    }

    #[target_feature(enable = "avx2")]
    fn load_wide(part: &[i16; 16]) -> __m256i {
        // SAFETY: the array is 32 readable bytes; the load needs no alignment.
        unsafe { _mm256_loadu_si256(part.as_ptr().cast()) }
    }

    #[target_feature(enable = "avx2")]
    fn load128(part: &[u8; 16]) -> __m128i {
        // SAFETY: the array is 16 readable bytes; the load needs no alignment.
        unsafe { _mm_loadu_si128(part.as_ptr().cast()) }
    }

    /// Sums the lanes of each of four registers.
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

    #[target_feature(enable = "avx512f,avx2")]
    fn sum4_512(sums: [__m512i; 4]) -> [i32; 4] {
        let halve = |sum: __m512i| {
            _mm256_add_epi32(
                _mm512_castsi512_si256(sum),
                _mm512_extracti64x4_epi64::<1>(sum),
            )
        };
        let [a, b, c, d] = sums;
        sum4_256([halve(a), halve(b), halve(c), halve(d)])
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vnni,avx2")]
    fn codes_avx512(rows: [&[u8]; 4], planes: &Planes) -> [i32; 4] {
        let [a, b, c, d] = rows.map(|row| row.as_chunks::<CHUNK>().0);
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

    #[target_feature(enable = "avx512f,avx512bw,avx512vnni,avx2")]
    fn nibbles_avx512(rows: [&[u8]; 4], planes: &Planes) -> [i32; 4] {
        let [a, b, c, d] = rows.map(|row| row.as_chunks::<CHUNK>().0);
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
    fn codes_avx_vnni(rows: [&[u8]; 4], planes: &Planes) -> [i32; 4] {
        let [a, b, c, d] = rows.map(|row| row.as_chunks::<32>().0);
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

    #[target_feature(enable = "avx2")]
    fn codes_avx2(rows: [&[u8]; 4], planes: &Planes) -> [i32; 4] {
        let [a, b, c, d] = rows.map(|row| row.as_chunks::<16>().0);
        let wide = planes.wide.as_chunks::<16>().0;
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

    #[target_feature(enable = "avx2")]
    fn nibbles_avx2(rows: [&[u8]; 4], planes: &Planes) -> [i32; 4] {
        let [a, b, c, d] = rows.map(|row| row.as_chunks::<32>().0.as_chunks::<2>().0);
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
}

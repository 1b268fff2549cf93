//! The levels of x86-64: AVX2, AVX-VNNI and AVX-512 VNNI.
#![allow(clippy::many_single_char_names)] // Four rows are a, b, c, d; the query is q.

use super::signs::x86::{scan_avx2, scan_avx512};
use super::{
    AHEAD, CHUNK, Kernels, Planes, dot_lanes, encode_plain, pass_plain, peaks_plain, prefetch, scan,
};
#[allow(clippy::wildcard_imports)] // Some forty intrinsics.
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
    signs: |bits, stride, table, out| unsafe { scan_avx2(bits, stride, table, out) },
    dot: |query, row| unsafe { dot_avx2(query, row) },
    pass: |images, raw, terms, threshold, out| unsafe {
        pass_avx2(images, raw, terms, threshold, out)
    },
    peaks: |images, raw, terms, height, out| unsafe {
        peaks_avx2(images, raw, terms, height, out);
    },
    encode: |vector, scale, inverse, codes| unsafe { encode_avx2(vector, scale, inverse, codes) },
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
    signs: |bits, stride, table, out| unsafe { scan_avx512(bits, stride, table, out) },
    dot: |query, row| unsafe { dot_avx512(query, row) },
    pass: |images, raw, terms, threshold, out| unsafe {
        pass_avx512(images, raw, terms, threshold, out)
    },
    peaks: |images, raw, terms, height, out| unsafe {
        peaks_avx512(images, raw, terms, height, out);
    },
    encode: |vector, scale, inverse, codes| unsafe { encode_avx512(vector, scale, inverse, codes) },
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
fn pass_avx2(
    images: [&[f32]; 2],
    raw: &[i32],
    terms: [f32; 3],
    threshold: f32,
    out: (&mut [u32], &mut [f32]),
) -> usize {
    pass_plain(images, raw, terms, threshold, out)
}

#[target_feature(enable = "avx2")]
fn peaks_avx2(
    images: [&[f32]; 2],
    raw: &[i32],
    terms: [f32; 3],
    height: usize,
    out: &mut Vec<f32>,
) {
    peaks_plain(images, raw, terms, height, out);
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2")]
fn peaks_avx512(
    images: [&[f32]; 2],
    raw: &[i32],
    terms: [f32; 3],
    height: usize,
    out: &mut Vec<f32>,
) {
    peaks_plain(images, raw, terms, height, out);
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2")]
fn pass_avx512(
    [scales, residuals]: [&[f32]; 2],
    raw: &[i32],
    terms: [f32; 3],
    threshold: f32,
    (places, uppers): (&mut [u32], &mut [f32]),
) -> usize {
    let [factor, weight, slack] = terms.map(|term| _mm512_set1_ps(term));
    let least = _mm512_set1_ps(threshold);
    let mut here = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    let mut passed = 0;
    let (groups, rest) = raw.as_chunks::<16>();
    let scale_groups = scales.as_chunks::<16>().0;
    let residual_groups = residuals.as_chunks::<16>().0;
    for ((sums, scales), residuals) in groups.iter().zip(scale_groups).zip(residual_groups) {
        // SAFETY: each array is 64 readable bytes; the loads need no alignment.
        let (sums, scales, residuals) = unsafe {
            (
                _mm512_loadu_si512(sums.as_ptr().cast()),
                _mm512_loadu_ps(scales.as_ptr()),
                _mm512_loadu_ps(residuals.as_ptr()),
            )
        };
        let middle = _mm512_mul_ps(scales, _mm512_mul_ps(factor, _mm512_cvtepi32_ps(sums)));
        let radius = _mm512_add_ps(_mm512_mul_ps(weight, residuals), slack);
        let bounds = _mm512_add_ps(middle, radius);
        let mask = _mm512_cmp_ps_mask::<_CMP_GE_OQ>(bounds, least);
        if mask != 0
            && let Some(place) = places[passed..].first_chunk_mut::<16>()
            && let Some(upper) = uppers[passed..].first_chunk_mut::<16>()
        {
            // SAFETY: each array is 64 writable bytes; the stores need no alignment.
            unsafe {
                let packed = _mm512_maskz_compress_epi32(mask, here);
                _mm512_storeu_si512(place.as_mut_ptr().cast(), packed);
                _mm512_storeu_ps(upper.as_mut_ptr(), _mm512_maskz_compress_ps(mask, bounds));
            }
            passed += mask.count_ones() as usize;
        }
        here = _mm512_add_epi32(here, _mm512_set1_epi32(16));
    }
    let done = raw.len() - rest.len();
    let images = [scales, residuals].map(|image| image.get(done..).unwrap_or(&[]));
    let out = (&mut places[passed..], &mut uppers[passed..]);
    let more = pass_plain(images, rest, terms, threshold, out);
    for place in &mut places[passed..passed + more] {
        *place += done as u32;
    }
    passed + more
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
fn codes_avx512(row: &[u8], query: &[[i8; CHUNK]]) -> __m512i {
    let mut sum = _mm512_setzero_si512();
    let mut more = _mm512_setzero_si512();
    let (pairs, rest) = row.as_chunks::<CHUNK>().0.as_chunks::<2>();
    // The query may be longer by a chunk, whose partner in a row of an odd number does not exist.
    let query_pairs = query.as_chunks::<2>().0;
    let query_rest = query.get(2 * pairs.len()..).unwrap_or(&[]);
    for ([a, b], [p, q]) in pairs.iter().zip(query_pairs) {
        sum = _mm512_dpbusd_epi32(sum, load512(a), load512(p));
        more = _mm512_dpbusd_epi32(more, load512(b), load512(q));
    }
    for (a, p) in rest.iter().zip(query_rest) {
        sum = _mm512_dpbusd_epi32(sum, load512(a), load512(p));
    }
    _mm512_add_epi32(sum, more)
}

/// Sums the lanes of each of sixteen registers.
#[inline]
#[target_feature(enable = "avx512f")]
fn sum16(sums: &[__m512i; 16]) -> __m512i {
    // Each step halves what is left of a row's lanes and doubles the rows of a register.
    let mut twos = [_mm512_setzero_si512(); 8];
    for (two, [a, b]) in twos.iter_mut().zip(sums.as_chunks::<2>().0) {
        *two = _mm512_add_epi32(_mm512_unpacklo_epi32(*a, *b), _mm512_unpackhi_epi32(*a, *b));
    }
    let mut fours = [_mm512_setzero_si512(); 4];
    for (four, [a, b]) in fours.iter_mut().zip(twos.as_chunks::<2>().0) {
        *four = _mm512_add_epi32(_mm512_unpacklo_epi64(*a, *b), _mm512_unpackhi_epi64(*a, *b));
    }
    let [a, b, c, d] = fours;
    let eights = [(a, b), (c, d)].map(|(a, b)| {
        _mm512_add_epi32(
            _mm512_shuffle_i32x4::<0b10_00_10_00>(a, b),
            _mm512_shuffle_i32x4::<0b11_01_11_01>(a, b),
        )
    });
    _mm512_add_epi32(
        _mm512_shuffle_i32x4::<0b10_00_10_00>(eights[0], eights[1]),
        _mm512_shuffle_i32x4::<0b11_01_11_01>(eights[0], eights[1]),
    )
}

/// Computes one sum a row, in the order of the memory, and adds up the lanes of sixteen at once.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vnni,avx2")]
fn scan16(
    codes: &[u8],
    stride: usize,
    bias: i32,
    out: &mut [i32],
    kernel: impl Fn(&[u8]) -> __m512i,
) {
    if stride == 0 {
        return;
    }
    let biases = _mm512_set1_epi32(bias);
    let (places, rest) = out.as_chunks_mut::<16>();
    for (rows, place) in codes.chunks_exact(16 * stride).zip(&mut *places) {
        let mut sums = [_mm512_setzero_si512(); 16];
        for (sum, row) in sums.iter_mut().zip(rows.chunks_exact(stride)) {
            prefetch(row, AHEAD);
            *sum = kernel(row);
        }
        let sums = _mm512_sub_epi32(sum16(&sums), biases);
        // SAFETY: the array is 64 writable bytes; the store needs no alignment.
        unsafe { _mm512_storeu_si512(place.as_mut_ptr().cast(), sums) };
    }
    let done = 16 * places.len();
    for (row, sum) in codes.chunks_exact(stride).skip(done).zip(rest) {
        *sum = _mm512_reduce_add_epi32(kernel(row)).wrapping_sub(bias);
    }
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
    let query = planes.coarse.as_chunks().0;
    // A length known to the compiler keeps the query in registers.
    match query.first_chunk::<6>() {
        Some(six) if stride == 6 * CHUNK => {
            scan16(codes, stride, bias, out, |row| codes_avx512(row, six));
        }
        _ => scan16(codes, stride, bias, out, |row| codes_avx512(row, query)),
    }
}

#[target_feature(enable = "avxvnni,avx2")]
fn scan_codes_avx_vnni(codes: &[u8], stride: usize, planes: &Planes, bias: i32, out: &mut [i32]) {
    scan(codes, stride, bias, out, |rows| {
        codes_avx_vnni(rows, planes)
    });
}

#[target_feature(enable = "avx2")]
fn scan_codes_avx2(codes: &[u8], stride: usize, planes: &Planes, bias: i32, out: &mut [i32]) {
    scan(codes, stride, bias, out, |rows| codes_avx2(rows, planes));
}

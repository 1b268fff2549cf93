//! Unit vectors: how they are made, and a query prepared once for every segment it will meet.

use super::kernels::{CHUNK, Planes, ROUND, SIGN_ROWS, SignTable};
use crate::error::{Error, Result};

/// Largest number of dimensions of an index.
pub const MAX_NDIM: usize = 4096;

/// A vector counts as unit length when its squared norm is this near to 1: float32 rounding of
/// 4,096 dimensions stays below it.
const UNIT_TOLERANCE: f64 = 1e-5;

/// Upper bound of the norm of a stored vector, its rounding and its int8 image included.
const MAX_NORM: f32 = 1.05;

/// Returns the vector scaled to unit length; one that is unit already comes back bit for bit.
///
/// # Errors
/// [`Error::Dimension`] if the length is not `ndim`, [`Error::InvalidInput`] if a value is not
/// finite or all are zero.
pub fn normalise(vector: &[f32], ndim: usize) -> Result<Vec<f32>> {
    let mut unit = vector.to_vec();
    normalise_in_place(&mut unit, ndim)?;
    Ok(unit)
}

/// As [`normalise`], where the vector lies; on an error it is left as it is.
///
/// # Errors
/// As [`normalise`].
pub fn normalise_in_place(vector: &mut [f32], ndim: usize) -> Result<()> {
    if vector.len() != ndim {
        return Err(Error::Dimension {
            expected: ndim,
            got: vector.len(),
        });
    }
    let squared = squared_norm(vector)?;
    if squared == 0.0 {
        return Err(Error::InvalidInput(
            "a vector of zeros has no direction; give a vector with a value other than 0".into(),
        ));
    }
    if (squared - 1.0).abs() <= UNIT_TOLERANCE {
        return Ok(());
    }
    let norm = squared.sqrt();
    for x in vector {
        *x = (f64::from(*x) / norm) as f32;
    }
    Ok(())
}

/// Refuses a vector that is not of unit length and of `ndim` finite values.
pub(super) fn check_unit(vector: &[f32], ndim: usize) -> Result<()> {
    if vector.len() != ndim {
        return Err(Error::Dimension {
            expected: ndim,
            got: vector.len(),
        });
    }
    let mut lanes = [0.0_f32; 32];
    let (blocks, rest) = vector.as_chunks::<32>();
    for block in blocks {
        for (sum, x) in lanes.iter_mut().zip(block) {
            *sum += x * x;
        }
    }
    for (sum, x) in lanes.iter_mut().zip(rest) {
        *sum += x * x;
    }
    let squared: f32 = lanes.iter().sum();
    // False for NaN too.
    if (squared - 1.0).abs() <= 1e-4 {
        return Ok(());
    }
    Err(Error::InvalidInput(format!(
        "a stored vector must be of unit length, its squared norm is {squared}; normalise it first"
    )))
}

/// Returns the square of a vector's length.
///
/// # Errors
/// [`Error::InvalidInput`] if a value is not finite.
pub fn squared_norm(vector: &[f32]) -> Result<f64> {
    // f64 holds the square of any f32 without overflow or underflow, so the sum is finite where all values are.
    let mut lanes = [0.0_f64; 16];
    let (blocks, rest) = vector.as_chunks::<16>();
    for block in blocks {
        for (sum, &x) in lanes.iter_mut().zip(block) {
            *sum += f64::from(x) * f64::from(x);
        }
    }
    for (sum, &x) in lanes.iter_mut().zip(rest) {
        *sum += f64::from(x) * f64::from(x);
    }
    let squared: f64 = lanes.iter().sum();
    if squared.is_finite() {
        return Ok(squared);
    }
    let at = vector.iter().position(|x| !x.is_finite()).unwrap_or(0);
    Err(Error::InvalidInput(format!(
        "value {at} of a vector is {}; every value must be finite",
        vector[at]
    )))
}

/// Bytes of one row of int8 codes.
pub(super) fn codes_stride(ndim: usize) -> usize {
    ndim.next_multiple_of(CHUNK)
}

/// Bytes of one row of signs, a bit a dimension.
pub(super) fn signs_stride(ndim: usize) -> usize {
    codes_stride(ndim) / 8
}

/// Bytes of the signs of `count` rows: whole blocks.
pub(super) fn signs_size(count: usize, ndim: usize) -> usize {
    count.next_multiple_of(SIGN_ROWS) * signs_stride(ndim)
}

/// Norm of what a Gaussian vector loses when only its signs are kept: sqrt(1 - 2 / π).
const TYPICAL_LOSS: f32 = 0.603;

/// A query vector: unit float32 copy, integer planes, and the terms that bound their error.
///
/// The planes stand for `q' = factor * wide`, an integer image with at least 11 bits; a scan uses a
/// coarse one of 8 bits first, half the work, and its survivors meet the fine one. A stored
/// vector is `x = scale * code + r`. Then `q·x = q'·x' + q·r + (q - q')·x'`, so by Cauchy–Schwarz
/// the exact cosine is within `|q| |r| + |q - q'| |x'|` of `scale * factor * Σ code * wide`;
/// `|r|` is stored with each vector, the rest is the slack of the plane, rounding of every float32 step included.
#[derive(Debug, Clone)]
pub struct Query {
    vector: Vec<f32>,
    pub(super) planes: Planes,
    pub(super) factor: f32,
    pub(super) coarse_factor: f32,
    /// Σ wide and Σ coarse: codes are stored biased, these take the bias out.
    pub(super) wide_sum: i32,
    pub(super) coarse_sum: i32,
    pub(super) norm: f32,
    pub(super) slack: f32,
    pub(super) coarse_slack: f32,
    pub(super) signs: SignTable,
    /// How much the query's own error widens that of the signs.
    pub(super) signs_spread: f32,
}

impl Query {
    /// Prepares a query: normalises it and quantises it.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] if a value is not finite, all are zero, or the length is not in
    /// `1..=4096`. Whether the length fits an index is checked by the search.
    pub fn new(vector: &[f32]) -> Result<Self> {
        let ndim = vector.len();
        if ndim == 0 || ndim > MAX_NDIM {
            return Err(Error::InvalidInput(format!(
                "a vector of length {ndim} was given; 1 to {MAX_NDIM} is allowed"
            )));
        }
        let vector = normalise(vector, ndim)?;
        let norm = vector
            .iter()
            .map(|&x| f64::from(x) * f64::from(x))
            .sum::<f64>()
            .sqrt();
        let largest = vector.iter().fold(0.0_f32, |most, x| most.max(x.abs()));
        // 13 bits and a sign, fewer where 255 * level * ndim would leave i32.
        let level = 8191.min(i32::MAX / (256 * ndim as i32));
        let factor = largest / level as f32;
        let inverse = level as f32 / largest;
        let coarse_factor = largest / 127.0;
        let coarse_inverse = 127.0 / largest;

        let stride = codes_stride(ndim);
        let mut planes = Planes {
            high: vec![0; stride],
            low: vec![0; stride],
            wide: vec![0; stride],
            coarse: vec![0; stride],
            coarse_wide: vec![0; stride],
        };
        let (mut lost, mut coarse_lost) = (0.0_f64, 0.0_f64);
        let (mut wide_sum, mut coarse_sum) = (0_i32, 0_i32);
        for (at, &x) in vector.iter().enumerate() {
            let wide = ((x * inverse + ROUND) - ROUND) as i16;
            planes.wide[at] = wide;
            planes.high[at] = (wide >> 7) as i8;
            planes.low[at] = (wide & 127) as i8;
            let coarse = ((x * coarse_inverse + ROUND) - ROUND) as i8;
            planes.coarse[at] = coarse;
            planes.coarse_wide[at] = i16::from(coarse);
            wide_sum += i32::from(wide);
            coarse_sum += i32::from(coarse);
            let rest = f64::from(x) - f64::from(factor) * f64::from(wide);
            lost += rest * rest;
            let rest = f64::from(x) - f64::from(coarse_factor) * f64::from(coarse);
            coarse_lost += rest * rest;
        }
        let signs = SignTable::new(&vector, signs_stride(ndim));
        let signs_lost = signs.step * signs.deviation;
        // One f32 dot rounds ndim / 32 sums, 5 levels of the tree and the product, 2^-24 each, of at
        // most |q| |x|; 1e-6 covers the five roundings of the bound itself.
        let rounding = (ndim as f32 / 32.0 + 8.0) * f32::EPSILON + 1e-6;
        Ok(Self {
            planes,
            factor,
            coarse_factor,
            wide_sum,
            coarse_sum,
            norm: norm as f32 * 1.000_001,
            slack: (lost.sqrt() as f32 * 1.000_001 + rounding) * MAX_NORM,
            coarse_slack: (coarse_lost.sqrt() as f32 * 1.000_001 + rounding) * MAX_NORM,
            signs,
            signs_spread: (signs_lost / TYPICAL_LOSS).hypot(1.0),
            vector,
        })
    }

    /// Returns the unit vector that scores are computed with.
    #[must_use]
    pub fn vector(&self) -> &[f32] {
        &self.vector
    }

    /// Returns the number of dimensions.
    #[must_use]
    pub fn ndim(&self) -> usize {
        self.vector.len()
    }
}

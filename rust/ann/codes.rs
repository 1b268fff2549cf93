//! The int8 image of stored vectors, and the scan that finds which of them may be among the best.
//!
//! A vector is kept as `scale * code` (code in -127..=127, stored biased by 128) with the norm of
//! what that loses. From these and the query's own error each scan yields an upper and a lower bound
//! of the exact score; a vector is dropped only when enough others are certainly better.

use super::kernels::{PASS_ROOM, SIGN_ROWS, kernels, prefetch};
use super::query::{Query, codes_stride, signs_stride};

/// Rows of one step of the scan: raw sums and bounds of a step stay in the first-level cache.
const STEP: usize = 256;

/// Cells of the count of lower bounds, which is spread over cosines of -1 to 1.
const CELLS: usize = 2048;

/// Groups of vectors that the floor is looked for in, for each vector that is needed: two of the best
/// seldom share one.
const GROUPS_PER_NEED: usize = 8;

/// Groups of four rows that a gather asks the memory for ahead.
const GROUPS_AHEAD: usize = 3;

/// How many standard deviations of the error of signs the bounds allow for on each side: to be
/// missed, a row must lose some 3 of them against the threshold, the better it is the more.
const SIGN_SIGMAS: f32 = 1.5;

/// How many standard deviations of an int8 image's error the survivors of the scan of signs are bounded
/// by. The error of a dot is a sum of errors uniform over one step, weighted by the query, hence
/// beyond s standard deviations at most 2 exp(-s²/2) of the time: 3 in 100 million.
const CODE_SIGMAS: f32 = 6.0;

/// Encodes one unit vector; `codes` (one padded row) is overwritten. Returns scale and residual norm.
pub(super) fn encode(vector: &[f32], codes: &mut [u8]) -> (f32, f32) {
    let mut lanes = [0.0_f32; 32];
    let (blocks, rest) = vector.as_chunks::<32>();
    for block in blocks {
        for (most, x) in lanes.iter_mut().zip(block) {
            *most = if x.abs() > *most { x.abs() } else { *most };
        }
    }
    let largest = rest
        .iter()
        .chain(&lanes)
        .fold(0.0_f32, |most, x| most.max(x.abs()));
    codes.fill(0x80);
    let scale = largest / 127.0;
    let lost = (kernels().encode)(vector, scale, 127.0 / largest, codes);
    // Rounded up: the residual itself was computed in float32.
    (scale, lost.sqrt() * 1.000_01 + 1e-6)
}

/// Packs the signs of padded rows of codes into blocks ([`SIGN_ROWS`]), a bit a dimension, and appends the cosine
/// between each row and its signs, padding left out by its zeros; the caller divides by the root of the dimensions.
pub(super) fn pack_signs(codes: &[u8], stride: usize, out: &mut [u8], cosines: &mut Vec<f64>) {
    out.fill(0);
    let blocks = codes.chunks(SIGN_ROWS * stride);
    for (rows, block) in blocks.zip(out.chunks_mut(SIGN_ROWS * stride / 8)) {
        for (place, row) in rows.chunks(stride).enumerate() {
            let (mut sum, mut squares) = (0_u64, 0_u64);
            for (bytes, column) in row.chunks(8).zip(block.as_chunks_mut::<SIGN_ROWS>().0) {
                for (bit, &code) in bytes.iter().enumerate() {
                    column[place] |= (code >> 7) << bit;
                    let size = u64::from(code.abs_diff(0x80));
                    sum += size;
                    squares += size * size;
                }
            }
            cosines.push(sum as f64 / (squares.max(1) as f64).sqrt());
        }
    }
}

/// The signs of stored vectors and how far they can be trusted.
///
/// With s the unit vector of a vector's signs and a = x·s, the cosine q·x is about q·s / a. What is
/// left of x beside a·s, of norm sqrt(1 - a²), meets a query as a random direction would: the
/// estimate's error has about the deviation sqrt(1 - a²) / (a sqrt(ndim - 1)) (the estimator of
/// `RaBitQ`, Gao and Long 2024, here without its random rotation, which trained vectors do not need:
/// measured deviations are 0.95 to 1.0 of that).
#[derive(Debug)]
pub(super) struct Signs<'a> {
    pub(super) bits: &'a [u8],
    /// 1 / (a sqrt(ndim)) and the deviation of each vector.
    pub(super) scales: &'a [f32],
    pub(super) deviations: &'a [f32],
}

/// Scale and deviation of a vector whose signs have the cosine `alignment` with it.
pub(super) fn sign_terms(alignment: f32, ndim: usize) -> (f32, f32) {
    let alignment = alignment.clamp(1e-3, 1.0);
    let lost = (1.0 - alignment * alignment).max(0.0).sqrt();
    let scale = 1.0 / (alignment * (ndim as f32).sqrt());
    let free = ndim.saturating_sub(1).max(1) as f32;
    (scale, lost / (alignment * free.sqrt()))
}

/// Consecutive vectors of one place, starting at vector number `first`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Block<'a> {
    pub(super) first: u32,
    pub(super) codes: &'a [u8],
    pub(super) scales: &'a [f32],
    pub(super) residuals: &'a [f32],
}

impl<'a> Block<'a> {
    /// Returns one vector, by its number within the block.
    #[inline]
    pub(super) fn image(&self, within: usize, ndim: usize) -> Option<Image<'a>> {
        let stride = codes_stride(ndim);
        Some(Image {
            codes: self.codes.get(within * stride..(within + 1) * stride)?,
            scale: *self.scales.get(within)?,
            residual: *self.residuals.get(within)?,
        })
    }
}

/// The int8 image of one vector.
#[derive(Debug, Clone, Copy)]
pub(super) struct Image<'a> {
    codes: &'a [u8],
    scale: f32,
    residual: f32,
}

/// A vector that may be among the best.
#[derive(Debug, Clone, Copy)]
pub(super) struct Candidate {
    pub(super) vector: u32,
    pub(super) upper: f32,
    lower: f32,
}

/// Collects candidates: keeps every vector whose upper bound reaches the `need`-th best lower bound.
#[derive(Debug, Default)]
pub(super) struct Collector {
    need: usize,
    limit: usize,
    threshold: f32,
    pub(super) items: Vec<Candidate>,
    /// Lower bounds counted by cell; kept for the cells from `edge` on, `above` in all.
    cells: Vec<u32>,
    edge: usize,
    above: usize,
    vectors: Vec<u32>,
    /// Raw sums of a step, and of all vectors.
    raw: Vec<i32>,
    sums: Vec<i32>,
    places: Vec<u32>,
    uppers: Vec<f32>,
}

impl Collector {
    /// Starts over for the best `need` vectors.
    pub(super) fn reset(&mut self, need: usize) {
        self.need = need.max(1);
        self.limit = self.need.saturating_mul(4).saturating_add(1024);
        self.threshold = f32::NEG_INFINITY;
        self.items.clear();
        self.forget_cells();
    }

    fn forget_cells(&mut self) {
        self.cells.clear();
        self.cells.resize(CELLS, 0);
        self.edge = 0;
        self.above = 0;
    }

    #[inline]
    fn push(&mut self, candidate: Candidate) {
        self.items.push(candidate);
        self.count(candidate.lower);
        if self.items.len() >= self.limit {
            self.compact();
            // Grows with what must be kept, so that equal vectors do not compact at every push.
            self.limit = self.items.len().saturating_mul(2).max(self.limit);
        }
    }

    /// Counts a lower bound and raises the threshold to the floor of the highest cell that, with all
    /// above it, holds `need` of them. Each vector must be counted once.
    #[inline]
    fn count(&mut self, lower: f32) {
        const SCALE: f32 = (CELLS / 2) as f32;
        // The cast saturates: what is below -1 falls into the first cell, which has no floor.
        let cell = (((lower + 1.0) * SCALE) as usize).min(CELLS - 1);
        if cell < self.edge {
            return;
        }
        self.cells[cell] += 1;
        self.above += 1;
        let mut edge = self.edge;
        while self.above - self.cells[edge] as usize >= self.need {
            self.above -= self.cells[edge] as usize;
            edge += 1;
        }
        if edge > self.edge {
            self.edge = edge;
            // 1e-6 covers the rounding of the sum above.
            self.threshold = self.threshold.max(edge as f32 / SCALE - 1.0 - 1e-6);
        }
    }

    /// Drops what can no longer be among the best.
    pub(super) fn compact(&mut self) {
        if self.items.len() > self.need {
            self.items
                .select_nth_unstable_by(self.need - 1, |a, b| b.lower.total_cmp(&a.lower));
            self.threshold = self.threshold.max(self.items[self.need - 1].lower);
        }
        self.prune();
    }

    /// Drops what the threshold has passed.
    fn prune(&mut self) {
        let threshold = self.threshold;
        self.items.retain(|candidate| candidate.upper >= threshold);
    }

    /// Scans int8 codes; `allowed` is asked only about vectors that would be candidates.
    pub(super) fn scan(
        &mut self,
        block: Block,
        query: &Query,
        mut allowed: impl FnMut(u32) -> bool,
    ) {
        let scan = kernels().codes;
        let stride = codes_stride(query.ndim());
        let terms = [query.coarse_factor, query.norm, query.coarse_slack];
        let bias = query.coarse_sum.wrapping_mul(128);
        self.raw.resize(STEP, 0);
        let steps = block
            .codes
            .chunks(STEP * stride)
            .zip(block.scales.chunks(STEP))
            .zip(block.residuals.chunks(STEP));
        let mut first = block.first;
        for ((codes, scales), residuals) in steps {
            let count = scales.len().min(codes.len() / stride);
            let mut raw = std::mem::take(&mut self.raw);
            scan(codes, stride, &query.planes, bias, &mut raw[..count]);
            let images = [scales, residuals];
            self.take(
                first,
                &raw[..count],
                images,
                terms,
                &mut allowed,
                Self::push,
            );
            self.raw = raw;
            first += count as u32;
        }
    }

    /// Bounds the given vectors by their int8 codes and the fine plane; `image` finds a vector's.
    pub(super) fn gather<'a>(
        &mut self,
        vectors: &[u32],
        query: &Query,
        image: impl Fn(u32) -> Option<Image<'a>>,
    ) {
        self.bound(vectors, query, query.norm, image, Self::push);
    }

    /// Bounds the given vectors and takes those that reach the threshold by `push`; an image's error
    /// counts as `weight` times its residual.
    #[inline]
    fn bound<'a>(
        &mut self,
        vectors: &[u32],
        query: &Query,
        weight: f32,
        image: impl Fn(u32) -> Option<Image<'a>>,
        push: impl Fn(&mut Self, Candidate),
    ) {
        let fine = kernels().fine;
        let bias = query.wide_sum.wrapping_mul(128);
        for (number, group) in vectors.chunks(4).enumerate() {
            let ahead = 4 * (number + GROUPS_AHEAD);
            for &soon in vectors.iter().skip(ahead).take(4) {
                if let Some(image) = image(soon) {
                    prefetch(image.codes, 0);
                }
            }
            let mut rows: [&[u8]; 4] = [&[]; 4];
            let (mut scales, mut residuals) = ([0.0; 4], [0.0; 4]);
            for (lane, &vector) in group.iter().enumerate() {
                if let Some(image) = image(vector) {
                    rows[lane] = image.codes;
                    (scales[lane], residuals[lane]) = (image.scale, image.residual);
                }
            }
            // A group of fewer than four repeats what it has; the extra sums are dropped.
            let Some(some) = rows.iter().copied().find(|row| !row.is_empty()) else {
                continue;
            };
            let is_there = rows.map(|row| !row.is_empty());
            for row in &mut rows {
                if row.is_empty() {
                    *row = some;
                }
            }
            let sums = fine(rows, &query.planes);
            for (lane, &vector) in group.iter().enumerate() {
                let sum = sums[lane].wrapping_sub(bias) as f32;
                let middle = scales[lane] * (query.factor * sum);
                let radius = weight * residuals[lane] + query.slack;
                if is_there[lane] && middle + radius >= self.threshold {
                    let candidate = Candidate {
                        vector,
                        upper: middle + radius,
                        lower: middle - radius,
                    };
                    push(self, candidate);
                }
            }
        }
    }

    /// Tightens the proven bounds of the candidates by the fine plane, and drops who falls behind.
    pub(super) fn refine<'a>(&mut self, query: &Query, image: impl Fn(u32) -> Option<Image<'a>>) {
        // Cells are coarse: many equal vectors share one.
        if self.items.len() > self.need.saturating_mul(4) {
            self.compact();
        } else {
            self.prune();
        }
        let vectors = self.take_vectors();
        self.forget_cells();
        self.bound(&vectors, query, query.norm, image, Self::push);
        self.vectors = vectors;
        self.compact();
    }

    /// The same after a scan of signs, whose bounds exclude nothing; see [`CODE_SIGMAS`].
    pub(super) fn refine_signs<'a>(
        &mut self,
        query: &Query,
        image: impl Fn(u32) -> Option<Image<'a>>,
    ) {
        let vectors = self.take_vectors();
        let weight = query.norm * (CODE_SIGMAS / (query.ndim() as f32).sqrt()).min(1.0);
        self.threshold = f32::NEG_INFINITY;
        self.bound(&vectors, query, weight, image, |this, candidate| {
            this.items.push(candidate);
        });
        self.vectors = vectors;
        self.compact();
    }

    /// Moves the candidates' vectors into the list that is used again for it.
    fn take_vectors(&mut self) -> Vec<u32> {
        let mut vectors = std::mem::take(&mut self.vectors);
        vectors.clear();
        vectors.extend(self.items.iter().map(|candidate| candidate.vector));
        self.items.clear();
        vectors
    }

    /// Scans signs: bounds that hold nearly always, see [`SIGN_SIGMAS`].
    ///
    /// `open` tells that every vector is allowed: then the threshold is known before any is taken.
    pub(super) fn scan_signs(
        &mut self,
        signs: &Signs<'_>,
        query: &Query,
        open: bool,
        mut allowed: impl FnMut(u32) -> bool,
    ) {
        let scan = kernels().signs;
        let stride = signs_stride(query.ndim());
        let count = signs.scales.len();
        let terms = [query.signs.step, SIGN_SIGMAS * query.signs_spread, 0.0];
        let mut sums = std::mem::take(&mut self.sums);
        sums.resize(count, 0);
        let steps = sums.chunks_mut(STEP).zip(signs.bits.chunks(STEP * stride));
        for (sums, bits) in steps {
            scan(bits, stride, &query.signs, sums);
        }
        self.threshold = if open {
            self.floor(signs, &sums, terms)
        } else {
            f32::NEG_INFINITY
        };
        let steps = sums
            .chunks(STEP)
            .zip(signs.scales.chunks(STEP))
            .zip(signs.deviations.chunks(STEP));
        for (step, ((sums, scales), deviations)) in steps.enumerate() {
            let first = (step * STEP) as u32;
            let images = [scales, deviations];
            if open {
                self.take(
                    first,
                    sums,
                    images,
                    terms,
                    &mut allowed,
                    |this, candidate| {
                        this.items.push(candidate);
                    },
                );
            } else {
                self.take(first, sums, images, terms, &mut allowed, Self::push);
            }
        }
        self.sums = sums;
        if !open {
            self.compact();
        }
    }

    /// A threshold that `need` lower bounds reach, if there are many times as many vectors: of groups
    /// of vectors the best bounds, and of these the `need`-th.
    fn floor(&mut self, signs: &Signs<'_>, sums: &[i32], terms: [f32; 3]) -> f32 {
        let height = (sums.len() / self.need / GROUPS_PER_NEED).min(STEP);
        self.uppers.clear();
        if height > 0 {
            let images = [signs.scales, signs.deviations];
            (kernels().peaks)(images, sums, terms, height, &mut self.uppers);
        }
        if self.uppers.len() < self.need {
            return f32::NEG_INFINITY;
        }
        let (_, floor, _) = self
            .uppers
            .select_nth_unstable_by(self.need - 1, |a, b| b.total_cmp(a));
        *floor
    }

    /// Takes from the raw sums of a step those whose upper bound passes, by `push`.
    #[inline]
    fn take(
        &mut self,
        first: u32,
        raw: &[i32],
        [scales, residuals]: [&[f32]; 2],
        terms: [f32; 3],
        allowed: &mut impl FnMut(u32) -> bool,
        push: impl Fn(&mut Self, Candidate),
    ) {
        let [_, weight, slack] = terms;
        let mut places = std::mem::take(&mut self.places);
        let mut uppers = std::mem::take(&mut self.uppers);
        places.resize(STEP + PASS_ROOM, 0);
        uppers.resize(STEP + PASS_ROOM, 0.0);
        let passed = (kernels().pass)(
            [scales, residuals],
            raw,
            terms,
            self.threshold,
            (&mut places, &mut uppers),
        );
        for (&place, &upper) in places[..passed].iter().zip(&uppers) {
            // The threshold may have risen since.
            if upper >= self.threshold && allowed(first + place) {
                let radius = weight * residuals[place as usize] + slack;
                let candidate = Candidate {
                    vector: first + place,
                    upper,
                    lower: upper - 2.0 * radius,
                };
                push(self, candidate);
            }
        }
        self.places = places;
        self.uppers = uppers;
    }
}

#[cfg(test)]
mod tests;

//! The int8 image of stored vectors, and the scan that finds which of them may be among the best.
//!
//! A vector is kept as `scale * code` (code in -127..=127, stored biased by 128) with the norm of
//! what that loses. From these and the query's own error each scan yields an upper and a lower bound
//! of the exact score; a vector is dropped only when enough others are certainly better.

use super::kernels::{PASS_ROOM, kernels, prefetch};
use super::query::{Query, codes_stride, nibbles_stride};

/// Rows of one step of the scan: raw sums and bounds of a step stay in the first-level cache.
const STEP: usize = 256;

/// Cells of the count of lower bounds, which is spread over cosines of -1 to 1.
const CELLS: usize = 2048;

/// Groups of four rows that a gather asks the memory for ahead.
const GROUPS_AHEAD: usize = 3;

/// Standard deviation of a rounding error that is uniform over one step of the 4-bit grid
/// (127 / 7 int8 steps): 127 / 7 / sqrt(12).
const NIBBLE_ERROR: f32 = 5.237;

/// How many of those the 4-bit bounds allow for on each side: to be missed, the last of the best must
/// lose 4 of them against the threshold (1 in 30,000), the first ones more.
const NIBBLE_SIGMAS: f32 = 2.0;

/// How many standard deviations of an int8 image's error the survivors of the 4-bit scan are bounded
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

/// Packs one padded row of codes into 4 bits each: codes 0..64 of a 128-code block fill the low
/// halves of its 64 bytes, codes 64..128 the high halves; a missing half is zero (query pads too).
pub(super) fn pack_nibbles(codes: &[u8], out: &mut [u8]) {
    out.fill(0x88);
    let coarse = |code: u8| {
        // round(code * 7 / 127) with zero kept exact, biased by 8: 1..=15.
        let signed = i32::from(code) - 128;
        ((signed * 14 + 127 * 17) / 254) as u8
    };
    for (block, bytes) in codes.chunks(128).zip(out.chunks_mut(64)) {
        let (first, second) = block.split_at(64.min(block.len()));
        for (byte, &code) in bytes.iter_mut().zip(first) {
            *byte = (*byte & 0xf0) | coarse(code);
        }
        for (byte, &code) in bytes.iter_mut().zip(second) {
            *byte = (*byte & 0x0f) | (coarse(code) << 4);
        }
    }
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
    raw: Vec<i32>,
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
            scan(codes, stride, &query.planes, bias, &mut self.raw[..count]);
            self.take(first, count, [scales, residuals], terms, &mut allowed);
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
        self.gather_within(vectors, query, query.norm, image);
    }

    /// As [`Self::gather`]; an image's error counts as `weight` times its residual.
    fn gather_within<'a>(
        &mut self,
        vectors: &[u32],
        query: &Query,
        weight: f32,
        image: impl Fn(u32) -> Option<Image<'a>>,
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
            let images = [0, 1, 2, 3].map(|lane| group.get(lane).and_then(|&vector| image(vector)));
            // A group of fewer than four repeats what it has; the extra sums are dropped.
            let Some(some) = images.iter().flatten().next() else {
                continue;
            };
            let rows = images.map(|image| image.unwrap_or(*some).codes);
            let sums = fine(rows, &query.planes);
            for ((&vector, sum), image) in group.iter().zip(sums).zip(images) {
                let Some(image) = image else { continue };
                let middle = image.scale * (query.factor * sum.wrapping_sub(bias) as f32);
                let radius = weight * image.residual + query.slack;
                if middle + radius >= self.threshold {
                    self.push(Candidate {
                        vector,
                        upper: middle + radius,
                        lower: middle - radius,
                    });
                }
            }
        }
    }

    /// Tightens the bounds of the candidates by the fine plane, and drops who falls behind.
    ///
    /// `proven` tells that the bounds so far hold for certain, so that they may still exclude; if
    /// they do not, those of the fine plane need not either, see [`CODE_SIGMAS`].
    pub(super) fn refine<'a>(
        &mut self,
        query: &Query,
        proven: bool,
        image: impl Fn(u32) -> Option<Image<'a>>,
    ) {
        // Cells are coarse: many equal vectors share one.
        if self.items.len() > self.need.saturating_mul(4) {
            self.compact();
        } else {
            self.prune();
        }
        let mut vectors = std::mem::take(&mut self.vectors);
        vectors.clear();
        vectors.extend(self.items.iter().map(|candidate| candidate.vector));
        self.items.clear();
        self.forget_cells();
        let mut weight = query.norm;
        if !proven {
            self.threshold = f32::NEG_INFINITY;
            weight *= (CODE_SIGMAS / (query.ndim() as f32).sqrt()).min(1.0);
        }
        self.gather_within(&vectors, query, weight, image);
        self.vectors = vectors;
        self.compact();
    }

    /// Scans 4-bit codes: bounds that hold nearly always, see [`NIBBLE_SIGMAS`].
    pub(super) fn scan_nibbles(
        &mut self,
        nibbles: &[u8],
        scales: &[f32],
        query: &Query,
        mut allowed: impl FnMut(u32) -> bool,
    ) {
        let scan = kernels().nibbles;
        let stride = nibbles_stride(query.ndim());
        let factor = query.coarse_factor * (127.0 / 7.0);
        let spread = NIBBLE_SIGMAS * NIBBLE_ERROR * query.norm;
        let bias = query.coarse_sum.wrapping_mul(8);
        self.raw.resize(STEP, 0);
        let mut first = 0_u32;
        for (codes, scales) in nibbles.chunks(STEP * stride).zip(scales.chunks(STEP)) {
            let count = scales.len().min(codes.len() / stride);
            scan(codes, stride, &query.planes, bias, &mut self.raw[..count]);
            // The radius is a multiple of the scale: the scales serve as residuals.
            let terms = [factor, spread, 0.0];
            self.take(first, count, [scales, scales], terms, &mut allowed);
            first += count as u32;
        }
    }

    /// Takes from the raw sums of a step those whose upper bound passes.
    #[inline]
    fn take(
        &mut self,
        first: u32,
        count: usize,
        [scales, residuals]: [&[f32]; 2],
        terms: [f32; 3],
        allowed: &mut impl FnMut(u32) -> bool,
    ) {
        let [_, weight, slack] = terms;
        let mut places = std::mem::take(&mut self.places);
        let mut uppers = std::mem::take(&mut self.uppers);
        places.resize(STEP + PASS_ROOM, 0);
        uppers.resize(STEP + PASS_ROOM, 0.0);
        let passed = (kernels().pass)(
            [scales, residuals],
            &self.raw[..count],
            terms,
            self.threshold,
            (&mut places, &mut uppers),
        );
        for (&place, &upper) in places[..passed].iter().zip(&uppers) {
            // The threshold may have risen since.
            if upper >= self.threshold && allowed(first + place) {
                let radius = weight * residuals[place as usize] + slack;
                self.push(Candidate {
                    vector: first + place,
                    upper,
                    lower: upper - 2.0 * radius,
                });
            }
        }
        self.places = places;
        self.uppers = uppers;
    }
}

#[cfg(test)]
mod tests;

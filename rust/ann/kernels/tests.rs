//! Every level against plain arithmetic and against each other.

use super::*;
use crate::ann::Query;
use crate::ann::codes::pack_signs;
use proptest::prelude::*;

proptest! {
    /// Ends of the range included: the largest sums must not overflow at any level.
    #[test]
    fn all_levels_give_the_same_bits(
        ndim in prop_oneof![1_usize..300, Just(384), Just(4096)],
        rows in 0_usize..200,
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
        let eighth = stride / 8;
        let codes: Vec<u8> = (0..rows * stride)
            .map(|_| if seed % 5 == 0 { 255 } else { (next() as u8).max(1) })
            .collect();
        let mut signs = vec![0; rows.next_multiple_of(SIGN_ROWS) * eighth];
        pack_signs(&codes, stride, &mut signs, &mut Vec::new());
        let floats: Vec<u8> = (0..ndim)
            .flat_map(|_| ((next() as i32) as f32 * 1e-9).to_le_bytes())
            .collect();
        let scales: Vec<f32> = (0..rows).map(|_| (next() % 999) as f32 * 1e-3).collect();

        let threshold = match seed % 4 {
            0 => f32::NEG_INFINITY,
            1 => f32::INFINITY,
            _ => 0.5 * (next() as i32) as f32,
        };

        let run = |level: &Kernels| {
            let mut sums = vec![0; rows];
            (level.codes)(&codes, stride, &query.planes, 77, &mut sums);
            let mut small = vec![0; rows];
            (level.signs)(&signs, eighth, &query.signs, &mut small);
            let fine: Vec<[i32; 4]> = codes
                .chunks(stride)
                .map(|row| (level.fine)([row, row, &codes[..stride], row], &query.planes))
                .collect();
            let (mut places, mut uppers) = (vec![0; rows + PASS_ROOM], vec![0.0; rows + PASS_ROOM]);
            let images = [&scales[..], &scales[..]];
            let terms = [0.3, 0.7, 0.1];
            let passed = (level.pass)(images, &sums, terms, threshold, (&mut places, &mut uppers));
            places.truncate(passed);
            uppers.truncate(passed);
            let mut peaks = Vec::new();
            (level.peaks)(images, &sums, terms, 1 + seed as usize % 3, &mut peaks);
            let peaks: Vec<u32> = peaks.iter().map(|x| x.to_bits()).collect();
            let mut encoded = vec![0x80; stride];
            let lost = (level.encode)(query.vector(), 0.01, 100.0, &mut encoded);
            let dot = (level.dot)(query.vector(), &floats);
            let uppers: Vec<u32> = uppers.iter().map(|x| x.to_bits()).collect();
            (sums, small, fine, places, uppers, encoded, lost.to_bits(), dot.to_bits(), peaks)
        };
        let levels = levels();
        let expected = run(&levels[0]);
        for (row, sum) in codes.chunks(stride).zip(&expected.0) {
            let plain: i64 = row.iter().zip(&query.planes.coarse)
                .map(|(&code, &q)| i64::from(code) * i64::from(q)).sum();
            prop_assert_eq!(plain - 77, i64::from(*sum));
        }
        // Each four dimensions are off by half a step at most, and so is the whole.
        let most = query.signs.step * 0.5 * (ndim.div_ceil(4) + 1) as f32 + 1e-4;
        for (row, &sum) in codes.chunks(stride).zip(&expected.1) {
            let values = query.vector().iter().zip(row);
            let exact: f32 = values.map(|(&x, &code)| if code >= 0x80 { x } else { -x }).sum();
            let read = query.signs.step * sum as f32;
            prop_assert!((read - exact).abs() <= most, "{read} for {exact}, {most} at most");
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

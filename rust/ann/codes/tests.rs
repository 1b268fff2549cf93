//! What the scan of signs may miss, against the proven one.

use crate::ann::{Allowed, Mode, Query, VectorSegment, WriteOptions, normalise, write};

const NO_SYNC: WriteOptions = WriteOptions {
    graph: false,
    sync: false,
};

type Rows = Vec<(u32, Vec<f32>)>;

struct Random(u64);

impl Random {
    /// About normal: the sum of four uniform numbers.
    fn normal(&mut self) -> f32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        let parts = (0..4).map(|part| (self.0 >> (16 * part)) as u16);
        (parts.map(|x| f32::from(x) / 65_536.0).sum::<f32>() - 2.0) * 1.732
    }

    fn unit(&mut self, ndim: usize) -> Vec<f32> {
        let vector: Vec<f32> = (0..ndim).map(|_| self.normal()).collect();
        normalise(&vector, ndim).expect("not zero")
    }

    fn near(&mut self, center: &[f32], noise: f32) -> Vec<f32> {
        let scale = noise / (center.len() as f32).sqrt();
        let vector: Vec<f32> = center.iter().map(|x| x + scale * self.normal()).collect();
        normalise(&vector, center.len()).expect("not zero")
    }
}

/// What `Mode::Auto` says of its regime of signs: exact scores; of noise, whose rows are all about equally far, all but
/// 0.3 % of the best 10 and 1 % of the best 50; of clusters everything.
#[test]
fn the_prefilter_misses_one_in_a_hundred_of_noise_at_most() {
    const ROWS: u32 = 6_000;
    let ids: Vec<u64> = (0..u64::from(ROWS)).rev().collect();
    let mut random = Random(19);
    for (ndim, noise) in [(384, None), (384, Some(0.6)), (100, Some(0.3))] {
        let centers: Vec<Vec<f32>> = (0..60).map(|_| random.unit(ndim)).collect();
        let mut make = |row: u32| match noise {
            Some(noise) => random.near(&centers[row as usize % 60], noise),
            None => random.unit(ndim),
        };
        let vectors: Rows = (0..ROWS).map(|row| (row, make(row))).collect();
        let queries: Rows = (0..200).map(|row| (row, make(row))).collect();
        let dir = tempfile::tempdir().expect("a folder");
        let files = write(dir.path(), ndim, vectors, NO_SYNC).expect("writes");
        let segment = VectorSegment::open(dir.path(), ndim, &files, Mode::Auto).expect("opens");
        let (mut found, mut missed, mut best) = (0, 0, 0);
        for (_, query) in &queries {
            let query = Query::new(query).expect("unit");
            let search = |mode| {
                segment
                    .search(&query, 50, mode, Allowed::All, None, &ids)
                    .expect("searches")
            };
            let (auto, exact) = (search(Mode::Auto), search(Mode::Exact));
            assert_eq!(auto.len(), 50);
            found += exact.iter().filter(|hit| auto.contains(hit)).count();
            missed += exact.iter().filter(|hit| !auto.contains(hit)).count();
            best += exact
                .iter()
                .take(10)
                .filter(|hit| !auto.contains(hit))
                .count();
        }
        assert!(
            missed <= noise.map_or(100, |_| 0),
            "{missed} of {} missed, {ndim}",
            found + missed
        );
        assert!(
            best <= noise.map_or(6, |_| 0),
            "{best} of the best missed, {ndim}"
        );
    }
}

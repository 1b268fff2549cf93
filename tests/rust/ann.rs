//! The vector signal against a plain float32 brute force, on any data, in any place.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use agentmem::Error;
use agentmem::ann::{
    Allowed, FileEntry, Mode, Query, Scored, TailVectors, VectorSegment, WriteOptions, normalise,
    write,
};
use agentmem::bits::Bitset;
use proptest::prelude::*;

const NO_SYNC: WriteOptions = WriteOptions {
    graph: false,
    sync: false,
};

/// Vectors with their rows.
type Rows = Vec<(u32, Vec<f32>)>;

/// A small generator, so that big sets do not go through proptest.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn one_in(&mut self, count: u64) -> bool {
        self.next().is_multiple_of(count)
    }

    /// About normal: the sum of twelve uniform numbers.
    fn normal(&mut self) -> f32 {
        (0..12)
            .map(|_| (self.next() >> 40) as f32 / (1_u64 << 24) as f32)
            .sum::<f32>()
            - 6.0
    }

    fn unit(&mut self, ndim: usize) -> Vec<f32> {
        loop {
            let vector: Vec<f32> = (0..ndim).map(|_| self.normal()).collect();
            if let Ok(unit) = normalise(&vector, ndim) {
                return unit;
            }
        }
    }

    /// `center` plus noise of the given size.
    fn near(&mut self, center: &[f32], noise: f32) -> Vec<f32> {
        let vector: Vec<f32> = center
            .iter()
            .map(|x| x + noise * self.normal() / (center.len() as f32).sqrt())
            .collect();
        normalise(&vector, center.len()).unwrap_or_else(|_| center.to_vec())
    }
}

/// The order of operations that a score promises, written out plainly.
fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut lanes = [0.0_f32; 32];
    for (index, (x, y)) in a.iter().zip(b).enumerate() {
        lanes[index % 32] += x * y;
    }
    let mut width = 16;
    while width > 0 {
        for lane in 0..width {
            lanes[lane] += lanes[lane + width];
        }
        width /= 2;
    }
    lanes[0] + 0.0
}

fn brute_force(
    vectors: &[(u32, Vec<f32>)],
    query: &Query,
    depth: usize,
    is_allowed: impl Fn(u32) -> bool,
    ids: &[u64],
) -> Vec<Scored> {
    let mut best: BTreeMap<u32, f32> = BTreeMap::new();
    for (row, vector) in vectors {
        if is_allowed(*row) {
            let score = dot(query.vector(), vector);
            let entry = best.entry(*row).or_insert(score);
            *entry = entry.max(score);
        }
    }
    let mut all: Vec<Scored> = best
        .into_iter()
        .map(|(row, score)| Scored { row, score })
        .collect();
    all.sort_by(|a, b| {
        b.score
            .total_cmp(&a.score)
            .then(ids[a.row as usize].cmp(&ids[b.row as usize]))
    });
    all.truncate(depth);
    all
}

fn segment(dir: &Path, ndim: usize, vectors: &[(u32, Vec<f32>)]) -> VectorSegment {
    let files = write(dir, ndim, vectors.iter().map(|(r, v)| (*r, v)), NO_SYNC).expect("writes");
    VectorSegment::open(dir, ndim, &files, Mode::Auto).expect("opens")
}

fn tail(ndim: usize, vectors: &[(u32, Vec<f32>)]) -> TailVectors {
    let mut tail = TailVectors::new(ndim).expect("ndim is allowed");
    for (row, vector) in vectors {
        tail.push(*row, vector).expect("a unit vector");
    }
    tail
}

/// Vectors of the kinds that break approximate search: spread, clustered, repeated, sparse,
/// constant, tiny beside large, and signs flipped.
fn vectors_strategy() -> impl Strategy<Value = (usize, Rows, Vec<f32>)> {
    (
        prop_oneof![1_usize..9, 60_usize..70, Just(128), Just(300), Just(384)],
        prop::collection::vec((0_u8..7, 0_u8..9), 0..160),
        any::<u64>(),
    )
        .prop_map(|(ndim, kinds, seed)| {
            let mut random = Random(seed | 1);
            let center = random.unit(ndim);
            let mut row = 0;
            let mut vectors: Vec<(u32, Vec<f32>)> = Vec::new();
            for (kind, step) in kinds {
                let vector = match kind {
                    0 => random.unit(ndim),
                    1 => random.near(&center, 0.01),
                    2 => vectors
                        .last()
                        .map_or_else(|| center.clone(), |last| last.1.clone()),
                    3 => {
                        let mut one = vec![0.0; ndim];
                        one[random.next() as usize % ndim] = if step % 2 == 0 { 1.0 } else { -1.0 };
                        one
                    }
                    4 => normalise(&vec![1.0; ndim], ndim).expect("not zero"),
                    5 => {
                        let mut one: Vec<f32> =
                            (0..ndim).map(|_| random.normal() * 1e-30).collect();
                        one[0] = 1.0;
                        one
                    }
                    _ => center.iter().map(|x| -x).collect(),
                };
                // 0: one more vector of the same row, if it has room; large: rows without any.
                let here = vectors.iter().filter(|(at, _)| *at == row).count();
                if step > 0 || here == 8 {
                    row += u32::from(step.saturating_sub(4)) + 1;
                }
                vectors.push((row, vector));
            }
            let query = match seed % 4 {
                0 => random.unit(ndim),
                1 => random.near(&center, 0.02),
                2 => center,
                _ => vec![1.0; ndim],
            };
            (ndim, vectors, query)
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn exact_search_is_brute_force(
        (ndim, vectors, query) in vectors_strategy(),
        depth in 0_usize..80,
        seed in any::<u64>(),
    ) {
        let mut random = Random(seed | 1);
        let row_count = vectors.last().map_or(0, |last| last.0 as usize + 1);
        let ids: Vec<u64> = (0..row_count).map(|_| random.next()).collect();
        let query = Query::new(&query).expect("not zero");
        let dir = tempfile::tempdir().expect("a folder");
        let segment = segment(dir.path(), ndim, &vectors);
        let mut tail = tail(ndim, &vectors);

        let allowed: Bitset = (0..row_count as u32).filter(|_| !random.one_in(3)).collect();
        let few: Vec<u32> = (0..row_count as u32).filter(|_| random.one_in(9)).collect();
        let few_bits: Bitset = few.iter().copied().collect();
        let mut dead = Bitset::new(row_count);
        for row in 0..row_count as u32 {
            if random.one_in(5) {
                dead.insert(row);
            }
        }
        let all = |_| true;
        let in_bits = |row| allowed.contains(row);
        let in_few = |row| few_bits.contains(row);
        let cases: [(Allowed, &dyn Fn(u32) -> bool); 4] = [
            (Allowed::All, &all),
            (Allowed::Bits(&allowed), &in_bits),
            (Allowed::Bits(&few_bits), &in_few),
            (Allowed::Rows(&few), &in_few),
        ];
        for (allowed, is_allowed) in cases {
            let expected = brute_force(&vectors, &query, depth, is_allowed, &ids);
            for mode in [Mode::Exact, Mode::Auto, Mode::Hnsw] {
                let found = segment.search(&query, depth, mode, allowed, None, &ids).expect("searches");
                prop_assert_eq!(&found, &expected);
            }
            prop_assert_eq!(&tail.search(&query, depth, allowed, &ids).expect("searches"), &expected);
            let living = |row| is_allowed(row) && !dead.contains(row);
            let expected = brute_force(&vectors, &query, depth, living, &ids);
            let found = segment
                .search(&query, depth, Mode::Exact, allowed, Some(&dead), &ids)
                .expect("searches");
            prop_assert_eq!(found, expected);
        }
        let before = tail.clone();
        for row in dead.iter() {
            tail.remove(row);
        }
        let expected = brute_force(&vectors, &query, depth, |row| !dead.contains(row), &ids);
        prop_assert_eq!(tail.search(&query, depth, Allowed::All, &ids).expect("searches"), expected);
        let expected = brute_force(&vectors, &query, depth, |_| true, &ids);
        prop_assert_eq!(before.search(&query, depth, Allowed::All, &ids).expect("searches"), expected);

        for row in 0..row_count as u32 + 2 {
            let written: Vec<Vec<f32>> =
                vectors.iter().filter(|(at, _)| *at == row).map(|(_, v)| v.clone()).collect();
            prop_assert_eq!(&segment.vectors(row).expect("reads"), &written);
            prop_assert_eq!(&tail.vectors(row), &written);
        }
        segment.verify().expect("nothing is damaged");
    }

    #[test]
    fn normalise_is_idempotent_and_refuses_what_has_no_direction(
        vector in prop::collection::vec(any::<f32>(), 1..40),
    ) {
        let ndim = vector.len();
        match normalise(&vector, ndim) {
            Ok(unit) => {
                let norm: f64 = unit.iter().map(|x| f64::from(*x).powi(2)).sum();
                prop_assert!((norm - 1.0).abs() < 1e-4);
                prop_assert_eq!(normalise(&unit, ndim).expect("unit"), unit.clone());
                prop_assert!(Query::new(&vector).is_ok());
                prop_assert!(TailVectors::new(ndim).expect("allowed").push(0, &unit).is_ok());
            }
            Err(error) => {
                prop_assert!(matches!(error, Error::InvalidInput(_)));
                prop_assert!(vector.iter().any(|x| !x.is_finite()) || vector.iter().all(|x| *x == 0.0));
            }
        }
    }
}

#[test]
fn many_vectors_are_found_exactly() {
    let mut random = Random(7);
    let centers: Vec<Vec<f32>> = (0..20).map(|_| random.unit(96)).collect();
    let vectors: Vec<(u32, Vec<f32>)> = (0..6_000)
        .map(|row| (row, random.near(&centers[row as usize % 20], 0.3)))
        .collect();
    let ids: Vec<u64> = (0..6_000).rev().collect();
    let dir = tempfile::tempdir().expect("a folder");
    let segment = segment(dir.path(), 96, &vectors);
    for index in 0..40 {
        let query = Query::new(&random.near(&centers[index % 20], 0.3)).expect("unit");
        let expected = brute_force(&vectors, &query, 50, |_| true, &ids);
        let found = segment
            .search(&query, 50, Mode::Exact, Allowed::All, None, &ids)
            .expect("searches");
        assert_eq!(found, expected);
    }
}

#[test]
fn the_prefilter_and_the_graph_find_nearly_all() {
    const ROWS: u32 = 31_000;
    let mut random = Random(11);
    let centers: Vec<Vec<f32>> = (0..100).map(|_| random.unit(64)).collect();
    let vectors: Vec<(u32, Vec<f32>)> = (0..ROWS)
        .map(|row| match row % 2 {
            0 => (row, random.unit(64)),
            _ => (row, random.near(&centers[row as usize % 100], 0.4)),
        })
        .collect();
    let ids: Vec<u64> = (0..u64::from(ROWS)).collect();
    let dir = tempfile::tempdir().expect("a folder");
    let options = WriteOptions {
        graph: true,
        sync: false,
    };
    let files = write(
        dir.path(),
        64,
        vectors.iter().map(|(r, v)| (*r, v)),
        options,
    )
    .expect("writes");
    let segment = VectorSegment::open(dir.path(), 64, &files, Mode::Hnsw).expect("opens");
    assert!(segment.has_graph());
    let mut dead = Bitset::new(ROWS as usize);
    (0..ROWS).step_by(7).for_each(|row| {
        dead.insert(row);
    });
    let half: Bitset = (0..ROWS).filter(|row| row % 4 < 2).collect();
    let narrow: Bitset = (0..ROWS).filter(|row| row % 40 == 1).collect();
    let mut hits = [0; 2];
    for (index, center) in centers.iter().enumerate().take(30) {
        let query = match index % 2 {
            0 => random.unit(64),
            _ => random.near(center, 0.4),
        };
        let query = Query::new(&query).expect("unit");
        for (slot, mode) in [Mode::Auto, Mode::Hnsw].into_iter().enumerate() {
            let living = |row| half.contains(row) && !dead.contains(row);
            let expected = brute_force(&vectors, &query, 10, living, &ids);
            let found = segment
                .search(&query, 10, mode, Allowed::Bits(&half), Some(&dead), &ids)
                .expect("searches");
            assert_eq!(found.len(), 10);
            assert!(found.iter().all(|hit| living(hit.row)));
            hits[slot] += found.iter().filter(|hit| expected.contains(hit)).count();
            // A narrow set is exact in every mode.
            let living = |row| narrow.contains(row) && !dead.contains(row);
            let expected = brute_force(&vectors, &query, 10, living, &ids);
            let found = segment
                .search(&query, 10, mode, Allowed::Bits(&narrow), Some(&dead), &ids)
                .expect("searches");
            assert_eq!(found, expected);
        }
    }
    assert!(hits[0] >= 297, "signs: {} of 300", hits[0]);
    assert!(hits[1] >= 285, "graph: {} of 300", hits[1]);
}

#[test]
fn searches_beyond_the_reserved_threads_wait() {
    let mut random = Random(13);
    let vectors: Vec<(u32, Vec<f32>)> = (0..500).map(|row| (row, random.unit(32))).collect();
    let ids: Vec<u64> = (0..500).collect();
    let dir = tempfile::tempdir().expect("a folder");
    let options = WriteOptions {
        graph: true,
        sync: false,
    };
    let files = write(
        dir.path(),
        32,
        vectors.iter().map(|(r, v)| (*r, v)),
        options,
    )
    .expect("writes");
    let segment = VectorSegment::open(dir.path(), 32, &files, Mode::Hnsw).expect("opens");
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                for (_, vector) in vectors.iter().step_by(5) {
                    let query = Query::new(vector).expect("unit");
                    let found = segment
                        .search(&query, 3, Mode::Hnsw, Allowed::All, None, &ids)
                        .expect("a thread that waits, not an error");
                    assert_eq!(found.len(), 3);
                }
            });
        }
    });
}

#[test]
fn damage_is_an_error_or_changes_nothing() {
    let mut random = Random(17);
    // Some rows without and some with two vectors, so that row starts are on the disk too.
    let vectors: Vec<(u32, Vec<f32>)> = (0..300_u32)
        .map(|n| (n / 2 * 3 + n % 2 * (n / 2 % 2), random.unit(40)))
        .collect();
    let rows = vectors[299].0 as usize + 1;
    let ids: Vec<u64> = (0..rows as u64).collect();
    let dir = tempfile::tempdir().expect("a folder");
    let options = WriteOptions {
        graph: true,
        sync: false,
    };
    let files = write(
        dir.path(),
        40,
        vectors.iter().map(|(r, v)| (*r, v)),
        options,
    )
    .expect("writes");
    let query = Query::new(&random.unit(40)).expect("unit");
    let search = |files: &[FileEntry], mode| {
        let segment = VectorSegment::open(dir.path(), 40, files, mode)?;
        segment.search(&query, 20, mode, Allowed::All, None, &ids)
    };
    let truth = search(&files, Mode::Exact).expect("searches");
    let by_graph = search(&files, Mode::Hnsw).expect("searches");
    let mut errors = 0;
    for trial in 0..400 {
        let path = dir.path().join(&files[trial % files.len()].0);
        let good = fs::read(&path).expect("reads");
        let mut bad = good.clone();
        let at = random.next() as usize % bad.len();
        match random.next() % 5 {
            0 => bad[at] ^= 1 << (random.next() % 8),
            1 => bad.truncate(at),
            2 => bad.extend_from_slice(b"more"),
            3 => bad
                .iter_mut()
                .skip(at)
                .take(4096)
                .for_each(|byte| *byte = 0),
            _ => bad.rotate_left(1),
        }
        // Replaced, not rewritten: that is how files change under an index.
        fs::remove_file(&path).expect("removes");
        if !random.one_in(20) {
            fs::write(&path, &bad).expect("writes");
        }
        for (mode, expected) in [(Mode::Exact, &truth), (Mode::Hnsw, &by_graph)] {
            match search(&files, mode) {
                Ok(found) => assert_eq!(&found, expected),
                Err(Error::IndexCorrupt { .. }) => errors += 1,
                Err(other) => panic!("not a typed answer to damage: {other}"),
            }
        }
        fs::write(&path, &good).expect("writes");
    }
    assert!(errors > 500, "only {errors} of 800 noticed");
    // What search does not touch, verify finds.
    let segment = VectorSegment::open(dir.path(), 40, &files, Mode::Exact).expect("opens");
    let path = dir.path().join("vectors.f32");
    let mut bad = fs::read(&path).expect("reads");
    bad[40 * 4 * 150] ^= 1;
    fs::remove_file(&path).expect("removes");
    fs::write(&path, &bad).expect("writes");
    assert!(matches!(segment.verify(), Err(Error::IndexCorrupt { .. })));
}

#[test]
fn wrong_arguments_are_typed_errors() {
    let dir = tempfile::tempdir().expect("a folder");
    let one = vec![(0_u32, vec![1.0_f32, 0.0, 0.0])];
    let segment = segment(dir.path(), 3, &one);
    let query = Query::new(&[1.0, 2.0]).expect("not zero");
    let dimension = segment.search(&query, 1, Mode::Auto, Allowed::All, None, &[1]);
    assert!(matches!(
        dimension,
        Err(Error::Dimension {
            expected: 3,
            got: 2
        })
    ));
    let query = Query::new(&[1.0, 2.0, 3.0]).expect("not zero");
    let short = segment.search(&query, 1, Mode::Auto, Allowed::All, None, &[]);
    assert!(matches!(short, Err(Error::InvalidInput(_))));
    for bad in [
        vec![],
        vec![0.0; 3],
        vec![f32::NAN; 3],
        vec![f32::INFINITY; 3],
        vec![1.0; 5_000],
    ] {
        assert!(matches!(Query::new(&bad), Err(Error::InvalidInput(_))));
    }
    for (rows, bad) in [
        ([1, 0], [1.0, 0.0]),
        ([0, 1], [1.0, 1.0]),
        ([0, 1], [f32::NAN, 0.0]),
        ([0, u32::MAX], [1.0, 0.0]),
    ] {
        let vectors = [(rows[0], vec![1.0, 0.0]), (rows[1], bad.to_vec())];
        let result = write(dir.path(), 2, vectors.iter().map(|(r, v)| (*r, v)), NO_SYNC);
        assert!(matches!(result, Err(Error::InvalidInput(_))));
    }
    let nine = (0..9).map(|_| (4_u32, vec![1.0_f32]));
    assert!(matches!(
        write(dir.path(), 1, nine, NO_SYNC),
        Err(Error::InvalidInput(_))
    ));
    assert!(TailVectors::new(0).is_err() && TailVectors::new(4_097).is_err());
}

#[test]
fn an_empty_segment_answers_nothing() {
    let dir = tempfile::tempdir().expect("a folder");
    let segment = segment(dir.path(), 384, &[]);
    let query = Query::new(&[1.0; 384]).expect("not zero");
    let rows = [0, 5];
    for allowed in [Allowed::All, Allowed::Rows(&rows)] {
        let found = segment.search(&query, 50, Mode::Auto, allowed, None, &[]);
        assert_eq!(found.expect("searches"), []);
    }
    assert!(segment.is_empty() && segment.vectors(0).expect("reads").is_empty());
}

//! Figures of the vector signal, one line a case: n, ndim, data, mode, µs, recall.
//! CPU time of the thread, so that other work on the machine counts little.
//!
//! `cargo bench --bench ann -- 10000 100000` (sizes; `--ndim=768`; `--graph` adds HNSW, which takes
//! minutes; `--brief` leaves out all but the whole searches).

#![allow(missing_docs, clippy::print_stdout, clippy::unwrap_used)] // A program for the terminal.
#![allow(clippy::unchecked_time_subtraction, clippy::too_many_lines)] // CPU time only rises.

use std::time::Duration;

use agentmem::ann::{
    Allowed, Mode, Query, Scored, TailVectors, VectorSegment, WriteOptions, Writer, normalise,
};
use agentmem::bits::Bitset;

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn normal(&mut self) -> f32 {
        let bits = self.next();
        let parts = (0..4).map(|part| (bits >> (16 * part)) as u16);
        (parts.map(|x| f32::from(x) / 65_536.0).sum::<f32>() - 2.0) * 1.732
    }

    fn unit(&mut self, ndim: usize) -> Vec<f32> {
        let vector: Vec<f32> = (0..ndim).map(|_| self.normal()).collect();
        normalise(&vector, ndim).unwrap()
    }

    fn near(&mut self, center: &[f32], noise: f32) -> Vec<f32> {
        let scale = noise / (center.len() as f32).sqrt();
        let vector: Vec<f32> = center.iter().map(|x| x + scale * self.normal()).collect();
        normalise(&vector, center.len()).unwrap()
    }
}

/// CPU time of this thread.
#[allow(unsafe_code)]
fn cpu() -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the pointer is to a live timespec of this frame.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// 10th, 50th and 95th percentile of µs, and every answer.
fn time<T>(
    queries: &[Query],
    rounds: usize,
    mut work: impl FnMut(&Query) -> T,
) -> ([f64; 3], Vec<T>) {
    let mut times = Vec::new();
    let mut answers = Vec::new();
    for round in 0..=rounds {
        for query in queries {
            let start = cpu();
            let answer = work(query);
            let spent = (cpu() - start).as_secs_f64() * 1e6;
            if round == 0 {
                answers.push(answer);
            } else {
                times.push(spent);
            }
        }
    }
    times.sort_by(f64::total_cmp);
    let at = |percent| times[times.len() * percent / 100];
    ([at(10), at(50), at(95)], answers)
}

fn recall(found: &[Vec<Scored>], truth: &[Vec<Scored>], k: usize) -> f64 {
    let (mut hits, mut total) = (0, 0);
    for (found, truth) in found.iter().zip(truth) {
        let best = &truth[..k.min(truth.len())];
        total += best.len();
        hits += found
            .iter()
            .take(k)
            .filter(|hit| best.contains(hit))
            .count();
    }
    hits as f64 / total as f64
}

fn resident_mb() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS"));
    let kb = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok());
    kb.unwrap_or(0.0) / 1024.0
}

fn run(n: u32, ndim: usize, clustered: bool, graph: bool, brief: bool) {
    let mut random = Random(42);
    let centers: Vec<Vec<f32>> = (0..=n / 100).map(|_| random.unit(ndim)).collect();
    let mut make = |row: u32| {
        if clustered {
            let center = row as usize % centers.len();
            random.near(&centers[center], 0.6)
        } else {
            random.unit(ndim)
        }
    };
    let data = if clustered { "clustered" } else { "gaussian" };
    let queries: Vec<Query> = (0..40)
        .map(|row| Query::new(&make(row * 7)).unwrap())
        .collect();
    let dir = tempfile::tempdir().unwrap();
    let options = WriteOptions { graph, sync: false };
    let mut writer = Writer::create(dir.path(), ndim, options).unwrap();
    let mut written = Duration::ZERO;
    let mut tail = TailVectors::new(ndim).unwrap();
    for first in (0..n).step_by(1_000) {
        // Vectors made in batches, so that writing alone is timed.
        let batch: Vec<(u32, Vec<f32>)> = (first..n.min(first + 1_000))
            .map(|row| (row, make(row)))
            .collect();
        let start = cpu();
        for (row, vector) in &batch {
            writer.push(*row, vector).unwrap();
        }
        written += cpu() - start;
        for (row, vector) in batch.iter().filter(|(row, _)| *row < 20_000) {
            tail.push(*row, vector).unwrap();
        }
    }
    let start = cpu();
    let files = writer.finish().unwrap();
    let finish = (cpu() - start).as_secs_f64();
    println!(
        "{n:>8} {ndim} {data:9} write           {:8.2} µs a vector, finish {:.2} s",
        written.as_secs_f64() * 1e6 / f64::from(n),
        finish
    );
    let before = resident_mb();
    let start = cpu();
    let segment = VectorSegment::open(dir.path(), ndim, &files, Mode::Hnsw).unwrap();
    println!(
        "{n:>8} {ndim} {data:9} open            {:8.1} ms",
        (cpu() - start).as_secs_f64() * 1e3
    );
    let ids: Vec<u64> = (0..u64::from(n)).collect();
    let rounds = if brief { 60 } else { 20 };
    let search = |mode, allowed| {
        let ids = &ids;
        let segment = &segment;
        move |query: &Query| segment.search(query, 50, mode, allowed, None, ids).unwrap()
    };
    let report = |name: &str,
                  ([p10, p50, p95], found): ([f64; 3], Vec<Vec<Scored>>),
                  truth: &[Vec<Scored>]| {
        println!(
            "{n:>8} {ndim} {data:9} {name:15} {p10:8.1} µs p10 {p50:8.1} p50 {p95:8.1} p95  recall@10 {:.4} @50 {:.4}",
            recall(&found, truth, 10),
            recall(&found, truth, 50)
        );
    };
    let exact = time(&queries, rounds, search(Mode::Exact, Allowed::All));
    let truth = exact.1.clone();
    report("exact", exact, &truth);
    report(
        "auto",
        time(&queries, rounds, search(Mode::Auto, Allowed::All)),
        &truth,
    );
    println!(
        "{n:>8} {ndim} {data:9} resident        {:8.1} MB",
        resident_mb() - before
    );
    if graph {
        report(
            "hnsw",
            time(&queries, rounds, search(Mode::Hnsw, Allowed::All)),
            &truth,
        );
    }
    if brief {
        return;
    }
    let rows: Vec<u32> = (0..100).map(|row| row * (n / 100)).collect();
    let truth_rows = time(&queries, 1, search(Mode::Exact, Allowed::Rows(&rows))).1;
    report(
        "100 rows",
        time(&queries, rounds, search(Mode::Auto, Allowed::Rows(&rows))),
        &truth_rows,
    );
    let third: Bitset = (0..n).filter(|row| row % 3 == 0).collect();
    let truth_third = time(&queries, 1, search(Mode::Exact, Allowed::Bits(&third))).1;
    report(
        "third",
        time(&queries, rounds, search(Mode::Auto, Allowed::Bits(&third))),
        &truth_third,
    );
    let ([_, p50, p95], _) = time(&queries, rounds, |query| {
        tail.search(query, 50, Allowed::All, &ids).unwrap()
    });
    println!(
        "{:>8} {ndim} {data:9} tail            {p50:8.1} µs p50 {p95:8.1} p95",
        tail.len()
    );
    let ([_, p50, _], _) = time(&queries, rounds, |query| {
        Query::new(query.vector()).unwrap()
    });
    println!("{n:>8} {ndim} {data:9} prepare query   {p50:8.1} µs p50");
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let graph = words.iter().any(|word| word == "--graph");
    let brief = words.iter().any(|word| word == "--brief");
    let ndim = words
        .iter()
        .find_map(|word| word.strip_prefix("--ndim=")?.parse().ok())
        .unwrap_or(384);
    let sizes: Vec<u32> = words.iter().filter_map(|word| word.parse().ok()).collect();
    for n in if sizes.is_empty() { vec![2_000] } else { sizes } {
        for clustered in [false, true] {
            run(n, ndim, clustered, graph, brief);
        }
    }
}

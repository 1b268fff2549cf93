//! Speed of the tool log in Rust alone: compress in MB/s of raw payload, parse in MB/s of diagram.
//! CPU time of the thread, so that other work on the machine counts little.
//!
//! `cargo bench --bench mermaid -- calls.jsonl` reads calls, one a line:
//! `{"name": …, "arguments": "text", "result": "text" or null, "is_error": bool}`; without a file, made-up ones.

#![allow(missing_docs, clippy::print_stdout, clippy::unwrap_used)] // A program for the terminal.

use std::time::Duration;

use agentmem::mermaid::{Arguments, Call, Log, Options, parse};
use serde::Deserialize;

#[derive(Deserialize)]
struct Recorded {
    name: String,
    arguments: String,
    result: Option<String>,
    is_error: bool,
}

impl Recorded {
    fn as_call(&self) -> Call<'_> {
        Call {
            name: self.name.as_bytes(),
            arguments: Arguments::Text(&self.arguments),
            result: self.result.as_deref(),
            is_error: self.is_error,
            batch: None,
            parent: None,
        }
    }
}

fn made_up() -> Vec<Recorded> {
    (0..2_000)
        .map(|number| Recorded {
            name: "Bash".to_owned(),
            arguments: format!(r#"{{"command":"grep -rn handler{number} src"}}"#),
            result: Some(
                format!("src/part{number}.ts:{number}: return handler{number}(request)\n")
                    .repeat(20),
            ),
            is_error: number % 20 == 0,
        })
        .collect()
}

/// CPU time of this thread.
#[allow(unsafe_code)]
fn now() -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is a valid timespec that outlives the call.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// The shortest of several runs, in seconds.
fn best(mut run: impl FnMut()) -> f64 {
    (0..9)
        .map(|_| {
            let start = now();
            run();
            now().saturating_sub(start).as_secs_f64()
        })
        .fold(f64::INFINITY, f64::min)
}

fn compress(calls: &[Recorded]) -> agentmem::mermaid::Canvas {
    let mut log = Log::default();
    for call in calls {
        log.append(&call.as_call()).unwrap();
    }
    log.canvas(Options::default())
}

fn main() {
    let file = std::env::args()
        .skip(1)
        .find(|argument| !argument.starts_with("--"));
    let calls = file.map_or_else(made_up, |path| {
        let text = std::fs::read_to_string(path).unwrap();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    });
    let canvas = compress(&calls);
    let text: String = canvas.pages.iter().map(|page| page.text.as_str()).collect();
    assert_eq!(parse(&text).unwrap().steps, canvas.steps);
    let megabytes = |bytes: usize, seconds: f64| bytes as f64 / seconds / 1e6;
    println!(
        "{} calls, {} bytes raw, {} bytes diagram",
        calls.len(),
        canvas.raw_bytes,
        text.len()
    );
    let seconds = best(|| drop(compress(&calls)));
    println!("compress {:.0} MB/s", megabytes(canvas.raw_bytes, seconds));
    let seconds = best(|| drop(parse(&text).unwrap()));
    println!("parse {:.0} MB/s", megabytes(text.len(), seconds));
}

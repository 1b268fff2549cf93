//! Steps to text: grammar `agentmem/1`, in pages that Mermaid can draw.
//!
//! ```text
//! page    = "stateDiagram-v2" NL "%% agentmem/1" { " " key "=" value } NL { line } "%% calls=" n " hash=" hex NL
//! line    = call | loop | "state " id " {" NL { line } "}" NL
//! call    = ( "[*]" | id ) " --> " id ": " tool [ " " arguments ] [ " => " [ "FAIL" | "PENDING" ] [ " " ] [ result ] ] NL
//! loop    = id " --> " id ": repeat " count " to " id NL
//! ```
//! A call that leaves from where the one before left ran beside it; one that leaves from the one before ran after it.
//! `cB --> cA: repeat K to cZ` says that calls A to B came K more times, the last being Z. A page after the first says
//! in its header which call it starts `from`, and which batches (`batch`) began on an earlier page.

use super::escape::{Slot, escape, escape_result};
use super::layout::{continues, id_of, push_number};
use super::model::{Outcome, Step};
use std::fmt::Write as _;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// The first line of every diagram.
pub(super) const TITLE: &str = "stateDiagram-v2";
/// The header's first words: the grammar's name.
pub(super) const HEADER: &str = "%% agentmem/1";
/// The trailer's first words.
pub(super) const TRAILER: &str = "%% calls=";

/// Mermaid takes seconds for more states and refuses to draw more than 50,000 characters.
const PAGE_LINES: usize = 500;
const PAGE_BYTES: usize = 45_000;
/// The longest body of a loop.
const LOOP_CALLS: usize = 8;

/// One diagram's text and the steps in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The Mermaid text, ending in a newline.
    pub text: String,
    /// The first step's index.
    pub start: usize,
    /// One past the last step's index.
    pub end: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    /// `[*]`: nothing of this run stands before it on this page.
    Start,
    Call(u32),
}

#[derive(Clone)]
struct Run {
    last: u32,
    /// Where the current batch left from.
    source: Source,
    /// The current batch's first number.
    first: u32,
    /// Where the next batch leaves from; differs from `last` after a loop.
    exit: Source,
}

impl Run {
    const NEW: Self = Self {
        last: 0,
        source: Source::Start,
        first: 0,
        exit: Source::Start,
    };
}

struct Writer<'a> {
    steps: &'a [Step],

    hashes: Vec<u64>,
    runs: Vec<Run>,
    root: &'a str,
    pages: Vec<Page>,
    text: String,
    lines: usize,
    start: usize,
}

/// Writes the steps as pages; `hash` gives what stands in the trailer of page `n` that holds steps `from..to`.
pub(super) fn write_pages(
    steps: &[Step],
    root: &str,
    before: &[u32],
    open: &[Option<u32>],
    mut hash: impl FnMut(usize, usize, usize) -> u32,
) -> Vec<Page> {
    let continues = continues(steps);
    let hashes = content_hashes(steps, &continues);
    let runs = before
        .iter()
        .enumerate()
        .map(|(depth, last)| Run {
            last: *last,
            source: Source::Start,
            first: open.get(depth).copied().flatten().unwrap_or(*last),
            exit: if *last == 0 {
                Source::Start
            } else {
                Source::Call(*last)
            },
        })
        .collect();
    let mut writer = Writer {
        steps,
        hashes,
        runs,
        root,
        pages: Vec::new(),
        text: String::new(),
        lines: 0,
        start: 0,
    };
    writer.open_page(0);
    let mut at = 0;
    let mut runs = Vec::new();
    while at < steps.len() {
        let (period, count) = writer.find_loop(at);
        let until = at + period * (count + 1);
        runs.clone_from(&writer.runs);
        let (length, lines) = (writer.text.len(), writer.lines);
        writer.unit(at, period, count);
        let full = writer.lines > PAGE_LINES || writer.text.len() + 16 * MAX_CLOSE > PAGE_BYTES;
        if full && at > writer.start {
            writer.text.truncate(length);
            writer.lines = lines;
            std::mem::swap(&mut writer.runs, &mut runs);
            writer.close_page(at, &mut hash);
            writer.open_page(at);
            writer.unit(at, period, count);
        }
        at = until;
    }
    writer.close_page(steps.len(), &mut hash);
    writer.pages
}

/// Lines that may close a page.
const MAX_CLOSE: usize = 12;

/// Equal hashes stand for steps that may be folded into a loop; 0 is a step that never is.
fn content_hashes(steps: &[Step], continues: &[bool]) -> Vec<u64> {
    let mut hasher = Xxh3::new();
    let mut out = Vec::with_capacity(steps.len());
    for (index, step) in steps.iter().enumerate() {
        let has_run = steps
            .get(index + 1)
            .is_some_and(|next| next.place.depth > step.place.depth);
        let joined = step.place.joins || continues.get(index).copied().unwrap_or(false);
        if has_run || joined {
            out.push(0);
            continue;
        }
        hasher.reset();
        hasher.update(&xxh3_64(step.tool.as_bytes()).to_le_bytes());
        hasher.update(&xxh3_64(step.arguments.as_bytes()).to_le_bytes());
        hasher.update(&xxh3_64(step.result.as_bytes()).to_le_bytes());
        hasher.update(&[step.outcome as u8, step.place.depth as u8]);
        out.push(hasher.digest().max(1));
    }
    out
}

impl Writer<'_> {
    /// The body's length and how many more times it comes, at step `at`; `(1, 0)` if folding saves no line.
    fn find_loop(&self, at: usize) -> (usize, usize) {
        let hash = |index: usize| self.hashes.get(index).copied().unwrap_or(0);
        let depth = self.steps.get(at).map(|step| step.place.depth);
        for period in 1..=LOOP_CALLS {
            if hash(at + period - 1) == 0 {
                break;
            }
            let mut matched = 0;
            while hash(at + matched) == hash(at + matched + period)
                && hash(at + matched) != 0
                && self.same(at + matched, at + matched + period)
            {
                matched += 1;
            }
            let count = matched / period;
            // The body must lie in one run: a shallower step between two equal ones would end it.
            let whole = (at..at + period)
                .all(|index| self.steps.get(index).map(|step| step.place.depth) == depth);
            if whole && count * period >= 2 {
                return (period, count);
            }
        }
        (1, 0)
    }

    fn same(&self, a: usize, b: usize) -> bool {
        let (Some(a), Some(b)) = (self.steps.get(a), self.steps.get(b)) else {
            return false;
        };
        // Equal hashes are compared in full; the numbers say that no run ended in between.
        a.tool == b.tool
            && a.arguments == b.arguments
            && a.result == b.result
            && a.outcome == b.outcome
            && a.place.depth == b.place.depth
            && a.place.number < b.place.number
    }

    /// Writes the body at `at` once, and the loop if it comes again.
    fn unit(&mut self, at: usize, period: usize, count: usize) {
        for index in at..at + period {
            self.call(index);
        }
        if count > 0
            && let Some(run) = self.runs.last_mut()
        {
            let (end, begin) = (run.last, run.last + 1 - period as u32);
            run.exit = Source::Call(end);
            run.last += (count * period) as u32;
            run.first = run.last;
            let until = run.last;
            self.id(end);
            self.text.push_str(" --> ");
            self.id(begin);
            let _ = write!(self.text, ": repeat {count} to ");
            self.id(until);
            self.text.push('\n');
            self.lines += 1;
        }
    }

    fn call(&mut self, index: usize) {
        let steps = self.steps;
        let Some(step) = steps.get(index) else { return };
        let depth = step.place.depth;
        while self.runs.len() > depth + 1 {
            self.runs.pop();
            self.text.push_str("}\n");
        }
        while self.runs.len() <= depth {
            self.open_run();
        }
        if let Some(run) = self.runs.last_mut() {
            if !step.place.joins {
                run.source = run.exit;
                run.first = step.place.number;
            }
            run.last = step.place.number;
            run.exit = Source::Call(step.place.number);
        }
        match self.runs.last().map_or(Source::Start, |run| run.source) {
            Source::Start => self.text.push_str("[*]"),
            Source::Call(number) => self.id(number),
        }
        self.text.push_str(" --> ");
        self.id(step.place.number);
        self.text.push_str(": ");
        label(&mut self.text, step);
        self.text.push('\n');
        self.lines += 1;
    }

    fn open_run(&mut self) {
        self.text.push_str("state ");
        let number = self.runs.last().map_or(0, |run| run.last);
        self.id(number);
        self.text.push_str(" {\n");
        self.runs.push(Run::NEW);
    }

    /// Appends the id of call `number` of the current run.
    fn id(&mut self, number: u32) {
        self.text.push('c');
        let above = self.runs.len().saturating_sub(1);
        for run in self.runs.iter().take(above) {
            push_number(&mut self.text, run.last);
            self.text.push('_');
        }
        push_number(&mut self.text, number);
    }

    fn open_page(&mut self, at: usize) {
        self.start = at;
        self.lines = 0;
        self.text.push_str(TITLE);
        self.text.push('\n');
        self.text.push_str(HEADER);
        if !self.root.is_empty() {
            self.text.push_str(" root=");
            escape(&mut self.text, self.root.as_bytes(), Slot::Value);
        }
        let step = self.steps.get(at);
        let depth = step.map_or(0, |step| step.place.depth);
        // A page that starts where a run ended has no use for that run.
        self.runs.truncate(depth + 1);
        let first = step.map_or(1, |step| step.place.number);
        let mut path: Vec<u32> = self.runs.iter().take(depth).map(|run| run.last).collect();
        let open: Vec<String> = self.open_batches(at, &path);
        path.push(first);
        if at > 0 || path != [1] {
            self.text.push_str(" from=");
            self.text.push_str(&id_of(&path));
        }
        if !open.is_empty() {
            self.text.push_str(" batch=");
            self.text.push_str(&open.join(","));
        }
        self.text.push('\n');
        for run in &mut self.runs {
            run.source = Source::Start;
        }
        // On this page nothing of the deepest run stands yet.
        if let Some(run) = self.runs.get_mut(depth) {
            run.exit = Source::Start;
        }
        let runs = std::mem::take(&mut self.runs);
        for run in runs {
            if !self.runs.is_empty() {
                let number = self.runs.last().map_or(0, |run| run.last);
                self.text.push_str("state ");
                self.id(number);
                self.text.push_str(" {\n");
            }
            self.runs.push(run);
        }
    }

    /// Ids of the first calls of batches that began before the page and go on in it.
    fn open_batches(&self, at: usize, path: &[u32]) -> Vec<String> {
        let mut open = Vec::new();
        let Some(step) = self.steps.get(at) else {
            return open;
        };
        let mut goes_on = vec![false; step.place.depth + 1];
        if let Some(flag) = goes_on.last_mut() {
            *flag = step.place.joins;
        }
        // The next step of each run above says whether its batch goes on.
        let mut depth = step.place.depth;
        for later in self.steps.get(at + 1..).unwrap_or_default() {
            if depth == 0 {
                break;
            }
            if later.place.depth < depth {
                depth = later.place.depth;
                if let Some(flag) = goes_on.get_mut(depth) {
                    *flag = later.place.joins;
                }
            }
        }
        for (depth, goes_on) in goes_on.iter().enumerate() {
            if let (true, Some(run)) = (*goes_on, self.runs.get(depth)) {
                let mut ids = path.get(..depth).unwrap_or_default().to_vec();
                ids.push(run.first);
                open.push(id_of(&ids));
            }
        }
        open
    }

    fn close_page(&mut self, at: usize, hash: &mut impl FnMut(usize, usize, usize) -> u32) {
        for _ in 1..self.runs.len() {
            self.text.push_str("}\n");
        }
        let hash = hash(self.pages.len(), self.start, at);
        let _ = writeln!(self.text, "{TRAILER}{} hash={hash:08x}", at - self.start);
        self.pages.push(Page {
            text: std::mem::take(&mut self.text),
            start: self.start,
            end: at,
        });
    }
}

/// Appends `tool arguments => STATUS result`.
pub(super) fn label(out: &mut String, step: &Step) {
    escape(out, step.tool.as_bytes(), Slot::Tool);
    if !step.arguments.is_empty() {
        out.push(' ');
        escape(out, step.arguments.as_bytes(), Slot::Arguments);
    }
    let status = match step.outcome {
        Outcome::Ok => "",
        Outcome::Error => "FAIL",
        Outcome::Pending => "PENDING",
    };
    if status.is_empty() && step.result.is_empty() {
        return;
    }
    out.push_str(" => ");
    out.push_str(status);
    if !step.result.is_empty() {
        if !status.is_empty() {
            out.push(' ');
        }
        escape_result(out, &step.result, step.outcome == Outcome::Ok);
    }
}

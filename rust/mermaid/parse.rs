//! Text to steps: the exact inverse of `write`, and of `view` for the mission's look.
//!
//! Strict: a line that agentmem does not write, a number out of order or a page cut short is an error with its place,
//! never a guess. Indentation, CRLF, blank lines, comments, styles and ```` ```mermaid ```` fences are passed over.

mod label;
mod page;

use self::label::read_label;
use super::escape::Undecodable;
use super::layout::MAX_DEPTH;
use super::model::{MAX_CALLS, Place, Step};
use super::view::ToolsParser;
use super::write::{HEADER, TITLE, TRAILER, write_pages};
use crate::error::{Error, Result};

/// What a diagram says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Document {
    /// The steps, depth first.
    pub steps: Vec<Step>,
    /// The path prefix that the header says was left out.
    pub root: String,
    /// The numbers before the first step, one a depth; `[0]` for a log from its start.
    pub before: Vec<u32>,
    /// For each depth the first number of a batch that began on an earlier page.
    pub open: Vec<Option<u32>>,
    /// The hash in each page's trailer.
    pub hashes: Vec<u32>,
}

impl Document {
    /// The text as agentmem writes it; of agentmem's own text, the same bytes.
    #[must_use]
    pub fn to_text(&self) -> String {
        write_pages(
            &self.steps,
            &self.root,
            &self.before,
            &self.open,
            |page, _, _| self.hashes.get(page).copied().unwrap_or(0),
        )
        .into_iter()
        .map(|page| page.text)
        .collect()
    }
}

/// A place in the text and what is wrong there.
pub(super) struct Fault {
    /// Byte offset in the line.
    pub(super) at: usize,
    pub(super) reason: String,
}

pub(super) fn fault<T>(at: usize, reason: impl Into<String>) -> std::result::Result<T, Fault> {
    Err(Fault {
        at,
        reason: reason.into(),
    })
}

type Parsed<T> = std::result::Result<T, Fault>;

/// Reads what `compress` or a view wrote, one page or all of them.
///
/// # Errors
/// [`Error::MermaidParse`] on anything else, with the line, the column in characters and the reason.
pub fn parse(text: &str) -> Result<Document> {
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
    let mut parser = Parser::default();
    let mut number = 0;
    for line in text.split('\n') {
        number += 1;
        let line = line.strip_suffix('\r').unwrap_or(line);
        let body = line.trim_start_matches([' ', '\t']);
        let indent = line.len() - body.len();
        parser
            .line(body.trim_end_matches([' ', '\t']))
            .map_err(|fault| Error::MermaidParse {
                line: number,
                column: line
                    .get(..indent + fault.at)
                    .map_or(1, |before| before.chars().count() + 1),
                reason: fault.reason,
            })?;
    }
    parser.finish().map_err(|reason| Error::MermaidParse {
        line: number,
        column: 1,
        reason,
    })
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Fence {
    #[default]
    None,
    Open,
    Closed,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    Start,
    Call(u32),
}

struct Run {
    last: u32,
    source: Source,
    exit: Source,
    /// The index of this run's latest step.
    latest: usize,
    /// Whether `[*]` stands for a batch that began on an earlier page.
    may_join: bool,
    /// Whether a call of this run stands on this page.
    on_page: bool,
}

#[derive(Default)]
struct Parser {
    document: Document,
    fence: Fence,
    in_page: bool,
    /// Whether the page said `agentmem/1`, so that its trailer must come.
    has_header: bool,
    has_trailer: bool,
    page_start: usize,
    runs: Vec<Run>,
    /// Runs that were closed since the last call, the deepest first: the next page may go on in them.
    closed: Vec<Run>,
    /// `c7_` of the current run.
    prefix: String,
    /// The `state` lines that the page's header still asks for.
    to_open: usize,
    tools: Option<ToolsParser>,
}

impl Parser {
    fn line(&mut self, line: &str) -> Parsed<()> {
        if line.is_empty() {
            return Ok(());
        }
        if line.starts_with("```") {
            return self.fence_line(line);
        }
        if self.fence == Fence::Closed {
            return fault(0, "text after the closing fence");
        }
        if line == TITLE {
            return self.open_page();
        }
        if !self.in_page {
            return fault(0, format!("the diagram starts with `{TITLE}`"));
        }
        if let Some(rest) = line.strip_prefix("%%") {
            if line == HEADER
                || line
                    .strip_prefix(HEADER)
                    .is_some_and(|rest| rest.starts_with(' '))
            {
                return self.header(line);
            }
            if line.starts_with(TRAILER) {
                return self.trailer(line);
            }
            return if rest.starts_with('{') {
                fault(0, "a directive")
            } else {
                Ok(())
            };
        }
        if line.starts_with("classDef ") || line.starts_with("class ") {
            return Ok(());
        }
        if self.has_trailer {
            return fault(0, "a line after the page's last one");
        }
        if line == "}" {
            return self.close_run();
        }
        if line.starts_with("state \"") {
            return self.tools_mut()?.declare(line);
        }
        if let Some(rest) = line.strip_prefix("state ") {
            return self.open_run(rest);
        }
        self.transition(line)
    }

    fn fence_line(&mut self, line: &str) -> Parsed<()> {
        match (self.fence, line) {
            (Fence::Open, "```") => {
                self.close_page()?;
                self.fence = Fence::Closed;
                Ok(())
            }
            (Fence::None | Fence::Closed, "```mermaid") if !self.in_page => {
                self.fence = Fence::Open;
                Ok(())
            }
            _ => fault(0, "a fence out of place"),
        }
    }

    fn set_prefix(&mut self) {
        self.prefix.clear();
        self.prefix.push('c');
        let above = (self.runs.len() - self.to_open).saturating_sub(1);
        for run in self.runs.iter().take(above) {
            super::layout::push_number(&mut self.prefix, run.last);
            self.prefix.push('_');
        }
    }

    fn finish(mut self) -> std::result::Result<Document, String> {
        match self.fence {
            Fence::Open => return Err("the fence is not closed".to_owned()),
            Fence::Closed => {}
            Fence::None => {
                if !self.in_page {
                    return Err(format!("the diagram starts with `{TITLE}`"));
                }
                self.close_page().map_err(|fault| fault.reason)?;
            }
        }
        if let Some(tools) = self.tools {
            self.document.steps = tools.finish();
        }
        Ok(self.document)
    }

    fn tools_mut(&mut self) -> Parsed<&mut ToolsParser> {
        if self.has_header || self.runs.len() > 1 || !self.document.steps.is_empty() {
            return fault(0, "a line of the tools view inside a log");
        }
        Ok(self.tools.get_or_insert_default())
    }

    fn open_run(&mut self, rest: &str) -> Parsed<()> {
        let Some(id) = rest.strip_suffix(" {") else {
            return fault(0, "a line that agentmem does not write");
        };
        if self.to_open > 0 {
            let number = self
                .runs
                .get(self.runs.len() - 1 - self.to_open)
                .map_or(0, |run| run.last);
            if self.number(id) != Some(number) {
                return fault(6, "the run of another call than the header says");
            }
            self.to_open -= 1;
            self.set_prefix();
            return Ok(());
        }
        let Some(run) = self.runs.last() else {
            return fault(0, "no diagram is open");
        };
        let just_now = run.latest != usize::MAX && run.latest + 1 == self.document.steps.len();
        if !just_now || run.last == 0 || self.number(id) != Some(run.last) {
            return fault(
                6,
                "a sub-agent's run stands right after the call that started it",
            );
        }
        if self.runs.len() > MAX_DEPTH {
            return fault(0, format!("sub-agents nest at most {MAX_DEPTH} deep"));
        }
        self.closed.clear();
        self.runs.push(Run {
            last: 0,
            source: Source::Start,
            exit: Source::Start,
            latest: usize::MAX,
            may_join: false,
            on_page: false,
        });
        self.set_prefix();
        Ok(())
    }

    fn close_run(&mut self) -> Parsed<()> {
        if self.runs.len() < 2
            || self.to_open > 0
            || self.runs.last().is_some_and(|run| run.last == 0)
        {
            return fault(0, "a brace that closes nothing");
        }
        self.closed.extend(self.runs.pop());
        self.set_prefix();
        Ok(())
    }

    /// The number of an id of the current run.
    fn number(&self, id: &str) -> Option<u32> {
        id.strip_prefix(self.prefix.as_str())
            .and_then(canonical_number)
    }

    fn transition(&mut self, line: &str) -> Parsed<()> {
        let Some((source, rest)) = line.split_once(" --> ") else {
            return fault(0, "a line that agentmem does not write");
        };
        let at = source.len() + 5;
        let (target, label) = rest
            .split_once(": ")
            .map_or((rest, None), |(target, label)| (target, Some(label)));
        let is_call = path_of(target).is_some();
        if self.tools.is_some() || (!is_call && self.document.steps.is_empty()) {
            return self.tools_mut()?.transition(source, target, label, at);
        }
        let label_at = at + target.len() + 2;
        let Some(label) = label else {
            return fault(at, "a call without its tool");
        };
        let Some(number) = self.number(target) else {
            return fault(at, "a call of another run");
        };
        let source = match source {
            "[*]" => Source::Start,
            id => match self.number(id) {
                Some(number) => Source::Call(number),
                None => return fault(0, "a call of another run, or no call"),
            },
        };
        if self.to_open > 0 {
            return fault(0, "the header names a sub-agent's run that is not opened");
        }
        self.closed.clear();
        let Some(run) = self.runs.last() else {
            return fault(0, "no diagram is open");
        };
        if let Source::Call(end) = source
            && number <= end
        {
            return self.repeat(end, number, label, label_at);
        }
        if number != run.last + 1 {
            return fault(at, format!("call {} comes next", run.last + 1));
        }
        let carried = source == Source::Start && !run.on_page;
        let joins = if source == run.exit && !(carried && run.may_join) {
            false
        } else if source == run.source && (!carried || run.may_join) {
            true
        } else {
            return fault(
                0,
                "a call leaves from the one before, or from where the one before left",
            );
        };
        let place = Place {
            depth: self.runs.len() - 1,
            number,
            joins,
        };
        let step = read_label(label, place).map_err(|error| shift(&error, label_at))?;
        if self.document.steps.len() >= MAX_CALLS {
            return fault(0, format!("more than {MAX_CALLS} calls"));
        }
        self.document.steps.push(step);
        if let Some(run) = self.runs.last_mut() {
            run.last = number;
            run.source = source;
            run.exit = Source::Call(number);
            run.latest = self.document.steps.len() - 1;
            run.on_page = true;
        }
        Ok(())
    }

    fn repeat(&mut self, end: u32, begin: u32, label: &str, at: usize) -> Parsed<()> {
        let depth = self.runs.len() - 1;
        let Some(run) = self.runs.last_mut() else {
            return fault(0, "no diagram is open");
        };
        let fields = label
            .strip_prefix("repeat ")
            .and_then(|rest| rest.split_once(" to "));
        let Some((Some(count), until)) =
            fields.map(|(count, until)| (canonical_number(count), until))
        else {
            return fault(at, "a repeat reads `repeat 3 to c9`");
        };
        let until = until.strip_prefix(self.prefix.as_str());
        let Some(until) = until.and_then(canonical_number) else {
            return fault(at, "a call of another run");
        };
        let period = end + 1 - begin;
        let total = u64::from(count) * u64::from(period);
        if end != run.last || run.exit != Source::Call(end) || begin == 0 {
            return fault(0, "a repeat leaves from the call before it");
        }
        if u64::from(until) != u64::from(end) + total {
            return fault(at, "the repeat's last call does not fit its count");
        }
        let steps = &mut self.document.steps;
        let period = period as usize;
        if steps.len() as u64 + total > MAX_CALLS as u64 {
            return fault(at, format!("more than {MAX_CALLS} calls"));
        }
        let Some(from) = steps
            .len()
            .checked_sub(period)
            .filter(|from| *from >= self.page_start)
        else {
            return fault(at, "a repeat of calls that are not on this page");
        };
        let body = steps.get(from..).unwrap_or_default().to_vec();
        let plain = body.iter().zip(begin..).all(|(step, number)| {
            step.place.depth == depth && step.place.number == number && (!step.place.joins)
        });
        if !plain {
            return fault(
                at,
                "a repeat holds calls of one run that ran one after another",
            );
        }
        let mut number = end;
        for _ in 0..count {
            for step in &body {
                number += 1;
                let mut step = step.clone();
                step.place.number = number;
                steps.push(step);
            }
        }
        run.last = until;
        run.latest = steps.len() - 1;
        // What follows leaves from the body's end, and nothing joins the last of a loop.
        run.source = Source::Call(u32::MAX);
        Ok(())
    }
}

fn shift(error: &Undecodable, by: usize) -> Fault {
    Fault {
        at: error.at + by,
        reason: error.reason.to_owned(),
    }
}

/// A number as agentmem writes it: at least 1, no sign, no leading zero.
pub(super) fn canonical_number(text: &str) -> Option<u32> {
    if text.is_empty() || text.starts_with('0') || !text.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    text.parse().ok().filter(|number| *number < u32::MAX)
}

/// `[7, 3]` of `c7_3`.
pub(super) fn path_of(id: &str) -> Option<Vec<u32>> {
    let path = id
        .strip_prefix('c')?
        .split('_')
        .map(canonical_number)
        .collect::<Option<Vec<_>>>()?;
    (path.len() <= MAX_DEPTH + 1).then_some(path)
}

//! The mission's look: states are tools, and what came back is a state of its own.
//!
//! ```text
//! [*] --> ReadFile: read package.json
//! ReadFile --> RunTests: npm test
//! RunTests --> FAIL: 3 failures
//! FAIL --> EditFile: fix auth.ts#58;42
//! ```
//! A transition to a tool is a call, labelled with its arguments; one to `FAIL`, `PENDING` or `PASS` tells what came of
//! it. `PASS` is left out where there is nothing to say. Transitions stand in call order, so that the view reads back
//! to the same steps; for that a label starts with one `>` for each sub-agent above it and with `&` where the call ran
//! beside the one before. A tool whose name Mermaid can't have as a state is declared with an alias.

use super::escape::{Slot, escape, escape_result, unescape, unescape_text};
use super::layout::{MAX_DEPTH, references};
use super::log::Canvas;
use super::model::{MAX_CALLS, Name, Outcome, Place, Step};
use super::parse::{Fault, canonical_number, fault, path_of};
use super::write::TITLE;
use rustc_hash::{FxHashMap, FxHashSet};
use std::fmt::Write as _;

/// Words that Mermaid's state grammar takes for itself at the start of a line or as an id, in small letters.
const RESERVED: [&str; 22] = [
    "note",
    "class",
    "default",
    "scale",
    "state",
    "click",
    "href",
    "style",
    "end",
    "fork",
    "join",
    "as",
    "choice",
    "direction",
    "hide",
    "classdef",
    "acctitle",
    "accdescr",
    "fail",
    "pass",
    "pending",
    "title",
];

/// The three states that tell how a call ended.
const ENDS: [(&str, Outcome); 3] = [
    ("PASS", Outcome::Ok),
    ("FAIL", Outcome::Error),
    ("PENDING", Outcome::Pending),
];

/// Whether a tool's name can be a state's id as it is.
fn is_plain(name: &str) -> bool {
    let starts_well = name.bytes().next().is_some_and(|b| b.is_ascii_alphabetic());
    let is_alias = name
        .strip_prefix('t')
        .is_some_and(|rest| canonical_number(rest).is_some());
    starts_well
        && name.len() <= 64
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        && !is_alias
        && path_of(name).is_none()
        && !RESERVED.contains(&name.to_ascii_lowercase().as_str())
}

/// Where a run of the view stands: the state that the next batch leaves from, and the one that the current batch left.
struct Run {
    exit: String,
    source: String,
}

const START: &str = "[*]";

/// The steps as a graph of tools.
#[must_use]
pub fn tools_view(steps: &[Step]) -> String {
    let mut out = format!("{TITLE}\n");
    let mut aliases: FxHashMap<&Name, String> = FxHashMap::default();
    for step in steps {
        if step.tool.as_str().is_some_and(is_plain) || aliases.contains_key(&step.tool) {
            continue;
        }
        let alias = format!("t{}", aliases.len() + 1);
        out.push_str("    state \"");
        if step.tool.as_bytes().is_empty() {
            // Mermaid refuses an empty description.
            escape(&mut out, b"", Slot::Tool);
        } else {
            escape(&mut out, step.tool.as_bytes(), Slot::Description);
        }
        let _ = writeln!(out, "\" as {alias}");
        aliases.insert(&step.tool, alias);
    }
    let mut runs: Vec<Run> = Vec::new();
    for step in steps {
        let depth = step.place.depth;
        enter(&mut runs, depth, step.place.joins);
        let Some(run) = runs.last_mut() else { continue };
        let state = aliases
            .get(&step.tool)
            .map_or_else(|| step.tool.as_str().unwrap_or_default(), String::as_str);
        let _ = write!(out, "    {} --> {state}", run.source);
        let mut marks = ">".repeat(depth);
        if step.place.joins {
            marks.push('&');
        }
        if !marks.is_empty() || !step.arguments.is_empty() {
            out.push_str(": ");
            out.push_str(&marks);
        }
        if !step.arguments.is_empty() {
            if !marks.is_empty() {
                out.push(' ');
            }
            arguments(&mut out, &step.arguments);
        }
        out.push('\n');
        state.clone_into(&mut run.exit);
        if step.outcome != Outcome::Ok || !step.result.is_empty() {
            let end = ENDS
                .iter()
                .find(|(_, outcome)| *outcome == step.outcome)
                .map_or("PASS", |(word, _)| *word);
            let _ = write!(out, "    {state} --> {end}");
            if !step.result.is_empty() {
                out.push_str(": ");
                escape_result(&mut out, &step.result, false);
            }
            out.push('\n');
            end.clone_into(&mut run.exit);
        }
    }
    out
}

/// Arguments that would start like a mark have their first character written as an entity.
fn arguments(out: &mut String, text: &str) {
    if let Some(rest) = text.strip_prefix('>') {
        out.push_str("#62;");
        escape(out, rest.as_bytes(), Slot::Result);
    } else if let Some(rest) = text.strip_prefix('&') {
        out.push_str("#38;");
        escape(out, rest.as_bytes(), Slot::Result);
    } else {
        escape(out, text.as_bytes(), Slot::Result);
    }
}

fn enter(runs: &mut Vec<Run>, depth: usize, joins: bool) {
    runs.truncate(depth + 1);
    while runs.len() <= depth {
        let from = runs
            .last()
            .map_or_else(|| START.to_owned(), |run| run.exit.clone());
        runs.push(Run {
            source: from.clone(),
            exit: from,
        });
    }
    if let Some(run) = runs.last_mut()
        && !joins
    {
        run.source.clone_from(&run.exit);
    }
}

/// The pages with failed states in red; for drawing, not for the model.
#[must_use]
pub fn styled_pages(canvas: &Canvas) -> Vec<String> {
    let references = references(&canvas.steps, &[0], &[]);
    let mut out = Vec::with_capacity(canvas.pages.len());
    for page in &canvas.pages {
        let mut text = page.text.clone();
        // A call that only a loop stands for has no state of its own.
        let drawn: FxHashSet<&str> = page
            .text
            .lines()
            .filter_map(|line| {
                line.split_once(" --> ")?
                    .1
                    .split_once(": ")
                    .map(|(target, _)| target)
            })
            .collect();
        let steps = canvas.steps.get(page.start..page.end).unwrap_or_default();
        let names = references.get(page.start..page.end).unwrap_or_default();
        let failed: Vec<&str> = steps
            .iter()
            .zip(names)
            .filter(|(step, name)| {
                step.outcome == Outcome::Error && drawn.contains(name.id.as_str())
            })
            .map(|(_, name)| name.id.as_str())
            .collect();
        if !failed.is_empty() {
            let _ = write!(
                text,
                "classDef failed fill:#fdd,stroke:#c00\nclass {} failed\n",
                failed.join(",")
            );
        }
        out.push(text);
    }
    out
}

/// Reads the view line by line.
#[derive(Default)]
pub(super) struct ToolsParser {
    names: FxHashMap<String, Name>,
    steps: Vec<Step>,
    runs: Vec<Run>,
    numbers: Vec<u32>,
    /// The state of a call whose end may still come.
    last: Option<String>,
}

impl ToolsParser {
    /// `state "name" as t1`.
    pub(super) fn declare(&mut self, line: &str) -> Result<(), Fault> {
        let fields = line
            .strip_prefix("state \"")
            .and_then(|rest| rest.rsplit_once("\" as "));
        let Some((name, alias)) = fields.filter(|(name, _)| !name.contains('"')) else {
            return fault(0, "an alias reads `state \"name\" as t1`");
        };
        if !self.steps.is_empty() || alias != format!("t{}", self.names.len() + 1) {
            return fault(0, "aliases come first, numbered from t1");
        }
        let bytes = unescape(name, Slot::Tool).map_err(|error| Fault {
            at: error.at + 7,
            reason: error.reason.to_owned(),
        })?;
        self.names.insert(alias.to_owned(), Name::from_valid(bytes));
        Ok(())
    }

    pub(super) fn transition(
        &mut self,
        source: &str,
        target: &str,
        label: Option<&str>,
        at: usize,
    ) -> Result<(), Fault> {
        let label_at = at + target.len() + 2;
        let decode = |text: &str, offset: usize| {
            unescape_text(text, Slot::Result).map_err(|error| Fault {
                at: error.at + label_at + offset,
                reason: error.reason.to_owned(),
            })
        };
        if let Some((end, outcome)) = ENDS.iter().find(|(word, _)| *word == target) {
            let (Some(state), Some(step), Some(run)) = (
                self.last.take(),
                self.steps.last_mut(),
                self.runs.last_mut(),
            ) else {
                return fault(at, "an end without its call");
            };
            if state != source {
                return fault(0, "an end leaves from its call");
            }
            step.outcome = *outcome;
            step.result = decode(label.unwrap_or_default(), 0)?;
            (*end).clone_into(&mut run.exit);
            return Ok(());
        }
        let label = label.unwrap_or_default();
        let marks = label.len() - label.trim_start_matches('>').len();
        let joins = label.get(marks..).is_some_and(|rest| rest.starts_with('&'));
        let skip = marks + usize::from(joins);
        let rest = label.get(skip..).unwrap_or_default();
        let rest = if skip == 0 || rest.is_empty() {
            Some(rest)
        } else {
            rest.strip_prefix(' ')
        };
        let Some(rest) = rest else {
            return fault(label_at, "marks are set off by a space");
        };
        if marks > MAX_DEPTH || marks > self.numbers.len() || (joins && marks >= self.numbers.len())
        {
            return fault(label_at, "a mark of a run that is not open");
        }
        let tool = if let Some(name) = self.names.get(target) {
            name.clone()
        } else if is_plain(target) {
            Name::from(target)
        } else {
            return fault(at, "a state that is no tool");
        };
        enter(&mut self.runs, marks, joins);
        let Some(run) = self.runs.last_mut() else {
            return fault(0, "no run is open");
        };
        if run.source != source {
            return fault(0, format!("the next call leaves from {}", run.source));
        }
        target.clone_into(&mut run.exit);
        self.numbers.truncate(marks + 1);
        if self.numbers.len() <= marks {
            self.numbers.push(0);
        }
        let number = self.numbers.last_mut().map_or(1, |number| {
            *number += 1;
            *number
        });
        if self.steps.len() >= MAX_CALLS {
            return fault(0, format!("more than {MAX_CALLS} calls"));
        }
        let arguments = decode(rest, label.len() - rest.len())?;
        let place = Place {
            depth: marks,
            number,
            joins,
        };
        self.steps.push(Step {
            tool,
            arguments,
            outcome: Outcome::Ok,
            result: String::new(),
            place,
        });
        self.last = Some(target.to_owned());
        Ok(())
    }

    pub(super) fn check_complete(&self) -> Result<(), Fault> {
        if self.steps.is_empty() {
            return fault(0, "aliases without calls");
        }
        Ok(())
    }

    pub(super) fn finish(self) -> Vec<Step> {
        self.steps
    }
}

//! What the output of a command says: tests, compilers, linters, version control, HTTP, packages.

use super::words::separate;
use memchr::memmem::Finder;
use memchr::{memchr, memrchr};
use regex::{Captures, Regex};
use std::fmt::Write as _;
use std::sync::LazyLock;

/// A rule's expression, and words of which every match holds one: finding those is far cheaper.
struct Pattern {
    words: LazyLock<Vec<Finder<'static>>>,
    expression: LazyLock<Option<Regex>>,
}

/// Words that a pattern may have.
const MOST_WORDS: usize = 5;

macro_rules! patterns {
    ($($name:ident = $words:expr, $expression:expr;)*) => {
        $(static $name: Pattern = Pattern {
            words: LazyLock::new(|| $words.map(Finder::new).to_vec()),
            expression: LazyLock::new(|| Regex::new($expression).ok()),
        };)*
    };
}

// Digits are those of ASCII: the classes of Unicode make an expression a hundred times as large.
patterns! {
    EXIT = ["xit"], r"(?i-u:exit(?:ed with)?(?: code| status)?[: ]+(-?[0-9]{1,5}))\b";
    EXUNIT = ["failure"], r"([0-9]+) tests?, ([0-9]+) failures?";
    PYTEST = [" in "], r"^=*(?-u:\s)*((?:[0-9]+ (?:failed|passed|skipped|errors?|xfailed|xpassed|deselected|warnings?)(?:, )?)+) in [0-9.]+";
    JEST = ["Tests:"], r"(?m)^Tests:\s+(.*[0-9]+ total)";
    CARGO = ["test result: "], r"^test result: (?-u:\w+)\. ([0-9]+) passed; ([0-9]+) failed";
    VITEST = ["Tests "], r"(?m)^\s*Tests\s+((?:[0-9]+ \w+(?: \| )?)+)";
    MOCHA_PASS = [" passing"], r"(?m)^\s*([0-9]+) passing";
    MOCHA_FAIL = [" failing"], r"(?m)^\s*([0-9]+) failing";
    UNITTEST = ["Ran "], r"(?m)^Ran ([0-9]+) tests? in [\s\S]*?^(OK|FAILED)( \([^)\n]*\))?";
    NODE_PASS = ["# pass "], r"(?m)^# pass ([0-9]+)";
    NODE_FAIL = ["# fail "], r"(?m)^# fail ([0-9]+)";
    GO = ["ok ", "ok\t", "FAIL\t"], r"(?m)^(ok|FAIL)\s+(\S+/\S+)\s";
    DOTNET = ["Passed:"], r"Failed:\s*([0-9]+), Passed:\s*([0-9]+)";
    RSPEC = ["failure"], r"^([0-9]+) examples?, ([0-9]+) failures?";
    FAILING = ["FAIL", "---- ", "test "], r"(?m)^(?:FAILED\s+([\w./]\S+)|\s*[0-9]+\) test .*\n\s+(\S+:[0-9]+)|---- (\S+) stdout ----|--- FAIL: (\S+)|FAIL +(\S+\.\w+))";
    FRAME = ["File \""], r#"^\s*File "([^"\n]+)", line ([0-9]+)"#;
    RAISED = ["Error", "Exception", "Warning", "Exit", "Interrupt"], r"^([A-Za-z_][\w.]*(?:Error|Exception|Warning|Exit|Interrupt)\b.*)$";
    TSC = ["error TS"], r"^(\S+?)\(([0-9]+),[0-9]+\): error (TS[0-9]+): (.*)$";
    RUSTC = ["--> "], r"(?m)^error(\[E[0-9]+\])?: (.*)\n\s*--> ([^:\n]+):([0-9]+)";
    COMPILER = [" error"], r"^([\w./-]+\.\w+):([0-9]+)(?::[0-9]+)?: (?:fatal )?error:? (.*)$";
    ESLINT = ["problem"], r"([0-9]+) problems? \(([0-9]+) errors?, ([0-9]+) warnings?\)";
    FOUND = ["ound "], r"^\W*(?i-u:found (no|[0-9]+) (errors?|issues?|warnings?|problems?))\b";
    NO_ISSUES = ["issues", "checks passed"], r"(?i-u)found no issues|all checks passed|no issues found";
    COMMIT = ["["], r"^\[(\S+)(?: \([^)]*\))? ([0-9a-f]{7,})\]";
    STAT = [" changed"], r"([0-9]+) files? changed(?:, ([0-9]+) insertions?\(\+\))?(?:, ([0-9]+) deletions?\(-\))?";
    PUSH = [" -> "], r"^\s*\+?\s*([0-9a-f]{7,}\.\.\.?[0-9a-f]{7,})\s+(\S+) -> (\S+)";
    PUSH_NEW = ["[new branch]"], r"(?m)^ \* \[new branch\]\s+(\S+) ->";
    BRANCH = ["On branch ", "## "], r"^(?:On branch |## )([^\s.]+)";
    HTTP = ["HTTP/"], r"^<?\s*HTTP/[0-9.]+ ([0-9]{3})";
    NPM = ["added "], r"^added ([0-9]+) packages?";
    PIP = ["Successfully installed"], r"^Successfully installed (.*)$";
    BACKGROUND = ["background"], r"(?i-u)running in (?:the )?background with id:? (\w+)";
    SQL = [" row", "INSERT ", "UPDATE ", "DELETE "], r"(?m)^(?:\(([0-9]+) rows?\)|(INSERT [0-9]+ [0-9]+|UPDATE [0-9]+|DELETE [0-9]+))\s*$";
    TIMEOUT = ["timed out", "eadline exceeded"], r"(?i-u)timed out after|command timed out|deadline exceeded";
}

static ERROR_WORD: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?i-u:error|fatal|panicked|exception|cannot|can't|not found|no such file",
        r"|permission denied|denied|refused|failed)\b",
    ))
    .ok()
});

static TRACEBACK: LazyLock<Finder<'static>> =
    LazyLock::new(|| Finder::new("Traceback (most recent call last)"));
/// What pytest counted in a run that is worth a word.
static COUNTED: LazyLock<[Finder<'static>; 4]> =
    LazyLock::new(|| [" passed", " failed", " error", " skipped"].map(Finder::new));
static ERROR: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("error"));

impl Pattern {
    fn is_likely(&self, text: &str) -> bool {
        self.words
            .iter()
            .any(|word| word.find(text.as_bytes()).is_some())
    }

    /// The groups of the first match; it may lie in many lines.
    fn captures<'t>(&self, text: &'t str) -> Option<Captures<'t>> {
        self.expression
            .as_ref()
            .filter(|_| self.is_likely(text))
            .and_then(|expression| expression.captures(text))
    }

    /// The groups of each match; it may lie in many lines.
    fn all<'t>(&'static self, text: &'t str) -> impl Iterator<Item = Captures<'t>> {
        let expression = self.expression.iter();
        expression.flat_map(|expression| expression.captures_iter(text))
    }

    /// The groups of each line that matches: lines without one of the words are passed over.
    fn lines<'t>(&'static self, text: &'t str) -> impl Iterator<Item = Captures<'t>> {
        let mut at = 0;
        let bytes = text.as_bytes();
        // Where each word comes next: asked again only once that is passed.
        let mut next = [Some(0); MOST_WORDS];
        std::iter::from_fn(move || {
            let expression = self.expression.as_ref()?;
            loop {
                for (next, word) in next.iter_mut().zip(self.words.iter()) {
                    if next.is_some_and(|next| next <= at) {
                        *next = bytes
                            .get(at..)
                            .and_then(|rest| word.find(rest))
                            .map(|found| at + found);
                    }
                }
                let known = next.iter().take(self.words.len());
                let found = known.copied().flatten().min()?;
                let start = memrchr(b'\n', bytes.get(..found)?).map_or(0, |newline| newline + 1);
                let end = memchr(b'\n', bytes.get(found..)?)
                    .map_or(bytes.len(), |newline| found + newline);
                at = end + 1;
                let captures = text
                    .get(start..end)
                    .and_then(|line| expression.captures(line));
                if captures.is_some() {
                    return captures;
                }
            }
        })
    }

    /// The groups of the first line that matches.
    fn line<'t>(&'static self, text: &'t str) -> Option<Captures<'t>> {
        self.lines(text).next()
    }
}

fn group<'t>(captures: &Captures<'t>, index: usize) -> &'t str {
    captures.get(index).map_or("", |found| found.as_str())
}

/// The exit code that the first lines name, unless it is 0.
pub(super) fn exit_code(text: &str) -> Option<i64> {
    let head = text
        .get(..text.floor_char_boundary(400))
        .unwrap_or_default();
    let code = EXIT
        .line(head)
        .and_then(|found| group(&found, 1).parse::<i64>().ok())?;
    (code != 0).then_some(code)
}

/// The first line that tells what went wrong.
pub(super) fn error_line(text: &str) -> Option<&str> {
    let text = text.trim_start();
    let after_code = if text
        .get(..9)
        .is_some_and(|word| word.eq_ignore_ascii_case("exit code"))
    {
        text.split_once('\n').map_or("", |(_, rest)| rest)
    } else {
        text
    };
    let at = ERROR_WORD
        .as_ref()
        .and_then(|pattern| pattern.find(after_code))?
        .start();
    let start = after_code
        .get(..at)?
        .rfind('\n')
        .map_or(0, |newline| newline + 1);
    let end = after_code
        .get(at..)?
        .find('\n')
        .map_or(after_code.len(), |newline| at + newline);
    after_code.get(start..end).map(str::trim)
}

/// Appends what a command's output says; false if no rule fits.
pub(super) fn summarize(out: &mut String, text: &str) -> bool {
    let start = out.len();
    if let Some(code) = exit_code(text) {
        let _ = write!(out, "exit {code}");
    }
    let told = tests(out, text)
        || compilers(out, text)
        || traceback(out, text)
        || linters(out, text)
        || version_control(out, text)
        || others(out, text);
    if !told && out.len() > start {
        if let Some(line) = error_line(text) {
            separate(out);
            out.push_str(line);
        }
        return true;
    }
    told
}

fn tests(out: &mut String, text: &str) -> bool {
    let start = out.len();
    let mut counts = String::new();
    let holds_failures = EXUNIT.is_likely(text);
    let holds_counts = COUNTED
        .iter()
        .any(|word| word.find(text.as_bytes()).is_some());
    if holds_counts && let Some(found) = PYTEST.line(text) {
        counts.push_str(group(&found, 1).trim_end_matches(", "));
    } else if holds_failures && let Some(found) = RSPEC.line(text) {
        let _ = write!(
            counts,
            "{} examples, {} failed",
            group(&found, 1),
            group(&found, 2)
        );
    } else if holds_failures && let Some(found) = EXUNIT.line(text) {
        let _ = write!(
            counts,
            "{} tests, {} failed",
            group(&found, 1),
            group(&found, 2)
        );
    } else if let Some(found) = JEST.captures(text) {
        counts.push_str(group(&found, 1));
    } else if CARGO.is_likely(text) {
        let (mut passed, mut failed) = (0u64, 0u64);
        for found in CARGO.lines(text) {
            passed += group(&found, 1).parse::<u64>().unwrap_or(0);
            failed += group(&found, 2).parse::<u64>().unwrap_or(0);
        }
        let _ = write!(counts, "{passed} passed, {failed} failed");
    } else if let Some(found) = VITEST.captures(text) {
        counts.push_str(group(&found, 1));
    } else if let Some(found) = MOCHA_PASS.captures(text) {
        let failing = MOCHA_FAIL
            .captures(text)
            .map_or("0", |found| group(&found, 1));
        let _ = write!(counts, "{} passing, {failing} failing", group(&found, 1));
    } else if let Some(found) = UNITTEST.captures(text) {
        let _ = write!(
            counts,
            "{} tests {}{}",
            group(&found, 1),
            group(&found, 2),
            group(&found, 3)
        );
    } else if let Some(found) = NODE_PASS.captures(text) {
        let failed = NODE_FAIL
            .captures(text)
            .map_or("0", |found| group(&found, 1));
        let _ = write!(counts, "{} passed, {failed} failed", group(&found, 1));
    } else if let Some(found) = DOTNET.captures(text) {
        let _ = write!(
            counts,
            "{} failed, {} passed",
            group(&found, 1),
            group(&found, 2)
        );
    } else if GO.captures(text).is_some() {
        let (mut good, mut bad) = (0, 0);
        for found in GO.all(text) {
            if group(&found, 1) == "ok" {
                good += 1;
            } else {
                bad += 1;
            }
        }
        let _ = write!(counts, "{good} packages ok, {bad} failed");
    }
    if counts.is_empty() {
        return false;
    }
    if start > 0 {
        separate(out);
    }
    out.push_str(&counts);
    if let Some(found) = FAILING.captures(text)
        && let Some(name) = (1..=5).find_map(|index| found.get(index))
    {
        let _ = write!(out, " {}", name.as_str());
    }
    true
}

fn compilers(out: &mut String, text: &str) -> bool {
    if ERROR.find(text.as_bytes()).is_none() {
        return false;
    }
    if let Some(found) = TSC.line(text) {
        separate(out);
        let _ = write!(
            out,
            "{} errors {} L{} {} {}",
            TSC.lines(text).count(),
            group(&found, 1),
            group(&found, 2),
            group(&found, 3),
            group(&found, 4)
        );
    } else if let Some(found) = RUSTC.captures(text) {
        separate(out);
        let code = group(&found, 1);
        let _ = write!(
            out,
            "{} errors {code}{}{} L{} {}",
            RUSTC.all(text).count(),
            if code.is_empty() { "" } else { " " },
            group(&found, 3),
            group(&found, 4),
            group(&found, 2)
        );
    } else if let Some(found) = COMPILER.line(text) {
        separate(out);
        let _ = write!(
            out,
            "{} errors {} L{} {}",
            COMPILER.lines(text).count(),
            group(&found, 1),
            group(&found, 2),
            group(&found, 3)
        );
    } else {
        return false;
    }
    true
}

fn traceback(out: &mut String, text: &str) -> bool {
    let Some(start) = TRACEBACK.find(text.as_bytes()) else {
        return false;
    };
    let rest = text.get(start..).unwrap_or_default();
    let (frame, raised) = (FRAME.lines(rest).last(), RAISED.lines(rest).last());
    let Some(raised) = raised else { return false };
    separate(out);
    out.push_str(
        group(&raised, 1)
            .get(..group(&raised, 1).floor_char_boundary(100))
            .unwrap_or_default(),
    );
    if let Some(frame) = frame {
        let file = group(&frame, 1);
        let _ = write!(
            out,
            " {} L{}",
            file.rsplit('/').next().unwrap_or(file),
            group(&frame, 2)
        );
    }
    true
}

fn linters(out: &mut String, text: &str) -> bool {
    if let Some(found) = ESLINT.line(text) {
        separate(out);
        let _ = write!(
            out,
            "{} errors, {} warnings",
            group(&found, 2),
            group(&found, 3)
        );
        return true;
    }
    if NO_ISSUES.line(text).is_some() {
        separate(out);
        out.push_str("no issues");
        return true;
    }
    if let Some(found) = FOUND.line(text) {
        separate(out);
        let _ = write!(out, "{} {}", group(&found, 1), group(&found, 2));
        return true;
    }
    false
}

fn version_control(out: &mut String, text: &str) -> bool {
    let stat = |out: &mut String| {
        STAT.line(text).is_some_and(|found| {
            let _ = write!(out, "{} files", group(&found, 1));
            for (mark, index) in [("+", 2), ("-", 3)] {
                if !group(&found, index).is_empty() {
                    let _ = write!(out, " {mark}{}", group(&found, index));
                }
            }
            true
        })
    };
    let holds_changes = STAT.is_likely(text);
    if holds_changes && let Some(found) = COMMIT.line(text) {
        separate(out);
        let _ = write!(out, "{} {} ", group(&found, 2), group(&found, 1));
        stat(out);
        return true;
    }
    if let Some(found) = PUSH.line(text) {
        separate(out);
        let _ = write!(out, "pushed {} {}", group(&found, 1), group(&found, 3));
        return true;
    }
    if let Some(found) = PUSH_NEW.captures(text) {
        separate(out);
        let _ = write!(out, "pushed new branch {}", group(&found, 1));
        return true;
    }
    if text.contains("On branch ") || text.starts_with("## ") {
        let branch = BRANCH
            .line(text)
            .map_or("", |found| group(&found, 1))
            .to_owned();
        separate(out);
        out.push_str(&branch);
        if text.contains("nothing to commit") {
            out.push_str(" clean");
        } else {
            let changed = text
                .lines()
                .filter(|line| {
                    line.starts_with("\tmodified:")
                        || line.starts_with(" M")
                        || line.starts_with("M ")
                })
                .count();
            let _ = write!(out, " {changed} changed");
        }
        return true;
    }
    let at = out.len();
    separate(out);
    if holds_changes && stat(out) {
        return true;
    }
    out.truncate(at);
    false
}

fn others(out: &mut String, text: &str) -> bool {
    let mut tell = |words: String| {
        separate(out);
        out.push_str(&words);
        true
    };
    if let Some(found) = HTTP.line(text) {
        return tell(format!("HTTP {}", group(&found, 1)));
    }
    if let Some(found) = NPM.line(text) {
        return tell(format!("added {} packages", group(&found, 1)));
    }
    if let Some(found) = PIP.line(text) {
        return tell(format!("installed {}", group(&found, 1)));
    }
    if let Some(found) = BACKGROUND.line(text) {
        return tell(format!("background {}", group(&found, 1)));
    }
    if let Some(found) = SQL.captures(text) {
        let rows = group(&found, 1);
        return tell(if rows.is_empty() {
            group(&found, 2).to_owned()
        } else {
            format!("{rows} rows")
        });
    }
    if text.contains("pre-commit") && text.contains("ailed") {
        return tell("pre-commit failed".to_owned());
    }
    if TIMEOUT.line(text).is_some() {
        return tell("timeout".to_owned());
    }
    false
}

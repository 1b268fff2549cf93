//! What the output of a command says: tests, compilers, linters, version control, HTTP, packages.

use super::words::separate;
use regex::Regex;
use std::fmt::Write as _;
use std::sync::LazyLock;

type Pattern = LazyLock<Option<Regex>>;

macro_rules! patterns {
    ($($name:ident = $pattern:expr;)*) => { $(static $name: Pattern = LazyLock::new(|| Regex::new($pattern).ok());)* };
}

patterns! {
    EXIT = r"(?i)exit(?:ed with)?(?: code| status)?[: ]+(-?\d{1,5})\b";
    EXUNIT = r"(?m)(\d+) tests?, (\d+) failures?";
    PYTEST = r"(?m)^=*\s*((?:\d+ (?:failed|passed|skipped|errors?|xfailed|xpassed|deselected|warnings?)(?:, )?)+) in [\d.]+";
    JEST = r"(?m)^Tests:\s+(.*\d+ total)";
    CARGO = r"(?m)^test result: \w+\. (\d+) passed; (\d+) failed";
    VITEST = r"(?m)^\s*Tests\s+((?:\d+ \w+(?: \| )?)+)";
    MOCHA_PASS = r"(?m)^\s*(\d+) passing";
    MOCHA_FAIL = r"(?m)^\s*(\d+) failing";
    UNITTEST = r"(?m)^Ran (\d+) tests? in [\s\S]*?^(OK|FAILED)( \([^)\n]*\))?";
    NODE_PASS = r"(?m)^# pass (\d+)";
    NODE_FAIL = r"(?m)^# fail (\d+)";
    GO = r"(?m)^(ok|FAIL)\s+(\S+/\S+)\s";
    DOTNET = r"Failed:\s*(\d+), Passed:\s*(\d+)";
    RSPEC = r"(?m)^(\d+) examples?, (\d+) failures?";
    FAILING = r"(?m)^(?:FAILED\s+([\w./]\S+)|\s*\d+\) test .*\n\s+(\S+:\d+)|---- (\S+) stdout ----|--- FAIL: (\S+)|FAIL +(\S+\.\w+))";
    TRACEBACK = r"Traceback \(most recent call last\)";
    FRAME = r#"(?m)^\s*File "([^"\n]+)", line (\d+)"#;
    RAISED = r"(?m)^([A-Za-z_][\w.]*(?:Error|Exception|Warning|Exit|Interrupt)\b.*)$";
    TSC = r"(?m)^(\S+?)\((\d+),\d+\): error (TS\d+): (.*)$";
    RUSTC = r"(?m)^error(\[E\d+\])?: (.*)\n\s*--> ([^:\n]+):(\d+)";
    COMPILER = r"(?m)^([\w./-]+\.\w+):(\d+)(?::\d+)?: (?:fatal )?error:? (.*)$";
    ESLINT = r"(\d+) problems? \((\d+) errors?, (\d+) warnings?\)";
    FOUND = r"(?mi)^\W*found (no|\d+) (errors?|issues?|warnings?|problems?)\b";
    NO_ISSUES = r"(?mi)found no issues|all checks passed|no issues found";
    COMMIT = r"(?m)^\[(\S+)(?: \([^)]*\))? ([0-9a-f]{7,})\]";
    STAT = r"(\d+) files? changed(?:, (\d+) insertions?\(\+\))?(?:, (\d+) deletions?\(-\))?";
    PUSH = r"(?m)^\s*\+?\s*([0-9a-f]{7,}\.\.\.?[0-9a-f]{7,})\s+(\S+) -> (\S+)";
    PUSH_NEW = r"(?m)^ \* \[new branch\]\s+(\S+) ->";
    BRANCH = r"(?m)^(?:On branch |## )([^\s.]+)";
    HTTP = r"(?m)^<?\s*HTTP/[\d.]+ (\d{3})";
    NPM = r"(?m)^added (\d+) packages?";
    PIP = r"(?m)^Successfully installed (.*)$";
    BACKGROUND = r"(?i)running in (?:the )?background with id:? (\w+)";
    SQL = r"(?m)^(?:\((\d+) rows?\)|(INSERT \d+ \d+|UPDATE \d+|DELETE \d+))\s*$";
    TIMEOUT = r"(?i)timed out after|command timed out|deadline exceeded";
    ERROR_WORD = r"(?i)(?:error|fatal|panicked|exception|cannot|can't|not found|no such file|permission denied|denied|refused|failed)\b";
}

/// The pattern's groups, if the text holds one of the words without which it can't fit: finding those is far cheaper.
fn captures<'t>(pattern: &Pattern, words: &[&str], text: &'t str) -> Option<regex::Captures<'t>> {
    if !words.iter().any(|word| text.contains(word)) {
        return None;
    }
    pattern.as_ref().and_then(|pattern| pattern.captures(text))
}

fn group<'t>(captures: &regex::Captures<'t>, index: usize) -> &'t str {
    captures.get(index).map_or("", |found| found.as_str())
}

/// The exit code that the first lines name, unless it is 0.
pub(super) fn exit_code(text: &str) -> Option<i64> {
    let head = text
        .get(..text.floor_char_boundary(400))
        .unwrap_or_default();
    let code =
        captures(&EXIT, &["xit"], head).and_then(|found| group(&found, 1).parse::<i64>().ok())?;
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
    if let Some(found) = captures(&PYTEST, &[" passed", " failed", " error", " skipped"], text) {
        counts.push_str(group(&found, 1).trim_end_matches(", "));
    } else if let Some(found) = captures(&RSPEC, &["failure"], text) {
        let _ = write!(
            counts,
            "{} examples, {} failed",
            group(&found, 1),
            group(&found, 2)
        );
    } else if let Some(found) = captures(&EXUNIT, &["failure"], text) {
        let _ = write!(
            counts,
            "{} tests, {} failed",
            group(&found, 1),
            group(&found, 2)
        );
    } else if let Some(found) = captures(&JEST, &["Tests:"], text) {
        counts.push_str(group(&found, 1));
    } else if text.contains("test result: ") {
        let (mut passed, mut failed) = (0u64, 0u64);
        for found in CARGO.iter().flat_map(|pattern| pattern.captures_iter(text)) {
            passed += group(&found, 1).parse::<u64>().unwrap_or(0);
            failed += group(&found, 2).parse::<u64>().unwrap_or(0);
        }
        let _ = write!(counts, "{passed} passed, {failed} failed");
    } else if let Some(found) = captures(&VITEST, &["Tests "], text) {
        counts.push_str(group(&found, 1));
    } else if let Some(found) = captures(&MOCHA_PASS, &[" passing"], text) {
        let failing =
            captures(&MOCHA_FAIL, &[" failing"], text).map_or("0", |found| group(&found, 1));
        let _ = write!(counts, "{} passing, {failing} failing", group(&found, 1));
    } else if let Some(found) = captures(&UNITTEST, &["Ran "], text) {
        let _ = write!(
            counts,
            "{} tests {}{}",
            group(&found, 1),
            group(&found, 2),
            group(&found, 3)
        );
    } else if let Some(found) = captures(&NODE_PASS, &["# pass "], text) {
        let failed = captures(&NODE_FAIL, &["# fail "], text).map_or("0", |found| group(&found, 1));
        let _ = write!(counts, "{} passed, {failed} failed", group(&found, 1));
    } else if let Some(found) = captures(&DOTNET, &["Passed:"], text) {
        let _ = write!(
            counts,
            "{} failed, {} passed",
            group(&found, 1),
            group(&found, 2)
        );
    } else if captures(&GO, &["ok ", "ok\t", "FAIL\t"], text).is_some() {
        let (mut good, mut bad) = (0, 0);
        for found in GO.iter().flat_map(|pattern| pattern.captures_iter(text)) {
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
    if let Some(found) = captures(&FAILING, &["FAIL", "---- ", "test "], text)
        && let Some(name) = (1..=5).find_map(|index| found.get(index))
    {
        let _ = write!(out, " {}", name.as_str());
    }
    true
}

fn compilers(out: &mut String, text: &str) -> bool {
    let count = |pattern: &Pattern| {
        pattern
            .as_ref()
            .map_or(0, |pattern| pattern.find_iter(text).count())
    };
    if let Some(found) = captures(&TSC, &["error TS"], text) {
        separate(out);
        let _ = write!(
            out,
            "{} errors {} L{} {} {}",
            count(&TSC),
            group(&found, 1),
            group(&found, 2),
            group(&found, 3),
            group(&found, 4)
        );
    } else if let Some(found) = captures(&RUSTC, &["--> "], text) {
        separate(out);
        let code = group(&found, 1);
        let _ = write!(
            out,
            "{} errors {code}{}{} L{} {}",
            count(&RUSTC),
            if code.is_empty() { "" } else { " " },
            group(&found, 3),
            group(&found, 4),
            group(&found, 2)
        );
    } else if let Some(found) = captures(&COMPILER, &["error"], text) {
        separate(out);
        let _ = write!(
            out,
            "{} errors {} L{} {}",
            count(&COMPILER),
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
    let Some(start) = TRACEBACK
        .as_ref()
        .and_then(|pattern| pattern.find(text))
        .map(|found| found.start())
    else {
        return false;
    };
    let rest = text.get(start..).unwrap_or_default();
    let frame = FRAME
        .as_ref()
        .and_then(|pattern| pattern.captures_iter(rest).last());
    let raised = RAISED
        .as_ref()
        .and_then(|pattern| pattern.captures_iter(rest).last());
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
    if let Some(found) = captures(&ESLINT, &["problem"], text) {
        separate(out);
        let _ = write!(
            out,
            "{} errors, {} warnings",
            group(&found, 2),
            group(&found, 3)
        );
        return true;
    }
    if captures(&NO_ISSUES, &["issues", "checks passed"], text).is_some() {
        separate(out);
        out.push_str("no issues");
        return true;
    }
    if let Some(found) = captures(&FOUND, &["ound "], text) {
        separate(out);
        let _ = write!(out, "{} {}", group(&found, 1), group(&found, 2));
        return true;
    }
    false
}

fn version_control(out: &mut String, text: &str) -> bool {
    let stat = |out: &mut String| {
        captures(&STAT, &[" changed"], text).is_some_and(|found| {
            let _ = write!(out, "{} files", group(&found, 1));
            for (mark, index) in [("+", 2), ("-", 3)] {
                if !group(&found, index).is_empty() {
                    let _ = write!(out, " {mark}{}", group(&found, index));
                }
            }
            true
        })
    };
    if let Some(found) = captures(&COMMIT, &[" changed"], text) {
        separate(out);
        let _ = write!(out, "{} {} ", group(&found, 2), group(&found, 1));
        stat(out);
        return true;
    }
    if let Some(found) = captures(&PUSH, &[" -> "], text) {
        separate(out);
        let _ = write!(out, "pushed {} {}", group(&found, 1), group(&found, 3));
        return true;
    }
    if let Some(found) = captures(&PUSH_NEW, &["[new branch]"], text) {
        separate(out);
        let _ = write!(out, "pushed new branch {}", group(&found, 1));
        return true;
    }
    if text.contains("On branch ") || text.starts_with("## ") {
        let branch = captures(&BRANCH, &["On branch ", "## "], text)
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
    if stat(out) {
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
    if let Some(found) = captures(&HTTP, &["HTTP/"], text) {
        return tell(format!("HTTP {}", group(&found, 1)));
    }
    if let Some(found) = captures(&NPM, &["added "], text) {
        return tell(format!("added {} packages", group(&found, 1)));
    }
    if let Some(found) = captures(&PIP, &["Successfully installed"], text) {
        return tell(format!("installed {}", group(&found, 1)));
    }
    if let Some(found) = captures(&BACKGROUND, &["background"], text) {
        return tell(format!("background {}", group(&found, 1)));
    }
    if let Some(found) = captures(&SQL, &[" row", "INSERT ", "UPDATE ", "DELETE "], text) {
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
    if captures(&TIMEOUT, &["timed out", "eadline exceeded"], text).is_some() {
        return tell("timeout".to_owned());
    }
    false
}

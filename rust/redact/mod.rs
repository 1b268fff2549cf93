//! Secrets in text: found by rules, replaced before anything is written.
//!
//! What it promises: spans lie on character boundaries, ascend and do not overlap; text outside them is untouched;
//! redacting a redacted text changes nothing; any text takes linear time. A text without a trigger costs one pass of
//! an automaton and no allocation.
//!
//! Two sorts of rules. Keys with a shape of their own (`rules`) are known by prefix, alphabet and length. Values
//! without a shape (`context`) are known by what stands before them (`password=`, `Authorization:`, `user:…@host`)
//! and must look random, so that prose, variables, hashes and identifiers stay. A key in a shape nobody has listed
//! and with nothing before it is not found.

mod assignment;
mod context;
mod judge;
mod rules;

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, Input, MatchKind};

use self::judge::Strength;
use self::rules::{RULES, Rule};

/// A secret's place in the text it was found in, as byte offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Redaction {
    /// First byte.
    pub start: usize,
    /// Byte after the last.
    pub end: usize,
    /// What it is: `password`, `github-token`, `private-key` and so on.
    pub kind: &'static str,
}

/// What an occurrence of a literal sets off.
#[derive(Clone, Copy)]
enum Trigger {
    Token(&'static Rule, &'static str),
    Key(&'static str, Strength),
    Bearer,
    Basic,
    PrivateKey,
    JsonWebToken,
    UrlPassword,
    BotToken,
    Webhook(&'static str),
}

impl Trigger {
    /// The secret that this trigger's literal, found at `start`, belongs to.
    fn candidate(self, bytes: &[u8], start: usize) -> Option<Candidate> {
        let (span, vagueness) = match self {
            Self::Token(rule, prefix) => {
                (rule.span(bytes, start, prefix), u8::from(rule.is_generic()))
            }
            Self::Key(key, strength) => (
                assignment::span(bytes, start, start + key.len(), strength),
                2,
            ),
            Self::Bearer => (context::bearer(bytes, start), 2),
            Self::Basic => (context::basic(bytes, start), 2),
            Self::PrivateKey => (context::private_key(bytes, start), 0),
            Self::JsonWebToken => (context::json_web_token(bytes, start), 0),
            Self::UrlPassword => (context::url_password(bytes, start), 2),
            Self::BotToken => (context::bot_token(bytes, start), 0),
            Self::Webhook(literal) => (context::webhook(bytes, start + literal.len()), 0),
        };
        span.map(|span| Candidate { span, vagueness })
    }
}

/// Begins every replacement.
const OPENING: &str = "[redacted:";
/// Rounds until a redacted text is stable. A round only widens spans; more than one is rare, more than two unseen.
const MAX_ROUNDS: usize = 8;

struct Automaton {
    literals: AhoCorasick,
    /// For each literal, the triggers of itself and of the literals that begin it.
    triggers: Vec<Vec<Trigger>>,
}

static AUTOMATON: LazyLock<Automaton> = LazyLock::new(|| {
    let mut literals: Vec<&'static str> = Vec::new();
    let mut triggers = Vec::new();
    for rule in RULES {
        for &prefix in rule.prefixes {
            literals.push(prefix);
            triggers.push(Trigger::Token(rule, prefix));
        }
    }
    for &(keys, strength) in assignment::KEYS {
        for &key in keys {
            literals.push(key);
            triggers.push(Trigger::Key(key, strength));
        }
    }
    for (literal, trigger) in [
        ("bearer", Trigger::Bearer),
        ("basic ", Trigger::Basic),
        ("-----begin ", Trigger::PrivateKey),
        ("eyj", Trigger::JsonWebToken),
        ("://", Trigger::UrlPassword),
        (":aa", Trigger::BotToken),
        (
            "hooks.slack.com/services/",
            Trigger::Webhook("hooks.slack.com/services/"),
        ),
        ("/api/webhooks/", Trigger::Webhook("/api/webhooks/")),
    ] {
        literals.push(literal);
        triggers.push(trigger);
    }
    let begins = |shorter: &str, longer: &str| {
        longer
            .as_bytes()
            .get(..shorter.len())
            .is_some_and(|head| head.eq_ignore_ascii_case(shorter.as_bytes()))
    };
    let triggers = literals
        .iter()
        .map(|longer| {
            let pairs = literals.iter().zip(&triggers);
            pairs
                .filter(|(shorter, _)| begins(shorter, longer))
                .map(|(_, &trigger)| trigger)
                .collect()
        })
        .collect();
    // The literals are constants; building can only fail for millions of them.
    #[expect(
        clippy::unwrap_used,
        reason = "a test builds it; the input is constant"
    )]
    let literals = AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .match_kind(MatchKind::LeftmostLongest)
        .kind(Some(AhoCorasickKind::DFA))
        .build(literals)
        .unwrap();
    Automaton { literals, triggers }
});

/// A candidate; of overlapping ones the most specific names the kind.
#[derive(Clone, Copy)]
struct Candidate {
    span: Redaction,
    /// 0 for a key of known shape and issuer, 1 for one of known shape, 2 for one known by its context.
    vagueness: u8,
}

/// Finds the secrets in a text.
///
/// Returns spans in ascending order that do not overlap, each on character boundaries.
#[must_use]
pub fn find(text: &str) -> Vec<Redaction> {
    redact(text).map(|(_, spans)| spans).unwrap_or_default()
}

/// Replaces the secrets in a text by `[redacted:KIND]`; `None` if there are none.
///
/// The spans are byte offsets in `text`.
#[must_use]
pub fn redact(text: &str) -> Option<(String, Vec<Redaction>)> {
    let mut spans = scan(text);
    if spans.is_empty() {
        return None;
    }
    let mut output = replace(text, &spans);
    for _ in 0..MAX_ROUNDS {
        let more = scan(&output);
        if more.is_empty() {
            break;
        }
        spans = widen(&spans, &more);
        output = replace(text, &spans);
    }
    Some((output, spans))
}

fn scan(text: &str) -> Vec<Redaction> {
    let bytes = text.as_bytes();
    let automaton = &*AUTOMATON;
    let mut candidates: Vec<Candidate> = Vec::new();
    // The replacement seen last.
    let mut replaced: (usize, usize) = (0, 0);
    let mut from = 0;
    while let Some(found) = automaton.literals.find(Input::new(bytes).range(from..)) {
        let start = found.start();
        // Literals may overlap, so the search goes on within the one found.
        from = start + 1;
        for &trigger in automaton
            .triggers
            .get(found.pattern().as_usize())
            .into_iter()
            .flatten()
        {
            let Some(candidate) = trigger.candidate(bytes, start) else {
                continue;
            };
            let Redaction {
                start: first,
                end: last,
                ..
            } = candidate.span;
            // Ends of spans lie beside ASCII, so the boundaries hold; they are the promise, so they are checked.
            // What stands in a replacement is ours: its kind may read like a key.
            if first < last
                && text.is_char_boundary(first)
                && text.is_char_boundary(last)
                && !is_in_replacement(text, start, &mut replaced)
            {
                candidates.push(candidate);
            }
        }
    }
    merge(candidates)
}

/// Whether `at` lies inside `[redacted:kind]`. Kinds are short, so a look back of their length is enough.
fn is_in_replacement(text: &str, at: usize, replaced: &mut (usize, usize)) -> bool {
    if at < replaced.1 {
        return at >= replaced.0;
    }
    let bytes = text.as_bytes();
    let from = at.saturating_sub(OPENING.len() + rules::LONGEST_KIND);
    let Some(window) = bytes.get(from..(at + OPENING.len()).min(bytes.len())) else {
        return false;
    };
    let opening = window
        .windows(OPENING.len())
        .rposition(|part| part == OPENING.as_bytes());
    let Some(start) = opening
        .map(|offset| from + offset)
        .filter(|&start| start <= at)
    else {
        return false;
    };
    let body = &bytes[start + OPENING.len()..];
    let length = body
        .iter()
        .take(rules::LONGEST_KIND + 1)
        .position(|&byte| byte == b']');
    let Some(length) = length.filter(|&length| rules::is_kind(&body[..length])) else {
        return false;
    };
    *replaced = (start, start + OPENING.len() + length + 1);
    at < replaced.1
}

fn merge(mut candidates: Vec<Candidate>) -> Vec<Redaction> {
    candidates.sort_unstable_by_key(|candidate| {
        (
            candidate.span.start,
            candidate.span.end,
            candidate.vagueness,
        )
    });
    let mut merged: Vec<Candidate> = Vec::new();
    for next in candidates {
        match merged.last_mut() {
            Some(last) if next.span.start < last.span.end => {
                last.span.end = last.span.end.max(next.span.end);
                if next.vagueness < last.vagueness {
                    last.span.kind = next.span.kind;
                    last.vagueness = next.vagueness;
                }
            }
            _ => merged.push(next),
        }
    }
    merged.into_iter().map(|candidate| candidate.span).collect()
}

fn replace(text: &str, spans: &[Redaction]) -> String {
    let mut output = String::with_capacity(text.len());
    let mut from = 0;
    for span in spans {
        output.push_str(&text[from..span.start]);
        output.push_str(OPENING);
        output.push_str(span.kind);
        output.push(']');
        from = span.end;
    }
    output.push_str(&text[from..]);
    output
}

/// Joins spans of the original with spans found in the redacted text, in offsets of the original.
fn widen(spans: &[Redaction], found: &[Redaction]) -> Vec<Redaction> {
    let mut candidates: Vec<Candidate> = spans
        .iter()
        .map(|&span| Candidate { span, vagueness: 0 })
        .collect();
    for extra in found {
        let start = to_original(spans, extra.start, false);
        let end = to_original(spans, extra.end, true);
        candidates.push(Candidate {
            span: Redaction {
                start,
                end,
                kind: extra.kind,
            },
            vagueness: 1,
        });
    }
    merge(candidates)
}

/// The place in the original of a place in the redacted text; inside a replacement, the secret's start or end.
fn to_original(spans: &[Redaction], at: usize, end: bool) -> usize {
    let mut shift: isize = 0;
    for span in spans {
        let start = span.start.saturating_add_signed(shift);
        let stop = start + OPENING.len() + span.kind.len() + 1;
        if at < stop && (at > start || (at == start && !end)) {
            return if end { span.end } else { span.start };
        }
        if at <= start {
            break;
        }
        shift += (stop - start) as isize - (span.end - span.start) as isize;
    }
    at.saturating_add_signed(-shift)
}

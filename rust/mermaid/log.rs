//! A growing tool log and its canvas.
//!
//! Each call is read once, when it is appended: what may be said of it is kept in a digest of a few hundred bytes, and
//! every level is cut from that. So a canvas after one more call costs no second look at the results, and what is said
//! of a call depends only on the calls before it: a canvas grows at its end.

use super::arguments;
use super::carry::{self, Candidates};
use super::layout::layout;
use super::model::{Call, MAX_CALLS, Name, Outcome, Place, Step};
use super::outcome::{self, Kind};
use super::root::{Root, RootFinder};
use super::tokens::estimate_tokens;
use super::words::cut;
use super::write::{Page, write_pages};
use crate::error::{Error, Result};
use memchr::memmem;
use rustc_hash::{FxHashMap, FxHashSet};
use std::ops::ControlFlow;
use xxhash_rust::xxh3::Xxh3;

/// How much a diagram says of each call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Summaries, and identifiers of results that are likely to be needed again.
    Standard,
    /// Short summaries.
    Brief,
    /// Shorter arguments, and the results of failures only.
    Short,
    /// A few characters of each.
    Terse,
    /// Names and outcomes.
    Names,
}

impl Level {
    /// All levels, the fullest first.
    pub const ALL: [Self; 5] = [
        Self::Standard,
        Self::Brief,
        Self::Short,
        Self::Terse,
        Self::Names,
    ];

    /// The level's public name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::Brief => "brief",
            Self::Short => "short",
            Self::Terse => "terse",
            Self::Names => "names",
        }
    }

    /// Bytes of arguments, of an ok result, of a failure.
    fn limits(self) -> (usize, usize, usize) {
        match self {
            Self::Standard => (100, 80, 110),
            Self::Brief => (34, 20, 40),
            Self::Short => (30, 0, 28),
            Self::Terse => (16, 0, 16),
            Self::Names => (0, 0, 0),
        }
    }
}

/// What a canvas may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// The fullest level to try.
    pub level: Level,
    /// Estimated tokens that the diagram may have.
    pub budget_tokens: Option<usize>,
    /// Take this level whether or not it fits.
    pub is_exact: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            level: Level::Standard,
            budget_tokens: None,
            is_exact: false,
        }
    }
}

/// The share of the raw log that a diagram may have, in bytes and in tokens: the mission's limit.
const MOST_SHARE: f64 = 0.30;
/// The share up to which identifiers are added; the rest is head-room.
const CARRY_SHARE: f64 = 0.235;
/// Bytes of identifiers that one call may add.
const CARRY_BYTES: usize = 420;
/// Bytes and tokens that the first lines may take before results have earned them.
const FIRST_LINES: (f64, f64) = (120.0, 40.0);
/// Bytes of a line besides tool, arguments and result.
const LINE_BYTES: usize = 20;

/// Tokens of a word and the blank before it, at least.
const LEAST_PRICE: f64 = 2.0;

/// Tools whose kind is remembered.
const KNOWN_TOOLS: usize = 64;

/// Bytes of arguments whose words count as named.
const NAMED_BYTES: usize = 2048;

#[derive(Clone)]
struct Digest {
    tool: Name,
    arguments: String,
    result: String,
    outcome: Outcome,
    candidates: Candidates,
    raw_bytes: usize,
    raw_tokens: usize,
    hash: u64,
}

/// Tool calls, read and kept in brief; a copy costs what is kept, not what was read.
#[derive(Clone, Default)]
pub struct Log {
    digests: Vec<Digest>,
    parents: Vec<Option<usize>>,
    batches: Vec<Option<i64>>,
    /// Hashes of words that arguments have named so far: a diagram shows them anyway.
    named: FxHashSet<u64>,
    /// Kinds of the tools seen so far, the first few of them.
    kinds: FxHashMap<String, Kind>,
    root: RootFinder,
    scratch: carry::Scratch,
    raw_bytes: usize,
    raw_tokens: usize,
    told: Told,
}

/// What the standard level says of the first calls: what it says of the next ones depends on it.
#[derive(Clone, Default)]
struct Told {
    root: String,
    words: Vec<(String, String)>,
    carried: FxHashSet<u64>,
    /// What the calls so far would allow, less what their lines have taken.
    bytes: f64,
    tokens: f64,
}

impl Told {
    fn with_root(root: &str) -> Self {
        let (bytes, tokens) = FIRST_LINES;
        Self {
            root: root.to_owned(),
            words: Vec::new(),
            carried: FxHashSet::default(),
            bytes,
            tokens,
        }
    }
}

/// A log's diagram and its measures.
#[derive(Clone, Debug)]
pub struct Canvas {
    /// What the diagram says, depth first.
    pub steps: Vec<Step>,
    /// For each step the index of its call.
    pub order: Vec<usize>,
    /// The Mermaid texts.
    pub pages: Vec<Page>,
    /// The level that was taken.
    pub level: Level,
    /// The path prefix that is left out.
    pub root: String,
    /// Names, compact arguments and results in UTF-8.
    pub raw_bytes: usize,
    /// The same in estimated tokens.
    pub raw_tokens: usize,
    /// All pages.
    pub bytes: usize,
    /// The same in estimated tokens.
    pub tokens: usize,
}

impl Log {
    /// Reads one more call.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] above [`MAX_CALLS`] calls.
    pub fn append(&mut self, call: &Call<'_>) -> Result<()> {
        if self.digests.len() >= MAX_CALLS {
            return Err(Error::InvalidInput(format!(
                "a log holds at most {MAX_CALLS} calls; start another one"
            )));
        }
        let text = call.arguments.as_str();
        let result = call.result.unwrap_or_default();
        let tool = Name::from_bytes(call.name);
        let shown = String::from_utf8_lossy(tool.as_bytes());
        let outcome = match (call.is_error, call.result) {
            (true, _) => Outcome::Error,
            (false, None) => Outcome::Pending,
            (false, Some(_)) => Outcome::Ok,
        };
        let kind = self.kind_of(&shown);
        let (summary, kind) = arguments::summarize(kind, call.arguments);
        let told = outcome::summarize(kind, outcome, call.result);
        let named = &mut self.named;
        let head = text
            .get(..text.floor_char_boundary(NAMED_BYTES))
            .unwrap_or_default();
        let _ = carry::words(head, &mut |_, start, end| {
            named.insert(carry::hash_of(head.get(start..end).unwrap_or_default()));
            ControlFlow::Continue(())
        });
        let candidates = carry::candidates(result, &mut self.scratch, |hash| named.contains(&hash));
        self.root.add(head);
        let raw_bytes = call.name.len() + text.len() + result.len();
        let raw_tokens = estimate_tokens(&shown) + estimate_tokens(text) + estimate_tokens(result);
        self.raw_bytes += raw_bytes;
        self.raw_tokens += raw_tokens;
        let hash = content_hash(call);
        self.digests.push(Digest {
            tool,
            arguments: summary,
            result: told,
            outcome,
            candidates,
            raw_bytes,
            raw_tokens,
            hash,
        });
        self.parents.push(call.parent);
        self.batches.push(call.batch);
        Ok(())
    }

    fn kind_of(&mut self, tool: &str) -> Kind {
        if let Some(kind) = self.kinds.get(tool) {
            return *kind;
        }
        let kind = Kind::of(tool);
        if self.kinds.len() < KNOWN_TOOLS {
            self.kinds.insert(tool.to_owned(), kind);
        }
        kind
    }

    /// Number of calls.
    #[must_use]
    pub fn len(&self) -> usize {
        self.digests.len()
    }

    /// Whether no call was appended yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.digests.is_empty()
    }

    /// The first level, from the one asked for down, that fits the budget and 30 % of the raw log in bytes and tokens;
    /// the last one if none does.
    #[must_use]
    pub fn canvas(&mut self, options: Options) -> Canvas {
        self.first_that_fits(options, true)
    }

    /// The same without the calls' arguments, for a reader who has the calls at hand.
    #[must_use]
    pub fn canvas_of_results(&mut self, options: Options) -> Canvas {
        self.first_that_fits(options, false)
    }

    fn first_that_fits(&mut self, options: Options, with_arguments: bool) -> Canvas {
        let root = self.root.root();
        let order = layout(&self.parents, &self.batches);
        let mut levels = Level::ALL
            .into_iter()
            .filter(|level| *level >= options.level);
        loop {
            let level = levels.next().unwrap_or(Level::Names);
            let canvas = self.draw(level, &root, &order, with_arguments);
            let most = |raw: usize| (raw as f64 * MOST_SHARE) as usize;
            let fits = canvas.bytes <= most(self.raw_bytes)
                && canvas.tokens <= most(self.raw_tokens)
                && options
                    .budget_tokens
                    .is_none_or(|budget| canvas.tokens <= budget);
            if fits || options.is_exact || level == Level::Names {
                return canvas;
            }
        }
    }

    fn draw(
        &mut self,
        level: Level,
        root: &str,
        order: &[(usize, Place)],
        with_arguments: bool,
    ) -> Canvas {
        let told = if level == Level::Standard {
            self.tell_standard(root)
        } else {
            self.tell(level, root)
        };
        let mut told: Vec<Option<(String, String)>> = told.into_iter().map(Some).collect();
        let mut steps = Vec::with_capacity(order.len());
        for (index, place) in order {
            let Some(digest) = self.digests.get(*index) else {
                continue;
            };
            let (arguments, result) = told
                .get_mut(*index)
                .and_then(Option::take)
                .unwrap_or_default();
            steps.push(Step {
                tool: digest.tool.clone(),
                arguments: if with_arguments {
                    arguments
                } else {
                    String::new()
                },
                outcome: digest.outcome,
                result,
                place: *place,
            });
        }
        let hash = |_: usize, from: usize, to: usize| {
            let mut hasher = Xxh3::new();
            for (index, _) in order.get(from..to).unwrap_or_default() {
                hasher.update(
                    &self
                        .digests
                        .get(*index)
                        .map_or(0, |digest| digest.hash)
                        .to_le_bytes(),
                );
            }
            (hasher.digest() >> 32) as u32
        };
        let pages = write_pages(&steps, root, &[0], &[], hash);
        let bytes = pages.iter().map(|page| page.text.len()).sum();
        let tokens = pages.iter().map(|page| estimate_tokens(&page.text)).sum();
        Canvas {
            steps,
            order: order.iter().map(|(index, _)| *index).collect(),
            pages,
            level,
            root: root.to_owned(),
            raw_bytes: self.raw_bytes,
            raw_tokens: self.raw_tokens,
            bytes,
            tokens,
        }
    }

    /// Arguments and result of each call at a level without carried identifiers, in the calls' order.
    fn tell(&self, level: Level, root: &str) -> Vec<(String, String)> {
        let root = Root::of(root);
        self.digests
            .iter()
            .map(|digest| digest.words(level, &root))
            .collect()
    }

    /// The same at the standard level; calls that were told before with the same root are not told anew.
    fn tell_standard(&mut self, root: &str) -> Vec<(String, String)> {
        if self.told.root != root || self.told.words.is_empty() {
            self.told = Told::with_root(root);
        }
        let told = &mut self.told;
        let root = Root::of(root);
        for digest in self.digests.get(told.words.len()..).unwrap_or_default() {
            // Where short calls have taken more than their share, the next ones say less.
            let is_over = told.bytes < 0.0 || told.tokens < 0.0;
            let level = if is_over {
                Level::Brief
            } else {
                Level::Standard
            };
            let (arguments, mut result) = digest.words(level, &root);
            told.bytes += digest.raw_bytes as f64 * CARRY_SHARE;
            told.tokens += digest.raw_tokens as f64 * CARRY_SHARE;
            told.bytes -=
                (LINE_BYTES + digest.tool.as_bytes().len() + arguments.len() + result.len()) as f64;
            told.tokens -= (11 + estimate_tokens(&arguments) + estimate_tokens(&result)) as f64;
            let (bytes, tokens) = (told.bytes, told.tokens);
            let (added, cost) =
                carry_over(digest, &result, &root, &mut told.carried, bytes, tokens);
            if !added.is_empty() {
                told.bytes -= (added.len() + 1) as f64;
                told.tokens -= cost as f64;
                if !result.is_empty() {
                    result.push_str(" | ");
                }
                result.push_str(&added);
            }
            told.words.push((arguments, result));
        }
        told.words.clone()
    }
}

impl Digest {
    /// Arguments and result in the words of a level.
    fn words(&self, level: Level, root: &Root<'_>) -> (String, String) {
        let (most_arguments, most_ok, most_failure) = level.limits();
        let most = if self.outcome == Outcome::Error {
            most_failure
        } else {
            most_ok
        };
        (
            cut(&root.strip(&self.arguments), most_arguments).into_owned(),
            cut(&root.strip(&self.result), most).into_owned(),
        )
    }
}

/// The call's new identifiers that fit, in order of appearance, and their tokens.
fn carry_over(
    digest: &Digest,
    result: &str,
    root: &Root<'_>,
    carried: &mut FxHashSet<u64>,
    bytes: f64,
    tokens: f64,
) -> (String, usize) {
    let (mut bytes, mut tokens) = (bytes.min(CARRY_BYTES as f64), tokens);
    let mut taken = Vec::new();
    let mut cost = 0;
    for (place, word) in digest.candidates.iter() {
        if tokens < LEAST_PRICE {
            break;
        }
        let size = (word.len() + 1) as f64;
        if size > bytes {
            continue;
        }
        let price = estimate_tokens(word) + 1;
        if price as f64 <= tokens
            && memmem::find(result.as_bytes(), word.as_bytes()).is_none()
            && !carry::is_secret(word)
            && carried.insert(carry::hash_of(word))
        {
            bytes -= size;
            tokens -= price as f64;
            cost += price;
            taken.push((place, word));
        }
    }
    taken.sort_unstable();
    let mut out = String::new();
    for (_, word) in taken {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(&root.strip(word));
    }
    (out, cost)
}

fn content_hash(call: &Call<'_>) -> u64 {
    let mut hasher = Xxh3::new();
    for part in [
        call.name,
        call.arguments.as_str().as_bytes(),
        call.result.unwrap_or_default().as_bytes(),
    ] {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    hasher.update(&[u8::from(call.is_error), u8::from(call.result.is_some())]);
    hasher.digest()
}

//! The calls that come in and the steps that a diagram keeps of them.

use std::fmt;

/// The most calls that one log may hold; it also bounds what a few bytes of `repeat` can make [`parse`](super::parse) build.
pub const MAX_CALLS: usize = 1_000_000;

/// A tool's name, kept to the byte: UTF-8 that may also hold lone surrogates, each encoded in three bytes
/// (generalized UTF-8), because a host's JSON may contain them.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Name(Vec<u8>);

impl Name {
    /// Takes generalized UTF-8; bytes that are not become U+FFFD.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let mut out = Vec::with_capacity(bytes.len());
        let mut rest = bytes;
        while !rest.is_empty() {
            match std::str::from_utf8(rest) {
                Ok(text) => {
                    out.extend_from_slice(text.as_bytes());
                    break;
                }
                Err(error) => {
                    let (valid, bad) = rest.split_at(error.valid_up_to());
                    out.extend_from_slice(valid);
                    let used = if let [0xED, 0xA0..=0xBF, 0x80..=0xBF, ..] = bad {
                        out.extend_from_slice(bad.get(..3).unwrap_or_default());
                        3
                    } else {
                        out.extend_from_slice("\u{FFFD}".as_bytes());
                        error.error_len().unwrap_or(bad.len())
                    };
                    rest = bad.get(used..).unwrap_or_default();
                }
            }
        }
        Self(out)
    }

    /// The name in generalized UTF-8.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The name as text, or `None` if it holds a lone surrogate.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        std::str::from_utf8(&self.0).ok()
    }

    pub(super) fn from_valid(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }
}

impl From<&str> for Name {
    fn from(text: &str) -> Self {
        Self(text.as_bytes().to_vec())
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", String::from_utf8_lossy(&self.0))
    }
}

/// A call's arguments as the host has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arguments<'a> {
    /// JSON text.
    Json(&'a str),
    /// Text that may be JSON or anything else.
    Text(&'a str),
}

impl<'a> Arguments<'a> {
    /// The text, whatever it is.
    #[must_use]
    pub fn as_str(&self) -> &'a str {
        match self {
            Self::Json(text) | Self::Text(text) => text,
        }
    }
}

/// One tool call as the host reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call<'a> {
    /// The tool's name in generalized UTF-8 (see [`Name`]).
    pub name: &'a [u8],
    /// What it was called with.
    pub arguments: Arguments<'a>,
    /// What came back; `None` while nothing has.
    pub result: Option<&'a str>,
    /// Whether the host reports a failure.
    pub is_error: bool,
    /// Consecutive siblings of one batch ran in parallel.
    pub batch: Option<i64>,
    /// The index of an earlier call whose sub-agent made this one.
    pub parent: Option<usize>,
}

/// How a call ended, by the host's own flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// It came back.
    Ok,
    /// It failed.
    Error,
    /// Nothing has come back.
    Pending,
}

impl Outcome {
    /// The public word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Error => "error",
            Self::Pending => "pending",
        }
    }
}

/// Where a step stands: steps are listed depth first, a sub-agent's right after the call that started it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// 0 for the log itself, 1 for a sub-agent's run, and so on.
    pub depth: usize,
    /// 1-based number within its run.
    pub number: u32,
    /// Whether it ran in parallel with the previous call of its run.
    pub joins: bool,
}

/// What a diagram keeps of one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The tool's name, exact.
    pub tool: Name,
    /// A few words on the arguments, one line.
    pub arguments: String,
    /// How it ended.
    pub outcome: Outcome,
    /// A few words on the result, one line.
    pub result: String,
    /// Where it stands.
    pub place: Place,
}

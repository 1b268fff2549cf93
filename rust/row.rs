//! A row: everything that a hit shows and a filter needs.

use xxhash_rust::xxh3::Xxh3Default;

use crate::date;
use crate::error::{Error, Result};

/// Longest scope path in bytes; a scope's label is never cut.
pub const LONGEST_SCOPE: usize = 16_384;

/// The tier of conversation turns, whose `subject` is the speaker.
pub const TURN_TIER: u8 = 0;
/// The kind of a fact that tells of something that happens.
const EVENT_KIND: &str = "event";

/// One row of any tier. Times are Unix milliseconds, UTC.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// Unique and stable; ties are ordered by it. In a store: `tier << 56 | number`.
    pub key: u64,
    /// 0 to 31.
    pub tier: u8,
    /// `fact`, `turn` and so on.
    pub kind: String,
    /// A path of `/`-separated segments; `""` is the root.
    pub scope: String,
    /// The group of neighbouring rows.
    pub session: Option<String>,
    /// The place in the session.
    pub position: i64,
    /// What is searched and shown.
    pub text: String,
    /// When the row was written.
    pub created_ms: i64,
    /// When what it tells happened.
    pub event_ms: Option<i64>,
    /// When it begins to be true; `created_ms` where absent. See [`Fixed::begins_ms`].
    pub valid_from_ms: Option<i64>,
    /// When it ceased to be true.
    pub valid_to_ms: Option<i64>,
    /// Not superseded.
    pub is_current: bool,
    /// 0 to 100 in a store; any integer here.
    pub priority: i64,
    /// The trust's place in its order.
    pub trust: i64,
    /// Who or what it is about.
    pub subject: Option<String>,
    /// Any strings; a tag may hold a comma.
    pub tags: Vec<String>,
    /// A JSON object as text; `""` is the empty object.
    pub metadata: String,
    /// Ids of the rows it came from.
    pub sources: Vec<String>,
}

/// The fixed fields that filters read without decoding a row.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Fixed {
    /// See [`Row`].
    pub tier: u8,
    /// See [`Row`].
    pub is_current: bool,
    /// Whether it tells of something that happens at a time, and is known from when it is told.
    pub is_event: bool,
    /// See [`Row`].
    pub created_ms: i64,
    /// See [`Row`].
    pub event_ms: Option<i64>,
    /// See [`Row`].
    pub valid_from_ms: Option<i64>,
    /// See [`Row`].
    pub valid_to_ms: Option<i64>,
    /// See [`Row`].
    pub priority: i64,
    /// See [`Row`].
    pub trust: i64,
}

impl Fixed {
    /// From when it holds. What is planned is known from when it is told: its time is when it happens.
    #[must_use]
    pub fn begins_ms(&self) -> i64 {
        let from = self.valid_from_ms.unwrap_or(self.created_ms);
        if self.is_event {
            from.min(self.created_ms)
        } else {
            from
        }
    }

    /// Whether it depends on the time of asking that it holds.
    #[must_use]
    pub fn is_timed(&self) -> bool {
        self.valid_to_ms.is_some() || self.begins_ms() > self.created_ms
    }
}

/// Where a row stands among others: what fusion reads of each candidate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// A hash of tier, scope and session; 0 where there is no session.
    pub group: u64,
    /// See [`Row`].
    pub position: i64,
    /// See [`Row::time_ms`].
    pub time_ms: i64,
}

impl Row {
    /// When what it tells happened, as far as is known: the event time, else the ISO date that the session's name or
    /// the text begins with, else the time of writing.
    #[must_use]
    pub fn time_ms(&self) -> i64 {
        self.event_ms
            .or_else(|| self.session.as_deref().and_then(date::leading))
            .or_else(|| date::leading(&self.text))
            .unwrap_or(self.created_ms)
    }

    /// Session, position and time in the form that fusion reads.
    #[must_use]
    pub fn place(&self) -> Place {
        let group = self.session.as_deref().map_or(0, |session| {
            let mut hash = Xxh3Default::new();
            hash.update(&[self.tier]);
            hash.update(&(self.scope.len() as u64).to_le_bytes());
            hash.update(self.scope.as_bytes());
            hash.update(session.as_bytes());
            hash.digest().max(1)
        });
        Place {
            group,
            position: self.position,
            time_ms: self.time_ms(),
        }
    }

    /// What of the row is searched by words: its text, and before it the speaker of a turn. A fact's text is written to
    /// stand by itself, and its subject mostly stands in it.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        let speaker = self.subject.as_deref().filter(|_| self.tier == TURN_TIER);
        speaker.into_iter().chain([self.text.as_str()])
    }

    /// The fixed fields.
    #[must_use]
    pub fn fixed(&self) -> Fixed {
        Fixed {
            tier: self.tier,
            is_current: self.is_current,
            is_event: self.kind == EVENT_KIND,
            created_ms: self.created_ms,
            event_ms: self.event_ms,
            valid_from_ms: self.valid_from_ms,
            valid_to_ms: self.valid_to_ms,
            priority: self.priority,
            trust: self.trust,
        }
    }

    /// The metadata, parsed.
    ///
    /// # Errors
    /// `InvalidInput` where it is not a JSON object (nested at most 128 deep).
    pub fn parse_metadata(&self) -> Result<serde_json::Value> {
        if self.metadata.is_empty() || self.metadata == "{}" {
            return Ok(serde_json::Value::Null);
        }
        match serde_json::from_str(&self.metadata) {
            Ok(value @ serde_json::Value::Object(_)) => Ok(value),
            Ok(_) => Err(Error::InvalidInput(format!(
                "the metadata of row {} must be a JSON object",
                self.key
            ))),
            Err(error) => Err(Error::InvalidInput(format!(
                "the metadata of row {} is not JSON: {error}",
                self.key
            ))),
        }
    }

    /// Checks what no later step checks.
    ///
    /// # Errors
    /// `InvalidInput` for a tier over 31 or a scope that is too long.
    pub fn check(&self) -> Result<()> {
        if self.tier > 31 {
            return Err(Error::InvalidInput(format!(
                "row {}: tier {} is not in 0..=31",
                self.key, self.tier
            )));
        }
        if self.scope.len() > LONGEST_SCOPE {
            return Err(Error::InvalidInput(format!(
                "row {}: the scope has {} bytes, at most {LONGEST_SCOPE} are allowed",
                self.key,
                self.scope.len()
            )));
        }
        Ok(())
    }

    /// Appends the variable fields; [`Row::decode`] reads them back.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let mut put = |s: &str| {
            out.extend_from_slice(&(s.len() as u32).to_le_bytes());
            out.extend_from_slice(s.as_bytes());
        };
        put(&self.text);
        put(&self.kind);
        put(&self.scope);
        put(&self.metadata);
        let lists = [
            self.session.as_slice(),
            self.subject.as_slice(),
            &self.tags,
            &self.sources,
        ];
        for list in lists {
            out.extend_from_slice(&(list.len() as u32).to_le_bytes());
            for item in list {
                out.extend_from_slice(&(item.len() as u32).to_le_bytes());
                out.extend_from_slice(item.as_bytes());
            }
        }
    }

    /// The variable fields; the fixed ones are left at their defaults. `None` where the bytes are not a row.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut cursor = Cursor(bytes);
        let mut row = Self {
            text: cursor.string()?,
            kind: cursor.string()?,
            scope: cursor.string()?,
            metadata: cursor.string()?,
            ..Self::default()
        };
        row.session = cursor.list()?.pop();
        row.subject = cursor.list()?.pop();
        row.tags = cursor.list()?;
        row.sources = cursor.list()?;
        Some(row)
    }
}

struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn number(&mut self) -> Option<usize> {
        let (head, rest) = self.0.split_first_chunk::<4>()?;
        self.0 = rest;
        Some(u32::from_le_bytes(*head) as usize)
    }

    fn str(&mut self) -> Option<&'a str> {
        let length = self.number()?;
        let (head, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        std::str::from_utf8(head).ok()
    }

    fn string(&mut self) -> Option<String> {
        self.str().map(str::to_owned)
    }

    fn list(&mut self) -> Option<Vec<String>> {
        let count = self.number()?;
        (0..count).map(|_| self.string()).collect()
    }
}

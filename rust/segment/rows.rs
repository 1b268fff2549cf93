//! The rows of a segment: columns that filters read, and the fields that hits show.
//!
//! Layout, little-endian: the variable fields of each row, one after another; then the columns, each as long as the
//! segment has rows; then a footer of four 8-byte words: rows, bytes of the variable part, version, magic.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use memmap2::Mmap;

use crate::error::Result;
use crate::files::{corrupt, create, map};
use crate::row::{Fixed, Place, Row};
use crate::source::Standing;

pub(crate) const NAME: &str = "rows";
const MAGIC: u64 = u64::from_le_bytes(*b"amemrows");
const VERSION: u64 = 3;
/// Bits of a row's flags.
const CURRENT_FLAG: u8 = 1;
const EVENT_FLAG: u8 = 2;
const FOOTER: usize = 32;
/// Stands for an absent time.
const ABSENT: i64 = i64::MIN;

/// Columns of 8 bytes, in their order in the file.
const WIDE: usize = 11;
const OFFSET: usize = 0;
const KEY: usize = 1;
const CREATED: usize = 2;
const EVENT: usize = 3;
const VALID_FROM: usize = 4;
const VALID_TO: usize = 5;
const POSITION: usize = 6;
const PRIORITY: usize = 7;
const TRUST: usize = 8;
const GROUP: usize = 9;
const TIME: usize = 10;
/// Bytes of a row in all columns: the wide ones, length and order of keys (4 each), length byte, tier, flags.
const ROW_BYTES: usize = WIDE * 8 + 2 * 4 + 3;

/// Writes the rows file of a segment.
pub(crate) struct RowsWriter {
    out: BufWriter<std::fs::File>,
    written: u64,
    wide: [Vec<i64>; WIDE],
    lengths: Vec<u32>,
    length_bytes: Vec<u8>,
    tiers: Vec<u8>,
    flags: Vec<u8>,
    buffer: Vec<u8>,
}

impl RowsWriter {
    pub(crate) fn create(dir: &Path) -> Result<Self> {
        Ok(Self {
            out: BufWriter::with_capacity(256 << 10, create(&dir.join(NAME))?),
            written: 0,
            wide: std::array::from_fn(|_| Vec::new()),
            lengths: Vec::new(),
            length_bytes: Vec::new(),
            tiers: Vec::new(),
            flags: Vec::new(),
            buffer: Vec::new(),
        })
    }

    pub(crate) fn push(&mut self, row: &Row, length: u32, length_byte: u8) -> Result<()> {
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.clear();
        row.encode(&mut buffer);
        self.push_encoded(
            row.key,
            row.place(),
            &row.fixed(),
            &buffer,
            length,
            length_byte,
        )?;
        self.buffer = buffer;
        Ok(())
    }

    /// Appends a row whose variable fields are already encoded.
    pub(crate) fn push_encoded(
        &mut self,
        key: u64,
        place: Place,
        fixed: &Fixed,
        variable: &[u8],
        length: u32,
        length_byte: u8,
    ) -> Result<()> {
        self.out.write_all(variable)?;
        let values = [
            self.written as i64,
            key as i64,
            fixed.created_ms,
            fixed.event_ms.unwrap_or(ABSENT),
            fixed.valid_from_ms.unwrap_or(ABSENT),
            fixed.valid_to_ms.unwrap_or(ABSENT),
            place.position,
            fixed.priority,
            fixed.trust,
            place.group as i64,
            place.time_ms,
        ];
        for (column, value) in self.wide.iter_mut().zip(values) {
            column.push(value);
        }
        self.written += variable.len() as u64;
        self.lengths.push(length);
        self.length_bytes.push(length_byte);
        self.tiers.push(fixed.tier);
        let current = if fixed.is_current { CURRENT_FLAG } else { 0 };
        self.flags
            .push(current | if fixed.is_event { EVENT_FLAG } else { 0 });
        Ok(())
    }

    pub(crate) fn finish(mut self) -> Result<()> {
        let keys: Vec<u64> = self.wide[KEY].iter().map(|&key| key as u64).collect();
        let mut order: Vec<u32> = (0..keys.len() as u32).collect();
        order.sort_unstable_by_key(|&row| keys.get(row as usize).copied());
        for column in &self.wide {
            for value in column {
                self.out.write_all(&value.to_le_bytes())?;
            }
        }
        for value in self.lengths.iter().chain(&order) {
            self.out.write_all(&value.to_le_bytes())?;
        }
        self.out.write_all(&self.length_bytes)?;
        self.out.write_all(&self.tiers)?;
        self.out.write_all(&self.flags)?;
        for word in [keys.len() as u64, self.written, VERSION, MAGIC] {
            self.out.write_all(&word.to_le_bytes())?;
        }
        let file = self
            .out
            .into_inner()
            .map_err(std::io::IntoInnerError::into_error)?;
        file.sync_all()?;
        Ok(())
    }
}

/// The rows file of a segment, mapped. Its checksum was verified before.
pub(crate) struct Rows {
    map: Mmap,
    path: PathBuf,
    count: usize,
    variable: usize,
    keys: Vec<u64>,
    order: Vec<u32>,
    length_bytes: Vec<u8>,
    tokens: u64,
    time_range: (i64, i64),
    has_sessions: bool,
}

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    bytes
        .get(at..)?
        .first_chunk::<8>()
        .map(|chunk| u64::from_le_bytes(*chunk))
}

impl Rows {
    pub(crate) fn open(dir: &Path) -> Result<Self> {
        let path = dir.join(NAME);
        let map = map(&path)?;
        let footer = map
            .len()
            .checked_sub(FOOTER)
            .ok_or_else(|| corrupt(&path, "is too short"))?;
        let read = |at: usize| word(&map, footer + at).unwrap_or_default();
        if read(24) != MAGIC || read(16) != VERSION {
            return Err(corrupt(path, "is not a rows file of this version"));
        }
        let (rows, variable) = (read(0) as usize, read(8) as usize);
        if rows
            .checked_mul(ROW_BYTES)
            .and_then(|columns| columns.checked_add(variable))
            != Some(footer)
            || u32::try_from(rows).is_err()
        {
            return Err(corrupt(path, "its parts do not fit its size"));
        }
        let mut this = Self {
            map,
            path,
            count: rows,
            variable,
            keys: Vec::new(),
            order: Vec::new(),
            length_bytes: Vec::new(),
            tokens: 0,
            time_range: (i64::MAX, i64::MIN),
            has_sessions: false,
        };
        let has_sessions = this.wide(GROUP).any(|group| group != 0);
        this.has_sessions = has_sessions;
        this.time_range = this.times().fold(this.time_range, |(first, last), time| {
            (first.min(time), last.max(time))
        });
        this.keys = this.wide(KEY).map(|key| key as u64).collect();
        let narrow = this.narrow();
        let (words, bytes) = narrow.split_at_checked(8 * rows).unwrap_or_default();
        let (words, _) = words.as_chunks::<4>();
        let words: Vec<u32> = words
            .iter()
            .map(|chunk| u32::from_le_bytes(*chunk))
            .collect();
        let (lengths, order) = words.split_at_checked(rows).unwrap_or_default();
        let tokens = lengths.iter().map(|&length| u64::from(length)).sum();
        let length_bytes = bytes.get(..rows).unwrap_or_default().to_vec();
        this.order = order.to_vec();
        this.tokens = tokens;
        this.length_bytes = length_bytes;
        let keys = &this.keys;
        let is_ascending = this.order.windows(2).all(|pair| {
            let key = |row: u32| keys.get(row as usize).copied();
            key(pair[0]).is_some() && key(pair[0]) < key(pair[1])
        });
        if !is_ascending || this.order.iter().any(|&row| row as usize >= rows) {
            return Err(corrupt(this.path, "its keys are not unique and ordered"));
        }
        Ok(this)
    }

    fn wide(&self, column: usize) -> impl Iterator<Item = i64> + '_ {
        let start = self.variable + column * 8 * self.count;
        let bytes = self
            .map
            .get(start..start + 8 * self.count)
            .unwrap_or_default();
        bytes
            .as_chunks::<8>()
            .0
            .iter()
            .map(|chunk| i64::from_le_bytes(*chunk))
    }

    fn narrow(&self) -> &[u8] {
        self.map
            .get(self.variable + WIDE * 8 * self.count..)
            .unwrap_or_default()
    }

    fn value(&self, column: usize, row: u32) -> i64 {
        if row as usize >= self.count {
            return 0;
        }
        word(
            &self.map,
            self.variable + (column * self.count + row as usize) * 8,
        )
        .unwrap_or(0) as i64
    }

    fn optional(&self, column: usize, row: u32) -> Option<i64> {
        Some(self.value(column, row)).filter(|&value| value != ABSENT)
    }

    fn byte(&self, column: usize, row: u32) -> u8 {
        let at = 8 * self.count + column * self.count + row as usize;
        self.narrow().get(at).copied().unwrap_or(0)
    }

    pub(crate) fn len(&self) -> usize {
        self.count
    }

    pub(crate) fn keys(&self) -> &[u64] {
        &self.keys
    }

    pub(crate) fn length_bytes(&self) -> &[u8] {
        &self.length_bytes
    }

    pub(crate) fn tokens(&self) -> u64 {
        self.tokens
    }

    pub(crate) fn length(&self, row: u32) -> u32 {
        let at = 4 * row as usize;
        self.narrow()
            .get(at..)
            .and_then(|bytes| bytes.first_chunk::<4>())
            .filter(|_| (row as usize) < self.count)
            .map_or(0, |chunk| u32::from_le_bytes(*chunk))
    }

    pub(crate) fn find(&self, key: u64) -> Option<u32> {
        let of = |row: &u32| self.keys.get(*row as usize).copied().unwrap_or(u64::MAX);
        self.order
            .binary_search_by_key(&key, of)
            .ok()
            .and_then(|at| self.order.get(at).copied())
    }

    pub(crate) fn fixed(&self, row: u32) -> Fixed {
        Fixed {
            tier: self.byte(1, row),
            is_current: self.byte(2, row) & CURRENT_FLAG != 0,
            is_event: self.byte(2, row) & EVENT_FLAG != 0,
            created_ms: self.value(CREATED, row),
            event_ms: self.optional(EVENT, row),
            valid_from_ms: self.optional(VALID_FROM, row),
            valid_to_ms: self.optional(VALID_TO, row),
            priority: self.value(PRIORITY, row),
            trust: self.value(TRUST, row),
        }
    }

    pub(crate) fn standing(&self, row: u32) -> Standing {
        let fixed = self.fixed(row);
        Standing {
            tier: fixed.tier,
            is_current: fixed.is_current,
            is_timed: fixed.is_timed(),
        }
    }

    pub(crate) fn group(&self, row: u32) -> u64 {
        self.value(GROUP, row) as u64
    }

    pub(crate) fn position(&self, row: u32) -> i64 {
        self.value(POSITION, row)
    }

    pub(crate) fn place(&self, row: u32) -> Place {
        Place {
            group: self.group(row),
            position: self.position(row),
            time_ms: self.value(TIME, row),
        }
    }

    /// Whether any row is of a session.
    pub(crate) fn has_sessions(&self) -> bool {
        self.has_sessions
    }

    /// The earliest and the latest time.
    pub(crate) fn time_range(&self) -> (i64, i64) {
        self.time_range
    }

    /// The times of all rows, in order.
    pub(crate) fn times(&self) -> impl Iterator<Item = i64> + '_ {
        self.wide(TIME)
    }

    /// The encoded variable fields of a row.
    pub(crate) fn variable(&self, row: u32) -> Result<&[u8]> {
        let start = self.value(OFFSET, row) as usize;
        let end = if row as usize + 1 < self.count {
            self.value(OFFSET, row + 1) as usize
        } else {
            self.variable
        };
        if row as usize >= self.count || end > self.variable {
            return Err(self.broken(row));
        }
        self.map.get(start..end).ok_or_else(|| self.broken(row))
    }

    fn broken(&self, row: u32) -> crate::error::Error {
        corrupt(&self.path, format!("row {row} can't be read"))
    }

    pub(crate) fn row(&self, row: u32) -> Result<Row> {
        let decoded = Row::decode(self.variable(row)?).ok_or_else(|| self.broken(row))?;
        let fixed = self.fixed(row);
        Ok(Row {
            key: self.keys.get(row as usize).copied().unwrap_or(0),
            tier: fixed.tier,
            position: self.value(POSITION, row),
            created_ms: fixed.created_ms,
            event_ms: fixed.event_ms,
            valid_from_ms: fixed.valid_from_ms,
            valid_to_ms: fixed.valid_to_ms,
            is_current: fixed.is_current,
            priority: fixed.priority,
            trust: fixed.trust,
            ..decoded
        })
    }
}

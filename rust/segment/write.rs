//! Making a segment: from tails (a fold) or from segments (a merge). It appears under its name only when whole.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use super::lexical::{Lexical, LexicalWriter, push_term};
use super::rows::RowsWriter;
use super::{Segment, SegmentEntry};
use crate::ann::{WriteOptions, Writer};
use crate::bits::Bitset;
use crate::bm25::length_byte;
use crate::error::Result;
use crate::files::{FileEntry, make_dir, sync_dir};
use crate::source::Source as _;
use crate::tail::Tail;

/// Where the rows of a new segment come from; dead ones are left out, the order stays.
pub enum Source<'a> {
    /// A fold.
    Tails(&'a [(Arc<Tail>, Bitset)]),
    /// A merge, or the rewrite of one segment.
    Segments(&'a [(Arc<Segment>, Bitset)]),
}

/// Writes a segment into `index/name` and gives its entry. `None` where no row is alive.
///
/// # Errors
/// Of the system or an engine; nothing is left behind then.
pub fn write(
    index: &Path,
    name: &str,
    ndim: usize,
    options: WriteOptions,
    source: &Source<'_>,
) -> Result<Option<SegmentEntry>> {
    let temporary = index.join(format!("tmp-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&temporary);
    make_dir(&temporary)?;
    let made = fill(&temporary, name, ndim, options, source).and_then(|entry| {
        if entry.rows == 0 {
            return Ok(None);
        }
        let target = index.join(name);
        let _ = fs::remove_dir_all(&target);
        fs::rename(&temporary, &target)?;
        sync_dir(index)?;
        Ok(Some(entry))
    });
    if !matches!(made, Ok(Some(_))) {
        let _ = fs::remove_dir_all(&temporary);
    }
    made
}

fn fill(
    dir: &Path,
    name: &str,
    ndim: usize,
    options: WriteOptions,
    source: &Source<'_>,
) -> Result<SegmentEntry> {
    let mut writer = RowsWriter::create(dir)?;
    let mut rows = 0;
    let vectors = match source {
        Source::Tails(tails) => {
            let count = tails
                .iter()
                .map(|(tail, dead)| tail.rows() as usize - dead.count())
                .sum();
            let mut lexical = LexicalWriter::create(dir, count)?;
            let (mut terms, mut labels) = (String::new(), String::new());
            for (tail, dead) in *tails {
                for row in alive(tail.rows(), dead) {
                    let Some(held) = tail.borrowed(row) else {
                        continue;
                    };
                    let length = tail.length(row);
                    writer.push(held, length, length_byte(length))?;
                    terms.clear();
                    labels.clear();
                    tail.frequencies(row, |term, frequency| {
                        push_term(&mut terms, term, frequency);
                    });
                    tail.labels_of(row)
                        .iter()
                        .for_each(|label| push_term(&mut labels, label, 1));
                    lexical.push(&terms, &labels)?;
                    rows += 1;
                }
            }
            lexical.finish()?;
            write_vectors(
                dir,
                ndim,
                options,
                tails
                    .iter()
                    .map(|(tail, dead)| (&**tail as &dyn crate::source::Source, dead)),
            )?
        }
        Source::Segments(segments) => {
            for (segment, dead) in *segments {
                for row in alive(segment.rows(), dead) {
                    let key = segment.keys().get(row as usize).copied().unwrap_or(0);
                    let (fixed, length) = (segment.fixed(row), segment.length(row));
                    let variable = segment.rows.variable(row)?;
                    let place = segment.rows.place(row);
                    writer.push_encoded(
                        key,
                        place,
                        &fixed,
                        variable,
                        length,
                        length_byte(length),
                    )?;
                    rows += 1;
                }
            }
            if rows > 0 {
                let parts: Vec<_> = segments
                    .iter()
                    .map(|(segment, dead)| (&segment.lexical, dead))
                    .collect();
                Lexical::merge(&parts, dir)?;
            }
            write_vectors(
                dir,
                ndim,
                options,
                segments
                    .iter()
                    .map(|(segment, dead)| (&**segment as &dyn crate::source::Source, dead)),
            )?
        }
    };
    writer.finish()?;
    let mut files = Vec::new();
    for item in fs::read_dir(dir)? {
        let item = item?;
        let file = item.file_name().to_string_lossy().into_owned();
        if item.path().extension().is_some_and(|end| end == "lock") {
            fs::remove_file(item.path())?;
            continue;
        }
        fs::set_permissions(item.path(), fs::Permissions::from_mode(0o600))?;
        if !vectors.iter().any(|vector| vector.name == file) {
            // tantivy syncs its own files; a second sync of a clean file costs next to nothing.
            fs::File::open(item.path())?.sync_all()?;
            files.push(FileEntry::of(dir, &file)?);
        }
    }
    files.sort_by(|a, b| a.name.cmp(&b.name));
    sync_dir(dir)?;
    Ok(SegmentEntry {
        name: name.to_owned(),
        rows,
        files,
        vectors,
    })
}

fn alive(rows: u32, dead: &Bitset) -> impl Iterator<Item = u32> + '_ {
    (0..rows).filter(|&row| !dead.contains(row))
}

fn write_vectors<'a>(
    dir: &Path,
    ndim: usize,
    options: WriteOptions,
    parts: impl Iterator<Item = (&'a dyn crate::source::Source, &'a Bitset)>,
) -> Result<Vec<FileEntry>> {
    let mut writer = Writer::create(dir, ndim, options)?;
    let mut next = 0;
    for (source, dead) in parts {
        for row in alive(source.rows(), dead) {
            for vector in source.vectors(row)? {
                writer.push(next, &vector)?;
            }
            next += 1;
        }
    }
    let files = writer.finish()?;
    Ok(files
        .into_iter()
        .map(|(name, bytes, xxh3)| FileEntry {
            name,
            bytes,
            xxh3: format!("{xxh3:016x}"),
        })
        .collect())
}

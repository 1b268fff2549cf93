//! A generation on disk: a checksummed manifest over immutable segment folders.
//!
//! The manifest is written last, under another name, synced and renamed; so a crash leaves the former generation or
//! the new one, never a mixture. Folders that neither this nor the former manifest names are deleted.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use crate::bits::Bitset;
use crate::error::Result;
use crate::files::{FileEntry, corrupt, create, reading, sync_dir, write_atomic};
use crate::segment::SegmentEntry;

/// Raised with every change of a file's form.
pub const FORMAT: u32 = 3;
/// The manifest's name.
pub const MANIFEST: &str = "MANIFEST.json";

/// What an index must have been made for to be opened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// See [`FORMAT`].
    pub format: u32,
    /// The store's epoch: changed by whatever makes sequence numbers start anew.
    pub epoch: String,
    /// The id of the embedding space.
    pub space: String,
    /// Dimensions of its vectors.
    pub ndim: usize,
    /// The analyzer's version.
    pub analyzer: u32,
}

/// One segment of a generation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// The segment.
    pub segment: SegmentEntry,
    /// Its dead rows, in a file of the index folder, where there are any.
    pub dead: Option<FileEntry>,
}

/// A generation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// What it was made for.
    pub identity: Identity,
    /// Rises with each publication.
    pub generation: u64,
    /// The last sequence number in it.
    pub watermark: u64,
    /// Its segments, oldest first.
    pub members: Vec<Member>,
    /// Segment folders and files of the generation before, which readers may still open.
    pub former: Vec<String>,
}

const HEAD: &str = "{\"xxh3\":\"";
const MIDDLE: &str = "\",\"manifest\":";

impl Manifest {
    /// Reads the manifest of a folder that must have been made for `identity`; `None` where there is none.
    ///
    /// # Errors
    /// `IndexCorrupt` where it is damaged or made for something else.
    pub fn read(dir: &Path, identity: &Identity) -> Result<Option<Self>> {
        let manifest = Self::read_any(dir)?;
        if let Some(manifest) = &manifest
            && manifest.identity != *identity
        {
            return Err(corrupt(
                dir.join(MANIFEST),
                format!(
                    "was made for {:?}, {identity:?} is needed",
                    manifest.identity
                ),
            ));
        }
        Ok(manifest)
    }

    /// Reads the manifest of a folder; `None` where there is none.
    ///
    /// # Errors
    /// `IndexCorrupt` where it is damaged.
    pub fn read_any(dir: &Path) -> Result<Option<Self>> {
        let path = dir.join(MANIFEST);
        let content = match fs::read(&path) {
            Ok(content) => content,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(reading(&path)(error)),
        };
        let broken = || corrupt(&path, "is not a whole manifest");
        let text = std::str::from_utf8(&content).map_err(|_| broken())?;
        let (sum, body) = text
            .strip_prefix(HEAD)
            .and_then(|rest| rest.strip_suffix("}\n"))
            .and_then(|rest| rest.split_once(MIDDLE))
            .ok_or_else(broken)?;
        if format!("{:016x}", xxh3_64(body.as_bytes())) != sum {
            return Err(broken());
        }
        let manifest: Self = serde_json::from_str(body)
            .map_err(|error| corrupt(&path, format!("can't be read: {error}")))?;
        Ok(Some(manifest))
    }

    /// Publishes the generation, then deletes what nobody names any more.
    ///
    /// # Errors
    /// Of the system; the former generation is in force then.
    pub fn publish(&self, dir: &Path) -> Result<()> {
        let body =
            serde_json::to_string(self).map_err(|error| crate::Error::Engine(error.to_string()))?;
        let sum = xxh3_64(body.as_bytes());
        write_atomic(
            &dir.join(MANIFEST),
            format!("{HEAD}{sum:016x}{MIDDLE}{body}}}\n").as_bytes(),
        )?;
        self.sweep(dir);
        Ok(())
    }

    /// The names of this generation's folders and files.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.members
            .iter()
            .flat_map(|member| {
                let dead = member.dead.as_ref().map(|file| file.name.clone());
                [Some(member.segment.name.clone()), dead]
                    .into_iter()
                    .flatten()
            })
            .collect()
    }

    /// Deletes our folders and files that this generation and the former one don't name. Failing is harmless.
    fn sweep(&self, dir: &Path) {
        let kept: HashSet<String> = self
            .names()
            .into_iter()
            .chain(self.former.iter().cloned())
            .collect();
        let Ok(items) = fs::read_dir(dir) else { return };
        for item in items.flatten() {
            let name = item.file_name().to_string_lossy().into_owned();
            let is_ours = ["segment-", "dead-", "tmp-"]
                .iter()
                .any(|prefix| name.starts_with(prefix));
            if is_ours && !kept.contains(&name) {
                let _ = fs::remove_dir_all(item.path()).or_else(|_| fs::remove_file(item.path()));
            }
        }
    }
}

/// Writes the dead rows of a segment; `None` where there are none.
///
/// # Errors
/// Of the system.
pub fn write_dead(dir: &Path, name: &str, dead: &Bitset) -> Result<Option<FileEntry>> {
    use std::io::Write as _;
    let rows: Vec<u32> = dead.iter().collect();
    if rows.is_empty() {
        return Ok(None);
    }
    let bytes: Vec<u8> = rows.iter().flat_map(|row| row.to_le_bytes()).collect();
    let mut file = create(&dir.join(name))?;
    file.write_all(&bytes)?;
    file.sync_all()?;
    sync_dir(dir)?;
    FileEntry::of(dir, name).map(Some)
}

/// Reads what [`write_dead`] wrote.
///
/// # Errors
/// `IndexCorrupt` where it is missing, damaged or names a row that is not there.
pub fn read_dead(dir: &Path, entry: Option<&FileEntry>, rows: u32) -> Result<Vec<u32>> {
    let Some(entry) = entry else {
        return Ok(Vec::new());
    };
    entry.check(dir)?;
    let path = dir.join(&entry.name);
    let bytes = fs::read(&path).map_err(reading(&path))?;
    let (words, rest) = bytes.as_chunks::<4>();
    let dead: Vec<u32> = words
        .iter()
        .map(|chunk| u32::from_le_bytes(*chunk))
        .collect();
    if !rest.is_empty() || dead.iter().any(|&row| row >= rows) {
        return Err(corrupt(path, "names rows that are not there"));
    }
    Ok(dead)
}

//! Files of the index: written whole, synced, checksummed, never changed.

#![allow(unsafe_code)] // one call, `map`, with its argument beside it

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use memmap2::Mmap;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::Xxh3;

use crate::error::{Error, Result};

/// A file as the manifest names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileEntry {
    /// Name in its folder.
    pub name: String,
    /// Size.
    pub bytes: u64,
    /// `XXH3-64` of the content, in hexadecimal.
    pub xxh3: String,
}

pub(crate) fn corrupt(path: impl Into<PathBuf>, reason: impl Into<String>) -> Error {
    Error::IndexCorrupt {
        path: path.into(),
        reason: reason.into(),
    }
}

/// A missing or unreadable derived file is a corrupt index; other errors of the system pass.
pub(crate) fn reading(path: &Path) -> impl FnOnce(std::io::Error) -> Error {
    let path = path.to_owned();
    move |error| match error.kind() {
        std::io::ErrorKind::NotFound
        | std::io::ErrorKind::IsADirectory
        | std::io::ErrorKind::NotADirectory
        | std::io::ErrorKind::UnexpectedEof
        | std::io::ErrorKind::InvalidData => corrupt(path, error.to_string()),
        _ => Error::Io(error),
    }
}

/// Size and checksum of a file, read through a buffer so that no page of a map is faulted in.
pub(crate) fn checksum(path: &Path) -> Result<(u64, u64)> {
    let mut file = File::open(path).map_err(reading(path))?;
    let mut hasher = Xxh3::new();
    let mut buffer = vec![0; 256 << 10];
    let mut bytes = 0;
    loop {
        let read = file.read(&mut buffer).map_err(reading(path))?;
        if read == 0 {
            return Ok((bytes, hasher.digest()));
        }
        bytes += read as u64;
        hasher.update(buffer.get(..read).unwrap_or_default());
    }
}

impl FileEntry {
    /// The entry of a file as it is now.
    pub(crate) fn of(dir: &Path, name: &str) -> Result<Self> {
        let (bytes, xxh3) = checksum(&dir.join(name))?;
        Ok(Self {
            name: name.to_owned(),
            bytes,
            xxh3: format!("{xxh3:016x}"),
        })
    }

    /// # Errors
    /// `IndexCorrupt` where the file is missing or another one.
    pub(crate) fn check(&self, dir: &Path) -> Result<()> {
        let path = dir.join(&self.name);
        let size = fs::metadata(&path).map_err(reading(&path))?.len();
        if size != self.bytes {
            return Err(corrupt(
                path,
                format!("has {size} bytes, {} were written", self.bytes),
            ));
        }
        let (bytes, xxh3) = checksum(&path)?;
        if bytes != self.bytes || format!("{xxh3:016x}") != self.xxh3 {
            return Err(corrupt(path, "its checksum is not that of the manifest"));
        }
        Ok(())
    }

    pub(crate) fn hash(&self) -> u64 {
        u64::from_str_radix(&self.xxh3, 16).unwrap_or(0)
    }
}

/// Maps a file that this crate wrote.
pub(crate) fn map(path: &Path) -> Result<Mmap> {
    let file = File::open(path).map_err(reading(path))?;
    // SAFETY: files of the index are written under another name, synced and renamed into place; nothing changes or
    // truncates them afterwards, so the map's bytes stay as they are for its life. An unlinked file stays mapped.
    Ok(unsafe { Mmap::map(&file) }?)
}

/// Makes a folder that only its owner can enter.
pub(crate) fn make_dir(path: &Path) -> Result<()> {
    fs::create_dir_all(path)?;
    // On a file system that can't be written an index is still opened to be read.
    if fs::metadata(path)?.permissions().mode() & 0o777 != 0o700 {
        fs::set_permissions(path, fs::Permissions::from_mode(0o700))?;
    }
    Ok(())
}

pub(crate) fn sync_dir(path: &Path) -> Result<()> {
    File::open(path)?.sync_all()?;
    Ok(())
}

/// Creates a file that only its owner can read.
pub(crate) fn create(path: &Path) -> Result<File> {
    Ok(OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)?)
}

/// Writes a file so that after a crash it is there whole or the former one is.
pub(crate) fn write_atomic(path: &Path, content: &[u8]) -> Result<()> {
    let dir = path.parent().unwrap_or(Path::new("."));
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let temporary = dir.join(format!(".{name}.{}.tmp", std::process::id()));
    let written = (|| {
        let mut file = create(&temporary)?;
        file.write_all(content)?;
        file.sync_all()?;
        fs::rename(&temporary, path)?;
        sync_dir(dir)
    })();
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written
}

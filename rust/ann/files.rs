//! Files of a segment: written once with a running checksum, then read and never changed.
#![allow(unsafe_code)] // One memory map.

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use memmap2::Mmap;
use xxhash_rust::xxh3::Xxh3;

use crate::error::{Error, Result};

/// A file as a manifest names it: name within the segment's folder, bytes, xxh3 of its contents.
pub type FileEntry = (String, u64, u64);

/// Bytes gathered before they are hashed and written.
const BUFFER: usize = 256 * 1024;

/// A file being written.
pub(super) struct HashedFile {
    path: PathBuf,
    name: String,
    file: File,
    hasher: Xxh3,
    bytes: u64,
    buffer: Vec<u8>,
}

impl std::fmt::Debug for HashedFile {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("HashedFile")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

impl HashedFile {
    pub(super) fn create(dir: &Path, name: &str) -> Result<Self> {
        let path = dir.join(name);
        let mut options = File::options();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        Ok(Self {
            file: options.open(&path)?,
            path,
            name: name.to_owned(),
            hasher: Xxh3::new(),
            bytes: 0,
            buffer: Vec::with_capacity(BUFFER + 16 * 1024),
        })
    }

    /// Appends `len` bytes that `fill` writes into.
    #[inline]
    pub(super) fn append<T>(&mut self, len: usize, fill: impl FnOnce(&mut [u8]) -> T) -> Result<T> {
        let at = self.buffer.len();
        self.buffer.resize(at + len, 0);
        let result = fill(&mut self.buffer[at..]);
        if self.buffer.len() >= BUFFER {
            self.flush()?;
        }
        Ok(result)
    }

    fn flush(&mut self) -> Result<()> {
        self.hasher.update(&self.buffer);
        self.file.write_all(&self.buffer)?;
        self.bytes += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    pub(super) fn finish(mut self, sync: bool) -> Result<(PathBuf, FileEntry)> {
        self.flush()?;
        if sync {
            self.file.sync_all()?;
        }
        Ok((self.path, (self.name, self.bytes, self.hasher.digest())))
    }
}

/// Makes the error for a derived file that cannot be trusted.
pub(super) fn corrupt(path: &Path, reason: impl Into<String>) -> Error {
    Error::IndexCorrupt {
        path: path.to_owned(),
        reason: reason.into(),
    }
}

/// Opens a file of exactly `bytes` bytes; anything else is a corrupt index.
pub(super) fn open_sized(path: &Path, bytes: u64) -> Result<File> {
    let file = File::open(path).map_err(|error| corrupt(path, format!("cannot open: {error}")))?;
    let found = file.metadata()?.len();
    if found != bytes {
        return Err(corrupt(
            path,
            format!("has {found} bytes, {bytes} were written"),
        ));
    }
    Ok(file)
}

/// Reads a whole file, hands its pieces to `keep`, and compares its checksum.
pub(super) fn read_checked(
    path: &Path,
    mut file: &File,
    expected: u64,
    mut keep: impl FnMut(&[u8]),
) -> Result<()> {
    let mut hasher = Xxh3::new();
    let mut buffer = vec![0_u8; BUFFER];
    loop {
        let count = file.read(&mut buffer)?;
        if count == 0 {
            break;
        }
        hasher.update(&buffer[..count]);
        keep(&buffer[..count]);
    }
    if hasher.digest() == expected {
        Ok(())
    } else {
        Err(corrupt(path, "its contents do not match their checksum"))
    }
}

/// Maps a file for reading.
pub(super) fn map(file: &File) -> Result<Mmap> {
    // SAFETY: files of a segment are published by rename and never written or cut afterwards, so the
    // mapped bytes do not change while they are borrowed; the length was checked at open.
    Ok(unsafe { Mmap::map(file)? })
}

/// Fills `buffer` from `offset` of a file.
pub(super) fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> std::io::Result<()> {
    #[cfg(unix)]
    return std::os::unix::fs::FileExt::read_exact_at(file, buffer, offset);
    #[cfg(windows)]
    {
        let mut done = 0;
        while done < buffer.len() {
            let count = std::os::windows::fs::FileExt::seek_read(
                file,
                &mut buffer[done..],
                offset + done as u64,
            )?;
            if count == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
            done += count;
        }
        Ok(())
    }
}

//! Damage of any file of an index is noticed.

use std::fs;
use std::path::{Path, PathBuf};

use agentmem::Error;

use crate::fixtures::{filled, open, searches};

fn files(dir: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for item in fs::read_dir(dir).unwrap() {
        let path = item.unwrap().path();
        if path.is_dir() {
            all.extend(files(&path));
        } else if path.file_name().unwrap() != "LOCK" {
            all.push(path);
        }
    }
    all.sort();
    all
}

/// Whatever happens to a file: an error that says so, or the same answers.
#[test]
fn damage_is_noticed() {
    let dir = tempfile::tempdir().unwrap();
    let expected = searches(&filled(dir.path())).unwrap();
    let all = files(dir.path());
    assert!(all.len() > 20, "{all:?}");
    let (mut trials, mut noticed) = (0, 0);
    let mut try_it = |what: &str, path: &Path, content: Option<&[u8]>| {
        let before = fs::read(path).unwrap();
        match content {
            Some(content) => fs::write(path, content).unwrap(),
            None => fs::remove_file(path).unwrap(),
        }
        trials += 1;
        match open(dir.path()).and_then(|index| Ok((searches(&index)?, index))) {
            Err(Error::IndexCorrupt { .. }) => noticed += 1,
            Err(other) => panic!("{what} {}: {other}", path.display()),
            // Without its manifest a folder is an empty index with watermark 0: the store applies everything anew.
            Ok((_, index)) if index.watermark() == 0 && index.is_empty() => {}
            Ok((found, _)) => assert_eq!(found, expected, "{what} {}", path.display()),
        }
        fs::write(path, before).unwrap();
    };
    for (number, path) in all.iter().enumerate() {
        let content = fs::read(path).unwrap();
        if content.is_empty() {
            continue;
        }
        for place in [
            0,
            content.len() / 2,
            content.len() - 1,
            (number * 7919) % content.len(),
        ] {
            let mut flipped = content.clone();
            flipped[place] ^= 1 << (number % 8);
            try_it("flipped", path, Some(&flipped));
        }
        try_it("cut", path, Some(&content[..content.len() / 2]));
        try_it("emptied", path, Some(&[]));
        try_it("deleted", path, None);
        let other = fs::read(&all[(number + 5) % all.len()]).unwrap();
        try_it("swapped", path, Some(&other));
    }
    assert!(
        trials >= 150 && noticed * 10 >= trials * 9,
        "{noticed} of {trials}"
    );
}

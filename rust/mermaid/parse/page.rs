//! Where a page begins and ends: its title, header and trailer.

use super::{Parsed, Parser, Run, Source, canonical_number, fault, path_of, shift};
use crate::mermaid::escape::{Slot, unescape_text};
use crate::mermaid::write::{HEADER, TRAILER};

impl Parser {
    pub(super) fn open_page(&mut self) -> Parsed<()> {
        let is_first = self.document.before.is_empty();
        if !is_first {
            if self.in_page {
                self.close_page()?;
            }
            if self.tools.is_some() {
                return fault(0, "a second diagram");
            }
        }
        self.in_page = true;
        self.has_header = false;
        self.has_trailer = false;
        self.page_start = self.document.steps.len();
        if is_first {
            self.document.before = vec![0];
            self.runs = vec![Run {
                last: 0,
                source: Source::Start,
                exit: Source::Start,
                latest: usize::MAX,
                may_join: false,
                on_page: false,
            }];
            self.set_prefix();
        }
        Ok(())
    }

    pub(super) fn header(&mut self, line: &str) -> Parsed<()> {
        if self.has_header || self.document.steps.len() != self.page_start || self.tools.is_some() {
            return fault(0, "a header out of place");
        }
        self.has_header = true;
        let mut at = HEADER.len();
        let mut from = None;
        let mut open = Vec::new();
        for field in line
            .get(HEADER.len()..)
            .unwrap_or_default()
            .split(' ')
            .skip(1)
        {
            at += 1;
            match field.split_once('=') {
                Some(("root", value)) => {
                    let root =
                        unescape_text(value, Slot::Value).map_err(|error| shift(&error, at + 5))?;
                    if self.page_start > 0 && root != self.document.root {
                        return fault(at, "another root than on the page before");
                    }
                    self.document.root = root;
                }
                Some(("from", value)) => match path_of(value) {
                    Some(path) => from = Some(path),
                    None => return fault(at, "`from` needs the id of a call"),
                },
                Some(("batch", value)) => {
                    for id in value.split(',') {
                        match path_of(id) {
                            Some(path) => open.push(path),
                            None => return fault(at, "`batch` needs ids of calls"),
                        }
                    }
                }
                _ => return fault(at, "a header field that agentmem/1 does not have"),
            }
            at += field.len();
        }
        self.start_from(from, &open, at)
    }

    /// Takes up where the page's header says.
    pub(super) fn start_from(
        &mut self,
        from: Option<Vec<u32>>,
        open: &[Vec<u32>],
        at: usize,
    ) -> Parsed<()> {
        let is_first = self.page_start == 0;
        self.runs.extend(self.closed.drain(..).rev());
        let Some(mut before) = from else {
            return if is_first && open.is_empty() {
                Ok(())
            } else {
                fault(0, "a page that does not say what it starts from")
            };
        };
        if let Some(last) = before.last_mut() {
            *last -= 1;
        }
        if is_first {
            self.document.before.clone_from(&before);
            self.document.open = vec![None; before.len()];
        } else {
            let here: Vec<u32> = self.runs.iter().map(|run| run.last).collect();
            if here.get(..before.len()) != Some(before.as_slice())
                && !(here.len() + 1 == before.len()
                    && before.last() == Some(&0)
                    && before.starts_with(&here))
            {
                return fault(at, "a page that does not start where the one before ended");
            }
        }
        let latest: Vec<usize> = self.runs.iter().map(|run| run.latest).collect();
        self.runs.clear();
        for (depth, last) in before.iter().enumerate() {
            let deepest = depth + 1 == before.len();
            let exit = if deepest {
                Source::Start
            } else {
                Source::Call(*last)
            };
            let latest = latest.get(depth).copied().unwrap_or(usize::MAX);
            self.runs.push(Run {
                last: *last,
                source: Source::Start,
                exit,
                latest,
                may_join: false,
                on_page: false,
            });
        }
        for path in open {
            let depth = path.len() - 1;
            let (Some(run), Some(first)) = (self.runs.get_mut(depth), path.last()) else {
                return fault(at, "a batch of a run that is not open");
            };
            if before.get(..depth) != path.get(..depth) || *first > run.last || *first == 0 {
                return fault(at, "a batch of a run that is not open");
            }
            run.may_join = true;
            if is_first && let Some(slot) = self.document.open.get_mut(depth) {
                *slot = Some(*first);
            }
        }
        self.to_open = self.runs.len() - 1;
        self.set_prefix();
        Ok(())
    }

    pub(super) fn trailer(&mut self, line: &str) -> Parsed<()> {
        if !self.has_header || self.has_trailer {
            return fault(0, "a trailer out of place");
        }
        let rest = line.get(TRAILER.len()..).unwrap_or_default();
        let fields = rest.split_once(" hash=").and_then(|(count, hash)| {
            let well =
                hash.len() == 8 && hash.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
            Some((
                canonical_number(count).or((count == "0").then_some(0))?,
                u32::from_str_radix(hash, 16).ok().filter(|_| well)?,
            ))
        });
        let Some((count, hash)) = fields else {
            return fault(0, "a trailer reads `%% calls=3 hash=0123abcd`");
        };
        let found = self.document.steps.len() - self.page_start;
        if count as usize != found {
            return fault(
                TRAILER.len(),
                format!("{count} calls are announced, {found} are there"),
            );
        }
        if self.runs.len() > 1 {
            return fault(0, "a sub-agent's run is not closed");
        }
        self.document.hashes.push(hash);
        self.has_trailer = true;
        Ok(())
    }

    pub(super) fn close_page(&mut self) -> Parsed<()> {
        if !self.in_page {
            return fault(0, "a fence without a diagram");
        }
        if self.has_header && !self.has_trailer {
            return fault(
                0,
                "the page's last line (`%% calls=…`) is missing: the text was cut",
            );
        }
        if self.runs.len() > 1 {
            return fault(0, "a sub-agent's run is not closed");
        }
        if let Some(tools) = self.tools.as_ref() {
            tools.check_complete()?;
        }
        self.in_page = false;
        Ok(())
    }
}

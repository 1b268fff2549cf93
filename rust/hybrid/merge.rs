//! Which segments become one, and making them one.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use super::fold::{Shown, carry, members, new_name, note_dead_files};
use super::state::{Held, State};
use super::{Index, Place};
use crate::bits::Bitset;
use crate::error::Result;
use crate::segment::{Segment, WriteSource, write};
use crate::source::Source as _;

/// Segments of one size tier that make a merge due; also the factor between tiers.
const TIER_FACTOR: u32 = 8;
/// Live rows of the smallest tier.
const TIER_BASE: u32 = 1_000;
/// At rest the smaller segments are joined to a larger one that they reach this part of: searches visit few segments
/// then, and a row is rewritten at most about this many times for each doubling.
const REST_PART: u64 = 8;
/// More rows than these are not rewritten for the sake of rest: that would be felt at close.
const REST_ROWS: u64 = 1 << 18;
/// Dead rows, in percent, that make the rewrite of a segment due.
const DEAD_PERCENT: u32 = 25;

impl Index {
    /// Merges one set of segments of a size tier, or rewrites one with many dead rows; false where nothing is due.
    pub(super) fn merge_once(&self, dir: &Path, settle: bool) -> Result<bool> {
        let (names, parts, rest, watermark, generation) = {
            let state = self.state.read();
            let names = due(&state, settle);
            if names.is_empty() {
                return Ok(false);
            }
            let is_part = |held: &&Held<Segment>| names.contains(&held.source.entry().name);
            let parts: Vec<(Arc<Segment>, Bitset)> = state
                .segments
                .iter()
                .filter(is_part)
                .map(Held::snapshot)
                .collect();
            let rest: Vec<Shown> = members(&state)
                .into_iter()
                .filter(|shown| !names.contains(&shown.segment.entry().name))
                .collect();
            (names, parts, rest, state.watermark, state.generation + 1)
        };
        let options = self.options();
        let entry = write(
            dir,
            &new_name(generation),
            self.ndim(),
            options,
            &WriteSource::Segments(&parts),
        )?;
        let made = self.open_made(dir, entry)?;
        let mut all = rest;
        all.extend(
            made.iter()
                .map(|segment| Shown::new(Arc::clone(segment), Bitset::default())),
        );
        let manifest = self.publish(dir, &all, watermark, generation)?;

        let mut state = self.state.write();
        let segments = std::mem::take(&mut state.segments);
        let (merged, rest): (Vec<_>, Vec<_>) = segments
            .into_iter()
            .partition(|held| names.contains(&held.source.entry().name));
        state.segments = rest;
        if let Some(segment) = made {
            let mut held = Held::new(segment);
            let parts = merged
                .iter()
                .zip(&parts)
                .map(|(held, (_, dead))| (&held.live, dead, held.source.rows()));
            carry(&mut held, parts)?;
            state.segments.push(held);
        }
        state.generation = generation;
        note_dead_files(&mut state, manifest);
        drop(state);
        if let Place::Private(_) = self.place {
            for held in merged
                .iter()
                .filter(|held| held.source.path().starts_with(dir))
            {
                let _ = fs::remove_dir_all(held.source.path());
            }
        }
        Ok(true)
    }
}

/// Names of the segments to be made one; empty where nothing is due.
pub(super) fn due(state: &State, settle: bool) -> Vec<String> {
    let tier = |held: &Held<Segment>| {
        let live = held.source.rows() - held.live.dead_rows;
        (live / TIER_BASE)
            .checked_ilog(TIER_FACTOR)
            .map_or(0, |tier| tier + 1)
    };
    let name = |held: &Held<Segment>| held.source.entry().name.clone();
    for wanted in 0..16 {
        let members: Vec<String> = state
            .segments
            .iter()
            .filter(|held| tier(held) == wanted)
            .map(name)
            .collect();
        if members.len() >= TIER_FACTOR as usize {
            return members;
        }
    }
    let worn = state
        .segments
        .iter()
        .find(|held| held.dead_percent() > DEAD_PERCENT);
    let worn: Vec<String> = worn.map(name).into_iter().collect();
    if worn.is_empty() && settle {
        return due_at_rest(state);
    }
    worn
}

/// The largest set of segments that together reach a part of the smallest larger one; with that one.
fn due_at_rest(state: &State) -> Vec<String> {
    let mut sizes: Vec<(u64, &str)> = state
        .segments
        .iter()
        .map(|held| {
            let live = u64::from(held.source.rows() - held.live.dead_rows);
            (live, held.source.entry().name.as_str())
        })
        .collect();
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    let mut below: u64 = sizes.iter().map(|(size, _)| size).sum();
    for (place, (size, _)) in sizes.iter().enumerate() {
        let all = below;
        below -= size;
        if place + 1 < sizes.len() && below * REST_PART >= *size && all <= REST_ROWS {
            return sizes
                .iter()
                .skip(place)
                .map(|(_, name)| (*name).to_owned())
                .collect();
        }
    }
    Vec::new()
}

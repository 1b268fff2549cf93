//! Which terms the live scenes of a clusterer hold: how rare a term is, how near scenes are to terms.
//!
//! Scenes have slots, places that the caller gives. Sums over a scene's terms run in the order in which it came by them,
//! sums over a text's terms in that of the text, whatever other scenes there are: the same history gives the same
//! numbers to the last bit.

use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

/// Stands before a term that names one thing.
pub const IDENTIFIER_MARK: char = '#';
/// Openings count twice.
const HALF: f64 = 2.0;
const SMOOTH: f64 = 0.5;
/// Entries of a scene that may be gone before the rest move up.
const MOST_GONE: usize = 256;

/// The terms of the live scenes.
#[derive(Debug, Default)]
pub struct TermIndex {
    /// How many openings all scenes hold.
    pub units: i64,
    identifier: f64,
    numbers: FxHashMap<Box<str>, usize>,
    terms: Vec<Term>,
    families: FxHashMap<Box<str>, BTreeMap<usize, u32>>,
    scenes: Vec<Scene>,
}

#[derive(Debug)]
struct Term {
    text: Box<str>,
    /// What all scenes count of it.
    frequency: i64,
    is_identifier: bool,
    /// The slots of the scenes that hold it, with the logarithm of their counts.
    holders: Vec<(usize, f64)>,
}

#[derive(Debug)]
struct Scene {
    norm: f64,
    /// Term, count, logarithm; a count of 0 is gone.
    entries: Vec<(usize, i64, f64)>,
    places: FxHashMap<usize, usize>,
}

impl Default for Scene {
    fn default() -> Self {
        Self {
            norm: 1.0,
            entries: Vec::new(),
            places: FxHashMap::default(),
        }
    }
}

/// What a numbered identifier shares with its siblings.
fn family(term: &str) -> Option<&str> {
    let name = term.trim_end_matches(|letter: char| letter.is_ascii_digit());
    (name.len() < term.len() && term.starts_with(IDENTIFIER_MARK)).then_some(name)
}

/// What a count of a scene weighs.
fn log_count(count: i64) -> f64 {
    (count as f64 / HALF).ln_1p()
}

impl TermIndex {
    /// An index without scenes; `identifier` is the factor on the rarity of terms that name one thing.
    #[must_use]
    pub fn new(identifier: f64) -> Self {
        Self {
            identifier,
            ..Self::default()
        }
    }

    /// How many slots there are.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.scenes.len()
    }

    /// Take over what a scene counts of some terms; 0 where it holds one no more.
    pub fn change<'a>(&mut self, slot: usize, counts: impl IntoIterator<Item = (&'a str, i64)>) {
        if slot >= self.scenes.len() {
            self.scenes.resize_with(slot + 1, Scene::default);
        }
        for (text, count) in counts {
            self.set(slot, text, count);
        }
        if let Some(scene) = self.scenes.get_mut(slot)
            && scene.entries.len() > 2 * scene.places.len() + MOST_GONE
        {
            scene.entries.retain(|entry| entry.1 > 0);
            for (at, entry) in scene.entries.iter().enumerate() {
                scene.places.insert(entry.0, at);
            }
        }
    }

    fn set(&mut self, slot: usize, text: &str, count: i64) {
        let number = match self.numbers.get(text) {
            Some(&number) => number,
            None if count <= 0 => return,
            None => self.number_new(text),
        };
        let (Some(scene), Some(term)) = (self.scenes.get_mut(slot), self.terms.get_mut(number))
        else {
            return;
        };
        let log = log_count(count);
        let place = scene.places.get(&number).copied();
        let Some(entry) = place.and_then(|at| scene.entries.get_mut(at)) else {
            if count > 0 {
                scene.places.insert(number, scene.entries.len());
                scene.entries.push((number, count, log));
                term.frequency += count;
                term.holders.push((slot, log));
                self.relate(slot, text, true);
            }
            return;
        };
        term.frequency += count.max(0) - entry.1;
        if count > 0 {
            (entry.1, entry.2) = (count, log);
            if let Some(holder) = term.holders.iter_mut().find(|holder| holder.0 == slot) {
                holder.1 = log;
            }
            return;
        }
        entry.1 = 0;
        scene.places.remove(&number);
        term.holders.retain(|holder| holder.0 != slot);
        self.relate(slot, text, false);
    }

    fn number_new(&mut self, text: &str) -> usize {
        let number = self.terms.len();
        self.numbers.insert(text.into(), number);
        self.terms.push(Term {
            text: text.into(),
            frequency: 0,
            is_identifier: text.starts_with(IDENTIFIER_MARK),
            holders: Vec::new(),
        });
        number
    }

    fn relate(&mut self, slot: usize, text: &str, comes: bool) {
        let Some(name) = family(text) else { return };
        if comes {
            let held = self.families.entry(name.into()).or_default();
            *held.entry(slot).or_default() += 1;
        } else if let Some(held) = self.families.get_mut(name)
            && let Some(count) = held.get_mut(&slot)
        {
            *count -= 1;
            if *count == 0 {
                held.remove(&slot);
            }
        }
    }

    /// Empty a slot.
    pub fn leave(&mut self, slot: usize) {
        let Some(scene) = self.scenes.get_mut(slot) else {
            return;
        };
        let gone = std::mem::take(scene);
        for (number, count, _) in gone.entries.into_iter().filter(|entry| entry.1 > 0) {
            let Some(term) = self.terms.get_mut(number) else {
                continue;
            };
            term.frequency -= count;
            term.holders.retain(|holder| holder.0 != slot);
            if term.is_identifier {
                let text = term.text.clone();
                self.relate(slot, &text, false);
            }
        }
    }

    /// The inverse frequency of a term over the openings of the scenes.
    fn rarity(&self, frequency: i64, is_identifier: bool) -> f64 {
        let share = (self.units as f64 + 1.0) / (frequency as f64 / HALF + SMOOTH);
        share.ln_1p() * if is_identifier { self.identifier } else { 1.0 }
    }

    fn rarity_of(&self, text: &str, term: Option<&Term>) -> f64 {
        let frequency = term.map_or(0, |term| term.frequency);
        self.rarity(frequency, text.starts_with(IDENTIFIER_MARK))
    }

    /// The terms of a scene with their weights.
    fn weighted(&self, slot: usize) -> impl Iterator<Item = (&Term, f64, f64)> {
        let entries = self
            .scenes
            .get(slot)
            .map_or(&[][..], |scene| &scene.entries);
        entries
            .iter()
            .filter(|entry| entry.1 > 0)
            .filter_map(|entry| {
                let term = self.terms.get(entry.0)?;
                let rarity = self.rarity(term.frequency, term.is_identifier);
                Some((term, entry.2, rarity))
            })
    }

    /// Make the length of the weighted counts of a scene anew, and keep it.
    pub fn measure(&mut self, slot: usize) -> f64 {
        let squares = self
            .weighted(slot)
            .map(|(_, log, rarity)| (log * rarity) * (log * rarity));
        let norm = squares.sum::<f64>().sqrt();
        self.set_norm(slot, norm);
        norm
    }

    /// Keep a length that was measured before.
    pub fn set_norm(&mut self, slot: usize, norm: f64) {
        if let Some(scene) = self.scenes.get_mut(slot) {
            scene.norm = if norm > 0.0 { norm } else { 1.0 };
        }
    }

    /// How near each scene is to a text's terms and their counts: a cosine times `factor`, less `sibling` where a scene
    /// knows a numbered sibling of an identifier and not itself; -inf without anything in common.
    #[must_use]
    pub fn scores(&self, terms: &[(&str, i64)], factor: f64, sibling: f64) -> Vec<f64> {
        let mut scores = vec![0.0; self.scenes.len()];
        let mut squares = 0.0;
        for &(text, count) in terms {
            let term = self
                .numbers
                .get(text)
                .and_then(|&number| self.terms.get(number));
            let rarity = self.rarity_of(text, term);
            let times = if text.starts_with(IDENTIFIER_MARK) {
                1.0
            } else {
                1.0 + (count as f64).ln()
            };
            let weight = rarity * times;
            squares += weight * weight;
            add(&mut scores, term, weight * rarity);
        }
        let length = if squares > 0.0 {
            f64::sqrt(squares)
        } else {
            1.0
        };
        self.finish(&mut scores, factor / length);
        if sibling != 0.0 {
            for slot in self.siblings(terms) {
                if let Some(score) = scores.get_mut(slot) {
                    *score = if score.is_finite() { *score } else { 0.0 } - sibling;
                }
            }
        }
        scores
    }

    /// How near each scene is to one of them; -inf without anything in common.
    #[must_use]
    pub fn scores_with(&self, slot: usize) -> Vec<f64> {
        let mut scores = vec![0.0; self.scenes.len()];
        for (term, log, rarity) in self.weighted(slot) {
            add(&mut scores, Some(term), log * (rarity * rarity));
        }
        let norm = self.scenes.get(slot).map_or(1.0, |scene| scene.norm);
        self.finish(&mut scores, 1.0 / norm);
        scores
    }

    fn finish(&self, scores: &mut [f64], factor: f64) {
        for (score, scene) in scores.iter_mut().zip(&self.scenes) {
            *score = if *score > 0.0 {
                factor * *score / scene.norm
            } else {
                f64::NEG_INFINITY
            };
        }
    }

    fn siblings(&self, terms: &[(&str, i64)]) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        for (text, _) in terms {
            let Some(held) = family(text).and_then(|name| self.families.get(name)) else {
                continue;
            };
            let number = self.numbers.get(*text);
            found.extend(held.keys().copied().filter(|&slot| {
                let places = self.scenes.get(slot).map(|scene| &scene.places);
                !number
                    .is_some_and(|number| places.is_some_and(|places| places.contains_key(number)))
            }));
        }
        found
    }

    /// The terms of a scene, in the order in which it came by them, with what all scenes count of each.
    pub fn frequencies(&self, slot: usize) -> impl Iterator<Item = (&str, i64)> {
        self.weighted(slot)
            .map(|(term, _, _)| (&*term.text, term.frequency))
    }
}

fn add(scores: &mut [f64], term: Option<&Term>, weight: f64) {
    for &(slot, log) in term.map_or(&[][..], |term| &term.holders) {
        if let Some(score) = scores.get_mut(slot) {
            *score += weight * log;
        }
    }
}

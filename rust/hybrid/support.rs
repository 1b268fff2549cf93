//! What rows of one session lend one another within a signal.

use super::candidate::Ranked;
use super::ranking::Support;
use crate::row::Place;

/// Places of a session that support reaches over.
const REACH: i64 = 2;
/// Rows looked at on either side, however many share a position.
const MOST_BESIDE: usize = 4;

/// A signal's candidates with the support of their sessions.
pub(super) struct Supported {
    /// Best first.
    pub(super) rows: Vec<Ranked>,
    /// The best score above the floor of each session: group and score, by group.
    pub(super) sessions: Vec<(u64, f64)>,
}

/// Adds support to a signal's scores above `floor`. `place` gives the place of a candidate by its number; `beside` holds
/// neighbours of the best, which may be in the list too: those that are not have no score above the floor of their own.
///
/// The sums run in the order of sessions, positions and keys, so they do not depend on where rows live.
pub(super) fn support(
    list: &[Ranked],
    beside: &[Ranked],
    floor: f64,
    support: &Support,
    place: impl Fn(u32) -> Place,
) -> Supported {
    let above = |ranked: &Ranked| (ranked.score - floor).max(0.0);
    let most = beside.iter().map(|ranked| ranked.number as usize + 1).max();
    let mut listed = vec![false; most.unwrap_or(0)];
    for ranked in list {
        if let Some(listed) = listed.get_mut(ranked.number as usize) {
            *listed = true;
        }
    }
    let others = beside
        .iter()
        .filter(|ranked| listed.get(ranked.number as usize) == Some(&false));
    let mut rows: Vec<(Place, &Ranked)> = Vec::with_capacity(list.len() + beside.len());
    rows.extend(
        list.iter()
            .chain(others)
            .map(|ranked| (place(ranked.number), ranked)),
    );
    rows.sort_unstable_by_key(|(place, ranked)| (place.group, place.position, ranked.key));
    let mut supported = Supported {
        rows: Vec::with_capacity(list.len()),
        sessions: Vec::new(),
    };
    for session in rows.chunk_by(|a, b| a.0.group == b.0.group) {
        let group = session.first().map_or(0, |(place, _)| place.group);
        if group == 0 {
            supported
                .rows
                .extend(session.iter().map(|(_, ranked)| Ranked {
                    score: above(ranked),
                    ..**ranked
                }));
            continue;
        }
        let best = session
            .iter()
            .map(|(_, ranked)| above(ranked))
            .fold(0.0, f64::max);
        supported.sessions.push((group, best));
        for (at, (here, ranked)) in session.iter().enumerate() {
            let lent = |share: f64, other: &(Place, &Ranked)| {
                let distance = here.position.abs_diff(other.0.position);
                match i64::try_from(distance) {
                    Ok(1) => share * above(other.1),
                    Ok(REACH) => share * support.decay * above(other.1),
                    _ => 0.0,
                }
            };
            let (before, after) = session.split_at(at);
            let before: f64 = before
                .iter()
                .rev()
                .take(MOST_BESIDE)
                .map(|other| lent(support.before, other))
                .sum();
            let after: f64 = after
                .iter()
                .skip(1)
                .take(MOST_BESIDE)
                .map(|other| lent(support.after, other))
                .sum();
            supported.rows.push(Ranked {
                score: above(ranked) + before + after + support.session * best,
                ..**ranked
            });
        }
    }
    Ranked::sort(&mut supported.rows);
    supported
}

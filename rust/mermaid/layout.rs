//! Order and place of steps: calls to a depth-first list of numbered places, and places to references.

use super::model::{Place, Step};

/// Runs nest this deep; a deeper call joins its nearest ancestor's run at this depth, so that references stay short.
pub const MAX_DEPTH: usize = 8;

/// The calls' order in a diagram: `(index of the call, its place)`, depth first, siblings as they came.
///
/// A parent that is not an earlier call counts as none.
pub(super) fn layout(parents: &[Option<usize>], batches: &[Option<i64>]) -> Vec<(usize, Place)> {
    let count = parents.len();
    let mut depth = vec![0usize; count];
    let mut parent = vec![usize::MAX; count];
    for index in 0..count {
        let Some(given) = parents
            .get(index)
            .copied()
            .flatten()
            .filter(|given| *given < index)
        else {
            continue;
        };
        // Parents come first, so the parent's own depth is settled.
        let above = depth.get(given).copied().unwrap_or(0);
        let (place, run) = if above >= MAX_DEPTH {
            (above, parent.get(given).copied())
        } else {
            (above + 1, Some(given))
        };
        if let (Some(d), Some(p)) = (depth.get_mut(index), parent.get_mut(index)) {
            *d = place;
            *p = run.unwrap_or(usize::MAX);
        }
    }
    // Children as linked lists: the last slot is the log itself.
    let root = count;
    let mut first = vec![usize::MAX; count + 1];
    let mut last = vec![usize::MAX; count + 1];
    let mut next = vec![usize::MAX; count];
    for (index, above) in parent.iter().enumerate() {
        let run = if *above == usize::MAX { root } else { *above };
        let tail = last.get(run).copied().unwrap_or(usize::MAX);
        if tail == usize::MAX {
            set(&mut first, run, index);
        } else {
            set(&mut next, tail, index);
        }
        set(&mut last, run, index);
    }
    let mut order = Vec::with_capacity(count);
    // (the next sibling to visit, its number, the batch of the one before)
    let mut stack = vec![(
        first.get(root).copied().unwrap_or(usize::MAX),
        1u32,
        None::<i64>,
    )];
    while let Some((index, number, before)) = stack.pop() {
        if index >= count {
            continue;
        }
        let batch = batches.get(index).copied().flatten();
        let joins = number > 1 && batch.is_some() && batch == before;
        order.push((
            index,
            Place {
                depth: stack.len(),
                number,
                joins,
            },
        ));
        stack.push((
            next.get(index).copied().unwrap_or(usize::MAX),
            number + 1,
            batch,
        ));
        let child = first.get(index).copied().unwrap_or(usize::MAX);
        if child == usize::MAX {
            while stack.last().is_some_and(|(index, ..)| *index == usize::MAX) {
                stack.pop();
            }
        } else {
            stack.push((child, 1, None));
        }
    }
    order
}

fn set(list: &mut [usize], at: usize, value: usize) {
    if let Some(slot) = list.get_mut(at) {
        *slot = value;
    }
}

/// The public names of a step's place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// `c7`, or `c7_3` for the third call of the sub-agent that c7 started.
    pub id: String,
    /// The id of the first call of its parallel batch; `None` for a call that ran alone.
    pub group: Option<String>,
}

/// For each step, whether the next call of its run joins it.
pub(super) fn continues(steps: &[Step]) -> Vec<bool> {
    let mut out = vec![false; steps.len()];
    // For each depth, whether the run's next call (seen from behind) joins.
    let mut joins = [false; MAX_DEPTH + 2];
    for (index, step) in steps.iter().enumerate().rev() {
        let depth = step.place.depth.min(MAX_DEPTH + 1);
        for slot in joins.iter_mut().skip(depth + 1) {
            *slot = false;
        }
        if let (Some(flag), Some(slot)) = (out.get_mut(index), joins.get_mut(depth)) {
            *flag = *slot;
            *slot = step.place.joins;
        }
    }
    out
}

/// References of steps that start at `before`: the numbers of the calls on the way, the last one already taken.
///
/// `open` gives for each depth the first number of a batch that began before the first step.
#[must_use]
pub fn references(steps: &[Step], before: &[u32], open: &[Option<u32>]) -> Vec<Reference> {
    let continues = continues(steps);
    let mut numbers: Vec<u32> = before.to_vec();
    let mut firsts: Vec<u32> = (0..before.len())
        .map(|depth| {
            open.get(depth)
                .copied()
                .flatten()
                .or(before.get(depth).copied())
                .unwrap_or(0)
        })
        .collect();
    let mut out = Vec::with_capacity(steps.len());
    for (step, continues) in steps.iter().zip(continues) {
        let depth = step.place.depth;
        numbers.truncate(depth + 1);
        firsts.truncate(depth + 1);
        while numbers.len() <= depth {
            numbers.push(0);
            firsts.push(0);
        }
        if let (Some(number), Some(first)) = (numbers.last_mut(), firsts.last_mut()) {
            *number = step.place.number;
            if !step.place.joins {
                *first = *number;
            }
        }
        let id = id_of(&numbers);
        let group = (continues || step.place.joins).then(|| {
            let own = numbers.last().copied();
            match firsts.last().copied() {
                first if first == own => id.clone(),
                Some(first) => {
                    let mut path = numbers.clone();
                    path.pop();
                    path.push(first);
                    id_of(&path)
                }
                None => id.clone(),
            }
        });
        out.push(Reference { id, group });
    }
    out
}

/// `c7_3` of `[7, 3]`.
pub(super) fn id_of(numbers: &[u32]) -> String {
    let mut out = String::with_capacity(8);
    for (index, number) in numbers.iter().enumerate() {
        out.push(if index == 0 { 'c' } else { '_' });
        push_number(&mut out, *number);
    }
    out
}

pub(super) fn push_number(out: &mut String, number: u32) {
    let mut divisor = 1_000_000_000;
    while divisor > 1 && number < divisor {
        divisor /= 10;
    }
    while divisor > 0 {
        out.push(char::from(b'0' + (number / divisor % 10) as u8));
        divisor /= 10;
    }
}

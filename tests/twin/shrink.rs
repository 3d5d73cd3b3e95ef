//! Makes a case smaller while it shows the same difference: leaves out calls and entries, and shortens arguments.

use crate::twin::case::{Case, EntryKind};
use crate::twin::compare::{Difference, compare};
use crate::twin::known::Table;
use crate::twin::report::signature;
use crate::twin::sides::Sides;

/// Rounds, each of which tries all small steps at once.
const ROUNDS: usize = 40;

/// The most steps of a round.
const STEPS: usize = 120;

/// Returns the smallest case that was found, with the difference in it.
pub(crate) fn smallest(sides: &Sides, known: &Table, case: &Case, difference: &Difference) -> (Case, Difference) {
    let mut best = (case.clone(), difference.clone());
    best.0.calls.truncate(difference.index + 1);
    for _ in 0..ROUNDS {
        let mut steps = steps(&best.0);
        steps.truncate(STEPS);
        let pairs = sides.perform(case.setting, &steps);
        let shows = |(step, pair): (Case, &_)| {
            let compared = compare(&step, pair).differences;
            let is_same = |found: &Difference| signature(found) == signature(difference) && known.find(found).is_none();
            let same = compared.into_iter().find(is_same)?;
            Some((step, same))
        };
        match steps.into_iter().zip(&pairs).find_map(shows) {
            Some(smaller) => best = smaller,
            None => break,
        }
    }
    best
}

/// Returns the cases that are one step smaller, those of large steps first.
fn steps(case: &Case) -> Vec<Case> {
    let mut steps = Vec::new();
    let mut add = |change: &dyn Fn(&mut Case)| {
        let mut step = case.clone();
        change(&mut step);
        steps.push(step);
    };
    for size in [case.calls.len() / 2, 1] {
        for start in (0..case.calls.len()).step_by(size.max(1)).filter(|_| size > 0) {
            add(&|step| drop(step.calls.drain(start..(start + size).min(step.calls.len()))));
        }
    }
    for size in [case.entries.len() / 2, case.entries.len() / 4, 1] {
        for start in (0..case.entries.len()).step_by(size.max(1)).filter(|_| size > 0) {
            add(&|step| drop(step.entries.drain(start..(start + size).min(step.entries.len()))));
        }
    }
    for index in (0..case.grants.len()).filter(|_| case.grants.len() > 1) {
        add(&|step| drop(step.grants.remove(index)));
    }
    for (index, entry) in case.entries.iter().enumerate() {
        let plain = match entry.kind {
            EntryKind::Folder => 0o755,
            _ => 0o644,
        };
        if entry.is_foreign || entry.time.0 != 1_500_000_000 {
            add(&|step| {
                step.entries[index].is_foreign = false;
                step.entries[index].time = (1_500_000_000, 0);
            });
        }
        if entry.mode != plain && entry.mode != 0 {
            add(&|step| step.entries[index].mode = plain);
        }
        if let EntryKind::File(length) = entry.kind
            && length > 1
        {
            add(&|step| step.entries[index].kind = EntryKind::File(1));
        }
    }
    for (index, call) in case.calls.iter().enumerate() {
        for (number, arg) in call.args.iter().enumerate().filter(|(_, arg)| arg.contains(&b'/')) {
            let parts: Vec<&[u8]> = arg.split(|&byte| byte == b'/').collect();
            for left_out in 1..parts.len() {
                let mut parts = parts.clone();
                parts.remove(left_out);
                add(&|step| step.calls[index].args[number] = parts.join(&b'/'));
            }
        }
    }
    steps
}

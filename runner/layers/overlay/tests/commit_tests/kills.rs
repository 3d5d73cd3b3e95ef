//! SIGKILL before each call of a commit, of an undo, and of the recovery from it: all is old or new, and nothing is
//! left.

use std::sync::atomic::{AtomicUsize, Ordering};

use modbox_overlay::commit::fault::NoFault;
use modbox_overlay::commit::{Committed, Recovery, Strength, list};

use crate::child::{Work, run, run_as_user};
use crate::world::{At, Picture, World};

/// What has come of the trees.
#[derive(Default)]
pub(crate) struct Tally {
    pub(crate) old: AtomicUsize,
    pub(crate) new: AtomicUsize,
    recoveries: AtomicUsize,
}

/// Returns the number of calls of a commit.
pub(crate) fn calls(strength: Strength, keep_undo: bool) -> usize {
    let world = World::changed();
    let count = At::new(usize::MAX, &|_| Ok(()));
    let done = world.commit_with(&count, strength, keep_undo).unwrap();
    assert!(matches!(done, Committed::Done { .. }), "{done:?}");
    count.count.get()
}

pub(crate) fn check(world: &World, old: &Picture, new: &Picture, tally: &Tally, point: &str) {
    for recovered in world.recover() {
        let result = recovered.result.unwrap_or_else(|error| panic!("{point}: {error}"));
        assert!(matches!(result, Recovery::Forward | Recovery::Back), "{point}: {result:?}");
    }
    let now = world.picture();
    if now == *old {
        tally.old.fetch_add(1, Ordering::Relaxed);
    } else {
        assert_eq!(now, *new, "{point}: neither old nor new");
        tally.new.fetch_add(1, Ordering::Relaxed);
    }
}

/// Kills the recovery of each killed commit at each of its calls.
fn kill_at_each(work: Work, points: impl Iterator<Item = usize>, tally: &Tally) {
    for at in points {
        for recovery_at in 0.. {
            let world = World::changed();
            let (old, new) = (world.picture(), world.wanted());
            assert!(!run(&world, work, at).success(), "{work:?} {at}");
            let recovered = run(&world, Work::Recover, recovery_at);
            tally.recoveries.fetch_add(1, Ordering::Relaxed);
            let point = format!("{work:?} {at}, recovery {recovery_at}");
            check(&world, &old, &new, tally, &point);
            let kept = list(&world.state()).unwrap().len();
            assert_eq!(world.records().len(), kept, "{point}");
            if recovered.success() {
                break;
            }
        }
    }
}

/// Kills a commit at each call in two threads.
fn kill_all(work: Work, strength: Strength, step: usize) {
    let points = calls(strength, work == Work::CommitKept);
    let tally = Tally::default();
    std::thread::scope(|scope| {
        for half in 0..2 {
            let tally = &tally;
            scope.spawn(move || kill_at_each(work, (half * step..points).step_by(2 * step), tally));
        }
    });
    let (old, new) = (tally.old.into_inner(), tally.new.into_inner());
    println!("{points} points, {} recoveries: {old} old, {new} new", tally.recoveries.into_inner());
    assert!(old > 0 && new > 0);
}

#[test]
fn a_killed_commit_is_old_or_new() {
    kill_all(Work::Commit, Strength::Process, 1);
}

#[test]
fn a_killed_durable_commit_is_old_or_new() {
    kill_all(Work::CommitDurably, Strength::Power, 7);
}

#[test]
fn a_killed_kept_commit_is_old_or_new() {
    kill_all(Work::CommitKept, Strength::Process, 5);
}

#[test]
fn a_killed_undo_is_old_or_new() {
    let mut finished = false;
    for at in (0..).step_by(3) {
        let world = World::changed();
        let (old, new) = (world.picture(), world.wanted());
        world.commit_with(&NoFault, Strength::Process, true).unwrap();
        finished = run(&world, Work::Undo, at).success();
        let tally = Tally::default();
        check(&world, &old, &new, &tally, &format!("undo {at}"));
        if finished {
            assert_eq!((tally.old.into_inner(), world.records().len()), (1, 0));
            break;
        }
    }
    assert!(finished);
}

#[test]
fn as_user_a_killed_commit_is_old_or_new() {
    if rustix::process::geteuid().is_root() {
        run_as_user("kills::a_killed_kept_commit");
    }
}

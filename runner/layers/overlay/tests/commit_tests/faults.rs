//! A call that fails at each point of a commit: the tree is old or new as the answer says, and nothing is left over.

use modbox_overlay::commit::fault::{Call, Fault};
use modbox_overlay::commit::{Committed, Strength, recover};
use rustix::io::Errno;

use crate::world::{At, World};

/// Fails all calls from one on, until the commit is over.
fn fail_once(errno: Errno, strength: Strength, keep_undo: bool) -> (usize, usize) {
    let (mut old_trees, mut new_trees) = (0, 0);
    for at in 0.. {
        let world = World::changed();
        let (old, new) = (world.picture(), world.wanted());
        let fail = |_: Call| Err(errno);
        let fault = At::new(at, &fail);
        let committed = world.commit_with(&fault, strength, keep_undo);
        let is_over = fault.count.get() <= at;
        let point = format!("{errno:?} {at}: {committed:?}");
        match committed {
            Err(error) => {
                assert!(error.to_string().starts_with("failed to "), "{error}");
                assert_eq!(world.picture(), old, "{point}");
                old_trees += 1;
            }
            Ok(Committed::Done { .. }) => new_trees += 1,
            other => panic!("{point}: {other:?}"),
        }
        let recovered = world.recover();
        assert!(recovered.iter().all(|one| one.result.is_ok()), "{point} {recovered:?}");
        let now = world.picture();
        assert!(now == old || now == new, "{point}");
        assert_eq!(world.records().len(), usize::from(keep_undo && now == new), "{point}");
        if is_over {
            break;
        }
    }
    (old_trees, new_trees)
}

#[test]
fn a_failed_call_leaves_the_old_tree_or_the_new_one() {
    let cases = [
        (Errno::NOSPC, Strength::Process, false),
        (Errno::IO, Strength::Power, false),
        (Errno::ROFS, Strength::Process, true),
        (Errno::DQUOT, Strength::Process, false),
    ];
    for (errno, strength, keep_undo) in cases {
        let (old, new) = fail_once(errno, strength, keep_undo);
        println!("{errno:?}: {old} old, {new} new");
        assert!(old > 50 && new > 0);
    }
}

/// A file system without exchange; with a failure or none at one call.
struct NoExchange<'a> {
    then: At<'a>,
}

impl Fault for NoExchange<'_> {
    fn before(&self, call: Call) -> Result<(), Errno> {
        self.then.before(call)?;
        if call == Call::Exchange { Err(Errno::INVAL) } else { Ok(()) }
    }
}

#[test]
fn a_commit_needs_no_exchange() {
    let fail = |_: Call| Err(Errno::IO);
    let (mut old_trees, mut new_trees) = (0, 0);
    for at in 0.. {
        let world = World::changed();
        let (old, new) = (world.picture(), world.wanted());
        let fault = NoExchange { then: At::new(at, &fail) };
        let committed = world.commit(&fault);
        assert!(recover(&world.state(), &fault).unwrap().iter().all(|one| one.result.is_ok()));
        let now = world.picture();
        if committed.is_err() {
            assert_eq!(now, old, "{at}: {committed:?}");
            old_trees += 1;
        } else {
            assert_eq!(now, new, "{at}: {committed:?}");
            new_trees += 1;
        }
        assert_eq!(world.records(), Vec::<String>::new(), "{at}");
        if fault.then.count.get() <= at {
            assert!(matches!(committed, Ok(Committed::Done { .. })), "{committed:?}");
            break;
        }
    }
    assert!(old_trees > 50 && new_trees > 0);
}

/// Fails all calls from one on: a full disk, a file system that has become read-only.
struct From(usize, std::cell::Cell<usize>);

impl Fault for From {
    fn before(&self, _: Call) -> Result<(), Errno> {
        let count = self.1.replace(self.1.get() + 1);
        if count >= self.0 { Err(Errno::ROFS) } else { Ok(()) }
    }
}

#[test]
fn a_file_system_that_stays_read_only_is_recovered_later() {
    for at in 0.. {
        let world = World::changed();
        let (old, new) = (world.picture(), world.wanted());
        let fault = From(at, std::cell::Cell::new(0));
        let committed = world.commit(&fault);
        assert!(!matches!(committed, Ok(Committed::Nothing | Committed::Conflict(_) | Committed::Refused(_))));
        let recovered = world.recover();
        assert!(recovered.iter().all(|one| one.result.is_ok()), "{at} {recovered:?}");
        let now = world.picture();
        assert!(now == old || now == new, "{at} {committed:?}");
        assert!(committed.is_ok() || now == old, "{at}: {committed:?}");
        assert_eq!(world.records(), Vec::<String>::new(), "{at}");
        if fault.1.get() <= at {
            break;
        }
    }
}

#[test]
fn a_torn_journal_is_not_acted_on() {
    let world = World::changed();
    let count = At::new(usize::MAX, &|_| Ok(()));
    world.commit(&count).unwrap();
    let calls = count.count.get();
    let mut torn = 0;
    for at in (0..calls).step_by(3) {
        let world = World::changed();
        assert!(!crate::child::run(&world, crate::child::Work::Commit, at).success());
        let before = world.picture();
        let Some(run) = world.records().pop() else { continue };
        let journal = world.base.join("state").join(&run);
        let Ok(text) = std::fs::read(&journal) else { continue };
        std::fs::write(&journal, &text[..text.len() / 2]).unwrap();
        torn += 1;
        let recovered = world.recover();
        assert!(recovered.iter().all(|one| one.result.is_err()), "{at}: {recovered:?}");
        assert_eq!(recovered.len(), 1);
        assert_eq!(world.picture(), before, "{at}");
    }
    assert!(torn > 5, "{torn}");
}

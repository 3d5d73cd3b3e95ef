//! Pulls that are interrupted or run at the same time leave a store that works.

use std::fs;
use std::time::Duration;

use rustix::process::Signal;

use crate::supply::registry::registry_place::Place;
use crate::support::registry::{Behavior, Fault};
use crate::support::{Running, children, stretched, wait_for};

/// Time limit for a start and an end.
const PATIENCE: Duration = Duration::from_secs(20);

/// Number of pulls at the same time.
const MANY: usize = 8;

/// Begins to pull a module from a registry that has this fault, and waits until it is asked for a path.
fn begin(place: &Place, fault: Fault, path: &str) -> Running {
    place.registry.set(Behavior { referrers: true, fault: Some(fault), ..Behavior::default() });
    place.registry.clear_requests();
    let running = place.modbox(&["pull"]).arg(place.reference("a:1")).patience(PATIENCE).spawn();
    assert!(wait_for(PATIENCE, || place.requests().iter().any(|request| request.contains(path))));
    running
}

#[test]
fn a_signal_ends_a_pull_and_leaves_nothing() {
    let place = Place::new();
    let digest = place.push_word("one", "a:1");
    for (fault, path) in [(Fault::Slow, "GET /v2/a/blobs/"), (Fault::Silent, "GET /v2/a/manifests/")] {
        for signal in [Signal::INT, Signal::TERM, Signal::KILL] {
            let running = begin(&place, fault.clone(), path);
            assert_eq!(children(running.pid()).len(), 1, "the worker");
            let before = running.elapsed();
            running.signal(signal);
            let ran = running.wait().dies_of(signal);
            assert!(ran.elapsed - before < stretched(Duration::from_secs(3)), "{ran}");
            assert_eq!((ran.stdout_text(), place.lock()), (String::new(), String::new()));
            place.dir.assert_nothing_left();
            assert_eq!(place.assert_store_whole(), [""; 0]);
        }
    }
    place.registry.set(Behavior { referrers: true, ..Behavior::default() });
    place.pull("a:1").exits_with(0);
    assert_eq!(place.assert_store_whole(), [digest]);
    place.runs("a:1", "one");
}

#[test]
fn a_pull_whose_worker_is_killed_fails() {
    let place = Place::new();
    place.push_word("one", "a:1");
    let running = begin(&place, Fault::Slow, "GET /v2/a/blobs/");
    for worker in children(running.pid()) {
        rustix::process::kill_process(worker, Signal::KILL).unwrap();
    }
    running.wait().exits_with(3).says("the process that speaks with registries");
    assert_eq!(place.assert_store_whole(), [""; 0]);
    place.dir.assert_nothing_left();
}

#[test]
fn many_pulls_of_one_module_all_succeed() {
    let place = Place::new();
    let module = place.module("one");
    place.sign(&module, None, &[1]);
    let digest = place.push(&module, "a:1");
    for round in 0..3 {
        let _ = fs::remove_dir_all(place.store(""));
        let pulls = (0..MANY).map(|_| place.modbox(&["pull"]).arg(place.reference("a:1")).patience(PATIENCE).spawn());
        let pulls: Vec<Running> = pulls.collect();
        for pull in pulls {
            let pulled = pull.wait().exits_with(0).stdout_text();
            assert_eq!(pulled, format!("{}@{digest}\n", place.reference("a:1")), "{round}");
        }
        assert_eq!(place.assert_store_whole().len(), 2);
        place.runs("a:1", "one");
    }
    place.dir.assert_nothing_left();
}

#[test]
fn many_pulls_of_many_modules_all_are_locked() {
    let place = Place::new();
    let digests: Vec<String> = (0..MANY).map(|at| place.push_word(&format!("word{at}"), &format!("a:{at}"))).collect();
    let pull = |at: usize| place.modbox(&["pull"]).arg(place.reference(&format!("a:{at}"))).patience(PATIENCE).spawn();
    let pulls: Vec<Running> = (0..MANY).map(pull).collect();
    pulls.into_iter().for_each(|pull| drop(pull.wait().exits_with(0)));
    let (mut found, mut expected) = (place.assert_store_whole(), digests.clone());
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
    assert!(digests.iter().all(|digest| place.lock().contains(digest)), "{}", place.lock());
    let left: Vec<_> = fs::read_dir(place.dir.path()).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().starts_with('.')), "{left:?}");
}

#[test]
fn a_module_that_is_pulled_again_stays_there_meanwhile() {
    let place = Place::new();
    let module = place.module("one");
    place.sign(&module, None, &[1]);
    place.push(&module, "a:1");
    place.pull("a:1").exits_with(0);
    std::thread::scope(|scope| {
        let pulls = scope.spawn(|| (0..60).for_each(|_| drop(place.pull("a:1").exits_with(0))));
        while !pulls.is_finished() {
            let run = place.run("a:1").arg("--offline").run().exits_with(0);
            assert_eq!(run.json()["word"], "one");
        }
    });
    place.assert_store_whole();
}

#[test]
fn runs_that_pull_the_same_module_find_it() {
    let place = Place::new();
    let digest = place.push_word("one", "a:1");
    let module = format!("a@{digest}");
    let runs: Vec<Running> = (0..MANY).map(|_| place.run(&module).patience(PATIENCE).spawn()).collect();
    for run in runs {
        assert_eq!(run.wait().exits_with(0).json()["word"], "one");
    }
    assert_eq!(place.assert_store_whole(), [digest]);
}

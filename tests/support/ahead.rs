//! Fetches what later tests stand on while the first ones wait for compilers: lines and processors are not kept waiting for
//! each other.
//!
//! Nothing depends on it. A test that comes first fetches what it needs by itself, or waits for what is on its way; and why
//! something could not be had is told by the tests that need it. Where tests are chosen by name, nothing is fetched ahead.

use std::sync::Once;
use std::thread;

use crate::support::{debian, languages, oracle};

/// What is fetched one after the other, beside the other list.
const LISTS: [&[fn()]; 2] =
    [&[|| drop(oracle::python()), || drop(debian::programs()), oracle::fetch_others], &[languages::fetch_tools]];

/// Begins, the first time.
pub(super) fn begin() {
    static BEGUN: Once = Once::new();
    BEGUN.call_once(|| {
        if all_are_run() {
            LISTS.iter().for_each(|list| drop(thread::spawn(|| fetch(list))));
        }
    });
}

/// Returns whether all tests are run: no name nor a part of one was given.
pub(super) fn all_are_run() -> bool {
    std::env::args().skip(1).all(|word| word.starts_with('-'))
}

fn fetch(list: &[fn()]) {
    for thing in list {
        let _ = std::panic::catch_unwind(thing);
    }
}

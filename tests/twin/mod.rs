//! The twin test of file calls: random calls on random trees, by Linux and by a guest of modbox, must have equal outcomes and
//! leave equal trees.
//!
//! A case is a tree, grants and a list of calls, all made from one seed. Linux performs it first, by the native build of the
//! guest `twin`; then the same tree is made again at the same path, and the component performs it in `modbox batch`. What the
//! grants do not cover, the Linux side does not do: there the guest must be refused. Each difference must match a row of
//! `known.tsv`; another one is made smaller and printed.

#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]

mod calls;
mod case;
mod compare;
mod generate;
mod grants;
mod known;
mod links;
mod names;
mod report;
mod shrink;
mod sides;
mod snapshot;
mod tree;

use std::env;

use crate::support::sample;
use crate::twin::case::{Case, Setting};
use crate::twin::known::Table;
use crate::twin::report::Findings;
use crate::twin::sides::Sides;

/// Cases of an ordinary run, and of a whole one. A case compares eight calls on the average.
const CASES: (usize, usize) = (400, 100_000);

/// Cases that both sides perform at a time.
const ROUND: usize = 240;

#[test]
#[expect(clippy::print_stdout, reason = "a test that fails shows what it has printed")]
fn file_calls_of_a_guest_are_those_of_linux() {
    let sides = match Sides::new() {
        Ok(sides) => sides,
        Err(reason) => return println!("left out: {reason}"),
    };
    let seed = sample::seed();
    println!("repeat this with MODBOX_SEED={seed}");
    let mut findings = Findings::new(Table::read());
    for setting in Setting::all() {
        let cases: Vec<Case> = numbers()
            .filter(|number| Setting::of(*number) == setting)
            .map(|number| generate::case(seed, number))
            .collect();
        for cases in cases.chunks(ROUND) {
            findings.add(cases, &sides.perform(setting, cases));
        }
    }
    println!("{}", findings.summary());
    let is_whole = env::var_os("MODBOX_WHOLE").is_some() && only().is_none();
    findings.assert_all_known(is_whole, |known, case, difference| shrink::smallest(&sides, known, case, difference));
}

/// Returns the numbers of the cases: as many as `MODBOX_CASES` says or as are usual, or the one that `MODBOX_CASE` names.
fn numbers() -> impl Iterator<Item = usize> {
    let all = || number("MODBOX_CASES").unwrap_or_else(|| sample::cases(CASES.0, CASES.1));
    only().map_or_else(|| 0..all(), |only| only..only + 1)
}

/// Returns the number of the only case to perform, if the environment names one.
fn only() -> Option<usize> {
    number("MODBOX_CASE")
}

/// Returns a number that the environment has under a name.
fn number(name: &str) -> Option<usize> {
    let number = env::var(name).ok()?;
    Some(number.parse().unwrap_or_else(|_| panic!("{name} is not a number: {number}")))
}

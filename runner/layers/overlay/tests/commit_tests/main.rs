//! Tests of commits on real trees: published changes, refusals, conflicts, and the tree after a crash.

#![expect(clippy::disallowed_methods, reason = "tests start themselves, and read what they have written")]
#![expect(clippy::print_stdout, reason = "the numbers of a test are its result")]

mod child;
mod conflicts;
mod edits;
mod faults;
mod journals;
mod kills;
mod power;
mod published;
mod saved;
mod tree_difference;
mod world;

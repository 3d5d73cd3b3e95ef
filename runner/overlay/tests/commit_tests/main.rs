//! Tests of commits on real trees: what is published, refused and found in conflict, and what is left after a crash.

mod child;
mod conflicts;
mod edits;
mod faults;
mod journals;
mod kills;
mod published;
mod tree_difference;
mod world;

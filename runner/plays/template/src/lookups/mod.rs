//! Lookups: those that only compute are here, and those that act are the caller's.

mod dict;
mod dispatch;
mod flatten;
mod flattened;
mod indexed_items;
mod items;
mod list;
mod meaning;
mod nested;
mod random_choice;
mod sequence;
mod subelements;
mod table;
mod together;
mod varnames;
mod vars;

pub(crate) use meaning::{Meaning, meaning};
pub use table::{KnownLookup, known_lookup, known_lookups};

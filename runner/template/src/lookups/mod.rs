//! Lookups: those that only compute are here, and those that act are the caller's.

mod dispatch;
mod table;
mod vars;

pub use table::{KnownLookup, known_lookups};

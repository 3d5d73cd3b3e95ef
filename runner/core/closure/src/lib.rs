//! The identity of a module: what runs is what was signed, trusted and reported, with every file that a run takes from beside it.
//!
//! | module | content |
//! |---|---|
//! | [`closure`] | a module with its parts, and its digest |
//! | [`part`] | a file by its name and the digest of its bytes |
//!
//! The crate is pure: it opens no file, and does not say who vouches for a module.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

pub mod closure;
pub mod part;

pub use self::closure::Closure;
pub use self::part::Part;

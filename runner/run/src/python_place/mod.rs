//! Where Python modules run: natively, or as guests, in an interpreter of the sandbox for WebAssembly.
//!
//! | file | content |
//! |---|---|
//! | `decision` | decides the place before a module starts, and has its code compiled |
//! | `interpreters` | opens the interpreters that the user has installed |
//! | `guest` | an open interpreter, and a module that runs in it |
//! | `base` | what every Python module in the sandbox may read besides its grants |
//! | `run` | the place and its reason, for reports |
//!
//! What an interpreter must have for a module is judged in `python/guest`.

pub(crate) mod base;
pub(crate) mod decision;
pub(crate) mod guest;
mod interpreters;
pub(crate) mod run;

//! Where Python modules run: natively, or as guests, in an interpreter of the sandbox for WebAssembly.
//!
//! | file | content |
//! |---|---|
//! | `decision` | decides the place before a module starts, and has its code compiled |
//! | `interpreters` | opens the interpreters that the user has installed |
//!
//! What an interpreter must have for a module is judged in `python/guest`. An open interpreter is in `runner/python_guest`.

pub(crate) mod decision;
mod interpreters;

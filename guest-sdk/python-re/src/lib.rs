//! Python's regular expressions for modules of Ansible: patterns on bytes and on text, `search`, `sub`, the parts of
//! `split`, and the templates of `Match.expand`.
//!
//! Patterns are rewritten for the engine `fancy-regex`, which has look-around and back-references. Its Unicode tables
//! are not used: every class becomes the ranges of Python. `(?L)`, `\N{…}` and back-references that ignore case are not
//! supported.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod cache;
mod class;
mod flags;
mod glob;
mod pattern;
mod repeat;
mod replace;
mod template;
mod translate;

pub use class::Subject;
pub use flags::Flags;
pub use glob::glob_to_regex;
pub use pattern::{Match, Pattern, PatternError};
pub use template::Template;

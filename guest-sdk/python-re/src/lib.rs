//! Python's regular expressions, as modules of Ansible are given them: patterns on bytes and on text, `search`, `sub`,
//! `split`'s parts, and the templates of `Match.expand`.
//!
//! Patterns are rewritten for the `fancy-regex` engine, which has look-around and back-references, without its Unicode tables: every
//! class becomes the ranges that Python means. Not here: `(?L)`, `\N{…}`, and back-references that ignore case.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod class;
mod flags;
mod glob;
mod pattern;
mod replace;
mod template;
mod translate;

pub use class::Subject;
pub use flags::Flags;
pub use glob::glob_to_regex;
pub use pattern::{Match, Pattern, PatternError};
pub use template::Template;

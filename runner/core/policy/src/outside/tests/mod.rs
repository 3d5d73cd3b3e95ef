//! Tests of rules for outside commands: their text, and tables of commands. Random words of each kind are in
//! `tests/core/grants/outside_words.rs`.

mod attacks;
mod passing;
mod powers;
mod support;
mod texts;

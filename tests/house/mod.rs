//! The house rules that a program can check, README and the book.

pub(crate) mod climbs;
pub(crate) mod crates;
pub(crate) mod documents;
pub(crate) mod fuzz_seeds;
pub(crate) mod imports;
pub(crate) mod tidy;
pub(crate) mod tidy_documents;
pub(crate) mod tidy_waits;
pub(crate) mod tidy_words;

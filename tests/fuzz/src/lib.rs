//! The fuzz targets: for each reader of bytes from outside, a function that reads some and checks what holds for all bytes.
//!
//! libFuzzer calls the functions in the programs of `bin/`, with inputs that reach more and more of a reader. `../fuzz_seeds.rs`
//! calls them in an ordinary test with the inputs in `seeds/`. A function panics if something does not hold; that a reader
//! neither panics nor takes forever holds without a check.

pub mod ansiballz;
pub mod arguments;
pub mod bundle;
pub mod inventory;
pub mod journal;
pub mod lock_file;
pub mod manifest;
pub mod parcels;
pub mod policy;
pub mod provider;
pub mod python_source;
pub mod saved_changes;
pub mod signature_file;
pub mod signers;
pub mod templates;
pub mod yaml;

/// Reads some bytes, and panics if something does not hold. Returns whether a reader took them.
pub type Target = fn(&[u8]) -> bool;

/// All targets by name. Their programs, and the folders of their seeds, have the same names.
pub const TARGETS: [(&str, Target); 16] = [
    ("ansiballz", ansiballz::run),
    ("arguments", arguments::run),
    ("bundle", bundle::run),
    ("inventory", inventory::run),
    ("journal", journal::run),
    ("lock_file", lock_file::run),
    ("manifest", manifest::run),
    ("parcels", parcels::run),
    ("policy", policy::run),
    ("provider", provider::run),
    ("python_source", python_source::run),
    ("saved_changes", saved_changes::run),
    ("signature_file", signature_file::run),
    ("signers", signers::run),
    ("templates", templates::run),
    ("yaml", yaml::run),
];

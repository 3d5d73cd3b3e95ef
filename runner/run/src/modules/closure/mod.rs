//! The identity of a module: the digest of all that a run takes from its file and from beside it.
//!
//! | kind | parts |
//! |---|---|
//! | Python | its imports below `module_utils` and embedded files, as they are assembled or as they arrived |
//! | PowerShell | the wrappers and utilities that its document has |
//! | providers of libral | the metadata file beside it |
//! | native kinds | the file of documentation beside it, and the fragments that it names: they say which options are paths |
//! | other WebAssembly | none: all of it is in its file |
//!
//! The bytes that were hashed are kept with the module, and a run takes those or nothing: a part that is exchanged between the check
//! and the run makes a module with another digest. The interpreter and its libraries are not parts.

pub(crate) mod known;
mod of_core;
pub(crate) mod powershell_parts;

pub use self::of_core::{CoreFiles, CoreFilesError};

//! Change sets in files: a list of changes with all that a commit of it reads, to be committed later and nothing else.
//!
//! A file has three parts: a line with the name and the version of the format; a line of JSON, the manifest, with the
//! changes, what must not have changed meanwhile, and the entries of the new state; and the contents of these entries.
//! A digest of all ends it. Only its user may read it.
//!
//! What a file says is checked before it is acted on. Its new state is built in a private directory, and committed from
//! there as a run's is. This module does not decide whose files are trusted.

mod manifest_check;
mod new_file;
mod payload_listing;
mod preconditions;
mod restored_view;
mod saved_changes;
mod saved_error;
mod saved_manifest;
mod saved_tree;
mod sealed_file;

pub use saved_changes::{Hidden, SavedChanges, Saving, refused, save};
pub use saved_error::SavedError;
pub use saved_tree::SavedTree;
pub use sealed_file::is_saved_form;

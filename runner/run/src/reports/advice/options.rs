//! The options of `modbox run` that advice suggests, quoted for a shell.

use std::path::Path;

use modbox_policy::{Access, path_option};
use modbox_vocabulary::quoting;

/// Returns the option that treats an option of the module as a path.
pub(super) fn designation(option: &str, access: Access) -> String {
    format!("--designate {}", quoting::quote(&format!("{option}:{}", access.as_str())))
}

/// Returns the option that grants a path.
pub(super) fn grant(path: &Path, access: Access) -> String {
    path_option(access, path)
}

//! The cause of a failed write, for a component: its C library loses it.

use std::io;
use std::path::Path;

/// Returns why writes to a file fail, if it is for want of space.
#[cfg(target_family = "wasm")]
pub(crate) fn write_error(path: &Path) -> Option<io::Error> {
    modbox_host::write_error::at_end(path)
}

/// Returns `None`: the system says it with the error.
#[cfg(not(target_family = "wasm"))]
pub(crate) fn write_error(_path: &Path) -> Option<io::Error> {
    None
}

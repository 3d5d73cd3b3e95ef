//! Where modbox and the real programs of commands outside are in a room, and the word that makes modbox a stub.

use std::path::{Path, PathBuf};

/// The room's directory of modbox and of the real programs.
const DIRECTORY: &str = "/dev/modbox";

/// modbox in the room.
pub(crate) const MODBOX: &str = "/dev/modbox/ask";

/// Beginning of the first argument that makes modbox a stub. The number of the program and its path follow, with a colon between.
pub(crate) const STUB_WORD: &str = "__outside=";

/// Returns the path of a real program in a room.
pub(crate) fn real_program(number: usize, program: &Path) -> PathBuf {
    Path::new(DIRECTORY).join(number.to_string()).join(program.file_name().unwrap_or_default())
}

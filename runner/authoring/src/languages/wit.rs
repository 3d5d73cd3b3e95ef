//! Writes the WIT world of a module, for tools that need it: a command, and the interfaces that its interpreter does
//! not add.

use std::fs;
use std::path::PathBuf;

use crate::error::BuildError;
use crate::languages::job::Job;

/// Imports of the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Imports {
    /// No imports: the interpreter has arguments, files and streams.
    None,
    /// Arguments, files and standard output.
    Files,
}

const COMMAND: &str = "package modbox:module;\n\nworld module {\n  export wasi:cli/run@0.2.12;\n}\n";

const COMMAND_WITH_FILES: &str = "package modbox:module;\n\nworld module {\n  import wasi:cli/environment@0.2.12;\n  \
     import wasi:cli/stdout@0.2.12;\n  import wasi:filesystem/preopens@0.2.12;\n  import wasi:filesystem/types@0.2.12;\n  \
     export wasi:cli/run@0.2.12;\n}\n";

/// Interfaces of WASI 0.2.12, including those that the guest side of modbox's own interface depends on.
const DEPENDENCIES: [(&str, &str); 4] = [
    ("cli.wit", include_str!("../../wit/cli.wit")),
    ("clocks.wit", include_str!("../../wit/clocks.wit")),
    ("filesystem.wit", include_str!("../../wit/filesystem.wit")),
    ("io.wit", include_str!("../../wit/io.wit")),
];

/// Writes the world to the output directory, and returns its folder.
pub(crate) fn write(job: &Job<'_, '_>, imports: Imports) -> Result<PathBuf, BuildError> {
    let folder = job.made.with_file_name("wit");
    let world = match imports {
        Imports::None => COMMAND,
        Imports::Files => COMMAND_WITH_FILES,
    };
    let deps = folder.join("deps");
    fs::create_dir_all(&deps).map_err(|source| BuildError::File { verb: "make", path: deps.clone(), source })?;
    let texts = DEPENDENCIES.iter().map(|(name, text)| (deps.join(name), *text));
    for (path, text) in texts.chain([(folder.join("module.wit"), world)]) {
        fs::write(&path, text).map_err(|source| BuildError::File { verb: "write", path, source })?;
    }
    Ok(folder)
}

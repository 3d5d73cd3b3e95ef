//! Why the closure of a module cannot be computed.

use std::error::Error;

use crate::ansiballz::bounds::{MAX_FILES, MAX_SOURCE};
use crate::ansiballz::embeds::EmbedFault;
use crate::ansiballz::imports::SourceError;
use crate::ansiballz::loader::NewerCore;
use crate::ansiballz::name::DottedName;

/// The reason why a closure cannot be computed.
#[derive(Debug, thiserror::Error)]
pub enum ClosureError<E: Error + 'static> {
    /// An import that was not found.
    #[error(
        "{importer} imports `{name}`, which was not found in {}; name its folder with `--module-utils`",
        folders(.searched)
    )]
    Missing {
        /// The importing module.
        importer: String,
        /// The imported name.
        name: DottedName,
        /// The folders that were searched.
        searched: Vec<String>,
    },
    /// An import of a removed name.
    #[error("{importer} imports `{name}`, which was removed{}", .reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default())]
    Removed {
        /// The importing module.
        importer: String,
        /// The imported name.
        name: DottedName,
        /// The reason that the collection states.
        reason: Option<String>,
    },
    /// An import whose redirect has an invalid target.
    #[error(
        "{importer} imports `{name}`, which is redirected to `{target}`, which is not the name of a `module_utils`"
    )]
    Redirect {
        /// The importing module.
        importer: String,
        /// The imported name.
        name: DottedName,
        /// The target.
        target: String,
    },
    /// An ansible-core that asks for what modbox does not know.
    #[error(transparent)]
    Newer(#[from] NewerCore),
    /// A source that is not valid Python.
    #[error("failed to parse `{name}` as Python")]
    Source {
        /// The source's name.
        name: DottedName,
        /// The syntax error.
        #[source]
        source: SourceError,
    },
    /// A file that cannot be embedded.
    #[error("failed to pack `{name}`, line {line}: {fault}")]
    Embed {
        /// The source that embeds it.
        name: DottedName,
        /// The line of the source.
        line: usize,
        /// The reason.
        fault: EmbedFault,
    },
    /// A source that is too long.
    #[error("failed to read `{0}`: it is longer than the limit of {MAX_SOURCE} bytes for a Python source")]
    TooLong(DottedName),
    /// Too many files.
    #[error("the module imports more than {MAX_FILES} files")]
    TooMany,
    /// A failed lookup.
    #[error(transparent)]
    Lookup(E),
}

fn folders(searched: &[String]) -> String {
    let shown: Vec<String> = searched.iter().map(|folder| format!("`{folder}`")).collect();
    if shown.is_empty() { "no folder, since none is known".to_owned() } else { shown.join(", ") }
}

//! Errors in finding a module.

use std::io;
use std::path::PathBuf;

use modbox_kinds::ansiballz::RoutingError;

use crate::modules::library::directory::PROJECT_FILES;

/// Why a module of Ansible is not found, and what helps.
pub const NO_CORE: &str =
    "no ansible-core was found; install it, or name its Python with `--interpreter PATH` or in `MODBOX_INTERPRETER`";

/// An error in finding a module. `asked` is the name that the caller wrote, where it may differ from the name that it
/// leads to.
#[derive(Debug, thiserror::Error)]
pub enum LookupError {
    /// A plain name that no place has.
    #[error("there is no module `{name}`: no such file, and nothing of that name in {searched}{advice}")]
    NotFound {
        /// The name.
        name: String,
        /// The places that were searched, with their origins.
        searched: String,
        /// What the working directory has of that name.
        advice: String,
    },
    /// The collection of a module is not installed.
    #[error(
        "there is no module `{asked}`{}: no collection `{collection}` in {searched}; install it with \
         `ansible-galaxy collection install {collection}`, or name the folder with its `ansible_collections` with \
         `--collections-path`",
        leads_to(.asked, .name)
    )]
    NoCollection {
        /// The name that the caller wrote.
        asked: String,
        /// The full name.
        name: String,
        /// The collection.
        collection: String,
        /// The places that were searched, with their origins.
        searched: String,
    },
    /// ansible-core is not installed.
    #[error("there is no module `{asked}`{}: {NO_CORE}", leads_to(.asked, .name))]
    NoCore {
        /// The name that the caller wrote.
        asked: String,
        /// The full name.
        name: String,
    },
    /// The collection has no such module.
    #[error("there is no module `{asked}`{}: nothing of that name in `{}`", leads_to(.asked, .name), .folder.display())]
    NotInCollection {
        /// The name that the caller wrote.
        asked: String,
        /// The full name.
        name: String,
        /// The folder of the collection's modules.
        folder: PathBuf,
    },
    /// The collection says that the module was removed.
    #[error("the module `{asked}`{} was removed{}", leads_to(.asked, .name), said(.reason))]
    Removed {
        /// The name that the caller wrote.
        asked: String,
        /// The full name.
        name: String,
        /// The reason that the collection states; may be empty.
        reason: String,
    },
    /// A redirect whose target is not a full name.
    #[error("the module `{name}` is redirected to `{target}`, which is not the full name of a module")]
    InvalidRedirect {
        /// The redirected name.
        name: String,
        /// The target.
        target: String,
    },
    /// Redirects that lead back or never end.
    #[error("the redirects of the module `{}` do not end: {}", .0.first().map(String::as_str).unwrap_or_default(), .0.join(" → "))]
    EndlessRedirect(Vec<String>),
    /// A list of redirects (`meta/runtime.yml`) that is invalid.
    #[error("failed to understand `{}`", path.display())]
    Routing {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: RoutingError,
    },
    /// The path does not exist.
    #[error("there is no module file `{}`", .0.display())]
    NoSuchFile(PathBuf),
    /// The path is a directory without a project.
    #[error(
        "`{}` is a directory without any of {}{holds}; name a module file or a module project",
        .path.display(),
        PROJECT_FILES.join(", ")
    )]
    NotAProject {
        /// The directory.
        path: PathBuf,
        /// The projects that it holds, as the end of a sentence.
        holds: String,
    },
    /// A file cannot be read.
    #[error("failed to read the module `{}`", path.display())]
    Read {
        /// The path.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
}

/// Returns where redirects led from the name that the caller wrote.
fn leads_to(asked: &str, name: &str) -> String {
    if asked == name { String::new() } else { format!(", which is `{name}`") }
}

fn said(reason: &str) -> String {
    if reason.is_empty() { String::new() } else { format!(": {reason}") }
}

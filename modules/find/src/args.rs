//! The options of `find`.

use modbox_sdk::{Args, Choice};

/// Lists the files, folders and links below some folders that fit.
///
/// Modes and owners are neither returned nor asked for: WASI has none.
#[derive(Args)]
pub(crate) struct FindArgs {
    /// The folders.
    #[arg(elements = "path", access = "read", aliases("name", "path"))]
    pub(crate) paths: Vec<String>,
    /// What names must fit, as a shell's patterns, or with use_regex as Python's. None means all.
    #[arg(default = [], alias = "pattern")]
    pub(crate) patterns: Vec<String>,
    /// What names must not fit.
    #[arg(alias = "exclude")]
    pub(crate) excludes: Option<Vec<String>>,
    /// Patterns are regular expressions, which match from a name's start.
    #[arg(default = false)]
    pub(crate) use_regex: bool,
    /// What to look for.
    #[arg(default = "file")]
    pub(crate) file_type: FileType,
    /// Include names that start with a dot.
    #[arg(default = false)]
    pub(crate) hidden: bool,
    /// Search folders in folders, too.
    #[arg(default = false)]
    pub(crate) recurse: bool,
    /// How deep to go.
    pub(crate) depth: Option<i64>,
    /// Search folders that links lead to.
    #[arg(default = false)]
    pub(crate) follow: bool,
    /// Stop when so many fit.
    pub(crate) limit: Option<i64>,
    /// How long files must be at least or, with a minus, at most; with a unit of b, k, m, g or t.
    pub(crate) size: Option<String>,
    /// How long ago the time must be at least or, with a minus, at most; with a unit of s, m, h, d or w.
    pub(crate) age: Option<String>,
    /// Which time.
    #[arg(default = "mtime")]
    pub(crate) age_stamp: AgeStamp,
    /// A regular expression that must match the start of a line of the file.
    pub(crate) contains: Option<String>,
    /// Search the whole file for contains, not its lines.
    #[arg(default = false)]
    pub(crate) read_whole_file: bool,
    /// Compute a checksum of files.
    #[arg(default = false)]
    pub(crate) get_checksum: bool,
    /// Which checksum.
    #[arg(default = "sha1", choices("md5", "sha1", "sha224", "sha256", "sha384", "sha512"))]
    #[arg(aliases("checksum", "checksum_algo"))]
    pub(crate) checksum_algorithm: String,
}

#[derive(Choice, PartialEq)]
pub(crate) enum FileType {
    Any,
    Directory,
    File,
    Link,
}

#[derive(Choice, PartialEq)]
pub(crate) enum AgeStamp {
    Atime,
    Mtime,
}

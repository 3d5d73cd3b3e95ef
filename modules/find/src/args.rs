//! The options of `find`.

use modbox_sdk::{Args, Choice};

/// Finds files, folders and links below folders.
#[derive(Args)]
pub(crate) struct FindArgs {
    /// The folders to search.
    #[arg(elements = "path", access = "read", aliases("name", "path"))]
    pub(crate) paths: Vec<String>,
    /// Patterns that names must match: shell patterns, or with use_regex, Python's regular expressions. An empty list
    /// matches all.
    #[arg(default = [], alias = "pattern")]
    pub(crate) patterns: Vec<String>,
    /// Patterns that names must not match.
    #[arg(alias = "exclude")]
    pub(crate) excludes: Option<Vec<String>>,
    /// Whether patterns are regular expressions, which match at the start of a name.
    #[arg(default = false)]
    pub(crate) use_regex: bool,
    /// The file type to find.
    #[arg(default = "file")]
    pub(crate) file_type: FileType,
    /// Include names that start with a dot.
    #[arg(default = false)]
    pub(crate) hidden: bool,
    /// Search nested folders too.
    #[arg(default = false)]
    pub(crate) recurse: bool,
    /// The deepest level to search.
    pub(crate) depth: Option<i64>,
    /// Follow links to folders.
    #[arg(default = false)]
    pub(crate) follow: bool,
    /// Stop after this number of matches.
    pub(crate) limit: Option<i64>,
    /// The least size or, with a minus, the largest size, with a unit of b, k, m, g or t.
    pub(crate) size: Option<String>,
    /// The least age or, with a minus, the highest age, with a unit of s, m, h, d or w.
    pub(crate) age: Option<String>,
    /// The time that age compares.
    #[arg(default = "mtime")]
    pub(crate) age_stamp: AgeStamp,
    /// A regular expression that must match the start of a line of the file.
    pub(crate) contains: Option<String>,
    /// Search the whole file for contains, instead of its lines.
    #[arg(default = false)]
    pub(crate) read_whole_file: bool,
    /// The encoding of files whose text is searched: utf-8, which is the default, latin-1 or ascii.
    pub(crate) encoding: Option<String>,
    /// Compute a checksum of files.
    #[arg(default = false)]
    pub(crate) get_checksum: bool,
    /// The checksum algorithm.
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
    Ctime,
    Mtime,
}

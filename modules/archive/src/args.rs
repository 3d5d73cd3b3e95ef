//! The options of `archive`.

use modbox_compression::Codec;
use modbox_sdk::{Args, Choice};

/// Makes an archive of files and folders, or compresses a single file.
///
/// Links are kept as links in tar archives, and are what they lead to in zip archives. Devices, pipes and sockets are left out.
#[derive(Args)]
pub(crate) struct ArchiveArgs {
    /// What to put in. Patterns with * and ? need a grant of their folder.
    #[arg(elements = "path", access = "read")]
    pub(crate) path: Vec<String>,
    /// How to make it. A single file is only compressed by gz, bz2 and xz; several are put in a tar archive first.
    #[arg(default = "gz")]
    pub(crate) format: Format,
    /// The archive; without it a single file's name with the format behind it.
    #[arg(type = "path", access = "write")]
    pub(crate) dest: Option<String>,
    /// Paths to leave out of those in path, patterns too.
    #[arg(default = [], elements = "path", access = "read")]
    pub(crate) exclude_path: Vec<String>,
    /// What to leave out, wherever it is, as shell patterns: of names in a tar archive, of whole paths for a zip archive.
    #[arg(elements = "path")]
    pub(crate) exclusion_patterns: Option<Vec<String>>,
    /// Make an archive of a single file, too.
    #[arg(default = false)]
    pub(crate) force_archive: bool,
    /// Remove what was put in. Needs write access to it.
    #[arg(default = false)]
    pub(crate) remove: bool,
}

#[derive(Choice, Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Bz2,
    Gz,
    Tar,
    Xz,
    Zip,
}

impl Format {
    /// Returns the name, which is also the end of an archive's name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Bz2 => "bz2",
            Self::Gz => "gz",
            Self::Tar => "tar",
            Self::Xz => "xz",
            Self::Zip => "zip",
        }
    }

    /// Returns what compresses the whole.
    pub(crate) fn codec(self) -> Codec {
        match self {
            Self::Bz2 => Codec::Bzip2,
            Self::Gz => Codec::Gzip,
            Self::Xz => Codec::Xz,
            Self::Tar | Self::Zip => Codec::None,
        }
    }
}

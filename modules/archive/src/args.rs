//! The options of `archive`.

use modbox_compression::Codec;
use modbox_sdk::{Args, Choice};

/// Makes an archive of files and folders, or compresses a single file.
///
/// Tar archives contain links as links; zip archives contain their targets. Devices, pipes and sockets are skipped.
#[derive(Args)]
pub(crate) struct ArchiveArgs {
    /// The files and folders to pack. Patterns with * and ? need a grant of their folder.
    #[arg(elements = "path", access = "read")]
    pub(crate) path: Vec<String>,
    /// The format. With gz, bz2 and xz, a single file is only compressed, and several files are put in a tar archive
    /// first.
    #[arg(default = "gz")]
    pub(crate) format: Format,
    /// The archive. By default, the name of a single file with the format appended.
    #[arg(type = "path", access = "write")]
    pub(crate) dest: Option<String>,
    /// Paths or patterns to exclude from path.
    #[arg(default = [], elements = "path", access = "read")]
    pub(crate) exclude_path: Vec<String>,
    /// Shell patterns to exclude everywhere. They match names in a tar archive, and whole paths in a zip archive.
    #[arg(elements = "path")]
    pub(crate) exclusion_patterns: Option<Vec<String>>,
    /// Create an archive for a single file too.
    #[arg(default = false)]
    pub(crate) force_archive: bool,
    /// Remove the files that were packed. This needs write access to them.
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
    /// Returns the name, which is also the extension of archives.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Bz2 => "bz2",
            Self::Gz => "gz",
            Self::Tar => "tar",
            Self::Xz => "xz",
            Self::Zip => "zip",
        }
    }

    /// Returns the compression of the archive.
    pub(crate) fn codec(self) -> Codec {
        match self {
            Self::Bz2 => Codec::Bzip2,
            Self::Gz => Codec::Gzip,
            Self::Xz => Codec::Xz,
            Self::Tar | Self::Zip => Codec::None,
        }
    }
}

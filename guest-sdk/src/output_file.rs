//! A file that is written part by part, whose errors have a cause. In components, the C library loses the cause.
//!
//! It does not buffer.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::file_error::write_cause;

/// A file that is written.
#[derive(Debug)]
pub struct OutputFile {
    file: File,
    path: PathBuf,
}

impl OutputFile {
    pub(crate) fn new(file: File, path: PathBuf) -> Self {
        Self { file, path }
    }

    /// Creates a file that does not exist yet.
    ///
    /// # Errors
    ///
    /// The file system refused, or the file exists.
    pub fn create_new(path: &Path) -> io::Result<Self> {
        Ok(Self::new(File::create_new(path)?, path.to_owned()))
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes).map_err(|error| write_cause(&self.path, error))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Seek for OutputFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

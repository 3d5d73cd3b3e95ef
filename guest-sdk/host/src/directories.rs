//! The directories that the guest was started with, and calls on paths below them. Only `preopen` compares paths.

use std::cell::OnceCell;
use std::io::{self, ErrorKind};
use std::path::Path;

use wasip2::filesystem::preopens::get_directories;
use wasip2::filesystem::types::{Descriptor, ErrorCode};

use crate::preopen::innermost;

thread_local! {
    /// The directories that the guest was started with.
    static DIRECTORIES: OnceCell<Vec<(Descriptor, String)>> = const { OnceCell::new() };
}

/// Calls the host with the innermost directory around a path.
pub(crate) fn at<T>(path: &Path, call: impl FnOnce(&Descriptor, &str) -> Result<T, ErrorCode>) -> io::Result<T> {
    let path = absolute(path)?;
    DIRECTORIES.with(|directories| {
        let (fd, rest) = innermost(directories.get_or_init(get_directories), &path).ok_or(ErrorKind::NotFound)?;
        call(fd, rest).map_err(error)
    })
}

/// Calls the host with the innermost directories around two paths.
#[cfg(feature = "calls")]
pub(crate) fn at_two<T>(
    (path, other): (&Path, &Path),
    call: impl FnOnce((&Descriptor, &str), (&Descriptor, &str)) -> Result<T, ErrorCode>,
) -> io::Result<T> {
    let (path, other) = (absolute(path)?, absolute(other)?);
    DIRECTORIES.with(|directories| {
        let directories = directories.get_or_init(get_directories);
        let one = innermost(directories, &path).ok_or(ErrorKind::NotFound)?;
        let two = innermost(directories, &other).ok_or(ErrorKind::NotFound)?;
        call(one, two).map_err(error)
    })
}

/// Returns the absolute path; the working directory of an empty one is not meant.
fn absolute(path: &Path) -> io::Result<String> {
    if path.as_os_str().is_empty() {
        return Err(ErrorKind::NotFound.into());
    }
    let path = if path.is_absolute() { path.to_owned() } else { std::env::current_dir()?.join(path) };
    path.into_os_string().into_string().map_err(|_| ErrorKind::InvalidInput.into())
}

/// Converts WASI's error to one that looks the same on every host.
fn error(code: ErrorCode) -> io::Error {
    let kind = match code {
        ErrorCode::Access => ErrorKind::PermissionDenied,
        // The standard library has one kind for both; the text tells them apart.
        ErrorCode::NotPermitted => return io::Error::new(ErrorKind::PermissionDenied, "Operation not permitted"),
        ErrorCode::NoEntry => ErrorKind::NotFound,
        ErrorCode::NotDirectory => ErrorKind::NotADirectory,
        ErrorCode::IsDirectory => ErrorKind::IsADirectory,
        ErrorCode::ReadOnly => ErrorKind::ReadOnlyFilesystem,
        ErrorCode::Invalid => ErrorKind::InvalidInput,
        ErrorCode::Unsupported => ErrorKind::Unsupported,
        ErrorCode::InsufficientSpace => ErrorKind::StorageFull,
        ErrorCode::Quota => ErrorKind::QuotaExceeded,
        ErrorCode::FileTooLarge => ErrorKind::FileTooLarge,
        ErrorCode::CrossDevice => ErrorKind::CrossesDevices,
        ErrorCode::Busy => ErrorKind::ResourceBusy,
        ErrorCode::TextFileBusy => ErrorKind::ExecutableFileBusy,
        _ => ErrorKind::Other,
    };
    io::Error::new(kind, code.message())
}

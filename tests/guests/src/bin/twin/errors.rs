//! Errors by name.

use std::io::{self, ErrorKind};

macro_rules! names {
    ($($name:ident)*) => {
        /// Returns the name of an error number.
        pub(crate) fn name(errno: i32) -> String {
            match errno {
                $(libc::$name => stringify!($name).to_owned(),)*
                other => format!("errno-{other}"),
            }
        }
    };
}

names! {
    EPERM ENOENT EINTR EIO ENXIO E2BIG EBADF EAGAIN ENOMEM EACCES EFAULT EBUSY EEXIST EXDEV ENODEV ENOTDIR EISDIR EINVAL
    ENFILE EMFILE ENOTTY ETXTBSY EFBIG ENOSPC ESPIPE EROFS EMLINK EPIPE EDOM ERANGE ENAMETOOLONG ENOSYS ENOTEMPTY ELOOP
    EILSEQ EOVERFLOW ENOTSUP EDQUOT ESTALE
}

/// Returns the name of an error of the standard library or of modbox's own interface. Where it has no number, the kind and
/// the text tell.
pub(crate) fn of(error: &io::Error) -> String {
    if let Some(errno) = error.raw_os_error() {
        return name(errno);
    }
    let text = error.to_string();
    // WASI's own words for an error name it: "Filename too long, similar to `ENAMETOOLONG`".
    if let Some(name) = text.split("similar to `").nth(1) {
        return name.split('`').next().unwrap_or_default().to_owned();
    }
    match error.kind() {
        ErrorKind::PermissionDenied if text == "Operation not permitted" => "EPERM",
        ErrorKind::PermissionDenied => "EACCES",
        ErrorKind::NotFound => "ENOENT",
        ErrorKind::NotADirectory => "ENOTDIR",
        ErrorKind::IsADirectory => "EISDIR",
        ErrorKind::ReadOnlyFilesystem => "EROFS",
        ErrorKind::InvalidInput => "EINVAL",
        ErrorKind::Unsupported => "ENOTSUP",
        ErrorKind::StorageFull => "ENOSPC",
        ErrorKind::FileTooLarge => "EFBIG",
        _ => return crate::words::word(text.as_bytes()),
    }
    .to_owned()
}

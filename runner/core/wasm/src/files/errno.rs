//! WASI's error codes for the kernel's errors. wasmtime-wasi 48 knows fewer, and calls the rest input/output errors.

use rustix::io::Errno;
use wasmtime_wasi::p2::FsError;
use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;

/// Returns the code of an error of the kernel.
pub(crate) fn code_of(errno: Errno) -> ErrorCode {
    match errno {
        Errno::XDEV => ErrorCode::CrossDevice,
        Errno::ROFS => ErrorCode::ReadOnly,
        Errno::TXTBSY => ErrorCode::TextFileBusy,
        Errno::DQUOT => ErrorCode::Quota,
        Errno::NXIO | Errno::NODEV => ErrorCode::NoSuchDevice,
        Errno::AGAIN => ErrorCode::WouldBlock,
        errno => std::io::Error::from(errno).into(),
    }
}

/// Returns the error of a failed system call.
pub(crate) fn failed(errno: Errno) -> FsError {
    code_of(errno).into()
}

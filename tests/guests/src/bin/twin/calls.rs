//! The file calls of the C library: wasi-libc on WASI, glibc on Linux. Each returns the number of its error.

#![expect(unsafe_code, reason = "what is compared are the calls of the C library, past every other library")]

use std::ffi::{CStr, CString, c_int};
use std::io;

/// The result of a call.
pub(crate) type Done<T = ()> = Result<T, i32>;

/// Attributes of a file that both systems' `stat` has.
#[derive(Debug)]
pub(crate) struct Status {
    /// The kind, in a word.
    pub(crate) kind: &'static str,
    pub(crate) size: i64,
    pub(crate) links: u64,
    /// The time of the last change, in seconds and nanoseconds.
    pub(crate) changed: (i64, i64),
    #[cfg(not(target_family = "wasm"))]
    pub(crate) mode: u32,
    #[cfg(not(target_family = "wasm"))]
    pub(crate) owner: (u32, u32),
}

/// A path as C takes it.
fn c(path: &[u8]) -> CString {
    CString::new(crate::names::encoded(path)).expect("paths have no NUL")
}

fn errno() -> i32 {
    io::Error::last_os_error().raw_os_error().unwrap_or_default()
}

fn done(result: c_int) -> Done {
    if result == 0 { Ok(()) } else { Err(errno()) }
}

fn size<T: TryInto<u64>>(result: T) -> Done<u64> {
    result.try_into().map_err(|_| errno())
}

/// `open`, or `openat` with a descriptor.
pub(crate) fn open(at: Option<c_int>, path: &[u8], flags: c_int, mode: u32) -> Done<c_int> {
    let path = c(path);
    // SAFETY: `open` and `openat` read a string with a NUL at its end, which lives on, and a mode.
    let fd = unsafe {
        match at {
            None => libc::open(path.as_ptr(), flags | libc::O_CLOEXEC, mode),
            Some(at) => libc::openat(at, path.as_ptr(), flags | libc::O_CLOEXEC, mode),
        }
    };
    if fd < 0 { Err(errno()) } else { Ok(fd) }
}

/// `close`.
pub(crate) fn close(fd: c_int) -> Done {
    // SAFETY: the descriptor is one that `open` returned, and that nothing else owns.
    done(unsafe { libc::close(fd) })
}

/// `read`, or `pread` at an offset.
pub(crate) fn read(fd: c_int, length: usize, offset: Option<i64>) -> Done<Vec<u8>> {
    let mut buffer = vec![0_u8; length];
    let start = buffer.as_mut_ptr().cast();
    // SAFETY: both write at most `length` bytes to the buffer, which has that length.
    let read = unsafe {
        match offset {
            None => libc::read(fd, start, length),
            Some(offset) => libc::pread(fd, start, length, offset),
        }
    };
    let read = size(read)?;
    buffer.truncate(usize::try_from(read).expect("it is not more than the length"));
    Ok(buffer)
}

/// `write`, or `pwrite` at an offset.
pub(crate) fn write(fd: c_int, bytes: &[u8], offset: Option<i64>) -> Done<u64> {
    let start = bytes.as_ptr().cast();
    // SAFETY: both read the bytes of a slice.
    size(unsafe {
        match offset {
            None => libc::write(fd, start, bytes.len()),
            Some(offset) => libc::pwrite(fd, start, bytes.len(), offset),
        }
    })
}

/// `lseek`.
pub(crate) fn seek(fd: c_int, offset: i64, whence: c_int) -> Done<u64> {
    // SAFETY: it takes numbers only.
    size(unsafe { libc::lseek(fd, offset, whence) })
}

/// `ftruncate`.
pub(crate) fn set_length(fd: c_int, length: i64) -> Done {
    // SAFETY: it takes numbers only.
    done(unsafe { libc::ftruncate(fd, length) })
}

/// `truncate`.
pub(crate) fn truncate(path: &[u8], length: i64) -> Done {
    // SAFETY: it reads a string with a NUL at its end, which lives on.
    done(unsafe { libc::truncate(c(path).as_ptr(), length) })
}

/// `fstat`.
pub(crate) fn status_of(fd: c_int) -> Done<Status> {
    // SAFETY: it writes one `stat`, for which all bytes are valid.
    status(|stat| unsafe { libc::fstat(fd, stat) })
}

/// `stat`, or `lstat`.
pub(crate) fn status_at(path: &[u8], follow: bool) -> Done<Status> {
    let path = c(path);
    // SAFETY: both read a string with a NUL at its end, which lives on, and write one `stat`, for which all bytes are valid.
    status(|stat| unsafe { if follow { libc::stat(path.as_ptr(), stat) } else { libc::lstat(path.as_ptr(), stat) } })
}

fn status(call: impl FnOnce(*mut libc::stat) -> c_int) -> Done<Status> {
    // SAFETY: a `stat` has only numbers, for which zero is valid.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    done(call(&raw mut stat))?;
    Ok(Status {
        kind: kind(stat.st_mode & libc::S_IFMT),
        size: stat.st_size,
        links: stat.st_nlink,
        #[cfg(target_family = "wasm")]
        changed: (stat.st_mtim.tv_sec, stat.st_mtim.tv_nsec.into()),
        #[cfg(not(target_family = "wasm"))]
        changed: (stat.st_mtime, stat.st_mtime_nsec),
        #[cfg(not(target_family = "wasm"))]
        mode: stat.st_mode & 0o7777,
        #[cfg(not(target_family = "wasm"))]
        owner: (stat.st_uid, stat.st_gid),
    })
}

fn kind(mode: libc::mode_t) -> &'static str {
    match mode {
        libc::S_IFREG => "file",
        libc::S_IFDIR => "directory",
        libc::S_IFLNK => "link",
        libc::S_IFIFO => "fifo",
        libc::S_IFCHR => "device",
        // WASI has no kind for FIFOs.
        0 => "fifo",
        _ => "other",
    }
}

/// `access`.
#[cfg(not(target_family = "wasm"))]
pub(crate) fn access(path: &[u8], mode: c_int) -> Done {
    // SAFETY: it reads a string with a NUL at its end, which lives on.
    done(unsafe { libc::access(c(path).as_ptr(), mode) })
}

/// `readlink`.
pub(crate) fn read_link(path: &[u8]) -> Done<Vec<u8>> {
    let mut buffer = vec![0_u8; 8192];
    // SAFETY: it reads a string with a NUL at its end, which lives on, and writes at most as many bytes as the buffer has.
    let read = size(unsafe { libc::readlink(c(path).as_ptr(), buffer.as_mut_ptr().cast(), buffer.len()) })?;
    buffer.truncate(usize::try_from(read).expect("it is not more than the length"));
    Ok(crate::names::decoded(&buffer))
}

/// `symlink`, `link` or `rename`.
pub(crate) fn of_two(call: &str, one: &[u8], other: &[u8]) -> Done {
    let (one, other) = (c(one), c(other));
    // SAFETY: all of them read two strings with a NUL at their ends, which live on.
    done(unsafe {
        match call {
            "symlink" => libc::symlink(one.as_ptr(), other.as_ptr()),
            "link" => libc::link(one.as_ptr(), other.as_ptr()),
            _ => libc::rename(one.as_ptr(), other.as_ptr()),
        }
    })
}

/// `unlink`.
pub(crate) fn unlink(path: &[u8]) -> Done {
    // SAFETY: it reads a string with a NUL at its end, which lives on.
    done(unsafe { libc::unlink(c(path).as_ptr()) })
}

/// `rmdir`.
pub(crate) fn remove_directory(path: &[u8]) -> Done {
    // SAFETY: it reads a string with a NUL at its end, which lives on.
    done(unsafe { libc::rmdir(c(path).as_ptr()) })
}

/// `mkdir`.
pub(crate) fn make_directory(path: &[u8], mode: u32) -> Done {
    // SAFETY: it reads a string with a NUL at its end, which lives on, and a mode.
    done(unsafe { libc::mkdir(c(path).as_ptr(), mode as libc::mode_t) })
}

/// `utimensat` on a path, with one time for both.
pub(crate) fn set_times(path: &[u8], follow: bool, seconds: i64, nanoseconds: i64) -> Done {
    let times = [time(seconds, nanoseconds); 2];
    let flags = if follow { 0 } else { libc::AT_SYMLINK_NOFOLLOW };
    // SAFETY: it reads a string with a NUL at its end and two times, which live on.
    done(unsafe { libc::utimensat(libc::AT_FDCWD, c(path).as_ptr(), times.as_ptr(), flags) })
}

/// `futimens`, with one time for both.
pub(crate) fn set_times_of(fd: c_int, seconds: i64, nanoseconds: i64) -> Done {
    let times = [time(seconds, nanoseconds); 2];
    // SAFETY: it reads two times, which live on.
    done(unsafe { libc::futimens(fd, times.as_ptr()) })
}

fn time(seconds: i64, nanoseconds: i64) -> libc::timespec {
    libc::timespec { tv_sec: seconds, tv_nsec: fitting(nanoseconds) }
}

/// Returns a number in the type that the system's `timespec` has for it.
fn fitting<T: TryInto<U>, U>(number: T) -> U {
    number.try_into().ok().expect("it is below a thousand million")
}

/// `chmod`.
#[cfg(not(target_family = "wasm"))]
pub(crate) fn set_mode(path: &[u8], mode: u32) -> Done {
    // SAFETY: it reads a string with a NUL at its end, which lives on, and a mode.
    done(unsafe { libc::chmod(c(path).as_ptr(), mode) })
}

/// `opendir` and `readdir`: the names in their order, with their kinds.
pub(crate) fn list(path: &[u8]) -> Done<Vec<(Vec<u8>, &'static str)>> {
    // SAFETY: it reads a string with a NUL at its end, which lives on.
    let directory = unsafe { libc::opendir(c(path).as_ptr()) };
    if directory.is_null() {
        return Err(errno());
    }
    let mut names = Vec::new();
    loop {
        set_errno(0);
        // SAFETY: the directory is open, and only this thread reads it.
        let entry = unsafe { libc::readdir(directory) };
        if entry.is_null() {
            break;
        }
        // SAFETY: `readdir` returns an entry that is valid until its next call, with a NUL at the end of its name.
        let (name, kind) = unsafe { (CStr::from_ptr((&raw const (*entry).d_name).cast()), (*entry).d_type) };
        names.push((crate::names::decoded(name.to_bytes()), kind_in_list(kind)));
    }
    // The end of the list has no error.
    let error = errno();
    // SAFETY: the directory is open, and is not used any more.
    unsafe { libc::closedir(directory) };
    names.sort();
    if error == 0 { Ok(names) } else { Err(error) }
}

fn set_errno(number: c_int) {
    // SAFETY: it returns the place of this thread's `errno`, which lives as long as the thread.
    unsafe { libc::__errno_location().write(number) };
}

fn kind_in_list(kind: u8) -> &'static str {
    match kind {
        libc::DT_REG => "file",
        libc::DT_DIR => "directory",
        libc::DT_LNK => "link",
        libc::DT_CHR => "device",
        libc::DT_FIFO => "fifo",
        _ => "other",
    }
}

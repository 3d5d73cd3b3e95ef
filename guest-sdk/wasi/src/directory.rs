//! The directory that a module starts in.

#![allow(unsafe_code, reason = "wasi-libc has no other way to set it that does not bring all of its files")]

use std::ffi::{CString, c_char};

use wasip2::cli::environment::initial_cwd;

unsafe extern "C" {
    /// wasi-libc's working directory, against which it resolves relative paths: what `chdir` sets.
    static mut __wasilibc_cwd: *const c_char;

    fn strdup(text: *const c_char) -> *const c_char;
}

/// Makes the directory that the host says a component starts in the working directory: the host's word alone does not,
/// since wasi-libc starts every guest in `/`, where nothing can be made.
///
/// A host that says none leaves the guest there. To be called before anything else looks at a path.
pub fn enter_initial() {
    let Some(Ok(directory)) = initial_cwd().map(CString::new) else { return };
    // SAFETY: the text ends with a zero, and outlives the call, which copies it. A component has one thread, so nobody
    // reads the variable meanwhile. It takes what `strdup` returns, as `chdir` stores it there and frees it later;
    // nothing is kept of what it held, a constant.
    unsafe {
        let copy = strdup(directory.as_ptr());
        if !copy.is_null() {
            __wasilibc_cwd = copy;
        }
    }
}

//! Reads the memory of another process, where a reported call has its names.

/// Reads memory of another process, up to the first unmapped page. Returns the number of bytes read.
#[expect(unsafe_code, reason = "no library reads the memory of another process")]
pub(super) fn read(thread: u32, address: u64, into: &mut [u8]) -> usize {
    let Ok(pid) = i32::try_from(thread) else { return 0 };
    let Ok(address) = usize::try_from(address) else { return 0 };
    let local = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
    let remote = libc::iovec { iov_base: std::ptr::without_provenance_mut(address), iov_len: into.len() };
    // SAFETY: process_vm_readv writes at most `into.len()` bytes to `into`; the remote address is only looked up in the
    // other process.
    let read = unsafe { libc::process_vm_readv(pid, &raw const local, 1, &raw const remote, 1, 0) };
    usize::try_from(read).unwrap_or(0)
}

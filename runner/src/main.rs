//! The `modbox` binary: everything is in the library.

use std::process::ExitCode;

// Only its symbols are wanted.
#[cfg(all(target_env = "musl", target_arch = "x86_64"))]
use modbox_bytes as _;

#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

fn main() -> ExitCode {
    modbox::cli::main()
}

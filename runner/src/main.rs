//! The `modbox` binary: everything is in the library.

use std::process::ExitCode;

#[cfg(any(test, target_env = "musl"))]
mod heaps;

// Only its symbols are wanted.
#[cfg(all(target_env = "musl", target_arch = "x86_64"))]
use modbox_bytes as _;

#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: heaps::Heaps = heaps::Heaps::new();

fn main() -> ExitCode {
    modbox::cli::main()
}

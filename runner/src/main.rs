//! The `modbox` binary: everything is in the library.

use std::process::ExitCode;

#[cfg(any(test, target_env = "musl"))]
mod memory;

#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: memory::Heaps = memory::Heaps::new();

fn main() -> ExitCode {
    modbox::cli::main()
}

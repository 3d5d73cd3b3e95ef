//! The `modbox` binary: everything is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    modbox::cli::main()
}

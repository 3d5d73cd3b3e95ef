//! Placeholder.

use std::process::ExitCode;

use crate::sandbox::native::launcher;

/// Runs the program.
#[must_use]
pub fn main() -> ExitCode {
    if std::env::args_os().nth(1).is_some_and(|word| word == launcher::WORD) {
        return launcher::main();
    }
    ExitCode::SUCCESS
}

//! `modbox policy`: what is in force, and whether policy files are right.

mod check;
mod show;

use crate::cli::args::PolicyCommand;
use crate::cli::context::Context;
use crate::cli::exit::{ExitStatus, Failure};

/// Shows or checks.
pub(crate) fn run(context: &Context, command: &PolicyCommand) -> Result<ExitStatus, Failure> {
    match command {
        PolicyCommand::Show(args) => show::run(context, args),
        PolicyCommand::Check { files } => check::run(context, files),
    }
}

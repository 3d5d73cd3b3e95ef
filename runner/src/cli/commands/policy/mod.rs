//! `modbox policy`: shows the policy in force, and checks and suggests policy files.

mod check;
mod check_outside;
mod check_trust;
mod findings;
mod show;
mod suggest;

pub(super) use self::suggest::usable;
use crate::cli::args::PolicyCommand;
use crate::cli::context::Context;
use crate::cli::exit::{ExitStatus, Failure};
use crate::cli::task_args::ArgumentSource;

/// Runs `policy show`, `policy check` or `policy suggest`.
pub(crate) fn run(context: &Context, command: &PolicyCommand, order: &[ArgumentSource]) -> Result<ExitStatus, Failure> {
    match command {
        PolicyCommand::Show(args) => show::run(context, args, order),
        PolicyCommand::Check { files } => check::run(context, files),
        PolicyCommand::Suggest { files, by, reasons } => suggest::run(context, files, (*by, *reasons)),
    }
}

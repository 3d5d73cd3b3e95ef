//! `modbox build`: builds a component from a module project.

use modbox_authoring::BuildOptions;

use crate::cli::args::BuildArgs;
use crate::cli::authoring::with_context;
use crate::cli::context::Context;
use crate::cli::exit::{ExitStatus, Failure, OrExit};
use crate::cli::output;

/// Builds a project and prints the component's path.
pub(crate) fn run(context: &Context, args: &BuildArgs) -> Result<ExitStatus, Failure> {
    let options = BuildOptions { binary: args.bin.clone() };
    let built = with_context(context, |cx| modbox_authoring::build(cx, &args.dir, &options)).or_unavailable()?;
    output::print_name(&built.component.display().to_string()).or_internal()?;
    Ok(ExitStatus::Success)
}

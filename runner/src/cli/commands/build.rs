//! `modbox build`: builds a component from a module project.

use modbox_authoring::BuildOptions;

use crate::cli::args::BuildArgs;
use crate::cli::authoring::with_context;
use crate::cli::context::Context;
use crate::cli::exit::{ExitStatus, Failure, OrExit};
use crate::cli::{output, standard};

/// Builds a project and prints the component's path.
pub(crate) fn run(context: &Context, args: &BuildArgs) -> Result<ExitStatus, Failure> {
    let options = BuildOptions { binary: args.bin.clone() };
    // A directory of that name in the working directory is more specific.
    let standard = standard::name(&args.dir).filter(|_| !args.dir.exists());
    let built = with_context(context, |cx| match standard {
        Some(name) => modbox_authoring::build_standard(cx, name),
        None => modbox_authoring::build(cx, &args.dir, &options),
    })
    .or_unavailable()?;
    output::print_name(&built.component.display().to_string()).or_internal()?;
    Ok(ExitStatus::Success)
}

//! `modbox new`: creates a module project that builds, runs and has a test.

use modbox_authoring::NewOptions;

use crate::cli::args::NewArgs;
use crate::cli::authoring::with_context;
use crate::cli::context::Context;
use crate::cli::exit::{ExitStatus, Failure, OrExit};
use crate::cli::printing::output;

/// Writes the project, and prints the next step.
pub(crate) fn run(context: &Context, args: &NewArgs) -> Result<ExitStatus, Failure> {
    let options = NewOptions { sdk: args.sdk.clone() };
    let parent = &context.environment.cwd;
    let made = |cx: &mut modbox_authoring::AuthoringContext<'_>| {
        modbox_authoring::new_project(cx, parent, &args.name, &options)
    };
    with_context(context, made).or_usage()?;
    let name = &args.name;
    let next = format!("made `{name}`; next: cd {name} && modbox run . path=greeting");
    output::print_line(&next).or_internal()?;
    Ok(ExitStatus::Success)
}

//! `modbox build`: builds a component from a module project.

use std::path::Path;

use anyhow::Context as _;
use modbox_authoring::BuildOptions;

use crate::cli::ansible::ansible_form;
use crate::cli::args::BuildArgs;
use crate::cli::authoring::with_context;
use crate::cli::context::Context;
use crate::cli::exit::{ExitStatus, Failure, OrExit};
use crate::cli::named::standard;
use crate::cli::printing::output;

/// Builds a project and prints the component's path. With `--ansible`, writes the form that Ansible runs, and prints its
/// path.
pub(crate) fn run(context: &Context, args: &BuildArgs) -> Result<ExitStatus, Failure> {
    let options = BuildOptions { binary: args.bin.clone() };
    // A directory of that name in the working directory is more specific.
    let standard = standard::name(&args.dir).filter(|_| !args.dir.exists());
    let built = with_context(context, |cx| match standard {
        Some(name) => modbox_authoring::build_standard(cx, name),
        None => modbox_authoring::build(cx, &args.dir, &options),
    })
    .or_unavailable()?;
    let Some(folder) = &args.ansible else {
        return print(&built.component);
    };
    let program = args.interpreter.clone().map_or_else(std::env::current_exe, Ok);
    let program = program.context("failed to find the path of this program; set `--interpreter`").or_internal()?;
    let folder = context.environment.absolute(folder);
    print(&ansible_form::install(&built.component, &built.name, &folder, &program).or_unavailable()?)
}

fn print(module: &Path) -> Result<ExitStatus, Failure> {
    output::print_name(&module.display().to_string()).or_internal()?;
    Ok(ExitStatus::Success)
}

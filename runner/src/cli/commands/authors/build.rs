//! `modbox build`: builds components from module projects and from the modules that modbox carries.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use modbox_authoring::{BuildOptions, BuiltModule};

use crate::cli::ansible::ansible_form;
use crate::cli::args::BuildArgs;
use crate::cli::authoring::with_context;
use crate::cli::context::Context;
use crate::cli::exit::{ExitStatus, Failure, OrExit};
use crate::cli::named::standard;
use crate::cli::printing::output;

/// Builds projects or modules of modbox, one after the other, and prints the paths of the components. With `--ansible`, writes
/// the forms that Ansible runs, and prints their paths. The first failure ends it.
pub(crate) fn run(context: &Context, args: &BuildArgs) -> Result<ExitStatus, Failure> {
    if args.bin.is_some() && args.modules.len() > 1 {
        return Err(anyhow::anyhow!("`--bin` is a binary of one project; build one at a time")).or_usage();
    }
    let program = args.interpreter.clone().map_or_else(std::env::current_exe, Ok);
    let program = program.context("failed to find the path of this program; set `--interpreter`").or_internal()?;
    let all = modbox_authoring::standard_names().into_iter().map(PathBuf::from);
    let modules = if args.all { all.collect() } else { args.modules.clone() };
    for module in &modules {
        let built = build(context, module, args)?;
        let shown = match &args.ansible {
            Some(folder) => {
                let folder = context.environment.absolute(folder);
                ansible_form::install(&built.component, &built.name, &folder, &program).or_unavailable()?
            }
            None => built.component,
        };
        output::print_name(&shown.display().to_string()).or_internal()?;
    }
    Ok(ExitStatus::Success)
}

fn build(context: &Context, module: &Path, args: &BuildArgs) -> Result<BuiltModule, Failure> {
    // With `--all`, only names are meant. Else a directory of that name in the working directory is more specific.
    let standard = standard::name(module).filter(|_| args.all || !module.exists());
    let options = BuildOptions { binary: args.bin.clone() };
    with_context(context, |cx| match standard {
        Some(name) => modbox_authoring::build_standard(cx, name),
        None => modbox_authoring::build(cx, module, &options),
    })
    .or_unavailable()
}

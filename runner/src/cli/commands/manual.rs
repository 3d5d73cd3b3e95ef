//! `modbox completions` and `modbox man`: the script that makes a shell ask modbox for completions, and the manual, which
//! is generated from the clap definitions.

use anyhow::Context as _;
use clap::CommandFactory;

use crate::cli::args::Cli;
use crate::cli::completion;
use crate::cli::exit::{ExitStatus, Failure, OrExit};
use crate::cli::printing::output;

/// Prints the completion script of a shell.
pub(crate) fn completions(shell: clap_complete::Shell) -> Result<ExitStatus, Failure> {
    let script = completion::script(&shell.to_string()).context("the shell has no completions").or_internal()?;
    output::print_bytes(&script).or_internal()?;
    Ok(ExitStatus::Success)
}

/// Prints the manual: the page of `modbox`, then those of its subcommands.
pub(crate) fn man() -> Result<ExitStatus, Failure> {
    let mut command = Cli::command();
    command.build();
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut page).or_internal()?;
    let source = concat!("modbox ", env!("CARGO_PKG_VERSION"));
    for subcommand in command.get_subcommands().filter(|subcommand| subcommand.get_name() != "help") {
        let name = format!("modbox-{}", subcommand.get_name());
        let man = clap_mangen::Man::new(subcommand.clone()).title(name).source(source);
        man.render(&mut page).or_internal()?;
    }
    output::print_bytes(&page).or_internal()?;
    Ok(ExitStatus::Success)
}

//! Completes command lines for a shell: besides what the command line itself defines, names of modules, their options
//! and choices, types of resources and their attributes, and ids of jobs.
//!
//! The script that `modbox completions` prints makes the shell start `modbox` with the line in its arguments and the
//! shell's name in a variable. Nothing of a module is started, and no project is built.

mod jobs;
mod line;
mod modules;
mod options;
mod resources;

use std::ffi::{OsStr, OsString};
use std::process::ExitCode;

use clap::{Command, CommandFactory, Id};
use clap_complete::CompleteEnv;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use clap_complete::env::Shells;

use crate::cli::args::Cli;
use crate::cli::process::environment;

/// Variable by which the script asks for completions. Its value is the shell's name.
const VARIABLE: &str = "MODBOX_COMPLETE";

/// Name of the program in scripts.
const PROGRAM: &str = "modbox";

/// Answers a shell that asks for completions, and returns the exit status; `None` for every other start.
pub(crate) fn answer(argv: &[OsString]) -> Option<ExitCode> {
    if !environment::has_value(VARIABLE) {
        return None;
    }
    let complete = CompleteEnv::with_factory(command).var(VARIABLE).bin(PROGRAM).completer(PROGRAM);
    match complete.try_complete(argv.iter().cloned(), std::env::current_dir().ok().as_deref()) {
        Ok(_) => Some(ExitCode::SUCCESS),
        Err(error) => {
            drop(error.print());
            Some(ExitCode::FAILURE)
        }
    }
}

/// Returns the script for a shell, or `None` for an unknown one.
pub(crate) fn script(shell: &str) -> Option<Vec<u8>> {
    let mut script = Vec::new();
    let shells = Shells::builtins();
    // Writing to memory does not fail.
    shells.completer(shell)?.write_registration(VARIABLE, PROGRAM, PROGRAM, PROGRAM, &mut script).ok()?;
    Some(script)
}

/// Returns the command line, with completers for words that it does not define itself.
fn command() -> Command {
    let mut command = Cli::command();
    // The arguments of subcommands exist only in a command that is built.
    command.build();
    complete_all(command)
}

fn complete_all(mut command: Command) -> Command {
    let completers: Vec<(Id, ArgValueCompleter)> = command
        .get_positionals()
        .filter_map(|argument| Some((argument.get_id().clone(), completer(command.get_name(), argument.get_id())?)))
        .collect();
    for (id, completer) in completers {
        command = command.mut_arg(id, |argument| argument.add(completer));
    }
    command.mut_subcommands(complete_all)
}

fn completer(command: &str, argument: &Id) -> Option<ArgValueCompleter> {
    match (command, argument.as_str()) {
        (_, "module") => Some(ArgValueCompleter::new(modules::candidates)),
        // It takes the module and its arguments as one list.
        ("validate", "pairs") => Some(ArgValueCompleter::new(module_or_pair)),
        ("resource", "provider") => Some(ArgValueCompleter::new(resources::types)),
        ("resource", "attributes") => Some(ArgValueCompleter::new(resources::attributes)),
        (_, "pairs") => Some(ArgValueCompleter::new(options::candidates)),
        (_, "job") => Some(ArgValueCompleter::new(jobs::candidates)),
        _ => None,
    }
}

fn module_or_pair(current: &OsStr) -> Vec<CompletionCandidate> {
    match options::candidates(current) {
        options if options.is_empty() => modules::candidates(current),
        options => options,
    }
}

//! The command-line program. Only this module reads the command line and the environment, prints, and decides the exit
//! status.

pub(crate) mod ansible;
mod args;
mod asking;
mod audit;
mod audit_view;
mod authoring;
mod commands;
mod completion;
mod context;
mod exit;
pub(crate) mod folders;
pub(crate) mod identity;
mod job_resolver;
mod kept_run;
mod layered;
mod layered_play;
mod mcp;
pub(crate) mod module_store;
pub(crate) mod named;
pub(crate) mod new_policy_file;
mod perform;
mod play;
pub(crate) mod printing;
pub(crate) mod process;
mod registry;
mod runner;
mod saved_file;
mod settings;
mod since;
mod ssh_keygen;
pub(crate) mod surroundings;
mod task_args;
mod terminal;
mod terminal_keys;
#[cfg(test)]
mod tips_tests;

use crate::cli::ansible::{playbook_program, python_program};
use crate::cli::printing::{output, usage_tips};
use crate::cli::process::{deep_stack, logging, roles, signals};
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, FromArgMatches};
use modbox_cleanup::Cleanup;
use modbox_run::jobs::order::JOB_WORD;
use modbox_worker::{Forked, THIS_PROGRAM, WorkerProcess, Workers};

use self::args::{Cli, Command};
use self::context::Context;
use self::exit::{ExitStatus, Failure, OrExit};
use self::process::environment::Environment;
use self::task_args::argument_order;

/// Runs the program and returns its exit status.
#[must_use]
pub fn main() -> ExitCode {
    let argv: Vec<OsString> = std::env::args_os().collect();
    if let Some(ended) = roles::run(&argv) {
        return ended;
    }
    if let Some(ended) = completion::answer(&argv) {
        return ended;
    }
    if argv.get(1).is_some_and(|word| word == JOB_WORD) {
        // Before the fork: the worker must not get the signals of the session either, not even in its first moment.
        // An error is reported by the monitor, which tries again.
        let _ = modbox_kernel::start_session();
    }
    // First of all, while this process has one thread and has read nothing.
    let early = match runs_one_module(&argv).then(WorkerProcess::fork) {
        Some(Ok(Forked::Worker(Ok(())))) => return roles::worker(),
        Some(Ok(Forked::Worker(Err(_)))) => return ExitCode::FAILURE,
        Some(Ok(Forked::Monitor(worker))) => Some(worker),
        // Without it a worker is started when it is needed.
        Some(Err(_)) | None => None,
    };
    let cleanup = Cleanup::default();
    let ended = start(&argv, &cleanup, early).unwrap_or_else(|failure| {
        if is_broken_pipe(&failure.error) {
            // The reader of the output has closed it, as `head` does.
            return ExitStatus::Success;
        }
        if !cleanup.is_ending() {
            output::print_error(&failure.error);
        }
        failure.status
    });
    // The signal thread is cleaning up and ends the process by the signal; do not exit before it does.
    while cleanup.is_ending() {
        std::thread::park();
    }
    if playbook_program::is_named(&argv) { playbook_program::status(ended).into() } else { ended.into() }
}

/// Returns whether the command line is one that runs a module and nothing else, as far as its first words tell.
fn runs_one_module(argv: &[OsString]) -> bool {
    if python_program::is_named(argv) {
        return true;
    }
    let first = argv.get(1).filter(|_| !playbook_program::is_named(argv));
    // With more words, a task is left to a job, or a module is kept.
    let is_task = |word: &OsString| word == "task" && argv.len() == 2;
    first.is_some_and(|word| word == "run" || word == JOB_WORD || is_task(word) || word.as_bytes().contains(&b'/'))
}

fn start(argv: &[OsString], cleanup: &Cleanup, early: Option<WorkerProcess>) -> Result<ExitStatus, Failure> {
    let signals = signals::watch(cleanup.clone()).or_internal()?;
    let environment = Environment::of_process().or_internal()?;
    let workers = Workers::new(THIS_PROGRAM.into()).with_early(early);
    let context = Context { environment, cleanup: cleanup.clone(), signals, workers };
    if playbook_program::is_named(argv) {
        let Some(translated) = playbook_program::translate(argv, &context.environment.variables) else {
            output::print_bytes(playbook_program::version().as_bytes()).or_internal()?;
            return Ok(ExitStatus::Success);
        };
        return command(&context, &translated);
    }
    if python_program::is_named(argv) {
        return python_program::run(&context, argv.get(1..).unwrap_or_default());
    }
    if argv.get(1).is_some_and(|word| word == JOB_WORD) {
        return commands::runs::job::monitor(&context);
    }
    if let Some(invocation) = commands::runs::file::recognize(argv) {
        return commands::runs::file::run(&context, &invocation);
    }
    command(&context, argv)
}

/// Runs a subcommand.
fn command(context: &Context, argv: &[OsString]) -> Result<ExitStatus, Failure> {
    let matches = match Cli::command().try_get_matches_from(argv) {
        Ok(matches) => matches,
        Err(error) => return explain(argv, error),
    };
    let cli = Cli::from_arg_matches(&matches).or_usage()?;
    logging::start(&cli.log);
    match cli.command {
        Command::Run(args) => {
            let order = matches.subcommand_matches("run").map(argument_order).unwrap_or_default();
            commands::runs::run::run(context, &args, &order, argv)
        }
        Command::Batch(args) => commands::runs::batch::run(context, &args),
        Command::Play(args) => commands::runs::play::run(context, &args),
        Command::Mcp(args) => commands::mcp::run(context, &args),
        Command::Task(args) => commands::runs::task::run(context, &args),
        Command::Template(args) => deep_stack::run(|| commands::runs::template::run(context, &args)).or_internal()?,
        Command::Status(args) => commands::runs::job::status(context, &args),
        Command::Jobs(args) => commands::runs::job::list(context, &args),
        Command::Apply(args) => commands::changes::apply::run(context, &args),
        Command::Undo(args) => commands::changes::undo::run(context, &args),
        Command::Transactions(args) => commands::changes::transactions::run(context, &args),
        Command::Recover(args) => commands::changes::recover::run(context, &args),
        Command::Inspect(args) => commands::authors::inspect::run(context, &args),
        Command::List(args) => commands::authors::list::run(context, &args),
        Command::Resource(args) => commands::runs::resource::run(context, &args),
        Command::Assemble(args) => commands::authors::assemble::run(context, &args),
        Command::Doc(args) => commands::authors::doc::run(context, &args),
        Command::Validate(args) => {
            let order = matches.subcommand_matches("validate").map(argument_order).unwrap_or_default();
            commands::authors::validate::run(context, &args, &order)
        }
        Command::Build(args) => commands::authors::build::run(context, &args),
        Command::Test(args) => commands::authors::test::run(context, &args),
        Command::New(args) => commands::authors::new::run(context, &args),
        Command::Collection(args) => commands::authors::collection::run(context, &args.command),
        Command::Policy(args) => {
            let show = matches.subcommand_matches("policy").and_then(|policy| policy.subcommand_matches("show"));
            commands::policy::run(context, &args.command, &show.map(argument_order).unwrap_or_default())
        }
        Command::Pull(args) => commands::supply::pull::run(context, &args),
        Command::Install(args) => commands::supply::install::run(context, &args),
        Command::Update(args) => commands::supply::update::run(context, &args),
        Command::Save(args) => commands::supply::save::run(context, &args),
        Command::Load(args) => commands::supply::load::run(context, &args),
        Command::Push(args) => commands::supply::push::run(context, &args),
        Command::Sign(args) => commands::supply::sign::run(context, &args),
        Command::Verify(args) => commands::supply::verify::run(context, &args),
        Command::Doctor(args) => commands::doctor::run(context, &args),
        Command::Audit(args) => commands::audit::run(&args),
        Command::Python(args) => commands::interpreters::run(context, &args.command),
        Command::Cache(args) => commands::cache::run(context, &args.command),
        Command::Completions { shell } => commands::manual::completions(shell),
        Command::Man => commands::manual::man(),
    }
}

/// Prints clap's help, version or error message.
fn explain(argv: &[OsString], mut error: clap::Error) -> Result<ExitStatus, Failure> {
    if !error.use_stderr() {
        output::written(error.print()).or_internal()?;
        return Ok(ExitStatus::Success);
    }
    if error.kind() == ErrorKind::InvalidSubcommand
        && let Some(word) = argv.get(1).filter(|word| commands::runs::file::is_path(word) || has_arguments(argv))
    {
        let tip = format!("to run a module, use `modbox run {}`", output::clean(&word.to_string_lossy()));
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    usage_tips::improve(&mut error, argv);
    output::print_usage_error(&error, argv);
    Ok(ExitStatus::Usage)
}

/// Returns whether the words after an unknown command are arguments of a module.
fn has_arguments(argv: &[OsString]) -> bool {
    argv.get(2).and_then(|word| word.to_str()).is_some_and(|word| !word.starts_with('-') && word.contains('='))
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
}

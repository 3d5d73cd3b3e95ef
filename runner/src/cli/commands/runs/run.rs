//! `modbox run`: runs one module once.

use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::thread;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use modbox_authoring::SourceState;
use modbox_contract::Dict;
use modbox_run::library::is_path;
use modbox_run::{Effect, Report};

use crate::cli::args::{OutputFormat, RunArgs};
use crate::cli::commands::ask::AskedRun;
use crate::cli::commands::runs::job;
use crate::cli::commands::{ask, learn};
use crate::cli::context::Context;
use crate::cli::exit::{ExitStatus, Failure, OrExit};
use crate::cli::perform::perform;
use crate::cli::printing::output;
use crate::cli::task_args::{ArgumentSource, task_args};

/// Time between two looks at the files of a watched project.
const BETWEEN_LOOKS: Duration = Duration::from_millis(300);

/// Runs a module and prints its result. With `--async`, starts a job that runs it, and prints the job's id.
pub(crate) fn run(
    context: &Context,
    args: &RunArgs,
    order: &[ArgumentSource],
    argv: &[OsString],
) -> Result<ExitStatus, Failure> {
    let format = args.output.unwrap_or_else(|| match io::stdout().is_terminal() {
        true => OutputFormat::Human,
        false => OutputFormat::Result,
    });
    let task = task_args(Some(&args.module), &args.pairs, &args.args, order).or_usage()?;
    if args.grants.allow_all {
        let who = args.become_user.as_ref().map_or_else(|| "you".to_owned(), |user| format!("the user `{user}`"));
        let who = output::clean_line(&who);
        output::print_note(&format!("--allow-all: the module can do everything that {who} can"));
    }
    if args.background.is_some() {
        return job::start(context, args, &task, argv, format);
    }
    if let Some(file) = &args.learn {
        return learn::run(context, args, task, argv, file, format);
    }
    if args.watch {
        return watch(context, args, &task, format);
    }
    if ask::is_wanted(context, args)? {
        return asked(context, args, task, argv, format);
    }
    once(context, args, task, format)
}

/// Runs a module that a person at the terminal gives what it lacks.
fn asked(
    context: &Context,
    args: &RunArgs,
    task: Dict,
    argv: &[OsString],
    format: OutputFormat,
) -> Result<ExitStatus, Failure> {
    let AskedRun { mut report, audited, is_refused } = ask::run(context, task, argv, || spinner(format))?;
    let status = show(context, &mut report, format, args)?;
    audited.map(|()| if is_refused { ExitStatus::Denied } else { status })
}

fn once(context: &Context, args: &RunArgs, task: Dict, format: OutputFormat) -> Result<ExitStatus, Failure> {
    let (mut report, audited) = perform(context, args, task, spinner(format))?;
    let status = show(context, &mut report, format, args)?;
    audited.map(|()| status)
}

/// Runs the module, and again after each change of its project. A failure is printed, and the next change tries again.
fn watch(context: &Context, args: &RunArgs, task: &Dict, format: OutputFormat) -> Result<ExitStatus, Failure> {
    let dir = context.environment.absolute(&args.module);
    if !is_path(&args.module) || !dir.is_dir() {
        let shown = args.module.display();
        return Err(anyhow::anyhow!(
            "`--watch` needs the directory of a project, such as `.`, and `{shown}` is not one"
        ))
        .or_usage();
    }
    while !context.cleanup.is_ending() {
        let before = SourceState::of(&dir);
        if let Err(failure) = once(context, args, task.clone(), format) {
            output::print_error(&failure.error);
        }
        if !context.cleanup.is_ending() {
            output::print_note("waiting for a change of the project; Ctrl-C ends");
        }
        while !context.cleanup.is_ending() && SourceState::of(&dir) == before {
            thread::sleep(BETWEEN_LOOKS);
        }
    }
    Ok(ExitStatus::Internal)
}

fn show(context: &Context, report: &mut Report, format: OutputFormat, args: &RunArgs) -> Result<ExitStatus, Failure> {
    if context.cleanup.is_ending() {
        // A signal is ending the process, so the run is incomplete and its result is not printed.
        return Ok(ExitStatus::Internal);
    }
    if args.verbose > 0 || format == OutputFormat::Human {
        for note in &report.notes {
            output::print_note(note);
        }
    }
    if args.keep_files
        && format == OutputFormat::Result
        && let Some(path) = &report.kept_files
    {
        output::print_note(&format!("files kept in {path}"));
    }
    if format == OutputFormat::Result
        && let Some(run) = undoable(report)
    {
        output::print_note(&format!("committed; `modbox undo {run}` takes it back"));
    }
    if format == OutputFormat::Result
        && let Some(file) = report.effect.as_ref().and_then(|effect| effect.commit.file.as_deref())
    {
        output::print_note(&format!("saved; `modbox apply {file}` makes these changes"));
    }
    output::print_report(report, format, args.no_log, args.verbose).or_internal()?;
    Ok(match ExitStatus::from(&*report) {
        ExitStatus::Success if is_incomplete(report) && !args.layers.incomplete_ok => ExitStatus::NotCommitted,
        status => status,
    })
}

/// Returns the name of the transaction that can be undone.
fn undoable(report: &Report) -> Option<&str> {
    let commit = &report.effect.as_ref()?.commit;
    commit.run.as_deref().filter(|_| commit.undo)
}

/// Returns whether the report is of a preview that does not show everything.
fn is_incomplete(report: &Report) -> bool {
    report.effect.as_ref().is_some_and(|effect| effect.mode == Effect::Preview && !effect.complete)
}

/// Returns what a person sees while a module is compiled.
fn spinner(format: OutputFormat) -> Option<ProgressBar> {
    (format == OutputFormat::Human && io::stderr().is_terminal()).then(compile_spinner)
}

fn compile_spinner() -> ProgressBar {
    let spinner = ProgressBar::new_spinner().with_message("compiling the module (once; it is cached)");
    spinner.with_style(ProgressStyle::default_spinner())
}

//! `modbox run --ask`: a person at the terminal gives a module what it lacks, once or for good.
//!
//! The kernel cannot wait for an answer in the middle of a native module, so no run pauses. A run is a transaction. One that
//! fails for lack of grants is discarded, a person is asked, and the module runs from the start. Nothing half-done remains.
//! An answer is bound to the digest of the module. What is granted for good is one new file in the folder `policy.d`.
//!
//! A run with effects that no view holds, such as connections, is not repeated: then what it lacks is only printed.

use std::ffi::OsString;

use anyhow::anyhow;
use indicatif::ProgressBar;
use modbox_contract::{Dict, Value};
use modbox_run::Report;

use crate::cli::args::{Cli, Command, RunArgs};
use crate::cli::asking::facts::RunFacts;
use crate::cli::asking::rounds::{after_run, has_terminal, no_terminal};
use crate::cli::asking::session::{Outcome, Session};
use crate::cli::context::Context;
use crate::cli::exit::{Failure, OrExit};
use crate::cli::layered;
use crate::cli::perform::perform_by;
use crate::cli::settings::Settings;

/// The last run of a module that a person was asked about.
pub(crate) struct AskedRun {
    pub(crate) report: Report,
    /// The error if the audit line could not be written.
    pub(crate) audited: Result<(), Failure>,
    /// Whether the person said no.
    pub(crate) is_refused: bool,
}

/// Returns whether a run asks: by the switch, or on a terminal by a section `ask` of the policy files.
///
/// # Errors
///
/// The switch is given, and standard input or standard error is not a terminal. A policy file is wrong.
pub(crate) fn is_wanted(context: &Context, args: &RunArgs) -> Result<bool, Failure> {
    if args.ask {
        return match has_terminal() {
            true => Ok(true),
            false => Err(no_terminal("learn the grants with `--learn FILE`")).or_usage(),
        };
    }
    let has_other_way = args.check || args.grants.allow_all || args.keep_files || args.layers.preview_net;
    if has_other_way || !has_terminal() {
        return Ok(false);
    }
    Ok(Settings::load(&context.environment, &args.grants, &args.limits).or_usage()?.asking.is_wanted())
}

/// Runs a module, and again after each answer that gives it something, until it succeeds, lacks nothing that can be asked
/// for, or the person says no.
pub(crate) fn run(
    context: &Context,
    mut task: Dict,
    argv: &[OsString],
    spinner: impl Fn() -> Option<ProgressBar>,
) -> Result<AskedRun, Failure> {
    let mut args = parsed(argv)?;
    args.layers.transaction = !args.layers.preview;
    let settings = Settings::load(&context.environment, &args.grants, &args.limits).or_usage()?;
    let mut session = Session::new(context, &settings, "modbox run");
    let mut round = 0;
    loop {
        round += 1;
        let mut facts = None;
        let way = layered::way(context, &args)?;
        let (report, audited) = perform_by(context, &args, task.clone(), spinner(), |runner, module, request| {
            let report = way(runner, module, request);
            if !report.status.is_success() {
                facts = Some(RunFacts::of(context, &settings, runner, (module, request)));
            }
            report
        })?;
        let ended = |report, audited, is_refused| Ok(AskedRun { report, audited, is_refused });
        let Some(facts) = facts.filter(|_| !context.cleanup.is_ending() && audited.is_ok()) else {
            return ended(report, audited, false);
        };
        match after_run(&mut session, round, &report, &facts.or_usage()?, &task) {
            Outcome::Again { grants, arguments } => {
                args.grants.answered = grants;
                task.extend(arguments.into_iter().map(|(name, value)| (name, Value::from(value.as_str()))));
            }
            Outcome::NothingToAsk => return ended(report, audited, false),
            Outcome::Refused => return ended(report, audited, true),
        }
    }
}

/// Parses the command line again, to have arguments that can be changed.
fn parsed(argv: &[OsString]) -> Result<RunArgs, Failure> {
    use clap::Parser as _;
    match Cli::try_parse_from(argv).or_usage()?.command {
        Command::Run(args) => Ok(args.into_inner()),
        _ => Err(anyhow!("the command line does not run a module")).or_internal(),
    }
}

//! `modbox run --ask`: a person at the terminal gives a module what it lacks, once or for good.
//!
//! The kernel cannot wait for an answer in the middle of a native module, so no run pauses. A run is a transaction. One that
//! fails for lack of grants is discarded, a person is asked, and the module runs from the start. Nothing half-done remains.
//! An answer is bound to the digest of the module. What is granted for good is one new file in the folder `policy.d`.
//!
//! A run with effects that no view holds, such as connections, is not repeated: then what it lacks is only printed.

mod answer_file;
mod facts;
mod limits;
mod question;
mod session;
mod wish;

use std::ffi::OsString;
use std::io::{self, IsTerminal as _};

use anyhow::anyhow;
use indicatif::ProgressBar;
use modbox_contract::{Dict, Value};
use modbox_run::{Report, Status, reaches_out};
use modbox_vocabulary::Capability;

use self::facts::RunFacts;
use self::session::{Outcome, Session};
use crate::cli::args::{Cli, Command, RunArgs};
use crate::cli::context::Context;
use crate::cli::exit::{Failure, OrExit};
use crate::cli::layered;
use crate::cli::perform::perform_by;
use crate::cli::printing::output;
use crate::cli::settings::Settings;

/// Maximum number of runs. Each but the first has a grant that the one before lacked.
const MAX_ROUNDS: usize = 24;

/// Capabilities whose use no view holds.
const OUTSIDE: [Capability; 3] = [Capability::Net, Capability::Listen, Capability::Outside];

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
    let has_terminal = io::stdin().is_terminal() && io::stderr().is_terminal();
    if args.ask {
        return match has_terminal {
            true => Ok(true),
            false => Err(anyhow!(
                "`--ask` asks a person on a terminal, and standard input or standard error is none; grant with `--allow-*` or in \
                 a policy file, or learn the grants with `--learn FILE`"
            ))
            .or_usage(),
        };
    }
    let has_other_way = args.check || args.grants.allow_all || args.keep_files || args.layers.preview_net;
    if !has_terminal || has_other_way {
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
    let mut session = Session::new(context, &settings);
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
        if !may_ask(&report) {
            return ended(report, audited, false);
        }
        if let Some(effect) = effect_without_view(&report, &facts) {
            output::print_note(&format!("not asked: the run may have used {effect}, so it is not repeated"));
            return ended(report, audited, false);
        }
        if round == MAX_ROUNDS {
            output::print_note(&format!("not asked: the module ran {MAX_ROUNDS} times, and still lacks something"));
            return ended(report, audited, false);
        }
        match session.ask(&report, &facts.or_usage()?, &task) {
            Outcome::Again { grants, arguments } => {
                args.grants.answered = grants;
                task.extend(arguments.into_iter().map(|(name, value)| (name, Value::from(value.as_str()))));
            }
            Outcome::NothingToAsk => return ended(report, audited, false),
            Outcome::Refused => return ended(report, audited, true),
        }
    }
}

/// Returns whether a run ended in a way that a grant can change.
fn may_ask(report: &Report) -> bool {
    let can_lack = matches!(report.status, Status::Denied | Status::Failed | Status::Crashed);
    can_lack && report.objections.is_empty() && report.limit.is_none() && report.error.is_none()
}

/// Returns what a run that has begun may have used, if no view holds that.
fn effect_without_view(report: &Report, facts: &anyhow::Result<RunFacts>) -> Option<String> {
    if report.status == Status::Denied {
        return None;
    }
    if let Some(grant) = report.grants.iter().find(|grant| OUTSIDE.contains(&grant.capability)) {
        return Some(format!("{} {}", grant.capability, grant.subject));
    }
    let reaches = facts.as_ref().is_ok_and(|facts| reaches_out(&facts.policy));
    reaches.then(|| "a socket, a pipe or a device".to_owned())
}

/// Parses the command line again, to have arguments that can be changed.
fn parsed(argv: &[OsString]) -> Result<RunArgs, Failure> {
    use clap::Parser as _;
    match Cli::try_parse_from(argv).or_usage()?.command {
        Command::Run(args) => Ok(args.into_inner()),
        _ => Err(anyhow!("the command line does not run a module")).or_internal(),
    }
}

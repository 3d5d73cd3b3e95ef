//! `modbox run --learn FILE`: runs a module in rounds, each with the grants that the ones before lacked, and writes a policy
//! file of them.
//!
//! Every round is confined, and on copies of what the module may write. What reaches the machine all the same (the
//! network, commands, sockets and devices) is learned only with `--learn-effects`; without it, learning stops there.
//! After the module has succeeded, each learned option is left out once, to see whether it is needed, and at last the
//! module runs with the written file alone.

mod ending;
mod learned;
mod written;

use std::ffi::OsString;
use std::path::Path;

use clap::Parser as _;
use modbox_contract::Dict;
use modbox_run::suggestion::RunRecord;
use modbox_run::{RealEffects, Report};

use self::ending::Ending;
use self::learned::{Learned, Lesson};
use crate::cli::args::{Cli, Command, OutputFormat, RunArgs};
use crate::cli::context::Context;
use crate::cli::exit::{ExitStatus, Failure, OrExit};
use crate::cli::new_policy_file;
use crate::cli::perform::perform_by;
use crate::cli::printing::output;

/// Maximum number of rounds. Each must teach something new.
const MAX_ROUNDS: usize = 24;

/// Maximum number of options that are left out to see whether they are needed.
const MAX_LEFT_OUT: usize = 24;

/// The runs of one command.
struct Trials<'a> {
    context: &'a Context,
    task: Dict,
    argv: &'a [OsString],
    effects: RealEffects,
}

/// Learns the grants of a module, writes them to `file` and prints the report of the last run.
pub(crate) fn run(
    context: &Context,
    args: &RunArgs,
    task: Dict,
    argv: &[OsString],
    file: &Path,
    format: OutputFormat,
) -> Result<ExitStatus, Failure> {
    new_policy_file::check_new(file).or_usage()?;
    let effects = if args.learn_effects { RealEffects::Accepted } else { RealEffects::Refused };
    let trials = Trials { context, task, argv, effects };
    let mut learned = Learned::default();
    let (ending, mut report, records) = trials.rounds(&mut learned)?;
    if context.cleanup.is_ending() {
        return Ok(ExitStatus::Internal);
    }
    if ending == Ending::Green {
        trials.narrow(&mut learned)?;
    }
    let text = written::policy(context, &learned, &records, &ending).or_internal()?;
    new_policy_file::create(file, &text).or_internal()?;
    if ending == Ending::Green {
        report = trials.confirm(&learned, file, &text)?;
    }
    let (count, file) = (learned.len(), file.display());
    let grants = if count == 1 { "grant is" } else { "grants are" };
    output::print_note(&format!("{}; {count} {grants} in `{file}`", ending.said()));
    output::print_report(&mut report, format, args.no_log, args.verbose).or_internal()?;
    Ok(match (&ending, ExitStatus::from(&report)) {
        (Ending::Effects(_), ExitStatus::Success) => ExitStatus::Denied,
        (_, status) => status,
    })
}

impl Trials<'_> {
    /// Runs the module until it succeeds or teaches nothing new. Returns the last report, and a record of each run.
    fn rounds(&self, learned: &mut Learned) -> Result<(Ending, Report, Vec<RunRecord>), Failure> {
        let mut records = Vec::new();
        loop {
            let round = records.len() + 1;
            let report = self.run(learned, None)?;
            let record = RunRecord::of(format!("round {round}"), &report.to_value()).map_err(anyhow::Error::msg);
            let record = record.or_internal()?;
            let has_succeeded = record.succeeded;
            let Lesson { new, refused } = learned.learn(&record, &self.task, self.effects == RealEffects::Accepted);
            records.push(record);
            let ending = match (has_succeeded, new.is_empty()) {
                _ if self.context.cleanup.is_ending() => Some(Ending::TooLong),
                (true, _) => Some(Ending::Green),
                (false, true) if refused.is_empty() => Some(Ending::Stuck),
                (false, true) => Some(Ending::Effects(refused)),
                (false, false) => (round >= MAX_ROUNDS).then_some(Ending::TooLong),
            };
            match ending {
                Some(ending) => return Ok((ending, report, records)),
                None => output::print_note(&format!(
                    "round {round}: {}; the next one has {}",
                    report.status.as_str(),
                    new.join(" ")
                )),
            }
        }
    }

    /// Removes each option without which the module succeeds as well. Runs with real effects are not repeated for that.
    fn narrow(&self, learned: &mut Learned) -> Result<(), Failure> {
        if self.effects == RealEffects::Accepted {
            return Ok(());
        }
        for index in (0..learned.len().min(MAX_LEFT_OUT)).rev() {
            let fewer = learned.without(index);
            if self.run(&fewer, None)?.status.is_success() && !self.context.cleanup.is_ending() {
                *learned = fewer;
            }
        }
        Ok(())
    }

    /// Runs the module with the written file alone. If that fails, says so in the file.
    fn confirm(&self, learned: &Learned, file: &Path, text: &str) -> Result<Report, Failure> {
        let alone = learned.arguments_alone();
        let report = self.run(&alone, Some(file))?;
        if !report.status.is_success() {
            let remark = "# With this file alone, the module did not succeed; see the remarks.\n";
            new_policy_file::rewrite(file, &format!("{remark}{text}")).or_internal()?;
            output::print_note(&format!("with `{}` alone, the module does not succeed", file.display()));
        }
        Ok(report)
    }

    fn run(&self, learned: &Learned, policy: Option<&Path>) -> Result<Report, Failure> {
        let policy = policy.map(|file| {
            let mut word = OsString::from("--policy=");
            word.push(file);
            word
        });
        let more = learned.words().chain(policy);
        let args = with_words(self.argv, more.collect())?;
        let task = learned.applied(self.task.clone());
        let (report, audited) = perform_by(self.context, &args, task, None, |runner, module, request| {
            runner.try_on_copies(module, request, self.effects)
        })?;
        audited.map(|()| report)
    }
}

/// Parses the command line again, with more options of `modbox run`.
fn with_words(argv: &[OsString], words: Vec<OsString>) -> Result<RunArgs, Failure> {
    // The first word is the program.
    let after = argv.iter().skip(1).position(|word| word == "run").map_or(argv.len(), |index| index + 2);
    let (before, rest) = argv.split_at(after);
    let all = [before, &words, rest].concat();
    match Cli::try_parse_from(all).or_usage()?.command {
        Command::Run(args) => Ok(args.into_inner()),
        _ => Err(anyhow::anyhow!("the command line does not run a module")).or_internal(),
    }
}

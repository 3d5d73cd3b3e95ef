//! From a run that has ended to its questions: whether a person is asked at all, and whether the run may be made again.
//!
//! A run with effects that no view holds, such as connections, is not repeated: then what it lacks is only printed.

use std::io::{self, IsTerminal as _};

use anyhow::anyhow;
use modbox_contract::Dict;
use modbox_run::{Report, Status, reaches_out};
use modbox_vocabulary::Capability;

use crate::cli::asking::facts::RunFacts;
use crate::cli::asking::session::{Outcome, Session};
use crate::cli::printing::output;

/// Maximum number of runs of one module for one task. Each but the first has a grant that the one before lacked.
const MAX_ROUNDS: usize = 24;

/// Capabilities whose use no view holds.
const OUTSIDE: [Capability; 4] = [Capability::Net, Capability::Listen, Capability::Outside, Capability::All];

/// Returns whether a person can be asked: questions are written to standard error, and answers are read from standard input.
pub(crate) fn has_terminal() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Returns the mistake of a question without a terminal. `other` is another way to the grants.
pub(crate) fn no_terminal(other: &str) -> anyhow::Error {
    anyhow!(
        "`--ask` asks a person on a terminal, and standard input or standard error is none; grant with `--allow-*` or in a policy file, \
         or {other}"
    )
}

/// Asks for what a run lacked, if that may be asked and the run may be made again. `round` counts the runs from 1, and `task` has the
/// arguments.
pub(crate) fn after_run(
    session: &mut Session<'_>,
    round: usize,
    report: &Report,
    facts: &RunFacts,
    task: &Dict,
) -> Outcome {
    if !may_ask(report) {
        return Outcome::NothingToAsk;
    }
    if let Some(effect) = effect_without_view(report, facts) {
        output::print_note(&format!("not asked: the run may have used {effect}, so it is not repeated"));
        return Outcome::NothingToAsk;
    }
    if round == MAX_ROUNDS {
        output::print_note(&format!("not asked: the module ran {MAX_ROUNDS} times, and still lacks something"));
        return Outcome::NothingToAsk;
    }
    session.ask(report, facts, task)
}

/// Returns whether a run ended in a way that a grant can change.
pub(crate) fn may_ask(report: &Report) -> bool {
    let can_lack = matches!(report.status, Status::Denied | Status::Failed | Status::Crashed);
    can_lack && report.objections.is_empty() && report.limit.is_none() && report.error.is_none()
}

/// Returns what a run that has begun may have used, if no view holds that.
fn effect_without_view(report: &Report, facts: &RunFacts) -> Option<String> {
    if report.status == Status::Denied {
        return None;
    }
    if let Some(grant) = report.grants.iter().find(|grant| OUTSIDE.contains(&grant.capability)) {
        return Some(format!("{} {}", grant.capability, grant.subject));
    }
    reaches_out(&facts.policy).then(|| "a socket, a pipe or a device".to_owned())
}

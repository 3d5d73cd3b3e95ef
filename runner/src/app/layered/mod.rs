//! Runs on layers: a module runs for real, with all its confinement, on private views of what it may write. Then its
//! changes are shown and discarded (a preview), or committed as a whole (a transaction).
//!
//! Only files have layers. Network, sockets and devices are withheld from a preview unless the caller accepts real
//! effects. What a module says of its changes is compared with what was observed.

mod ansible_diff;
mod claim;
pub(in crate::app) mod effect_report;
pub(in crate::app) mod error;
mod execution;
mod layered_run;
mod outside;
mod placed_layers;
mod plan;
mod room;
mod shown_changes;
mod transaction;
mod verdict;

use std::borrow::Cow;

use modbox_argument_spec::Secrets;
use modbox_contract::Value;

pub use self::ansible_diff::in_one_line;
pub use self::effect_report::{
    CheckReport, Claim, CommitReport, CommitState, Effect, EffectReport, LineCounts, OutsideEffect, Remark,
    ShownChange, ShownEntry,
};
pub use self::error::LayeredError;
use self::execution::{LayeredExecution, ObservedLayers};
pub use self::layered_run::{CommitChoices, LayeredRun};
use self::shown_changes::{ShownChanges, Shows};
use self::verdict::CheckObserved;
use crate::app::admission::{Admission, AdmittedRun};
use crate::app::judge;
use crate::app::module::Module;
use crate::app::report::Report;
use crate::app::request::{Arguments, RunRequest};
use crate::app::runner::Runner;
use crate::app::trial::RealEffects;

/// The internal argument for check mode, in completed arguments.
const CHECK_MODE_KEY: &str = "_ansible_check_mode";

/// The internal argument that hides a result, in completed arguments.
const NO_LOG_KEY: &str = "_ansible_no_log";

impl Runner {
    /// Runs a module once on layers, not in its own check mode.
    #[must_use]
    pub fn run_on_layers(&self, module: &Module, request: &RunRequest<'_>, run: &LayeredRun<'_>) -> Report {
        let _span = tracing::info_span!("run", name = request.name, layers = true).entered();
        let recovered = match run.effect {
            Effect::Transaction => transaction::recover(run.commit),
            Effect::Preview => Ok(Vec::new()),
        };
        let recovered = match recovered {
            Ok(notes) => notes,
            Err(error) => {
                let report = Report::of_module(module, request.policy).named(request.name);
                return judge::report_failed_start(report, LayeredError::from(error).into());
            }
        };
        let check = match run.compares_check {
            true => match self.observe_check(module, request, run) {
                Ok(check) => Some(check),
                Err(report) => return *report,
            },
            false => None,
        };
        let request = in_check_mode(request, false);
        let mut report = match self.observe(module, &request, run) {
            Ok(observed) => self.judged(module, &request, run, observed, check),
            Err(report) => *report,
        };
        report.notes.extend(recovered);
        report
    }

    /// Runs a module in its own check mode on layers.
    fn observe_check(
        &self,
        module: &Module,
        request: &RunRequest<'_>,
        run: &LayeredRun<'_>,
    ) -> Result<CheckObserved, Box<Report>> {
        let Observed { execution, .. } = self.observe(module, &in_check_mode(request, true), run)?;
        let LayeredExecution { mut report, observed, .. } = execution;
        let wrote = match observed {
            Ok(observed) => observed.lists.iter().any(modbox_overlay::change_list::ChangeList::is_changed),
            Err(error) => {
                report.discard(&error);
                return Err(Box::new(report));
            }
        };
        let is_skipped = report.result.skipped();
        Ok(CheckObserved { claimed: verdict::claimed(&report).filter(|_| !is_skipped), wrote })
    }

    fn observe<'a>(
        &self,
        module: &Module,
        request: &'a RunRequest<'_>,
        run: &LayeredRun<'_>,
    ) -> Result<Observed, Box<Report>> {
        let AdmittedRun { kind, mut policy, arguments, report } = match self.admit(module, request) {
            Admission::Admitted(admitted) => *admitted,
            Admission::Refused { report, .. } => return Err(report),
        };
        let effects = match run.effect {
            Effect::Preview => run.outside,
            Effect::Transaction => RealEffects::Accepted,
        };
        let outside = match outside::withhold(&mut policy, effects) {
            Ok(outside) => outside,
            Err(error) => return Err(Box::new(judge::report_failed_start(report, error.into()))),
        };
        let granted = policy.clone();
        let execution = self.execute_on_layers(module, AdmittedRun { kind, policy, arguments, report }, request)?;
        Ok(Observed { execution, outside, policy: granted })
    }
}

impl Runner {
    /// Judges a run: shows its changes, and commits them if it is a transaction that may be committed.
    fn judged(
        &self,
        module: &Module,
        request: &RunRequest<'_>,
        run: &LayeredRun<'_>,
        observed: Observed,
        check: Option<CheckObserved>,
    ) -> Report {
        let Observed { execution, outside, policy } = observed;
        let LayeredExecution { mut report, observed, .. } = execution;
        let observed = match observed {
            Ok(observed) => observed,
            Err(error) => {
                report.discard(&error);
                return report;
            }
        };
        let shown = shown(module, request, run, &observed);
        let mut effect = verdict::effect(run.effect, &report, shown, outside, check);
        if run.effect == Effect::Transaction && report.status.is_success() && report.limit.is_none() {
            effect.commit = match effect.complete || run.accepts_incomplete {
                true => self.committed(&observed, &policy, run),
                false => CommitReport { reasons: effect.incomplete.clone(), ..CommitReport::of(CommitState::Refused) },
            };
        }
        verdict::apply(&mut report, effect);
        report
    }

    /// Commits, unless a signal is ending modbox. The end waits for a commit that has begun.
    fn committed(
        &self,
        observed: &ObservedLayers,
        policy: &modbox_policy::Policy,
        run: &LayeredRun<'_>,
    ) -> CommitReport {
        let committed = self.config.cleanup.hold(|| transaction::commit(observed, policy, run.commit));
        committed.unwrap_or_else(|| CommitReport::of(CommitState::Discarded))
    }
}

/// A run that was made on layers, with its grants.
#[derive(Debug)]
struct Observed {
    execution: LayeredExecution,
    outside: Vec<OutsideEffect>,
    policy: modbox_policy::Policy,
}

fn shown(module: &Module, request: &RunRequest<'_>, run: &LayeredRun<'_>, observed: &ObservedLayers) -> ShownChanges {
    let secrets = secrets(module, request);
    let shows = Shows { all_lines: run.shows_all_lines, no_lines: is_secret(&request.arguments), secrets: &secrets };
    let mut shown = ShownChanges::default();
    for (layer, list) in observed.layers.iter().zip(&observed.lists) {
        shown.add(layer, list, shows);
    }
    shown
}

/// Returns the secrets among the arguments, as far as the module declares them.
fn secrets(module: &Module, request: &RunRequest<'_>) -> Secrets {
    let spec = module.metadata().map(|metadata| &metadata.argument_spec);
    spec.map(|spec| spec.logged(request.arguments.given()).secrets).unwrap_or_default()
}

fn is_secret(arguments: &Arguments) -> bool {
    match arguments {
        Arguments::Task { internal, .. } => internal.no_log,
        Arguments::Complete(args) => args.get(NO_LOG_KEY).is_some_and(Value::is_truthy),
    }
}

/// Returns the request with check mode on or off.
fn in_check_mode<'a>(request: &RunRequest<'a>, check_mode: bool) -> RunRequest<'a> {
    let mut arguments = request.arguments.clone().into_owned();
    match &mut arguments {
        Arguments::Task { internal, .. } => internal.check_mode = check_mode,
        Arguments::Complete(args) => {
            args.insert(CHECK_MODE_KEY.to_owned(), check_mode.into());
        }
    }
    RunRequest { arguments: Cow::Owned(arguments), ..*request }
}

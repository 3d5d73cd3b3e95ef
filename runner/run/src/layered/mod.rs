//! Runs on layers: a module runs for real, with all its confinement, on private views of what it may write. Then its
//! changes are shown and discarded (a preview), or committed as a whole (a transaction).
//!
//! Only files have layers. Network, sockets and devices are withheld from a preview unless the caller accepts real
//! effects. What a module says of its changes is compared with what was observed.

pub(crate) mod changes;
mod execution;
mod known_owners;
mod layered_run;
mod mount_table;
mod placed_layers;
mod plan;
mod play_layers;
mod room;
mod saved_run;
mod transaction;
mod user_play;
mod warm_layers;
mod warm_worker;

use std::borrow::Cow;

use modbox_overlay::change_list::ChangeList;
use modbox_policy::Policy;

pub use self::changes::ansible_diff::in_one_line;
pub use self::changes::hidden_content::HiddenContent;
use self::changes::hidden_content::HiddenPlace;
pub use self::changes::outside::{reaches_out, withhold_outside};
use self::changes::shown_changes::{ShownChanges, Shows};
use self::changes::verdict::CheckObserved;
use self::execution::{LayeredExecution, ObservedLayers};
pub use self::layered_run::{CommitChoices, LayeredMode, LayeredRun, SavePlace};
pub use self::play_layers::{PlayChanges, PlayLayers};
pub use self::saved_run::{AppliedChanges, apply_saved, show_saved};
pub use self::warm_layers::WarmLayers;
use crate::admission::{Admission, AdmittedRun};
use crate::layered::changes::{outside, verdict};
use crate::modules::module::Module;
use crate::reports::error::layered_error::LayeredError;
use crate::reports::parts::effect_report::{CommitReport, CommitState, EffectReport, OutsideEffect};
use crate::reports::refusal;
use crate::reports::report::Report;
use crate::reports::secrets::TaskSecrets;
use crate::request::run_request::{Arguments, RunRequest};
use crate::runner::Runner;

/// Brings interrupted transactions to an end. Returns notes on them.
///
/// # Errors
///
/// The directory of transactions cannot be used.
pub fn recover_transactions(choices: &CommitChoices) -> Result<Vec<String>, LayeredError> {
    Ok(transaction::recover(choices)?)
}

/// The internal argument for check mode, in completed arguments.
const CHECK_MODE_KEY: &str = "_ansible_check_mode";

impl Runner {
    /// Runs a module once on layers, not in its own check mode.
    #[must_use]
    pub fn run_on_layers(&self, module: &Module, request: &RunRequest<'_>, run: &LayeredRun) -> Report {
        let _span = tracing::info_span!("run", name = request.name, layers = true).entered();
        match self.admit(module, request) {
            Admission::Admitted(admitted) => self.run_admitted_on_layers(module, *admitted, request, run),
            Admission::Refused { report, .. } => *report,
        }
    }

    /// Runs a module once on layers, after [`Runner::admit`]. The grants and the arguments are those of `admitted`.
    #[must_use]
    pub fn run_admitted_on_layers(
        &self,
        module: &Module,
        admitted: AdmittedRun,
        request: &RunRequest<'_>,
        run: &LayeredRun,
    ) -> Report {
        let mut execute =
            |admitted: AdmittedRun, request: &RunRequest<'_>| self.execute_on_layers(module, admitted, request, run);
        self.run_layered(module, admitted, request, run, &mut execute)
    }

    /// Runs a module once on layers, in the way that is given.
    fn run_layered(
        &self,
        module: &Module,
        admitted: AdmittedRun,
        request: &RunRequest<'_>,
        run: &LayeredRun,
        execute: Execute<'_>,
    ) -> Report {
        let recovered = match &run.mode {
            LayeredMode::Transaction(choices) => transaction::recover(choices),
            LayeredMode::Preview { .. } => Ok(Vec::new()),
        };
        let recovered = match recovered {
            Ok(notes) => notes,
            Err(error) => return refusal::report_failed_start(admitted.report, LayeredError::from(error).into()),
        };
        let mut report = match self.observe_both(module, admitted, request, run, execute) {
            Ok(mut report) => {
                report.notes.extend(recovered);
                report
            }
            Err(report) => *report,
        };
        // What the layers tell of paths was added since the run.
        report.mask_known();
        report
    }

    /// Runs a module on layers, first in its own check mode if that is asked for.
    fn observe_both(
        &self,
        module: &Module,
        mut admitted: AdmittedRun,
        request: &RunRequest<'_>,
        run: &LayeredRun,
        execute: Execute<'_>,
    ) -> Result<Report, Box<Report>> {
        let check = match run.mode.compares_check() {
            true => Some(self.observe_check(module, &admitted.arguments, request, run, execute)?),
            false => None,
        };
        set_check_mode(&mut admitted.arguments, false);
        let request = RunRequest { arguments: Cow::Owned(admitted.arguments.clone()), ..*request };
        let observed = observe(admitted, &request, run, execute)?;
        Ok(self.judged(&request, run, observed, check))
    }

    /// Runs a module in its own check mode on layers.
    fn observe_check(
        &self,
        module: &Module,
        arguments: &Arguments,
        request: &RunRequest<'_>,
        run: &LayeredRun,
        execute: Execute<'_>,
    ) -> Result<CheckObserved, Box<Report>> {
        let mut arguments = arguments.clone();
        set_check_mode(&mut arguments, true);
        let request = RunRequest { arguments: Cow::Owned(arguments), ..*request };
        let admitted = match self.admit(module, &request) {
            Admission::Admitted(admitted) => *admitted,
            Admission::Refused { report, .. } => return Err(report),
        };
        let LayeredExecution { mut report, observed, .. } = observe(admitted, &request, run, execute)?.execution;
        let wrote = match observed {
            Ok(observed) => observed.lists.iter().any(ChangeList::is_changed),
            Err(error) => {
                report.discard(&error);
                return Err(Box::new(report));
            }
        };
        let is_skipped = report.result.skipped();
        Ok(CheckObserved { claimed: verdict::claimed(&report).filter(|_| !is_skipped), wrote })
    }

    /// Judges a run: shows its changes, and commits them if it is a transaction that may be committed.
    fn judged(
        &self,
        request: &RunRequest<'_>,
        run: &LayeredRun,
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
        let hidden = hidden(&report.secrets, request, &observed);
        let shown = shown(&hidden, run, &observed);
        let mut effect = verdict::effect(run.mode.effect(), &report, shown, outside, check);
        if report.status.is_success() && report.limit.is_none() {
            effect.commit = self.kept(run, &effect, (&observed, &hidden), &policy);
        }
        verdict::apply(&mut report, effect, run.keeps_result);
        report
    }

    /// Commits or saves the changes of a run that succeeded, if that is asked for. A signal that ends modbox waits for a
    /// commit that has begun, and keeps others from beginning.
    fn kept(
        &self,
        run: &LayeredRun,
        effect: &EffectReport,
        (observed, hidden): (&ObservedLayers, &HiddenContent),
        policy: &Policy,
    ) -> CommitReport {
        let refused = |reasons| CommitReport { reasons, ..CommitReport::of(CommitState::Refused) };
        let keep: &dyn Fn() -> CommitReport = match &run.mode {
            LayeredMode::Preview { save: None, .. } => return saved_run::discard(observed, policy, hidden),
            LayeredMode::Preview { save: Some(place), .. } => &|| saved_run::save(observed, policy, place, hidden),
            LayeredMode::Transaction(choices) => &|| transaction::commit(observed, policy, choices, hidden),
        };
        if !effect.complete && !run.accepts_incomplete {
            return refused(effect.incomplete.clone());
        }
        if let Some(remark) = observed.cut() {
            return refused(vec![remark]);
        }
        self.config.cleanup.hold(keep).unwrap_or_else(|| CommitReport::of(CommitState::Discarded))
    }
}

/// Way of executing an admitted run on layers. An error is the report of a run that did not start.
type Execute<'a> = &'a mut dyn FnMut(AdmittedRun, &RunRequest<'_>) -> Result<LayeredExecution, Box<Report>>;

/// Executes a run without the effects that no layer holds.
fn observe(
    admitted: AdmittedRun,
    request: &RunRequest<'_>,
    run: &LayeredRun,
    execute: Execute<'_>,
) -> Result<Observed, Box<Report>> {
    let AdmittedRun { form, mut policy, arguments, report } = admitted;
    let outside = match outside::withhold_outside(&mut policy, run.mode.outside()) {
        Ok(outside) => outside,
        Err(error) => return Err(Box::new(refusal::report_failed_start(report, error.into()))),
    };
    let granted = policy.clone();
    let execution = execute(AdmittedRun { form, policy, arguments, report }, request)?;
    Ok(Observed { execution, outside, policy: granted })
}

/// A run that was made on layers, with its grants.
#[derive(Debug)]
struct Observed {
    execution: LayeredExecution,
    outside: Vec<OutsideEffect>,
    policy: Policy,
}

/// Returns what a run hides of all that it may have written.
fn hidden(secrets: &TaskSecrets, request: &RunRequest<'_>, observed: &ObservedLayers) -> HiddenContent {
    let mut hidden = HiddenContent::default();
    let places = observed.layers.iter().map(|layer| HiddenPlace::Below(layer.path().to_owned()));
    hidden.add(secrets, request.arguments.given(), places);
    hidden
}

fn shown(hidden: &HiddenContent, run: &LayeredRun, observed: &ObservedLayers) -> ShownChanges {
    let shows = Shows { all_lines: run.shows_all_lines, hidden };
    let mut shown = ShownChanges::default();
    for (layer, list) in observed.layers.iter().zip(&observed.lists) {
        shown.add(layer, list, shows);
    }
    shown
}

fn set_check_mode(arguments: &mut Arguments, check_mode: bool) {
    match arguments {
        Arguments::Task { internal, .. } => internal.check_mode = check_mode,
        Arguments::Complete(args) => {
            args.insert(CHECK_MODE_KEY.to_owned(), check_mode.into());
        }
    }
}

//! Executes an admitted run on layers, and lists what it has changed.
//!
//! This file does not judge the run and commits nothing.

use std::path::Path;

use modbox_overlay::change_list::ChangeList;
use modbox_overlay::commit::Start;
use modbox_overlay::error::LayerError;
use modbox_overlay::layers::{Layer, LayerPlan, Layers};
use modbox_overlay::quota::{Bound, ListBounds};
use modbox_policy::Policy;
use modbox_scratch::{DirPurpose, RunDir};
use modbox_vocabulary::{GrantSource, LimitHit, LimitKind, Limits};

use crate::admission::{Admission, AdmittedRun};
use crate::layered::layered_run::LayeredRun;
use crate::layered::placed_layers::{self, PlacedLayer};
use crate::layered::plan;
use crate::layered::room::in_room;
use crate::modules::module::Module;
use crate::reports::error::RunError;
use crate::reports::error::layered_error::LayeredError;
use crate::reports::parts::effect_report::Remark;
use crate::reports::refusal;
use crate::reports::report::Report;
use crate::request::run_request::RunRequest;
use crate::runner::Runner;
use crate::runner::run_form::RunForm;

/// Level of confinement with mount namespaces, without which a native module sees the machine's own paths.
const WITH_NAMESPACES: u8 = 3;

/// Views that a run may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Views {
    /// Those that fit.
    Any,
    /// No overlays of an ordinary user.
    CopiesForUsers,
}

/// A run that was made on layers.
#[derive(Debug)]
pub(crate) struct LayeredExecution {
    /// The report, as if the run had not been on layers.
    pub(crate) report: Report,
    /// The layers with their changes; an error if they cannot be known.
    pub(crate) observed: Result<ObservedLayers, LayeredError>,
    /// Holds the copies of layers; `None` if they are in memory.
    _dir: Option<RunDir>,
}

impl LayeredExecution {
    /// Returns whether a process that should have ended writes a layer, so that its changes are not known.
    pub(crate) fn is_still_written(&self) -> bool {
        matches!(self.observed, Err(LayeredError::Layer(LayerError::Freeze { .. })))
    }

    /// Lists what a run has changed. `frozen` says whether its layers are not written any more.
    pub(crate) fn observe(
        mut report: Report,
        (layers, start): (Layers, Start),
        frozen: Result<(), LayeredError>,
        limits: &Limits,
        dir: Option<RunDir>,
    ) -> Self {
        let observed = frozen.and_then(|()| Ok(layers.changes(ListBounds::default())?));
        if let Some(hit) = limit(&layers, limits).filter(|_| report.limit.is_none()) {
            report.stop_at(hit);
        }
        report.usage.disk_bytes = report.usage.disk_bytes.max(written(observed.as_deref().unwrap_or_default()));
        let observed = observed.map(|lists| ObservedLayers { layers, lists, start });
        Self { report, observed, _dir: dir }
    }
}

/// Layers that are not written any more.
#[derive(Debug)]
pub(crate) struct ObservedLayers {
    pub(crate) layers: Layers,
    /// The changes of each layer.
    pub(crate) lists: Vec<ChangeList>,
    /// A moment before the layers were made.
    pub(crate) start: Start,
}

impl ObservedLayers {
    /// Returns what is to be said of a layer with more changes than its list has; nothing of a part may be committed.
    pub(crate) fn cut(&self) -> Option<Remark> {
        let (layer, list) = self.layers.iter().zip(&self.lists).find(|(_, list)| list.cut > 0)?;
        let why = format!("it has {} more changes than a commit makes; grant less", list.cut);
        Some(Remark { path: layer.path().display().to_string(), why })
    }
}

impl Runner {
    /// Makes an admitted run on layers.
    ///
    /// # Errors
    ///
    /// No layers can be made, and the module did not start.
    pub(crate) fn execute_on_layers(
        &self,
        module: &Module,
        admitted: AdmittedRun,
        request: &RunRequest<'_>,
        run: &LayeredRun,
    ) -> Result<LayeredExecution, Box<Report>> {
        let (form, policy, arguments) = (admitted.form.clone(), admitted.policy.clone(), admitted.arguments.clone());
        let (execution, can_repeat) = self.execute_once(module, admitted, request, run, Views::Any)?;
        if !can_repeat || !execution.report.refused_renames {
            return Ok(execution);
        }
        // An overlay of an ordinary user may have refused a rename that a direct run makes. A copy makes it.
        drop(execution);
        tracing::info!("a directory may have been renamed; repeating the run on copies");
        let report = match self.admit(module, request) {
            Admission::Admitted(again) => again.report,
            Admission::Refused { report, .. } => return Err(report),
        };
        let admitted = AdmittedRun { form, policy, arguments, report };
        Ok(self.execute_once(module, admitted, request, run, Views::CopiesForUsers)?.0)
    }

    /// Makes an admitted run on layers, once. Also returns whether it can be repeated because a layer refuses renames.
    fn execute_once(
        &self,
        module: &Module,
        admitted: AdmittedRun,
        request: &RunRequest<'_>,
        run: &LayeredRun,
        views: Views,
    ) -> Result<(LayeredExecution, bool), Box<Report>> {
        let AdmittedRun { form, mut policy, arguments, report } = admitted;
        let (dir, layers, start) = match self.make_layers(&form, &mut policy, request, run, views) {
            Ok(made) => made,
            Err(error) => return Err(Box::new(refusal::report_failed_start(report, error))),
        };
        let can_repeat = layers.mounts_of().is_some() && plan::is_repeatable(&policy);
        let admitted = AdmittedRun { form, policy, arguments, report };
        let joined = layers.mounts_of().map(|process| self.with_mounts_of(process));
        let runner = joined.as_ref().unwrap_or(self);
        let made = || runner.run_attached(module, admitted, request, &layers, dir.path());
        let (report, frozen) = match in_room(layers.need_mounts(), made) {
            Ok(ended) => ended,
            Err(error) => {
                return Err(Box::new(refusal::report_failed_start(
                    Report::of_module(module, request.policy),
                    error.into(),
                )));
            }
        };
        let execution = LayeredExecution::observe(report, (layers, start), frozen, request.limits, Some(dir));
        Ok((execution, can_repeat))
    }

    fn make_layers(
        &self,
        form: &RunForm,
        policy: &mut Policy,
        request: &RunRequest<'_>,
        run: &LayeredRun,
        views: Views,
    ) -> Result<(RunDir, Layers, Start), RunError> {
        if policy.allows_everything() {
            return Err(LayeredError::Everything.into());
        }
        plan::refuse_outside(policy)?;
        if !form.is_guest() {
            policy.require_confinement(WITH_NAMESPACES, &GrantSource::named("a run on layers"));
        }
        let dir = RunDir::create(&self.scratch, DirPurpose::Run, policy.user())?;
        let start = run.start();
        let has_overlays = views == Views::Any && plan::needs_one_owner(policy, form.is_guest());
        let workers = self.config.workers.clone().filter(|_| has_overlays);
        let is_repeatable = plan::is_repeatable(policy);
        let plan = LayerPlan { workers, is_repeatable, ..plan::of(policy, request.limits, dir.path()) };
        let layers = Layers::open(&plan).map_err(LayeredError::from)?;
        Ok((dir, layers, start))
    }

    /// Attaches the layers, makes the run, and freezes the layers.
    fn run_attached(
        &self,
        module: &Module,
        admitted: AdmittedRun,
        request: &RunRequest<'_>,
        layers: &Layers,
        scratch: &Path,
    ) -> (Report, Result<(), LayeredError>) {
        let AdmittedRun { form, mut policy, arguments, report } = admitted;
        let placed = match attach(layers, scratch) {
            Ok(placed) => placed,
            Err(error) => return (refusal::report_failed_start(report, error.into()), Ok(())),
        };
        let replaced = placed_layers::apply(&mut policy, &placed, scratch);
        let admitted = AdmittedRun { form, policy, arguments, report };
        let mut report = self.run_admitted(module, admitted, request);
        replaced.translate(&mut report);
        (report, layers.freeze().map_err(LayeredError::from))
    }
}

/// Attaches each layer to a directory of its own.
fn attach(layers: &Layers, scratch: &Path) -> Result<Vec<PlacedLayer>, LayeredError> {
    let one = |(number, layer): (usize, &Layer)| {
        let at = scratch.join(format!("at-{number}"));
        std::fs::create_dir(&at).map_err(|source| LayeredError::Directory { path: at.clone(), source })?;
        let place = layer.attach(&at)?;
        Ok(PlacedLayer { granted: layer.path().to_owned(), is_tree: layer.is_tree(), place })
    };
    layers.iter().enumerate().map(one).collect()
}

/// Returns the limit that a layer has kept the module from crossing.
fn limit(layers: &Layers, limits: &Limits) -> Option<LimitHit> {
    let (kind, allowed) = match layers.iter().find_map(Layer::reached)? {
        Bound::Bytes => (LimitKind::Disk, limits.max_disk),
        Bound::Files => (LimitKind::Files, limits.max_files),
    };
    Some(LimitHit { kind, allowed, unit: kind.unit() })
}

/// Returns the bytes of new content.
fn written(lists: &[ChangeList]) -> u64 {
    lists.iter().fold(0, |sum, list| sum.saturating_add(list.totals.bytes))
}

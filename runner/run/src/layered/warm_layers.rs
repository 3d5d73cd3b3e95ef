//! Runs of guests on layers, one after the other in a warm worker: each run has new layers, in the same places.
//!
//! The thread of the runs has mounts of its own, in which the layers are attached below a hub; the worker has the same
//! mounts. After a run, its layers are frozen, listed, committed or discarded, and removed, before the worker runs the next
//! guest. A worker that keeps a descriptor of them has been taken over by its guest, and ends. Only root can make such
//! mounts.

use std::borrow::Cow;
use std::path::PathBuf;

use modbox_overlay::commit::Start;
use modbox_overlay::hub::{Hub, Removed};
use modbox_overlay::layers::{Layer, LayerPlan, Layers};
use modbox_policy::Policy;
use modbox_scratch::{DirPurpose, Scratch};
use modbox_vocabulary::{Limits, Outcome};
use modbox_wasm::WasmError;

use crate::admission::AdmittedRun;
use crate::layered::execution::LayeredExecution;
use crate::layered::layered_run::LayeredRun;
use crate::layered::mount_table::MountTable;
use crate::layered::placed_layers::{self, PlacedLayer};
use crate::layered::plan;
use crate::layered::warm_worker::WarmWorker;
use crate::modules::module::Module;
use crate::reports::error::RunError;
use crate::reports::error::layered_error::LayeredError;
use crate::reports::refusal;
use crate::reports::report::{Report, Status};
use crate::request::run_request::RunRequest;
use crate::runner::Runner;
use crate::warm_guest::GuestTask;

/// Name of the hub in its directory.
const HUB: &str = "hub";

/// The layers and the worker of runs of one module under the same grants.
#[derive(Debug)]
pub struct WarmLayers {
    /// Ends before the hub.
    worker: Option<WarmWorker>,
    hub: Hub,
    mounts: MountTable,
    /// Directory of the hub. Without mounts of its own, a process sees nothing in it.
    _directory: Scratch,
}

impl WarmLayers {
    /// Returns whether runs can be made this way: of guests by root, which do not compare with a check mode. Another user
    /// could rename directories on the way to the hub.
    #[must_use]
    pub fn suit(runner: &Runner, module: &Module, policy: &Policy, run: &LayeredRun) -> bool {
        rustix::process::geteuid().is_root()
            && runner.config.workers.is_some()
            && module.format().is_some()
            && !policy.allows_everything()
            && policy.user().is_none()
            && !run.mode.compares_check()
    }

    /// Gives this thread mounts of its own, with places for the layers of runs with these grants.
    ///
    /// # Errors
    ///
    /// This user may not make mounts.
    pub fn enter(runner: &Runner, policy: &Policy, limits: &Limits) -> Result<Self, RunError> {
        let directory = runner.scratch.create(DirPurpose::Run, None)?;
        let mounts = MountTable::now().map_err(LayeredError::Mounts)?;
        modbox_kernel::PrivateMounts::enter().map_err(LayeredError::Mounts)?;
        let LayerPlan { trees, names, .. } = plan::of(policy, limits, directory.path());
        // Not at the run's directory itself: its lock, which keeps the sweep from removing what is in it, would be hidden.
        let at = directory.path().join(HUB);
        std::fs::create_dir(&at).map_err(|source| LayeredError::Directory { path: at.clone(), source })?;
        let hub = Hub::attach(&at, trees.len() + names.len()).map_err(LayeredError::from)?;
        Ok(Self { worker: None, hub, mounts, _directory: directory })
    }

    /// Returns whether something was mounted or unmounted since. The mounts of this thread are a copy, so its runs would
    /// see and change the wrong files.
    #[must_use]
    pub fn are_stale(&self) -> bool {
        self.mounts.has_changed()
    }

    /// Runs a module once on layers, after [`Runner::admit`]. Call it in the thread that [entered](Self::enter).
    #[must_use]
    pub fn run(
        &mut self,
        runner: &Runner,
        (module, admitted): (&Module, AdmittedRun),
        request: &RunRequest<'_>,
        run: &LayeredRun,
    ) -> Report {
        let mut is_frozen = true;
        let mut execute = |admitted: AdmittedRun, request: &RunRequest<'_>| {
            let executed = self.execute(runner, (module, admitted), request, run);
            is_frozen = !executed.as_ref().is_ok_and(LayeredExecution::is_still_written);
            executed
        };
        let mut report = runner.run_layered(module, admitted, request, run, &mut execute);
        if let Err(error) = self.hub.begin_removal() {
            tracing::warn!(%error, "failed to remove the layers of a run");
            self.worker = None;
        }
        if !is_frozen {
            report.status = Status::Crashed;
        }
        report
    }

    fn execute(
        &mut self,
        runner: &Runner,
        (module, admitted): (&Module, AdmittedRun),
        request: &RunRequest<'_>,
        run: &LayeredRun,
    ) -> Result<LayeredExecution, Box<Report>> {
        let AdmittedRun { form, mut policy, arguments, report } = admitted;
        let (layers, start, placed) = match self.attach(&policy, request.limits, run) {
            Ok(attached) => attached,
            Err(error) => return Err(Box::new(refusal::report_failed_start(report, error.into()))),
        };
        let replaced = placed_layers::apply(&mut policy, &placed, self.hub.path());
        let request = RunRequest { policy: &policy, arguments: Cow::Borrowed(&*request.arguments), ..*request };
        let admitted = AdmittedRun { form, policy: policy.clone(), arguments, report };
        let (task, ended) = match runner.guest_task(module, &admitted, &request) {
            Ok(mut task) => {
                let ended = self.run_guest(runner, module, &request, &mut task);
                (Some(task), ended)
            }
            Err(error) => (None, Err(error)),
        };
        let mut report = runner.conclude(admitted.report, task, (&admitted.form, &request), ended);
        replaced.translate(&mut report);
        let frozen = layers.freeze().map_err(LayeredError::from);
        Ok(LayeredExecution::observe(report, (layers, start), frozen, request.limits, None))
    }

    fn attach(
        &mut self,
        policy: &Policy,
        limits: &Limits,
        run: &LayeredRun,
    ) -> Result<(Layers, Start, Vec<PlacedLayer>), LayeredError> {
        let plan = plan::of(policy, limits, self.hub.path());
        let start = run.start();
        let layers = Layers::open(&plan)?;
        self.finish_removal();
        let places = self.hub.attach_layers(&layers)?;
        let placed = |(layer, place): (&Layer, PathBuf)| PlacedLayer {
            granted: layer.path().to_owned(),
            is_tree: layer.is_tree(),
            place,
        };
        let placed = layers.iter().zip(places).map(placed).collect();
        Ok((layers, start, placed))
    }

    /// Waits for the removal of the last run's layers, and ends a worker that keeps files of them.
    fn finish_removal(&mut self) {
        let removed = self.hub.finish_removal();
        if !matches!(removed, Ok(Removed::Whole)) {
            tracing::warn!(?removed, "a worker keeps files of its last run; it is ended");
            self.worker = None;
        }
    }

    /// Runs a guest in the worker, or in a new one if that is confined to other places.
    fn run_guest(
        &mut self,
        runner: &Runner,
        module: &Module,
        request: &RunRequest<'_>,
        task: &mut GuestTask,
    ) -> Result<Outcome, RunError> {
        let Some(order) = task.take_order() else { return Err(WasmError::NoGuest.into()) };
        let worker = match self.worker.take().filter(|worker| worker.serves(request.policy)) {
            Some(worker) => worker,
            None => WarmWorker::start(runner, module, (request.policy, request.limits), self.hub.path())?,
        };
        let (ended, worker) = worker.run(runner, order);
        self.worker = worker;
        ended
    }
}

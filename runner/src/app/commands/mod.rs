//! Commands that guests run through `modbox:host/process`: checked against the policy, and run in the same confinement
//! as native modules, with the same grants.
//!
//! `CommandRunner` does that. A process that has confined itself can start no process, so there a `Broker` does it:
//! another modbox process, started before the confinement. It holds the policy and checks every request again, since
//! the guest may have taken over the process that sends the request. It is started only for a module that imports the
//! interface under a policy that grants a command. Without such a grant, no command runs and every call is a denial.

mod broker;
mod command_runner;
mod serve;
mod wire;

use std::sync::Arc;

use modbox_vocabulary::RunsCommands;
use modbox_wasm::LoadedModule;

pub(super) use self::broker::Broker;
pub use self::broker::WORD;
use self::command_runner::CommandRunner;
pub use self::serve::serve;
use crate::app::error::RunError;
use crate::app::request::RunRequest;
use crate::app::runner::Runner;

impl Runner {
    /// Returns the runner of a module's commands, if the module may run any. Must be called before this process is
    /// confined.
    pub(super) fn commands(
        &self,
        loaded: &LoadedModule,
        request: &RunRequest<'_>,
    ) -> Result<Option<Arc<dyn RunsCommands>>, RunError> {
        let policy = request.policy;
        if !loaded.runs_commands() || !policy.allows_commands() {
            return Ok(None);
        }
        if self.config.confine.is_none() || policy.allows_everything() {
            return Ok(Some(Arc::new(CommandRunner::new(&self.config, policy, request.limits))));
        }
        if self.broker.get().is_none() {
            let broker = Broker::start(&self.config, policy, request.limits).map_err(RunError::Broker)?;
            // No other thread sets it: a process that confines itself runs one module at a time.
            drop(self.broker.set(Arc::new(broker)));
        }
        Ok(self.broker.get().map(|broker| Arc::clone(broker) as Arc<dyn RunsCommands>))
    }

    /// Ends the broker, and with it all running commands, if this process is for one run.
    pub(super) fn end_commands(&self) {
        let one_run = self.config.is_for_one_run();
        if let Some(broker) = self.broker.get().filter(|_| one_run) {
            broker.close();
        }
    }
}

//! Commands that guests ask for by `modbox:host/process`: checked against the policy, and run as native modules are, in a room
//! with the same grants.
//!
//! `Direct` does that. A process that has confined itself can start nothing any more, so there a `Broker` does: modbox once
//! more, started before, which holds the policy itself and checks every request again, since whoever asks may have been taken over by
//! its guest. It is started only for a module that imports the interface under a policy that grants a command; without a grant
//! nobody runs commands, and every call is a denial.

mod broker;
mod direct;
mod serve;
mod wire;

use std::sync::Arc;

use modbox_vocabulary::RunsCommands;
use modbox_wasm::LoadedModule;

pub(super) use self::broker::Broker;
pub use self::broker::WORD;
use self::direct::Direct;
pub use self::serve::serve;
use crate::app::error::RunError;
use crate::app::request::RunRequest;
use crate::app::runner::Runner;

impl Runner {
    /// Returns who runs the commands of a module, if anybody does. To be called before this process is confined.
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
            return Ok(Some(Arc::new(Direct::new(&self.config, policy, request.limits))));
        }
        if self.broker.get().is_none() {
            let broker = Broker::start(&self.config, policy, request.limits).map_err(RunError::Broker)?;
            // A process that confines itself runs one module after the other.
            drop(self.broker.set(Arc::new(broker)));
        }
        Ok(self.broker.get().map(|broker| Arc::clone(broker) as Arc<dyn RunsCommands>))
    }

    /// Ends who runs commands, and with it what still runs, in a process for one run.
    pub(super) fn end_commands(&self) {
        let one_run = self.config.is_for_one_run();
        if let Some(broker) = self.broker.get().filter(|_| one_run) {
            broker.close();
        }
    }
}

//! What is known of a run that failed, and decides about questions.

use modbox_argument_spec::Request;
use modbox_policy::{AskBounds, Policy};
use modbox_run::{Module, RunRequest, Runner};

use crate::cli::context::Context;
use crate::cli::identity::Identity;
use crate::cli::settings::{ModuleIdentity, Settings};

/// What is known of a run that failed.
pub(super) struct RunFacts {
    /// The policy before arguments granted anything.
    pub(super) policy: Policy,
    pub(super) bounds: AskBounds,
    /// The digest of the module with all its parts, if they are known.
    pub(super) digest: Option<String>,
    /// What the author of the module says that it needs.
    pub(super) requests: Vec<Request>,
}

impl RunFacts {
    /// Collects what decides about questions.
    ///
    /// # Errors
    ///
    /// A section `ask` for the module names something that does not exist.
    pub(super) fn of(
        context: &Context,
        settings: &Settings,
        runner: &Runner,
        (module, request): (&Module, &RunRequest<'_>),
    ) -> anyhow::Result<Self> {
        let identity = Identity::of(runner, module, request.name, request.interpreters, request.policy);
        let known = ModuleIdentity::of(request.name, module, &identity);
        Ok(Self {
            policy: request.policy.clone(),
            bounds: settings.asking.bounds(&context.environment, Some(known))?,
            digest: request.policy.trust().digest.clone(),
            requests: module.metadata().map(|metadata| metadata.requests.clone()).unwrap_or_default(),
        })
    }
}

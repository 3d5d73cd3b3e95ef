//! What is known of a run that failed, and decides about questions.

use modbox_argument_spec::Request;
use modbox_policy::{AskBounds, Policy};
use modbox_run::{Module, RunRequest, Runner};

use crate::cli::context::Context;
use crate::cli::identity::Identity;
use crate::cli::settings::{ModuleIdentity, Settings};

/// What is known of a run that failed.
pub(crate) struct RunFacts {
    /// The policy before arguments granted anything.
    pub(crate) policy: Policy,
    pub(crate) bounds: AskBounds,
    /// The digest of the module with all its parts, if they are known.
    pub(crate) digest: Option<String>,
    /// What the author of the module says that it needs.
    pub(crate) requests: Vec<Request>,
}

impl RunFacts {
    /// Collects what decides about questions.
    ///
    /// # Errors
    ///
    /// A section `ask` for the module names something that does not exist.
    pub(crate) fn of(
        context: &Context,
        settings: &Settings,
        runner: &Runner,
        (module, request): (&Module, &RunRequest<'_>),
    ) -> anyhow::Result<Self> {
        let identity = Identity::of(runner, module, request.name, request.interpreters, request.policy);
        Self::of_module(
            context,
            settings,
            ModuleIdentity::of(request.name, module, &identity),
            (module, request.policy),
        )
    }

    /// Does so for a module that is known, and its policy.
    ///
    /// # Errors
    ///
    /// As [`RunFacts::of`].
    pub(crate) fn of_module(
        context: &Context,
        settings: &Settings,
        known: ModuleIdentity<'_>,
        (module, policy): (&Module, &Policy),
    ) -> anyhow::Result<Self> {
        Ok(Self {
            policy: policy.clone(),
            bounds: settings.asking.bounds(&context.environment, Some(known))?,
            digest: policy.trust().digest.clone(),
            requests: module.metadata().map(|metadata| metadata.requests.clone()).unwrap_or_default(),
        })
    }
}

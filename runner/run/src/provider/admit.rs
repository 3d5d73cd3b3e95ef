//! Admits one action of a provider: reads the call, finds the metadata, and computes the grants.

use std::path::Path;
use std::sync::Arc;

use modbox_kinds::Kind;
use modbox_providers::{Action, Metadata, RawCall, Suitability};

use crate::grants::designation::{self, Caller, EffectiveGrants};
use crate::grants::native;
use crate::modules::documentation;
use crate::modules::module::Module;
use crate::modules::path_uses::PathUses;
use crate::provider::describe::{stem, without_grants};
use crate::provider::{environment, noop, options};
use crate::reports::error::RunError;
use crate::reports::error::provider_error::ProviderError;
use crate::reports::parts::provider_run::ProviderRun;
use crate::reports::refusal;
use crate::reports::report::Report;
use crate::request::run_request::{Arguments, RunRequest};
use crate::runner::Runner;

/// Reason why an action does not start, other than a missing grant.
pub(crate) enum ProviderRefusal {
    /// The arguments are not those of an action.
    Invalid(String),
    /// Nothing may change, and the provider cannot be asked for that.
    Skipped(String),
    /// The provider cannot be used.
    Failed(RunError),
}

impl ProviderRefusal {
    /// Returns the report of the run.
    pub(crate) fn report(self, report: Report) -> Report {
        match self {
            Self::Invalid(message) => refusal::report_invalid(report, &message),
            Self::Skipped(message) => refusal::report_skipped(report, &message),
            Self::Failed(error) => refusal::report_failed_start(report, error),
        }
    }
}

impl From<RunError> for ProviderRefusal {
    fn from(error: RunError) -> Self {
        Self::Failed(error)
    }
}

impl Runner {
    /// Returns the grants of an action, and what is known of it.
    pub(crate) fn admit_provider(
        &self,
        kind: Kind,
        module: &Module,
        request: &RunRequest<'_>,
    ) -> Result<(EffectiveGrants, Box<ProviderRun>), ProviderRefusal> {
        let invalid = |error: modbox_providers::RawCallError| ProviderRefusal::Invalid(error.to_string());
        let action = RawCall::from_arguments(request.arguments.given()).map_err(invalid)?.action;
        let metadata = match action {
            Action::Describe => None,
            _ => Some(self.provider_metadata(kind, module, request)?),
        };
        let grants = match &metadata {
            None => EffectiveGrants {
                policy: without_grants(request.policy),
                arguments: Arguments::clone(&request.arguments),
                missing: Vec::new(),
                notes: Vec::new(),
                obstacles: Vec::new(),
            },
            Some(metadata) => self.grant_action(kind, metadata, action, request)?,
        };
        let call = RawCall::from_arguments(grants.arguments.given()).map_err(invalid)?;
        let stem = stem(module.path());
        Ok((grants, Box::new(ProviderRun { metadata, call, stem, outcome: None, log: Vec::new() })))
    }

    fn grant_action(
        &self,
        kind: Kind,
        metadata: &Arc<Metadata>,
        action: Action,
        request: &RunRequest<'_>,
    ) -> Result<EffectiveGrants, ProviderRefusal> {
        if action.convention() != Some(metadata.convention) {
            let (provider, convention) = (metadata.qualified_name(), metadata.convention.as_str());
            return Err(RunError::from(ProviderError::Convention { provider, action, convention }).into());
        }
        let mut arguments = Arguments::clone(&request.arguments);
        if let Suitability::Unsuitable(reason) = metadata.suitable.evaluate(|command| self.has_command(command)) {
            let provider = metadata.qualified_name();
            return Err(RunError::from(ProviderError::Unsuitable { provider, reason }).into());
        }
        let observes = noop::is_requested(&arguments);
        let allows_everything = request.policy.allows_everything();
        if observes && action.changes() {
            noop::ask(arguments.given_mut(), metadata, action, allows_everything)
                .map_err(|reason| ProviderRefusal::Skipped(format!("the action `{action}` is left out: {reason}")))?;
        }
        let policy = if observes { request.policy.clone().read_only() } else { request.policy.clone() };
        let known = options::of_action(metadata, action, observes).filter(|_| !allows_everything);
        let uses = PathUses::default();
        let described = documentation::describe_options(known.as_ref(), &uses, &policy, arguments.given());
        let (directory, variables): (&Path, _) = (&self.config.directory, &self.config.environment);
        let mut effective = match described.filter(|_| !allows_everything) {
            Some(spec) => {
                let caller = Caller { directory, environment: variables, is_native: !kind.is_wasm() };
                designation::apply(&spec, &uses, &policy, &arguments, &[], &caller)
            }
            None => {
                EffectiveGrants { policy, arguments, missing: Vec::new(), notes: Vec::new(), obstacles: Vec::new() }
            }
        };
        if observes {
            effective.policy = effective.policy.read_only();
        }
        environment::add(&mut effective.policy);
        if !kind.is_wasm() && !allows_everything {
            effective.missing.extend(native::unenforceable(request.policy));
            effective.missing.extend(native::unwritable(&effective.policy));
        }
        Ok(effective)
    }
}

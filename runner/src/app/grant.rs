//! Computes the effective policy of a run from the operator's policy, the paths that arguments designate, and the
//! module's requests.

use std::borrow::Cow;
use std::ffi::OsString;
use std::path::Path;

use modbox_contract::Dict;
use modbox_kinds::Kind;
use modbox_policy::Policy;

use crate::app::designation::{self, Caller, EffectiveGrants};
use crate::app::module::Module;
use crate::app::request::{Arguments, RunRequest};
use crate::app::runner::Runner;
use crate::app::{documentation, native, requests};

impl Runner {
    /// Returns the effective policy of a run, the arguments to pass to the module, and the grants that the run needs
    /// but lacks.
    pub(super) fn grant(&self, kind: Kind, module: &Module, request: &RunRequest<'_>) -> EffectiveGrants {
        let as_requested = || EffectiveGrants {
            policy: request.policy.clone(),
            arguments: request.arguments.clone(),
            missing: Vec::new(),
            notes: Vec::new(),
        };
        if request.policy.allows_everything() {
            return as_requested();
        }
        // If the bytes cannot be read, the engine reports that later.
        let mut effective = match documentation::describe_options(module, request.policy, request.arguments.given()) {
            Some(metadata) => {
                let (directory, environment) = (&self.config.directory, &self.config.environment);
                let caller = Caller { directory, environment, is_native: !kind.is_wasm() };
                let mut effective = designation::apply(&metadata, request.policy, &request.arguments, &caller);
                requests::check(&metadata, &mut effective);
                effective
            }
            None => as_requested(),
        };
        if !kind.is_wasm() {
            effective.missing.extend(native::unenforceable(request.policy));
        }
        effective
    }
}

/// Returns the effective policy of a run with these arguments: the given policy, with the paths that the arguments
/// designate as far as it allows.
#[must_use]
pub fn settled_policy<'p>(
    module: &Module,
    policy: &'p Policy,
    args: &Dict,
    directory: &Path,
    environment: &[(OsString, OsString)],
) -> Cow<'p, Policy> {
    if policy.allows_everything() || args.is_empty() {
        return Cow::Borrowed(policy);
    }
    let Some(metadata) = documentation::describe_options(module, policy, args) else { return Cow::Borrowed(policy) };
    let caller = Caller { directory, environment, is_native: module.format().is_none() };
    Cow::Owned(designation::apply(&metadata, policy, &Arguments::Complete(args.clone()), &caller).policy)
}

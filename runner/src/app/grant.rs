//! What a run may reach and what it lacks: the policy, what its arguments name, and what the module asks for.

use std::borrow::Cow;
use std::ffi::OsString;
use std::path::Path;

use modbox_contract::Dict;
use modbox_kinds::Kind;
use modbox_policy::Policy;

use crate::app::designation::{self, Caller, Settled};
use crate::app::module::Module;
use crate::app::request::{Arguments, RunRequest};
use crate::app::runner::Runner;
use crate::app::{documentation, native, requests};

impl Runner {
    /// Returns what a run may reach, with its arguments as the module is to get them, and the grants that it needs and lacks.
    pub(super) fn grant(&self, kind: Kind, module: &Module, request: &RunRequest<'_>) -> Settled {
        let as_requested = || Settled {
            policy: request.policy.clone(),
            arguments: request.arguments.clone(),
            missing: Vec::new(),
            notes: Vec::new(),
        };
        if request.policy.allows_everything() {
            return as_requested();
        }
        // Bytes that cannot be read are for the engine to complain about.
        let mut settled = match documentation::described(module, request.policy, request.arguments.given()) {
            Some(metadata) => {
                let (directory, environment) = (&self.config.directory, &self.config.environment);
                let caller = Caller { directory, environment, is_native: !kind.is_wasm() };
                let mut settled = designation::settle(&metadata, request.policy, &request.arguments, &caller);
                requests::check(&metadata, &mut settled);
                settled
            }
            None => as_requested(),
        };
        if !kind.is_wasm() {
            settled.missing.extend(native::unenforceable(request.policy));
        }
        settled
    }
}

/// Returns what a run with these arguments may reach: the policy, and what the arguments name as far as it lets them.
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
    let Some(metadata) = documentation::described(module, policy, args) else { return Cow::Borrowed(policy) };
    let caller = Caller { directory, environment, is_native: module.format().is_none() };
    Cow::Owned(designation::settle(&metadata, policy, &Arguments::Complete(args.clone()), &caller).policy)
}

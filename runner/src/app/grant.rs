//! Computes the effective policy of a run from the operator's policy, the paths that arguments designate, and the
//! module's requests.

use modbox_kinds::Kind;

use crate::app::designation::{self, Caller, EffectiveGrants};
use crate::app::documentation::FragmentFolders;
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
            arguments: Arguments::clone(&request.arguments),
            missing: Vec::new(),
            notes: Vec::new(),
        };
        if request.policy.allows_everything() {
            return as_requested();
        }
        // If the bytes cannot be read, the engine reports that later.
        let fragments = || {
            let python = request.interpreters.get("python").map(String::as_str);
            let directory = &self.config.directory;
            FragmentFolders::of(&self.config.python, &directory.join(module.path()), python, directory)
        };
        let known = module.metadata().or_else(|| module.documentation(fragments));
        let mut effective = match documentation::describe_options(known, request.policy, request.arguments.given()) {
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
            effective.missing.extend(native::unwritable(&effective.policy));
        }
        effective
    }
}

//! Computes the effective policy of a run from the operator's policy, the paths that arguments designate, and the
//! module's requests.

use std::collections::BTreeMap;

use modbox_argument_spec::Metadata;
use modbox_policy::Policy;
use modbox_python_json::Dict;

use crate::grants::designation::{self, Caller, EffectiveGrants};
use crate::grants::managed::{ManagedNeeds, designate};
use crate::grants::run_user::{as_user, unreached};
use crate::grants::{native, real_run, requests};
use crate::modules::documentation;
use crate::modules::documentation::FragmentFolders;
use crate::modules::managed::line::Line;
use crate::modules::managed::managed_table::ManagedTable;
use crate::modules::module::Module;
use crate::modules::path_uses::{PathUses, Row};
use crate::reports::error::RunError;
use crate::request::run_request::{Arguments, RunRequest};
use crate::runner::Runner;
use crate::runner::run_form::RunForm;

/// An option that is a path, and what the module does with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathOption {
    /// Name of the option.
    pub option: String,
    /// What the module does with the path, in words.
    pub path_use: String,
    /// Where that is said.
    pub source: &'static str,
}

impl Runner {
    /// Returns the top-level options of a module that are paths with a known use.
    #[must_use]
    pub fn path_options(&self, module: &Module, interpreters: &BTreeMap<String, String>) -> Vec<PathOption> {
        let table = module.path_table(&self.config.directory);
        let is_in_table = |name: &str| table.is_some_and(|table| table.rows().any(|(option, _)| option == name));
        let row = |(option, row): (&str, &Row)| PathOption {
            option: option.to_owned(),
            path_use: row.to_string(),
            source: "modbox's table",
        };
        let mut options: Vec<_> = table.into_iter().flat_map(|table| table.rows().map(row)).collect();
        let source = if module.format().is_some() { "the module's spec" } else { "documentation" };
        let known = self.known_options(module, interpreters);
        let declared = known.iter().flat_map(|known| known.argument_spec.path_options());
        options.extend(declared.filter(|declared| !is_in_table(declared.name)).filter_map(|declared| {
            Some(PathOption { option: declared.name.to_owned(), path_use: declared.access?.name().to_owned(), source })
        }));
        options
    }

    /// Returns what a run of a module with these arguments lacks besides paths, by modbox's table of Ansible's modules; `None` if the table
    /// does not have the module. `policy` has the run's grants, and `user` is the name of the user that runs modbox.
    #[must_use]
    pub fn managed(
        &self,
        module: &Module,
        args: &Dict,
        interpreters: &BTreeMap<String, String>,
        (policy, user): (&Policy, &str),
    ) -> Option<ManagedNeeds> {
        let table = module.managed_table(&self.config.directory)?;
        let user = policy.user().map_or(user, |user| user.name.as_str());
        Some(table.lacking(self.known_options(module, interpreters), args, user, policy))
    }

    /// Returns whether arguments may grant the module commands outside: the policy lets them, and modbox's table says that one names what
    /// the module manages.
    #[must_use]
    pub fn may_manage(&self, module: &Module, policy: &Policy) -> bool {
        let names = |table: &ManagedTable| table.lines.iter().any(Line::has_names);
        policy.designated().allows_managing() && module.managed_table(&self.config.directory).is_some_and(names)
    }

    /// Returns a module's spec or documentation. If the bytes cannot be read, the engine reports that later.
    fn known_options<'m>(&self, module: &'m Module, interpreters: &BTreeMap<String, String>) -> Option<&'m Metadata> {
        let fragments = || {
            let python = interpreters.get("python").map(String::as_str);
            let directory = &self.config.directory;
            FragmentFolders::of(&self.config.python, &directory.join(module.path()), python, directory)
        };
        module.metadata().or_else(|| module.documentation(fragments))
    }

    /// Returns the effective policy of a run, the arguments to pass to the module, and the grants that the run needs
    /// but lacks.
    ///
    /// # Errors
    ///
    /// The run is another user's, and this process may not act as that user.
    pub(crate) fn grant(
        &self,
        form: &RunForm,
        module: &Module,
        request: &RunRequest<'_>,
    ) -> Result<EffectiveGrants, RunError> {
        let as_requested = || EffectiveGrants {
            policy: request.policy.clone(),
            arguments: Arguments::clone(&request.arguments),
            missing: Vec::new(),
            notes: Vec::new(),
            obstacles: Vec::new(),
        };
        let allows_everything = request.policy.allows_everything();
        if allows_everything && !form.is_guest() {
            return Ok(as_requested());
        }
        let known = self.known_options(module, request.interpreters);
        let (directory, environment) = (&self.config.directory, &*self.environment(request.policy));
        let table = module.path_table(directory);
        let arguments = &request.arguments;
        let mut uses = PathUses::default();
        if let Some(table) = table {
            // What the operator says takes precedence.
            let said: Vec<&str> = request.policy.designates().iter().map(|(option, _)| option.as_str()).collect();
            uses = table.uses(known, arguments.given(), &said);
        }
        let described = documentation::describe_options(known, &uses, request.policy, arguments.given());
        let caller = Caller { directory, environment, is_native: !form.kind.is_wasm() };
        // Naming a path grants what the user whose run it is finds there.
        as_user(request.policy.user(), || {
            let mut effective = match described {
                Some(metadata) => {
                    let mut effective =
                        designation::apply(&metadata, &uses, request.policy, arguments, request.origins, &caller);
                    requests::check(&metadata, &mut effective);
                    effective
                }
                None => as_requested(),
            };
            if allows_everything {
                // A relative path is still the caller's: a guest would look for it in a directory of its own.
                return EffectiveGrants { arguments: effective.arguments, ..as_requested() };
            }
            if let Some(managed) = module.managed_table(directory) {
                let notes = designate(managed, known, arguments, request.origins, &mut effective.policy);
                effective.notes.extend(notes);
            }
            if let Some(table) = table {
                let besides = table.besides(known, effective.arguments.given());
                let missing = designation::missing_besides(&effective.policy, besides);
                effective.missing.extend(missing);
            }
            add_missing(&mut effective, form.is_guest(), request.policy);
            effective
        })
    }
}

/// Adds the grants that cannot be given to the module.
fn add_missing(effective: &mut EffectiveGrants, is_guest: bool, requested: &Policy) {
    effective.missing.extend(unreached(&effective.policy));
    if is_guest {
        // The guard refuses such a write when it happens; a native module does not start.
        effective.obstacles.extend(real_run::unwritable(&effective.policy));
    } else {
        effective.missing.extend(native::unenforceable(requested));
        effective.missing.extend(native::unwritable(&effective.policy));
    }
}

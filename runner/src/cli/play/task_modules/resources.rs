//! Resources of providers of libral for tasks: the provider that a task names, and its actions, each under the policy of
//! the task.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use modbox_contract::Dict;
use modbox_policy::MergedPolicy;
use modbox_run::library::FoundModule;
use modbox_run::{
    Catalogue, Managed, Module, Provider, Report, ResourceRequest, RunRequest, Runner, Unmanaged, attribute_message,
    provider_files, selection_message,
};

use crate::cli::args::ProviderArgs;
use crate::cli::context::Context;
use crate::cli::exit::error_words;
use crate::cli::folders::data_dirs::data_dirs;
use crate::cli::play::task_modules::modules::TaskModules;
use crate::cli::play::task_modules::requested_run::RequestedRun;
use crate::cli::play::task_modules::task_start::NotRun;
use crate::cli::printing::output;

/// Providers for the tasks of a play.
pub(crate) struct TaskResources<'a> {
    context: &'a Context,
    args: &'a ProviderArgs,
    runner: Arc<Runner>,
    /// Settings for what a provider says about itself, to which nothing is granted.
    merged: MergedPolicy,
    interpreters: BTreeMap<String, String>,
    /// What was found, by the folders of the role and of the play.
    found: HashMap<Vec<PathBuf>, Rc<Found>>,
}

/// Providers of some directories.
struct Found {
    data_dirs: Vec<PathBuf>,
    catalogue: Catalogue,
}

/// Why a request of a task has no result of a provider.
pub(crate) enum ResourceError {
    /// No provider has the name.
    Unknown(String),
    /// The arguments are wrong, so that nothing ran.
    Invalid(String),
    /// A run did not start.
    NotRun(NotRun),
}

impl<'a> TaskResources<'a> {
    /// Creates an index. No folder is read yet.
    pub(crate) fn new(
        context: &'a Context,
        args: &'a ProviderArgs,
        runner: Arc<Runner>,
        merged: MergedPolicy,
        interpreters: BTreeMap<String, String>,
    ) -> Self {
        Self { context, args, runner, merged, interpreters, found: HashMap::new() }
    }

    /// Finds, lists or updates resources. `run` is how the actions of the task run; its name is that of the provider, its
    /// arguments are the resource's name and the attributes. `folders` are those of the task's role and of the play.
    pub(crate) fn manage(
        &mut self,
        modules: &mut TaskModules<'_>,
        run: &RequestedRun<'_>,
        folders: &[&Path],
    ) -> Result<Managed, ResourceError> {
        let found = self.found(folders);
        let provider = self.select(&found.catalogue, run.name)?;
        let name = provider.qualified_name();
        let module =
            FoundModule { task_name: name.clone(), ..FoundModule::at(provider.path().to_owned(), name.as_ref()) };
        let module = FoundModule { name: name.clone(), ..module };
        let (policy, limits) = (&self.merged.policy, &self.merged.limits);
        let request = ResourceRequest { policy, limits, interpreters: &self.interpreters, check: run.modes.check };
        let mut act = |_: &Module, action: &RunRequest<'_>| -> Result<Report, NotRun> {
            let args: Dict = action.arguments.given().clone();
            modules.run_provider(&module, RequestedRun { args, ..run.clone() }, &found.data_dirs)
        };
        let managed = provider.manage(&request, run.args.clone(), &mut act).map_err(|error| match error {
            Unmanaged::Name(found) => {
                ResourceError::Invalid(format!("failed to read `name`: it must be a string, not {found}"))
            }
            Unmanaged::Given(error) => ResourceError::Invalid(attribute_message(&error, &name)),
            Unmanaged::Run(error) => ResourceError::NotRun(error),
        })?;
        Ok(managed)
    }

    /// Returns the provider that a task names. A provider that was left out is named in the error.
    fn select<'f>(&self, catalogue: &'f Catalogue, wanted: &str) -> Result<&'f Provider, ResourceError> {
        catalogue.select(wanted).map_err(|error| {
            let left_out = catalogue.problems.iter().map(|problem| format!("; left out: {}", problem.message));
            ResourceError::Unknown(selection_message(&error) + &left_out.collect::<String>())
        })
    }

    /// Returns the providers for a task: those of its role and of the play come after those of the command line.
    fn found(&mut self, folders: &[&Path]) -> Rc<Found> {
        let key: Vec<PathBuf> = folders.iter().map(|folder| (*folder).to_owned()).collect();
        if let Some(found) = self.found.get(&key) {
            return Rc::clone(found);
        }
        let data_dirs = data_dirs(&self.context.environment, self.args, &key);
        let (files, problems) = provider_files(&data_dirs);
        for problem in problems {
            output::print_note(&error_words(&anyhow::Error::from(problem)));
        }
        let (policy, limits) = (&self.merged.policy, &self.merged.limits);
        let request = ResourceRequest { policy, limits, interpreters: &self.interpreters, check: false };
        let catalogue = self.runner.catalogue(&files, &request);
        for problem in &catalogue.problems {
            output::print_note(&format!("left out the provider `{}`: {}", problem.path.display(), problem.message));
        }
        let found = Rc::new(Found { data_dirs, catalogue });
        self.found.insert(key, Rc::clone(&found));
        found
    }
}

//! All providers of some directories, with what they say about themselves and whether they work here.

use std::borrow::Cow;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use modbox_contract::{Dict, InternalArgs};
use modbox_kinds::Kind;
use modbox_providers::{Metadata, SelectError, Suitability, select};
use modbox_vocabulary::error_chain;

use crate::modules::module::Module;
use crate::provider::resource_request::ResourceRequest;
use crate::reports::error::RunError;
use crate::reports::error::provider_error::ProviderError;
use crate::request::run_request::{Arguments, RunRequest};
use crate::runner::Runner;

/// Where programs are looked up if the caller has no `PATH`.
const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Provider that can be called.
#[derive(Debug)]
pub struct Provider {
    /// Its file.
    pub module: Module,
    /// What it says about itself.
    pub metadata: Arc<Metadata>,
    /// Whether it works here.
    pub suitability: Suitability,
}

/// File that was left out.
#[derive(Debug)]
pub struct ProviderProblem {
    /// The file that was left out.
    pub path: PathBuf,
    /// What is wrong with it.
    pub message: String,
    /// Whether it is an error even for other providers, as for libral.
    pub is_error: bool,
}

/// All providers, by their qualified names.
#[derive(Debug, Default)]
pub struct Catalogue {
    /// Those that can be used.
    pub providers: Vec<Provider>,
    /// Files that are not usable providers.
    pub problems: Vec<ProviderProblem>,
}

impl Provider {
    /// Returns the name by which it is chosen among all.
    #[must_use]
    pub fn qualified_name(&self) -> String {
        self.metadata.qualified_name()
    }

    /// Returns the path of its file.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.module.path()
    }
}

impl Catalogue {
    /// Returns the provider that a name chooses: by its qualified name, or by the type of its resources. One that does
    /// not work here is chosen only by its qualified name.
    ///
    /// # Errors
    ///
    /// There is no such provider, or there are several of the type.
    pub fn select(&self, wanted: &str) -> Result<&Provider, SelectError> {
        let is_exact = |provider: &&Provider| provider.qualified_name() == wanted;
        let usable = self.providers.iter().filter(|provider| provider.suitability == Suitability::Suitable);
        if let Some(exact) = usable.clone().find(is_exact).or_else(|| self.providers.iter().find(is_exact)) {
            return Ok(exact);
        }
        let candidates: Vec<&Provider> = usable.collect();
        let names: Vec<String> = candidates.iter().map(|provider| provider.qualified_name()).collect();
        let pairs: Vec<(&str, &str)> = candidates
            .iter()
            .zip(&names)
            .map(|(provider, name)| (provider.metadata.resource_type.as_str(), name.as_str()))
            .collect();
        select(&pairs, wanted).map(|index| candidates[index])
    }
}

impl Runner {
    /// Loads providers, and asks those that have no metadata beside them. `request` has the limits, and what is required
    /// of the kernel.
    #[must_use]
    pub fn catalogue(&self, files: &[PathBuf], request: &ResourceRequest<'_>) -> Catalogue {
        let mut catalogue = Catalogue::default();
        for path in files {
            match self.load_provider(path, request) {
                Ok(provider) => catalogue.providers.extend(provider),
                Err(error) => {
                    let is_error = matches!(&error, RunError::Provider(error) if error.is_wrong_metadata());
                    let message = error_chain(&error);
                    catalogue.problems.push(ProviderProblem { path: path.clone(), message, is_error });
                }
            }
        }
        catalogue.providers.sort_by_cached_key(Provider::qualified_name);
        catalogue
    }

    /// Loads one provider; `None` for a component that is not one.
    ///
    /// # Errors
    ///
    /// A file that cannot be read or executed, or that says nothing valid about itself.
    pub fn load_provider(&self, path: &Path, request: &ResourceRequest<'_>) -> Result<Option<Provider>, RunError> {
        let module = Module::open(path, None, self.config.cache.as_ref(), &self.config.cleanup)?;
        let kind = module.detection().map_err(Clone::clone)?.kind;
        if !kind.is_provider() {
            return Ok(None);
        }
        check_executable(kind, path)?;
        let arguments = Arguments::Task { args: Dict::new(), internal: Box::new(InternalArgs::new("provider")) };
        let run = RunRequest {
            interpreters: request.interpreters,
            arguments: Cow::Owned(arguments),
            ..RunRequest::new("provider", Arguments::Complete(Dict::new()), request.policy, request.limits)
        };
        let metadata = self.provider_metadata(kind, &module, &run)?;
        let suitability = metadata.suitable.evaluate(|command| self.has_command(command));
        Ok(Some(Provider { module, metadata, suitability }))
    }

    /// Returns whether a program is in the caller's `PATH`.
    pub(crate) fn has_command(&self, command: &str) -> bool {
        let is_program =
            |path: &Path| path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0);
        if command.contains('/') {
            return is_program(&self.config.directory.join(command));
        }
        let path = self.config.environment.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.clone());
        std::env::split_paths(&path.unwrap_or_else(|| DEFAULT_PATH.into()))
            .any(|folder| is_program(&folder.join(command)))
    }
}

/// Checks that a native provider may be executed, although a copy of it is. libral's program ends at such a file.
fn check_executable(kind: Kind, path: &Path) -> Result<(), ProviderError> {
    let is_executable = || path.metadata().is_ok_and(|found| found.permissions().mode() & 0o111 != 0);
    if kind.is_wasm() || is_executable() { Ok(()) } else { Err(ProviderError::NotExecutable(path.to_owned())) }
}

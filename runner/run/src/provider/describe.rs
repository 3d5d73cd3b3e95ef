//! Finds out what a provider says about itself.
//!
//! The file `X.yaml` beside `X.prov` comes first, then the section of a component. A provider without either is asked,
//! without any grant and for at most two seconds; the answer is kept by the digest of its file.

use std::borrow::Cow;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use modbox_contract::{Dict, InternalArgs};
use modbox_kinds::Kind;
use modbox_kinds::detect::kind_of_name;
use modbox_policy::Policy;
use modbox_providers::{
    Action, ActionEnd, ActionOutput, MAX_METADATA_BYTES, Metadata, ProviderFailure, SuitableRule, log_lines,
};
use modbox_vocabulary::{Limits, error_chain};

use crate::modules::module::Module;
use crate::modules::provider_section;
use crate::provider::{descriptions, environment};
use crate::reports::error::RunError;
use crate::reports::error::provider_error::ProviderError;
use crate::reports::stopped;
use crate::request::run_request::{Arguments, RunRequest};
use crate::runner::Runner;

/// How long a provider may take to describe itself.
const PATIENCE: Duration = Duration::from_secs(2);

impl Runner {
    /// Returns what a provider says about itself. The policy and the limits of `request` are those of a later action;
    /// nothing is granted here.
    pub(super) fn provider_metadata(
        &self,
        kind: Kind,
        module: &Module,
        request: &RunRequest<'_>,
    ) -> Result<Arc<Metadata>, RunError> {
        if let Some(known) = module.provider.get() {
            return Ok(Arc::clone(known));
        }
        let path = self.config.directory.join(module.path());
        let metadata = match self.known_metadata(kind, module, &path)? {
            Some(known) => known,
            None => self.described(kind, module, request, &path)?,
        };
        Ok(Arc::clone(module.provider.get_or_init(|| Arc::new(metadata))))
    }

    /// Returns what is known of a provider without asking it: from the file beside it, its section, or an earlier answer.
    ///
    /// # Errors
    ///
    /// Metadata that cannot be read, or is not valid.
    pub fn known_provider(&self, path: &Path) -> Result<Option<Metadata>, RunError> {
        let path = self.config.directory.join(path);
        let module = Module::open(&path, None, self.config.cache.as_ref(), &self.config.cleanup)?;
        let kind = module.detection().map_err(Clone::clone)?.kind;
        if kind.is_provider() { self.known_metadata(kind, &module, &path) } else { Ok(None) }
    }

    fn known_metadata(&self, kind: Kind, module: &Module, path: &Path) -> Result<Option<Metadata>, RunError> {
        let stem = stem(path);
        if let Some((file, yaml)) = self.sidecar(module)? {
            return Metadata::from_yaml(yaml, &stem).map(Some).map_err(|source| wrong(file, source));
        }
        if let Some(declared) = self.section_of(kind, module)? {
            return Metadata::from_value(&declared, &stem).map(Some).map_err(|source| wrong(path, source));
        }
        let kept = self.config.descriptions.as_ref().and_then(|dir| descriptions::recall(dir, module.digest()));
        Ok(kept.and_then(|yaml| Metadata::from_yaml(&yaml, &stem).ok()))
    }

    /// Returns the metadata file beside a provider, if there is one. It is read once, so that what counts is what was hashed.
    pub(crate) fn sidecar<'m>(&self, module: &'m Module) -> Result<&'m Option<(PathBuf, Vec<u8>)>, RunError> {
        if let Some(known) = module.sidecar.get() {
            return Ok(known);
        }
        let found = sidecar(&self.config.directory.join(module.path()))?;
        Ok(module.sidecar.get_or_init(|| found))
    }

    fn section_of(&self, kind: Kind, module: &Module) -> Result<Option<modbox_python_json::Value>, RunError> {
        match kind.is_wasm() {
            true => Ok(provider_section::text_of(module.bytes()?).as_deref().and_then(provider_section::declaration)),
            false => Ok(None),
        }
    }

    /// Asks the provider, and keeps its answer.
    fn described(
        &self,
        kind: Kind,
        module: &Module,
        request: &RunRequest<'_>,
        path: &Path,
    ) -> Result<Metadata, RunError> {
        let stem = stem(path);
        let yaml = self.ask(kind, module, request, path)?;
        let metadata = Metadata::from_yaml(&yaml, &stem).map_err(|source| wrong(path, source))?;
        if let Some(dir) =
            self.config.descriptions.as_ref().filter(|_| metadata.suitable != SuitableRule::Constant(false))
        {
            descriptions::remember(dir, module.digest(), &yaml, &self.config.cleanup);
        }
        Ok(metadata)
    }

    /// Asks the provider. As for libral, an exit status other than 0 or any text on standard error makes the answer invalid.
    fn ask(&self, kind: Kind, module: &Module, request: &RunRequest<'_>, path: &Path) -> Result<Vec<u8>, RunError> {
        let args = Dict::from_iter([("ral_action".to_owned(), Action::Describe.as_str().into())]);
        let arguments = Arguments::Task { args, internal: Box::new(InternalArgs::new(request.name)) };
        let policy = without_grants(request.policy);
        let limits = Limits { timeout: PATIENCE.min(request.limits.timeout), ..*request.limits };
        let request = RunRequest {
            arguments: Cow::Owned(arguments),
            policy: &policy,
            limits: &limits,
            keep_files: false,
            stdin_args: false,
            ..*request
        };
        tracing::debug!(provider = %path.display(), "asking the provider for its metadata");
        let refused = |reason: String| ProviderError::Describe { path: path.to_owned(), reason };
        let outcome = match self.execute(&kind.into(), module, &request).completed {
            Ok(completed) => completed.outcome,
            Err(RunError::Native(error)) if error.is_of_program() => {
                return Err(refused(error_chain(&error)).into());
            }
            Err(error) => return Err(error),
        };
        let end = stopped::action_end(&outcome);
        if let (Some(line), ActionEnd::Exited(_)) = (log_lines(&outcome.stderr.bytes).0.first(), &end) {
            return Err(refused(format!("it wrote to standard error: {}", line.message)).into());
        }
        let output = ActionOutput { end: &end, stdout: &outcome.stdout.bytes };
        match modbox_providers::describe(&output, &stem(path)) {
            // What is wrong with the metadata is said when it is read.
            Ok(_) | Err(ProviderFailure::Output { .. }) => Ok(outcome.stdout.bytes),
            Err(failure) => Err(ProviderError::of_answer(path.to_owned(), &failure).into()),
        }
    }
}

/// Returns the policy without any grant. What it requires of the kernel stays.
pub(super) fn without_grants(policy: &Policy) -> Policy {
    let mut none = Policy::default();
    if let Some(least) = policy.least_confinement() {
        none.require_confinement(least.level, &least.source);
    }
    environment::add(&mut none);
    none
}

/// Returns the name of a file without its extension.
pub(super) fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

fn wrong(path: &Path, source: modbox_providers::MetadataError) -> RunError {
    ProviderError::Metadata { path: path.to_owned(), source }.into()
}

/// Reads the metadata file beside a provider, if there is one.
fn sidecar(provider: &Path) -> Result<Option<(PathBuf, Vec<u8>)>, ProviderError> {
    if kind_of_name(provider).is_none() {
        return Ok(None);
    }
    let path = provider.with_extension("yaml");
    match read(&path) {
        Ok(yaml) => Ok(Some((path, yaml))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(ProviderError::Sidecar { path, source }),
    }
}

/// Reads a regular file; one byte more than metadata may have, so that a longer file is told from a whole one.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let (file, _) = modbox_files::open_regular(path)?;
    let mut bytes = Vec::new();
    file.take(MAX_METADATA_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

//! The sections `ask` of policy files: what a person may be asked to grant to a module.

use std::path::{Path, PathBuf};

use modbox_policy::{AskBounds, FileRules, ModuleKey, PolicyFile, Rules};

use crate::cli::args::AnsweredGrant;
use crate::cli::process::environment::Environment;
use crate::cli::settings::files;
use crate::cli::settings::keyed_rules::KeyedRules;
use crate::cli::settings::trust::ModuleIdentity;

/// The sections of one policy file.
struct FileAsks {
    general: Rules,
    modules: Vec<KeyedRules<ModuleKey>>,
    /// Whether no section lets something be asked.
    is_empty: bool,
    /// Whether the sections only take away, as those of a person do for an agent.
    narrows: bool,
}

impl FileAsks {
    /// Takes the sections of a file; `None` if it has none.
    ///
    /// # Errors
    ///
    /// A grant of the section for every module cannot be resolved.
    fn of(environment: &Environment, path: &Path, file: &PolicyFile, narrows: bool) -> anyhow::Result<Option<Self>> {
        let of_modules = file.modules.iter().filter(|(_, rules)| rules.ask.is_some());
        let modules: Vec<_> = of_modules
            .map(|(key, rules)| KeyedRules {
                file: PathBuf::from(path),
                key: key.clone(),
                rules: as_rules(rules),
                narrows: false,
            })
            .collect();
        if file.rules.ask.is_none() && modules.is_empty() {
            return Ok(None);
        }
        let general = as_rules(&file.rules);
        let nothing = FileRules::default();
        let is_empty = general == nothing && modules.iter().all(|keyed| keyed.rules == nothing);
        Ok(Some(Self {
            general: files::resolve_all(environment, path, &general, &files::source(path))?,
            modules,
            is_empty,
            narrows,
        }))
    }

    fn of_module(&self, environment: &Environment, module: Option<ModuleIdentity<'_>>) -> anyhow::Result<Vec<Rules>> {
        let mut most = vec![self.general.clone()];
        if let Some(module) = module {
            let digest = module.digest().unwrap_or_default();
            let own = self.modules.iter().filter(|keyed| keyed.key.value.matches(module.name, digest));
            most.extend(own.map(|keyed| keyed.resolved(environment)).collect::<anyhow::Result<Vec<_>>>()?);
        }
        Ok(most)
    }
}

/// Returns a section as rules that grant what it lets be asked.
pub(crate) fn as_rules(rules: &FileRules) -> FileRules {
    FileRules { allow: rules.ask.clone().unwrap_or_default(), ..FileRules::default() }
}

/// What a person may be asked to grant, and has granted in this process.
pub(crate) struct Asking {
    files: Vec<FileAsks>,
    answered: Vec<AnsweredGrant>,
    /// Whether without a section nothing may be asked.
    needs_section: bool,
}

impl Asking {
    /// Returns what holds without a policy file. With `needs_section`, nothing may be asked that no section has.
    pub(super) fn new(answered: &[AnsweredGrant], needs_section: bool) -> Self {
        Self { files: Vec::new(), answered: answered.to_vec(), needs_section }
    }

    /// Adds the sections of a policy file; with `narrows`, they only take away from those of others.
    ///
    /// # Errors
    ///
    /// A grant of the section for every module cannot be resolved.
    pub(super) fn add(
        &mut self,
        environment: &Environment,
        path: &Path,
        file: &PolicyFile,
        narrows: bool,
    ) -> anyhow::Result<()> {
        self.files.extend(FileAsks::of(environment, path, file, narrows)?);
        Ok(())
    }

    /// Returns what a person has granted to the module in this process. An answer was for its bytes.
    pub(super) fn granted_to(&self, module: ModuleIdentity<'_>) -> impl Iterator<Item = Rules> {
        let own = self.answered.iter().filter(move |grant| module.digest() == Some(grant.digest.as_str()));
        own.map(|grant| grant.rules.clone())
    }

    /// Returns whether policy files let a person be asked for something, so that runs on a terminal ask.
    pub(crate) fn is_wanted(&self) -> bool {
        self.files.iter().any(|file| !file.is_empty && !file.narrows)
    }

    /// Returns what a person may be asked to grant to a module, or to every one.
    ///
    /// # Errors
    ///
    /// A section for the module names something that does not exist.
    pub(crate) fn bounds(
        &self,
        environment: &Environment,
        module: Option<ModuleIdentity<'_>>,
    ) -> anyhow::Result<AskBounds> {
        let mut bounds = AskBounds::default();
        if self.needs_section && self.files.iter().all(|file| file.narrows) {
            bounds.add([]);
        }
        for file in &self.files {
            bounds.add(file.of_module(environment, module)?);
        }
        Ok(bounds)
    }
}

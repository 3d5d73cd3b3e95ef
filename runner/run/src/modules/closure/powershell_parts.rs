//! The scripts that the document of a PowerShell module has: recorded when they are looked up, and given to the run from memory.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use modbox_closure::Part;
use modbox_kinds::powershell::{PowershellSource, Script, SourceError};

use crate::modules::powershell::InstalledPowershell;

/// The scripts of a module, by what was asked for.
#[derive(Debug, Clone, Default)]
pub(crate) struct Scripts {
    /// ansible-core's own scripts, by their names.
    own: BTreeMap<String, Arc<[u8]>>,
    /// Utilities, by the names of their files; `None` for those that there are not.
    utils: BTreeMap<String, Option<Script>>,
    /// Files of packages, by the name of the package and of the file; `None` for those that there are not.
    resources: BTreeMap<(String, String), Option<Script>>,
}

impl Scripts {
    /// Returns the scripts as parts. `package` is the folder of ansible-core.
    pub(crate) fn parts(&self, package: Option<&Path>) -> Vec<Part> {
        let own = self.own.iter().map(|(name, bytes)| Part::of(script_name(name), bytes));
        let utils =
            self.utils.values().flatten().map(|script| Part::of(util_name(&script.path, package), &script.bytes));
        let of_package = |((package, file), script): (&(String, String), &Option<Script>)| {
            Some(Part::of(format!("{}/{file}", package.replace('.', "/")), &script.as_ref()?.bytes))
        };
        own.chain(utils).chain(self.resources.iter().filter_map(of_package)).collect()
    }
}

/// Returns the name of one of ansible-core's own scripts.
pub(crate) fn script_name(name: &str) -> String {
    format!("ansible/executor/powershell/{name}")
}

/// Returns the name of a utility: below `ansible` if it is ansible-core's.
fn util_name(path: &str, package: Option<&Path>) -> String {
    let path = Path::new(path);
    let below = package.and_then(|package| path.strip_prefix(package).ok());
    match below {
        Some(below) => format!("ansible/{}", below.display()),
        None => format!("module_utils/{}", path.file_name().unwrap_or_default().to_string_lossy()),
    }
}

/// A lookup that records what it finds.
#[derive(Debug)]
pub(crate) struct RecordedScripts<'a> {
    installed: &'a InstalledPowershell<'a>,
    found: Mutex<Scripts>,
}

impl<'a> RecordedScripts<'a> {
    pub(crate) fn of(installed: &'a InstalledPowershell<'a>) -> Self {
        Self { installed, found: Mutex::default() }
    }

    pub(crate) fn into_scripts(self) -> Scripts {
        self.found.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    fn found(&self) -> MutexGuard<'_, Scripts> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PowershellSource for RecordedScripts<'_> {
    fn interpreter(&self) -> Option<String> {
        None
    }

    fn script(&self, name: &str) -> Result<Arc<[u8]>, SourceError> {
        let script = self.installed.script(name)?;
        self.found().own.insert(name.to_owned(), Arc::clone(&script));
        Ok(script)
    }

    fn util(&self, file: &str) -> Result<Option<Script>, SourceError> {
        let script = self.installed.util(file)?;
        self.found().utils.insert(file.to_owned(), script.clone());
        Ok(script)
    }

    fn resource(&self, package: &str, file: &str) -> Result<Option<Script>, SourceError> {
        let script = self.installed.resource(package, file)?;
        self.found().resources.insert((package.to_owned(), file.to_owned()), script.clone());
        Ok(script)
    }

    fn searched(&self) -> String {
        self.installed.searched()
    }
}

/// A lookup among the scripts that were recorded.
#[derive(Debug)]
pub(crate) struct KnownScripts<'a> {
    pub(crate) installed: &'a InstalledPowershell<'a>,
    pub(crate) scripts: &'a Scripts,
}

impl KnownScripts<'_> {
    /// A run asks for what the recording run asked for, since the module is the same.
    fn unknown(name: &str) -> SourceError {
        SourceError::Read {
            path: name.to_owned(),
            reason: "it was not asked for when the module was verified".to_owned(),
        }
    }
}

impl PowershellSource for KnownScripts<'_> {
    fn interpreter(&self) -> Option<String> {
        self.installed.interpreter()
    }

    fn script(&self, name: &str) -> Result<Arc<[u8]>, SourceError> {
        self.scripts.own.get(name).cloned().ok_or_else(|| Self::unknown(name))
    }

    fn util(&self, file: &str) -> Result<Option<Script>, SourceError> {
        self.scripts.utils.get(file).cloned().ok_or_else(|| Self::unknown(file))
    }

    fn resource(&self, package: &str, file: &str) -> Result<Option<Script>, SourceError> {
        let key = (package.to_owned(), file.to_owned());
        self.scripts.resources.get(&key).cloned().ok_or_else(|| Self::unknown(file))
    }

    fn searched(&self) -> String {
        self.installed.searched()
    }
}

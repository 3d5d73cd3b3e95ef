//! Collects the scripts that a module needs: its requirements and their requirements, recursively.
//!
//! The rules follow ansible-core 2.19 (`PSModuleDepFinder`). Ansible uses unordered sets; here the order is that of
//! discovery, so that the same module always makes the same document.

use std::sync::Arc;

use crate::powershell::requires::{self, Language, Util, Version};
use crate::powershell_source::{PowershellError, PowershellSource, Script};

/// The util that loads C#.
const ADD_TYPE: &str = "Ansible.ModuleUtils.AddType";

/// The list of trusted scripts, for systems that require signed code.
const SIGNATURES: &str = "powershell_signatures.psd1";

/// The scripts collected so far.
#[derive(Debug)]
pub(super) struct Finder<'a> {
    source: &'a dyn PowershellSource,
    /// The scripts by the names that the wrappers use, without duplicates.
    pub(super) scripts: Vec<(String, Script)>,
    /// The names of the scripts that are lists of signatures.
    pub(super) signatures: Vec<String>,
    /// The utils that the module needs directly or indirectly.
    pub(super) utils: Vec<String>,
    pub(super) powershell: Option<Version>,
    pub(super) system: Option<Version>,
    pub(super) elevated: bool,
}

impl<'a> Finder<'a> {
    pub(super) fn new(source: &'a dyn PowershellSource) -> Result<Self, PowershellError> {
        let (powershell, system) = (None, None);
        let (scripts, signatures, utils) = (Vec::new(), Vec::new(), Vec::new());
        let mut finder = Self { source, scripts, signatures, utils, powershell, system, elevated: false };
        finder.add_signatures("ansible.config")?;
        Ok(finder)
    }

    /// Adds one of ansible-core's own scripts and its requirements. They are for the wrappers only and are not passed
    /// to the module.
    pub(super) fn add_wrapper(&mut self, name: &str) -> Result<(), PowershellError> {
        if self.has(name) {
            return Ok(());
        }
        let bytes = self.source.script(name)?;
        self.scripts.push((name.to_owned(), Script { path: name.to_owned(), bytes: Arc::clone(&bytes) }));
        let utils = std::mem::take(&mut self.utils);
        let scanned = self.scan(&bytes, Language::Powershell, None);
        self.utils = utils;
        scanned
    }

    /// Adds a module under a name, and its requirements.
    pub(super) fn add_module(&mut self, name: &str, script: Script, full_name: &str) -> Result<(), PowershellError> {
        let bytes = Arc::clone(&script.bytes);
        self.scripts.push((name.to_owned(), script));
        self.scan(&bytes, Language::Powershell, Some(full_name))
    }

    fn has(&self, name: &str) -> bool {
        self.scripts.iter().any(|(other, _)| other == name)
    }

    fn scan(&mut self, bytes: &[u8], language: Language, full_name: Option<&str>) -> Result<(), PowershellError> {
        let full_name = full_name.unwrap_or_default();
        if full_name.starts_with("ansible_collections.") {
            let collection: Vec<&str> = full_name.split('.').take(3).collect();
            self.add_signatures(&format!("{}.meta", collection.join(".")))?;
        }
        let found = requires::read(bytes, language);
        Version::raise(&mut self.powershell, found.powershell);
        Version::raise(&mut self.system, found.system);
        self.elevated |= found.elevated;
        found.utils.iter().try_for_each(|util| self.add_util(util, full_name))
    }

    fn add_util(&mut self, util: &Util, full_name: &str) -> Result<(), PowershellError> {
        let extension = util.language.extension();
        let (name, own_name) = if util.name.starts_with("Ansible.") {
            (format!("{}{extension}", util.name), None)
        } else {
            let absolute = absolute(&util.name, full_name);
            (format!("{absolute}{extension}"), Some(absolute))
        };
        if self.utils.contains(&name) {
            return Ok(());
        }
        if !self.has(&name) {
            let found = match own_name.as_deref().and_then(|own_name| own_name.rsplit_once('.')) {
                Some((package, last)) => self.source.resource(package, &format!("{last}{extension}"))?,
                None => self.source.util(&name)?,
            };
            let Some(script) = found else {
                let missing =
                    || PowershellError::MissingUtil { name: util.name.clone(), searched: self.source.searched() };
                return if util.optional { Ok(()) } else { Err(missing()) };
            };
            self.scripts.push((name.clone(), script));
        }
        let position = self.scripts.iter().position(|(other, _)| *other == name).expect("it was added or is there");
        let bytes = Arc::clone(&self.scripts[position].1.bytes);
        // Recorded before its requirements are scanned, because they may include the util itself.
        self.utils.push(name);
        self.scan(&bytes, util.language, own_name.as_deref())?;
        if util.language == Language::CSharp {
            let add_type = Util { name: ADD_TYPE.to_owned(), language: Language::Powershell, optional: false };
            self.add_util(&add_type, "")?;
        }
        Ok(())
    }

    fn add_signatures(&mut self, package: &str) -> Result<(), PowershellError> {
        let name = format!("{package}.{SIGNATURES}");
        if self.has(&name) {
            return Ok(());
        }
        if let Some(Script { bytes, .. }) = self.source.resource(package, SIGNATURES)?
            && !bytes.is_empty()
        {
            self.signatures.push(name.clone());
            self.scripts.push((name.clone(), Script { path: name, bytes }));
        }
        Ok(())
    }
}

/// Resolves a relative name against the name of the module that requires it. The first dot stands for the module's
/// package, each further dot for the package above.
fn absolute(name: &str, full_name: &str) -> String {
    let rest = name.trim_start_matches('.');
    let mut around: Vec<&str> = full_name.split('.').collect();
    let dots = name.len() - rest.len();
    if dots == 0 {
        return name.to_owned();
    }
    around.truncate(around.len().saturating_sub(dots));
    around.extend(rest.split('.').filter(|part| !part.is_empty()));
    around.join(".")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_names_are_resolved_as_python_does() {
        let module = "ansible_collections.a.b.plugins.modules.sub.m";
        for (name, expect) in [
            (".x", "ansible_collections.a.b.plugins.modules.sub.x"),
            ("...module_utils.x", "ansible_collections.a.b.plugins.module_utils.x"),
            ("ansible_collections.c.d.plugins.module_utils.x", "ansible_collections.c.d.plugins.module_utils.x"),
            (".................x", "x"),
        ] {
            assert_eq!(absolute(name, module), expect);
        }
    }
}

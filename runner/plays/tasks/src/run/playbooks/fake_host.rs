//! A host for tests of playbooks.

use std::cell::RefCell;
use std::collections::HashMap;
use std::time::Duration;

use modbox_python_json::Value;

use crate::action_host::{ActionHost, HostError, ModuleCall, ModuleRun, Prompt, PromptError};
use crate::actions::table;
use crate::files::{FileDetails, FileError, FileKind, PlayFiles, SharedFiles};
use crate::load::context::ActionNames;
use crate::memory_files::MemoryFiles;

/// A host with files in memory, whose modules return what their argument `result` says.
#[derive(Default)]
pub(super) struct FakeHost {
    pub(super) files: HashMap<String, String>,
    pub(super) calls: Vec<ModuleCall>,
    pub(super) slept: RefCell<Duration>,
}

impl PlayFiles for FakeHost {
    fn bytes(&self, path: &str) -> Result<Vec<u8>, FileError> {
        let found = self.files.get(path).map(|text| text.clone().into_bytes());
        found.ok_or_else(|| FileError::NotFound { path: path.to_owned() })
    }

    fn kind(&self, path: &str) -> Result<Option<FileKind>, FileError> {
        if self.files.contains_key(path) {
            return Ok(Some(FileKind::File));
        }
        let folder = self.files.keys().any(|file| crate::paths::is_inside(file, path));
        Ok(folder.then_some(FileKind::Folder))
    }

    fn list(&self, folder: &str) -> Result<Vec<String>, FileError> {
        let inside = self.files.keys().filter_map(|file| file.strip_prefix(folder)?.strip_prefix('/'));
        let mut names: Vec<String> = inside.filter_map(|rest| rest.split('/').next()).map(str::to_owned).collect();
        names.sort();
        names.dedup();
        Ok(names)
    }

    fn details(&self, _: &str) -> Result<FileDetails, FileError> {
        Ok(FileDetails { mode: 0o644, modified: Duration::ZERO, owner: "root".to_owned() })
    }

    fn link(&self, _: &str) -> Result<Option<String>, FileError> {
        Ok(None)
    }
}

impl ActionNames for FakeHost {
    fn is_known(&self, name: &str, _: &[String]) -> bool {
        table::is_builtin(name) || name == "fake"
    }

    fn folder_found(&self, _: &str) {}
}

impl ActionHost for FakeHost {
    fn run_module(&mut self, call: &ModuleCall) -> Result<ModuleRun, HostError> {
        self.calls.push(call.clone());
        let result = call.args.get("result").and_then(Value::as_dict).cloned().unwrap_or_default();
        Ok(ModuleRun { result, report: Value::Null })
    }

    fn files(&self) -> &dyn PlayFiles {
        self
    }

    fn shared_files(&self) -> SharedFiles {
        let files: Vec<(&str, &str)> = self.files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        std::sync::Arc::new(MemoryFiles::new(&files))
    }

    fn host_name(&self) -> String {
        "machine".to_owned()
    }

    fn now(&self) -> Duration {
        *self.slept.borrow()
    }

    fn local_time(&self, time: Duration) -> String {
        time.as_secs().to_string()
    }

    fn sleep(&mut self, duration: Duration) {
        *self.slept.borrow_mut() += duration;
    }

    fn prompt(&mut self, _: &Prompt) -> Result<String, PromptError> {
        Err(PromptError::NotInteractive)
    }

    fn resolve(&self, name: &str, _: &[String]) -> Option<String> {
        (name == "fake").then(|| "fake".to_owned())
    }

    fn action_group(&self, _: &str) -> Option<Vec<String>> {
        None
    }
}

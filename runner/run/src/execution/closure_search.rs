//! Finds all that a run of a module takes, and binds a run to what its policy was made for.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use modbox_closure::{Closure, Part};
use modbox_kinds::powershell::{ScriptLookup, find_scripts};
use modbox_kinds::{Kind, PrepareError, PythonSource};
use modbox_policy::Policy;
use modbox_scratch::{DirPurpose, RunDir};
use modbox_vocabulary::error_chain;
use tracing::debug;

use crate::modules::closure::known::{ClosureContent, KnownClosure};
use crate::modules::closure::powershell_parts::RecordedScripts;
use crate::modules::documentation::FragmentFolders;
use crate::modules::module::Module;
use crate::modules::powershell::InstalledPowershell;
use crate::python::{Assembler, ModuleSource};
use crate::reports::error::RunError;
use crate::request::run_request::RunRequest;
use crate::request::scrutiny::Scrutiny;
use crate::runner::Runner;

/// What the parts of a module depend on, beside its file.
#[derive(Debug, Clone, Copy)]
pub struct ClosureRequest<'a> {
    /// Name of the module.
    pub name: &'a str,
    /// Programs to start instead of an interpreter.
    pub interpreters: &'a BTreeMap<String, String>,
    /// Policy of the run: a module may name an interpreter that is granted, and the run may be another user's.
    pub policy: &'a Policy,
}

impl<'a> ClosureRequest<'a> {
    pub(crate) fn of(request: &'a RunRequest<'_>) -> Self {
        Self { name: request.name, interpreters: request.interpreters, policy: request.policy }
    }
}

impl Runner {
    /// Finds all that a run of a module would take from its file and from beside it. Starts nothing of the module.
    ///
    /// # Errors
    ///
    /// A part cannot be found or read.
    pub fn closure(&self, module: &Module, request: &ClosureRequest<'_>) -> Result<Arc<Closure>, RunError> {
        Ok(self.find_closure(module, request)?.closure)
    }

    /// Returns the closure that a run is bound to: the one that its policy was made for, or without such a policy the present one.
    /// Without such a policy, `None` where the parts cannot be found: the start of the module tells why.
    ///
    /// # Errors
    ///
    /// The module is not any more the one that the policy was made for.
    pub(crate) fn bound_closure(
        &self,
        module: &Module,
        request: &RunRequest<'_>,
    ) -> Result<Option<KnownClosure>, RunError> {
        let Some(bound) = request.policy.trust().digest.as_deref() else {
            let found = self.find_closure(module, &ClosureRequest::of(request));
            let unknown =
                |error: &RunError| debug!(error = error_chain(error), "the parts of the module are not known");
            return Ok(found.inspect_err(unknown).ok());
        };
        if let Some(known) = module.closures.with(bound) {
            return Ok(Some(known));
        }
        let found = self.find_closure(module, &ClosureRequest::of(request))?;
        match found.closure.digest() == bound {
            true => Ok(Some(found)),
            false => Err(RunError::OtherParts(module.shown_path().display().to_string())),
        }
    }

    fn find_closure(&self, module: &Module, request: &ClosureRequest<'_>) -> Result<KnownClosure, RunError> {
        let own = || Part { name: file_name(module), digest: module.digest().to_owned() };
        let Ok(kind) = module.detection().map(|found| found.kind) else {
            return Ok(KnownClosure::alone(Closure::of_file(own())));
        };
        if module.is_received()
            && let Some(known) = module.closures.last()
        {
            return Ok(known);
        }
        let known = match kind {
            kind if kind.is_provider() => {
                let sidecar = self.sidecar(module)?.as_ref().map(|(path, yaml)| {
                    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                    Part::of(name, yaml)
                });
                let parts = sidecar.into_iter().collect();
                KnownClosure::alone(Closure::of(own(), parts, BTreeSet::new()))
            }
            kind if kind.is_wasm() => return Ok(KnownClosure::alone(Closure::of_file(own()))),
            Kind::Python => self.python_closure(module, request)?,
            Kind::Powershell => self.powershell_closure(module, request, own())?,
            _ => KnownClosure::alone(Closure::of(own(), self.documents(module, request), BTreeSet::new())),
        };
        module.closures.keep(&known);
        Ok(known)
    }

    /// Returns the files that say which options of a module are paths. Those of a module that arrived with its parts are files of this
    /// machine, and not beside it.
    fn documents(&self, module: &Module, request: &ClosureRequest<'_>) -> Vec<Part> {
        if module.is_received() {
            return Vec::new();
        }
        let fragments = || {
            let python = request.interpreters.get("python").map(String::as_str);
            let directory = &self.config.directory;
            FragmentFolders::of(&self.config.python, &directory.join(module.path()), python, directory)
        };
        module.documents(fragments).to_vec()
    }

    fn python_closure(&self, module: &Module, request: &ClosureRequest<'_>) -> Result<KnownClosure, RunError> {
        let source = PythonSource::read(request.name, module.bytes()?, request.interpreters)?;
        let run_dir = RunDir::create(&self.scratch, DirPurpose::Run, None)?;
        let context = self.native_context(request.policy, Scrutiny::default(), false, Vec::new());
        let assembler = Assembler::new(&self.config.python, &context, run_dir.path());
        let subject =
            ModuleSource { name: request.name, path: module.path(), digest: module.digest(), source: &source };
        let assembly = assembler.known(subject, module.received.as_ref())?;
        run_dir.give_back();
        let documents = self.documents(module, request);
        let closure = match documents.is_empty() {
            true => assembly.closure().clone(),
            false => assembly.closure().with(documents),
        };
        Ok(KnownClosure { closure: Arc::new(closure), content: ClosureContent::Python(assembly) })
    }

    fn powershell_closure(
        &self,
        module: &Module,
        request: &ClosureRequest<'_>,
        own: Part,
    ) -> Result<KnownClosure, RunError> {
        let path = self.config.directory.join(module.path());
        let python = request.interpreters.get("python").map(String::as_str);
        let installed =
            InstalledPowershell::new(&self.config.environment, &self.config.python, &path).with_python(python);
        let recorder = RecordedScripts::of(&installed);
        let (file, path) = (file_name(module), path.to_string_lossy());
        find_scripts(&ScriptLookup {
            source: &recorder,
            module_name: request.name,
            file_name: &file,
            path: &path,
            bytes: module.bytes()?,
        })
        .map_err(PrepareError::from)?;
        let scripts = recorder.into_scripts();
        let mut parts = scripts.parts(installed.core());
        parts.extend(self.documents(module, request));
        let closure = Arc::new(Closure::of(own, parts, BTreeSet::new()));
        Ok(KnownClosure { closure, content: ClosureContent::Powershell(Arc::new(scripts)) })
    }
}

fn file_name(module: &Module) -> String {
    module.path().file_name().unwrap_or_default().to_string_lossy().into_owned()
}

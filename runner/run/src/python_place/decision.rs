//! Decides where a Python module runs, before it starts: natively, or as a guest, in an interpreter of the sandbox.
//!
//! The reason is in the report. A module has effects, so a run that needs more than the sandbox has fails and is not
//! repeated; under `auto`, the next run of the same module is native.

use std::sync::Arc;

use bytesize::ByteSize;
use modbox_contract::Dict;
use modbox_kinds::{PythonForm, PythonSource, PythonStart};
use modbox_policy::{Access, Policy, PythonPlace};
use modbox_scratch::{DirPurpose, RunDir};
use modbox_vocabulary::{Exit, Invocation, Limits, Outcome, Program, WasmFormat, WasmProgram, error_chain};

use crate::execution::execute_guest::GuestRun;
use crate::modules::closure::known::KnownClosure;
use crate::modules::module::Module;
use crate::python::{Assembler, GuestChoice, GuestModule, ModuleSource, Verdict, read_code, remember_need};
use crate::reports::error::RunError;
use crate::reports::parts::python_run::{GUEST, PythonRun};
use crate::reports::report::Report;
use crate::reports::stopped;
use crate::request::run_request::{Arguments, RunRequest};
use crate::request::scrutiny::Scrutiny;
use crate::runner::Runner;
use crate::runner::python_guest::{PythonGuest, SandboxPython};
use crate::runner::run_form::RunForm;

/// Names of any Python 3, as a module's `#!` line has them.
const ANY_PYTHON: [&str; 2] = ["python3", "/usr/bin/python3"];

/// Memory that an interpreter needs with a small module; 34 MiB of it are what was imported when it was built.
const LEAST_MEMORY: u64 = 48 << 20;

/// Highest level of confinement that the kernel gives a guest: it is in no namespaces.
const HIGHEST_OF_GUESTS: u8 = 2;

/// Largest code of a module and its imports.
const MAX_CODE: u64 = 64 << 20;

/// Where a Python module runs.
pub(crate) enum Placement {
    /// Natively. The facts are missing where there was nothing to choose.
    Native(Option<PythonRun>),
    /// In the sandbox.
    Guest(Arc<PythonGuest>, PythonRun),
}

impl Runner {
    /// Decides where a Python module runs.
    ///
    /// # Errors
    ///
    /// The policy says that it runs in the sandbox, and the sandbox lacks something; or the module cannot be assembled.
    pub(crate) fn place_python(&self, module: &Module, request: &RunRequest<'_>) -> Result<Placement, RunError> {
        let place = request.policy.python_place();
        let native = |reason: String| PythonRun::new("native", reason);
        if place == PythonPlace::Native {
            let is_told = !self.sandbox_pythons().is_empty();
            return Ok(Placement::Native(is_told.then(|| native("the policy says `native`".to_owned()))));
        }
        let reason = match self.place_in_sandbox(module, request, place) {
            Ok(Ok((guest, reason))) => {
                return Ok(Placement::Guest(Arc::new(guest), PythonRun::new(GUEST, reason)));
            }
            Ok(Err(reason)) => reason,
            Err(error) if place == PythonPlace::Wasm => return Err(error),
            // A native run tells what is wrong with the module itself.
            Err(error) => format!("was not prepared for the sandbox: {}", error_chain(&error)),
        };
        tracing::debug!(reason, "the module does not suit the interpreter in the sandbox");
        match place {
            PythonPlace::Wasm => Err(RunError::NotInSandbox(reason)),
            _ if self.sandbox_pythons().is_empty() => Ok(Placement::Native(None)),
            _ => Ok(Placement::Native(Some(native(reason)))),
        }
    }

    /// Finds an interpreter of the sandbox for a module. The inner error is the reason why there is none.
    fn place_in_sandbox(
        &self,
        module: &Module,
        request: &RunRequest<'_>,
        place: PythonPlace,
    ) -> Result<Result<(PythonGuest, String), String>, RunError> {
        if self.sandbox_pythons().is_empty() {
            let reason =
                "needs an interpreter of the sandbox, and none is installed (`modbox python install` builds one)";
            return Ok(Err(reason.to_owned()));
        }
        if request.scrutiny == Scrutiny::Observed {
            return Ok(Err("is observed, which is for native runs".to_owned()));
        }
        if let Some(reason) = beyond_guests(request) {
            return Ok(Err(reason));
        }
        let source = PythonSource::read(request.name, module.bytes()?, request.interpreters)?;
        if let Some(reason) = named_interpreter(&source, place) {
            return Ok(Err(reason));
        }
        let run_dir = RunDir::create(&self.scratch, DirPurpose::Run, None)?;
        let context = self.native_context(request.policy, request.scrutiny, false, Vec::new());
        let assembler = Assembler::new(&self.config.python, &context, run_dir.path());
        let bound = self.bound_closure(module, request)?;
        let mut first = None;
        for python in self.sandbox_pythons() {
            let digest = module.digest();
            let subject = ModuleSource { name: request.name, path: module.path(), digest, source: &source };
            let choice = GuestChoice {
                interpreter: &python.installed,
                arguments: request.arguments.given(),
                is_careful: place == PythonPlace::Auto,
                may_run_commands: request.policy.allows_commands_inside(),
                has_rules_outside: !request.policy.outside().is_empty(),
                shares_temporary: &|| self.shares_temporary(request.policy),
                may_be_unverified: request.policy.allows_any_certificate(),
                digest: bound.as_ref().map_or(digest, |bound| bound.closure.digest()),
                shown: self.path_in_tracebacks(module),
            };
            match assembler.guest(
                subject,
                module.received.as_ref(),
                bound.as_ref().and_then(KnownClosure::assembly),
                &choice,
            )? {
                Verdict::Lacks(reason) => first = first.or(Some(reason)),
                Verdict::Suits(guest) => {
                    python.installed.mark_used();
                    let code = self.code_of(python, &guest, request.policy, &assembler)?;
                    let reason = format!(
                        "the interpreter of ansible-core {} has all that it needs",
                        python.installed.facts.release
                    );
                    return Ok(Ok((self.guest_of(python, &guest, code, request.policy), reason)));
                }
            }
        }
        Ok(Err(first.unwrap_or_default()))
    }

    /// Returns the absolute path of a module's file, or the path in its payload of a module that has no file.
    fn path_in_tracebacks(&self, module: &Module) -> String {
        match module.is_received() {
            true => module.shown_path().display().to_string(),
            false => self.config.directory.join(module.path()).display().to_string(),
        }
    }

    fn guest_of(
        &self,
        python: &Arc<SandboxPython>,
        guest: &GuestModule,
        code: Arc<[u8]>,
        policy: &Policy,
    ) -> PythonGuest {
        // A look at a folder that is not granted would be a denial.
        let directory = &self.config.directory;
        let directory = policy.covers(directory, Access::Read).then(|| directory.display().to_string());
        let start = PythonStart {
            interpreter: vec!["python3".to_owned()],
            form: PythonForm::Guest { start: guest.start_file(directory, policy.user()).into(), code },
            core_args: guest.core_args.clone(),
            runtime_paths: Vec::new(),
        };
        let is_chosen = policy.python_place() == PythonPlace::Auto;
        PythonGuest { python: Arc::clone(python), start, is_chosen }
    }

    /// Returns the code of a module. The interpreter compiles it in the sandbox, where it sees the sources and nothing else.
    fn code_of(
        &self,
        python: &SandboxPython,
        guest: &GuestModule,
        policy: &Policy,
        assembler: &Assembler<'_>,
    ) -> Result<Arc<[u8]>, RunError> {
        if let Some(code) = &guest.code {
            return Ok(Arc::clone(code));
        }
        let mut alone = Policy::default();
        if let Some(least) = policy.least_confinement() {
            alone.require_confinement(least.level, &least.source);
        }
        let limits = Limits { max_output: MAX_CODE, ..Limits::default() };
        let argv = ["python", "/args/args.json", "/args/start.json"].map(str::to_owned).into();
        let program = WasmProgram { format: WasmFormat::Component, argv };
        let invocation = Invocation {
            program: Program::Wasm(program.clone()),
            files: guest.pack_files(),
            stdin: Vec::new(),
            runtime_paths: Vec::new(),
        };
        let request = RunRequest::new("python", Arguments::Complete(Dict::new()), &alone, &limits);
        let run_dir = Arc::new(RunDir::create(&self.scratch, DirPurpose::Guest, None)?);
        let run = GuestRun {
            module: &python.module,
            program: &program,
            invocation: &invocation,
            request: &request,
            granted: &alone,
            run_dir: &run_dir,
            outside: None,
        };
        let outcome = self.execute_guest(run, &mut Vec::new())?;
        run_dir.close();
        let code = read_code(&outcome.stdout.bytes).ok_or_else(|| RunError::NotCompiled(why_not_compiled(&outcome)))?;
        assembler.keep_code(guest, &code);
        Ok(code.into())
    }

    /// Remembers a function that a failed module needed and the sandbox does not have.
    pub(crate) fn remember_need(&self, report: &Report, form: &RunForm) {
        let Some(guest) = form.python.as_ref().filter(|guest| guest.is_chosen) else { return };
        let need = report.python.as_ref().and_then(|run| run.needs.as_deref());
        if let Some(need) = need.filter(|_| !report.status.is_success()) {
            let subject = (report.module.digest.as_str(), &guest.python.installed);
            remember_need(&self.config.python, subject, need, &self.config.cleanup);
        }
    }
}

/// Returns why the interpreter has printed no code.
fn why_not_compiled(outcome: &Outcome) -> String {
    let stderr = String::from_utf8_lossy(&outcome.stderr.bytes);
    match (outcome.limit, &outcome.exit, stderr.trim().lines().last()) {
        (Some(hit), _, _) => stopped::limit_message(hit),
        (None, Exit::Trap { reason, .. }, _) => reason.clone(),
        (None, _, Some(last)) => last.to_owned(),
        (None, _, None) => "it printed nothing".to_owned(),
    }
}

/// Returns what a request asks for that no interpreter of the sandbox gives.
fn beyond_guests(request: &RunRequest<'_>) -> Option<String> {
    if request.policy.user().is_some() {
        return Some("runs as another user".to_owned());
    }
    let least = request.policy.least_confinement().map_or(0, |least| least.level);
    if least > HIGHEST_OF_GUESTS {
        return Some(format!(
            "must be confined at level {least}, and the kernel confines guests at level {HIGHEST_OF_GUESTS}"
        ));
    }
    (request.limits.max_memory < LEAST_MEMORY).then(|| {
        let limit = ByteSize(request.limits.max_memory).display().iec();
        format!(
            "has a limit of memory of {limit}, and the interpreter needs {}",
            ByteSize(LEAST_MEMORY).display().iec()
        )
    })
}

/// Returns why a module's interpreter is not one of the sandbox.
fn named_interpreter(source: &PythonSource, place: PythonPlace) -> Option<String> {
    let named = source.interpreter.as_ref()?;
    match source.own_choice {
        true if ANY_PYTHON.contains(&named.as_str()) && source.arguments.is_empty() => None,
        true => Some(format!("names the interpreter `{named}`")),
        // It says where ansible-core is, too.
        false if place == PythonPlace::Wasm => None,
        false => Some(format!("was given the interpreter `{named}`")),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn an_interpreter_that_is_named_is_a_reason() {
        let reason = |line: &str, given: Option<&str>, place: PythonPlace| {
            let given: BTreeMap<String, String> =
                given.iter().map(|path| ("python".to_owned(), (*path).to_owned())).collect();
            named_interpreter(&PythonSource::read("m", &line.as_bytes().into(), &given).unwrap(), place)
        };
        for line in ["", "#!/usr/bin/python\n", "#!/usr/bin/python3\n", "#!/usr/bin/env python3\n"] {
            assert_eq!(reason(line, None, PythonPlace::Auto), None, "{line}");
        }
        assert!(reason("#!/opt/pypy\n", None, PythonPlace::Wasm).unwrap().contains("names"));
        assert!(reason("#!/usr/bin/python3 -I\n", None, PythonPlace::Auto).unwrap().contains("names"));
        assert!(reason("", Some("/opt/python"), PythonPlace::Auto).unwrap().contains("was given"));
        assert_eq!(reason("", Some("/opt/python"), PythonPlace::Wasm), None);
    }
}

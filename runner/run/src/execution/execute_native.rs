//! Executes native modules in their confinement, and assembles Python modules before they start.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;

use modbox_kinds::detect::DetectError;
use modbox_kinds::{Kind, PythonSource};
use modbox_native::{LauncherExit, NativeContext, NativeError, RoomRequest};
use modbox_policy::Policy;
use modbox_scratch::{DirPurpose, RunDir};
use modbox_vocabulary::{Invocation, Outcome};
use modbox_worker::{THIS_PROGRAM, Workers};

use crate::execution::apt_settings;
use crate::grants::confine;
use crate::grants::native::{environment, whole_environment};
use crate::grants::outward_links;
use crate::grants::run_user::as_user;
use crate::modules::closure::known::KnownClosure;
use crate::modules::module::Module;
use crate::provider::environment as provider_environment;
use crate::python::{self, Assembler, ModuleSource};
use crate::reports::error::RunError;
use crate::request::run_request::RunRequest;
use crate::request::scrutiny::Scrutiny;
use crate::runner::Runner;

impl Runner {
    /// Executes a native module.
    pub(crate) fn execute_native(
        &self,
        kind: Kind,
        invocation: &Invocation,
        request: &RunRequest<'_>,
        run_dir: &RunDir,
    ) -> Result<(Outcome, LauncherExit), RunError> {
        let policy = request.policy;
        let readable = invocation.runtime_paths.iter().map(|runtime| runtime.path.clone()).collect();
        let mut context = self.native_context(policy, request.scrutiny, request.keep_files, readable);
        if let Some(confine) = context.confine.as_mut().filter(|confine| !confine.reports_reads) {
            let may_exist = || outward_links::may_exist(policy);
            confine.reports_reads = as_user(policy.user(), may_exist).unwrap_or_default();
        }
        if let Some(confine) = context.confine.as_mut().filter(|_| kind.is_provider()) {
            // A provider that did not see what it asked must not pass for one that found nothing.
            confine.reports_reads = true;
        }
        if kind.is_provider() {
            provider_environment::restrict(&mut context, policy, &self.config.environment);
        }
        let outside = match request.is_free() {
            true => None,
            false => self.outside_request(policy, request.limits, false)?,
        };
        let (outside, _copies) = outside.unzip();
        if let Some(confine) = &mut context.confine {
            confine.outside = outside;
        }
        let least = context.confine.as_ref().map_or(0, |confine| confine.least);
        let mut invocation = Cow::Borrowed(invocation);
        if !request.is_free() {
            apt_settings::add(&mut invocation, &mut context.environment, policy, run_dir.path());
        }
        let started = modbox_native::start(&context, &invocation, run_dir.path(), request.limits);
        match started.and_then(|started| started.finish(request.limits)) {
            Ok(ended) => Ok(ended),
            Err(NativeError::Unconfined(reached)) => Err(confine::native_shortfall(reached, least, policy)),
            Err(NativeError::NoOutside(reason)) => Err(RunError::commands_outside(policy, reason)),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the context of a native process: confined to the policy, unless that grants everything, and able to read
    /// the paths in `readable`.
    pub(crate) fn native_context(
        &self,
        policy: &Policy,
        scrutiny: Scrutiny,
        kept: bool,
        readable: Vec<PathBuf>,
    ) -> NativeContext {
        let observed = scrutiny == Scrutiny::Observed;
        let confine = (!policy.allows_everything()).then(|| RoomRequest {
            policy: policy.clone(),
            least: policy.least_confinement().map_or(modbox_kernel::DEFAULT_LEAST, |least| least.level),
            kept,
            readable,
            temporary: None,
            home: self.home(policy),
            reports_reads: scrutiny != Scrutiny::Confined,
            observed,
            outside: None,
        });
        let environment = match &confine {
            Some(_) if !observed => environment(policy),
            _ => whole_environment(&self.config.environment, policy),
        };
        NativeContext {
            workers: self.config.workers.clone().unwrap_or_else(|| Workers::new(THIS_PROGRAM.into())),
            directory: self.config.directory.clone(),
            environment,
            room_variables: None,
            user: policy.user().cloned(),
            cleanup: self.config.cleanup.clone(),
            leaves_processes: true,
            confine,
        }
    }

    /// Assembles a Python module with all its imports into one file that runs with plain Python on any machine.
    ///
    /// # Errors
    ///
    /// A module of another kind, an import that is not found, or no ansible-core.
    pub fn assemble(
        &self,
        module: &Module,
        name: &str,
        interpreters: &BTreeMap<String, String>,
    ) -> Result<String, RunError> {
        let detection = module.detection().map_err(Clone::clone)?;
        if detection.kind != Kind::Python {
            let reason = format!("it is {}, {}", detection.kind, detection.reason);
            return Err(DetectError::Contradiction { declared: Kind::Python, reason }.into());
        }
        let source = PythonSource::read(name, module.bytes()?, interpreters)?;
        let run_dir = RunDir::create(&self.scratch, DirPurpose::Run, None)?;
        let context = self.native_context(&Policy::default(), Scrutiny::Confined, false, Vec::new());
        let assembler = Assembler::new(&self.config.python, &context, run_dir.path());
        let digest = module.digest();
        Ok(assembler.portable(ModuleSource { name, path: module.path(), digest, source: &source })?)
    }

    pub(crate) fn python_start(
        &self,
        module: &Module,
        request: &RunRequest<'_>,
        run_dir: &RunDir,
    ) -> Result<python::PreparedModule, RunError> {
        let source = PythonSource::read(request.name, module.bytes()?, request.interpreters)?;
        let context = self.native_context(request.policy, request.scrutiny, request.keep_files, Vec::new());
        let assembler = Assembler::new(&self.config.python, &context, run_dir.path());
        let digest = module.digest();
        let subject = ModuleSource { name: request.name, path: module.path(), digest, source: &source };
        let bound = self.bound_closure(module, request)?;
        let known = bound.as_ref().and_then(KnownClosure::assembly);
        Ok(match &module.received {
            Some(payload) => assembler.start_received(subject, payload, known, request.keep_files)?,
            None => assembler.start(subject, known, request.keep_files)?,
        })
    }
}

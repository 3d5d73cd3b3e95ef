//! The worker of Python plugins in the sandbox for WebAssembly: a component with ansible-core's controller half, in a confined
//! process of its own.
//!
//! It sees the files that it is granted through the guard alone. The room of a native worker shows links of collections as they
//! are; here each has to be granted.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use modbox_contract::Dict;
use modbox_contract::args::encode_file;
use modbox_kernel::KernelConfinement;
use modbox_policy::{Access, PathGrant, Policy, Shape};
use modbox_python_json::Value;
use modbox_scratch::{DirPurpose, Scratch};
use modbox_vocabulary::{
    CommandService, GrantSource, InputFile, LimitKind, Outcome, WasmFormat, WasmProgram, error_chain,
};
use modbox_wasm::{
    AttendError, GuestEvent, GuestOrder, GuestWorker, Instances, MAX_PLUGIN_MESSAGE, RunDirectory, StartedWorker,
    WasmError, attend_start,
};

use crate::modules::module::Module;
use crate::plugins::call_time::CallTime;
use crate::plugins::linked_collections::links;
use crate::plugins::place::PluginPlace;
use crate::plugins::process::{
    CALL_CPU, LARGE, PluginError, PluginLink, PluginProcess, START, busy_text, late_start, late_text, outcome_text,
    remedy, start_failure, worker_limits,
};
use crate::plugins::rights::PluginRights;
use crate::python::{host_facts, minor_version};
use crate::reports::error::RunError;
use crate::runner::Runner;

/// Highest level of confinement that the kernel gives a guest: it is in no namespaces.
const HIGHEST_OF_GUESTS: u8 = 2;

/// How often a worker that does not answer is looked at.
const INTERVAL: Duration = Duration::from_millis(200);

/// The worker's home, in its own temporary folder. It has no `ansible.cfg`.
const HOME: &str = "/tmp/ansible";

/// A component for plugins, opened once for all workers of a play.
#[derive(Debug, Clone)]
pub struct SandboxPlace {
    module: Arc<Module>,
    /// Minor version of its Python.
    minor: Option<u32>,
}

impl SandboxPlace {
    /// Finds the component that was built of the ansible-core of a place.
    ///
    /// # Errors
    ///
    /// Why there is none, in words.
    pub fn find(runner: &Runner, place: &PluginPlace) -> Result<Self, String> {
        let remedy = "`modbox python install` builds one";
        let all = runner.sandbox_pythons();
        let of_core: Vec<_> = all.iter().filter(|python| python.installed.facts.ansible == place.core).collect();
        let Some(first) = of_core.first() else {
            let core = place.core.display();
            return Err(match all.is_empty() {
                true => format!("the sandbox has no Python interpreter ({remedy})"),
                false => format!("the sandbox has no Python interpreter with the ansible-core in `{core}` ({remedy})"),
            });
        };
        let built = of_core.iter().find_map(|python| Some((python, python.installed.facts.plugins.as_ref().ok()?)));
        let Some((python, facts)) = built else {
            let reason = first.installed.facts.plugins.as_ref().err().map(String::as_str).unwrap_or_default();
            return Err(format!("the interpreter in the sandbox has no component for plugins: {reason}"));
        };
        if facts.is_stale() {
            return Err(format!("ansible-core was changed since the component for plugins was built ({remedy})"));
        }
        let path = python.installed.plugins();
        let opened = Module::open(&path, None, runner.config.cache.as_ref(), &runner.config.cleanup);
        let module = opened.map_err(|error| format!("the component for plugins cannot be read: {error}"))?;
        if module.digest() != facts.digest {
            return Err(format!("the component for plugins was changed ({remedy})"));
        }
        python.installed.mark_used();
        let minor = python.installed.facts.python.split('.').nth(1).and_then(|minor| minor.parse().ok());
        Ok(Self { module: Arc::new(module), minor })
    }

    /// Returns why what runs here may have another result than with the Python of a place; `None` if both have the same minor
    /// version.
    #[must_use]
    pub fn difference(&self, place: &PluginPlace) -> Option<String> {
        let native = minor_version(&place.python, &place.core);
        let text =
            |minor: Option<u32>| minor.map_or_else(|| "an unknown version".to_owned(), |minor| format!("3.{minor}"));
        (native.is_none() || native != self.minor)
            .then(|| format!("the sandbox has Python {}, and `ansible` runs with {}", text(self.minor), text(native)))
    }

    /// Returns why workers with these grants cannot run here.
    #[must_use]
    pub fn obstacle(&self, policy: &Policy) -> Option<String> {
        let least = policy.least_confinement().map_or(0, |least| least.level);
        (least > HIGHEST_OF_GUESTS)
            .then(|| format!("level {least} is asked for, and the kernel confines guests at level {HIGHEST_OF_GUESTS}"))
    }
}

/// A process that runs the component. Dropping it ends it.
#[derive(Debug)]
struct SandboxWorker {
    worker: GuestWorker,
    is_over: bool,
    commands: Option<CommandsOfWorker>,
    call_time: CallTime,
    /// The worker's directory, removed with it.
    _directory: Scratch,
}

/// The service that runs commands which a rule grants.
struct CommandsOfWorker(Arc<dyn CommandService>);

impl std::fmt::Debug for CommandsOfWorker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CommandsOfWorker").finish_non_exhaustive()
    }
}

impl Runner {
    /// Starts a worker of Python plugins in the sandbox, and waits until it is ready.
    ///
    /// # Errors
    ///
    /// The kernel confines less than is accepted, or the component does not start.
    pub fn start_sandboxed_plugins(
        &self,
        sandbox: &SandboxPlace,
        place: &PluginPlace,
        rights: &PluginRights,
    ) -> Result<PluginProcess, PluginError> {
        let room = |error: RunError| PluginError::Room(Box::new(error));
        let policy = readable(place, rights);
        let limits = worker_limits();
        let workers = self.config.workers.as_ref();
        let workers = workers.ok_or_else(|| PluginError::Sandbox("this program has no worker processes".to_owned()))?;
        let least = policy.least_confinement().map_or(modbox_kernel::DEFAULT_LEAST, |least| least.level);
        let mut compile = false;
        loop {
            let (code, _) = self.code_for_worker(&sandbox.module, &limits, compile).map_err(room)?;
            let warm = self.warm_setup(&policy, &limits).map_err(room)?;
            let directory = warm.directory;
            let mut setup = warm.setup;
            setup.has_plugins = true;
            let failed = |error| room(WasmError::Worker(error).into());
            let mut worker =
                GuestWorker::start(workers, &code, Instances::OnDemand, &self.config.cleanup).map_err(failed)?;
            worker.set_up(setup).and_then(|()| worker.run(order(place, &policy))).map_err(failed)?;
            match attend_start(&mut worker, Some(least)) {
                Ok(StartedWorker { .. }) => {
                    let commands = policy.allows_commands();
                    let commands = commands
                        .then(|| self.command_runner((&policy, &limits), directory.path(), &self.config.cleanup))
                        .map(CommandsOfWorker);
                    let call_time = CallTime::new(CALL_CPU);
                    let mut worker =
                        SandboxWorker { worker, is_over: false, commands, call_time, _directory: directory };
                    worker.wait_until_ready()?;
                    return Ok(PluginProcess::new(worker));
                }
                Err(AttendError::Start(WasmError::Code(_))) if !compile => compile = true,
                Err(AttendError::Start(error)) => return Err(room(error.into())),
                Err(AttendError::Unconfined(reached)) => return Err(unconfined(reached, least, &policy)),
            }
        }
    }
}

fn unconfined(reached: KernelConfinement, least: u8, policy: &Policy) -> PluginError {
    PluginError::Unconfined { least, remedy: remedy(&reached, policy), reached: Box::new(reached) }
}

impl SandboxWorker {
    fn wait_until_ready(&mut self) -> Result<(), PluginError> {
        let failure = match self.message(Instant::now() + START) {
            Ok(message) => start_failure(&message),
            Err(None) => Some(late_start()),
            Err(Some(reason)) => Some(reason),
        };
        failure.map_or(Ok(()), |reason| Err(PluginError::Sandbox(reason)))
    }

    /// Waits for a message. The error is how the worker ended, or nothing if none came in time; it is ended then.
    fn message(&mut self, deadline: Instant) -> Result<Vec<u8>, Option<String>> {
        loop {
            let until = deadline.min(Instant::now() + INTERVAL);
            match self.worker.next_event(Some(until)) {
                Ok(Some(GuestEvent::Plugins(message))) if message.len() > MAX_PLUGIN_MESSAGE => {
                    return Err(Some(self.ended(LARGE.to_owned())));
                }
                Ok(Some(GuestEvent::Plugins(message))) => return Ok(message),
                Ok(Some(GuestEvent::Printed(..) | GuestEvent::RefusedCall(_))) => {}
                Ok(Some(GuestEvent::Command(request, stdin))) => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    let answer = match &self.commands {
                        Some(commands) => commands.0.run(&request.within(left), &stdin, None),
                        None => Err(modbox_policy::run::denied(&request.program, &request.arguments)),
                    };
                    self.worker.answer(answer).map_err(|error| Some(self.ended(error.to_string())))?;
                }
                Ok(Some(GuestEvent::Ended(outcome))) => return Err(Some(self.ended(ending(&outcome)))),
                Ok(Some(GuestEvent::NotStarted(error))) => return Err(Some(self.ended(error_chain(&error)))),
                Ok(Some(_)) => return Err(Some(self.ended("its process has ended".to_owned()))),
                Ok(None) if Instant::now() >= deadline => {
                    self.end();
                    return Err(None);
                }
                Ok(None) => {
                    let worker = &self.worker;
                    if self.call_time.check(deadline, || worker.processor_time()).is_err() {
                        return Err(Some(self.ended(busy_text())));
                    }
                }
                Err(error) => return Err(Some(self.ended(error.to_string()))),
            }
        }
    }

    fn end(&mut self) {
        self.is_over = true;
        self.worker.kill();
    }

    fn ended(&mut self, reason: String) -> String {
        self.end();
        reason
    }
}

impl Drop for SandboxWorker {
    fn drop(&mut self) {
        self.worker.kill();
        self.worker.reap();
    }
}

impl PluginLink for SandboxWorker {
    fn send(&mut self, message: &[u8], _deadline: Instant) -> Result<(), PluginError> {
        if self.is_over {
            return Err(PluginError::Ended("the process of the plugins has ended".to_owned()));
        }
        if message.len() > MAX_PLUGIN_MESSAGE {
            return Err(PluginError::TooLarge);
        }
        // What the channel does not take at once is written while the answer is waited for.
        let sent = self.worker.tell_plugins(message);
        sent.map_err(|error| PluginError::Ended(self.ended(error.to_string())))?;
        self.worker.flush();
        Ok(())
    }

    fn receive(&mut self, deadline: Instant) -> Result<Vec<u8>, PluginError> {
        if self.is_over {
            return Err(PluginError::Ended("the process of the plugins has ended".to_owned()));
        }
        self.message(deadline).map_err(|reason| PluginError::Ended(reason.unwrap_or_else(late_text)))
    }
}

/// Returns how a guest ended. A trap of the engine tells that it sent too much at once.
fn ending(outcome: &Outcome) -> String {
    match outcome.limit.map(|limit| limit.kind) {
        Some(LimitKind::HostMemory) => LARGE.to_owned(),
        _ => outcome_text(outcome),
    }
}

/// Returns the order for a worker to start, with the variables that a policy grants.
fn order(place: &PluginPlace, policy: &Policy) -> GuestOrder {
    let collections = std::env::join_paths(place.collections.iter().map(|folder| &folder.path)).unwrap_or_default();
    let environment = [
        ("ANSIBLE_NOCOLOR", "1".to_owned()),
        ("ANSIBLE_COLLECTIONS_PATH", collections.to_string_lossy().into_owned()),
        ("ANSIBLE_HOME", HOME.to_owned()),
        ("ANSIBLE_LOCAL_TEMP", format!("{HOME}/tmp")),
        ("HOME", HOME.to_owned()),
        ("LC_ALL", "C.UTF-8".to_owned()),
        ("PATH", "/usr/local/bin:/usr/bin:/bin".to_owned()),
    ];
    let environment = environment.map(|(name, value)| (name.to_owned(), Value::from(value)));
    let granted = policy.env().iter().map(|grant| (grant.name.clone(), Value::from(grant.value.as_str())));
    let start = Dict::from_iter([
        ("host".to_owned(), Value::Dict(host_facts(None))),
        ("environment".to_owned(), Value::Dict(environment.into_iter().chain(granted).collect())),
        ("executable".to_owned(), "python3".into()),
    ]);
    let file = InputFile { name: "start.json".to_owned(), contents: encode_file(&start).into(), mode: 0o444 };
    let argv = ["python", "plugins", "/args/start.json"].map(str::to_owned).into();
    GuestOrder {
        program: WasmProgram { format: WasmFormat::Component, argv },
        files: vec![file],
        stdin: Vec::new(),
        directory: RunDirectory::ToMake(DirPurpose::Guest),
        policy: None,
    }
}

/// Returns the grants of a worker: those of its rights, and to read ansible-core and collections that did not come with the play.
fn readable(place: &PluginPlace, rights: &PluginRights) -> Policy {
    let mut policy = rights.policy().clone();
    let installed: Vec<PathBuf> = place.installed().into_iter().filter(|folder| folder.is_dir()).collect();
    let linked = installed.iter().flat_map(|folder| links(folder));
    let folders = std::iter::once(place.core.clone()).chain(installed.iter().cloned());
    let shown = folders.map(|folder| (folder.clone(), folder)).chain(linked);
    let is_free = |(path, _): &(PathBuf, PathBuf)| !policy.covers(path, Access::Read);
    let shown: Vec<_> = shown.filter(is_free).collect();
    for (path, target) in shown {
        if let Some(grant) = grant(&path, &target) {
            // The operator's own rules, and the play's files, go first.
            drop(policy.allow_path(grant));
        }
    }
    policy
}

/// Returns the grant to read a folder by a path.
fn grant(path: &Path, target: &Path) -> Option<PathGrant> {
    Some(PathGrant {
        host: target.canonicalize().ok()?,
        shape: Shape::Directory,
        guest: path.to_str()?.to_owned(),
        access: Access::Read,
        source: GrantSource::named("the packages of plugins"),
    })
}

//! Checks a command against the policy and runs it.

use std::ffi::OsString;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use modbox_cleanup::Cleanup;
use modbox_native::{
    NativeContext, NativeError, ProgramCommand, ProgramFailure, ProgramOutcome, RoomRequest, base, run_program,
};
use modbox_policy::run::{STANDARD_DIRECTORIES, denied, exactly};
use modbox_policy::{Access, Policy, normalize};
use modbox_scratch::{DirPurpose, ScratchRoot};
use modbox_vocabulary::{
    Capability, CommandEnd, CommandOutput, CommandRefusal, CommandRequest, CommandService, Denial, Exit, LimitKind,
    Limits, Operation, Outcome, error_chain,
};
use modbox_worker::Workers;

use crate::execution::commands::guest_commands_outside::{CommandsOutside, Tried};
use crate::execution::commands::shared_temporary::{TMP, grant_in_tmp, real_path};
use crate::grants::native;
use crate::home;
use crate::programs::ProgramNeeds;
use crate::runner::config::RunnerConfig;

/// Runner of the commands that a policy grants.
pub(crate) struct CommandRunner {
    policy: Policy,
    most: Limits,
    directory: PathBuf,
    /// The directory of the guest's worker, or of its run.
    own: PathBuf,
    environment: Vec<(OsString, OsString)>,
    /// Home of the user whose commands they are.
    home: Option<PathBuf>,
    workers: Option<Workers>,
    scratch: ScratchRoot,
    cleanup: Cleanup,
    /// The commands that run outside, if the policy grants some.
    outside: Option<CommandsOutside>,
}

impl CommandRunner {
    /// Makes the runner of the commands of a run. `own` is the directory of the guest's worker, or of its run; `cleanup` ends
    /// the commands that are running.
    pub(crate) fn new(
        config: &RunnerConfig,
        (policy, most): (&Policy, &Limits),
        own: &Path,
        cleanup: &Cleanup,
    ) -> Self {
        Self {
            policy: policy.clone(),
            most: *most,
            directory: config.directory.clone(),
            own: own.to_owned(),
            environment: match policy.allows_everything() {
                true => native::whole_environment(&config.environment, policy),
                false => Vec::new(),
            },
            home: home::of_run(&config.environment, policy),
            workers: config.workers.clone(),
            scratch: ScratchRoot::new(&config.temp_dir, cleanup.clone()),
            cleanup: cleanup.clone(),
            outside: None,
        }
    }

    /// Returns the runner, which also runs commands outside.
    pub(crate) fn with_outside(self, outside: Option<CommandsOutside>) -> Self {
        Self { outside, ..self }
    }

    /// Ends what starts commands outside, and adds to an outcome what is known of them.
    pub(crate) fn finish(&self, outcome: &mut Outcome) {
        self.outside.iter().for_each(|outside| outside.finish(outcome));
    }

    /// Returns the output of a command that ran outside; else the denial, if rules are for its program.
    fn try_outside(
        &self,
        request: &CommandRequest,
        stdin: &[u8],
        guest: Option<BorrowedFd<'_>>,
    ) -> Result<Result<CommandOutput, Option<Denial>>, CommandRefusal> {
        let Some(outside) = &self.outside else { return Ok(Err(None)) };
        Ok(match outside.run(request, stdin, (self.workers.as_ref(), &self.most), guest)? {
            Tried::Ended(output) => Ok(*output),
            Tried::Other => Err(None),
            Tried::NotCovered(denial) => Err(Some(denial)),
        })
    }

    /// Returns the program that a granted command starts, and the files that it needs.
    fn program(&self, request: &CommandRequest) -> Result<(PathBuf, Vec<PathBuf>), CommandRefusal> {
        if self.policy.allows_everything() {
            return Ok((self.any_program(request)?, Vec::new()));
        }
        let granted = self.policy.run_grant(&request.program, &request.arguments);
        let program = granted.and_then(|grant| grant.program());
        let program = program.ok_or_else(|| denied(&request.program, &request.arguments))?;
        let needs = ProgramNeeds::of(program, &self.policy);
        if let Some(grant) = needs.changed_by(&self.policy) {
            return Err(CommandRefusal::Failed(format!(
                "the program `{}` is not run, since `{}` is granted by {}: the module could put another in its place, or in \
                 that of its interpreter or a library",
                program.display(),
                grant.guest,
                grant.source
            )));
        }
        Ok((program.to_owned(), needs.into_reads()))
    }

    /// Looks a program up in PATH, for a module that is granted everything.
    fn any_program(&self, request: &CommandRequest) -> Result<PathBuf, CommandRefusal> {
        let program = Path::new(&request.program);
        if request.program.contains('/') {
            return Ok(self.directory.join(program));
        }
        let path = self.environment.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.clone());
        let path = path.unwrap_or_else(|| STANDARD_DIRECTORIES.join(":").into());
        let found = std::env::split_paths(&path).map(|directory| self.directory.join(directory).join(program));
        found.into_iter().find(|path| path.is_file()).ok_or(CommandRefusal::NotFound)
    }

    /// Returns the variables of a command: the granted ones, with those that the module sets in addition.
    fn variables(&self, request: &CommandRequest) -> Result<Vec<(OsString, OsString)>, CommandRefusal> {
        let all = self.policy.allows_everything();
        let mut variables = if all { self.environment.clone() } else { native::environment(&self.policy) };
        for (name, value) in &request.environment {
            if name.is_empty() || name.contains('=') {
                return Err(CommandRefusal::Failed(format!("`{name}` is not a valid name of a variable")));
            }
            let granted = all || is_harmless(name) || self.policy.env().iter().any(|grant| grant.name == *name);
            if !granted {
                // The denial omits the value, which may be secret; a grant allows the module to set one.
                let allow = format!("--allow-env {}", exactly(&format!("{name}="), &[]));
                let (capability, subject) = (Capability::Env, name.clone());
                return Err(CommandRefusal::Denied(Denial { capability, subject, operation: Operation::Run, allow }));
            }
            variables.retain(|(other, _)| other != name.as_str());
            variables.push((name.into(), value.into()));
        }
        Ok(variables)
    }

    /// Returns the directory in which a command starts; `None` if the module leaves it open.
    fn start_directory(&self, request: &CommandRequest) -> Result<Option<PathBuf>, CommandRefusal> {
        let Some(written) = &request.directory else { return Ok(None) };
        if self.policy.allows_everything() {
            return Ok(Some(self.directory.join(written)));
        }
        if !Path::new(written).is_absolute() {
            return Err(CommandRefusal::Failed(format!("the directory `{written}` is not an absolute path")));
        }
        let path = normalize(Path::new(written));
        let own = [Path::new("/"), Path::new(TMP)].contains(&path.as_path());
        if !own && !base::paths().any(|base| path.starts_with(base)) && !self.policy.covers(&path, Access::Read) {
            let allow = format!("--allow-read {}", exactly(written, &[]));
            let (capability, subject) = (Capability::Read, written.clone());
            return Err(CommandRefusal::Denied(Denial { capability, subject, operation: Operation::Run, allow }));
        }
        Ok(Some(path))
    }

    /// Returns the directory that the command shares with its guest as `/tmp`, if it shares one, and a note for the operator
    /// if the guest has files there that the command does not see.
    fn shared_temporary(&self, request: &CommandRequest) -> Result<(Option<PathBuf>, Option<String>), CommandRefusal> {
        let Some(named) = request.temporary.as_ref().filter(|_| !self.policy.allows_everything()) else {
            return Ok((None, None));
        };
        let foreign = || CommandRefusal::Failed("the module's `/tmp` is not in its own directory".to_owned());
        let path = real_path(&self.own, named).ok_or_else(foreign)?;
        match grant_in_tmp(&self.policy) {
            None => Ok((Some(path), None)),
            Some(grant) => {
                let has_files = path.read_dir().is_ok_and(|mut entries| entries.next().is_some());
                let note = format!(
                    "commands do not see the module's files in `{TMP}`, since `{}`, which {} grants, lies there",
                    grant.guest, grant.source
                );
                Ok((None, has_files.then_some(note)))
            }
        }
    }

    fn context(
        &self,
        readable: Vec<PathBuf>,
        temporary: Option<PathBuf>,
        environment: Vec<(OsString, OsString)>,
    ) -> Result<NativeContext, CommandRefusal> {
        let missing = || CommandRefusal::Failed("there is no modbox program to start commands by".to_owned());
        let confine = (!self.policy.allows_everything()).then(|| RoomRequest {
            policy: native::enforceable(&self.policy),
            least: self.policy.least_confinement().map_or(modbox_kernel::DEFAULT_LEAST, |least| least.level),
            kept: false,
            readable,
            temporary,
            home: self.home.clone(),
            reports_reads: false,
            observed: false,
            outside: None,
        });
        Ok(NativeContext {
            leaves_processes: false,
            workers: self.workers.clone().ok_or_else(missing)?,
            directory: self.directory.clone(),
            environment,
            room_variables: None,
            confine,
            user: self.policy.user().cloned(),
            cleanup: self.cleanup.clone(),
        })
    }
}

impl CommandService for CommandRunner {
    fn run(
        &self,
        request: &CommandRequest,
        stdin: &[u8],
        guest: Option<BorrowedFd<'_>>,
    ) -> Result<CommandOutput, CommandRefusal> {
        let variables = request.environment.iter().flat_map(|(name, value)| [name, value]);
        let words = request.arguments.iter().chain([&request.program]).chain(&request.directory).chain(variables);
        if words.into_iter().any(|word| word.contains('\0')) {
            return Err(CommandRefusal::Failed("a word of the command has a NUL byte in it".to_owned()));
        }
        let not_outside = match self.try_outside(request, stdin, guest)? {
            Ok(output) => return Ok(output),
            Err(denial) => denial,
        };
        let (program, readable) = match (self.program(request), not_outside) {
            // What the rules for this program lack, and not a grant for the sandbox, in which it changes nothing.
            (Err(CommandRefusal::Denied(_)), Some(denial)) => return Err(CommandRefusal::Denied(denial)),
            (found, _) => found?,
        };
        let (temporary, note) = self.shared_temporary(request)?;
        let context = self.context(readable, temporary, self.variables(request)?)?;
        let command = ProgramCommand {
            argv: [&request.program].into_iter().chain(&request.arguments).map(OsString::from).collect(),
            directory: self.start_directory(request)?,
            umask: request.umask,
            stdin: stdin.to_vec(),
            program,
        };
        let limits = bounded(&request.limits, &self.most);
        let failed = |error: &dyn std::error::Error| CommandRefusal::Failed(error_chain(error));
        let scratch = self.scratch.create(DirPurpose::Run, self.policy.user()).map_err(|error| failed(&error))?;
        tracing::debug!(program = %command.program.display(), "a command starts");
        match run_program(&context, &command, scratch.path(), &limits) {
            Ok(mut ended) => {
                ended.outcome.notes.extend(note);
                Ok(output(ended))
            }
            Err(error) => Err(match error.not_started() {
                Some(ProgramFailure::NoProgram) => CommandRefusal::NotFound,
                Some(ProgramFailure::NotExecutable) => CommandRefusal::NotExecutable,
                Some(ProgramFailure::NoDirectory) => CommandRefusal::NoDirectory,
                Some(ProgramFailure::TooLong) => CommandRefusal::TooLong,
                None => match &error {
                    NativeError::Unconfined(reached) => {
                        let why = reached.missing.join("; ");
                        CommandRefusal::Failed(format!("the kernel confines commands less than is asked for: {why}"))
                    }
                    error => failed(error),
                },
            }),
        }
    }
}

/// Returns whether a variable only sets a program's language or time zone, and so cannot choose code to run.
fn is_harmless(name: &str) -> bool {
    matches!(name, "LANG" | "LANGUAGE" | "TZ") || name.starts_with("LC_")
}

/// Returns the limits of a command: what is left of the run's, and never more than those of a whole run.
fn bounded(left: &Limits, most: &Limits) -> Limits {
    Limits {
        timeout: left.timeout.min(most.timeout),
        cpu_time: left.cpu_time.min(most.cpu_time),
        max_disk: left.max_disk.min(most.max_disk),
        max_tmp: left.max_tmp.min(most.max_tmp),
        max_files: left.max_files.min(most.max_files),
        ..*most
    }
}

fn output(ended: ProgramOutcome) -> CommandOutput {
    let ProgramOutcome { outcome, signal } = ended;
    let end = match (outcome.limit, outcome.exit, signal) {
        (Some(hit), _, _) if hit.kind == LimitKind::Wall => CommandEnd::TimedOut,
        (Some(hit), _, _) if !hit.kind.is_output() => CommandEnd::Limit(hit),
        (_, _, Some(signal)) => CommandEnd::Signalled(signal),
        (_, Exit::Code(code), None) => CommandEnd::Exited(code),
        (_, Exit::Trap { .. } | Exit::Killed, None) => CommandEnd::TimedOut,
    };
    let usage = outcome.usage;
    let mut notes = outcome.notes;
    if !outcome.survivors.is_empty() {
        notes.push(format!("a command left processes running, which ended with it: {}", outcome.survivors.join(", ")));
    }
    if let Some(first) = outcome.left_in_tmp.first() {
        notes.push(format!("a command left `{first}` in a `/tmp` of its own, which is gone with it"));
    }
    CommandOutput {
        end,
        stdout: outcome.stdout,
        stderr: outcome.stderr,
        cpu_time: Duration::from_micros(usage.cpu_us),
        memory_bytes: usage.memory_bytes,
        disk_bytes: usage.disk_bytes,
        files: usage.files,
        denials: outcome.denials,
        lost: outcome.lost,
        notes,
        paused: Duration::ZERO,
    }
}

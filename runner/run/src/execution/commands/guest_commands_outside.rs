//! Commands of a guest that run outside: which of its commands a rule may be for, the starter of its run, and what the guest sees
//! of the changes.

use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use modbox_cleanup::Cleanup;
use modbox_native::{
    GuestAnswer, GuestCommand, GuestCopies, GuestOutside, OutsideRecord, OutsideRequest, USUAL_VARIABLES,
};
use modbox_policy::outside::denied;
use modbox_policy::{PathGrant, Policy};
use modbox_scratch::RunDir;
use modbox_vocabulary::{
    CommandEnd, CommandOutput, CommandRefusal, CommandRequest, Denial, DenialLog, Limits, Outcome, error_chain,
};
use modbox_worker::Workers;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};

use crate::execution::commands::shared_temporary::place_below;

/// The variable of the language that a command has at least, as in a room.
const LANGUAGE: &str = "LANG";

/// Bits that new files of a command do not have if the guest names none.
const USUAL_UMASK: u32 = 0o022;

/// The commands outside of one run of a guest.
#[derive(Debug)]
pub(crate) struct CommandsOutside {
    policy: Policy,
    /// What the guest sees.
    seen: Vec<PathGrant>,
    request: OutsideRequest,
    /// Directory of copies of operands and of the machine's lists.
    _copies: Option<RunDir>,
    /// The guest's directory.
    own: PathBuf,
    cleanup: Cleanup,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// The starter, once a command may go outside.
    starter: Option<GuestOutside>,
    shown: Option<GuestCopies>,
}

/// The answer to a command.
#[derive(Debug)]
pub(crate) enum Tried {
    /// It ran outside, or a rule covers it and something else stood against it.
    Ended(Box<CommandOutput>),
    /// No rule is for its program.
    Other,
    /// Rules are for its program, and none covers it.
    NotCovered(Denial),
}

impl CommandsOutside {
    /// Makes the commands outside of a run. `seen` is what the guest sees, and `shown` are copies among it.
    pub(crate) fn new(
        (policy, seen): (&Policy, &[PathGrant]),
        (request, copies): (OutsideRequest, Option<RunDir>),
        shown: Option<GuestCopies>,
        own: &Path,
        cleanup: &Cleanup,
    ) -> Self {
        Self {
            policy: policy.clone(),
            seen: seen.to_vec(),
            request,
            _copies: copies,
            own: own.to_owned(),
            cleanup: cleanup.clone(),
            state: Mutex::new(State { starter: None, shown }),
        }
    }

    /// Runs a command outside if a rule covers it.
    ///
    /// # Errors
    ///
    /// The command cannot be passed on.
    pub(crate) fn run(
        &self,
        request: &CommandRequest,
        stdin: &[u8],
        (workers, limits): (Option<&Workers>, &Limits),
        guest: Option<BorrowedFd<'_>>,
    ) -> Result<Tried, CommandRefusal> {
        let Some(program) = self.policy.program_outside(&request.program) else { return Ok(Tried::Other) };
        let failed = |error: &dyn std::error::Error| CommandRefusal::Failed(error_chain(error));
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let State { starter, shown } = &mut *state;
        if starter.is_none() {
            let missing = || CommandRefusal::Failed("there is no modbox program to start commands by".to_owned());
            let workers = workers.ok_or_else(missing)?;
            let started =
                GuestOutside::start(workers, &self.policy, &self.seen, &self.request, &self.own, &self.cleanup);
            *starter = Some(started.map_err(|error| failed(&error))?);
        }
        let Some(starter) = starter else { return Ok(Tried::Other) };
        let variables = self.variables(request);
        let command = GuestCommand {
            program: &program,
            arguments: &request.arguments,
            variables: &variables,
            umask: request.umask.unwrap_or(USUAL_UMASK),
            stdin,
            temporary: self.temporary(request)?,
            patience: request.patience,
            max_output: limits.max_output,
            guest,
        };
        match starter.run(command).map_err(|error| failed(&error))? {
            GuestAnswer::NotCovered => {
                Ok(Tried::NotCovered(denied(program.as_os_str().as_encoded_bytes(), &request.arguments)))
            }
            GuestAnswer::Ended { end, stdout, stderr, took } => {
                if let Some(shown) = shown {
                    shown.refresh();
                }
                Ok(Tried::Ended(Box::new(output(end, (stdout, stderr), took))))
            }
        }
    }

    /// Returns the variables of a command: the language that it has at least, unless the policy grants another, and those of the
    /// guest.
    fn variables(&self, request: &CommandRequest) -> Vec<(String, String)> {
        let is_granted = self.policy.env().iter().any(|grant| grant.name == LANGUAGE);
        let usual = USUAL_VARIABLES.iter().filter(|(name, _)| *name == LANGUAGE && !is_granted);
        let usual = usual.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        usual.chain(request.environment.iter().cloned()).collect()
    }

    /// Opens the guest's `/tmp`. A guest that has taken over its worker can name any directory, and put links into its own.
    fn temporary(&self, request: &CommandRequest) -> Result<OwnedFd, CommandRefusal> {
        let foreign = || CommandRefusal::Failed("the module's `/tmp` is not in its own directory".to_owned());
        let below = request.temporary.as_deref().and_then(|path| place_below(&self.own, path)).ok_or_else(foreign)?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let own = rustix::fs::openat2(CWD, &self.own, flags, Mode::empty(), ResolveFlags::empty());
        let below = if below.as_os_str().is_empty() { Path::new(".") } else { below };
        let within = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        own.and_then(|own| rustix::fs::openat2(own, below, flags, Mode::empty(), within)).map_err(|_| foreign())
    }

    /// Ends the starter, and adds to an outcome what is known of the commands. Their denials come first, since a worker cannot
    /// leave them out.
    pub(crate) fn finish(&self, outcome: &mut Outcome) {
        let starter = self.state.lock().unwrap_or_else(PoisonError::into_inner).starter.take();
        let Some(OutsideRecord { runs, denials, notes }) = starter.map(GuestOutside::finish) else { return };
        let mut all = DenialLog::of_observer(denials, false);
        all.extend(std::mem::take(&mut outcome.denials));
        outcome.denials = all;
        outcome.outside = runs;
        outcome.notes.extend(notes);
    }
}

fn output(
    end: CommandEnd,
    (stdout, stderr): (modbox_vocabulary::CapturedOutput, modbox_vocabulary::CapturedOutput),
    paused: Duration,
) -> CommandOutput {
    CommandOutput {
        end,
        stdout,
        stderr,
        cpu_time: Duration::ZERO,
        memory_bytes: 0,
        disk_bytes: 0,
        files: 0,
        denials: DenialLog::default(),
        lost: Vec::new(),
        notes: Vec::new(),
        paused,
    }
}

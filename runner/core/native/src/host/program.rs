//! Runs one program with its arguments instead of a shell command: in the same room, by the same launcher, under the
//! same limits. Without a shell, arguments reach the program verbatim.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use modbox_vocabulary::{Exit, Limits, Outcome};

use crate::error::NativeError;
use crate::host::context::NativeContext;
use crate::host::files;
use crate::host::started::{RunningModule, spec};
use crate::processes::stdin::StdinSource;
use crate::protocol::{Spec, Start};
use crate::step::Step;

/// Program with its arguments, working directory and input.
#[derive(Debug, Clone)]
pub struct ProgramCommand {
    /// Absolute path of the program.
    pub program: PathBuf,
    /// Arguments; the first is the name under which the program is called.
    pub argv: Vec<OsString>,
    /// Working directory, as a path in the room. `None` is the directory in which a module would start.
    pub directory: Option<PathBuf>,
    /// Umask of the program. `None` is the umask of this process.
    pub umask: Option<u32>,
    /// Standard input.
    pub stdin: Vec<u8>,
}

/// End of a program.
#[derive(Debug, Clone)]
pub struct ProgramOutcome {
    /// Outcome of the run.
    pub outcome: Outcome,
    /// Signal that ended the program; [`Exit`] does not tell it from an exit status.
    pub signal: Option<i32>,
}

/// Reason why a program was not started, as far as the caller can fix it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgramFailure {
    /// The program does not exist.
    NoProgram,
    /// The program may not be executed.
    NotExecutable,
    /// The working directory does not exist, or is not a directory.
    NoDirectory,
    /// The arguments are too long.
    TooLong,
}

/// Runs a program to its end. `tmpdir` is as for [`run`](crate::run).
///
/// # Errors
///
/// Returns [`NativeError`] for every failure that the program did not cause. All processes are gone then, too.
pub fn run_program(
    cx: &NativeContext,
    command: &ProgramCommand,
    tmpdir: &Path,
    limits: &Limits,
) -> Result<ProgramOutcome, NativeError> {
    let start = Start::Program { path: command.program.clone(), argv: command.argv.clone() };
    let mut spec =
        Spec { has_stdin: !command.stdin.is_empty(), umask: command.umask, ..spec(cx, start, tmpdir, limits)? };
    if let Some(directory) = &command.directory {
        (spec.directory, spec.only_there) = (directory.clone().into_os_string(), true);
    }
    let started = RunningModule::new(cx, files::open(tmpdir)?, spec, StdinSource::Bytes(&command.stdin))?;
    let (outcome, signal, _leaving) = started.finish_program(limits)?;
    let signal = signal
        .filter(|_| matches!(outcome.exit, Exit::Code(_)) && outcome.limit.is_none_or(|hit| hit.kind.is_output()));
    Ok(ProgramOutcome { outcome, signal })
}

impl NativeError {
    /// Returns whether the program itself could not be started, such as a file of another machine's programs.
    #[must_use]
    pub fn is_of_program(&self) -> bool {
        matches!(self, Self::Launch { step: Step::Program, .. })
    }

    /// Returns the reason why a program was not started, if the caller can fix it.
    #[must_use]
    pub fn not_started(&self) -> Option<ProgramFailure> {
        let Self::Launch { step, source, .. } = self else { return None };
        match (step, source.raw_os_error()?) {
            (Step::Program, libc::ENOENT) => Some(ProgramFailure::NoProgram),
            (Step::Program, libc::EACCES) => Some(ProgramFailure::NotExecutable),
            (Step::Program, libc::E2BIG) => Some(ProgramFailure::TooLong),
            (Step::Directory, libc::ENOENT | libc::ENOTDIR) => Some(ProgramFailure::NoDirectory),
            _ => None,
        }
    }
}

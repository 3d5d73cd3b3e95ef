//! Runs one program with its arguments, instead of a command for the shell: in the same room, by the same launcher, under the
//! same limits. There is no shell, so that words reach the program as they are.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use modbox_vocabulary::{Exit, Limits, Outcome};

use crate::protocol::{Spec, Start, Step};
use crate::started::{Started, spec};
use crate::{NativeContext, NativeError, files};

/// A program and all that it is told.
#[derive(Debug, Clone)]
pub struct ProgramCommand {
    /// What is started. Absolute.
    pub program: PathBuf,
    /// Its arguments, the name under which it is called first.
    pub argv: Vec<OsString>,
    /// Where it starts, as it is seen in the room; where a module would start, without.
    pub directory: Option<PathBuf>,
    /// The permissions that its files are not given; those of this process, without.
    pub umask: Option<u32>,
    /// What it reads.
    pub stdin: Vec<u8>,
}

/// How a program ended.
#[derive(Debug, Clone)]
pub struct ProgramOutcome {
    /// What was seen.
    pub outcome: Outcome,
    /// The signal that ended it, which [`Exit`] does not tell from a status.
    pub signal: Option<i32>,
}

/// Why a program was not started, as far as whoever asked for it can do something about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotStarted {
    /// It is not there.
    NoProgram,
    /// It may not be executed.
    NotExecutable,
    /// The directory to start in is not there, or is none.
    NoDirectory,
    /// The words are too long.
    TooLong,
}

/// Runs a program to its end, however it ends. `tmpdir` is as for [`run`](super::run).
///
/// # Errors
///
/// [`NativeError`], for everything that is not the program's doing. All processes are gone then, too.
pub fn run_program(
    cx: &NativeContext,
    command: &ProgramCommand,
    tmpdir: &Path,
    limits: &Limits,
) -> Result<ProgramOutcome, NativeError> {
    let start = Start::Program { path: command.program.clone(), argv: command.argv.clone() };
    let mut spec =
        Spec { has_stdin: !command.stdin.is_empty(), umask: command.umask, ..spec(cx, start, tmpdir, limits) };
    if let Some(directory) = &command.directory {
        (spec.directory, spec.only_there) = (directory.clone().into_os_string(), true);
    }
    let started = Started::new(cx, files::open(tmpdir)?, spec, &command.stdin)?;
    let (outcome, signal, _leaving) = started.finish_program(limits)?;
    let signal = signal
        .filter(|_| matches!(outcome.exit, Exit::Code(_)) && outcome.limit.is_none_or(|hit| hit.kind.is_output()));
    Ok(ProgramOutcome { outcome, signal })
}

impl NativeError {
    /// Returns what kept a program from starting, if it is one of these.
    #[must_use]
    pub fn not_started(&self) -> Option<NotStarted> {
        let Self::Launch { step, source, .. } = self else { return None };
        match (step, source.raw_os_error()?) {
            (Step::Program, libc::ENOENT) => Some(NotStarted::NoProgram),
            (Step::Program, libc::EACCES) => Some(NotStarted::NotExecutable),
            (Step::Program, libc::E2BIG) => Some(NotStarted::TooLong),
            (Step::Directory, libc::ENOENT | libc::ENOTDIR) => Some(NotStarted::NoDirectory),
            _ => None,
        }
    }
}

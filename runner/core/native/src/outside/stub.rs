//! The process that stands for a program in a room: asks for the command outside, waits, and ends as the command did.
//!
//! It runs in the room, with the rights of the module, and decides nothing.

use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::fs::Mode;
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, Signal};

use crate::outside::answer::{Answer, CALL};
use crate::outside::paths::{STUB_WORD, real_program};

/// Exit status of a stub whose command was not started, as a shell has it for a program that cannot be started.
pub(crate) const NOT_STARTED: u8 = 126;

/// Variables of languages and times, beside those whose names begin with `LC_`.
pub(crate) const LANGUAGE_VARIABLES: [&str; 3] = ["LANG", "LANGUAGE", "TZ"];

/// How a stub ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StubEnd {
    /// The exit status.
    pub status: u8,
    /// What it says on standard error.
    pub message: Option<String>,
}

/// Runs a stub if the first argument makes this process one. `argv` is the whole command line: the interpreter of the script, its
/// argument, the script, and the arguments of the program. `variables` is the environment.
pub fn run(argv: &[OsString], variables: impl IntoIterator<Item = (OsString, OsString)>) -> Option<StubEnd> {
    let [_, word, _script, arguments @ ..] = argv else { return None };
    let rest = word.as_bytes().strip_prefix(STUB_WORD.as_bytes())?;
    let colon = rest.iter().position(|byte| *byte == b':')?;
    let number = str::from_utf8(&rest[..colon]).ok()?.parse().ok()?;
    let program = PathBuf::from(OsString::from_vec(rest[colon + 1..].to_vec()));
    Some(ended(number, &program, arguments, variables))
}

fn ended(
    number: usize,
    program: &Path,
    arguments: &[OsString],
    variables: impl IntoIterator<Item = (OsString, OsString)>,
) -> StubEnd {
    let plain = |status| StubEnd { status, message: None };
    let failed = |why: &str, status| {
        let message = Some(format!("modbox: {}: {why}", program.display()));
        StubEnd { status, message }
    };
    let umask = rustix::process::umask(Mode::empty());
    rustix::process::umask(umask);
    match ask(program, arguments, variables, umask) {
        Answer::Exit(status) => plain(status),
        Answer::Signal(signal) => plain(end_by(signal)),
        Answer::Inside => {
            let Err(error) = run_inside(number, program, arguments);
            let status = if error.kind() == std::io::ErrorKind::NotFound { 127 } else { NOT_STARTED };
            failed(&error.to_string(), status)
        }
        Answer::NotStarted(errno) => {
            let message = Some(not_started(program, Errno::from_raw_os_error(errno)));
            StubEnd { status: NOT_STARTED, message }
        }
    }
}

/// Returns what is said on standard error of a command that was not started.
pub(crate) fn not_started(program: &Path, errno: Errno) -> String {
    format!("modbox: {}: not started outside of the sandbox: {}", program.display(), reason(errno))
}

/// Says in words why a command was not started. The notes of the report have more.
fn reason(errno: Errno) -> String {
    match errno {
        Errno::AGAIN => "too many commands run at once".to_owned(),
        Errno::TOOBIG => "the command is too long".to_owned(),
        Errno::DQUOT => "the module has asked for too many commands".to_owned(),
        Errno::ROFS => "the module could change the program, or a file that the command names".to_owned(),
        Errno::PIPE => "the process that starts such commands is gone".to_owned(),
        errno => errno.to_string(),
    }
}

/// Joins texts, each with a NUL byte at its end.
fn joined<'t>(texts: impl IntoIterator<Item = &'t OsStr>) -> Vec<u8> {
    texts.into_iter().flat_map(|text| [text.as_bytes(), b"\0"].concat()).collect()
}

fn ask(
    program: &Path,
    arguments: &[OsString],
    variables: impl IntoIterator<Item = (OsString, OsString)>,
    umask: Mode,
) -> Answer {
    let words = joined(std::iter::once(program.as_os_str()).chain(arguments.iter().map(OsString::as_os_str)));
    let is_told = |(name, _): &(OsString, OsString)| {
        LANGUAGE_VARIABLES.iter().any(|told| name == told) || name.as_bytes().starts_with(b"LC_")
    };
    let variables: Vec<OsString> =
        variables.into_iter().filter(is_told).map(|(name, value)| [name, value].join(OsStr::new("="))).collect();
    let variables = joined(variables.iter().map(OsString::as_os_str));
    Answer::of_value(call(&words, &variables, umask))
}

#[expect(unsafe_code, reason = "no library makes a call that no kernel has")]
fn call(words: &[u8], variables: &[u8], umask: Mode) -> Result<i64, Errno> {
    // SAFETY: the filter of a room reports the call, and it is not made; what answers it reads as many bytes as the lengths say,
    // and writes nothing. A kernel that has the call, outside of a room, takes the first argument for a number and fails.
    let value = unsafe {
        libc::syscall(
            CALL as libc::c_long,
            words.as_ptr(),
            words.len(),
            variables.as_ptr(),
            variables.len(),
            umask.bits() as libc::c_ulong,
        )
    };
    if value < 0 { Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)) } else { Ok(value) }
}

/// Starts the real program in the room, in the place of this process.
fn run_inside(number: usize, program: &Path, arguments: &[OsString]) -> Result<Infallible, std::io::Error> {
    #[expect(clippy::disallowed_methods, reason = "the module has started this program, in the same room")]
    Err(Command::new(real_program(number, program)).arg0(program).args(arguments).exec())
}

/// Ends this process by a signal, without a core file. Returns the exit status of a shell if it lives on.
fn end_by(signal: u8) -> u8 {
    let _ = rustix::process::setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
    if let Some(named) = Signal::from_named_raw(signal.into()) {
        die_of(named);
    }
    128_u8.saturating_add(signal)
}

#[expect(unsafe_code, reason = "no safe wrapper sets the default action of a signal, or unblocks it")]
fn die_of(signal: Signal) {
    let number = signal.as_raw();
    // SAFETY: the default action runs nothing of this program; the set is initialised by `sigemptyset` before it is used.
    unsafe {
        libc::signal(number, libc::SIG_DFL);
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, number);
        libc::sigprocmask(libc::SIG_UNBLOCK, &raw const set, std::ptr::null_mut());
    }
    let _ = rustix::process::kill_process(rustix::process::getpid(), signal);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_command_lines_make_no_stub() {
        let words = |text: &str| text.split(' ').map(OsString::from).collect::<Vec<_>>();
        for line in [
            "modbox",
            "modbox run",
            "modbox run x y",
            "modbox __outside=x:/y /y",
            "modbox __outside=1 /y",
            "modbox __outside=0:/y",
        ] {
            assert!(run(&words(line), []).is_none(), "{line}");
        }
    }
}

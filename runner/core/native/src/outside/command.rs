//! Starts a command outside: as the task's user, with the streams of the process that asks and nothing else of it.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use modbox_kernel::starting_as;
use rustix::fs::Mode;

use crate::outside::environment;
use crate::outside::judge::JudgedCommand;
use crate::outside::messages::{Ask, OutsideSpec};

/// Bits that no file of a command has, whatever the module's umask is.
const LEAST_UMASK: u32 = 0o022;

/// Starts a command. The process has one thread, so its umask is for the child alone.
pub(crate) fn start(
    spec: &OutsideSpec,
    command: &JudgedCommand,
    ask: &Ask,
    streams: [Option<OwnedFd>; 3],
) -> io::Result<Child> {
    #[expect(clippy::disallowed_methods, reason = "the one place that starts commands outside")]
    let mut process = Command::new(&command.program);
    let [stdin, stdout, stderr] = streams.map(|stream| stream.map_or_else(Stdio::null, Stdio::from));
    let languages = environment::languages(&ask.variables);
    process
        .args(&command.arguments)
        .env_clear()
        .envs(
            spec.environment
                .iter()
                .filter(|variable| environment::is_variable(variable))
                .map(|(name, value)| (name, value)),
        )
        .envs(languages)
        .current_dir("/")
        .stdin(stdin)
        .stdout(stdout)
        .stderr(stderr)
        // A signal for the group of another command does not reach it.
        .process_group(0);
    let umask = rustix::process::umask(Mode::from_raw_mode((ask.umask & 0o777) | LEAST_UMASK));
    let started = starting_as(spec.user.as_ref(), || process.spawn());
    rustix::process::umask(umask);
    started?
}

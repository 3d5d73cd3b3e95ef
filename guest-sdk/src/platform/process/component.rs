//! Programs for a component on a host that implements `modbox:host/process`, as modbox does.

use std::path::{Path, PathBuf};

use modbox_host::process::{self, Command, Error, Output};

use crate::platform::process::program::{Ending, NotRun, ProgramOutput, Request};

pub(crate) const AVAILABLE: bool = true;

/// Error numbers of Linux.
const ENOENT: i32 = 2;
const E2BIG: i32 = 7;
const EACCES: i32 = 13;

pub(crate) fn run(request: &Request) -> Result<ProgramOutput, NotRun> {
    let Some((program, arguments)) = request.words.split_first() else {
        return Err(NotRun::System(Some(ENOENT), "the command is empty".to_owned()));
    };
    if request.path_prefix.is_some() {
        return Err(NotRun::Policy(
            "`path_prefix` is not supported in a sandbox: the host's policy looks up programs".to_owned(),
        ));
    }
    let directory = request.directory.as_ref().map(|directory| directory.to_string_lossy().into_owned());
    let command = Command {
        program: absolute(program, directory.as_deref()),
        arguments: arguments.to_vec(),
        environment: request.environment.clone(),
        directory,
        input: request.input.clone(),
        umask: request.umask,
        timeout: request.timeout.map(|timeout| u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX)),
    };
    let Output { ending, stdout, stderr } = process::run(&command).map_err(not_run)?;
    let cut = [&stdout, &stderr].iter().any(|stream| stream.length > stream.bytes.len() as u64);
    let ending = match ending {
        process::Ending::Exited(status) => Ending::Exited(status.into()),
        process::Ending::Signalled(signal) => Ending::Signalled(signal.into()),
        process::Ending::TimedOut => Ending::TimedOut,
        process::Ending::Limit(limit) => Ending::Limit(limit),
    };
    Ok(ProgramOutput { ending, stdout: stdout.bytes, stderr: stderr.bytes, cut })
}

/// Returns the absolute path of a program that is named relative to the working directory: policies name only absolute
/// paths.
fn absolute(program: &str, directory: Option<&str>) -> String {
    match directory {
        Some(directory) if program.contains('/') && !program.starts_with('/') => {
            let path = Path::new(directory).join(program);
            path.components().collect::<PathBuf>().to_string_lossy().into_owned()
        }
        _ => program.to_owned(),
    }
}

fn not_run(error: Error) -> NotRun {
    let system = |number, text: &str| NotRun::System(Some(number), text.to_owned());
    match error {
        Error::Denied(allow) => {
            NotRun::Policy(format!("it is not granted; allow it with `{allow}`, or in a policy file"))
        }
        Error::NotFound => system(ENOENT, "No such file or directory"),
        Error::NotExecutable => system(EACCES, "Permission denied"),
        Error::NoDirectory => system(ENOENT, "the working directory does not exist"),
        Error::TooLong => system(E2BIG, "Argument list too long"),
        Error::Failed(why) => NotRun::Policy(why),
    }
}

//! A component on a host that has `modbox:host/process`, as modbox has.

use std::path::{Path, PathBuf};

use modbox_host::process::{self, Command, Error, Output};

use crate::platform::process::program::{Ending, NotRun, Ran, Request};

pub(crate) const AVAILABLE: bool = true;

/// Numbers of Linux.
const ENOENT: i32 = 2;
const E2BIG: i32 = 7;
const EACCES: i32 = 13;

pub(crate) fn run(request: &Request) -> Result<Ran, NotRun> {
    let Some((program, arguments)) = request.words.split_first() else {
        return Err(NotRun::System(Some(ENOENT), "there is no command".to_owned()));
    };
    if request.path_prefix.is_some() {
        return Err(NotRun::Policy(
            "programs are looked for in the host's own directories, without a prefix".to_owned(),
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
    Ok(Ran { ending, stdout: stdout.bytes, stderr: stderr.bytes, cut })
}

/// A program that is named from where the command starts, by its absolute path: policies know no others.
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
        Error::NoDirectory => system(ENOENT, "the directory to start in is not there"),
        Error::TooLong => system(E2BIG, "Argument list too long"),
        Error::Failed(why) => NotRun::Policy(why),
    }
}

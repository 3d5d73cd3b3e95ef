//! The name `modbox-python`: a link to modbox, or a copy of it, with this name takes the place of Python for modules under
//! Ansible (`ansible_python_interpreter`).
//!
//! ansible-core gives an interpreter a program that unpacks and runs a module: as a file, or on standard input. modbox reads
//! the module, its imports and its arguments from that program, and runs the module under the policy files of this machine.
//! The program itself never runs. Of ansible-core's `async_wrapper` modbox only reads the name, and starts the job itself.
//! Every other use of an interpreter is refused.

pub(crate) mod job;
mod job_words;
mod program;
mod received_module;

use std::ffi::OsString;
use std::path::Path;

use self::job_words::JobWords;
use crate::cli::ansible::ansible_call;
use crate::cli::ansible::python_rule::NAME;
use crate::cli::context::Context;
use crate::cli::exit::{ExitStatus, Failure, OrExit};

/// Returns whether the program was started by the name.
pub(crate) fn is_named(argv: &[OsString]) -> bool {
    argv.first().and_then(|program| Path::new(program).file_name()).is_some_and(|name| name == NAME)
}

/// Runs the module that the first word names, or that arrives on standard input, and prints one line of JSON, also for a
/// failure.
pub(crate) fn run(context: &Context, words: &[OsString]) -> Result<ExitStatus, Failure> {
    let read = program::read(words).and_then(|text| program::parse(&text)).or_usage();
    let received = match read {
        Ok(received) => received,
        Err(failure) => return ansible_call::answer(context, Err(failure)),
    };
    match words {
        [_, rest @ ..] if !rest.is_empty() => match JobWords::parse(&received, rest).or_usage() {
            Ok(words) => job::start(context, &words),
            Err(failure) => ansible_call::answer(context, Err(failure)),
        },
        _ => ansible_call::answer(context, received_module::run(context, received, None)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_counts_wherever_the_program_lies() {
        for (program, expect) in
            [("/usr/local/bin/modbox-python", true), (NAME, true), ("modbox", false), ("python3", false)]
        {
            assert_eq!(is_named(&[program.into()]), expect, "{program}");
        }
    }
}

//! Judges a command that the module asks for: the starter's copy of the words, by the rules.

use std::ffi::OsString;
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use modbox_policy::outside::{self, Kind, Operand, OutsideCommand, check_settings, shown_command};
use modbox_vocabulary::{Denial, OutsideEnd, OutsideRun, error_chain};
use rustix::io::Errno;

use crate::outside::changeable::{changed_part, changed_program};
use crate::outside::inputs;
use crate::outside::messages::{Ask, OutsideSpec};

/// A command that may start.
#[derive(Debug)]
pub(crate) struct JudgedCommand {
    pub(crate) program: PathBuf,
    /// Its arguments, with the copies of files.
    pub(crate) arguments: Vec<OsString>,
    pub(crate) copies: Vec<PathBuf>,
    /// What reports say of the command. The end is not known yet.
    pub(crate) run: OutsideRun,
}

/// Why a command does not start outside.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// No rule covers it.
    NotCovered(Denial),
    /// A rule covers it, and something stands against it.
    NotStarted { errno: Errno, note: String },
}

/// Judges a command. `number` is that of the command, and `root` the directory that comes with an ask.
pub(crate) fn judge(
    spec: &OutsideSpec,
    ask: &Ask,
    number: u64,
    root: BorrowedFd<'_>,
) -> Result<JudgedCommand, Refusal> {
    let [program, arguments @ ..] = ask.words.as_slice() else {
        return Err(Refusal::NotStarted {
            errno: Errno::INVAL,
            note: "a command without words was asked for".to_owned(),
        });
    };
    let not_covered = || Refusal::NotCovered(outside::denied(program, arguments));
    let name = str::from_utf8(program).map_err(|_| not_covered())?;
    let covers = |grant| outside::OutsideGrant::covers(grant, name, arguments, &spec.user_name);
    let command = spec.grants.iter().find_map(covers).ok_or_else(not_covered)?;
    let shown = shown_command(name, arguments);
    check_paths(spec, &command)?;
    let words = arguments.iter().cloned().map(OsString::from_vec).collect();
    let mut judged = JudgedCommand {
        program: command.program.clone(),
        arguments: words,
        copies: Vec::new(),
        run: OutsideRun {
            command: shown,
            rule: command.grant.shown(),
            source: command.grant.source.clone(),
            user: spec.user_name.clone(),
            end: OutsideEnd::Left,
            wall_us: 0,
        },
    };
    match copy_inputs(spec, &command, number, root, &mut judged) {
        Ok(()) => Ok(judged),
        Err(refusal) => {
            remove(&judged.copies);
            Err(refusal)
        }
    }
}

/// Removes copies of files.
pub(crate) fn remove(copies: &[PathBuf]) {
    for copy in copies {
        if let Err(error) = std::fs::remove_file(copy) {
            tracing::debug!(copy = %copy.display(), %error, "failed to remove a copy");
        }
    }
}

/// Refuses a command whose program or operands the module could change.
fn check_paths(spec: &OutsideSpec, command: &OutsideCommand<'_>) -> Result<(), Refusal> {
    // The words may have secrets.
    let shown = command.program.display();
    let refused = |what: &str, part: &Path| {
        let note = format!(
            "`{shown}` was not started outside: the module may write `{}`, and could change {what}",
            part.display()
        );
        Refusal::NotStarted { errno: Errno::ROFS, note }
    };
    if let Some(part) = changed_program(&command.program, &spec.written) {
        return Err(refused("what the program does", &part));
    }
    for operand in command.paths() {
        if let Some(part) = changed_part(Path::new(&operand.value), &spec.written) {
            return Err(refused("what the argument names", &part));
        }
    }
    match command.files().next().and_then(|_| changed_part(&spec.inputs, &spec.written)) {
        Some(part) => Err(refused("the copies of its files; set TMPDIR to another directory", &part)),
        None => Ok(()),
    }
}

/// Replaces the files of the room among the operands by copies.
fn copy_inputs(
    spec: &OutsideSpec,
    command: &OutsideCommand<'_>,
    number: u64,
    root: BorrowedFd<'_>,
    judged: &mut JudgedCommand,
) -> Result<(), Refusal> {
    let user = spec.user.as_ref();
    for Operand { argument, at, kind, value } in command.files() {
        let refused = |why: String| {
            let note = format!(
                "`{}` was not started outside: its argument {}: {why}",
                command.program.display(),
                argument + 1
            );
            Refusal::NotStarted { errno: Errno::INVAL, note }
        };
        let bytes = spec.files.read(root, value, user).map_err(|error| refused(error_chain(&error)))?;
        if *kind == Kind::Settings {
            let machine = inputs::read_of_machine(value, user).map_err(|error| refused(error_chain(&error)))?;
            check_settings(&bytes, &machine, &command.grant.names).map_err(|line| refused(line.to_string()))?;
        }
        let copy = inputs::write(&spec.inputs, number, *argument, value, &bytes, user);
        let copy = copy.map_err(|error| refused(error_chain(&error)))?;
        let word = std::mem::take(&mut judged.arguments[*argument]).into_vec();
        let (before, after) = (&word[..*at], &word[at + value.len()..]);
        let with_copy = [before, copy.as_os_str().as_encoded_bytes(), after].concat();
        judged.arguments[*argument] = OsString::from_vec(with_copy);
        judged.copies.push(copy);
    }
    Ok(())
}

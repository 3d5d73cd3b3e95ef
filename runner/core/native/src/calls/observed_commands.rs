//! The commands of an observed module, with their words, and which of them a process belongs to.
//!
//! A process belongs to the command that it has started last, and a new process to that of its parent. A daemon, whose parents are
//! gone, belongs to the command that started the program with its words. The first program is the shell that starts the module, and
//! what that shell starts is the module itself. A number of a process that Linux uses again falsifies only the report.

use std::collections::{HashMap, VecDeque};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use modbox_kernel::ReportedCall;
use modbox_policy::{covering, find_user, setting_keys};
use modbox_vocabulary::{MODULE, ObservedCommand};
use rustix::fs::CWD;

use crate::caller::{call_arguments, memory};
use crate::kernel_file;

/// Maximum number of commands; more are counted.
const MAX_COMMANDS: usize = 512;

/// Maximum number of words of a command, and of the bytes of all of them.
const MAX_WORDS: usize = 1024;
const MAX_BYTES: usize = 32 << 10;

/// Maximum number of processes that are remembered.
const MAX_PROCESSES: usize = 1 << 16;

/// Maximum number of programs that are remembered for daemons; the last ones are.
const MAX_STARTED: usize = 256;

/// How many parents are asked for the command of a process.
const MAX_DEPTH: usize = 32;

/// Upper bounds of files that are read.
const MAX_STATUS: u64 = 16 << 10;
const MAX_SETTINGS: u64 = 64 << 10;

const SET_ID: u32 = 0o6000;
const READABLE: u32 = 0o004;

/// What a process runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Running {
    /// Nothing yet.
    Nothing,
    /// The shell that starts the module.
    Shell,
    /// The module, or the command with this number.
    Command(u32),
}

/// The commands of a module.
#[derive(Debug)]
pub(crate) struct ObservedCommands {
    commands: Vec<ObservedCommand>,
    /// Commands that are not listed.
    omitted: u64,
    processes: HashMap<u32, Running>,
    /// The words of the programs that were started last, with what they belong to.
    started: VecDeque<(Vec<String>, Running)>,
    /// Whether a shell starts the module.
    by_shell: bool,
    user: String,
}

impl ObservedCommands {
    /// `by_shell`: the first program is a shell that starts the module.
    pub(crate) fn new(by_shell: bool, uid: u32) -> Self {
        let user = find_user(&uid.to_string()).ok().flatten().map_or_else(|| uid.to_string(), |user| user.name);
        Self { commands: Vec::new(), omitted: 0, processes: HashMap::new(), started: VecDeque::new(), by_shell, user }
    }

    /// Returns the number of the command that a process belongs to; `None` if a profile covers the command, so that nothing that it
    /// does is recorded, and for the shell that starts the module.
    pub(crate) fn of(&mut self, report: &ReportedCall) -> Option<u32> {
        let process = call_arguments::process_of(report.thread).unwrap_or(report.thread);
        match self.running(process) {
            Running::Nothing | Running::Shell => None,
            Running::Command(number) => (!self.is_covered(number)).then_some(number),
        }
    }

    /// Notes a call that starts a program.
    pub(crate) fn start(&mut self, report: &ReportedCall, (directory, path, words): (Option<usize>, usize, usize)) {
        let process = call_arguments::process_of(report.thread).unwrap_or(report.thread);
        let running = self.running(process);
        let Some(program) = program(report, directory, path) else { return };
        let now = match running {
            Running::Nothing if self.by_shell => Running::Shell,
            Running::Nothing | Running::Shell => Running::Command(MODULE),
            Running::Command(by) => {
                let words = words_of(report, words);
                let now = if self.is_covered(by) { running } else { self.add(by, &program, words.clone(), report) };
                self.started.push_back((words, now));
                if self.started.len() > MAX_STARTED {
                    drop(self.started.pop_front());
                }
                now
            }
        };
        self.remember(process, now);
    }

    fn add(&mut self, by: u32, program: &Path, words: Vec<String>, report: &ReportedCall) -> Running {
        if self.commands.len() >= MAX_COMMANDS {
            self.omitted += 1;
            return Running::Command(by);
        }
        let number = u32::try_from(self.commands.len() + 1).unwrap_or(u32::MAX);
        let shown = program.display().to_string();
        let arguments = words.get(1..).unwrap_or_default();
        let covered = covering(&shown, arguments, &self.user);
        let mut names = covered.as_ref().map(|it| it.names.clone()).unwrap_or_default();
        for file in covered.iter().flat_map(|it| &it.settings) {
            let root = PathBuf::from(format!("/proc/{}/root", report.thread));
            let path = root.join(file.trim_start_matches('/'));
            names.extend(setting_keys(&kernel_file::read(CWD, path, MAX_SETTINGS).unwrap_or_default()));
        }
        self.commands.push(ObservedCommand {
            number,
            by,
            profile: covered.as_ref().map(|it| it.profile.to_string()),
            is_whole: covered.is_some_and(|it| it.is_whole),
            names,
            set_id: program.metadata().is_ok_and(|found| found.mode() & SET_ID != 0),
            program: shown,
            words,
        });
        Running::Command(number)
    }

    fn is_covered(&self, number: u32) -> bool {
        let index = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
        index.and_then(|index| self.commands.get(index)).is_some_and(|command| command.profile.is_some())
    }

    fn running(&mut self, process: u32) -> Running {
        let (mut at, mut between) = (process, Vec::new());
        let mut found = None;
        for _ in 0..MAX_DEPTH {
            found = self.processes.get(&at).copied();
            if found.is_some() {
                break;
            }
            between.push(at);
            match parent_of(at) {
                Some(parent @ 2..) => at = parent,
                _ => break,
            }
        }
        // A process whose parents are gone, such as a daemon, was started by something of the module.
        let running = match found {
            Some(running) => running,
            None if self.processes.is_empty() => return Running::Nothing,
            None => self.of_daemon(process).unwrap_or(Running::Command(MODULE)),
        };
        between.into_iter().for_each(|process| self.remember(process, running));
        running
    }

    /// Returns what the last program with the words of a process belongs to. A process that was forked has the words of its parent.
    fn of_daemon(&self, process: u32) -> Option<Running> {
        let line = kernel_file::read(CWD, format!("/proc/{process}/cmdline"), MAX_BYTES as u64).ok()?;
        let words: Vec<&str> = line.trim_end_matches('\0').split('\0').collect();
        let is_it = |(started, _): &&(Vec<String>, Running)| has_words(&words, started);
        self.started.iter().rev().find(is_it).map(|(_, running)| *running)
    }

    fn remember(&mut self, process: u32, running: Running) {
        if self.processes.len() < MAX_PROCESSES || self.processes.contains_key(&process) {
            self.processes.insert(process, running);
        }
    }

    /// Returns the commands, and how many are not listed.
    pub(crate) fn into_commands(self) -> (Vec<ObservedCommand>, u64) {
        (self.commands, self.omitted)
    }
}

/// Returns whether a process with these words runs a program that was started with others: the same ones, or, for a script, those of its
/// interpreter and then the script and its arguments. The kernel puts the script's path in the place of its first word.
fn has_words(process: &[&str], started: &[String]) -> bool {
    let Some((program, arguments)) = started.split_first() else { return false };
    let is_program = |word: &str| {
        let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
        word == program || name(word) == name(program)
    };
    let Some(before) = process.len().checked_sub(arguments.len() + 1).filter(|before| *before <= 2) else {
        return false;
    };
    is_program(process[before]) && process[before + 1..].iter().eq(arguments)
}

/// Returns the program that a call starts, if there is one. A search in `PATH` names others before it.
fn program(report: &ReportedCall, directory: Option<usize>, path: usize) -> Option<PathBuf> {
    let path = call_arguments::path_of(report, directory, path)?;
    let found = path.metadata().ok()?;
    (found.is_file() && found.permissions().mode() & 0o111 != 0).then_some(path)
}

/// Returns the words that a call gives to a program.
fn words_of(report: &ReportedCall, index: usize) -> Vec<String> {
    const POINTER: usize = size_of::<u64>();
    let Some(list) = report.arguments.get(index).copied() else { return Vec::new() };
    let (mut words, mut bytes) = (Vec::new(), 0);
    for at in 0..MAX_WORDS {
        let mut pointer = [0; POINTER];
        let Some(place) = list.checked_add((at * POINTER) as u64) else { break };
        if memory::read(report.thread, place, &mut pointer) != POINTER {
            break;
        }
        let address = u64::from_ne_bytes(pointer);
        if address == 0 {
            break;
        }
        let Some(word) = call_arguments::text_of(report.thread, address, MAX_BYTES) else { break };
        bytes += word.len() + 1;
        words.push(String::from_utf8_lossy(&word).into_owned());
        if bytes > MAX_BYTES {
            break;
        }
    }
    words
}

fn parent_of(process: u32) -> Option<u32> {
    let status = kernel_file::read(CWD, format!("/proc/{process}/status"), MAX_STATUS).ok()?;
    status.lines().find_map(|line| line.strip_prefix("PPid:")?.trim().parse().ok())
}

/// Returns whether a mode gives all users the right to read.
pub(crate) fn is_readable(mode: u32) -> bool {
    mode & READABLE != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_daemon_has_the_words_of_the_program_that_it_was() {
        let started = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        for (process, program, expect) in [
            (&["/usr/bin/redis-server", "127.0.0.1:6379"][..], &["/usr/bin/redis-server", "127.0.0.1:6379"][..], true),
            (&["/usr/bin/python3", "/usr/bin/fail2ban-server", "-b"], &["fail2ban-server", "-b"], true),
            (&["/bin/sh", "-e", "/etc/init.d/x", "start"], &["/etc/init.d/x", "start"], true),
            (&["sh", "-c", "sleep 9 &"], &["sh", "-c", "sleep 9 &"], true),
            (&["nginx", "-g"], &["nginx"], false),
            (&["nginx"], &["nginx", "-g"], false),
            (&["apache2"], &["nginx"], false),
            (&[""], &[], false),
        ] {
            assert_eq!(has_words(process, &started(program)), expect, "{process:?}");
        }
    }
}

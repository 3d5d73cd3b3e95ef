//! Runs one of the author's tools to its end. Only this file of the layer starts processes.
//!
//! A tool runs with the author's own authority, as if typed: this is not a sandbox. But a tool does not outlive modbox.
//! It gets its own process group, which also contains the compilers that it starts, and the cleanup list ends that
//! group when a signal comes. A ctrl-C in the terminal reaches only modbox, and through the list the group.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use modbox_cleanup::{Cleanup, UndoGuard};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

/// Maximum length of a line from a tool. Cargo's lines contain a path for each file it made, a few kilobytes; a longer
/// line is not a message, and is ignored.
const MAX_LINE: u64 = 4 << 20;

/// How much of a captured standard error is kept: enough for a message, and not so much that it is hard to find.
const MAX_STDERR: u64 = 16 << 10;

/// Destination of a tool's standard error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stderr {
    /// modbox's own standard error, for the author to read.
    Inherited,
    /// A buffer, for an error message.
    Captured,
}

/// Tool to run.
#[derive(Debug)]
pub(crate) struct Tool<'a> {
    pub(crate) program: &'a Path,
    pub(crate) args: &'a [OsString],
    pub(crate) dir: &'a Path,
    pub(crate) env: &'a BTreeMap<OsString, OsString>,
    pub(crate) stderr: Stderr,
}

/// Exit status of a tool, and its captured standard error.
#[derive(Debug)]
pub(crate) struct ToolResult {
    pub(crate) status: ExitStatus,
    pub(crate) stderr: String,
}

/// Runs the tool, and passes each line of its standard output to `on_line`.
pub(crate) fn run(cleanup: &Cleanup, tool: &Tool<'_>, on_line: &mut dyn FnMut(&[u8])) -> io::Result<ToolResult> {
    run_until(cleanup, Signal::TERM, tool, on_line)
}

fn run_until(
    cleanup: &Cleanup,
    signal: Signal,
    tool: &Tool<'_>,
    on_line: &mut dyn FnMut(&[u8]),
) -> io::Result<ToolResult> {
    let mut child = start(tool)?;
    // Every early return drops the guard, which ends the group before the child is waited for.
    let guard = kill_on_signal(cleanup, signal, &child);
    let stderr = child.stderr.take().map(|pipe| thread::spawn(move || read_start(pipe)));
    if let Some(pipe) = child.stdout.take() {
        each_line(BufReader::new(pipe), on_line)?;
    }
    let stderr = stderr.and_then(|reader| reader.join().ok()).unwrap_or_default();
    let status = reap(child, guard)?;
    Ok(ToolResult { status, stderr })
}

/// Runs the tool, and returns its result and its standard output.
pub(crate) fn output(cleanup: &Cleanup, tool: &Tool<'_>) -> io::Result<(ToolResult, String)> {
    output_until(cleanup, Signal::TERM, tool)
}

/// Does the same as [`output`], and kills the tool when the time is over.
pub(crate) fn output_within(
    cleanup: &Cleanup,
    tool: &Tool<'_>,
    patience: Duration,
) -> io::Result<(ToolResult, String)> {
    let (program, args): (PathBuf, Vec<OsString>) = (tool.program.to_owned(), tool.args.to_vec());
    let (dir, env, stderr) = (tool.dir.to_owned(), tool.env.clone(), tool.stderr);
    let own = Cleanup::default();
    let (by_thread, by_signal) = (own.clone(), own.clone());
    let guard = cleanup.register(move || by_signal.undo_all());
    let (answer, answered) = mpsc::channel();
    // A thread of its own, because a process outside of the tool's group may keep the pipe open for ever.
    thread::spawn(move || {
        let tool = Tool { program: &program, args: &args, dir: &dir, env: &env, stderr };
        drop(answer.send(output_until(&by_thread, Signal::KILL, &tool)));
    });
    let late = |_| {
        own.undo_all();
        Err(io::Error::new(io::ErrorKind::TimedOut, format!("no answer within {} s", patience.as_secs())))
    };
    let answer = answered.recv_timeout(patience).unwrap_or_else(late);
    guard.disarm();
    answer
}

fn output_until(cleanup: &Cleanup, signal: Signal, tool: &Tool<'_>) -> io::Result<(ToolResult, String)> {
    let mut text = String::new();
    let ended = run_until(cleanup, signal, tool, &mut |line| {
        text.push_str(&String::from_utf8_lossy(line));
        text.push('\n');
    })?;
    Ok((ended, text))
}

fn start(tool: &Tool<'_>) -> io::Result<Child> {
    #[expect(clippy::disallowed_methods, reason = "the one place where the author's tools start")]
    let mut command = Command::new(tool.program);
    command.args(tool.args).current_dir(tool.dir).env_clear().envs(tool.env);
    // Cargo and rustup prefer this variable for the name of the directory, so it must agree with the working directory.
    command.env(OsStr::new("PWD"), tool.dir);
    let stderr = match tool.stderr {
        Stderr::Inherited => Stdio::inherit(),
        Stderr::Captured => Stdio::piped(),
    };
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(stderr).process_group(0).spawn()
}

fn kill_on_signal(cleanup: &Cleanup, signal: Signal, child: &Child) -> UndoGuard {
    let group = Pid::from_child(child);
    cleanup.register(move || {
        // The tool may have ended by itself; then there is nothing to do.
        let _ = kill_process_group(group, signal);
    })
}

fn reap(mut child: Child, guard: UndoGuard) -> io::Result<ExitStatus> {
    // Waits without reaping first. Until the child is reaped its pid cannot belong to another process, so it must be
    // removed from the cleanup list by then.
    waitid(WaitId::Pid(Pid::from_child(&child)), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)?;
    guard.disarm();
    child.wait()
}

fn each_line(mut reader: impl BufRead, on_line: &mut dyn FnMut(&[u8])) -> io::Result<()> {
    let mut line = Vec::new();
    let mut is_rest = false;
    loop {
        line.clear();
        if reader.by_ref().take(MAX_LINE).read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        let is_whole = line.last() == Some(&b'\n') || (line.len() as u64) < MAX_LINE;
        if is_whole && !is_rest {
            on_line(line.strip_suffix(b"\n").unwrap_or(&line));
        }
        is_rest = !is_whole;
    }
}

/// Reads to the end, so that the writer never blocks, and keeps the beginning.
fn read_start(mut pipe: impl Read) -> String {
    let mut kept = Vec::new();
    // On an error the message is only incomplete.
    let _ = pipe.by_ref().take(MAX_STDERR).read_to_end(&mut kept);
    let _ = io::copy(&mut pipe, &mut io::sink());
    let said = String::from_utf8_lossy(&kept);
    // With RUST_BACKTRACE set, rustup prints a backtrace of itself, which is of no use here.
    said.split("\nStack backtrace:").next().unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    fn shell<'a>(args: &'a [OsString], env: &'a BTreeMap<OsString, OsString>) -> Tool<'a> {
        Tool { program: Path::new("/bin/sh"), args, dir: Path::new("/"), env, stderr: Stderr::Captured }
    }

    fn script(text: &str) -> [OsString; 2] {
        ["-c".into(), text.into()]
    }

    #[test]
    fn keeps_both_streams_apart() {
        let (ended, text) =
            output(&Cleanup::default(), &shell(&script("echo out; echo err >&2; exit 3"), &BTreeMap::new())).unwrap();
        assert_eq!((ended.status.code(), ended.stderr.as_str(), text.as_str()), (Some(3), "err", "out\n"));
    }

    #[test]
    fn leaves_backtraces_out() {
        assert_eq!(read_start(b"error: no\n\nStack backtrace:\n   0: main\n".as_slice()), "error: no");
    }

    #[test]
    fn passes_over_a_line_without_end() {
        let endless = vec![b'x'; usize::try_from(MAX_LINE).unwrap() + 5];
        let input = [b"first\n".as_slice(), &endless, b"\nlast"].concat();
        let mut lines = Vec::new();
        each_line(input.as_slice(), &mut |line| lines.push(line.to_vec())).unwrap();
        assert_eq!(lines, [b"first".to_vec(), b"last".to_vec()]);
    }

    #[test]
    fn the_cleanup_list_ends_the_tool_and_what_it_started() {
        let cleanup = Cleanup::default();
        let by_signal = cleanup.clone();
        let started = Instant::now();
        // The inner shell holds the pipe open: reading ends only when it has ended, too.
        let args = script("sh -c 'echo ready; sleep 60; echo late' & wait");
        let mut lines = 0;
        let ended = run(&cleanup, &shell(&args, &BTreeMap::new()), &mut |_| {
            lines += 1;
            by_signal.undo_all();
        })
        .unwrap();
        assert!(!ended.status.success());
        assert_eq!(lines, 1);
        assert!(started.elapsed() < Duration::from_secs(30));
    }
}

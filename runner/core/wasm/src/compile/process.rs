//! The parent's side of compiling: starts the worker, sends it the module, waits, and interprets its end.

use std::fs::File;
use std::io::{self, PipeReader, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use modbox_cleanup::Cleanup;
use modbox_vocabulary::Limits;
use modbox_vocabulary::time::micros;
use rustix::event::{PollFd, PollFlags, Timespec};

use crate::compile::bounds::Bounds;
use crate::compile::code::{Compiled, MAX_CODE, Source, memory_file, seal};
use crate::compile::worker;
use crate::compile_limit::CompileLimit;
use crate::error::WasmError;
use crate::newer_wasi::NewerWasi;

/// The longest text kept from the worker. The engine's errors have a few hundred bytes.
const MAX_TEXT: usize = 4 << 10;

/// Text of Rust's allocator before the process aborts, and of the engine when it panics for lack of memory.
const NO_MEMORY: [&str; 2] = ["memory allocation of", "unhandled out-of-memory error"];

/// The exit status of a Rust program that panicked.
const PANICKED: i32 = 101;

/// Memory per thread of the compiler. With less, the threads would compete for memory.
const MEMORY_PER_THREAD: u64 = 64 << 20;

/// The most threads. More do not make compiling faster, but cost memory.
const MAX_THREADS: u64 = 16;

/// The variable that sets the number of threads of the engine's thread pool.
const THREADS_VARIABLE: &str = "RAYON_NUM_THREADS";

/// The interval for checking whether a worker that closed its pipe has ended.
const PAUSE: Duration = Duration::from_micros(200);

/// Compiles a module in a worker process.
pub(super) fn compile(
    program: &Path,
    source: &Source<'_>,
    limits: &Limits,
    cleanup: &Cleanup,
) -> Result<Compiled, WasmError> {
    let failed = |verb| move |source| WasmError::Compiler { verb, source };
    let mut input = memory_file().map_err(failed("allocate memory for"))?;
    input.write_all(source.bytes).map_err(failed("feed"))?;
    let input = seal(input).map_err(failed("feed"))?;
    let code = memory_file().map_err(failed("allocate memory for"))?;
    let output = code.try_clone().map_err(failed("allocate memory for"))?;
    let bounds = bounds(source, limits);
    let deadline = Instant::now().checked_add(limits.compile_time.saturating_mul(2));
    let (worker, pipe) = Worker::start(program, &bounds, input, output).map_err(failed("start"))?;
    let worker = Arc::new(worker);
    let undo = cleanup.register({
        let worker = Arc::clone(&worker);
        move || worker.kill()
    });
    let message = listen(pipe, deadline).map_err(failed("wait for"))?;
    let status = match message.in_time {
        true => worker.wait(deadline).map_err(failed("wait for"))?,
        false => None,
    };
    let Some(status) = status else {
        // Dropping the guard kills the worker.
        drop(undo);
        return Err(WasmError::Limit(CompileLimit::Time(limits.compile_time)));
    };
    undo.disarm();
    judge(status, &message.text, code, limits)
}

fn bounds(source: &Source<'_>, limits: &Limits) -> Bounds {
    let processors = thread::available_parallelism().map_or(1, |count| count.get() as u64);
    Bounds {
        format: source.format,
        parent: std::process::id(),
        cpu_us: micros(limits.compile_time),
        memory: limits.compile_memory,
        max_code: MAX_CODE.min(limits.compile_memory),
        threads: processors.min(MAX_THREADS).min(limits.compile_memory / MEMORY_PER_THREAD).max(1),
    }
}

/// Converts a worker's exit status and text to a result.
fn judge(status: ExitStatus, text: &str, code: File, limits: &Limits) -> Result<Compiled, WasmError> {
    let time = || WasmError::Limit(CompileLimit::Time(limits.compile_time));
    let memory = || WasmError::Limit(CompileLimit::Memory(limits.compile_memory));
    let crashed = || WasmError::Crashed(if text.is_empty() { status.to_string() } else { format!("{status}: {text}") });
    match (status.code(), status.signal()) {
        (Some(worker::DONE), _) => {
            // Fails if the file could still be written to.
            let code = seal(code).map_err(|_| crashed())?;
            let note = (!text.is_empty()).then(|| format!("the compiler was not fully confined: {text}"));
            Ok(Compiled { code, note })
        }
        (Some(worker::INVALID), _) => Err(WasmError::Compile(text.into())),
        (Some(worker::NEWER_WASI), _) => Err(NewerWasi::of_worker(text).map_or_else(crashed, WasmError::NewerWasi)),
        (Some(worker::NO_MEMORY), _) => Err(memory()),
        (Some(worker::NOT_STARTED), _) => {
            Err(WasmError::Compiler { verb: "confine", source: io::Error::other(text.to_owned()) })
        }
        (_, Some(libc::SIGPROF | libc::SIGXCPU)) => Err(time()),
        (_, Some(libc::SIGXFSZ)) => Err(memory()),
        // With musl, an abort first makes a call that the compiler's filter forbids, and then faults.
        (Some(PANICKED), _) | (_, Some(libc::SIGABRT | libc::SIGSEGV))
            if NO_MEMORY.iter().any(|message| text.contains(message)) =>
        {
            Err(memory())
        }
        _ => Err(crashed()),
    }
}

/// A started worker. The cleanup shares it, and kills it when a signal ends modbox.
#[derive(Debug)]
struct Worker(Mutex<Child>);

impl Worker {
    fn start(program: &Path, bounds: &Bounds, input: File, output: File) -> io::Result<(Self, PipeReader)> {
        let (pipe, writer) = io::pipe()?;
        #[expect(clippy::disallowed_methods, reason = "the one place that starts the compiler")]
        let mut command = Command::new(program);
        command.arg0("modbox").arg(worker::COMPILE_WORKER).args(bounds.to_args()).env_clear();
        command.env(THREADS_VARIABLE, bounds.threads.to_string());
        command.stdin(OwnedFd::from(input)).stdout(OwnedFd::from(output)).stderr(writer);
        let _no_file_is_being_written = modbox_worker::exclude_spawns();
        let child = command.spawn()?;
        // Dropping the command closes this process's copies of the worker's ends.
        Ok((Self(Mutex::new(child)), pipe))
    }

    /// Kills the worker and waits for its end. It is a single process and cannot start others.
    fn kill(&self) {
        let mut child = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Fails only if the worker has ended.
        let _ = child.kill();
        let _ = child.wait();
    }

    /// Waits until the worker has ended, or until the deadline; returns `None` at the deadline.
    fn wait(&self, deadline: Option<Instant>) -> io::Result<Option<ExitStatus>> {
        loop {
            // Unlocked while sleeping, so that a signal can kill the worker.
            let status = self.0.lock().unwrap_or_else(PoisonError::into_inner).try_wait()?;
            if status.is_some() || deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return Ok(status);
            }
            thread::sleep(PAUSE);
        }
    }
}

/// The worker's text until it closed its pipe.
struct WorkerMessage {
    text: String,
    in_time: bool,
}

/// Reads until the worker ends or the deadline passes. Text beyond [`MAX_TEXT`] is discarded.
fn listen(mut pipe: PipeReader, deadline: Option<Instant>) -> io::Result<WorkerMessage> {
    let (mut head, mut chunk) = (Vec::new(), [0; 1024]);
    let in_time = loop {
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) {
            break false;
        }
        let timeout = left.and_then(|left| Timespec::try_from(left).ok());
        match rustix::event::poll(&mut [PollFd::new(&pipe, PollFlags::IN)], timeout.as_ref()) {
            Ok(0) | Err(rustix::io::Errno::INTR) => continue,
            ready => ready?,
        };
        let length = pipe.read(&mut chunk)?;
        if length == 0 {
            break true;
        }
        let room = MAX_TEXT - head.len();
        head.extend_from_slice(&chunk[..length.min(room)]);
    };
    Ok(WorkerMessage { text: clean(&head), in_time })
}

/// Returns the text as one line without control characters: a compromised compiler may have written it.
fn clean(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes).replace(char::is_control, " ");
    text.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

    use super::*;

    #[track_caller]
    fn check(raw: i32, text: &str, expect: &str) {
        let code = memory_file().unwrap();
        let ended = judge(ExitStatus::from_raw(raw), text, code, &Limits::default());
        let shown =
            ended.map_or_else(|error| modbox_vocabulary::error_chain(&error), |code| format!("{:?}", code.note));
        assert!(shown.contains(expect), "{shown}");
    }

    #[test]
    fn every_exit_of_a_worker_maps_to_a_result() {
        let exited = |code: i32| code << 8;
        check(exited(worker::DONE), "", "None");
        check(exited(worker::DONE), "no Landlock", "not fully confined: no Landlock");
        check(exited(worker::INVALID), "unexpected end", "failed to compile the module: unexpected end");
        check(exited(worker::NEWER_WASI), "wasi:cli/run@0.3.0", "the module is for WASI 0.3 (`wasi:cli/run@0.3.0`)");
        check(exited(worker::NEWER_WASI), "reinstall your system", "the compiler crashed");
        check(exited(worker::NO_MEMORY), "", "--compile-memory");
        check(exited(worker::NOT_STARTED), "rlimit", "rlimit");
        check(exited(101), "thread panicked", "exit status: 101: thread panicked");
        check(exited(77), "", "exit status: 77");
        check(libc::SIGPROF, "", "--compile-time");
        check(libc::SIGXCPU, "", "--compile-time");
        check(libc::SIGABRT, "memory allocation of 64 bytes failed", "--compile-memory");
        check(libc::SIGSEGV, "memory allocation of 64 bytes failed", "--compile-memory");
        check(libc::SIGSEGV, "unhandled out-of-memory error: out of memory", "--compile-memory");
        check(exited(PANICKED), "unhandled out-of-memory error: out of memory", "--compile-memory");
        check(libc::SIGABRT, "thread 'main' has overflowed its stack", "overflowed its stack");
        check(libc::SIGKILL, "", "SIGKILL");
        check(libc::SIGSEGV, "", "SIGSEGV");
    }

    #[test]
    fn code_that_is_still_mapped_writable_is_refused() {
        let code = memory_file().unwrap();
        code.set_len(4096).unwrap();
        let (writable, fd) = (libc::PROT_READ | libc::PROT_WRITE, code.as_raw_fd());
        #[expect(unsafe_code, reason = "the test maps the file as another process could")]
        // SAFETY: mmap without MAP_FIXED chooses an unused address, so it changes no mapping that is in use. Nothing
        // reads or writes through the new mapping.
        let mapping = unsafe { libc::mmap(std::ptr::null_mut(), 4096, writable, libc::MAP_SHARED, fd, 0) };
        assert_ne!(mapping, libc::MAP_FAILED);
        let ended = judge(ExitStatus::from_raw(0), "", code, &Limits::default());
        assert!(matches!(ended, Err(WasmError::Crashed(_))), "{ended:?}");
    }

    #[test]
    fn text_of_a_worker_is_cleaned_and_bounded() {
        let (pipe, mut writer) = io::pipe().unwrap();
        let text = b"\x1b[31mred\nline\xff".repeat(2000);
        let writing = thread::spawn(move || writer.write_all(&text));
        let message = listen(pipe, None).unwrap();
        writing.join().unwrap().unwrap();
        assert!(message.in_time && message.text.starts_with("[31mred line"), "{}", message.text);
        assert!(message.text.len() < 3 * MAX_TEXT && !message.text.contains(char::is_control));
    }

    #[test]
    fn a_silent_worker_is_waited_for_until_the_deadline() {
        let (pipe, _writer) = io::pipe().unwrap();
        assert!(!listen(pipe, Some(Instant::now() + Duration::from_millis(20))).unwrap().in_time);
    }
}

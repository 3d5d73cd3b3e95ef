//! The worker process: loads one module, then runs its jobs one after the other.
//!
//! It knows nothing about the rest of the batch. It ends at the end of its input, and the kernel kills it when the
//! process that started it ends.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::sync::Arc;

use modbox_cleanup::Cleanup;
use modbox_scratch::{ScratchRoot, Use};
use modbox_wasm::{CompileCache, Instances};
use rustix::process::{Signal, getppid, set_parent_process_death_signal};

use crate::app::{Arguments, Module, ModuleFile, ProcessConfinement, RunRequest, Runner, RunnerConfig};
use crate::batch::job::Job;
use crate::batch::report;
use crate::batch::setup::{FRAMES, Greeting};

/// The first command-line word of a worker process.
pub const WORD: &str = "__batch-worker";

/// Runs jobs from `input` and writes their reports to `output`, until the input ends.
///
/// # Errors
///
/// The batch has ended, or has sent an unexpected message.
pub fn serve(
    mut input: impl Read,
    mut output: impl Write,
    cleanup: Cleanup,
    threads: Arc<dyn ProcessConfinement>,
) -> io::Result<()> {
    let Some(greeting) = FRAMES.receive::<Greeting>(&mut input)? else { return Ok(()) };
    die_with_parent(greeting.parent)?;
    let Some(bytes) = FRAMES.read(&mut input)? else { return Ok(()) };
    // The batch has checked that the kind is known.
    let kind = greeting.kind.as_deref().and_then(|kind| kind.parse().ok());
    let module = Module::new(ModuleFile { path: greeting.path, bytes: bytes.into() }, kind);
    let surroundings = greeting.surroundings;
    // The process is confined once, for all its runs. So the scratch directories of the runs lie in one directory, to
    // which it keeps access.
    let root = ScratchRoot::new(&surroundings.temp_dir, cleanup.clone());
    root.sweep_once();
    let directory = root.create(Use::Run).map_err(io::Error::other)?;
    let process = WorkerProcess { threads, directory: directory.path().to_owned() };
    let runner = Runner::new(RunnerConfig {
        cache: surroundings.cache_dir.map(CompileCache::new),
        temp_dir: directory.path().to_owned(),
        directory: surroundings.directory,
        environment: surroundings.environment,
        python: surroundings.python,
        cleanup,
        worker: Some(modbox_native::THIS_BINARY.into()),
        instances: Instances::Pooled,
        // The batch watches this process.
        watched: false,
        on_compile: None,
        confine: Some(Arc::new(process)),
    });
    // The report of each job says what is wrong with the module.
    drop(runner.load(&module, &greeting.limits));
    FRAMES.write(&mut output, b"")?;
    while let Some(line) = FRAMES.read(&mut input)? {
        let answer = match Job::parse(&line) {
            Ok(job) => {
                let name = job.name();
                let internal = Box::new(job.internal_args(&name));
                let request = RunRequest {
                    name: &name,
                    arguments: Arguments::Task { args: job.args, internal },
                    policy: &greeting.policy,
                    limits: &greeting.limits,
                    interpreters: &BTreeMap::new(),
                    last_json_line: job.options.last_json_line,
                    stdin_args: job.options.stdin_args,
                    keep_files: false,
                    pipelining: !job.options.no_pipelining,
                };
                let mut done = runner.run(&module, &request);
                if job.options.no_log {
                    done.censor();
                }
                report::answer(&report::line(&job.id, None, &done), done.status.is_success())
            }
            // The batch has parsed the line before, so an error here means a broken batch.
            Err(error) => return Err(io::Error::new(io::ErrorKind::InvalidData, error.message)),
        };
        FRAMES.write(&mut output, &answer)?;
    }
    Ok(())
}

/// Confinement of a worker process, which runs many guests with the same grants.
struct WorkerProcess {
    threads: Arc<dyn ProcessConfinement>,
    directory: PathBuf,
}

impl ProcessConfinement for WorkerProcess {
    fn stop_threads(&self) -> io::Result<()> {
        self.threads.stop_threads()
    }

    fn start_threads(&self) -> io::Result<()> {
        self.threads.start_threads()
    }

    fn directory(&self) -> Option<PathBuf> {
        Some(self.directory.clone())
    }

    fn largest_file(&self) -> u64 {
        self.threads.largest_file()
    }
}

/// Makes the kernel kill this process when `parent`, the process that started it, ends for any reason.
fn die_with_parent(parent: u32) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // The parent may have ended before the call above.
    match getppid() {
        Some(pid) if pid.as_raw_nonzero().get().unsigned_abs() == parent => Ok(()),
        _ => Err(io::Error::other("the batch is gone")),
    }
}

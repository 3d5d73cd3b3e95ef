//! The process that runs the jobs of one module: it loads the module, then takes line after line.
//!
//! It knows nothing of the batch around it. It ends when its input does, and dies with the process that started it.

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

/// The word by which a batch starts a worker.
pub const WORD: &str = "__batch-worker";

/// Serves a batch until the input ends.
///
/// # Errors
///
/// A batch that is gone, or that does not speak as expected.
pub fn serve(
    mut input: impl Read,
    mut output: impl Write,
    cleanup: Cleanup,
    threads: Arc<dyn ProcessConfinement>,
) -> io::Result<()> {
    let Some(greeting) = FRAMES.receive::<Greeting>(&mut input)? else { return Ok(()) };
    die_with(greeting.parent)?;
    let Some(bytes) = FRAMES.read(&mut input)? else { return Ok(()) };
    // The batch has checked the word.
    let kind = greeting.kind.as_deref().and_then(|kind| kind.parse().ok());
    let module = Module::new(ModuleFile { path: greeting.path, bytes: bytes.into() }, kind);
    let surroundings = greeting.surroundings;
    // The kernel is told once what this process may do; the directories of its runs lie in one that it may use.
    let root = ScratchRoot::new(&surroundings.temp_dir, cleanup.clone());
    root.sweep_once();
    let own = root.create(Use::Run).map_err(io::Error::other)?;
    let process = WorkerProcess { threads, directory: own.path().to_owned() };
    let runner = Runner::new(RunnerConfig {
        cache: surroundings.cache_dir.map(CompileCache::new),
        temp_dir: own.path().to_owned(),
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
    // What is wrong with the module is for the report of each job to say.
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
            // The batch has parsed it, too, and sends no other.
            Err(error) => return Err(io::Error::new(io::ErrorKind::InvalidData, error.message)),
        };
        FRAMES.write(&mut output, &answer)?;
    }
    Ok(())
}

/// A process that runs many guests, all with the same grants.
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

/// Has the kernel kill this process when the one that started it ends, however it ends.
fn die_with(parent: u32) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // It may have ended before.
    match getppid() {
        Some(pid) if pid.as_raw_nonzero().get().unsigned_abs() == parent => Ok(()),
        _ => Err(io::Error::other("the batch is gone")),
    }
}

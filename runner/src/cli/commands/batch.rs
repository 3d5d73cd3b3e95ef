//! `modbox batch`: runs many jobs in warm processes; reads jobs as JSON lines, and writes reports as JSON lines.

use std::collections::HashMap;
use std::fs;
use std::io::{self, BufWriter, IsTerminal};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::anyhow;
use indicatif::{ProgressBar, ProgressStyle};
use modbox_policy::{FileRules, LimitOverrides, MergedPolicy, Policy};
use modbox_vocabulary::{FileFingerprint, Limits};
use rustix::fs::FileType;

use crate::app::{Arguments, Module, RunRequest, Runner, locate};
use crate::batch::{Batch, BatchConfig, Host, Job, Progress, ResolvedJob, Setup, Summary};
use crate::cli::args::BatchArgs;
use crate::cli::audit::Audit;
use crate::cli::context::Context;
use crate::cli::exit::{ExitStatus, Failure, OrExit};
use crate::cli::find::find_module;
use crate::cli::output;
use crate::cli::runner::runner;
use crate::cli::settings::{self, Settings};
use crate::cli::signals;

/// Maximum total bytes of modules in memory. Beyond this, all are dropped, and read again when needed.
const MAX_CACHED_BYTES: usize = 256 << 20;

/// Maximum number of setups in memory. They are kept so that jobs with the same module and grants use the same worker.
const MAX_SETUPS: usize = 1024;

/// Size of the output buffer in bytes. The buffer is flushed whenever the batch waits.
const OUTPUT: usize = 64 << 10;

/// Minimum time between two updates of the progress bar.
const DRAW_EVERY: Duration = Duration::from_millis(100);

/// Runs the jobs on standard input.
pub(crate) fn run(context: &Context, args: &BatchArgs) -> Result<ExitStatus, Failure> {
    let environment = &context.environment;
    let settings = Settings::load(environment, &args.grants, &args.limits).or_usage()?;
    let MergedPolicy { policy, limits, .. } = settings.for_every_module().or_usage()?;
    if policy.allows_everything() {
        output::print_note("--allow-all: the modules can do everything that you can");
    }
    let audit = Audit::open(&policy)?;
    let python = settings::python(environment, &args.python.module_utils, args.python.ansiballz).or_usage()?;
    let runner = Arc::new(runner(context, None, python));
    let mut host = JobHost {
        context,
        runner: Arc::clone(&runner),
        audit,
        args,
        settings,
        policy,
        limits,
        modules: HashMap::new(),
        cached_bytes: 0,
        rounds: 0,
        setups: Vec::new(),
        bar: progress_bar(),
        drawn: Instant::now(),
    };
    let jobs = match args.jobs {
        Some(jobs) => usize::try_from(jobs).unwrap_or(usize::MAX),
        None => std::thread::available_parallelism().map_or(1, usize::from),
    };
    let config = BatchConfig {
        jobs,
        ordered: args.ordered,
        runner: Arc::clone(&runner),
        workers: context.workers.clone(),
        cleanup: context.cleanup.clone(),
    };
    let stdin = io::stdin();
    let is_directory = |stat: &rustix::fs::Stat| FileType::from_raw_mode(stat.st_mode).is_dir();
    if rustix::fs::fstat(&stdin).is_ok_and(|stat| is_directory(&stat)) {
        return Err(anyhow!(
            "failed to read the jobs: standard input is a directory; use a file or a pipe with JSON lines"
        ))
        .or_usage();
    }
    let stop = context.signals.stop_gracefully().or_internal()?;
    let batch = Batch::new(config, &mut host, BufWriter::with_capacity(OUTPUT, io::stdout().lock()));
    let ended = batch.or_internal()?.run(stdin.as_fd(), stop.as_fd());
    if let Some(bar) = &host.bar {
        bar.finish_and_clear();
    }
    let summary = ended.or_internal()?;
    if summary.unaudited > 0 {
        output::print_note(&format!("{} jobs ran without an entry in an audit file", summary.unaudited));
    }
    if summary.stopped {
        print_stop_summary(&summary);
        signals::end_as_stopped(&context.signals);
    }
    Ok(match (summary.unaudited, summary.progress.failed) {
        (0, 0) => ExitStatus::Success,
        (0, _) => ExitStatus::Failed,
        _ => ExitStatus::Internal,
    })
}

fn print_stop_summary(summary: &Summary) {
    let Summary { progress, cancelled, .. } = summary;
    output::print_note(&format!(
        "stopped by a signal: {} jobs ran, {cancelled} were read but not started, the rest of the input was not read",
        progress.answered - cancelled
    ));
}

struct JobHost<'a> {
    context: &'a Context,
    runner: Arc<Runner>,
    audit: Audit,
    args: &'a BatchArgs,
    settings: Settings,
    /// The policy of a module without specific rules.
    policy: Policy,
    limits: Limits,
    /// Modules by the `module` of their jobs, then by the `kind`.
    modules: HashMap<PathBuf, HashMap<Option<String>, CachedModule>>,
    cached_bytes: usize,
    /// Number of times that the batch has waited for input. All lines of one round were written before the first of
    /// them is handled, and so were the module files that they name. So one check of a file per round is enough.
    rounds: u64,
    setups: Vec<Arc<Setup>>,
    bar: Option<ProgressBar>,
    drawn: Instant,
}

/// A module in memory, with the fingerprint of its file when it was read.
struct CachedModule {
    path: PathBuf,
    fingerprint: FileFingerprint,
    /// The round in which the fingerprint was last compared.
    checked_round: u64,
    module: Arc<Module>,
}

/// Returns the fingerprint of a module's file; `None` when there is no file.
fn fingerprint(path: &Path) -> Option<FileFingerprint> {
    fs::metadata(path).ok().map(|file| FileFingerprint::from(&file))
}

impl JobHost<'_> {
    fn module(&mut self, job: &Job) -> Result<Arc<Module>, String> {
        let cached = self.modules.get_mut(&job.module).and_then(|kinds| kinds.get_mut(&job.options.kind));
        if let Some(cached) = cached
            && (cached.checked_round == self.rounds || fingerprint(&cached.path) == Some(cached.fingerprint))
        {
            cached.checked_round = self.rounds;
            return Ok(Arc::clone(&cached.module));
        }
        let found = find_module(self.context, &job.module, &self.args.lookup.module_path);
        let path = found.map_err(|failure| format!("{:#}", failure.error))?;
        let missing = || format!("there is no module file `{}`", path.display());
        let fingerprint = fingerprint(&path).ok_or_else(missing)?;
        let file = locate::read(&path).map_err(|error| format!("{:#}", anyhow::Error::from(error)))?;
        self.cached_bytes += file.bytes.len();
        if self.cached_bytes > MAX_CACHED_BYTES {
            self.modules.clear();
            self.setups.clear();
            self.cached_bytes = file.bytes.len();
        }
        let module = Arc::new(Module::new(file, job.kind()?));
        let cached = CachedModule { path, fingerprint, checked_round: self.rounds, module: Arc::clone(&module) };
        self.modules.entry(job.module.clone()).or_default().insert(job.options.kind.clone(), cached);
        Ok(module)
    }

    fn grants(&self, job: &Job, module: &Module) -> Result<(Policy, Limits), String> {
        let (none, unlimited) = (FileRules::default(), LimitOverrides::default());
        let rules = job.options.policy.as_ref().unwrap_or(&none);
        let limits = job.options.limits.as_ref().unwrap_or(&unlimited);
        let effective = self.settings.for_job(&job.name(), module.digest(), rules, limits);
        effective.map(|effective| (effective.policy, effective.limits)).map_err(|error| format!("{error:#}"))
    }

    fn resolve_job(&mut self, job: &Job) -> Result<ResolvedJob, String> {
        let module = self.module(job)?;
        let specific = job.options.policy.is_some() || job.options.limits.is_some() || self.settings.has_module_rules();
        let granted = if specific { Some(self.grants(job, &module)?) } else { None };
        let (policy, limits) =
            granted.as_ref().map_or((&self.policy, &self.limits), |(policy, limits)| (policy, limits));
        // A worker is confined to its grants irrevocably, so they must include the paths that the arguments name.
        let name = job.name();
        let internal = Box::new(job.internal_args(&name));
        let arguments = Arguments::Task { args: job.args.clone(), internal };
        let admission = self.runner.admit(&module, &RunRequest::new(&name, arguments, policy, limits));
        let same = |setup: &&Arc<Setup>| {
            Arc::ptr_eq(&setup.module, &module) && setup.limits == *limits && setup.policy == *admission.policy()
        };
        if let Some(setup) = self.setups.iter().find(same) {
            return Ok(ResolvedJob { setup: Arc::clone(setup), admission });
        }
        let (policy, limits) = (admission.policy().clone(), *limits);
        let audit = self.audit.of_job(&policy).map_err(|error| modbox_vocabulary::error_chain(&error))?;
        let setup = Arc::new(Setup { module, policy, limits, audit });
        if self.setups.len() >= MAX_SETUPS {
            self.setups.clear();
        }
        self.setups.push(Arc::clone(&setup));
        Ok(ResolvedJob { setup, admission })
    }
}

impl Host for JobHost<'_> {
    fn resolve(&mut self, job: &Job) -> Result<ResolvedJob, String> {
        self.resolve_job(job).map_err(|message| self.audit.job_not_run(&job.module, message))
    }

    fn progress(&mut self, progress: &Progress) {
        self.rounds += 1;
        let Some(bar) = &self.bar else { return };
        if self.drawn.elapsed() < DRAW_EVERY {
            return;
        }
        self.drawn = Instant::now();
        bar.set_position(progress.bytes);
        bar.set_message(format!("{} done, {} failed", progress.answered, progress.failed));
    }
}

/// Returns a bar over the bytes of an input file, or a spinner for a stream of unknown length. Returns `None` when
/// standard error is not a terminal.
fn progress_bar() -> Option<ProgressBar> {
    if !io::stderr().is_terminal() {
        return None;
    }
    let length = rustix::fs::fstat(io::stdin()).ok().filter(|stat| stat.st_size > 0);
    let bar = match length {
        Some(stat) => ProgressBar::new(u64::try_from(stat.st_size).unwrap_or_default())
            .with_style(style("{bar:30} {percent}% {msg} ({elapsed}, {eta} left)")),
        None => ProgressBar::new_spinner().with_style(style("{spinner} {msg} ({elapsed})")),
    };
    Some(bar)
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

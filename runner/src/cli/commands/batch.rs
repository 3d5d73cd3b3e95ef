//! `modbox batch`: runs many jobs in warm processes; reads jobs as JSON lines, and writes reports as JSON lines.

use std::collections::{BTreeMap, HashMap};
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

use crate::app::library::FoundModule;
use crate::app::{Arguments, Module, RunRequest, Runner, locate};
use crate::batch::{Batch, BatchConfig, Host, Job, Progress, ResolvedJob, Setup, Summary};
use crate::cli::args::BatchArgs;
use crate::cli::audit::Audit;
use crate::cli::context::Context;
use crate::cli::exit::{ExitStatus, Failure, OrExit};
use crate::cli::find::Lookup;
use crate::cli::output;
use crate::cli::runner::runner;
use crate::cli::settings::Settings;
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
    let lookup = Lookup::of_run(context, &args.lookup, &args.python.module_utils, args.python.ansiballz)?;
    let runner = Arc::new(runner(context, None, lookup.python.clone()));
    let mut host = JobHost {
        context,
        runner: Arc::clone(&runner),
        audit,
        interpreters: Arc::new(lookup.interpreters.clone()),
        lookup,
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
    lookup: Lookup,
    /// Programs to start instead of an interpreter.
    interpreters: Arc<BTreeMap<String, String>>,
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
    found: FoundModule,
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
    fn module(&mut self, job: &Job) -> Result<(FoundModule, Arc<Module>), String> {
        let cached = self.modules.get_mut(&job.module).and_then(|kinds| kinds.get_mut(&job.options.kind));
        if let Some(cached) = cached
            && (cached.checked_round == self.rounds || fingerprint(&cached.found.path) == Some(cached.fingerprint))
        {
            cached.checked_round = self.rounds;
            return Ok((cached.found.clone(), Arc::clone(&cached.module)));
        }
        let found = self.lookup.find(self.context, &job.module);
        let found = found.map_err(|failure| format!("{:#}", failure.error))?;
        let missing = || format!("there is no module file `{}`", found.path.display());
        let fingerprint = fingerprint(&found.path).ok_or_else(missing)?;
        let file = locate::read(&found.path).map_err(|error| format!("{:#}", anyhow::Error::from(error)))?;
        self.cached_bytes += file.bytes.len();
        if self.cached_bytes > MAX_CACHED_BYTES {
            self.modules.clear();
            self.setups.clear();
            self.cached_bytes = file.bytes.len();
        }
        let module = Arc::new(Module::new(file, job.kind()?));
        let (checked_round, own) = (self.rounds, Arc::clone(&module));
        let cached = CachedModule { found: found.clone(), fingerprint, checked_round, module: own };
        self.modules.entry(job.module.clone()).or_default().insert(job.options.kind.clone(), cached);
        Ok((found, module))
    }

    fn grants(&self, job: &Job, name: &str, module: &Module) -> Result<(Policy, Limits), String> {
        let (none, unlimited) = (FileRules::default(), LimitOverrides::default());
        let rules = job.options.policy.as_ref().unwrap_or(&none);
        let limits = job.options.limits.as_ref().unwrap_or(&unlimited);
        let effective = self.settings.for_job(name, module.digest(), rules, limits);
        effective.map(|effective| (effective.policy, effective.limits)).map_err(|error| format!("{error:#}"))
    }

    fn resolve_job(&mut self, job: &Job) -> Result<ResolvedJob, String> {
        let (found, module) = self.module(job)?;
        // A job may give its module another name.
        let name = job.options.name.clone().unwrap_or(found.name);
        let task_name = job.options.name.clone().unwrap_or(found.task_name);
        let specific = job.options.policy.is_some() || job.options.limits.is_some() || self.settings.has_module_rules();
        let granted = if specific { Some(self.grants(job, &name, &module)?) } else { None };
        let (policy, limits) =
            granted.as_ref().map_or((&self.policy, &self.limits), |(policy, limits)| (policy, limits));
        // A worker is confined to its grants irrevocably, so they must include the paths that the arguments name.
        let internal = Box::new(job.internal_args(&task_name));
        let arguments = Arguments::Task { args: job.args.clone(), internal };
        let interpreters = &self.interpreters;
        let request = RunRequest { interpreters, ..RunRequest::new(&name, arguments, policy, limits) };
        let admission = self.runner.admit(&module, &request);
        let same = |setup: &&Arc<Setup>| {
            Arc::ptr_eq(&setup.module, &module) && setup.limits == *limits && setup.policy == *admission.policy()
        };
        if let Some(setup) = self.setups.iter().find(same) {
            return Ok(ResolvedJob { setup: Arc::clone(setup), name, admission });
        }
        let (policy, limits) = (admission.policy().clone(), *limits);
        let audit = self.audit.of_job(&policy).map_err(|error| modbox_vocabulary::error_chain(&error))?;
        let interpreters = Arc::clone(&self.interpreters);
        let setup = Arc::new(Setup { module, policy, limits, interpreters, audit });
        if self.setups.len() >= MAX_SETUPS {
            self.setups.clear();
        }
        self.setups.push(Arc::clone(&setup));
        Ok(ResolvedJob { setup, name, admission })
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

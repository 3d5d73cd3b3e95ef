//! `modbox batch`: many runs in warm processes, jobs as JSON lines in, reports as JSON lines out.

use std::collections::HashMap;
use std::fs;
use std::io::{self, BufWriter, IsTerminal};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow};
use indicatif::{ProgressBar, ProgressStyle};
use modbox_cleanup::Cleanup;
use modbox_policy::{Effective, FileRules, LimitOverrides, Policy};
use modbox_vocabulary::{FileFingerprint, Limits};
use rustix::fs::FileType;

use crate::app::{Module, locate, settled_policy};
use crate::batch::{Batch, BatchConfig, Host, Job, Progress, Setup, Summary, Surroundings};
use crate::cli::args::BatchArgs;
use crate::cli::audit::Audit;
use crate::cli::confine::ThisProcess;
use crate::cli::context::Context;
use crate::cli::exit::{ExitStatus, Failure, OrExit};
use crate::cli::find::find_module;
use crate::cli::output;
use crate::cli::runner::cache_of_user;
use crate::cli::settings::{self, Settings};
use crate::cli::signals::{self, SignalWatch};

/// Bytes of modules that are remembered; more are forgotten, and read again when they are asked for again.
const MAX_REMEMBERED: usize = 256 << 20;

/// Setups that are remembered, so that jobs with the same module and grants find the same worker.
const MAX_SETUPS: usize = 1024;

/// Bytes of reports that are written at once; they are written at the latest when the batch waits for something.
const OUTPUT: usize = 64 << 10;

/// How often the progress is drawn.
const DRAW_EVERY: Duration = Duration::from_millis(100);

/// Runs the jobs of standard input.
pub(crate) fn run(context: &Context, args: &BatchArgs) -> Result<ExitStatus, Failure> {
    let environment = &context.environment;
    let settings = Settings::load(environment, &args.grants, &args.limits).or_usage()?;
    let Effective { policy, limits, .. } = settings.for_every_module().or_usage()?;
    if policy.allows_everything() {
        output::print_note("--allow-all: the modules can do everything that you can");
    }
    let audit = Audit::open(&policy)?;
    let mut host = JobHost {
        context,
        audit,
        args,
        settings,
        policy,
        limits,
        modules: HashMap::new(),
        remembered: 0,
        rounds: 0,
        setups: Vec::new(),
        bar: progress_bar(),
        drawn: Instant::now(),
    };
    let jobs = match args.jobs {
        Some(jobs) => usize::try_from(jobs).unwrap_or(usize::MAX),
        None => std::thread::available_parallelism().map_or(1, usize::from),
    };
    let python = settings::python(environment, &args.python.module_utils, args.python.ansiballz).or_usage()?;
    let config = BatchConfig {
        jobs,
        ordered: args.ordered,
        program: PathBuf::from(modbox_native::THIS_BINARY),
        surroundings: Surroundings {
            cache_dir: cache_of_user(context).map(|cache| cache.dir().to_owned()),
            temp_dir: environment.temp_dir.clone(),
            directory: environment.cwd.clone(),
            environment: environment.variables.clone(),
            python,
        },
        cleanup: context.cleanup.clone(),
    };
    let stdin = io::stdin();
    let is_directory = |stat: &rustix::fs::Stat| FileType::from_raw_mode(stat.st_mode).is_dir();
    if rustix::fs::fstat(&stdin).is_ok_and(|stat| is_directory(&stat)) {
        return Err(anyhow!("standard input is a directory; jobs come as JSON lines, from a file or a pipe"))
            .or_usage();
    }
    let stop = context.signals.stop_gracefully().or_internal()?;
    let batch = Batch::new(config, &mut host, BufWriter::with_capacity(OUTPUT, io::stdout().lock()));
    let ended = batch.run(stdin.as_fd(), stop.as_fd());
    if let Some(bar) = &host.bar {
        bar.finish_and_clear();
    }
    let summary = ended.or_internal()?;
    if summary.unaudited > 0 {
        output::print_note(&format!("{} jobs ran and are missing in an audit file", summary.unaudited));
    }
    if summary.stopped {
        say_what_did_not(&summary);
        signals::end_as_stopped(&context.signals);
    }
    Ok(match (summary.unaudited, summary.progress.failed) {
        (0, 0) => ExitStatus::Success,
        (0, _) => ExitStatus::Failed,
        _ => ExitStatus::Internal,
    })
}

fn say_what_did_not(summary: &Summary) {
    let Summary { progress, cancelled, .. } = summary;
    output::print_note(&format!(
        "told to stop: {} jobs ran, {cancelled} were read and not begun, the rest of the input was not read",
        progress.answered - cancelled
    ));
}

struct JobHost<'a> {
    context: &'a Context,
    audit: Audit,
    args: &'a BatchArgs,
    settings: Settings,
    /// What holds for a module without rules of its own.
    policy: Policy,
    limits: Limits,
    /// By the word that a job names them with, then by the kind.
    modules: HashMap<PathBuf, HashMap<Option<String>, Known>>,
    remembered: usize,
    /// How often lines were taken in. Those that are taken in together were all written before the first of them is
    /// looked at, and so were the files that they name.
    rounds: u64,
    setups: Vec<Arc<Setup>>,
    bar: Option<ProgressBar>,
    drawn: Instant,
}

/// A module that was read, and the state of its file then.
struct Known {
    path: PathBuf,
    fingerprint: FileFingerprint,
    /// The round in which the fingerprint was last compared.
    looked: u64,
    module: Arc<Module>,
}

/// Returns the state of a module's file; `None` when there is none.
fn fingerprint(path: &Path) -> Option<FileFingerprint> {
    fs::metadata(path).ok().map(|file| FileFingerprint::from(&file))
}

impl JobHost<'_> {
    fn module(&mut self, job: &Job) -> Result<Arc<Module>, String> {
        let known = self.modules.get_mut(&job.module).and_then(|kinds| kinds.get_mut(&job.options.kind));
        if let Some(known) = known
            && (known.looked == self.rounds || fingerprint(&known.path) == Some(known.fingerprint))
        {
            known.looked = self.rounds;
            return Ok(Arc::clone(&known.module));
        }
        let found = find_module(self.context, &job.module, &self.args.lookup.module_path);
        let path = found.map_err(|failure| format!("{:#}", failure.error))?;
        let missing = || format!("there is no module file `{}`", path.display());
        let fingerprint = fingerprint(&path).ok_or_else(missing)?;
        let file = locate::read(&path).map_err(|error| format!("{:#}", anyhow::Error::from(error)))?;
        self.remembered += file.bytes.len();
        if self.remembered > MAX_REMEMBERED {
            self.modules.clear();
            self.setups.clear();
            self.remembered = file.bytes.len();
        }
        let module = Arc::new(Module::new(file, job.kind()?));
        let known = Known { path, fingerprint, looked: self.rounds, module: Arc::clone(&module) };
        self.modules.entry(job.module.clone()).or_default().insert(job.options.kind.clone(), known);
        Ok(module)
    }

    fn grants(&self, job: &Job, module: &Module) -> Result<(Policy, Limits), String> {
        let (none, unlimited) = (FileRules::default(), LimitOverrides::default());
        let rules = job.options.policy.as_ref().unwrap_or(&none);
        let limits = job.options.limits.as_ref().unwrap_or(&unlimited);
        let effective = self.settings.for_job(&job.name(), module.digest(), rules, limits);
        effective.map(|effective| (effective.policy, effective.limits)).map_err(|error| format!("{error:#}"))
    }

    fn set_up(&mut self, job: &Job) -> Result<Arc<Setup>, String> {
        let module = self.module(job)?;
        let own = job.options.policy.is_some() || job.options.limits.is_some() || self.settings.has_module_rules();
        let granted = if own { Some(self.grants(job, &module)?) } else { None };
        let (policy, limits) =
            granted.as_ref().map_or((&self.policy, &self.limits), |(policy, limits)| (policy, limits));
        // A worker is confined to its grants for good, so what the arguments name has to be among them.
        let environment = &self.context.environment;
        let policy = settled_policy(&module, policy, &job.args, &environment.cwd, &environment.variables);
        let same = |setup: &&Arc<Setup>| {
            Arc::ptr_eq(&setup.module, &module) && setup.limits == *limits && setup.policy == *policy
        };
        if let Some(setup) = self.setups.iter().find(same) {
            return Ok(Arc::clone(setup));
        }
        let (policy, limits) = (policy.into_owned(), *limits);
        let audit = self.audit.of_job(&policy).map_err(|error| modbox_vocabulary::error_chain(&error))?;
        let setup = Arc::new(Setup { module, kind: job.options.kind.clone(), policy, limits, audit });
        if self.setups.len() >= MAX_SETUPS {
            self.setups.clear();
        }
        self.setups.push(Arc::clone(&setup));
        Ok(setup)
    }
}

impl Host for JobHost<'_> {
    fn resolve(&mut self, job: &Job) -> Result<Arc<Setup>, String> {
        self.set_up(job).map_err(|message| self.audit.job_not_run(&job.module, message))
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

/// A bar over the bytes of a file, a spinner over a stream of unknown length; nothing when nobody looks.
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

/// Is a worker of a batch, on standard input and output.
pub(crate) fn worker(cleanup: &Cleanup, signals: SignalWatch) -> anyhow::Result<()> {
    let threads = Arc::new(ThisProcess::new(signals, None));
    let serve = crate::batch::worker::serve(io::stdin().lock(), io::stdout().lock(), cleanup.clone(), threads);
    serve.context("failed to serve the batch")
}

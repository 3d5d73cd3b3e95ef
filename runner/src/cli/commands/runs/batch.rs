//! `modbox batch`: runs many jobs in warm processes; reads jobs as JSON lines, and writes reports as JSON lines.

use std::io::{self, BufWriter, IsTerminal};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::anyhow;
use indicatif::{ProgressBar, ProgressStyle};
use modbox_contract::Release;
use modbox_overlay::commit::Origin;
use modbox_run::batch::{Batch, BatchConfig, Host, Job, PoolConfig, Progress, ResolvedJob, Summary};
use rustix::fs::FileType;

use crate::cli::ansible::installed_release::installed;
use crate::cli::args::BatchArgs;
use crate::cli::context::Context;
use crate::cli::exit::{ExitStatus, Failure, OrExit};
use crate::cli::job_resolver::JobResolver;
use crate::cli::named::find::Lookup;
use crate::cli::printing::output;
use crate::cli::process::signals;
use crate::cli::runner::runner;
use crate::cli::settings::Settings;

/// Size of the output buffer in bytes. The buffer is flushed whenever the batch waits.
const OUTPUT: usize = 64 << 10;

/// Minimum time between two updates of the progress bar.
const DRAW_EVERY: Duration = Duration::from_millis(100);

/// Runs the jobs on standard input.
pub(crate) fn run(context: &Context, args: &BatchArgs) -> Result<ExitStatus, Failure> {
    let environment = &context.environment;
    args.grants.refuse_outside().or_usage()?;
    let settings = Settings::load(environment, &args.grants, &args.limits).or_usage()?;
    if settings.for_every_module().or_usage()?.policy.allows_everything() {
        output::print_note("--allow-all: the modules can do everything that you can");
    }
    let lookup =
        Lookup::of_run(context, &args.lookup, &args.grants.policy, &args.python.module_utils, args.python.ansiballz)?;
    let origin = origin(args, &settings).or_usage()?;
    let release = installed(environment, &lookup);
    let runner = Arc::new(runner(context, None, lookup.python.clone()));
    let resolver = JobResolver::new(context, Arc::clone(&runner), lookup, Arc::new(settings))?.with_origin(origin);
    let mut host = JobHost { resolver, release, bar: progress_bar(), drawn: Instant::now() };
    let jobs = match args.jobs {
        Some(jobs) => usize::try_from(jobs).unwrap_or(usize::MAX),
        None => std::thread::available_parallelism().map_or(1, usize::from),
    };
    let config = BatchConfig {
        ordered: args.ordered,
        pool: PoolConfig {
            jobs,
            runner: Arc::clone(&runner),
            workers: context.workers.clone(),
            cleanup: context.cleanup.clone(),
        },
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

/// Returns whose what the jobs commit is.
fn origin(args: &BatchArgs, settings: &Settings) -> anyhow::Result<Origin> {
    let Some(name) = &args.origin else { return Ok(Origin::Person) };
    Ok(Origin::caller(name, &settings.digest())?)
}

fn print_stop_summary(summary: &Summary) {
    let Summary { progress, cancelled, .. } = summary;
    output::print_note(&format!(
        "stopped by a signal: {} jobs ran, {cancelled} were read but not started, the rest of the input was not read",
        progress.answered - cancelled
    ));
}

struct JobHost<'a> {
    resolver: JobResolver<'a>,
    release: Release,
    bar: Option<ProgressBar>,
    drawn: Instant,
}

impl Host for JobHost<'_> {
    fn resolve(&mut self, job: &Job) -> Result<ResolvedJob, String> {
        self.resolver.resolve(job)
    }

    fn release(&self) -> Release {
        self.release
    }

    fn progress(&mut self, progress: &Progress) {
        // All lines of one round were written before the first of them is handled, and so were the module files that they
        // name.
        self.resolver.begin_round();
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

//! `modbox run`: one module, once.

use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use clap::ArgMatches;
use indicatif::{ProgressBar, ProgressStyle};

use crate::cli::args::{OutputFormat, RunArgs};
use crate::cli::audit::Audit;
use crate::cli::commands::{build, cache, job};
use crate::cli::confine::ThisProcess;
use crate::cli::exit::{ExitStatus, Failure, OrExit};
use crate::cli::settings::{self, Settings};
use crate::cli::{Context, output};
use crate::contract::{Dict, InternalArgs, Told, Value, args};
use crate::run::{Arguments, Module, PythonConfig, Report, RunRequest, Runner, RunnerConfig, locate};
use crate::sandbox::native;
use crate::sandbox::wasm::Instances;

/// Characters of `--args` that an error quotes.
const MAX_QUOTED: usize = 80;

/// One thing that gives arguments, in the order of the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ArgumentSource {
    /// The n-th `KEY=VALUE`.
    Pair(usize),
    /// The n-th `--args`.
    Args(usize),
}

/// Returns in which order arguments were given, so that the later one can win.
pub(crate) fn argument_order(matches: &ArgMatches) -> Vec<ArgumentSource> {
    let indices = |id| matches.indices_of(id).into_iter().flatten().enumerate();
    let pairs = indices("pairs").map(|(n, index)| (index, ArgumentSource::Pair(n)));
    let typed = indices("args").map(|(n, index)| (index, ArgumentSource::Args(n)));
    let mut order: Vec<_> = pairs.chain(typed).collect();
    order.sort_by_key(|(index, _)| *index);
    order.into_iter().map(|(_, source)| source).collect()
}

/// Runs a module and prints its result; or starts a job that does, and prints what it is called.
pub(crate) fn run(
    context: &Context,
    args: &RunArgs,
    order: &[ArgumentSource],
    argv: &[OsString],
) -> Result<ExitStatus, Failure> {
    let format = args.output.unwrap_or_else(|| match io::stdout().is_terminal() {
        true => OutputFormat::Human,
        false => OutputFormat::Result,
    });
    let task = task_args(&args.pairs, &args.args, order).or_usage()?;
    if args.grants.allow_all {
        output::print_note("--allow-all: the module can do everything that you can");
    }
    if let Some(limit) = args.background {
        return job::start(context, args, &task, limit, argv, format);
    }
    let spinner = (format == OutputFormat::Human && io::stderr().is_terminal()).then(compile_spinner);
    let (report, audited) = perform(context, args, task, spinner)?;
    let status = show(context, &report, format, args)?;
    audited.map(|()| status)
}

/// Runs a module. Returns the report, and whether the run is in the audit log.
pub(crate) fn perform(
    context: &Context,
    args: &RunArgs,
    task: Dict,
    spinner: Option<ProgressBar>,
) -> Result<(Report, Result<(), Failure>), Failure> {
    let settings = Settings::load(&context.environment, &args.grants, &args.limits).or_usage()?;
    let python = settings::python(&context.environment, &args.python.module_utils, args.python.ansiballz).or_usage()?;
    let interpreters = settings::interpreters(&context.environment, &args.interpreter).or_usage()?;
    let told = args.told.resolve().or_usage()?;
    let audit = Audit::open(&settings.for_every_module().or_usage()?.policy)?;
    let found = find(context, &args.module, &args.lookup.module_path);
    let cache = cache::of_user(context);
    let open = |path: PathBuf| Module::open(&path, args.kind, cache.as_ref(), &context.cleanup).or_unavailable();
    let module = audit.loaded(&args.module, found.and_then(open))?;
    tracing::debug!(file = %module.path().display(), bytes = module.size(), "found the module");
    let name = module_name(&args.module);
    let mut effective = settings.for_module(&name, module.digest()).or_usage()?;
    audit.check(&effective.policy)?;
    if let Some(limit) = args.background {
        // It speaks of the same time as `--timeout`: of the two switches, the stricter one.
        effective.limits.timeout = args.limits.timeout.map_or(limit, |timeout| timeout.min(limit));
    }
    let request = RunRequest {
        name: &name,
        arguments: Arguments::Task { args: task, internal: Box::new(internal_args(args, &told, &name)) },
        policy: &effective.policy,
        limits: &effective.limits,
        interpreters: &interpreters,
        last_json_line: args.last_json_line,
        stdin_args: args.stdin_args,
        keep_files: args.keep_files,
        pipelining: !args.no_pipelining,
    };
    let pending = audit.start(context, &module, &request)?;
    let runner = runner(context, spinner.clone(), python);
    let report = runner.run(&module, &request);
    // The process ends soon; taking engine and code apart before would only make it end later.
    std::mem::forget((runner, module));
    if let Some(spinner) = spinner {
        spinner.finish_and_clear();
    }
    let audited = pending.finish(&report);
    Ok((report, audited))
}

fn show(context: &Context, report: &Report, format: OutputFormat, args: &RunArgs) -> Result<ExitStatus, Failure> {
    if context.cleanup.is_ending() {
        // A signal is ending us; what was cut short by it is no result.
        return Ok(ExitStatus::Internal);
    }
    if args.verbose > 0 || format == OutputFormat::Human {
        for note in &report.notes {
            output::print_note(note);
        }
    }
    if args.keep_files
        && format == OutputFormat::Result
        && let Some(path) = &report.kept_files
    {
        output::print_note(&format!("files kept in {path}"));
    }
    output::print_report(report, format, args.no_log, args.verbose).or_internal()?;
    Ok(report.into())
}

/// Makes the runner of this process.
pub(crate) fn runner(context: &Context, spinner: Option<ProgressBar>, python: PythonConfig) -> Runner {
    let environment = &context.environment;
    Runner::new(RunnerConfig {
        cache: cache::of_user(context),
        temp_dir: environment.temp_dir.clone(),
        directory: environment.cwd.clone(),
        environment: environment.variables.clone(),
        python,
        cleanup: context.cleanup.clone(),
        confine: Some(Arc::new(ThisProcess::new(context.signals.clone(), spinner.clone()))),
        worker: Some(PathBuf::from(native::THIS_BINARY)),
        instances: Instances::OnDemand,
        watched: true,
        on_compile: spinner.map(|spinner| -> Arc<dyn Fn() + Send + Sync> {
            Arc::new(move || spinner.enable_steady_tick(Duration::from_millis(100)))
        }),
    })
}

fn compile_spinner() -> ProgressBar {
    let spinner = ProgressBar::new_spinner().with_message("compiling the module (once; it is cached)");
    spinner.with_style(ProgressStyle::default_spinner())
}

/// Finds a module's file, and builds it first when it is a crate whose component is stale.
pub(crate) fn find(context: &Context, module: &Path, module_path: &[PathBuf]) -> Result<PathBuf, Failure> {
    let library = settings::library(&context.environment, module_path);
    match locate::locate(module, &library).or_unavailable()? {
        locate::Located::File(path) => Ok(path),
        locate::Located::Crate(dir) => build::if_stale(context, &dir),
    }
}

/// The module's name: what was asked for, without folder and extension.
pub(crate) fn module_name(module: &Path) -> String {
    let name = module.is_dir().then(|| module.canonicalize().ok()).flatten().unwrap_or_else(|| module.to_owned());
    name.file_stem().unwrap_or(name.as_os_str()).to_string_lossy().into_owned()
}

fn internal_args(args: &RunArgs, told: &Told, name: &str) -> InternalArgs {
    let told = told.internal_args(name);
    InternalArgs {
        check_mode: args.check,
        diff: args.diff,
        verbosity: args.verbose.into(),
        no_log: args.no_log || told.no_log,
        keep_remote_files: args.keep_files,
        ..told
    }
}

/// Reads and merges arguments in the order in which they were given.
///
/// # Errors
///
/// Arguments of neither form, that cannot be read, or with keys of the runner's.
pub(crate) fn task_args(pairs: &[OsString], typed: &[OsString], order: &[ArgumentSource]) -> anyhow::Result<Dict> {
    let mut merged = Dict::new();
    for source in order {
        let given = match source {
            ArgumentSource::Pair(n) => Dict::from_iter([args::parse_pair(pairs[*n].as_bytes())?]),
            ArgumentSource::Args(n) => {
                typed_args(&typed[*n]).with_context(|| format!("wrong arguments `--args {}`", shortened(&typed[*n])))?
            }
        };
        args::merge(&mut merged, given);
    }
    args::check_not_reserved(&merged)?;
    Ok(merged)
}

/// What stands in an error: a whole document would hide what is wrong with it.
fn shortened(args: &OsStr) -> String {
    let text = args.to_string_lossy();
    match text.char_indices().nth(MAX_QUOTED) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text.into_owned(),
    }
}

/// Reads JSON, or YAML where that fails, from the switch itself, a file or standard input.
fn typed_args(source: &OsStr) -> anyhow::Result<Dict> {
    let bytes = match source.as_bytes() {
        b"-" => {
            settings::read_stream(io::stdin().lock(), settings::MAX_ARGS).context("failed to read standard input")?
        }
        [b'@', path @ ..] => {
            let path = Path::new(OsStr::from_bytes(path));
            settings::read_bounded(path, settings::MAX_ARGS)
                .with_context(|| format!("failed to read `{}`", path.display()))?
        }
        text => text.to_vec(),
    };
    let text = String::from_utf8(bytes).ok().context("the arguments are not UTF-8")?;
    let value = match crate::contract::decode(&text) {
        Ok(value) => value,
        Err(json_error) => serde_saphyr::from_str::<Value>(&text).map_err(|yaml_error| {
            anyhow::anyhow!("neither JSON ({json_error}) nor YAML ({})", yaml_error.without_snippet())
        })?,
    };
    match value {
        Value::Dict(dict) => Ok(dict),
        Value::Null => anyhow::bail!("the arguments are empty; `{{}}` is a dict without any"),
        other => anyhow::bail!("the arguments must be a dict, not `{}`", other.type_name()),
    }
}

//! Does one run with the switches of `modbox run`, and returns its report.

use std::borrow::Cow;
use std::path::PathBuf;

use indicatif::ProgressBar;
use modbox_contract::{CallerChoices, Dict, InternalArgs};

use crate::app::{Arguments, Module, Report, RunRequest};
use crate::cli::args::RunArgs;
use crate::cli::audit::Audit;
use crate::cli::context::Context;
use crate::cli::exit::{Failure, OrExit};
use crate::cli::find::{find_or_build_module, module_name};
use crate::cli::runner::{cache_of_user, runner};
use crate::cli::settings::{self, Settings};

/// Runs a module. Returns the report, and the error if the audit line could not be written.
pub(crate) fn perform(
    context: &Context,
    args: &RunArgs,
    task: Dict,
    spinner: Option<ProgressBar>,
) -> Result<(Report, Result<(), Failure>), Failure> {
    let settings = Settings::load(&context.environment, &args.grants, &args.limits).or_usage()?;
    let python = settings::python(&context.environment, &args.python.module_utils, args.python.ansiballz).or_usage()?;
    let interpreters = settings::interpreters(&context.environment, &args.interpreter).or_usage()?;
    let internal = args.internal.resolve().or_usage()?;
    let audit = Audit::open(&settings.for_every_module().or_usage()?.policy)?;
    let found = find_or_build_module(context, &args.module, &args.lookup.module_path);
    let cache = cache_of_user(context);
    let open = |path: PathBuf| Module::open(&path, args.kind, cache.as_ref(), &context.cleanup).or_unavailable();
    let module = audit.loaded(&args.module, found.and_then(open))?;
    tracing::debug!(file = %module.path().display(), bytes = module.size(), "found the module");
    let name = module_name(&args.module);
    let mut effective = settings.for_module(&name, module.digest()).or_usage()?;
    audit.check(&effective.policy)?;
    if let Some(limit) = args.background {
        // `--async` and `--timeout` limit the same time; the smaller value applies.
        effective.limits.timeout = args.limits.timeout.map_or(limit, |timeout| timeout.min(limit));
    }
    let request = RunRequest {
        name: &name,
        arguments: Cow::Owned(Arguments::Task {
            args: task,
            internal: Box::new(internal_args(args, &internal, &name)),
        }),
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
    // With the runner goes what it keeps for a next run on the disk.
    drop(runner);
    if let Some(spinner) = spinner {
        spinner.finish_and_clear();
    }
    let audited = pending.finish(&report);
    Ok((report, audited))
}

fn internal_args(args: &RunArgs, internal: &CallerChoices, name: &str) -> InternalArgs {
    let defaults = internal.internal_args(name);
    InternalArgs {
        check_mode: args.check,
        diff: args.diff,
        verbosity: args.verbose.into(),
        no_log: args.no_log || defaults.no_log,
        keep_remote_files: args.keep_files,
        ..defaults
    }
}

//! Does one run with the switches of `modbox run`, and returns its report.

use std::borrow::Cow;
use std::path::Path;

use anyhow::Context as _;
use indicatif::ProgressBar;
use modbox_contract::{CallerChoices, Dict, InternalArgs};
use modbox_files::read_file;
use modbox_run::library::FoundModule;
use modbox_run::{Arguments, Module, Report, RunRequest, Runner, Scrutiny};
use modbox_vocabulary::HttpStub;

use crate::cli::ansible::installed_release::installed;
use crate::cli::args::RunArgs;
use crate::cli::audit::Audit;
use crate::cli::context::Context;
use crate::cli::exit::{Failure, OrExit};
use crate::cli::identity::Identity;
use crate::cli::layered;
use crate::cli::named::find::Lookup;
use crate::cli::process::become_user;
use crate::cli::runner::{cache_of_user, runner};
use crate::cli::settings::{ModuleIdentity, Settings};

/// Most bytes of a file with answers to HTTP requests.
const MAX_STUB: u64 = 64 << 20;

/// Runs a module. Returns the report, and the error if the audit line could not be written.
pub(crate) fn perform(
    context: &Context,
    args: &RunArgs,
    task: Dict,
    spinner: Option<ProgressBar>,
) -> Result<(Report, Result<(), Failure>), Failure> {
    perform_by(context, args, task, spinner, layered::way(context, args)?)
}

/// Does the same with another way of running the module.
pub(crate) fn perform_by(
    context: &Context,
    args: &RunArgs,
    task: Dict,
    spinner: Option<ProgressBar>,
    run: impl FnOnce(&Runner, &Module, &RunRequest<'_>) -> Report,
) -> Result<(Report, Result<(), Failure>), Failure> {
    let settings = Settings::load(&context.environment, &args.grants, &args.limits).or_usage()?;
    let lookup =
        Lookup::of_run(context, &args.lookup, &args.grants.policy, &args.python.module_utils, args.python.ansiballz)?;
    let internal = args.internal.resolve(|| installed(&context.environment, &lookup)).or_usage()?;
    let mut general = settings.for_every_module().or_usage()?.policy;
    let audit = Audit::open(&general)?;
    let user = audit.loaded(&args.module, become_user::resolve(args.become_user.as_deref()))?;
    let found = audit.loaded(&args.module, lookup.find_or_build(context, &args.module))?;
    let cache = cache_of_user(context);
    let opened = Module::open(&found.path, args.kind, cache.as_ref(), &context.cleanup);
    let module = audit.loaded(&args.module, opened.or_unavailable())?;
    tracing::debug!(file = %module.path().display(), bytes = module.size(), "found the module");
    let FoundModule { name, task_name, deprecations, .. } = found;
    let runner = runner(context, spinner.clone(), lookup.python);
    become_user::apply(&mut general, user.clone(), &context.environment);
    let identity = Identity::of(&runner, &module, &name, &lookup.interpreters, &general);
    let known = ModuleIdentity::of(&name, &module, &identity);
    if args.grants.answered.iter().any(|grant| known.digest() != Some(grant.digest.as_str())) {
        let shown = module.path().display();
        return Err(anyhow::anyhow!(
            "`{shown}` has changed since it was asked about, and was not run again; nothing was changed"
        ))
        .or_unavailable();
    }
    let mut effective = settings.for_module(known).or_usage()?;
    audit.check(&effective.policy)?;
    become_user::apply(&mut effective.policy, user, &context.environment);
    if let Some(limit) = args.background {
        // `--async` and `--timeout` limit the same time; the smaller value applies.
        effective.limits.timeout = args.limits.timeout.map_or(limit, |timeout| timeout.min(limit));
    }
    let stub = args.stub.http_stub.as_deref().map(read_stub).transpose().or_usage()?;
    let request = RunRequest {
        name: &name,
        arguments: Cow::Owned(Arguments::Task {
            args: task,
            internal: Box::new(internal_args(args, &internal, &task_name)),
        }),
        secrets: &args.secret,
        given_secrets: None,
        origins: &[],
        policy: &effective.policy,
        limits: &effective.limits,
        interpreters: &lookup.interpreters,
        last_json_line: args.last_json_line,
        stdin_args: args.stdin_args,
        keep_files: args.keep_files,
        pipelining: !args.no_pipelining,
        open_files: 0,
        http: stub.as_ref(),
        scrutiny: Scrutiny::default(),
    };
    let pending = audit.start(context, &module, &request)?;
    let mut report = run(&runner, &module, &request);
    report.notes.extend(deprecations);
    // With the runner goes what it keeps for a next run on the disk.
    drop(runner);
    if let Some(spinner) = spinner {
        spinner.finish_and_clear();
    }
    let audited = pending.finish(&report);
    Ok((report, audited))
}

fn read_stub(path: &Path) -> anyhow::Result<HttpStub> {
    let text = read_file(path, MAX_STUB).with_context(|| format!("failed to read `{}`", path.display()))?;
    serde_json::from_slice(&text).with_context(|| format!("failed to read `{}`", path.display()))
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

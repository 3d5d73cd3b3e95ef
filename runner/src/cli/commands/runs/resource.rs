//! `modbox resource`: lists providers of libral, and finds, lists and updates their resources.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use modbox_policy::{MergedPolicy, Policy};
use modbox_providers::{Text, parse_given};
use modbox_run::{
    Answer, Catalogue, Module, Provider, PythonConfig, Report, ResourceRequest, RunRequest, Runner, lens_grants,
    locate, provider_files,
};
use modbox_vocabulary::User;

use crate::cli::args::ResourceArgs;
use crate::cli::audit::Audit;
use crate::cli::context::Context;
use crate::cli::exit::{ExitStatus, Failure, OrExit, error_words};
use crate::cli::folders::data_dirs::{data_dirs, lenses};
use crate::cli::identity::Identity;
use crate::cli::printing::output;
use crate::cli::printing::resource_output::{Printer, Subject};
use crate::cli::process::become_user;
use crate::cli::runner::runner;
use crate::cli::settings::{self, ModuleIdentity, Settings};

/// Does what the words of the command line ask for.
pub(crate) fn run(context: &Context, args: &ResourceArgs) -> Result<ExitStatus, Failure> {
    let printer = Printer::new(args.output, args.compat).or_usage()?;
    let session = Session::start(context, args)?;
    let catalogue = session.catalogue()?;
    for problem in &catalogue.problems {
        output::print_note(&format!("left out the provider `{}`: {}", problem.path.display(), problem.message));
    }
    let Some(wanted) = &args.provider else {
        if catalogue.providers.is_empty() && catalogue.problems.is_empty() {
            output::print_note("no provider was found; name its folder with `--include` or `--data-dir`");
        }
        return printer.providers(&catalogue);
    };
    let provider = match catalogue.select(wanted) {
        Ok(provider) => provider,
        Err(error) => return printer.unknown_provider(wanted, error),
    };
    if args.explain {
        return printer.explanation(provider);
    }
    let ended = match &args.name {
        None => session.list(provider, &printer),
        Some(name) if args.attributes.is_empty() => session.find(provider, name.as_bytes(), &printer),
        Some(name) => session.update(provider, name.as_bytes(), &printer),
    }?;
    let has_errors = catalogue.problems.iter().any(|problem| problem.is_error);
    Ok(printer.status_with_problems(ended, has_errors))
}

/// One use of the command: its settings, and the runner of actions.
struct Session<'a> {
    context: &'a Context,
    args: &'a ResourceArgs,
    settings: Settings,
    interpreters: BTreeMap<String, String>,
    audit: Audit,
    runner: Runner,
    data_dirs: Vec<PathBuf>,
    /// User that the provider runs as, if not the one who runs modbox.
    user: Option<User>,
}

impl<'a> Session<'a> {
    fn start(context: &'a Context, args: &'a ResourceArgs) -> Result<Self, Failure> {
        let settings = Settings::load(&context.environment, &args.grants, &args.limits).or_usage()?;
        let audit = Audit::open(&settings.for_every_module().or_usage()?.policy)?;
        if args.grants.allow_all {
            let check = if args.check { ", also with --check" } else { "" };
            output::print_note(&format!("--allow-all: the provider can do everything that you can{check}"));
        }
        Ok(Self {
            interpreters: settings::interpreters(&context.environment, &args.interpreter).or_usage()?,
            runner: runner(context, None, PythonConfig::default()),
            user: become_user::resolve(args.become_user.as_deref())?,
            data_dirs: data_dirs(&context.environment, &args.providers, &[]),
            context,
            args,
            settings,
            audit,
        })
    }

    /// Loads all providers. What a rule grants to one of them does not count yet.
    fn catalogue(&self) -> Result<Catalogue, Failure> {
        let merged = self.settings.for_every_module().or_usage()?;
        let (files, problems) = provider_files(&self.data_dirs);
        for problem in problems {
            output::print_note(&error_words(&anyhow::Error::from(problem)));
        }
        let files: Vec<PathBuf> = files.into_iter().filter(|path| self.may_run(path)).collect();
        Ok(self.runner.catalogue(&files, &self.request(&merged)))
    }

    /// Returns whether the trust rules let a provider run at all; prints why not.
    fn may_run(&self, path: &Path) -> bool {
        let refusals = self.settings.refusals(path, || self.identity_of(path));
        for refusal in &refusals {
            output::print_note(&format!("the provider `{}` is left out: {refusal}", path.display()));
        }
        refusals.is_empty()
    }

    /// Identifies a provider by its file and the metadata beside it.
    fn identity_of(&self, path: &Path) -> anyhow::Result<Identity> {
        let module = Module::new(locate::read(path)?, None);
        Ok(self.identity(&module, "", &self.settings.for_every_module()?.policy))
    }

    fn identity(&self, module: &Module, name: &str, policy: &Policy) -> Identity {
        Identity::of(&self.runner, module, name, &self.interpreters, policy)
    }

    fn request<'r>(&'r self, merged: &'r MergedPolicy) -> ResourceRequest<'r> {
        let (policy, limits) = (&merged.policy, &merged.limits);
        ResourceRequest { policy, limits, interpreters: &self.interpreters, check: self.args.check }
    }

    /// Returns the policy and the limits for a provider.
    fn merged(&self, provider: &Provider) -> Result<MergedPolicy, Failure> {
        let name = provider.qualified_name();
        let general = self.settings.for_every_module().or_usage()?.policy;
        let identity = self.identity(&provider.module, &name, &general);
        let known = ModuleIdentity::of(&name, &provider.module, &identity);
        let mut merged = self.settings.for_module(known).or_usage()?;
        become_user::apply(&mut merged.policy, self.user.clone(), &self.context.environment);
        lens_grants(&mut merged.policy, &self.data_dirs, lenses(&self.context.environment));
        self.audit.check(&merged.policy)?;
        Ok(merged)
    }

    /// Makes one audited run.
    fn act(&self, module: &Module, request: &RunRequest<'_>) -> Result<Report, Failure> {
        let pending = self.audit.start(self.context, module, request)?;
        let report = self.runner.run(module, request);
        pending.finish(&report).map(|()| report)
    }

    fn list(&self, provider: &Provider, printer: &Printer) -> Result<ExitStatus, Failure> {
        let merged = self.merged(provider)?;
        let answer = provider.list(&self.request(&merged), &mut |module, request| self.act(module, request))?;
        self.unless_ending(|| printer.list(&Subject::new(provider, self.args.check), &answer))
    }

    fn find(&self, provider: &Provider, name: &[u8], printer: &Printer) -> Result<ExitStatus, Failure> {
        let merged = self.merged(provider)?;
        let name = Text::from_bytes(name);
        let request = self.request(&merged);
        let answer = provider.find(&request, &name, &mut |module, request| self.act(module, request))?;
        self.unless_ending(|| printer.find(&Subject::new(provider, self.args.check), &name, &answer, self.args.absent))
    }

    fn update(&self, provider: &Provider, name: &[u8], printer: &Printer) -> Result<ExitStatus, Failure> {
        let words = self.args.attributes.iter().map(|word| Text::from_bytes(word.as_bytes()));
        let should = match parse_given(&provider.metadata, &words.collect::<Vec<_>>()) {
            Ok(should) => should,
            Err(error) => return printer.wrong_attribute(provider, error),
        };
        let merged = self.merged(provider)?;
        let name = Text::from_bytes(name);
        let request = self.request(&merged);
        let answer: Answer<_> =
            provider.update(&request, &name, &should, &mut |module, request| self.act(module, request))?;
        self.unless_ending(|| printer.update(&Subject::new(provider, self.args.check), &answer))
    }

    /// Prints an answer, unless a signal is ending the process: the answer is incomplete then.
    fn unless_ending(&self, print: impl FnOnce() -> Result<ExitStatus, Failure>) -> Result<ExitStatus, Failure> {
        if self.context.cleanup.is_ending() { Ok(ExitStatus::Internal) } else { print() }
    }
}

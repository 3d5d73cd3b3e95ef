//! Runs the modules of tasks, one at a time, in warm processes.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use modbox_argument_spec::Secrets;
use modbox_contract::{Value, encode};
use modbox_policy::Policy;
use modbox_run::batch::{Ended, Job, ResolvedJob, Sequence};
use modbox_run::library::FoundModule;
use modbox_run::{Admission, PythonConfig, Report};
use modbox_tasks::run::host::PrivateFile;
use modbox_vocabulary::Capability;

use crate::cli::args::Preference;
use crate::cli::asking::session::Session;
use crate::cli::context::Context;
use crate::cli::exit::error_words;
use crate::cli::job_resolver::{JobResolver, TaskRules};
use crate::cli::layered_play::SharedLayeredPlay;
use crate::cli::named::standard;
use crate::cli::play::files::tree::PlayTree;
use crate::cli::play::learning::SharedLearning;
use crate::cli::play::task_modules::choice::{Choice, ChoiceNotes};
use crate::cli::play::task_modules::implied_needs;
use crate::cli::play::task_modules::names::{Candidates, ModuleNames, OwnModule};
use crate::cli::play::task_modules::proven;
use crate::cli::play::task_modules::requested_run::{NamedInterpreters, RequestedRun};
use crate::cli::play::task_modules::task_job::{JobFile, TaskJob};
use crate::cli::play::task_modules::task_start::{NotRun, TaskStart};
use crate::cli::surroundings::Surroundings;

/// A run whose module and grants were found.
pub(super) struct ReadyRun {
    pub(super) job: Job,
    pub(super) resolved: ResolvedJob,
    pub(super) found: FoundModule,
    notes: ChoiceNotes,
}

/// Runner of the modules of tasks.
pub(crate) struct TaskModules<'a> {
    pub(super) context: &'a Context,
    pub(super) resolver: JobResolver<'a>,
    sequence: Sequence,
    tree: Arc<PlayTree>,
    /// Whether components are built that are needed and not there.
    pub(super) builds: bool,
    preference: Preference,
    surroundings: Surroundings,
    /// modbox's own modules that were looked for, and the reason if there is no component.
    own: HashMap<String, Result<FoundModule, String>>,
    pub(super) learning: Option<SharedLearning>,
    /// The play on layers, if it is one.
    layered: Option<SharedLayeredPlay<'a>>,
    /// The questions for what modules lack, if a person is asked.
    pub(super) asking: Option<Session<'a>>,
    /// All interpreters, by those that a task names.
    interpreters: HashMap<NamedInterpreters, Arc<BTreeMap<String, String>>>,
}

impl<'a> TaskModules<'a> {
    /// Creates a runner. Nothing is started yet.
    pub(crate) fn new(
        context: &'a Context,
        resolver: JobResolver<'a>,
        sequence: Sequence,
        tree: Arc<PlayTree>,
        preference: Preference,
    ) -> Self {
        Self {
            context,
            resolver,
            sequence,
            tree,
            builds: true,
            preference,
            surroundings: Surroundings::of_process(context),
            own: HashMap::new(),
            learning: None,
            layered: None,
            asking: None,
            interpreters: HashMap::new(),
        }
    }

    /// Makes all runs work on the layers of a play.
    pub(crate) fn set_layered(&mut self, layered: SharedLayeredPlay<'a>) {
        self.layered = Some(layered);
    }

    /// Makes a person be asked for what modules lack.
    pub(crate) fn set_asking(&mut self, session: Session<'a>) {
        self.asking = Some(session);
    }

    /// Returns whether a handler is to run after the commit, as what its module is granted is more than files.
    pub(crate) fn runs_after_commit(&mut self, names: &ModuleNames<'_>, run: &RequestedRun<'_>) -> bool {
        let Some(layered) = self.layered.clone().filter(|layered| layered.holds_changes()) else {
            return false;
        };
        let Ok(Candidates { own, classic }) = Rc::unwrap_or_clone(names.find(run.name, run.collections)) else {
            return false;
        };
        let own = own.and_then(|own| self.own(&own, classic.is_some()).ok());
        let job = run.job();
        self.resolver.begin_round();
        // Which of the two runs depends on the arguments.
        let waits =
            classic.iter().chain(&own).any(|found| self.resolver.reaches_out(&job, found, &run.names).unwrap_or(false));
        if waits {
            layered.await_commit(&run.names.name);
        }
        waits
    }

    /// Commits what a play on layers has changed so far. Returns whether handlers that waited for it may run.
    pub(crate) fn commit(&mut self) -> bool {
        let Some(layered) = self.layered.clone() else { return true };
        // A warm process can have files of the layers open.
        self.sequence.cool();
        let is_committed = layered.commit();
        self.tree.reopen();
        is_committed
    }

    /// Returns the policy of a module without rules of its own.
    pub(crate) fn policy(&self) -> &Policy {
        self.resolver.policy()
    }

    /// Returns where Python's modules and utilities are.
    pub(crate) fn python(&self) -> &PythonConfig {
        self.resolver.python()
    }

    /// Runs a module and waits for its end.
    pub(crate) fn run(&mut self, names: &ModuleNames<'_>, run: RequestedRun<'_>) -> Result<Report, NotRun> {
        match self.learning.clone() {
            Some(learning) => self.run_learning(names, &run, &learning),
            None => self.run_asking(run, &|modules, run| modules.resolve(names, run)),
        }
    }

    /// Admits the run of a module, for a job that runs it. `files` are those that the job writes.
    pub(crate) fn job(
        &mut self,
        names: &ModuleNames<'_>,
        run: RequestedRun<'_>,
        files: &[PrivateFile],
    ) -> Result<TaskStart, NotRun> {
        self.check_observable()?;
        if self.layered.as_ref().is_some_and(|layered| layered.holds_changes()) {
            let message =
                "a task with `async` goes on after the play, and its layers end with the play; leave `async` out";
            return Err(NotRun::Refused(message.to_owned()));
        }
        let mut run = self.asked(run);
        let mut round = 0;
        let ready = loop {
            round += 1;
            let ready = self.resolve(names, run.clone())?;
            if let Admission::Admitted(_) = ready.resolved.admission {
                break ready;
            }
            // A job goes on by itself, so only what is known before its start is asked for.
            if let Some(report) = self.run_round(ready, &mut run.args, round)? {
                return Ok(TaskStart::Refused(Box::new(report)));
            }
        };
        let ReadyRun { job, resolved: ResolvedJob { setup, name, admission }, found, .. } = ready;
        Ok(TaskStart::Job(Box::new(TaskJob {
            file: found.path,
            digest: admission.policy().trust().digest.clone().unwrap_or_else(|| setup.module.digest().to_owned()),
            name,
            task_name: found.task_name,
            args: encode(&Value::Dict(job.args)),
            modes: job.options.modes(),
            release: job.options.internal.contract,
            policy: admission.policy().clone(),
            limits: setup.limits,
            interpreters: BTreeMap::clone(&setup.interpreters),
            python: self.python().clone(),
            files: files.iter().map(JobFile::from).collect(),
        })))
    }

    /// Finds a module and its grants.
    pub(super) fn resolve(&mut self, names: &ModuleNames<'_>, run: RequestedRun<'_>) -> Result<ReadyRun, NotRun> {
        let candidates = names.find(run.name, run.collections);
        let candidates = Rc::unwrap_or_clone(candidates).map_err(NotRun::Unknown)?;
        let job = run.job();
        self.resolver.begin_round();
        let chosen = self.choose(candidates, &job, (run.name, !run.own_files.is_empty()))?;
        let Choice { found, notes } = chosen;
        let resolved = self.admit(&found, &job, run, &[])?;
        Ok(ReadyRun { job, resolved, found, notes })
    }

    /// Runs one action of a provider of libral and waits for its end. It may read the lenses in `data_dirs`.
    pub(crate) fn run_provider(
        &mut self,
        provider: &FoundModule,
        run: RequestedRun<'_>,
        data_dirs: &[PathBuf],
    ) -> Result<Report, NotRun> {
        self.run_asking(run, &|modules, run| {
            modules.resolver.begin_round();
            let job = run.job();
            let resolved = modules.admit(provider, &job, run, data_dirs)?;
            Ok(ReadyRun { job, resolved, found: provider.clone(), notes: ChoiceNotes::default() })
        })
    }

    fn admit(
        &mut self,
        found: &FoundModule,
        job: &Job,
        run: RequestedRun<'_>,
        data_dirs: &[PathBuf],
    ) -> Result<ResolvedJob, NotRun> {
        let rules = TaskRules {
            rules: run.rules(),
            names: run.names,
            origins: run.origins,
            timeout: run.timeout,
            job_limit: run.job_limit,
            interpreters: Some(run.interpreters)
                .filter(|named| !named.is_empty())
                .map(|named| self.interpreters(named)),
            data_dirs: data_dirs.to_vec(),
        };
        let resolved = self.resolver.resolve_found(job, found, &rules).map_err(NotRun::Internal)?;
        if let Admission::Admitted(admitted) = &resolved.admission {
            self.tree.add_run(&admitted.policy);
            self.cover(&admitted.policy, admitted.form.is_guest())?;
        }
        Ok(resolved)
    }

    /// Makes layers over what a run may write, if the play runs on layers.
    fn cover(&mut self, policy: &Policy, is_guest: bool) -> Result<(), NotRun> {
        let Some(layered) = &self.layered else { return Ok(()) };
        let covered = layered.cover(policy, is_guest);
        if covered.map_err(|error| NotRun::Refused(modbox_vocabulary::error_chain(&error)))? {
            // What was opened before shows the machine's own files.
            self.sequence.cool();
            self.tree.reopen();
        }
        Ok(())
    }

    pub(super) fn run_ready(&mut self, ready: ReadyRun) -> Result<Report, NotRun> {
        let ReadyRun { job, resolved, found, notes } = ready;
        let layered = self.layered.clone();
        let written = layered.map(|layered| {
            let admission = &resolved.admission;
            (layered, job.args.clone(), admission.policy().clone(), admission.secrets().clone())
        });
        let ended = self.sequence.run(job, resolved);
        if let Some((layered, arguments, policy, known)) = &written {
            // Whatever the end of the run, it may have written.
            let secrets = ended.as_ref().map_or(known, |ended| &ended.report.secrets);
            layered.hide(secrets, arguments, policy);
        }
        let Ended { mut report, is_unaudited } =
            ended.map_err(|error| NotRun::Internal(modbox_vocabulary::error_chain(&error)))?;
        if is_unaudited {
            report.notes.push("the run has no entry in an audit file".to_owned());
        }
        report.notes.extend(found.deprecations);
        notes.tell(&mut report);
        Ok(report)
    }

    /// Returns the module that runs. `has_files` tells that files of the run are in its arguments.
    pub(super) fn choose(
        &mut self,
        candidates: Candidates,
        job: &Job,
        (name, has_files): (&str, bool),
    ) -> Result<Choice, NotRun> {
        let Candidates { own, classic } = candidates;
        let Some(own) = own else {
            let missing = || NotRun::Unknown(format!("no module is named `{name}`"));
            return classic.map(Choice::from).ok_or_else(missing);
        };
        if let (Some(classic), Preference::Classic) = (&classic, self.preference) {
            return Ok(classic.clone().into());
        }
        let component = match (self.own(&own, classic.is_some()), &classic) {
            (Ok(component), _) => component,
            (Err(reason), Some(classic)) => return Ok(Choice::until_built(&own, classic.clone(), &reason)),
            (Err(reason), None) => return Err(NotRun::Unknown(reason)),
        };
        let unproven = self.unproven(&own, &component, job);
        let refused = self.refuses(&component, job).or_else(|| unproven.clone());
        let refused = refused.or_else(|| self.lacks_run(&component, job, has_files));
        match (refused, classic) {
            (Some(reason), Some(classic)) => Ok(Choice::instead_of(&own, classic, &reason)),
            (refused, _) => {
                if let Some(reason) = refused {
                    tracing::debug!(name, reason, "the component would not run if another module existed");
                }
                let warning = unproven.map(|reason| {
                    format!("modbox's component `{}` ran in the place of Ansible's module: {reason}", own.name())
                });
                Ok(Choice::component(component, warning))
            }
        }
    }

    /// Returns why modbox's own component may not stand for Ansible's module with the arguments of a task; `None` if it may. A
    /// component in a folder of the operator is the operator's choice.
    fn unproven(&mut self, own: &OwnModule, component: &FoundModule, job: &Job) -> Option<String> {
        let OwnModule::Standard(name) = own else { return None };
        let module = self.resolver.loaded(job, component).ok()?;
        let spec = &module.metadata()?.argument_spec;
        proven::objection(name, &spec.validate(&job.args, &self.surroundings).parameters)
    }

    /// Returns the component for a name of ansible-core. If nothing else bears that name, modbox's own module is built first.
    fn own(&mut self, own: &OwnModule, has_other: bool) -> Result<FoundModule, String> {
        let name = match own {
            OwnModule::Standard(name) => name,
            OwnModule::Installed(found) => return Ok(found.clone()),
        };
        if let Some(known) = self.own.get(name) {
            return known.clone();
        }
        let component = match standard::find(self.context, name) {
            Some(component) => Ok(component),
            None if has_other || !self.builds => Err(format!("it is not built; `modbox build {name}` builds it")),
            None => standard::build_if_stale(self.context, name).map_err(|failure| error_words(&failure.error)),
        };
        let found = component.map(|path| FoundModule::at(path, Path::new(name)));
        self.own.insert(name.clone(), found.clone());
        found
    }

    /// Returns why a component refuses the arguments of a task; `None` if it accepts them.
    fn refuses(&mut self, component: &FoundModule, job: &Job) -> Option<String> {
        let module = self.resolver.loaded(job, component).ok()?;
        let spec = &module.metadata()?.argument_spec;
        let validated = spec.validate(&job.args, &self.surroundings);
        validated.errors.first().map(|error| {
            let message = Secrets::from(&validated).with_escapes().mask_text(&error.message);
            format!("it does not accept the arguments ({message})")
        })
    }

    /// Returns why a component cannot run the command that its arguments name; `None` if it can, or names none. Ansible's
    /// own module runs the programs of the system without a grant, in its sandbox.
    fn lacks_run(&self, component: &FoundModule, job: &Job, has_files: bool) -> Option<String> {
        let needs = implied_needs::of(&component.name, &job.args, has_files, self.resolver.policy());
        let run = needs.into_iter().find(|need| need.capability == Capability::Run)?;
        Some(format!("it runs a program only with `{}`", run.allow))
    }

    /// Returns the interpreters of the command line with those that a task names. Equal ones are one value, so that tasks
    /// share workers.
    fn interpreters(&mut self, named: NamedInterpreters) -> Arc<BTreeMap<String, String>> {
        let default = self.resolver.interpreters();
        let all = self.interpreters.entry(named).or_insert_with_key(|named| {
            let mut all = default;
            all.extend(named.iter().cloned());
            Arc::new(all)
        });
        Arc::clone(all)
    }
}

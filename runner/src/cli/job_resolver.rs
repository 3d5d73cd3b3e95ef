//! Finds a job's module, policy and limits, and admits its run. Keeps what jobs have in common, so that jobs with the same
//! module and grants use the same worker.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use modbox_contract::Dict;
use modbox_overlay::commit::Origin;
use modbox_policy::{DEFAULT_SOURCE, FileRules, LimitName, LimitOverrides, MergedPolicy, Policy, Rules, TaskNames};
use modbox_run::batch::{GrantedPlaces, Job, ResolvedJob, Setup, Walls};
use modbox_run::library::FoundModule;
use modbox_run::{
    Admission, ArgumentOrigin, Arguments, ManagedNeeds, Module, PythonConfig, RunForm, RunRequest, Runner, Scrutiny,
    lens_grants, locate, reaches_out,
};
use modbox_vocabulary::{FileFingerprint, Limits};

use crate::cli::ansible::python_rule;
use crate::cli::args::AnsweredGrant;
use crate::cli::asking::facts::RunFacts;
use crate::cli::audit::Audit;
use crate::cli::context::Context;
use crate::cli::exit::{Failure, OrExit, error_words};
use crate::cli::folders::data_dirs::lenses;
use crate::cli::identity::Identity;
use crate::cli::layered;
use crate::cli::named::find::Lookup;
use crate::cli::process::become_user;
use crate::cli::settings::{ModuleIdentity, Settings};

/// Maximum total bytes of modules in memory. Beyond this, all are dropped, and read again when needed.
const MAX_CACHED_BYTES: usize = 256 << 20;

/// Maximum number of setups in memory. They are kept so that jobs with the same module and grants use the same worker.
const MAX_SETUPS: usize = 1024;

pub(crate) struct JobResolver<'a> {
    context: &'a Context,
    runner: Arc<Runner>,
    audit: Audit,
    lookup: Lookup,
    /// Whose what the jobs commit is.
    origin: Origin,
    /// Programs to start instead of an interpreter.
    interpreters: Arc<BTreeMap<String, String>>,
    settings: Arc<Settings>,
    /// What a person has granted in this process.
    answered: Vec<AnsweredGrant>,
    /// The policy of a module without specific rules.
    policy: Policy,
    limits: Limits,
    /// Modules by the `module` of their jobs, then by the `kind`.
    modules: HashMap<PathBuf, HashMap<Option<String>, CachedModule>>,
    cached_bytes: usize,
    /// Number of calls of [`JobResolver::begin_round`]. One check of a module's file per round is enough.
    rounds: u64,
    setups: Vec<Arc<Setup>>,
}

/// What a task of a play adds to the settings of its job.
#[derive(Debug, Default)]
pub(crate) struct TaskRules {
    /// Grants of the task's own.
    pub(crate) rules: Rules,
    /// Names of the task.
    pub(crate) names: TaskNames,
    /// Where its arguments come from.
    pub(crate) origins: Vec<ArgumentOrigin>,
    /// Time that the task allows.
    pub(crate) timeout: Option<Duration>,
    /// Time of the task's job. It replaces the default limit; a limit that the operator sets can only be shortened.
    pub(crate) job_limit: Option<Duration>,
    /// Programs to start instead of an interpreter; `None` for those of the command line.
    pub(crate) interpreters: Option<Arc<BTreeMap<String, String>>>,
    /// Data directories of libral, whose lenses of Augeas a provider may read.
    pub(crate) data_dirs: Vec<PathBuf>,
}

/// A module in memory, with the fingerprint of its file when it was read.
struct CachedModule {
    found: FoundModule,
    fingerprint: FileFingerprint,
    /// The round in which the fingerprint was last compared.
    checked_round: u64,
    module: Arc<Module>,
}

/// Returns whether the module of a job is observed. A component makes each use through modbox, which confines it in any case.
fn is_observed(job: &Job, module: &Module) -> bool {
    job.options.is_observed && !RunForm::of(module).is_guest()
}

/// Returns the fingerprint of a module's file; `None` when there is no file.
fn fingerprint(path: &Path) -> Option<FileFingerprint> {
    fs::metadata(path).ok().map(|file| FileFingerprint::from(&file))
}

impl<'a> JobResolver<'a> {
    /// Creates a resolver. Fails if a policy file is wrong, or an audit file cannot be opened.
    pub(crate) fn new(
        context: &'a Context,
        runner: Arc<Runner>,
        lookup: Lookup,
        settings: Arc<Settings>,
    ) -> Result<Self, Failure> {
        let MergedPolicy { policy, limits, .. } = settings.for_every_module().or_usage()?;
        let audit = Audit::open(&policy)?;
        Ok(Self {
            context,
            runner,
            audit,
            origin: Origin::Person,
            interpreters: Arc::new(lookup.interpreters.clone()),
            lookup,
            settings,
            answered: Vec::new(),
            policy,
            limits,
            modules: HashMap::new(),
            cached_bytes: 0,
            rounds: 0,
            setups: Vec::new(),
        })
    }

    /// Makes what the jobs commit be of an origin, in place of the person.
    pub(crate) fn with_origin(mut self, origin: Origin) -> Self {
        self.origin = origin;
        self
    }

    /// Begins a round: what is resolved in it was asked for after all changes of module files that count.
    pub(crate) fn begin_round(&mut self) {
        self.rounds += 1;
    }

    /// Resolves a job. The failure of a job that cannot be run is audited.
    ///
    /// # Errors
    ///
    /// The reason why the job cannot be run.
    pub(crate) fn resolve(&mut self, job: &Job) -> Result<ResolvedJob, String> {
        self.resolve_job(job).map_err(|message| self.audit.job_not_run(&job.module, message))
    }

    /// Resolves a job whose module was found already, with the rules of its task. The failure of a job that cannot be run
    /// is audited.
    ///
    /// # Errors
    ///
    /// The reason why the job cannot be run.
    pub(crate) fn resolve_found(
        &mut self,
        job: &Job,
        found: &FoundModule,
        task: &TaskRules,
    ) -> Result<ResolvedJob, String> {
        let loaded = self.load(&found.path.clone(), job, |_| Ok(found.clone()));
        let resolved = loaded.and_then(|(_, module)| {
            let interpreters = task.interpreters.as_ref().unwrap_or(&self.interpreters);
            let name = job.options.name.as_ref().unwrap_or(&found.name);
            let identity = self.identity(job, name, &module, interpreters)?;
            let granted = {
                let TaskRules { rules, names, timeout, .. } = task;
                let known = ModuleIdentity::of(&found.name, &module, &identity);
                let answered = self.answered.iter().filter(|grant| known.digest() == Some(grant.digest.as_str()));
                let rules: Vec<&Rules> = std::iter::once(rules).chain(answered.map(|grant| &grant.rules)).collect();
                self.settings.for_task(known, names, &rules, *timeout)
            };
            let mut granted = granted.map_err(|error| error_words(&error))?;
            if is_observed(job, &module) {
                python_rule::lift_defaults(&mut granted);
            }
            let MergedPolicy { mut policy, mut limits, limits_by, .. } = granted;
            if let Some(job_limit) = task.job_limit {
                let is_default = limits_by.iter().any(|(name, by)| *name == LimitName::Timeout && by == DEFAULT_SOURCE);
                let least = if is_default { task.timeout } else { Some(limits.timeout) };
                limits.timeout = least.map_or(job_limit, |least| least.min(job_limit));
            }
            lens_grants(&mut policy, &task.data_dirs, lenses(&self.context.environment));
            let interpreters = Arc::clone(interpreters);
            self.admit(job, found.clone(), module, (policy, limits), interpreters, &task.origins)
        });
        resolved.map_err(|message| self.audit.job_not_run(&job.module, message))
    }

    /// Sets what a person has granted in this process. A grant is for the bytes of one module.
    pub(crate) fn set_answered(&mut self, answered: Vec<AnsweredGrant>) {
        self.answered = answered;
    }

    /// Returns what decides about questions for a run with a policy.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or a section `ask` for the module names something that does not exist.
    pub(crate) fn facts(&mut self, job: &Job, found: &FoundModule, policy: &Policy) -> Result<RunFacts, String> {
        let module = self.loaded(job, found)?;
        let identity = self.identity(job, &found.name, &module, &self.interpreters)?;
        let known = ModuleIdentity::of(&found.name, &module, &identity);
        let facts = RunFacts::of_module(self.context, &self.settings, known, (&module, policy));
        facts.map_err(|error| error_words(&error))
    }

    /// Returns whether a task's module is granted an effect that no layer holds, or its arguments may grant it one.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or the grants contradict each other.
    pub(crate) fn reaches_out(&mut self, job: &Job, found: &FoundModule, names: &TaskNames) -> Result<bool, String> {
        let module = self.loaded(job, found)?;
        let identity = self.identity(job, &found.name, &module, &self.interpreters)?;
        let known = ModuleIdentity::of(&found.name, &module, &identity);
        let policy = self.settings.without_arguments(known, names).map_err(|error| error_words(&error))?;
        Ok(reaches_out(&policy) || self.runner.may_manage(&module, &policy))
    }

    /// Returns what a resolved run lacks besides paths; `None` if modbox's table of Ansible's modules does not have the module. `user`
    /// is the name of the run's user.
    pub(crate) fn managed(&self, resolved: &ResolvedJob, args: &Dict, user: &str) -> Option<ManagedNeeds> {
        let Setup { module, interpreters, .. } = &*resolved.setup;
        self.runner.managed(module, args, interpreters, (resolved.admission.policy(), user))
    }

    /// Returns the policy of a module without specific rules.
    pub(crate) fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Returns where Python's modules and utilities are.
    pub(crate) fn python(&self) -> &PythonConfig {
        &self.lookup.python
    }

    /// Returns the programs that the command line starts instead of interpreters.
    pub(crate) fn interpreters(&self) -> BTreeMap<String, String> {
        BTreeMap::clone(&self.interpreters)
    }

    /// Returns a module's bytes, read when they are first needed.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub(crate) fn loaded(&mut self, job: &Job, found: &FoundModule) -> Result<Arc<Module>, String> {
        self.load(&found.path.clone(), job, |_| Ok(found.clone())).map(|(_, module)| module)
    }

    /// Returns a module from memory if its file has not changed, else from its file. `find` is called for a module that
    /// is not in memory.
    fn load(
        &mut self,
        key: &Path,
        job: &Job,
        find: impl FnOnce(&Self) -> Result<FoundModule, String>,
    ) -> Result<(FoundModule, Arc<Module>), String> {
        let cached = self.modules.get_mut(key).and_then(|kinds| kinds.get_mut(&job.options.kind));
        if let Some(cached) = cached
            && (cached.checked_round == self.rounds || fingerprint(&cached.found.path) == Some(cached.fingerprint))
        {
            cached.checked_round = self.rounds;
            return Ok((cached.found.clone(), Arc::clone(&cached.module)));
        }
        let found = find(self)?;
        let missing = || format!("there is no module file `{}`", found.path.display());
        let fingerprint = fingerprint(&found.path).ok_or_else(missing)?;
        let file = locate::read(&found.path).map_err(|error| error_words(&anyhow::Error::from(error)))?;
        self.cached_bytes += file.bytes.len();
        if self.cached_bytes > MAX_CACHED_BYTES {
            self.modules.clear();
            self.setups.clear();
            self.cached_bytes = file.bytes.len();
        }
        let module = Arc::new(Module::new(file, job.kind()?));
        let (checked_round, own) = (self.rounds, Arc::clone(&module));
        let cached = CachedModule { found: found.clone(), fingerprint, checked_round, module: own };
        self.modules.entry(key.to_owned()).or_default().insert(job.options.kind.clone(), cached);
        Ok((found, module))
    }

    /// Identifies the module of a job.
    fn identity(
        &self,
        job: &Job,
        name: &str,
        module: &Module,
        interpreters: &BTreeMap<String, String>,
    ) -> Result<Identity, String> {
        let user = become_user::resolve(job.options.become_user.as_deref());
        let Some(user) = user.map_err(|failure| error_words(&failure.error))? else {
            return Ok(Identity::of(&self.runner, module, name, interpreters, &self.policy));
        };
        let mut policy = self.policy.clone();
        become_user::apply(&mut policy, Some(user), &self.context.environment);
        Ok(Identity::of(&self.runner, module, name, interpreters, &policy))
    }

    fn grants(&self, job: &Job, name: &str, module: &Module) -> Result<(Policy, Limits), String> {
        let (none, unlimited) = (FileRules::default(), LimitOverrides::default());
        let rules = job.options.policy.as_ref().unwrap_or(&none);
        let limits = job.options.limits.as_ref().unwrap_or(&unlimited);
        let identity = self.identity(job, name, module, &self.interpreters)?;
        let effective = self.settings.for_job(ModuleIdentity::of(name, module, &identity), rules, limits);
        effective.map(|effective| (effective.policy, effective.limits)).map_err(|error| error_words(&error))
    }

    fn resolve_job(&mut self, job: &Job) -> Result<ResolvedJob, String> {
        let (found, module) = self.load(&job.module, job, |resolver| {
            let found = resolver.lookup.find(resolver.context, &job.module);
            found.map_err(|failure| error_words(&failure.error))
        })?;
        let specific = job.options.policy.is_some() || job.options.limits.is_some() || self.settings.has_module_rules();
        let granted = if specific {
            // A job may give its module another name.
            let name = job.options.name.as_ref().unwrap_or(&found.name);
            self.grants(job, name, &module)?
        } else {
            (self.policy.clone(), self.limits)
        };
        let interpreters = Arc::clone(&self.interpreters);
        self.admit(job, found, module, granted, interpreters, &[])
    }

    /// Admits a run, and returns the settings of an earlier job if they are the same.
    fn admit(
        &mut self,
        job: &Job,
        found: FoundModule,
        module: Arc<Module>,
        (mut policy, limits): (Policy, Limits),
        interpreters: Arc<BTreeMap<String, String>>,
        origins: &[ArgumentOrigin],
    ) -> Result<ResolvedJob, String> {
        let name = job.options.name.clone().unwrap_or(found.name);
        let task_name = job.options.name.clone().unwrap_or(found.task_name);
        let user = become_user::resolve(job.options.become_user.as_deref());
        if let Some(user) = user.map_err(|failure| error_words(&failure.error))? {
            become_user::apply(&mut policy, Some(user), &self.context.environment);
        }
        // A worker is confined to its grants irrevocably, so they must include the paths that the arguments name.
        let internal = Box::new(job.internal_args(&task_name));
        let arguments = Arguments::Task { args: job.args.clone(), internal };
        let new = RunRequest::new(&name, arguments, &policy, &limits);
        let scrutiny = if is_observed(job, &module) { Scrutiny::Observed } else { Scrutiny::default() };
        let request =
            RunRequest { interpreters: &interpreters, origins, secrets: &job.options.secrets, scrutiny, ..new };
        let admission = self.runner.admit(&module, &request);
        let layers = layered::of_job(self.context, &job.options, admission.policy(), &self.origin)
            .map_err(|error| error_words(&error))?;
        let form = match &admission {
            Admission::Admitted(admitted) => admitted.form.clone(),
            Admission::Refused { .. } => RunForm::of(&module),
        };
        let places = GrantedPlaces::of(admission.policy());
        let same = |setup: &&Arc<Setup>| {
            Arc::ptr_eq(&setup.module, &module)
                && setup.limits == limits
                && setup.interpreters == interpreters
                && setup.layers == layers
                && setup.policy == *admission.policy()
                && setup.form.runs_like(&form)
                && setup.places == places
        };
        if let Some(setup) = self.setups.iter().find(same) {
            return Ok(ResolvedJob { setup: Arc::clone(setup), name, admission });
        }
        let policy = admission.policy().clone();
        let audit = self.audit.of_job(&policy).map_err(|error| modbox_vocabulary::error_chain(&error))?;
        let walls = Walls::of(&policy, &places);
        let setup = Arc::new(Setup { module, form, policy, places, walls, layers, limits, interpreters, audit });
        if self.setups.len() >= MAX_SETUPS {
            self.setups.clear();
        }
        self.setups.push(Arc::clone(&setup));
        Ok(ResolvedJob { setup, name, admission })
    }
}

//! Explains a run of a module for `modbox play --explain`: nothing is started or built.

use std::rc::Rc;

use modbox_kinds::Kind;
use modbox_policy::Policy;
use modbox_policy::outside::OutsideGrant;
use modbox_run::Admission;
use modbox_vocabulary::{Capability, Denial, GrantSource};

use crate::cli::job_resolver::TaskRules;
use crate::cli::play::explained_call::{ExplainedCall, unconfined};
use crate::cli::play::run_options::user;
use crate::cli::play::task_modules::choice::{Choice, ChoiceNotes};
use crate::cli::play::task_modules::modules::TaskModules;
use crate::cli::play::task_modules::names::ModuleNames;
use crate::cli::play::task_modules::requested_run::RequestedRun;
use crate::cli::play::task_modules::task_start::NotRun;
use crate::cli::play::task_modules::{absent_user, implied_needs};

impl TaskModules<'_> {
    /// Returns what a run of a module would be. Nothing is started or built.
    pub(crate) fn explain(&mut self, names: &ModuleNames<'_>, run: RequestedRun<'_>) -> ExplainedCall {
        self.builds = false;
        let name = run.name.to_owned();
        self.explained(names, run).unwrap_or_else(|error| {
            let (NotRun::Unknown(error) | NotRun::Refused(error) | NotRun::Internal(error)) = error;
            ExplainedCall { name, error: Some(error), ..ExplainedCall::default() }
        })
    }

    fn explained(&mut self, names: &ModuleNames<'_>, mut run: RequestedRun<'_>) -> Result<ExplainedCall, NotRun> {
        let absent_user = absent_user::take(&mut run)?;
        let candidates = names.find(run.name, run.collections);
        let candidates = Rc::unwrap_or_clone(candidates).map_err(NotRun::Unknown)?;
        let job = run.job();
        self.resolver.begin_round();
        let chosen = self.choose(candidates, &job, (run.name, !run.own_files.is_empty()))?;
        let Choice { found, notes: ChoiceNotes { fallback, warning, .. } } = chosen;
        let (rules, name, has_files) = (run.rules(), run.name.to_owned(), !run.own_files.is_empty());
        let task = TaskRules { rules, names: run.names, origins: run.origins, ..TaskRules::default() };
        let resolved = self.resolver.resolve_found(&job, &found, &task).map_err(NotRun::Internal)?;
        let policy = resolved.admission.policy();
        let (needs, objections) = match &resolved.admission {
            Admission::Admitted(_) => (Vec::new(), Vec::new()),
            Admission::Refused { report, .. } if !report.objections.is_empty() => {
                (Vec::new(), report.objections.clone())
            }
            Admission::Refused { report, .. } => (report.denials.clone(), Vec::new()),
        };
        let kind = resolved.setup.module.detection().map_or("unknown kind", |found| found.kind.as_str());
        let is_component = kind == Kind::Component.as_str();
        let implied = implied_needs::of(&found.name, &job.args, has_files, policy);
        let implied = implied.into_iter().filter(|need| is_component || need.capability != Capability::Run);
        let all: Vec<Denial> = needs.into_iter().chain(implied).collect();
        let (asks, needs) = self.divided(all, &job, &found, policy)?;
        let user = absent_user.clone().unwrap_or_else(|| user().name);
        let mut managed = self.resolver.managed(&resolved, &job.args, &user).unwrap_or_default();
        // By this name rules of a policy file find it.
        managed.module.clone_from(&found.name);
        let kind = if is_component { kind.to_owned() } else { format!("classic, {kind}") };
        let designated = policy.grants().into_iter().filter(|grant| grant.source.option().is_some());
        let notes = found.deprecations.iter().cloned().chain(unconfined(policy));
        let notes = notes.chain(fallback).chain(warning).chain(objections).collect();
        let mut call = ExplainedCall {
            name,
            module: Some((found.name.clone(), kind, found.path.clone())),
            designated: designated.collect(),
            designated_profiles: designated_profiles(policy),
            asks,
            needs,
            managed,
            digest: policy.trust().digest.clone(),
            powers: designated_powers(policy),
            absent_user,
            notes,
            error: None,
        };
        call.mask(&resolved.admission.secrets().declared().with_escapes());
        Ok(call)
    }
}

/// Returns the profiles that arguments grant, with the names that they are bound to.
fn designated_profiles(policy: &Policy) -> Vec<String> {
    let shown = |OutsideGrant { names, source, .. }: &OutsideGrant| match source {
        GrantSource::Profile { name, named_by } if named_by.option().is_some() => {
            Some(format!("{name}: [{}] ({named_by})", names.names().join(", ")))
        }
        _ => None,
    };
    let mut all: Vec<String> = policy.outside().iter().filter_map(shown).collect();
    all.dedup();
    all
}

/// Returns which grants of arguments are as powerful as root.
fn designated_powers(policy: &Policy) -> Vec<String> {
    let powers = policy.root_powers().into_iter().filter(|power| power.source.option().is_some());
    powers.map(|power| format!("{}: {} ({})", power.what, power.why, power.source)).collect()
}

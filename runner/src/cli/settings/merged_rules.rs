//! What the rules for all modules, for single ones and for tasks come to for one run.

use std::time::Duration;

use anyhow::Context as _;
use modbox_closure::Part;
use modbox_policy::{FileRules, LimitOverrides, MergedPolicy, ModuleKey, Policy, Rules, TaskNames, merge};
use modbox_vocabulary::GrantSource;

use crate::cli::settings::files::{self, source};
use crate::cli::settings::plugin_rules;
use crate::cli::settings::rule_sources::Settings;
use crate::cli::settings::trust::ModuleIdentity;

impl Settings {
    /// Returns the policy and limits of a module without specific rules.
    ///
    /// # Errors
    ///
    /// Grants contradict each other.
    pub(crate) fn for_every_module(&self) -> anyhow::Result<MergedPolicy> {
        self.merged(Vec::new(), None)
    }

    /// Returns the policy and limits of one module. Only its digest identifies its content.
    ///
    /// # Errors
    ///
    /// A rule for the module names something that does not exist, or grants contradict each other.
    pub(crate) fn for_module(&self, module: ModuleIdentity<'_>) -> anyhow::Result<MergedPolicy> {
        self.merged(self.of_module(module)?, Some(module))
    }

    /// Returns the grants of the rules for one Python plugin; `None` without such a rule. Rules for all modules are left out.
    ///
    /// # Errors
    ///
    /// A rule names something that does not exist, or the trust rules refuse the plugin.
    pub(crate) fn for_plugin(&self, plugin: ModuleIdentity<'_>) -> anyhow::Result<Option<Policy>> {
        let rules = self.of_module(plugin)?;
        if rules.is_empty() {
            return Ok(None);
        }
        let policy = plugin_rules::granted(rules, &self.trust.standing(Some(plugin)))?;
        Ok(Some(if self.withholds_network { policy.without_network() } else { policy }))
    }

    /// Returns what the policy files grant one module, also what is withheld from its runs.
    ///
    /// # Errors
    ///
    /// As [`Settings::for_module`].
    pub(crate) fn granted_to(&self, module: ModuleIdentity<'_>) -> anyhow::Result<MergedPolicy> {
        self.granted(self.of_module(module)?, Some(module))
    }

    /// Returns the policy and limits of one job of a batch, including the job's rules and limits.
    ///
    /// # Errors
    ///
    /// As [`Settings::for_module`], also for the job's rules.
    pub(crate) fn for_job(
        &self,
        module: ModuleIdentity<'_>,
        rules: &FileRules,
        limits: &LimitOverrides,
    ) -> anyhow::Result<MergedPolicy> {
        let mut sources = self.of_module(module)?;
        let files::Resolved { rules, wrong, .. } = files::resolve(&self.environment, rules, &GrantSource::named("job"));
        if let Some(wrong) = wrong.into_iter().next() {
            return Err(wrong.error).with_context(|| format!("invalid grant `{}` of a job", wrong.written));
        }
        sources.push(rules);
        let mut effective = self.merged(sources, Some(module))?;
        // A job's limits are the most specific ones, so they override even the switches.
        for (name, value) in limits.iter() {
            name.set(&mut effective.limits, value);
        }
        Ok(effective)
    }

    /// Returns the policy and limits of a task's module, including the rules for the task and `rules`, its own and what a person has granted.
    /// `timeout` can only shorten the time that the operator allows.
    ///
    /// # Errors
    ///
    /// As [`Settings::for_module`].
    pub(crate) fn for_task(
        &self,
        module: ModuleIdentity<'_>,
        task: &TaskNames,
        rules: &[&Rules],
        timeout: Option<Duration>,
    ) -> anyhow::Result<MergedPolicy> {
        let mut sources = self.of_module(module)?;
        sources.extend(self.of_task(task)?);
        sources.extend(rules.iter().copied().cloned());
        let mut effective = self.merged(sources, Some(module))?;
        if let Some(timeout) = timeout {
            effective.limits.timeout = effective.limits.timeout.min(timeout);
        }
        Ok(effective)
    }

    /// Returns what a task's module is granted before its arguments are known, also if every run is one without the network.
    ///
    /// # Errors
    ///
    /// As [`Settings::for_module`].
    pub(crate) fn without_arguments(&self, module: ModuleIdentity<'_>, task: &TaskNames) -> anyhow::Result<Policy> {
        let mut sources = self.of_module(module)?;
        sources.extend(self.of_task(task)?);
        Ok(self.granted(sources, None)?.policy)
    }

    fn of_module(&self, module: ModuleIdentity<'_>) -> anyhow::Result<Vec<Rules>> {
        let (name, digest) = (module.name, module.digest().unwrap_or_default());
        let rules = self.modules.iter().filter(|rules| rules.key.value.matches(name, digest));
        let mut rules = rules.map(|rules| rules.resolved(&self.environment)).collect::<anyhow::Result<Vec<_>>>()?;
        rules.extend(self.sent.iter().flat_map(|sent| sent.of_module(name, digest)));
        rules.extend(self.asking.granted_to(module));
        Ok(rules)
    }

    /// Returns why rules by the digest of the module's file alone do not hold for it: a part beside the file would run with what they
    /// grant.
    fn rules_by_file(&self, module: ModuleIdentity<'_>) -> Vec<String> {
        let closure = module.closure();
        let runs = |part: &&Part| !closure.is_inert(part, |_| false);
        let first = closure.parts().iter().find(runs).or_else(|| closure.parts().first());
        let Some(part) = first else { return Vec::new() };
        let file = ModuleKey::Digest(closure.file().digest.clone());
        let in_files = self.modules.iter().filter(|rules| rules.key.value == file);
        let in_files = in_files.map(|rules| format!("{}, {}", source(&rules.file), rules.key.place));
        let sent = self.sent.iter().filter(|sent| sent.has(&file)).map(|_| "the policy of the task".to_owned());
        let told = |place: String| {
            format!(
                "the rule `{file}` ({place}) is for the module's file alone, and {} parts beside it, such as `{}`, would run with \
                 what it grants; write `sha256:{}` in its place",
                closure.parts().len(),
                part.name,
                closure.digest()
            )
        };
        in_files.chain(sent).map(told).collect()
    }

    fn of_task(&self, task: &TaskNames) -> anyhow::Result<Vec<Rules>> {
        let rules = self.tasks.iter().filter(|rules| rules.key.value.matches(task));
        rules.map(|rules| rules.resolved(&self.environment)).collect()
    }

    fn merged(&self, module_rules: Vec<Rules>, module: Option<ModuleIdentity<'_>>) -> anyhow::Result<MergedPolicy> {
        let mut merged = self.granted(module_rules, module)?;
        if self.withholds_network {
            merged.policy = merged.policy.without_network();
        }
        merged.policy = self.audience.withhold(merged.policy);
        Ok(merged)
    }

    fn granted(&self, module_rules: Vec<Rules>, module: Option<ModuleIdentity<'_>>) -> anyhow::Result<MergedPolicy> {
        let mut standing = self.trust.standing(module);
        standing.digest = module.and_then(|module| module.digest()).map(str::to_owned);
        standing.refusals.extend(module.into_iter().flat_map(|module| self.rules_by_file(module)));
        let mut sources = self.general.clone();
        for ceiling in &standing.ceilings {
            // What the files grant to every module is cut; any other grant that exceeds a ceiling ends the run.
            sources.iter_mut().for_each(|rules| ceiling.cut(rules));
        }
        sources.extend(module_rules);
        sources.push(self.switches.clone());
        let mut merged = merge(&sources).context("the grants contradict each other")?;
        for ceiling in &standing.ceilings {
            if ceiling.designated() < merged.policy.designated() {
                merged.policy.set_designated(ceiling.designated());
                merged.designated_by.clone_from(&ceiling.rule);
            }
        }
        merged.policy.set_trust(standing);
        Ok(merged)
    }
}

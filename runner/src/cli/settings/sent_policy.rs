//! The policy that a controller sends with a task, with its grants resolved on this host.

use anyhow::Context as _;
use modbox_policy::{AcceptPolicy, FileRules, ModuleKey, PolicyFile, Rules};
use modbox_vocabulary::GrantSource;

use crate::cli::process::environment::Environment;
use crate::cli::settings::files::{self, Resolved};

/// Name of the policy in reports and listings.
const SOURCE: &str = "policy of the task";

/// The policy of a task.
pub(super) struct SentPolicy {
    general: Rules,
    modules: Vec<(ModuleKey, Rules)>,
}

impl SentPolicy {
    /// Parses a policy, and resolves its grants.
    ///
    /// # Errors
    ///
    /// The text is not a policy file, names something that does not exist, or has what this host does not accept.
    pub(super) fn resolve(environment: &Environment, text: &str, accepted: AcceptPolicy) -> anyhow::Result<Self> {
        let file = PolicyFile::parse_sent(text, accepted)?;
        let resolved = |rules: &FileRules| -> anyhow::Result<Rules> {
            let Resolved { rules, wrong, .. } = files::resolve(environment, rules, &GrantSource::named(SOURCE));
            match wrong.into_iter().next() {
                None => Ok(Rules { narrows: accepted == AcceptPolicy::Narrow, ..rules }),
                Some(wrong) => {
                    Err(wrong.error).with_context(|| format!("invalid grant `{}` in the {SOURCE}", wrong.written))
                }
            }
        };
        let modules = file.modules.iter().map(|(key, rules)| Ok((key.value.clone(), resolved(rules)?)));
        Ok(Self { general: resolved(&file.rules)?, modules: modules.collect::<anyhow::Result<_>>()? })
    }

    /// Returns whether there are rules with this key.
    pub(super) fn has(&self, key: &ModuleKey) -> bool {
        self.modules.iter().any(|(other, _)| other == key)
    }

    pub(super) fn of_module(&self, name: &str, digest: &str) -> Vec<Rules> {
        let own = self.modules.iter().filter(|(key, _)| key.matches(name, digest)).map(|(_, rules)| rules);
        std::iter::once(&self.general).chain(own).cloned().collect()
    }
}

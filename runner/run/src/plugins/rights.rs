//! What a process of Python plugins may do besides reading its interpreter, packages and collections.

use std::path::PathBuf;

use modbox_policy::Policy;

/// The rights of a process of Python plugins.
#[derive(Debug, Clone)]
pub struct PluginRights {
    policy: Policy,
    readable: Vec<PathBuf>,
}

impl PluginRights {
    /// Returns rights without any grant. Of `every_module`, the policy of modules, only the confinement that is accepted
    /// counts. `readable` are files and folders of the play.
    #[must_use]
    pub fn none(every_module: &Policy, readable: Vec<PathBuf>) -> Self {
        Self::granted(Policy::default(), every_module, readable)
    }

    /// Returns the rights that a rule for one plugin grants, otherwise as [`PluginRights::none`].
    #[must_use]
    pub fn granted(mut policy: Policy, every_module: &Policy, readable: Vec<PathBuf>) -> Self {
        if let Some(least) = every_module.least_confinement() {
            policy.require_confinement(least.level, &least.source);
        }
        Self { policy, readable }
    }

    /// Returns the grants, and the confinement that is accepted.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Returns files and folders of the play.
    #[must_use]
    pub fn readable(&self) -> &[PathBuf] {
        &self.readable
    }
}

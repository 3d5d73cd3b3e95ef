//! The commands outside among the grants of a run.

use std::path::PathBuf;

use crate::grant_set::Policy;
use crate::outside::{OutsideCommand, OutsideGrant, RootPower};

impl Policy {
    /// Permits the module to run commands outside of its room.
    pub fn allow_outside(&mut self, grant: OutsideGrant) {
        let is_same = |other: &OutsideGrant| {
            (&other.rule, &other.programs, &other.names) == (&grant.rule, &grant.programs, &grant.names)
        };
        if !self.outside.iter().any(is_same) {
            self.outside.push(grant);
        }
    }

    /// Returns the grants of commands outside.
    #[must_use]
    pub fn outside(&self) -> &[OutsideGrant] {
        &self.outside
    }

    /// Returns the policy without any command outside.
    #[must_use]
    pub fn without_commands_outside(self) -> Self {
        Self { outside: Vec::new(), ..self }
    }

    /// Returns the command outside that the first matching grant covers; see [`OutsideGrant::covers`].
    #[must_use]
    pub fn outside_command(
        &self,
        program: &str,
        arguments: &[impl AsRef<[u8]>],
        user: &str,
    ) -> Option<OutsideCommand<'_>> {
        self.outside.iter().find_map(|grant| grant.covers(program, arguments, user))
    }

    /// Returns the path of a program that a rule for commands outside is for, if it is called so.
    #[must_use]
    pub fn program_outside(&self, called: &str) -> Option<PathBuf> {
        self.outside.iter().find_map(|grant| grant.is_for(called))
    }

    /// Returns whether the module may run any command, in its sandbox or outside.
    #[must_use]
    pub fn allows_commands(&self) -> bool {
        self.allows_commands_inside() || !self.outside.is_empty()
    }

    /// Returns whether the module may run any command in its sandbox.
    #[must_use]
    pub fn allows_commands_inside(&self) -> bool {
        self.allows_everything() || !self.run.is_empty()
    }

    /// Returns the grants that are as powerful as root. Empty if everything is granted, which says it itself.
    #[must_use]
    pub fn root_powers(&self) -> Vec<RootPower> {
        if self.allows_everything() {
            return Vec::new();
        }
        let mut powers: Vec<RootPower> = self.outside().iter().flat_map(RootPower::of_command).collect();
        powers.extend(self.paths().iter().filter_map(RootPower::of_path));
        powers.extend(self.own().iter().filter_map(RootPower::of_owner));
        let mut seen = Vec::new();
        powers.retain(|power| {
            let is_new = !seen.contains(power);
            if is_new {
                seen.push(power.clone());
            }
            is_new
        });
        powers
    }
}

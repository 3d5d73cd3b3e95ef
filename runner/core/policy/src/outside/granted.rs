//! The commands outside among the grants of a run.

use crate::grant_set::Policy;
use crate::outside::{OutsideCommand, OutsideGrant};

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
}

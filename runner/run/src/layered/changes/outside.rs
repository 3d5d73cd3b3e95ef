//! Granted effects that no layer holds: the network, and what listens behind sockets and devices.

use modbox_policy::Policy;
use modbox_vocabulary::Capability;

use crate::reports::error::trial_error::TrialError;
use crate::reports::parts::effect_report::{OutsideEffect, OutsideKind};
use crate::trial::{RealEffects, check_special};

/// Takes such grants from a policy, unless they are accepted, and returns what they are.
///
/// # Errors
///
/// A granted path is a socket, a pipe or a device, which cannot be withheld.
pub fn withhold_outside(policy: &mut Policy, effects: RealEffects) -> Result<Vec<OutsideEffect>, TrialError> {
    let withheld = effects == RealEffects::Refused;
    let outside = policy.grants().into_iter().filter(|grant| is_withheld(grant.capability));
    let outside = outside.map(|grant| OutsideEffect {
        kind: OutsideKind::Granted(grant.capability),
        subject: grant.subject,
        withheld,
    });
    let outside = outside.collect();
    if withheld {
        policy.paths().iter().try_for_each(check_special)?;
        *policy = std::mem::take(policy).without_network();
    }
    Ok(outside)
}

/// Says whether a policy grants an effect that no layer holds: the network, a command outside, everything, a socket, a pipe or a
/// device. What arguments grant is not in a policy before a run; see `Runner::may_manage`.
#[must_use]
pub fn reaches_out(policy: &Policy) -> bool {
    policy.grants().into_iter().any(|grant| leaves_layers(grant.capability))
        || policy.paths().iter().any(|grant| check_special(grant).is_err())
}

/// Returns whether a capability reaches more than files of the run's own view. Each one is named, so that a new one is decided here.
fn leaves_layers(capability: Capability) -> bool {
    match capability {
        Capability::Net | Capability::Listen | Capability::Outside | Capability::All => true,
        Capability::Read
        | Capability::Write
        | Capability::Own
        | Capability::Env
        // Commands run in the room, with the grants of the module.
        | Capability::Run
        | Capability::Confinement => false,
    }
}

/// Returns whether a run on layers can go on without the grant. With a command outside it is refused.
fn is_withheld(capability: Capability) -> bool {
    matches!(capability, Capability::Net | Capability::Listen)
}

#[cfg(test)]
mod tests {
    use modbox_policy::net::NetGrant;
    use modbox_vocabulary::GrantSource;

    use super::*;

    #[test]
    fn the_network_is_withheld_unless_it_is_accepted() {
        let mut policy = Policy::default();
        policy.allow_net(NetGrant { rule: "example.org:443".parse().unwrap(), source: GrantSource::named("test") });
        let mut accepted = policy.clone();
        let outside = withhold_outside(&mut accepted, RealEffects::Accepted).unwrap();
        assert_eq!((outside[0].subject.as_str(), outside[0].withheld), ("example.org:443", false));
        assert_eq!(accepted, policy);
        assert!(reaches_out(&policy));
        assert!(withhold_outside(&mut policy, RealEffects::Refused).unwrap()[0].withheld);
        assert!(policy.net().is_empty() && !reaches_out(&policy));
    }
}

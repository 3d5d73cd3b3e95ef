//! Compares what a module said of its changes with what was observed.

use modbox_overlay::change_list::Totals;

use crate::reports::parts::effect_report::Claim;

/// Returns how a claim relates to the observed changes. `may_be_hidden` is set if the run could have had effects that were
/// not observed.
///
/// A module that says `changed` for a new modification time alone is right, too: Ansible's `file` with `state: touch`
/// does so.
pub(crate) fn compare(claimed: bool, totals: &Totals, may_be_hidden: bool) -> Claim {
    match (claimed, totals.changed() > 0) {
        (true, true) | (false, false) => Claim::Agrees,
        (true, false) if totals.times > 0 => Claim::Agrees,
        (true, false) if may_be_hidden => Claim::Unobservable,
        (true, false) => Claim::ClaimedNotObserved,
        (false, true) => Claim::ObservedNotClaimed,
    }
}

/// Returns what a result is warned of, for a claim that is not what was observed.
pub(crate) fn warning(claim: Claim) -> Option<&'static str> {
    match claim {
        Claim::Agrees | Claim::Unobservable => None,
        Claim::ClaimedNotObserved => Some("the module says that it changed something, but nothing was changed"),
        Claim::ObservedNotClaimed => Some("the module says that it changed nothing, but something was changed"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_are_compared() {
        let observed = Totals { modified: 1, ..Totals::default() };
        let times = Totals { times: 1, ..Totals::default() };
        for (claimed, totals, may_be_hidden, expect) in [
            (true, observed, false, Claim::Agrees),
            (false, Totals::default(), true, Claim::Agrees),
            (false, times, false, Claim::Agrees),
            (true, times, false, Claim::Agrees),
            (true, Totals::default(), false, Claim::ClaimedNotObserved),
            (true, Totals::default(), true, Claim::Unobservable),
            (false, observed, false, Claim::ObservedNotClaimed),
        ] {
            assert_eq!(compare(claimed, &totals, may_be_hidden), expect);
        }
    }
}

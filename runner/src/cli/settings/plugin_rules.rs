//! What rules grant to one Python plugin of a play.
//!
//! What is granted to every module, in files or by switches, grants plugins nothing: text of a play calls them, with arguments
//! that nothing has checked.

use anyhow::Context as _;
use modbox_policy::{Policy, Rules, TrustStanding, merge};

/// Returns the grants of rules for a plugin, as far as the trust rules let it have them.
///
/// # Errors
///
/// The trust rules refuse the plugin, or the rules contradict each other or grant everything.
pub(super) fn granted(mut rules: Vec<Rules>, standing: &TrustStanding) -> anyhow::Result<Policy> {
    anyhow::ensure!(standing.refusals.is_empty(), "{}", standing.refusals.join("; "));
    for ceiling in &standing.ceilings {
        rules.iter_mut().for_each(|rules| ceiling.cut(rules));
    }
    let policy = merge(&rules).context("the grants contradict each other")?.policy;
    anyhow::ensure!(!policy.allows_everything(), "a rule grants the plugin everything; name what it needs");
    Ok(policy)
}

//! Facts that a confined `setup` cannot know: which service manager the machine has, whether it is in a chroot, and what it runs on. The
//! module sees the first process and the root of its own sandbox, and takes them for the machine's. Such a fact is left out, and the result
//! says so. In a room with the profile `facts` the module sees what it needs for most of them.

use modbox_contract::{Dict, Value};
use modbox_policy::{HIGHEST_LEVEL, Policy, Profile};
use modbox_vocabulary::GrantSource;

use crate::reports::report::{ADVICE_PREFIX, Report};

/// Names of the module.
const SETUP: [&str; 3] = ["setup", "ansible.builtin.setup", "ansible.legacy.setup"];

/// The key of a result that has the facts.
const FACTS: &str = "ansible_facts";

/// The facts, without the prefix that they have in results.
const UNKNOWN: [&str; 3] = ["service_mgr", "is_chroot", "virtualization_"];

/// Those that are not known with the profile either: the root of the first process, and the devices for machines of the machine's own.
const ALWAYS_UNKNOWN: [&str; 2] = ["is_chroot", "virtualization_tech_host"];

/// Leaves out of a result what the module could not know. `is_guest`: it ran in the sandbox, which has no processes but its own.
pub(crate) fn withhold(report: &mut Report, policy: &Policy, is_guest: bool) {
    let is_setup = report.module.name.as_deref().is_some_and(|name| SETUP.contains(&name));
    let is_of_facts =
        |source: &GrantSource| matches!(source, GrantSource::Profile { name, .. } if *name == Profile::Facts.as_str());
    // Without namespaces a native module sees the machine's own processes, as far as it may.
    let is_on_machine = !is_guest && report.confinement.level < HIGHEST_LEVEL;
    if !is_setup || is_on_machine || !report.status.is_success() {
        return;
    }
    let has_profile = !is_guest && policy.paths().iter().any(|grant| is_of_facts(&grant.source));
    let unknown: &[&str] = if has_profile { &ALWAYS_UNKNOWN } else { &UNKNOWN };
    let is_unknown = |name: &str| is_one_of(name, unknown);
    let facts = report.result.as_dict().get(FACTS).and_then(Value::as_dict);
    let left_out: Vec<String> =
        facts.into_iter().flat_map(Dict::keys).filter(|name| is_unknown(name)).cloned().collect();
    if left_out.is_empty() {
        return;
    }
    report.result.map(|key, value| match value {
        Value::Dict(facts) if key == FACTS => Value::Dict(without(facts, &is_unknown)),
        value => value,
    });
    let remedy = match (is_guest, has_profile) {
        (_, true) => "",
        (true, false) => "; run it with `--python native`, and grant it the profile `facts`",
        (false, false) => "; grant it the profile `facts`",
    };
    report.result.warn(&format!(
        "{ADVICE_PREFIX}left out, since a confined module cannot know them of the machine: {}{remedy}",
        left_out.join(", ")
    ));
}

fn without(facts: Dict, is_unknown: &impl Fn(&str) -> bool) -> Dict {
    facts.into_iter().filter(|(name, _)| !is_unknown(name)).collect()
}

/// Returns whether a fact is one of these. One that ends with `_` stands for all that begin so.
fn is_one_of(name: &str, unknown: &[&str]) -> bool {
    let plain = name.strip_prefix("ansible_").unwrap_or(name);
    unknown.iter().any(|unknown| plain == *unknown || (unknown.ends_with('_') && plain.starts_with(unknown)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_of_the_machine_are_left_out_by_their_names() {
        let text = r#"{"ansible_service_mgr": "x", "ansible_is_chroot": true, "ansible_virtualization_role": "guest", "is_chroot": false,
            "ansible_service_mgr_x": 1, "ansible_distribution": "Debian"}"#;
        let facts = modbox_contract::decode(text).unwrap().as_dict().unwrap().clone();
        let kept = without(facts, &|name| is_one_of(name, &UNKNOWN));
        assert_eq!(kept.keys().collect::<Vec<_>>(), ["ansible_service_mgr_x", "ansible_distribution"]);
    }
}

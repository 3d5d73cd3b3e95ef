//! What the name of a filter or test means before anything runs: known, refused with a reason, or unknown.

use strsim::levenshtein;

use crate::plugin::{PREFIXES, Plugin};
use crate::plugin_kind::PluginKind;
use crate::{checks, filters};

/// Number of bytes of a name that is compared with known ones. No plugin has a longer name.
const MAX_COMPARED: usize = 64;

/// The meaning of a name.
#[derive(Debug, Clone, Copy)]
pub enum Meaning {
    /// The plugin of that name.
    Known(&'static Plugin),
    /// A plugin that Ansible has and modbox refuses, with the reason.
    Refused(&'static str),
    /// An unknown plugin, perhaps one in Python, and the nearest known name.
    Unknown(Option<&'static str>),
}

const VAULT: &str = "filters do not encrypt or decrypt; write the value with `ansible-vault encrypt_string`, and it is decrypted where it is read";

const VAULT_TEST: &str =
    "templates see values after they are decrypted, and cannot know which were encrypted; leave the test out";

/// Plugins that Ansible or its collections have, each with the reason for which modbox refuses it.
const REFUSED: [(PluginKind, &str, &str); 5] = [
    (PluginKind::Filter, "vault", VAULT),
    (PluginKind::Filter, "unvault", VAULT),
    (PluginKind::Filter, "json_query", "it needs JMESPath; use `selectattr`, `map` and `dict2items`"),
    (PluginKind::Test, "vault_encrypted", VAULT_TEST),
    (PluginKind::Test, "vaulted_file", VAULT_TEST),
];

/// Returns the meaning of a name, with or without the prefix of its collection.
#[must_use]
pub fn lookup(kind: PluginKind, name: &str) -> Meaning {
    let all = match kind {
        PluginKind::Filter => filters::ALL,
        PluginKind::Test => checks::ALL,
        PluginKind::Lookup => &[],
    };
    let prefixes = PREFIXES.iter().chain(&["community.general."]);
    let mut plain = prefixes.filter_map(|prefix| name.strip_prefix(prefix));
    if let Some((_, _, reason)) =
        plain.find_map(|plain| REFUSED.iter().find(|refused| (refused.0, refused.1) == (kind, plain)))
    {
        return Meaning::Refused(reason);
    }
    if let Some(plugin) = all.iter().find(|plugin| plugin.has_name(name)) {
        return Meaning::Known(plugin);
    }
    let last = name.rsplit('.').next().unwrap_or(name);
    let names = all.iter().flat_map(|plugin| plugin.aliases.iter().copied().chain([plugin.name]));
    let is_short = last.len() <= MAX_COMPARED;
    let near = |known: &'static str| (levenshtein(last, known), known);
    let nearest = names.filter(|_| is_short).map(near).min_by_key(|(distance, _)| *distance);
    Meaning::Unknown(nearest.filter(|(distance, known)| *distance <= known.len() / 3).map(|(_, known)| known))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_meanings() {
        let filter = |name| lookup(PluginKind::Filter, name);
        assert!(matches!(filter("ansible.builtin.d"), Meaning::Known(plugin) if plugin.name == "default"));
        assert!(matches!(filter("community.general.json_query"), Meaning::Refused(_)));
        assert!(matches!(filter("ansible.builtin.password_hash"), Meaning::Known(_)));
        assert!(matches!(filter("ansible._protomatter.finalize"), Meaning::Known(_)));
        assert!(matches!(filter("vault"), Meaning::Refused(_)));
        assert!(matches!(filter("to_jsn"), Meaning::Unknown(Some("to_json"))));
        assert!(matches!(filter("debops.debops.parse_kv_items"), Meaning::Unknown(None)));
        assert!(matches!(lookup(PluginKind::Test, "vaulted_file"), Meaning::Refused(_)));
        assert!(matches!(lookup(PluginKind::Test, "issubset"), Meaning::Known(_)));
    }
}

//! The groups of actions that `module_defaults` can name: `group/aws` and others.
//!
//! Collections declare them in `meta/runtime.yml`, ansible-core in a file of its own.

use std::collections::BTreeSet;
use std::path::Path;

use serde::Deserialize;
use std::collections::BTreeMap;

/// Maximum bytes of a file with groups. The longest real one has 300 KB.
const MAX_FILE: u64 = 8 << 20;

/// Maximum number of groups that one group extends, at all depths.
const MAX_EXTENDED: usize = 1000;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct RuntimeFile {
    action_groups: BTreeMap<String, Vec<Member>>,
}

/// A member of a group: the name of an action, or groups whose members belong to it.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
enum Member {
    Action(String),
    Metadata { metadata: Metadata },
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Metadata {
    extend_group: Vec<String>,
}

/// The groups of a collection or of ansible-core.
#[derive(Debug, Default)]
pub(crate) struct ActionGroups(BTreeMap<String, Vec<Member>>);

impl ActionGroups {
    /// Reads the groups of a file. A file that cannot be read has none.
    pub(crate) fn read(file: &Path) -> Self {
        let text = modbox_files::read_file(file, MAX_FILE).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        let parsed = text.and_then(|text| serde_saphyr::from_str::<RuntimeFile>(&text).ok());
        Self(parsed.unwrap_or_default().action_groups)
    }

    /// Returns the full names of a group's actions, and the groups of other collections that it extends. `collection` is
    /// the prefix of names without one.
    pub(crate) fn members(&self, group: &str, collection: &str) -> Option<(Vec<String>, Vec<String>)> {
        self.0.get(group)?;
        let (mut actions, mut others) = (BTreeSet::new(), BTreeSet::new());
        let (mut waiting, mut seen) = (vec![group.to_owned()], BTreeSet::new());
        while let Some(next) = waiting.pop() {
            if seen.len() == MAX_EXTENDED || !seen.insert(next.clone()) {
                continue;
            }
            for member in self.0.get(&next).into_iter().flatten() {
                match member {
                    Member::Action(name) => drop(actions.insert(full(name, collection))),
                    Member::Metadata { metadata } => {
                        for extended in &metadata.extend_group {
                            match extended.strip_prefix(&format!("{collection}.")).unwrap_or(extended) {
                                own if self.0.contains_key(own) => waiting.push(own.to_owned()),
                                _ => drop(others.insert(extended.clone())),
                            }
                        }
                    }
                }
            }
        }
        Some((actions.into_iter().collect(), others.into_iter().collect()))
    }
}

fn full(name: &str, collection: &str) -> String {
    if name.contains('.') { name.to_owned() } else { format!("{collection}.{name}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_has_its_actions_and_those_that_it_extends() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("runtime.yml");
        let text = "action_groups:\n  a: [x, o.c.y, {metadata: {extend_group: [b, o.c.other]}}]\n  \
                    b: [z, {metadata: {extend_group: [n.c.a]}}]\n";
        std::fs::write(&file, text).unwrap();
        let groups = ActionGroups::read(&file);
        let (actions, others) = groups.members("a", "n.c").unwrap();
        assert_eq!(actions, ["n.c.x", "n.c.z", "o.c.y"]);
        assert_eq!(others, ["o.c.other"]);
        assert!(groups.members("none", "n.c").is_none());
    }
}

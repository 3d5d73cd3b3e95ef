//! The policy that a play needs: grants for the whole play, and for each of its tasks.

use std::collections::BTreeMap;

use super::model::Rules;
use super::record::RunRecord;

/// A policy that is being suggested for a play.
#[derive(Debug, Default)]
pub struct PlaySuggestion {
    pub(super) play: Rules,
    /// Rules by the key of a task.
    pub(super) tasks: BTreeMap<String, Rules>,
}

impl PlaySuggestion {
    /// Adds what the play itself lacks: its lookups and the files that it reads.
    pub fn add_play(&mut self, record: &RunRecord) {
        self.play.add(record);
    }

    /// Adds what a task lacks. `name` is its name with that of its role.
    pub fn add_task(&mut self, name: &str, record: &RunRecord) {
        if !record.missing.is_empty() {
            self.tasks.entry(key(name)).or_default().add(record);
        }
    }

    /// Adds a comment to the rules of a task.
    pub fn remark(&mut self, name: &str, text: &str, origin: &str) {
        self.tasks.entry(key(name)).or_default().remark(text.to_owned(), origin);
    }
}

/// Returns the key of the tasks with a name. What a template in it becomes is not known.
pub(super) fn key(name: &str) -> String {
    let mut key = String::new();
    let mut rest = name;
    while let Some((before, template)) = rest.split_once("{{") {
        key.push_str(before);
        key.push('*');
        rest = template.split_once("}}").map_or("", |(_, rest)| rest);
    }
    key.push_str(rest);
    // Such a key would be that of a role.
    if key.starts_with("role:") { format!("?{}", key.split_at(1).1) } else { key }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_fits_the_task() {
        for (name, expect) in [
            ("Install x", "Install x"),
            ("web : Install {{ item }} now", "web : Install * now"),
            ("{{ broken", "*"),
            ("role: x", "?ole: x"),
        ] {
            assert_eq!(key(name), expect);
        }
    }
}

//! The defaults of arguments: `module_defaults`.

use modbox_yaml::{Map, Source};

use crate::action_host::ActionHost;
use crate::keywords::Keyword;
use crate::load::values;
use crate::model::task::Task;

/// Returns the defaults that `module_defaults` gives to an action, lowest first.
#[must_use]
pub fn defaults(task: &Task, full_name: &str, host: &dyn ActionHost) -> Vec<Source> {
    let mut groups = Vec::new();
    let mut own = Vec::new();
    // A later mapping replaces the whole entry of an earlier one; inner levels come later.
    for source in task.collected(Keyword::ModuleDefaults).into_iter().rev() {
        for mapping in values::items(source) {
            let Some(map) = mapping.as_map() else { continue };
            collect(map, full_name, host, &mut groups, &mut own);
        }
    }
    let values = |entries: Vec<(String, Source)>| entries.into_iter().map(|(_, value)| value);
    values(groups).chain(values(own)).collect()
}

fn collect(
    map: &Map,
    full_name: &str,
    host: &dyn ActionHost,
    groups: &mut Vec<(String, Source)>,
    own: &mut Vec<(String, Source)>,
) {
    for (key, entry) in map.iter() {
        let name = values::key_text(key);
        let list = match name.strip_prefix("group/") {
            Some(group) => match host.action_group(group) {
                Some(actions) if actions.iter().any(|action| action == full_name) => &mut *groups,
                _ => continue,
            },
            None if is_same_action(&name, full_name) => &mut *own,
            None => continue,
        };
        list.retain(|(known, _)| *known != name);
        list.push((name, entry.value.clone()));
    }
}

/// Says whether a key of `module_defaults` names an action. A name without a collection is that of a builtin action or of
/// a module beside the play.
fn is_same_action(key: &str, full_name: &str) -> bool {
    key == full_name
        || (!key.contains('.')
            && matches!(full_name.strip_suffix(key), Some("ansible.builtin." | "ansible.legacy." | "")))
        || (key.strip_prefix("ansible.legacy.").is_some_and(|name| full_name == format!("ansible.builtin.{name}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_name_actions_in_all_forms() {
        let check = |key: &str, name: &str, expect| assert_eq!(is_same_action(key, name), expect, "{key} {name}");
        check("copy", "ansible.builtin.copy", true);
        check("ansible.builtin.copy", "ansible.builtin.copy", true);
        check("ansible.legacy.copy", "ansible.builtin.copy", true);
        check("py", "ansible.builtin.copy", false);
        check("own", "own", true);
        check("copy", "community.general.copy", false);
        check("community.general.copy", "community.general.copy", true);
    }
}

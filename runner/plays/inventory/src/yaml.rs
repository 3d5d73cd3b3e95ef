//! Inventories in YAML or JSON: groups, each with `hosts`, `vars` and `children`.

use modbox_yaml::{Key, Map, Node, Source, load_play_file};

use crate::address;
use crate::error::{InventoryError, Problem};
use crate::limits::MAX_DEPTH;
use crate::model::Inventory;
use crate::origin::Origin;

/// Adds the hosts, groups and variables of a file. Returns warnings.
///
/// # Errors
///
/// The text is not YAML, is not an inventory, or the hosts are too many.
pub fn read_yaml(inventory: &mut Inventory, text: &str, origin: &Origin) -> Result<Vec<String>, InventoryError> {
    let start = modbox_yaml::Position::start_of(&origin.name);
    let document = load_play_file(text, &origin.name).map_err(|error| Problem::from(error).at(&start))?;
    let groups = document.root.as_map().filter(|map| !map.is_empty());
    let groups = groups.ok_or_else(|| Problem::NoGroups.at(&start))?;
    if let Some(plugin) = groups.get("plugin").filter(|plugin| !plugin.is_null()) {
        let name = plugin.as_text().map_or_else(String::new, |text| text.to_string());
        return Err(Problem::Plugin(name).at(plugin.position()));
    }
    let mut reader = Reader { inventory, origin, warnings: Vec::new() };
    for (_, entry) in groups.iter() {
        reader.group(&entry.key, &entry.value, 0)?;
    }
    Ok(reader.warnings)
}

struct Reader<'a> {
    inventory: &'a mut Inventory,
    origin: &'a Origin,
    warnings: Vec<String>,
}

impl Reader<'_> {
    fn group(&mut self, key: &Source, value: &Source, depth: u32) -> Result<(), InventoryError> {
        let name = name_of(key)?;
        if depth > MAX_DEPTH {
            return Err(Problem::TooDeep.at(key.position()));
        }
        if value.is_null() {
            self.inventory.add_group(&name);
            return Ok(());
        }
        let Some(sections) = value.as_map() else {
            self.warnings.push(format!("{}: skipping `{name}`: it is not a mapping of a group", value.position()));
            return Ok(());
        };
        self.inventory.add_group(&name);
        for (_, entry) in sections.iter() {
            match entry.key.as_text().map_or("", |text| text) {
                "vars" => self.vars(&name, &entry.value)?,
                "children" => {
                    for (child, value) in members(&entry.value, "children")? {
                        self.group(&child, &value, depth + 1)?;
                        let child_name = name_of(&child)?;
                        self.inventory
                            .add_child(&name, &child_name)
                            .map_err(|problem| problem.at(child.position()))?;
                    }
                }
                "hosts" => {
                    for (host, value) in members(&entry.value, "hosts")? {
                        self.hosts(&name, &host, &value)?;
                    }
                }
                other => self.warnings.push(format!(
                    "{}: skipping unexpected key ({other}) in group ({name}), only \"vars\", \"children\" and \"hosts\" are valid",
                    entry.key.position()
                )),
            }
        }
        Ok(())
    }

    fn vars(&mut self, group: &str, value: &Source) -> Result<(), InventoryError> {
        if value.is_null() {
            return Ok(());
        }
        for (key, entry) in mapping(value, "vars")?.iter() {
            if let Key::Text(name) = key {
                self.inventory.set_group_variable(group, name.clone(), entry.value.clone());
            }
        }
        Ok(())
    }

    fn hosts(&mut self, group: &str, key: &Source, value: &Source) -> Result<(), InventoryError> {
        let name = name_of(key)?;
        let address = address::parse(&name).map_err(|problem| problem.at(key.position()))?;
        let variables = if value.is_null() { None } else { Some(mapping(value, &name)?) };
        for host in &address.hosts {
            self.inventory
                .add_host(group, host, address.port, self.origin)
                .map_err(|problem| problem.at(key.position()))?;
            for (key, entry) in variables.into_iter().flat_map(Map::iter) {
                if let Key::Text(name) = key {
                    self.inventory.set_host_variable(host, name.clone(), entry.value.clone());
                }
            }
        }
        Ok(())
    }
}

/// Returns the text of a key.
fn name_of(key: &Source) -> Result<String, InventoryError> {
    let kind = |found| Problem::Kind { name: "the name".to_owned(), expected: "text; quote a number", found };
    key.as_text().map(|text| text.to_string()).ok_or_else(|| kind(key.kind()).at(key.position()))
}

fn mapping<'a>(value: &'a Source, name: &str) -> Result<&'a Map, InventoryError> {
    let wrong = || Problem::Kind { name: name.to_owned(), expected: "a mapping", found: value.kind() };
    value.as_map().ok_or_else(|| wrong().at(value.position()))
}

/// Returns the hosts or groups of a section: the keys of a mapping, or the only one as text.
fn members(value: &Source, name: &str) -> Result<Vec<(Source, Source)>, InventoryError> {
    match value.node() {
        Node::Scalar(_) if value.is_null() => Ok(Vec::new()),
        Node::Text(_) => Ok(vec![(value.clone(), Source::null(value.position().clone()))]),
        _ => Ok(mapping(value, name)?.iter().map(|(_, entry)| (entry.key.clone(), entry.value.clone())).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<(Inventory, Vec<String>), String> {
        let mut inventory = Inventory::new();
        let warnings =
            read_yaml(&mut inventory, text, &Origin::file("/p/hosts.yml")).map_err(|error| error.to_string())?;
        inventory.reconcile();
        Ok((inventory, warnings))
    }

    #[test]
    fn groups_hosts_and_variables_are_read() {
        let text = "all:\n  hosts: lone\n  children:\n    web:\n      hosts:\n        web[1:2]: {a: '{{ b }}'}\n        x:\n      \
                    vars: {c: 1}\n      strange: {}\n    db:\nlast: 3\n";
        let (inventory, warnings) = read(text).unwrap();
        assert_eq!(inventory.hosts_of("web"), ["web1", "web2", "x"]);
        assert_eq!(inventory.hosts_of("all"), ["lone", "web1", "web2", "x"]);
        assert_eq!(inventory.groups_of("lone"), ["all", "ungrouped"]);
        assert_eq!(&**inventory.host("web2").unwrap().vars["a"].as_text().unwrap(), "{{ b }}");
        assert!(inventory.group("web").unwrap().vars.contains_key("c"));
        assert!(inventory.group("db").is_some() && inventory.group("last").is_none());
        assert_eq!(warnings.len(), 2, "{warnings:?}");
    }

    #[test]
    fn mistakes_are_told_with_their_places() {
        for (text, expect) in [
            ("", "no mapping of groups"),
            ("- a\n", "no mapping of groups"),
            ("plugin: constructed\n", "hosts.yml:1:9`: the file configures the inventory plugin `constructed`"),
            ("a: {hosts: [x]}\n", "1:12`: expected a mapping for `hosts`, found"),
            ("a: {hosts: {1: }}\n", "1:13`: expected text; quote a number for `the name`"),
            ("a: {children: {b: {children: {a: }}}}\n", "1:16`: the group `b` cannot be a child of `a`"),
            ("a: [\n", "failed to read"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(expect), "{text}: {error}");
        }
    }
}

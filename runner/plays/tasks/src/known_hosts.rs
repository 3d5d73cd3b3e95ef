//! The hosts that a run knows: those of the operator's inventory, and those that tasks add.
//!
//! A run without an inventory knows this host alone, by the name that the operator gives it.

use indexmap::{IndexMap, IndexSet};
use modbox_inventory::Inventory;
use modbox_inventory::patterns::{self, Groups};
use modbox_python_json::{Dict, Value};

use crate::run_options::RunOptions;

/// Names that always mean this machine.
const LOCAL_NAMES: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// The hosts that a run knows.
#[derive(Debug, Clone)]
pub struct KnownHosts {
    /// Hosts and groups, with the variables that the operator wrote.
    pub inventory: Inventory,
    /// Variables of hosts that tasks added: data.
    pub data: IndexMap<String, Dict>,
    /// Whether tasks changed hosts or groups, whose names may then be made from results.
    pub is_changed: bool,
    /// Groups that tasks added hosts to, by the host.
    joined: IndexSet<(String, String)>,
    /// Groups that tasks put others below, and those groups.
    below: IndexSet<(String, String)>,
    /// Hosts that a new inventory no longer has, though plays may still run for them.
    removed: IndexSet<String>,
    /// Whether the operator gave an inventory.
    is_given: bool,
    /// The name of this host.
    own: String,
}

impl KnownHosts {
    /// Returns the hosts that are known before the first play.
    #[must_use]
    pub fn new(options: &RunOptions) -> Self {
        let own = options.host.clone();
        let given = options.inventory.as_ref().map(|given| given.inventory.clone());
        let is_given = given.is_some();
        let mut known = Self {
            inventory: given.unwrap_or_default(),
            data: IndexMap::new(),
            is_changed: false,
            joined: IndexSet::new(),
            below: IndexSet::new(),
            removed: IndexSet::new(),
            is_given,
            own,
        };
        for group in options.groups.iter().filter(|group| *group != "all") {
            known.join(&options.host, group);
        }
        known.is_changed = false;
        known
    }

    /// Says whether a name is one of this machine, whatever an inventory says.
    #[must_use]
    pub fn is_own_name(&self, name: &str) -> bool {
        name == self.own || LOCAL_NAMES.contains(&name)
    }

    /// Says whether a host is this machine: by its name, or by a connection that is written in the inventory.
    #[must_use]
    pub fn is_here(&self, name: &str) -> bool {
        if self.is_own_name(name) {
            return true;
        }
        let added = self.data.get(name).and_then(|vars| vars.get("ansible_connection")).and_then(Value::as_str);
        let of_host = self.inventory.host(name).and_then(|host| host.vars.get("ansible_connection"));
        let groups = self.inventory.groups_of(name).into_iter().rev();
        let mut of_groups = groups.filter_map(|group| self.inventory.group(group)?.vars.get("ansible_connection"));
        let written = of_host.or_else(|| of_groups.next()).and_then(|source| source.as_text()).map(|text| &**text);
        added.or(written).is_some_and(is_local_connection)
    }

    /// Returns the groups of a host besides `all`, sorted.
    #[must_use]
    pub fn group_names(&self, host: &str) -> Vec<String> {
        let groups = self.inventory.groups_of(host).into_iter().filter(|group| *group != "all");
        let mut names: Vec<String> = groups.map(str::to_owned).collect();
        names.sort();
        names
    }

    /// Returns the hosts that patterns mean, in the order of the inventory. Without an inventory, `all` and all names of
    /// this machine mean this host.
    #[must_use]
    pub fn matching(&self, patterns: &[String]) -> Vec<String> {
        let mut groups = self.inventory.group_hosts();
        if !self.is_given {
            self.add_own(&mut groups);
        }
        let is_empty = |pattern: &String| pattern.split([',', ':']).all(|part| part.trim().is_empty());
        if patterns.iter().all(is_empty) {
            return Vec::new();
        }
        // As in Ansible, a malformed pattern means no host.
        let mut hosts = patterns::hosts(&groups, patterns).unwrap_or_default();
        if !self.is_given {
            for host in &mut hosts {
                if self.is_own_name(host) {
                    host.clone_from(&self.own);
                }
            }
            hosts.dedup();
        }
        hosts
    }

    /// Adds this host to the groups that `all` hosts are in.
    fn add_own(&self, groups: &mut Groups) {
        let is_ungrouped = self.inventory.host(&self.own).is_none();
        for (name, hosts) in groups {
            let belongs = name == "all" || (is_ungrouped && name == "ungrouped");
            if belongs && !hosts.contains(&self.own) {
                hosts.insert(0, self.own.clone());
            }
        }
    }

    /// Adds a host to a group. Returns whether it was not in the group. An inventory that is full stays as it is. A host
    /// that a new inventory no longer has is in the group again when a later one has it.
    pub fn join(&mut self, host: &str, group: &str) -> bool {
        self.is_changed = true;
        let is_removed = self.removed.contains(host);
        let new = if is_removed {
            self.inventory.add_group(group)
        } else {
            self.inventory.join(group, host).unwrap_or(false)
        };
        if new || is_removed {
            self.joined.insert((host.to_owned(), group.to_owned()));
            self.inventory.reconcile();
        }
        new
    }

    /// Puts a group below others, as `group_by` does.
    pub fn put_below(&mut self, group: &str, parents: &[String]) {
        for parent in parents.iter().filter(|parent| *parent != "all") {
            self.inventory.add_group(parent);
            // A circle is left out, as the group is below the other one already.
            if self.inventory.add_child(parent, group).is_ok() {
                self.below.insert((parent.clone(), group.to_owned()));
            }
        }
        self.inventory.reconcile();
    }

    /// Replaces the operator's hosts and groups. Hosts that tasks added stay, and so do the groups that tasks put known
    /// hosts into. `is_written` says whether a module may have written the new ones.
    pub fn refresh(&mut self, inventory: Inventory, is_written: bool) {
        let was_changed = self.is_changed;
        let (joined, below) = (std::mem::take(&mut self.joined), std::mem::take(&mut self.below));
        let earlier = std::mem::replace(&mut self.inventory, inventory);
        let is_gone = |host: &&str| *host != self.own && !self.data.contains_key(*host) && !self.has(host);
        let known = earlier.host_names().chain(self.removed.iter().map(String::as_str));
        self.removed = known.filter(is_gone).map(str::to_owned).collect();
        for (host, group) in joined {
            self.join(&host, &group);
        }
        below.into_iter().for_each(|(parent, group)| self.put_below(&group, &[parent]));
        self.is_changed = was_changed || is_written;
    }

    fn has(&self, host: &str) -> bool {
        self.inventory.host(host).is_some()
    }

    /// Adds a host that a task names. Returns whether that says anything new.
    pub fn add(&mut self, name: &str, groups: &[String], vars: &Dict) -> bool {
        self.removed.shift_remove(name);
        let mut new = self.join(name, "all");
        for group in groups {
            new |= self.join(name, group);
        }
        let known = self.data.entry(name.to_owned()).or_default();
        for (name, value) in vars {
            new |= known.insert(name.clone(), value.clone()).as_ref() != Some(value);
        }
        new
    }
}

/// Says whether the name of a connection is that of the local one.
#[must_use]
pub fn is_local_connection(name: &str) -> bool {
    matches!(name, "local" | "ansible.builtin.local" | "ansible.legacy.local")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use modbox_inventory::{Origin, read_ini};

    use super::*;
    use crate::inventory::sources::GivenInventory;

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn patterns_mean_this_host_and_its_groups() {
        let check = |patterns: &[&str], expect: bool| {
            let host = "web1.example".to_owned();
            let options = RunOptions { host, groups: texts(&["web"]), ..RunOptions::default() };
            let found = KnownHosts::new(&options).matching(&texts(patterns));
            assert_eq!(found, if expect { vec!["web1.example"] } else { vec![] }, "{patterns:?}");
        };
        check(&["all"], true);
        check(&["localhost"], true);
        check(&["127.0.0.1"], true);
        check(&["web"], true);
        check(&["db"], false);
        check(&["db", "web"], true);
        check(&["db:web"], true);
        check(&["db,web1.example"], true);
        check(&["web*"], true);
        check(&["all:!web"], false);
        check(&["all:&db"], false);
        check(&["all:&web"], true);
        check(&["~web\\d"], true);
        check(&["!db"], true);
        check(&[""], false);
    }

    fn known(text: &str) -> KnownHosts {
        let mut given = GivenInventory::default();
        read_ini(&mut given.inventory, text, &Origin::file("/p/hosts")).unwrap();
        given.inventory.reconcile();
        KnownHosts::new(&RunOptions { inventory: Some(Arc::new(given)), ..RunOptions::default() })
    }

    #[test]
    fn an_inventory_says_which_hosts_are_here() {
        let known = known("[a]\nx ansible_connection=local\ny\n[b]\nz\n[b:vars]\nansible_connection=local\n");
        assert_eq!(known.matching(&texts(&["all"])), ["x", "y", "z"]);
        assert_eq!(known.matching(&texts(&["localhost"])), ["localhost"]);
        let here: Vec<&str> =
            ["x", "y", "z", "localhost", "w"].into_iter().filter(|name| known.is_here(name)).collect();
        assert_eq!(here, ["x", "z", "localhost"]);
        assert_eq!(known.group_names("x"), ["a"]);
    }

    #[test]
    fn tasks_add_hosts_and_groups() {
        let mut known = known("x\n");
        let vars: Dict = [("v".to_owned(), Value::Int(1))].into_iter().collect();
        assert!(known.add("new", &texts(&["g"]), &vars));
        assert!(!known.add("new", &texts(&["g"]), &vars));
        assert_eq!(known.matching(&texts(&["g"])), ["new"]);
        assert_eq!(known.group_names("x"), ["ungrouped"]);
        assert!(known.join("x", "g"));
        known.put_below("g", &texts(&["all", "above"]));
        assert_eq!(known.group_names("x"), ["above", "g"]);
    }

    #[test]
    fn a_new_inventory_keeps_what_tasks_added() {
        let inventory = |text: &str| {
            let mut inventory = Inventory::default();
            read_ini(&mut inventory, text, &Origin::file("/p/hosts")).unwrap();
            inventory.reconcile();
            inventory
        };
        let given = GivenInventory { inventory: inventory("one\ntwo\n"), ..GivenInventory::default() };
        let options = RunOptions { inventory: Some(Arc::new(given)), ..RunOptions::default() };
        let mut known = KnownHosts::new(&options);
        assert!(known.add("made", &texts(&["web"]), &Dict::new()));
        assert!(known.join("one", "odd") && known.join("two", "even"));
        known.put_below("even", &texts(&["numbers"]));
        known.refresh(inventory("two\nthree x=\"{{ y }}\"\n").into_data(), true);
        assert!(known.is_changed);
        assert_eq!(known.matching(&texts(&["all"])), ["made", "three", "two"]);
        assert!(known.join("one", "late") && !known.join("one", "late"));
        assert_eq!(known.matching(&texts(&["odd,late"])), [""; 0]);
        assert_eq!(known.group_names("two"), ["even", "numbers"]);
        assert_eq!(known.group_names("made"), ["web"]);
        let x = known.inventory.host("three").and_then(|host| host.vars.get("x")).unwrap();
        assert!(!modbox_template::is_template(x));
        for text in ["two\n", "one\n"] {
            known.refresh(inventory(text), true);
        }
        assert_eq!(known.matching(&texts(&["odd:&late"])), ["one"]);
        assert_eq!(known.matching(&texts(&["even"])), [""; 0]);
    }
}

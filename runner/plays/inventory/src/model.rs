//! Hosts and groups, and which belongs to which.

use std::sync::Arc;

use indexmap::{IndexMap, IndexSet};
use modbox_yaml::Source;

use crate::error::Problem;
use crate::limits::{MAX_DEPTH, MAX_HOSTS};
use crate::origin::Origin;
use crate::patterns::Groups;

/// Variables, in the order of their definition.
pub type Vars = IndexMap<Arc<str>, Source>;

/// A group.
#[derive(Debug, Clone)]
pub struct Group {
    /// Its own hosts.
    hosts: IndexSet<String>,
    /// Groups in it.
    children: IndexSet<String>,
    /// Groups that it is in.
    parents: IndexSet<String>,
    /// Its variables.
    pub vars: Vars,
    /// The greater number hides the variables of groups of the same depth.
    priority: i64,
    depth: u32,
}

/// A host.
#[derive(Debug, Clone)]
pub struct Host {
    /// Groups that name it.
    groups: IndexSet<String>,
    /// Its variables.
    pub vars: Vars,
    /// The port behind its name.
    pub port: Option<u16>,
    /// Where it is named first; `None` for a host that a task added.
    pub origin: Option<Origin>,
}

/// Hosts and groups. The groups `all` and `ungrouped` always exist.
#[derive(Debug, Clone)]
pub struct Inventory {
    groups: IndexMap<String, Group>,
    hosts: IndexMap<String, Host>,
    /// Whether mappings of one variable become one.
    merges: bool,
}

impl Default for Inventory {
    fn default() -> Self {
        Self::new()
    }
}

impl Group {
    fn new(depth: u32) -> Self {
        Self {
            hosts: IndexSet::new(),
            children: IndexSet::new(),
            parents: IndexSet::new(),
            vars: Vars::new(),
            priority: 1,
            depth,
        }
    }
}

impl Inventory {
    /// Returns the inventory with its variables as data, so that none of them is a template.
    #[must_use]
    pub fn into_data(mut self) -> Self {
        let of_groups = self.groups.values_mut().map(|group| &mut group.vars);
        let of_hosts = self.hosts.values_mut().map(|host| &mut host.vars);
        for value in of_groups.chain(of_hosts).flat_map(IndexMap::values_mut) {
            *value = value.as_data();
        }
        self
    }

    /// Sets whether mappings that several places give to one variable of a group or a host become one, in place of the last one
    /// (ansible-core, `DEFAULT_HASH_BEHAVIOUR`).
    pub fn set_merges(&mut self, merges: bool) {
        self.merges = merges;
    }

    /// Returns an inventory without hosts.
    #[must_use]
    pub fn new() -> Self {
        let mut all = Group::new(0);
        all.children.insert("ungrouped".to_owned());
        let mut ungrouped = Group::new(1);
        ungrouped.parents.insert("all".to_owned());
        let groups = [("all".to_owned(), all), ("ungrouped".to_owned(), ungrouped)].into_iter().collect();
        Self { groups, hosts: IndexMap::new(), merges: false }
    }

    /// Adds a group. Returns whether it is new.
    pub fn add_group(&mut self, name: &str) -> bool {
        let new = !self.groups.contains_key(name);
        if new {
            self.groups.insert(name.to_owned(), Group::new(0));
        }
        new
    }

    /// Adds a host to a group. Returns whether the group did not have it.
    ///
    /// # Errors
    ///
    /// The hosts are too many.
    pub fn add_host(&mut self, group: &str, name: &str, port: Option<u16>, origin: &Origin) -> Result<bool, Problem> {
        let host = self.host_entry(name)?;
        host.origin.get_or_insert_with(|| origin.clone());
        host.port = host.port.or(port);
        self.join(group, name)
    }

    /// Adds a host to a group, as a task does while a play runs. Both are made if needed. Returns whether the group did
    /// not have it.
    ///
    /// # Errors
    ///
    /// The hosts are too many.
    pub fn join(&mut self, group: &str, name: &str) -> Result<bool, Problem> {
        self.add_group(group);
        let host = self.host_entry(name)?;
        host.groups.insert(group.to_owned());
        Ok(self.groups.get_mut(group).is_some_and(|group| group.hosts.insert(name.to_owned())))
    }

    fn host_entry(&mut self, name: &str) -> Result<&mut Host, Problem> {
        if self.hosts.len() >= MAX_HOSTS && !self.hosts.contains_key(name) {
            return Err(Problem::TooManyHosts);
        }
        let new = || Host { groups: IndexSet::new(), vars: Vars::new(), port: None, origin: None };
        Ok(self.hosts.entry(name.to_owned()).or_insert_with(new))
    }

    /// Puts a group below another one. Both must exist.
    ///
    /// # Errors
    ///
    /// The groups would be in a circle, or nest too deep.
    pub fn add_child(&mut self, parent: &str, child: &str) -> Result<(), Problem> {
        if self.descendants(child).contains(&parent) {
            return Err(Problem::Circle { parent: parent.to_owned(), child: child.to_owned() });
        }
        if let Some(group) = self.groups.get_mut(parent) {
            group.children.insert(child.to_owned());
        }
        if let Some(group) = self.groups.get_mut(child) {
            group.parents.insert(parent.to_owned());
        }
        self.deepen(parent)
    }

    /// Computes the depths of the groups below a group.
    fn deepen(&mut self, group: &str) -> Result<(), Problem> {
        let mut waiting = vec![group.to_owned()];
        while let Some(name) = waiting.pop() {
            let Some(group) = self.groups.get(&name) else { continue };
            let (depth, children) = (group.depth + 1, group.children.clone());
            if depth > MAX_DEPTH {
                return Err(Problem::TooDeep);
            }
            for child in children {
                if let Some(below) = self.groups.get_mut(&child)
                    && below.depth < depth
                {
                    below.depth = depth;
                    waiting.push(child);
                }
            }
        }
        Ok(())
    }

    /// Sets a variable of a group. `ansible_group_priority` decides which of several groups hides the others.
    pub fn set_group_variable(&mut self, group: &str, name: Arc<str>, value: Source) {
        let Some(group) = self.groups.get_mut(group) else { return };
        if &*name == "ansible_group_priority" {
            let number = value.to_data().ok().and_then(|data| match data.as_str() {
                Some(text) => text.trim().parse().ok(),
                None => data.as_int(),
            });
            group.priority = number.unwrap_or(group.priority);
        } else {
            set(&mut group.vars, name, value, self.merges);
        }
    }

    /// Sets a variable of a host.
    pub fn set_host_variable(&mut self, host: &str, name: Arc<str>, value: Source) {
        if let Some(host) = self.hosts.get_mut(host) {
            set(&mut host.vars, name, value, self.merges);
        }
    }

    /// Puts each group without a parent below `all`, and each host without a group into `ungrouped`. Must be called when
    /// everything is read.
    pub fn reconcile(&mut self) {
        let without: Vec<String> = self
            .groups
            .iter()
            .filter(|(name, group)| *name != "all" && group.parents.is_empty())
            .map(|(name, _)| name.clone())
            .collect();
        for name in without {
            if let Some(all) = self.groups.get_mut("all") {
                all.children.insert(name.clone());
            }
            if let Some(group) = self.groups.get_mut(&name) {
                group.parents.insert("all".to_owned());
            }
            // It had no parent, so no circle can arise; the depth of `all` is 0.
            drop(self.deepen("all"));
        }
        let names: Vec<String> = self.hosts.keys().cloned().collect();
        for name in names {
            let Some(host) = self.hosts.get_mut(&name) else { continue };
            let grouped = host.groups.iter().any(|group| group != "all" && group != "ungrouped");
            let Some(ungrouped) = self.groups.get_mut("ungrouped") else { continue };
            if grouped {
                host.groups.shift_remove("ungrouped");
                ungrouped.hosts.shift_remove(&name);
            } else {
                host.groups.insert("ungrouped".to_owned());
                ungrouped.hosts.insert(name);
            }
        }
    }

    /// Returns a host.
    #[must_use]
    pub fn host(&self, name: &str) -> Option<&Host> {
        self.hosts.get(name)
    }

    /// Returns a group.
    #[must_use]
    pub fn group(&self, name: &str) -> Option<&Group> {
        self.groups.get(name)
    }

    /// Returns the names of all hosts, in the order of their definition.
    pub fn host_names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.hosts.keys().map(String::as_str)
    }

    /// Returns the names of all groups, in the order of their definition.
    pub fn group_names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.groups.keys().map(String::as_str)
    }

    /// Returns the groups that a host is in, directly or not, in the order in which their variables hide each other.
    #[must_use]
    pub fn groups_of(&self, host: &str) -> Vec<&str> {
        let mut found: IndexSet<&str> = IndexSet::new();
        let direct = self.hosts.get(host).into_iter().flat_map(|host| &host.groups);
        let mut waiting: Vec<&str> = direct.map(String::as_str).collect();
        while let Some(name) = waiting.pop() {
            if let Some((name, group)) = self.groups.get_key_value(name)
                && found.insert(name)
            {
                waiting.extend(group.parents.iter().map(String::as_str));
            }
        }
        let mut groups: Vec<&str> = found.into_iter().collect();
        groups.sort_by_key(|name| self.groups.get(*name).map(|group| (group.depth, group.priority, *name)));
        groups
    }

    /// Returns the hosts of a group and of the groups below it.
    #[must_use]
    pub fn hosts_of(&self, group: &str) -> Vec<&str> {
        let mut hosts: IndexSet<&str> = IndexSet::new();
        for name in self.descendants(group) {
            hosts.extend(self.groups.get(name).into_iter().flat_map(|group| &group.hosts).map(String::as_str));
        }
        hosts.into_iter().collect()
    }

    /// Returns all groups with their hosts, in the order of their definition.
    #[must_use]
    pub fn group_hosts(&self) -> Groups {
        let hosts = |name: &String| self.hosts_of(name).into_iter().map(str::to_owned).collect();
        self.groups.keys().map(|name| (name.clone(), hosts(name))).collect()
    }

    /// Returns a group and those below it, the nearer first.
    fn descendants(&self, group: &str) -> IndexSet<&str> {
        let mut found: IndexSet<&str> =
            self.groups.get_key_value(group).map(|(name, _)| name.as_str()).into_iter().collect();
        let mut next = 0;
        while let Some(name) = found.get_index(next).copied() {
            next += 1;
            found.extend(self.groups.get(name).into_iter().flat_map(|group| &group.children).map(String::as_str));
        }
        found
    }
}

/// Sets a variable. With `merges`, mappings become one.
fn set(vars: &mut Vars, name: Arc<str>, value: Source, merges: bool) {
    let value = match vars.get(&name) {
        Some(known) if merges && known.as_map().is_some() && value.as_map().is_some() => known.merged_with(&value),
        _ => value,
    };
    vars.insert(name, value);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inventory() -> Inventory {
        let mut inventory = Inventory::new();
        for (group, host) in [("web", "a"), ("web", "b"), ("db", "b"), ("ungrouped", "c")] {
            inventory.add_host(group, host, None, &Origin::list("x")).unwrap();
        }
        inventory.add_group("site");
        inventory.add_child("site", "web").unwrap();
        inventory.reconcile();
        inventory
    }

    #[test]
    fn groups_are_known_in_the_order_of_their_variables() {
        let inventory = inventory();
        assert_eq!(inventory.groups_of("b"), ["all", "db", "site", "web"]);
        assert_eq!(inventory.groups_of("c"), ["all", "ungrouped"]);
        assert_eq!(inventory.groups_of("nothing"), [""; 0]);
        assert_eq!(inventory.hosts_of("all"), ["c", "b", "a"]);
        assert_eq!(inventory.hosts_of("site"), ["a", "b"]);
    }

    #[test]
    fn circles_and_deep_nesting_are_errors() {
        let mut inventory = inventory();
        assert!(matches!(inventory.add_child("web", "site"), Err(Problem::Circle { .. })));
        assert!(matches!(inventory.add_child("web", "web"), Err(Problem::Circle { .. })));
        let mut deep = Inventory::new();
        let result = (0..100).try_for_each(|number| {
            let (parent, child) = (format!("g{number}"), format!("g{}", number + 1));
            deep.add_group(&parent);
            deep.add_group(&child);
            deep.add_child(&parent, &child)
        });
        assert!(matches!(result, Err(Problem::TooDeep)));
    }

    #[test]
    fn priorities_decide_among_groups_of_one_depth() {
        let mut inventory = inventory();
        let value = modbox_yaml::inventory_lines("10", "x").unwrap().remove(0).python_literal();
        inventory.set_group_variable("db", "ansible_group_priority".into(), value);
        assert_eq!(inventory.groups_of("b"), ["all", "site", "db", "web"]);
    }
}

//! Variables that the engine sets: names of host, play and role, switches of the run, and paths.

use std::collections::BTreeSet;
use std::sync::Arc;

use modbox_python_json::{Dict, Value};
use modbox_template::{Layer, Origin, Scope, Slot};
use modbox_yaml::Source;

use crate::keywords::Keyword;
use crate::model::frame::{Frame, FrameKind};
use crate::model::role::Role;
use crate::model::task::Task;
use crate::paths;
use crate::run::options::RunOptions;
use crate::vars::layer;

/// A host that a task added. Nothing runs on it, but variables show it.
#[derive(Debug, Clone, PartialEq)]
pub struct AddedHost {
    /// The name.
    pub name: String,
    /// Its groups.
    pub groups: Vec<String>,
    /// Its variables.
    pub vars: Dict,
}

/// Returns the variables of the run, and the folder of the playbook.
#[must_use]
pub fn of_run(options: &RunOptions, folder: &str, groups: &[String], added: &[AddedHost]) -> Layer {
    let host = options.host.as_str();
    let text = |text: &str| Value::from(text);
    let list = |items: &[String]| Value::List(items.iter().map(|item| Value::from(item.as_str())).collect());
    let tags = if options.tags.is_empty() { vec!["all".to_owned()] } else { options.tags.clone() };
    let mut set = Dict::new();
    let mut put = |name: &str, value: Value| drop(set.insert(name.to_owned(), value));
    put("playbook_dir", text(folder));
    put("inventory_hostname", text(host));
    put("inventory_hostname_short", text(host.split('.').next().unwrap_or(host)));
    put("group_names", list(&own_groups(groups)));
    put("groups", Value::Dict(group_hosts(host, groups, added)));
    put("ansible_version", version(&options.ansible_version));
    put("ansible_check_mode", Value::Bool(options.check));
    put("ansible_diff_mode", Value::Bool(options.diff));
    put("ansible_forks", Value::Int(1));
    put("ansible_verbosity", Value::from(u32::from(options.verbosity)));
    put("ansible_run_tags", list(&tags));
    put("ansible_skip_tags", list(&options.skip_tags));
    put("ansible_inventory_sources", Value::List(vec![Value::from(format!("{host},"))]));
    put("ansible_config_file", Value::Null);
    if !is_implicit(groups) {
        put("inventory_dir", Value::Null);
        put("inventory_file", Value::Null);
    }
    if let Some(limit) = &options.limit {
        put("ansible_limit", text(limit));
    }
    layer::of_data(&set, &Origin::Magic)
}

/// Returns what is known of the host before any variable: how it is reached, and its interpreter of Python.
#[must_use]
pub fn of_host(python: &str) -> Arc<Layer> {
    layer::of_texts([
        ("ansible_connection", "local"),
        ("ansible_python_interpreter", python),
        ("ansible_playbook_python", python),
    ])
}

/// Returns what a task sees of the connection, unless a variable says otherwise. `hostvars` does not show it.
#[must_use]
pub fn of_connection(host: &str, is_implicit: bool) -> Arc<Layer> {
    let address = Value::from(if is_implicit { "127.0.0.1" } else { host });
    let set = [
        ("ansible_host", address.clone()),
        ("ansible_ssh_host", address),
        ("ansible_timeout", Value::Int(10)),
        ("ansible_ssh_timeout", Value::Int(10)),
        ("ansible_shell_executable", Value::from("/bin/sh")),
        ("ansible_module_compression", Value::from("ZIP_DEFLATED")),
        ("ansible_pipelining", Value::Bool(false)),
        ("ansible_ssh_pipelining", Value::Bool(false)),
    ];
    let set: Dict = set.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    Arc::new(layer::of_data(&set, &Origin::Magic))
}

/// Returns the variables of a play.
#[must_use]
pub fn of_play(name: &str, host: &str, roles: &[Arc<Role>]) -> Layer {
    let names = |roles: &[Arc<Role>]| roles.iter().map(|role| Value::from(role.full_name())).collect::<Vec<_>>();
    let dependencies: BTreeSet<String> =
        roles.iter().flat_map(|role| role.all_dependencies()).map(|dependency| dependency.full_name()).collect();
    let all: BTreeSet<String> = roles.iter().map(|role| role.full_name()).chain(dependencies.iter().cloned()).collect();
    let hosts = || Value::List(vec![Value::from(host)]);
    let sorted = |names: &BTreeSet<String>| Value::List(names.iter().map(|name| Value::from(name.as_str())).collect());
    let set: Dict = [
        ("ansible_play_name", Value::from(name)),
        ("ansible_play_hosts_all", hosts()),
        ("ansible_play_hosts", hosts()),
        ("ansible_play_batch", hosts()),
        ("play_hosts", hosts()),
        ("ansible_current_hosts", hosts()),
        ("ansible_failed_hosts", Value::List(Vec::new())),
        ("ansible_role_names", sorted(&all)),
        ("ansible_play_role_names", Value::List(names(roles))),
        ("ansible_dependent_role_names", sorted(&dependencies)),
        ("role_names", Value::List(names(roles))),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_owned(), value))
    .collect();
    layer::of_data(&set, &Origin::Magic)
}

/// Returns the variables of a task: its role, where its files are looked for, and its environment.
#[must_use]
pub fn of_task(task: &Task, base: &str) -> Layer {
    let mut set = Dict::new();
    let mut put = |name: &str, value: Value| drop(set.insert(name.to_owned(), value));
    if let Some(role) = task.frame.role() {
        put("role_name", Value::from(role.name.as_str()));
        put("role_path", Value::from(role.path.as_str()));
        put("ansible_role_name", Value::from(role.full_name()));
        put("ansible_collection_name", role.collection.as_deref().map_or(Value::Null, Value::from));
    }
    let parents = parent_roles(&task.frame);
    if !parents.is_empty() {
        let list =
            |text: &dyn Fn(&Role) -> String| Value::List(parents.iter().map(|role| Value::from(text(role))).collect());
        put("ansible_parent_role_names", list(&|role| role.full_name()));
        put("ansible_parent_role_paths", list(&|role| role.path.clone()));
    }
    let mut search = search_path(task);
    if !search.iter().any(|folder| folder == base) {
        search.push(base.to_owned());
    }
    put("ansible_search_path", Value::List(search.into_iter().map(Value::from).collect()));
    let mut layer = layer::of_data(&set, &Origin::Magic);
    let environment: Vec<Source> = task.collected(Keyword::Environment).into_iter().rev().cloned().collect();
    layer.insert("environment", Slot::source(Source::list_of(environment, task.position.clone())));
    layer
}

/// Returns the variables that show all others: `vars` and `hostvars`.
#[must_use]
pub fn views(host: &str, hostvars: Scope, added: &[AddedHost]) -> Layer {
    let mut hosts = Layer::default();
    for host in added {
        let mut vars = host.vars.clone();
        vars.insert("inventory_hostname".to_owned(), Value::from(host.name.as_str()));
        let mut groups = host.groups.clone();
        groups.sort();
        vars.insert("group_names".to_owned(), Value::from(groups));
        let value = modbox_jinja::values::from_json(&Value::Dict(vars));
        hosts.insert(host.name.as_str(), Slot::value(value, Origin::Result("add_host".into())));
    }
    hosts.insert(host, Slot::scope(hostvars, Origin::Magic));
    let mut layer = Layer::default();
    layer.insert("vars", Slot::everything());
    layer.insert("hostvars", Slot::scope(Scope::new().with(Arc::new(hosts)), Origin::Magic));
    layer
}

/// Returns the folders in which files of a task are looked for: those of its roles, and that of its file.
#[must_use]
pub fn search_path(task: &Task) -> Vec<String> {
    let mut folders: Vec<String> = task.frame.roles().map(|role| role.path.clone()).collect();
    let own = paths::parent(&task.position.file).to_owned();
    if !own.is_empty() && !folders.contains(&own) {
        folders.push(own);
    }
    folders
}

/// Returns the roles whose tasks included or imported the role of a task, the nearest first.
fn parent_roles(frame: &Frame) -> Vec<Arc<Role>> {
    let mut parents = Vec::new();
    let frames: Vec<&Frame> = frame.chain().collect();
    for pair in frames.windows(2) {
        let [inner, outer] = pair else { continue };
        let uses_role = matches!(inner.kind, FrameKind::Role(_));
        if uses_role && matches!(outer.kind, FrameKind::Import(_) | FrameKind::Include(_)) {
            parents.extend(outer.role().cloned());
        }
    }
    parents
}

/// Returns the groups of the host besides `all`.
fn own_groups(groups: &[String]) -> Vec<String> {
    let mut own: Vec<String> = groups.iter().filter(|group| *group != "all").cloned().collect();
    own.sort();
    own
}

/// Says whether the host is in no inventory, as Ansible has `localhost` then.
#[must_use]
pub fn is_implicit(groups: &[String]) -> bool {
    own_groups(groups).is_empty()
}

/// Returns the hosts of each group. A host without groups is implicit, as Ansible calls it, and in none of them.
fn group_hosts(host: &str, groups: &[String], added: &[AddedHost]) -> Dict {
    let mut hosts = Dict::new();
    let own = own_groups(groups);
    let all = if is_implicit(groups) { Vec::new() } else { vec![Value::from(host)] };
    hosts.insert("all".to_owned(), Value::List(all));
    hosts.insert("ungrouped".to_owned(), Value::List(Vec::new()));
    for group in own {
        hosts.insert(group, Value::List(vec![Value::from(host)]));
    }
    for host in added {
        for group in std::iter::once("all").chain(host.groups.iter().map(String::as_str)) {
            let members = hosts.entry(group.to_owned()).or_insert_with(|| Value::List(Vec::new()));
            if let Value::List(members) = members {
                members.push(Value::from(host.name.as_str()));
            }
        }
        if let Some(Value::List(members)) = hosts.get_mut("ungrouped").filter(|_| host.groups.is_empty()) {
            members.push(Value::from(host.name.as_str()));
        }
    }
    hosts
}

fn version(full: &str) -> Value {
    let mut numbers = full.split('.').map(|part| part.parse::<i64>().unwrap_or_default());
    let mut next = || Value::Int(numbers.next().unwrap_or_default());
    let (major, minor, revision) = (next(), next(), next());
    let text = Value::from(full);
    Value::from([("string", text.clone()), ("full", text), ("major", major), ("minor", minor), ("revision", revision)])
}

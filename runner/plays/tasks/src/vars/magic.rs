//! Variables that the engine sets: names of host, play and role, switches of the run, and paths.

use std::collections::BTreeSet;
use std::sync::Arc;

use modbox_jinja::values;
use modbox_python_json::{Dict, Value};
use modbox_template::{Layer, Origin, Scope, Slot};
use modbox_yaml::{Source, template_file};

use crate::keywords::Keyword;
use crate::known_hosts::KnownHosts;
use crate::model::frame::{Frame, FrameKind};
use crate::model::role::Role;
use crate::model::task::Task;
use crate::paths;
use crate::run_options::RunOptions;
use crate::vars::layer;

/// Returns the variables of the run, and the folder of the playbook.
#[must_use]
pub fn of_run(options: &RunOptions, folder: &str, hosts: &KnownHosts) -> Layer {
    let text = |text: &str| Value::from(text);
    let tags = if options.tags.is_empty() { vec!["all".to_owned()] } else { options.tags.clone() };
    let groups = hosts.inventory.group_hosts().into_iter().map(|(name, hosts)| (name, list(&hosts)));
    let sources = options.inventory.as_ref().map(|given| given.sources.clone());
    let mut set = Dict::new();
    let mut put = |name: &str, value: Value| drop(set.insert(name.to_owned(), value));
    put("playbook_dir", text(folder));
    put("groups", Value::Dict(groups.collect()));
    put("ansible_version", version(&options.ansible_version));
    put("ansible_check_mode", Value::Bool(options.check));
    put("ansible_diff_mode", Value::Bool(options.diff));
    put("ansible_forks", Value::from(options.forks));
    put("ansible_verbosity", Value::from(u32::from(options.verbosity)));
    put("ansible_run_tags", list(&tags));
    put("ansible_skip_tags", list(&options.skip_tags));
    put("ansible_inventory_sources", list(&sources.unwrap_or_else(|| vec![format!("{},", options.host)])));
    put("ansible_config_file", Value::Null);
    if let Some(limit) = &options.limit {
        put("ansible_limit", text(limit));
    }
    with_groups(&set, hosts)
}

/// Returns the layer of what the engine sets. Names of groups that tasks added may have been made from results.
fn with_groups(set: &Dict, hosts: &KnownHosts) -> Layer {
    let mut layer = layer::of_data(set, &Origin::Magic);
    let changed = ["group_names", "groups"].into_iter().filter(|_| hosts.is_changed);
    for (name, value) in changed.filter_map(|name| Some((name, set.get(name)?))) {
        layer.insert(name, Slot::value(values::from_json(value), Origin::Result("add_host or group_by".into())));
    }
    layer
}

/// Returns the variables that name a host. One without an inventory has no file of an inventory.
#[must_use]
pub fn of_host_names(host: &str, hosts: &KnownHosts) -> Layer {
    let known = hosts.inventory.host(host);
    let mut set = Dict::new();
    let mut put = |name: &str, value: Value| drop(set.insert(name.to_owned(), value));
    put("inventory_hostname", Value::from(host));
    put("inventory_hostname_short", Value::from(host.split('.').next().unwrap_or(host)));
    put("group_names", list(&hosts.group_names(host)));
    if let Some(known) = known {
        let origin = known.origin.as_ref();
        put("inventory_file", origin.map_or(Value::Null, |origin| Value::from(origin.name.as_str())));
        put("inventory_dir", origin.and_then(|origin| origin.folder.as_deref()).map_or(Value::Null, Value::from));
    }
    with_groups(&set, hosts)
}

fn list(items: &[String]) -> Value {
    Value::List(items.iter().map(|item| Value::from(item.as_str())).collect())
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

/// Returns what a task sees of the connection, unless a variable says otherwise, and what a setting has for `ansible_managed`: a
/// template of the variables that each template file has. `hostvars` does not show it.
#[must_use]
pub fn of_connection(host: &str, hosts: &KnownHosts, managed: Option<&str>) -> Arc<Layer> {
    let is_implicit = hosts.inventory.host(host).is_none();
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
    let mut known = layer::of_data(&set, &Origin::Magic);
    if let Some(managed) = managed {
        known.insert("ansible_managed", Slot::source(template_file(managed, "ansible_managed")));
    }
    Arc::new(known)
}

/// The hosts of a play.
#[derive(Debug)]
pub struct HostsOfPlay<'a> {
    /// All of them.
    pub all: &'a [String],
    /// Those that have not failed.
    pub left: Vec<String>,
    /// Those that have.
    pub failed: Vec<String>,
}

/// Returns the variables of a play.
#[must_use]
pub fn of_play(name: &str, hosts: &HostsOfPlay<'_>, host: &str, roles: &[Arc<Role>]) -> Layer {
    let names = |roles: &[Arc<Role>]| roles.iter().map(|role| Value::from(role.full_name())).collect::<Vec<_>>();
    let dependencies: BTreeSet<String> =
        roles.iter().flat_map(|role| role.all_dependencies()).map(|dependency| dependency.full_name()).collect();
    let used: BTreeSet<String> =
        roles.iter().map(|role| role.full_name()).chain(dependencies.iter().cloned()).collect();
    let hosts_or_own = |hosts: &[String]| if hosts.is_empty() { list(&[host.to_owned()]) } else { list(hosts) };
    let sorted = |names: &BTreeSet<String>| Value::List(names.iter().map(|name| Value::from(name.as_str())).collect());
    let set: Dict = [
        ("ansible_play_name", Value::from(name)),
        ("ansible_play_hosts_all", hosts_or_own(hosts.all)),
        ("ansible_play_hosts", hosts_or_own(&hosts.left)),
        ("ansible_play_batch", list(&[host.to_owned()])),
        ("play_hosts", hosts_or_own(&hosts.left)),
        ("ansible_current_hosts", hosts_or_own(&hosts.left)),
        ("ansible_failed_hosts", list(&hosts.failed)),
        ("ansible_role_names", sorted(&used)),
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
pub fn views(host: &str, hostvars: Scope, others: &Arc<Layer>) -> Layer {
    let mut own = Layer::default();
    own.insert(host, Slot::scope(hostvars, Origin::Magic));
    let mut layer = Layer::default();
    layer.insert("vars", Slot::everything());
    layer.insert("hostvars", Slot::hosts(Scope::new().with(Arc::clone(others)).with(Arc::new(own))));
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

fn version(full: &str) -> Value {
    let mut numbers = full.split('.').map(|part| part.parse::<i64>().unwrap_or_default());
    let mut next = || Value::Int(numbers.next().unwrap_or_default());
    let (major, minor, revision) = (next(), next(), next());
    let text = Value::from(full);
    Value::from([("string", text.clone()), ("full", text), ("major", major), ("minor", minor), ("revision", revision)])
}

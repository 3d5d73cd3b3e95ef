//! The table of tasks, `tasks.yml`, which says in its head what its keys are.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::Path;

use serde_json::{Map, Value};

/// What is in the table.
pub(super) struct Table {
    pub(super) groups: Vec<Group>,
    /// Endings that a module cannot show, by module.
    lacks: BTreeMap<String, BTreeMap<String, String>>,
}

/// Tasks that are done in order, in a folder of their own.
pub(super) struct Group {
    pub(super) name: String,
    /// Directories of the machine that its tasks change copies of.
    pub(super) changes: Vec<String>,
    pub(super) tasks: Vec<Task>,
}

/// One task. `@` is the group's folder, `SERVER` is where a server is.
pub(super) struct Task {
    pub(super) module: String,
    args: Value,
    pub(super) check: bool,
    /// Grants: `write @/file`.
    pub(super) allow: Vec<String>,
    /// Keys of the result that are not Ansible's, with the reason.
    pub(super) differs: BTreeMap<String, String>,
}

impl Table {
    /// Reads it.
    pub(super) fn read() -> Self {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/python_modules/tasks.yml");
        let text = std::fs::read_to_string(file).unwrap();
        let mut table: Value = serde_saphyr::from_str(&text).expect("the table is YAML");
        let groups = serde_json::from_value::<BTreeMap<String, Vec<Value>>>(table["groups"].take()).unwrap();
        let mut changes = serde_json::from_value::<BTreeMap<String, Vec<String>>>(table["changes"].take()).unwrap();
        let group = |(name, tasks): (String, Vec<Value>)| {
            let changes = changes.remove(&name).unwrap_or_default();
            Group { name, changes, tasks: tasks.into_iter().map(Task::of).collect() }
        };
        Self {
            groups: groups.into_iter().map(group).collect(),
            lacks: serde_json::from_value(table["lacks"].take()).unwrap(),
        }
    }

    /// Says which modules do not show one of the endings and give no reason for it. `seen` has those that they show.
    pub(super) fn unshown(&self, seen: &BTreeSet<(&str, &str)>) -> Vec<String> {
        let modules: BTreeSet<&str> = seen.iter().map(|(module, _)| *module).collect();
        let all = modules.into_iter().flat_map(|module| ENDINGS.map(|ending| (module, ending)));
        let excused =
            |module: &str, ending: &str| self.lacks.get(module).is_some_and(|lacks| lacks.contains_key(ending));
        let unshown = all.filter(|(module, ending)| !seen.contains(&(module, ending)) && !excused(module, ending));
        unshown.map(|(module, ending)| format!("{module}: {ending}")).collect()
    }
}

/// What every module shows, unless it cannot.
const ENDINGS: [&str; 4] = ["ok", "changed", "check", "failed"];

impl Task {
    fn of(written: Value) -> Self {
        let mut keys: Map<String, Value> = serde_json::from_value(written).unwrap();
        let mut take = |key: &str| keys.remove(key);
        let check = take("check").is_some_and(|check| check == true);
        let allow = take("allow").map(|allow| serde_json::from_value(allow).unwrap()).unwrap_or_default();
        let differs = take("differs").map(|differs| serde_json::from_value(differs).unwrap()).unwrap_or_default();
        let mut rest = keys.into_iter();
        let (Some((module, args)), None) = (rest.next(), rest.next()) else { panic!("a task is of one module") };
        Self { module, args, check, allow, differs }
    }

    /// The arguments, in a folder.
    pub(super) fn args(&self, folder: &Path, server: SocketAddr) -> Value {
        let text = self.args.to_string().replace('@', &folder.display().to_string());
        serde_json::from_str(&text.replace("SERVER", &server.to_string())).unwrap()
    }

    /// The switches that grant what it needs, but for the one with this number.
    pub(super) fn switches(&self, folder: &Path, server: SocketAddr, without: Option<usize>) -> Vec<String> {
        let kept = self.allow.iter().enumerate().filter(|(number, _)| Some(*number) != without);
        let switches = kept.flat_map(|(_, allow)| {
            let (name, value) = allow.split_once(' ').unwrap_or_else(|| panic!("`{allow}` grants something"));
            let name = if name == "designate" { "--designate".to_owned() } else { format!("--allow-{name}") };
            let value = value.replace('@', &folder.display().to_string());
            [name, value.replace("PORT", &server.port().to_string())]
        });
        switches.collect()
    }

    /// How it ended, by what was registered.
    pub(super) fn ending(&self, failed: bool, changed: bool) -> &'static str {
        match (failed, self.check, changed) {
            (true, ..) => "failed",
            (_, true, _) => "check",
            (.., true) => "changed",
            _ => "ok",
        }
    }
}

impl std::fmt::Display for Task {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let check = if self.check { " in check mode" } else { "" };
        write!(f, "{} {}{check}, allow {:?}", self.module, self.args, self.allow)
    }
}

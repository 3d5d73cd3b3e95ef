//! Reads the tables of tasks in `tasks/` and `collections/`. `README.md` describes their keys.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::support::fixture;

pub(super) struct Table {
    pub(super) groups: Vec<Group>,
    /// Endings that a module cannot show, by module.
    lacks: BTreeMap<String, BTreeMap<String, String>>,
    /// Modules that cannot show here what they do, with the reason.
    pub(super) missing: BTreeMap<String, String>,
}

/// What arguments call by other names.
pub(super) struct Names<'a> {
    /// The folder of the group: `@`.
    pub(super) folder: &'a Path,
    /// The address of the server: `SERVER`. Its port is `PORT`.
    pub(super) server: SocketAddr,
    /// The folder of the Python environment that modules run in: `ENVIRONMENT`.
    pub(super) environment: &'a Path,
}

/// Tasks that run in order, in a separate folder.
pub(super) struct Group {
    pub(super) name: String,
    /// Directories of the machine; the tasks change copies of them.
    pub(super) changes: Vec<String>,
    /// Whether its tasks need programs that may not be on the machine.
    pub(super) programs: bool,
    pub(super) tasks: Vec<Task>,
}

pub(super) struct Task {
    pub(super) module: String,
    args: Value,
    /// Arguments of the play's only.
    play: Map<String, Value>,
    pub(super) check: bool,
    /// Grants: `write @/file`.
    pub(super) allow: Vec<String>,
    /// Keys of the result that are not Ansible's, with the reason.
    pub(super) differs: BTreeMap<String, String>,
}

/// A file of the table.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct File {
    groups: BTreeMap<String, Vec<Value>>,
    changes: BTreeMap<String, Vec<String>>,
    programs: BTreeSet<String>,
    lacks: BTreeMap<String, BTreeMap<String, String>>,
    missing: BTreeMap<String, String>,
}

impl Names<'_> {
    fn replaced_in(&self, text: &str) -> String {
        let text = text.replace('@', &self.folder.display().to_string());
        let text = text.replace("SERVER", &self.server.to_string()).replace("PORT", &self.server.port().to_string());
        text.replace("ENVIRONMENT", &self.environment.display().to_string())
    }
}

impl Group {
    /// Returns whether the group sees a separate machine.
    pub(super) fn has_machine(&self) -> bool {
        self.programs || !self.changes.is_empty()
    }
}

impl Table {
    /// Reads the table in a folder. Groups with a separate machine come last.
    pub(super) fn read(folder: &str) -> Self {
        let mut table = Self { groups: Vec::new(), lacks: BTreeMap::new(), missing: BTreeMap::new() };
        for entry in std::fs::read_dir(fixture("python/python_modules").join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let text = std::fs::read_to_string(&path).unwrap();
            let file: File = serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{path:?}: {error}"));
            table.take(file);
        }
        table.groups.sort_by(|one, other| (one.has_machine(), &one.name).cmp(&(other.has_machine(), &other.name)));
        table
    }

    /// Adds a file.
    fn take(&mut self, mut file: File) {
        for (name, tasks) in file.groups {
            assert!(self.groups.iter().all(|group| group.name != name), "there is one group `{name}`");
            let (changes, programs) = (file.changes.remove(&name).unwrap_or_default(), file.programs.remove(&name));
            self.groups.push(Group { name, changes, programs, tasks: tasks.into_iter().map(Task::of).collect() });
        }
        assert!(file.changes.is_empty() && file.programs.is_empty(), "they are of no group: {:?}", file.changes);
        self.lacks.extend(file.lacks);
        self.missing.extend(file.missing);
    }

    /// Returns the modules that showed all their possible endings. `seen` holds the endings shown.
    pub(super) fn whole<'a>(&self, seen: &BTreeSet<(&'a str, &str)>) -> BTreeSet<&'a str> {
        let unshown = self.unshown(seen);
        let whole =
            |module: &str| !self.missing.contains_key(module) && !unshown.iter().any(|(other, _)| *other == module);
        seen.iter().map(|(module, _)| *module).filter(|module| whole(module)).collect()
    }

    /// Returns the endings that were shown although the table excludes them.
    pub(super) fn shown_all_the_same<'a>(&self, seen: &BTreeSet<(&'a str, &'a str)>) -> Vec<(&'a str, &'a str)> {
        let lacks =
            |(module, ending): &(&str, &str)| self.lacks.get(*module).is_some_and(|all| all.contains_key(*ending));
        seen.iter().copied().filter(lacks).collect()
    }

    /// Returns the endings that modules did not show and the table does not exclude. `seen` holds the endings shown.
    pub(super) fn unshown<'a>(&self, seen: &BTreeSet<(&'a str, &str)>) -> Vec<(&'a str, &'static str)> {
        let modules: BTreeSet<&str> = seen.iter().map(|(module, _)| *module).collect();
        let all = modules.into_iter().flat_map(|module| ENDINGS.map(|ending| (module, ending)));
        let excused = |module: &str, ending: &str| {
            self.missing.contains_key(module) || self.lacks.get(module).is_some_and(|lacks| lacks.contains_key(ending))
        };
        all.filter(|(module, ending)| !seen.contains(&(*module, *ending)) && !excused(module, ending)).collect()
    }
}

/// The endings that every module must show, unless the table excludes them.
const ENDINGS: [&str; 4] = ["ok", "changed", "check", "failed"];

impl Task {
    fn of(written: Value) -> Self {
        let mut keys: Map<String, Value> = serde_json::from_value(written).unwrap();
        let mut take = |key: &str| keys.remove(key);
        let check = take("check").is_some_and(|check| check == true);
        let allow = take("allow").map(|allow| serde_json::from_value(allow).unwrap()).unwrap_or_default();
        let differs = take("differs").map(|differs| serde_json::from_value(differs).unwrap()).unwrap_or_default();
        let play = take("play").map(|play| serde_json::from_value(play).unwrap()).unwrap_or_default();
        let mut rest = keys.into_iter();
        let (Some((module, args)), None) = (rest.next(), rest.next()) else { panic!("a task is of one module") };
        Self { module, args, play, check, allow, differs }
    }

    /// Returns the arguments, with the names replaced.
    pub(super) fn args(&self, names: &Names<'_>) -> Value {
        serde_json::from_str(&names.replaced_in(&self.args.to_string())).unwrap()
    }

    /// Returns the task in the form for a play.
    pub(super) fn in_play(&self, names: &Names<'_>) -> Value {
        let mut args = self.args(names);
        args.as_object_mut().expect("arguments are named").extend(self.play.clone());
        json!({&self.module: args, "check_mode": self.check})
    }

    /// Returns the switches for the task's grants, except the one with this number.
    pub(super) fn switches(&self, names: &Names<'_>, without: Option<usize>) -> Vec<String> {
        let kept = self.allow.iter().enumerate().filter(|(number, _)| Some(*number) != without);
        let switches = kept.flat_map(|(_, allow)| {
            let Some((name, value)) = allow.split_once(' ') else { return vec![format!("--allow-{allow}")] };
            let name = if name == "designate" { "--designate".to_owned() } else { format!("--allow-{name}") };
            vec![name, names.replaced_in(value)]
        });
        switches.collect()
    }

    /// Returns how the task ended, from its registered result.
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

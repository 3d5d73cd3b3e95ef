//! Which tasks may make files of the play before others look for them.
//!
//! A module writes what its arguments name, as long as no switch or policy file grants more. So a file that is not there stays
//! absent unless an argument may name it.

use std::cell::{Cell, RefCell};

use modbox_yaml::{Map, Node, Source};

use crate::model::path_arguments::may_name_a_written_path;
use crate::model::task::{Task, is_one_of};
use crate::paths;

/// Actions that write nothing that a task could look for in the play.
const HARMLESS: [&str; 41] = [
    "add_host",
    "apt",
    "apt_key",
    "apt_repository",
    "assert",
    "debug",
    "dnf",
    "dnf5",
    "fail",
    "gather_facts",
    "getent",
    "group",
    "group_by",
    "hostname",
    "import_role",
    "import_tasks",
    "include_role",
    "include_tasks",
    "include_vars",
    "meta",
    "mount_facts",
    "package",
    "package_facts",
    "pause",
    "ping",
    "service",
    "service_facts",
    "set_fact",
    "set_stats",
    "setup",
    "slurp",
    "stat",
    "systemd",
    "systemd_service",
    "sysvinit",
    "validate_argument_spec",
    "wait_for",
    "wait_for_connection",
    "yum",
    "reboot",
    "async_status",
];

/// What the tasks of the plays may write.
#[derive(Debug, Default)]
pub struct Makers {
    /// Whether a task may write any file of the play.
    any: Cell<bool>,
    /// Texts of arguments that may name what a task writes.
    named: RefCell<Vec<String>>,
}

impl Makers {
    /// Takes note of a task. With `writes_freely`, a module may write more than its arguments name.
    pub fn add(&self, task: &Task, writes_freely: bool) {
        if self.any.get() || is_one_of(task.action_text(), &HARMLESS) {
            return;
        }
        if writes_freely || task.args.whole.is_some() {
            return self.any.set(true);
        }
        let named = task.args.named.iter().filter(|(name, _)| may_name_a_written_path(name));
        let is_script = is_one_of(task.action_text(), &["script"]);
        let raw = task.args.raw.iter().filter(|raw| !is_script || modbox_template::is_template(raw));
        named.map(|(_, argument)| &argument.value).chain(raw).for_each(|value| self.add_value(value));
        // The first word of a script's line is the script.
        if let Some(line) = task.args.raw.as_ref().filter(|_| is_script).and_then(Source::as_text) {
            self.named.borrow_mut().extend(line.split_whitespace().skip(1).map(str::to_owned));
        }
    }

    fn add_value(&self, value: &Source) {
        if modbox_template::is_template(value) {
            return self.any.set(true);
        }
        match value.node() {
            Node::Text(text) | Node::Unsafe(text) => self.named.borrow_mut().push(text.to_string()),
            Node::List(items) => items.iter().for_each(|item| self.add_value(item)),
            Node::Map(map) => Map::iter(map).for_each(|(_, entry)| self.add_value(&entry.value)),
            _ => {}
        }
    }

    /// Says whether a task may write any file of the play, as far as is known.
    #[must_use]
    pub fn may_make_all(&self) -> bool {
        self.any.get()
    }

    /// Says whether a task may make a file at one of these paths.
    #[must_use]
    pub fn may_make(&self, places: &[String]) -> bool {
        let named = self.named.borrow();
        self.any.get() || places.iter().any(|place| named.iter().any(|text| may_name(text, place)))
    }
}

/// Says whether a text may name a path, a folder around it or one in it. A relative path or another text does
/// if it has a part of the path.
fn may_name(text: &str, path: &str) -> bool {
    if text.starts_with('/') && !text.contains(char::is_whitespace) {
        let text = paths::normalize(text);
        return paths::is_inside(path, &text) || paths::is_inside(&text, path) || text == path;
    }
    let mut parts = path.split('/').filter(|part| !part.is_empty());
    parts.any(|part| text.split(['/', ' ', '=', '\'', '"', '\n']).any(|word| word == part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_names_a_path_by_its_folders_or_a_part_of_it() {
        for (text, path, expect) in [
            ("/p", "/p/files/a", true),
            ("/p/files/a", "/p/files/a", true),
            ("/p/files/a/b", "/p/files/a", true),
            ("/p/file", "/p/files/a", false),
            ("/tmp/a", "/p/files/a", false),
            ("files/b", "/p/files/a", true),
            ("touch a", "/p/files/a", true),
            ("touch b", "/p/files/a", false),
            ("nginx", "/p/files/a", false),
        ] {
            assert_eq!(may_name(text, path), expect, "{text} {path}");
        }
    }
}

//! The whole table of Ansible's settings through `modbox play`: each variable of the environment, each key of `ansible.cfg` and each
//! variable of hosts does what it says, or is named. None is silent.

use modbox_tasks::settings::{ALL, Kind, Setting, Status, VARIABLES};

use crate::support::{Modbox, RunOutput, TestDir};

const PLAY: &str = "- hosts: all\n  gather_facts: false\n  tasks: [debug: ]\n";

/// Returns a text for a setting that is not its default.
fn another(setting: &Setting) -> &'static str {
    match setting.kind {
        Kind::Bool if setting.default == "true" => "false",
        Kind::Bool => "true",
        Kind::Int => "7",
        Kind::Float => "7.5",
        Kind::List | Kind::Folders | Kind::Paths | Kind::Path | Kind::Text | Kind::Any => "another",
    }
}

/// What sets a setting: a variable of the environment, or a key of a section.
#[derive(Debug, Clone, Copy)]
enum Place {
    Variable(&'static str),
    Key(&'static str, &'static str),
}

impl Place {
    fn of(setting: &Setting) -> impl Iterator<Item = Self> {
        let variables = setting.environment.iter().map(|name| Self::Variable(name));
        variables.chain(setting.keys.iter().map(|(section, key)| Self::Key(section, key)))
    }

    /// Returns how messages name it.
    fn shown(self) -> String {
        match self {
            Self::Variable(name) => format!("the variable `{name}`"),
            Self::Key(_, key) => format!("`{key}` in `"),
        }
    }
}

/// Runs the play with settings.
fn run(given: &[(Place, &str)]) -> RunOutput {
    let dir = TestDir::new();
    dir.write("play.yml", PLAY);
    let mut modbox = Modbox::new(&dir).env("HOME", dir.mkdir("home")).args(["play", "-v", "play.yml"]);
    let mut sections = std::collections::BTreeMap::<&str, String>::new();
    for (place, value) in given {
        match place {
            Place::Variable(name) => modbox = modbox.env(name, value),
            Place::Key(section, key) => *sections.entry(section).or_default() += &format!("{key} = {value}\n"),
        }
    }
    let file: String = sections.iter().map(|(section, lines)| format!("[{section}]\n{lines}")).collect();
    if !file.is_empty() {
        dir.write("ansible.cfg", file);
    }
    modbox.run()
}

/// Returns the places of settings with their values. Of several keys of one setting the last one counts.
fn places(is_wanted: impl Fn(&Setting) -> bool) -> Vec<(Place, &'static str)> {
    let wanted = ALL.iter().filter(|setting| is_wanted(setting));
    wanted.flat_map(|setting| Place::of(setting).map(|place| (place, another(setting)))).collect()
}

#[test]
fn settings_that_make_no_difference_are_named() {
    let is_told = |setting: &Setting| matches!(setting.status, Status::NoMeaning | Status::Told(_));
    let all = places(is_told);
    // Of several variables or keys of one setting, the last one is read.
    let last = |setting: &Setting| {
        let variable = setting.environment.last().map(|name| Place::Variable(name));
        [variable, setting.keys.last().map(|(section, key)| Place::Key(section, key))]
    };
    for of_variables in [true, false] {
        let given: Vec<_> =
            all.iter().copied().filter(|(place, _)| matches!(place, Place::Variable(_)) == of_variables).collect();
        let ran = run(&given).exits_with(0);
        let said = ran.stderr_text() + &ran.stdout_text();
        let places = ALL.iter().filter(|setting| is_told(setting)).flat_map(last).flatten();
        for place in places.filter(|place| matches!(place, Place::Variable(_)) == of_variables) {
            let named = said.lines().any(|line| line.contains(&place.shown()) && line.contains("makes no difference"));
            assert!(named, "{place:?} is silent: {ran}");
        }
    }
}

#[test]
fn settings_that_would_change_a_play_are_refused() {
    for (place, value) in places(|setting| matches!(setting.status, Status::Refused(_) | Status::Only(..))) {
        let ran = run(&[(place, value)]);
        let said = ran.stderr_text();
        assert!(said.contains(&place.shown()), "{place:?}: {ran}");
        ran.exits_with(2);
    }
}

#[test]
fn honoured_settings_are_read() {
    // What each does is tested where it belongs. Here it only must have a reader, besides the table.
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut sources = String::new();
    let mut waiting = vec![root.join("src/cli"), root.join("plays/tasks/src")];
    while let Some(folder) = waiting.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                waiting.push(path);
            } else if !path.ends_with("settings/table.rs") {
                sources += &std::fs::read_to_string(path).unwrap();
            }
        }
    }
    let is_read = |setting: &&Setting| {
        matches!(setting.status, Status::Honoured | Status::Only(..))
            && !sources.contains(&format!("\"{}\"", setting.name))
    };
    let unread: Vec<&str> = ALL.iter().filter(is_read).map(|setting| setting.name).collect();
    // Other strategies are refused, and these are alike here; groups keep their names. Names of folders of plugins are put together.
    let known = [
        "DEFAULT_FILTER_PLUGIN_PATH",
        "DEFAULT_LOOKUP_PLUGIN_PATH",
        "DEFAULT_STRATEGY",
        "DEFAULT_TEST_PLUGIN_PATH",
        "TRANSFORM_INVALID_GROUP_CHARS",
    ];
    assert_eq!(unread, known);
}

#[test]
fn variables_of_hosts_that_make_no_difference_are_named() {
    let dir = TestDir::new();
    let hosts: String = VARIABLES
        .iter()
        .filter(|(_, status)| *status != Status::Honoured)
        .map(|(name, _)| format!("{name}=another\n"))
        .collect();
    dir.write("hosts", format!("here ansible_connection=local\n[all:vars]\n{hosts}"));
    dir.write("play.yml", "- hosts: all\n  gather_facts: false\n  tasks: [debug: , debug: ]\n");
    let ran = Modbox::new(&dir).args(["play", "-v", "-i", "hosts", "play.yml"]).run().exits_with(0);
    let said = ran.stderr_text() + &ran.stdout_text();
    for (name, status) in VARIABLES.iter().filter(|(_, status)| *status != Status::Honoured) {
        let expect = match status {
            Status::Told(reason) => format!("the variable `{name}` makes no difference: {reason}"),
            _ => format!("the variable `{name}` makes no difference here"),
        };
        assert_eq!(said.matches(&expect).count(), 1, "{expect}: {ran}");
    }
    // The engine's own values of such variables are not the play's.
    let plain = Modbox::new(&dir).args(["play", "-v", "play.yml"]).run().exits_with(0);
    assert!(!plain.stdout_text().contains("makes no difference here"), "{plain}");
}

//! The table of Ansible's settings, held against those of ansible-core's releases in both directions.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use modbox_contract::encode;
use modbox_tasks::settings::{ALL, Kind, Setting, find};
use serde_json::Value;

use crate::support::{Modbox, TestDir, fixture, oracle};

/// Releases whose settings modbox knows: the first one with its list, one between, and the one that it follows.
const RELEASES: [&str; 3] = ["2.16.19", "2.19.14", "2.21.5"];

/// Settings whose values depend on the machine or on Ansible's own files.
const OF_MACHINE: [&str; 3] = ["ANSIBLE_CONNECTION_PATH", "DEFAULT_LOCAL_TMP", "_ANSIBLE_CONNECTION_PATH"];

fn settings_of(release: &str) -> BTreeMap<String, Value> {
    let output = Command::new(oracle::python_of(release)).arg(fixture("oracle/settings.py")).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{release}: {error}: {errors}"))
}

/// Returns the types of Ansible that a kind stands for.
fn types(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::Bool => &["bool", "boolean"],
        Kind::Int => &["int", "integer"],
        Kind::Float => &["float"],
        Kind::List => &["list"],
        Kind::Folders => &["pathspec"],
        Kind::Paths => &["pathlist"],
        Kind::Path => &["path", "tmppath"],
        Kind::Any => &["dict", "raw"],
        Kind::Text => &["", "str", "string", "choices"],
    }
}

/// Settings without a type in a release, of which modbox knows one.
const TYPED: [&str; 3] = ["DEFAULT_JINJA2_EXTENSIONS", "DEFAULT_VAULT_ID_MATCH", "PYTHON_MODULE_RLIMIT_NOFILE"];

fn texts(value: &Value) -> Vec<String> {
    let text = |item: &Value| match item {
        Value::Array(parts) => parts.iter().map(|part| part.as_str().unwrap()).collect::<Vec<_>>().join("/"),
        item => item.as_str().unwrap().to_owned(),
    };
    value.as_array().unwrap().iter().map(text).collect()
}

/// Returns what sets a setting, by the table.
fn known(setting: &Setting) -> BTreeSet<String> {
    let keys = setting.keys.iter().map(|(section, key)| format!("{section}/{key}"));
    let names = setting.environment.iter().chain(setting.variables).map(|name| (*name).to_owned());
    names.chain(keys).collect()
}

fn check(name: &str, found: &Value, seen: &mut BTreeMap<&str, BTreeSet<String>>) -> Option<String> {
    let Some(setting) = find(name) else { return Some(format!("{name} is not in the table")) };
    let sets: BTreeSet<String> =
        ["environment", "keys", "variables"].iter().flat_map(|of| texts(&found[*of])).collect();
    let lacking: Vec<&String> = sets.iter().filter(|one| !known(setting).contains(*one)).collect();
    seen.entry(setting.name).or_default().extend(sets.iter().cloned());
    if !lacking.is_empty() {
        return Some(format!("{name} lacks {lacking:?}"));
    }
    let kind = found["type"].as_str().unwrap_or_default();
    (!types(setting.kind).contains(&kind) && !TYPED.contains(&name)).then(|| format!("{name} is of the type `{kind}`"))
}

#[test]
fn the_table_has_the_settings_of_the_releases_and_no_others() {
    let mut wrong = Vec::new();
    let mut seen = BTreeMap::new();
    let tested: Vec<&str> = RELEASES.into_iter().filter(|release| oracle::is_testable(release)).collect();
    for release in &tested {
        let found = settings_of(release);
        wrong.extend(found.iter().filter_map(|(name, setting)| check(name, setting, &mut seen)));
        if *release != oracle::version() {
            continue;
        }
        for setting in ALL.iter().filter(|setting| !OF_MACHINE.contains(&setting.name)) {
            let Some(of_ansible) = found.get(setting.name).map(|found| found["default"].clone()) else { continue };
            let ours = encode(&setting.default_value()).replace("\"~/", "\"/h/");
            if serde_json::from_str::<Value>(&ours).unwrap() != of_ansible {
                wrong.push(format!("the default of {} is {of_ansible}, not {ours}", setting.name));
            }
        }
    }
    // A release that this machine has no Python for may have had the rest.
    if tested.len() == RELEASES.len() {
        for setting in ALL {
            let rest = known(setting);
            let rest: Vec<&String> =
                rest.iter().filter(|one| !seen.get(setting.name).is_some_and(|seen| seen.contains(*one))).collect();
            if !seen.contains_key(setting.name) || !rest.is_empty() {
                wrong.push(format!("no release has {} with {rest:?}", setting.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns the texts of messages that a run shows.
fn messages(output: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(output).into_owned();
    text.lines().filter_map(|line| line.trim().strip_prefix("\"msg\": ").map(str::to_owned)).collect()
}

/// Writes a play whose mappings are given in many places. Each place adds a key of its own, and changes one that all have.
fn write_mappings(dir: &TestDir) {
    let map = |place: &str| {
        format!(
            "m: {{last: {place}, {place}: {{own: \"{{{{ '{place}' }}}}\"}}, deep: {{{place}: 1, list: [{place}]}}}}\n"
        )
    };
    dir.write("hosts.yml", format!(
        "all:\n  vars: {{{}}}\n  children:\n    a:\n      vars: {{{}}}\n      hosts: {{here: {{ansible_connection: local, {}}}}}\n    b: {{hosts: {{here: }}, vars: {{{}}}}}\n",
        map("all").trim_end(), map("group_a").trim_end(), map("host").trim_end(), map("group_b").trim_end()
    ));
    dir.write("more.yml", format!("a: {{vars: {{{}}}}}\n", map("second_source").trim_end()));
    for name in ["group_vars/all", "group_vars/a", "host_vars/here"] {
        dir.write(&format!("{name}/one.yml"), map(&format!("{}_one", name.replace('/', "_"))));
        dir.write(&format!("{name}/two.yml"), map(&format!("{}_two", name.replace('/', "_"))));
    }
    dir.write("file.yml", map("vars_file"));
    dir.write("included.yml", map("included"));
    dir.write("included_too.yml", map("included_too"));
    dir.write("roles/r/defaults/main.yml", map("default"));
    dir.write("roles/r/vars/main/one.yml", map("role_one"));
    dir.write("roles/r/vars/main/two.yml", map("role_two"));
    dir.write("roles/r/meta/main.yml", "dependencies: [{role: d, vars: {x: 1}}]\n");
    dir.write("roles/d/defaults/main.yml", map("default_of_dependency"));
    dir.write("roles/d/vars/main.yml", map("vars_of_dependency"));
    dir.write("roles/d/tasks/main.yml", "- debug: {msg: \"{{ m | to_json }}\"}\n");
    let show = "- debug: {msg: \"{{ m | to_json }}\"}";
    dir.write("roles/r/tasks/main.yml", format!(
        "{show}\n{show}\n  vars:\n    {}- include_vars: included.yml\n{show}\n- include_vars: included_too.yml\n{show}\n\
         - set_fact: {{{}}}\n{show}\n- set_fact: {{m: {{again: 1}}}}\n{show}\n- set_fact: {{m: text}}\n{show}\n\
         - debug: {{msg: \"{{{{ hostvars.here.m | to_json }}}} {{{{ vars.m | to_json }}}}\"}}\n\
         - debug: {{msg: \"{{{{ item.m | to_json }}}}\"}}\n  loop: [{{m: 1}}]\n  vars: {{m: {{of_loop: 1}}}}\n",
        map("task"), map("fact").trim_end()
    ));
    dir.write("play.yml", format!(
        "- hosts: here\n  gather_facts: false\n  vars: {{{}}}\n  vars_files: [file.yml]\n  pre_tasks:\n  {show}\n  roles:\n  - role: r\n    m: {{of_parameter: 1}}\n\
         - hosts: here\n  gather_facts: false\n  tasks:\n  {show}\n",
        map("play").trim_end()
    ));
}

#[test]
fn mappings_become_one_where_ansibles_do() {
    let Some(version) = oracle::newest() else { return };
    let dir = TestDir::new();
    write_mappings(&dir);
    let args = ["-i", "hosts.yml", "-i", "more.yml", "play.yml"];
    for (behaviour, extra) in [
        ("merge", &[][..]),
        ("merge", &["-e", "{m: {extra: 1, deep: {e: 1}}}", "-e", "{m: {more: 1, deep: {f: 1}}}"]),
        ("replace", &[]),
    ] {
        let mut ansible = oracle::ansible_of(version, &dir, "playbook");
        let ansible = ansible.args(args).args(extra).env("ANSIBLE_HASH_BEHAVIOUR", behaviour).current_dir(dir.path());
        let theirs = ansible.output().expect("Ansible starts");
        let expect = messages(&theirs.stdout);
        assert!(expect.len() > 10, "{theirs:?}");
        let by_variable = Modbox::new(&dir).env("ANSIBLE_HASH_BEHAVIOUR", behaviour);
        let ours = by_variable.arg("play").args(args).args(extra).run().exits_with(0);
        assert_eq!(messages(&ours.stdout), expect, "{behaviour} {extra:?}");
        dir.write("ansible.cfg", format!("[defaults]\nhash_behaviour = {behaviour}\n"));
        let by_file = Modbox::new(&dir).arg("play").args(args).args(extra).run().exits_with(0);
        assert_eq!(messages(&by_file.stdout), expect, "{behaviour} {extra:?}");
        std::fs::remove_file(dir.join("ansible.cfg")).unwrap();
    }
}

/// A module that tells its limit of open files.
const OPEN_FILES: &str = "#!/usr/bin/python\nimport resource\nfrom ansible.module_utils.basic import AnsibleModule\n\
    module = AnsibleModule({})\nmodule.exit_json(soft=resource.getrlimit(resource.RLIMIT_NOFILE)[0])\n";

#[test]
fn python_modules_have_the_limit_of_open_files_that_ansibles_have() {
    let Some(version) = oracle::newest() else { return };
    let dir = TestDir::new();
    dir.write("library/limit.py", OPEN_FILES);
    let task = |value: &str| {
        format!(
            "  - limit:\n    vars: {{ansible_python_module_rlimit_nofile: {value}}}\n    register: r\n  - debug: {{msg: \"{{{{ r.soft }}}}\"}}\n"
        )
    };
    let usual = "  - limit:\n    register: r\n  - debug: {msg: \"{{ r.soft }}\"}\n".to_owned();
    let tasks = [usual, task("77"), task("\"{{ 70 + 8 }}\"")].concat();
    dir.write("play.yml", format!("- hosts: localhost\n  gather_facts: false\n  tasks:\n{tasks}"));
    let name = "ANSIBLE_PYTHON_MODULE_RLIMIT_NOFILE";
    let mut ansible = oracle::ansible_of(version, &dir, "playbook");
    let theirs = ansible.arg("play.yml").env(name, "99").current_dir(dir.path()).output().expect("Ansible starts");
    assert_eq!(messages(&theirs.stdout), ["99", "77", "78"], "{theirs:?}");
    let python = format!("python={}", oracle::python_of(version).display());
    for more in [&[][..], &["--allow-all"], &["--preview"]] {
        let modbox = Modbox::new(&dir).env(name, "99").args(["play", "--python", "native", "--interpreter", &python]);
        let ran = modbox.args(more).arg("play.yml").run().exits_with(0);
        assert_eq!(messages(&ran.stdout), messages(&theirs.stdout), "{more:?}: {ran}");
    }
    dir.write("play.yml", format!("- hosts: localhost\n  gather_facts: false\n  tasks:\n{}", task("many")));
    let wrong = Modbox::new(&dir).args(["play", "--interpreter", &python, "play.yml"]).run().exits_with(1);
    let said = wrong.stdout_text() + &wrong.stderr_text();
    assert!(said.contains("`ansible_python_module_rlimit_nofile`: expected a whole number, found \"many\""), "{said}");
}

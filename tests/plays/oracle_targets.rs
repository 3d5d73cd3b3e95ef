//! Runs ansible-core's own integration targets, unmodified, by the real `ansible-playbook` and by `modbox play`.
//!
//! Each target is a role whose tasks assert what Ansible does. Both sides run it in a place of their own, which begins
//! the same. The status of each task and item, the recap and whether the play succeeded must be the same. Targets that
//! change the machine, or that need other hosts or a network, are left out.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::{TestDir, modbox, oracle, temporary};

/// What the operator grants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Grants {
    /// Only what the arguments of tasks name.
    Named,
    /// Everything, since modules start programs or write to places that no argument names.
    All,
}

/// Makes a test of each target that gives the same on both sides.
macro_rules! targets {
    ($($(#[$attribute:meta])* $test:ident: $target:literal, $grants:ident;)*) => {
        $(
            $(#[$attribute])*
            #[test]
            fn $test() {
                check($target, Grants::$grants);
            }
        )*
    };
}

targets! {
    #[ignore = "takes long; run it with `--ignored`"]
    add_host: "add_host", Named;
    #[ignore = "takes long; run it with `--ignored`"]
    assemble: "assemble", All;
    #[ignore = "takes long; run it with `--ignored`"]
    assert: "assert", All;
    #[ignore = "takes long; run it with `--ignored`"]
    blockinfile: "blockinfile", All;
    #[ignore = "takes long; run it with `--ignored`"]
    changed_when: "changed_when", Named;
    #[ignore = "takes long; run it with `--ignored`"]
    dict_transformations: "dict_transformations", Named;
    embedded_module: "embedded_module", Named;
    #[ignore = "takes long; run it with `--ignored`"]
    facts_d: "facts_d", All;
    failed_when: "failed_when", Named;
    filter_urls: "filter_urls", Named;
    #[ignore = "takes long; run it with `--ignored`"]
    filter_urlsplit: "filter_urlsplit", Named;
    #[ignore = "takes long; run it with `--ignored`"]
    getent: "getent", All;
    include_import_tasks_nested: "include_import_tasks_nested", Named;
    #[ignore = "takes long; run it with `--ignored`"]
    include_with_templating: "include_with_templating", Named;
    #[ignore = "takes long; run it with `--ignored`"]
    known_hosts: "known_hosts", All;
    #[ignore = "takes long; run it with `--ignored`"]
    lookup_csvfile: "lookup_csvfile", Named;
    #[ignore = "takes long; run it with `--ignored`"]
    lookup_dict: "lookup_dict", Named;
    lookup_file: "lookup_file", Named;
    #[ignore = "takes long; run it with `--ignored`"]
    lookup_first_found: "lookup_first_found", All;
    #[ignore = "takes long; run it with `--ignored`"]
    lookup_indexed_items: "lookup_indexed_items", Named;
    #[ignore = "takes long; run it with `--ignored`"]
    lookup_items: "lookup_items", Named;
    #[ignore = "takes long; run it with `--ignored`"]
    lookup_lines: "lookup_lines", All;
    #[ignore = "takes long; run it with `--ignored`"]
    lookup_list: "lookup_list", Named;
    #[ignore = "takes long; run it with `--ignored`"]
    lookup_nested: "lookup_nested", Named;
    #[ignore = "takes long; run it with `--ignored`"]
    lookup_option_name: "lookup-option-name", Named;
    #[ignore = "takes long; run it with `--ignored`"]
    lookup_pipe: "lookup_pipe", All;
    #[ignore = "takes long; run it with `--ignored`"]
    lookup_random_choice: "lookup_random_choice", Named;
    lookup_sequence: "lookup_sequence", Named;
    lookup_subelements: "lookup_subelements", Named;
    #[ignore = "takes long; run it with `--ignored`"]
    lookup_template: "lookup_template", All;
    #[ignore = "takes long; run it with `--ignored`"]
    lookup_together: "lookup_together", Named;
    #[ignore = "takes long; run it with `--ignored`"]
    lookup_varnames: "lookup_varnames", Named;
    #[ignore = "takes long; run it with `--ignored`"]
    lookup_vars: "lookup_vars", Named;
    #[ignore = "takes long; run it with `--ignored`"]
    loops: "loops", Named;
    #[ignore = "takes long; run it with `--ignored`"]
    old_style_modules_posix: "old_style_modules_posix", All;
    #[ignore = "takes long; run it with `--ignored`"]
    ping: "ping", Named;
    #[ignore = "takes long; run it with `--ignored`"]
    replace: "replace", All;
    #[ignore = "takes long; run it with `--ignored`"]
    special_vars: "special_vars", Named;
    #[ignore = "takes long; run it with `--ignored`"]
    split: "split", Named;
    #[ignore = "takes long; run it with `--ignored`"]
    stat: "stat", All;
    #[ignore = "takes long; run it with `--ignored`"]
    task_ordering: "task_ordering", All;
    #[ignore = "takes long; run it with `--ignored`"]
    tempfile: "tempfile", All;
    #[ignore = "takes long; run it with `--ignored`"]
    test_files: "test_files", All;
    test_mathstuff: "test_mathstuff", Named;
    undefined: "undefined", Named;
    var_inheritance: "var_inheritance", Named;
    #[ignore = "takes long; run it with `--ignored`"]
    want_json_modules_posix: "want_json_modules_posix", All;
    #[ignore = "takes long; run it with `--ignored`"]
    yaml_parsing: "yaml_parsing", All;
}

/// Targets that differ, with what modbox says about the reason: action plugins in Python, which modbox does not run.
const MISSES: &[(&str, &str)] = &[
    // `action_plugins` of the role.
    ("task-args", "`echo` is done by a plugin in Python"),
    ("task-esoterica", "`echo` is done by a plugin in Python"),
];

/// What a play did.
#[derive(Debug, PartialEq, Eq)]
struct Played {
    /// Each task or handler, with the statuses of its items.
    tasks: Vec<String>,
    recap: String,
    is_success: bool,
}

#[test]
fn targets_with_action_plugins_are_refused_by_name() {
    for (target, expect) in MISSES {
        let (played, output) = by_modbox(target, Grants::All);
        assert!(!played.is_success && output.contains(expect), "{target}: {output}");
    }
}

/// Runs a target on both sides, and compares.
#[track_caller]
fn check(target: &str, grants: Grants) {
    let (ansible, its_output) = by_ansible(target);
    let (modbox, output) = by_modbox(target, grants);
    let differs = ansible.tasks.iter().zip(&modbox.tasks).find(|(one, other)| one != other);
    assert!(
        ansible == modbox && ansible.is_success,
        "recap {} or {}; the first different of {} and {} tasks: {differs:?}\n--- Ansible\n{its_output}\n--- modbox\n{output}",
        ansible.recap,
        modbox.recap,
        ansible.tasks.len(),
        modbox.tasks.len(),
    );
}

fn by_ansible(target: &str) -> (Played, String) {
    let dir = place(target);
    let mut playbook = oracle::forking_playbook_in(&oracle::python(), &dir);
    playbook.env("OUTPUT_DIR", dir.join("out"));
    run(playbook, &dir)
}

fn by_modbox(target: &str, grants: Grants) -> (Played, String) {
    let dir = place(target);
    let mut play = Command::new(modbox());
    // Which components are built must not decide what is compared.
    play.arg("play").args(["--prefer", "classic", "--interpreter"]).arg(oracle::python()).env_clear();
    if grants == Grants::All {
        play.arg("--allow-all");
    }
    play.env("HOME", dir.join("home"))
        .env("TMPDIR", dir.join("tmp"))
        .env("LC_ALL", "C.UTF-8")
        .env("OUTPUT_DIR", dir.join("out"))
        .env("XDG_CACHE_HOME", temporary().join("cache"))
        .env("ANSIBLE_LOCALHOST_WARNING", "false")
        .current_dir(dir.path());
    run(play, &dir)
}

/// Makes a place for a target: a play beside the role, and the roles that targets use.
fn place(target: &str) -> TestDir {
    let dir = TestDir::new();
    let targets = oracle::targets();
    let is_helper = |name: &str| name.starts_with("setup_") || name.starts_with("prepare_");
    let names = fs::read_dir(&targets).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    for name in names.filter(|name| name == target || name == "include_parent_role_vars" || is_helper(name)) {
        copy(&targets.join(&name), &dir.mkdir("roles").join(&name));
    }
    let out = dir.mkdir("out");
    let play = format!(
        "- hosts: localhost\n  gather_facts: true\n  vars: {{output_dir: {}}}\n  roles: [{target}]\n",
        out.display()
    );
    dir.write("play.yml", play);
    dir
}

fn copy(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-R").arg(from).arg(to).status().expect("cp starts");
    assert!(copied.success(), "{} is copied", from.display());
}

/// Runs a play of the place with one of the two programs, which get the same PATH and variables.
fn run(mut command: Command, dir: &TestDir) -> (Played, String) {
    let programs = oracle::python().parent().expect("an interpreter lies in a folder").display().to_string();
    let interpreter = format!("ansible_python_interpreter={}", oracle::python().display());
    let output = command
        .args(["-e", &interpreter, "play.yml"])
        .env("PATH", format!("{programs}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"))
        .env("USER", "root")
        .stdin(Stdio::null())
        .current_dir(dir.path())
        .output()
        .expect("the program starts");
    // A role that is given by its path has that for its name.
    let shown = String::from_utf8_lossy(&output.stdout).replace(&dir.path().display().to_string(), "PLACE");
    let all = format!("{shown}{}", String::from_utf8_lossy(&output.stderr));
    (played(&shown, output.status.success()), all)
}

/// Reads the output of the default callback.
fn played(output: &str, is_success: bool) -> Played {
    let mut found = Played { tasks: Vec::new(), recap: String::new(), is_success };
    for line in output.lines() {
        let banner = line.strip_prefix("TASK [").or_else(|| line.strip_prefix("RUNNING HANDLER ["));
        if let Some((name, stars)) = banner.and_then(|rest| rest.rsplit_once("] "))
            && stars.bytes().all(|byte| byte == b'*')
        {
            found.tasks.push(format!("{name}:"));
        } else if let Some(recap) = line.strip_prefix("localhost ") {
            found.recap = recap.split_whitespace().collect::<Vec<_>>().join(" ");
        } else if let (Some(status), Some(task)) = (status(line), found.tasks.last_mut()) {
            task.push(' ');
            task.push_str(status);
        }
    }
    found
}

/// Returns the status that a line of a task or an item begins with.
fn status(line: &str) -> Option<&str> {
    let words = ["ok", "changed", "skipping", "fatal", "failed", "included"];
    if line.starts_with("...ignoring") {
        return Some("ignored");
    }
    words.into_iter().find(|word| line.strip_prefix(word).is_some_and(|rest| rest.starts_with(": ")))
}

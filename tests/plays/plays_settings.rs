//! Interpreters that variables of a play name, and settings of Ansible that modbox does not read.

use std::fs;

use crate::support::{Modbox, RunOutput, TestDir};

const PLAY: &str = "- hosts: all\n  gather_facts: false\n  tasks:\n";

fn play(dir: &TestDir, text: &str, args: &[&str]) -> RunOutput {
    dir.write("play.yml", text);
    Modbox::new(dir).arg("play").args(args).arg("play.yml").run()
}

/// A module that says which program runs it, and a copy of the shell. Returns the path of the copy.
fn own_shell(dir: &TestDir) -> String {
    dir.write("library/who.sh", "#!/bin/sh\n# WANT_JSON\necho \"{\\\"exe\\\": \\\"$(readlink /proc/$$/exe)\\\"}\"\n");
    let copy = dir.mkdir("own").join("sh");
    fs::copy("/bin/sh", &copy).unwrap();
    copy.display().to_string()
}

#[test]
fn the_operator_may_name_an_interpreter() {
    let dir = TestDir::new();
    let shell = own_shell(&dir);
    let text = format!("{PLAY}  - who:\n    register: r\n  - debug: {{var: r.exe}}\n");
    let said = |args: &[&str]| play(&dir, &text, args).exits_with(0).stdout_text();
    assert!(!said(&[]).contains(&shell));
    let named = said(&["-e", &format!("ansible_sh_interpreter={shell}")]);
    assert!(named.contains(&format!("\"r.exe\": \"{shell}\"")), "{named}");
}

#[test]
fn an_interpreter_that_a_play_names_needs_a_grant() {
    let dir = TestDir::new();
    let shell = own_shell(&dir);
    let text = format!(
        "{PLAY}  - who:\n    vars: {{ansible_sh_interpreter: {shell}}}\n    register: r\n  - debug: {{var: r.exe}}\n"
    );
    let denied = play(&dir, &text, &[]).exits_with(4).stdout_text();
    assert!(denied.contains(&format!("--allow-run {shell}")), "{denied}");
    let allowed = play(&dir, &text, &["--allow-run", &shell]).exits_with(0).stdout_text();
    assert!(allowed.contains(&format!("\"r.exe\": \"{shell}\"")), "{allowed}");
    // What a result names is not the operator's word either.
    dir.write("library/names.sh", format!("#!/bin/sh\n# WANT_JSON\necho '{{\"shell\": \"{shell}\"}}'\n"));
    let text = format!(
        "{PLAY}  - names:\n    register: n\n  - who:\n    vars: {{ansible_sh_interpreter: \"{{{{ n.shell }}}}\"}}\n"
    );
    play(&dir, &text, &[]).exits_with(4);
    // A program of the system is one that each module may start by itself.
    let text =
        format!("{PLAY}  - who:\n    vars: {{ansible_sh_interpreter: /bin/bash, ansible_python_interpreter: auto}}\n");
    play(&dir, &text, &[]).exits_with(0);
}

/// A module that tells its internal arguments, and arguments that it makes up.
const TELLER: &str = "#!/bin/sh\n# WANT_JSON\n\
    printf '{\"invocation\": {\"module_args\": 7}, \"told\": %s}' \"$(sed s/_ansible_/own_/g \"$1\")\"\n";

#[test]
fn tasks_decide_whether_results_repeat_arguments() {
    let dir = TestDir::new();
    dir.write("library/teller.sh", TELLER);
    // What a module of another kind than Python says by itself stays, as in ansible-core 2.21.
    let shown = "- debug: {msg: \"{{ r.told.own_inject_invocation }} {{ r.told.own_version }} {{ r.invocation.module_args }}\"}";
    let text = |vars: &str| format!("{PLAY}  - teller:\n    vars: {{{vars}}}\n    register: r\n  {shown}\n");
    let said = |vars: &str, variable: &str, args: &[&str]| {
        dir.write("play.yml", text(vars));
        let ran =
            Modbox::new(&dir).arg("play").args(args).arg("play.yml").env("ANSIBLE_INJECT_INVOCATION", variable).run();
        ran.exits_with(0).stdout_text()
    };
    for (vars, variable, expect) in [
        ("", "", "False 2.21.5 7"),
        ("ansible_inject_invocation: true", "", "True 2.21.5 7"),
        ("", "true", "True 2.21.5 7"),
        ("ansible_inject_invocation: '{{ 1 > 2 }}'", "true", "False 2.21.5 7"),
    ] {
        let said = said(vars, variable, &[]);
        assert!(said.contains(expect), "`{expect}` is missing: {said}");
    }
    assert!(said("", "", &["--contract", "2.22"]).contains("False 2.22.0rc1 7"));
}

#[test]
fn settings_of_ansible_are_told_and_not_read() {
    let dir = TestDir::new();
    let text = format!("{PLAY}  - debug:\n");
    dir.write("ansible.cfg", "[defaults]\nroles_path = elsewhere\nforks = 3\n");
    let told = play(&dir, &text, &[]).exits_with(0).stderr_text();
    assert!(told.contains("ansible.cfg` is not read; it sets roles_path (use `--roles-path DIR`)"), "{told}");
    assert!(!told.contains("forks"), "{told}");
    let named = dir.write("other.cfg", "[defaults]\nforks = 3\n");
    dir.write("play.yml", &text);
    let run = |name: &str, value: &str| Modbox::new(&dir).env(name, value).args(["play", "play.yml"]).run();
    let silent = run("ANSIBLE_CONFIG", &named.display().to_string()).exits_with(0).stderr_text();
    assert!(!silent.contains("is not read"), "{silent}");
    let wrong = run("ANSIBLE_HASH_BEHAVIOUR", "merge").exits_with(2).stderr_text();
    assert!(wrong.contains("ANSIBLE_HASH_BEHAVIOUR=merge"), "{wrong}");
    dir.write("ansible.cfg", "[defaults]\nhash_behaviour: merge\n");
    let wrong = run("HOME", &dir.path().display().to_string()).exits_with(2).stderr_text();
    assert!(wrong.contains("hash_behaviour = merge") && wrong.contains("combine"), "{wrong}");
}

#[test]
fn tags_that_select_tasks_are_warned_about() {
    let dir = TestDir::new();
    let text =
        format!("{PLAY}  - debug:\n    tags: [x, tagged]\n  - debug:\n    tags: y,all\n  - debug:\n    tags: always\n");
    let said = play(&dir, &text, &[]).exits_with(0).stderr_text();
    for expect in ["play.yml:5:11: Found reserved tagnames in tags: ['tagged'], we do not", "tags: ['all'], we do not"]
    {
        assert!(said.contains(expect), "`{expect}` is missing: {said}");
    }
    assert_eq!(said.matches("reserved tagnames").count(), 2, "{said}");
}

//! Inventories of `modbox play`, and modbox under the name `ansible-playbook`.
//!
//! The formats are tested in the crate of inventories; here is which hosts a play runs for, which files are read, and what
//! is refused.

use std::os::unix::fs::symlink;
use std::process::Command;

use crate::support::{Modbox, RunOutput, TestDir, modbox};

const HOSTS: &str = "\
[here]
one ansible_connection=local own=1 port=80
two ansible_connection=local

[site:children]
here
there

[there]
far

[site:vars]
from=inventory
";

fn play(dir: &TestDir, text: &str, args: &[&str]) -> RunOutput {
    dir.write("play/play.yml", text);
    Modbox::new(dir).arg("play").args(args).arg("play/play.yml").run()
}

fn debug(hosts: &str, expression: &str) -> String {
    format!("- hosts: {hosts}\n  gather_facts: false\n  tasks:\n  - debug: {{msg: \"{{{{ {expression} }}}}\"}}\n")
}

/// Returns a play that needs a connection to its hosts, since a module runs on them.
fn connecting(hosts: &str, expression: &str) -> String {
    debug(hosts, expression) + "  - command: 'true'\n    when: false\n"
}

#[test]
fn a_play_without_a_host_says_so() {
    let dir = TestDir::new();
    dir.write("hosts", HOSTS);
    let warning = |hosts: &str, args: &[&str]| {
        let ran = play(&dir, &debug(hosts, "1"), args).exits_with(0);
        ran.stdout_text() + &ran.stderr_text()
    };
    let none = warning("web", &[]);
    assert!(
        none.contains("no host fits `web`") && none.contains("name one with `-i`") && none.contains("`--groups`"),
        "{none}"
    );
    let given = warning("web", &["-i", "hosts"]);
    assert!(given.contains("no host of the inventory fits `web`"), "{given}");
    for fits in [warning("web", &["--groups", "web"]), warning("there", &["-i", "hosts"])] {
        assert!(!fits.contains("fits `"), "{fits}");
    }
}

#[test]
fn a_play_runs_for_the_hosts_that_are_this_machine() {
    let dir = TestDir::new();
    dir.write("hosts", HOSTS);
    let ran = play(&dir, &connecting("site", "inventory_hostname ~ '/' ~ groups.site | join('+')"), &["-i", "hosts"]);
    let ran = ran.exits_with(4);
    let shown = ran.stdout_text();
    assert!(
        shown.contains("\"msg\": \"one/one+two+far\"") && shown.contains("\"msg\": \"two/one+two+far\""),
        "{shown}"
    );
    assert!(!shown.contains("[far]"), "{shown}");
    let recap =
        |shown: &str, host: &str| shown.lines().find(|line| line.starts_with(&format!("{host} "))).map(str::to_owned);
    assert!(
        recap(&shown, "far").is_some_and(|line| line.contains("ok=0 ") && line.contains("unreachable=1 ")),
        "{shown}"
    );
    let told = shown + &ran.stderr_text();
    assert!(told.contains("far: hosts elsewhere are unreachable"), "{told}");
    // Who says which host this is means no others.
    let named = ["-i", "hosts", "--as", "one", "-l", "one,far"];
    let named = play(&dir, &connecting("site", "inventory_hostname"), &named).exits_with(0);
    let (shown, told) = (named.stdout_text(), named.stdout_text() + &named.stderr_text());
    assert!(recap(&shown, "far").is_none() && told.contains("far: hosts elsewhere are skipped"), "{named}");
    let free = play(&dir, &debug("site", "inventory_hostname"), &["-i", "hosts"]).exits_with(0);
    assert!(free.stdout_text().contains("ok: [far]"), "{}", free.stdout_text());
    let next = connecting("there", "1") + &debug("one", "'next play'");
    let none = play(&dir, &next, &["-i", "hosts"]).exits_with(4);
    let shown = none.stdout_text();
    assert!(shown.contains("NO MORE HOSTS LEFT") && shown.contains("unreachable=1 "), "{none}");
    assert!(!shown.contains("next play"), "{none}");
    let named = play(&dir, &debug("there", "inventory_hostname"), &["-i", "hosts", "--as", "far"]).exits_with(0);
    assert!(named.stdout_text().contains("\"msg\": \"far\""), "{}", named.stdout_text());
    let connected = play(&dir, &debug("there", "inventory_hostname"), &["-i", "hosts", "-c", "local"]).exits_with(0);
    assert!(connected.stdout_text().contains("\"msg\": \"far\""), "{}", connected.stdout_text());
    let listed = play(&dir, &debug("here:far", "1"), &["-i", "hosts", "-l", "far:two", "--list-hosts"]).exits_with(0);
    let expect = "    pattern: ['here:far']\n    hosts (2):\n      two\n      far\n";
    assert!(listed.stdout_text().contains(expect), "{}", listed.stdout_text());
    let nothing = play(&dir, &debug("site", "1"), &["-i", "hosts", "-l", "typo"]).exits_with(1);
    let told = nothing.stdout_text() + &nothing.stderr_text();
    assert!(told.contains("leaves us with no hosts to target"), "{told}");
    let limited = play(&dir, &debug("site", "inventory_hostname"), &["-i", "hosts", "-l", "two"]).exits_with(0);
    assert!(!limited.stdout_text().contains("[one]") && limited.stdout_text().contains("[two]"));
}

/// A play whose module changes the inventory by a script, and that reads it again.
fn refreshing(dir: &TestDir, script: &str) -> RunOutput {
    dir.write("inv/hosts", "one ansible_connection=local\n");
    dir.write("secret", "hunter2 ansible_connection=local\n");
    let folder = dir.join("inv").display().to_string();
    let script = format!("#!/bin/sh\n# WANT_JSON\nset -e\ncd {folder}\n{script}\necho '{{\"changed\": true}}'\n");
    dir.write("play/library/writer.sh", script);
    let text = "- hosts: all\n  gather_facts: false\n  tasks:\n  - writer:\n  - meta: refresh_inventory\n";
    let text = text.to_owned() + &debug("all:!one", "inventory_hostname ~ ' ' ~ said | default('')");
    play(dir, &text, &["-i", "inv/hosts", "--allow-write", &folder, "--allow-write", &format!("{folder}/hosts")])
}

#[test]
fn what_a_module_wrote_into_an_inventory_is_data() {
    let line = "two ansible_connection=local said=\"{{ 7 * 6 }}\"";
    let ran = refreshing(&TestDir::new(), &format!("echo '{line}' >> hosts")).exits_with(0);
    assert!(ran.stdout_text().contains("\"msg\": \"two {{ 7 * 6 }}\""), "{ran}");
    let ran = refreshing(&TestDir::new(), "ln -sf ../secret hosts").exits_with(1);
    let told = ran.stdout_text() + &ran.stderr_text();
    assert!(told.contains("failed to read the inventory") && !told.contains("hunter2"), "{told}");
}

#[test]
fn variables_lie_in_the_inventory_and_beside_it() {
    let dir = TestDir::new();
    dir.write("inventory/hosts", HOSTS);
    let check = |expression: &str, expect: &str| {
        let ran = play(&dir, &debug("one", expression), &["-i", "inventory"]).exits_with(0);
        assert!(ran.stdout_text().contains(&format!("\"msg\": {expect}")), "{expression}: {}", ran.stdout_text());
    };
    check("from", "\"inventory\"");
    check("[own, port]", "[\n        1,\n        80\n    ]");
    check("hostvars.two.from ~ hostvars.far.inventory_hostname", "\"inventoryfar\"");
    dir.write("inventory/group_vars/all.yml", "from: all\nbase: '{{ own + 1 }}'\n");
    check("from ~ base", "\"all2\"");
    dir.write("inventory/group_vars/site", "from: site\n");
    check("from", "\"site\"");
    dir.write("play/group_vars/here.yml", "from: here\n");
    check("from", "\"here\"");
    dir.write("inventory/host_vars/one.yml", "from: host\nown: 5\n");
    check("from ~ base", "\"host6\"");
    check("inventory_file | basename", "\"hosts\"");
    check("group_names | join(' ')", "\"here site\"");
}

#[test]
fn programs_and_other_files_are_refused() {
    let dir = TestDir::new();
    dir.write_executable("dynamic.sh", "#!/bin/sh\ntouch \"$(dirname \"$0\")/ran\"\necho '{}'\n");
    dir.write("cloud.yml", "plugin: amazon.aws.aws_ec2\n");
    dir.write("wrong.ini", "[a]\nb c\n");
    for (file, expect) in [
        ("dynamic.sh", "it is a program"),
        ("cloud.yml", "the inventory plugin `amazon.aws.aws_ec2`"),
        ("wrong.ini", "wrong.ini:2:1`: expected `name=value`, found `c`"),
    ] {
        let refused = play(&dir, &debug("all", "1"), &["-i", file]).exits_with(2);
        assert!(refused.stderr_text().contains(expect), "{file}: {}", refused.stderr_text());
    }
    assert!(!dir.join("ran").exists());
    let missing = play(&dir, &debug("localhost", "1"), &["-i", "none"]).exits_with(0);
    assert!(missing.stderr_text().contains("as an inventory source"), "{}", missing.stderr_text());
}

#[test]
fn a_link_named_ansible_playbook_is_modbox() {
    let dir = TestDir::new();
    let link = dir.join("ansible-playbook");
    symlink(modbox(), &link).unwrap();
    dir.write("hosts", HOSTS);
    dir.write("seen", "x\n");
    dir.write("play.yml", debug("one", "lookup('file', '/proc/self/status') is defined"));
    let run = |args: &[&str], env: &[(&str, &str)]| {
        let mut command = Command::new(&link);
        command.args(args).envs(env.iter().copied()).env("HOME", dir.path()).current_dir(dir.path());
        let output = command.output().expect("the program starts");
        let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        (output.status.code(), text)
    };
    let (status, version) = run(&["--version"], &[]);
    assert!(status == Some(0) && version.starts_with("ansible-playbook [core 2.21."), "{version}");
    // A failed task has the status of Ansible, and grants come from the policy that the variable names.
    let (status, text) = run(&["-i", "hosts", "-f", "5", "play.yml"], &[]);
    assert!(status == Some(2) && text.contains("--allow-read"), "{text}");
    dir.write("policy.yaml", "allow: {read: [/proc]}\n");
    let policy = dir.join("policy.yaml").display().to_string();
    let (status, text) = run(&["play.yml"], &[("MODBOX_POLICY", &policy), ("ANSIBLE_INVENTORY", "hosts")]);
    assert_eq!(status, Some(0), "{text}");
    let (status, text) = run(&["nothing.yml"], &[]);
    assert!(status == Some(4) && text.contains("failed to read the playbook"), "{text}");
    // Only under that name: elsewhere the command line gives the grants.
    let own = Modbox::new(&dir).env("MODBOX_POLICY", &policy).args(["play", "-i", "hosts", "play.yml"]).run();
    assert!(own.exits_with(4).stdout_text().contains("--allow-read"));
}

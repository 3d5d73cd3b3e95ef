//! What records of observed runs become.

use modbox_policy::PolicyFile;

use super::{LearnedPolicy, LearnedTask, render_learned};
use crate::reports::suggestion::record::RunRecord;

/// Reads a report of a module with these commands and denials, both as JSON.
fn record(name: &str, commands: &str, denials: &str, renamed: &str) -> RunRecord {
    let text = format!(
        r#"{{"module": {{"name": "{name}", "digest": "sha256:{}"}}, "status": "changed", "observed": true,
            "commands": [{commands}], "denials": [{denials}], "renamed": [{renamed}]}}"#,
        "a".repeat(64)
    );
    RunRecord::read("log", &text).unwrap().remove(0)
}

fn command(number: u32, by: u32, words: &str, profile: &str) -> String {
    let program = words.split(' ').next().unwrap();
    let words = words.split(' ').map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(", ");
    format!(r#"{{"number": {number}, "by": {by}, "program": "{program}", "words": [{words}]{profile}}}"#)
}

fn used(capability: &str, path: &str, operation: &str, by: &str, was: &str) -> String {
    format!(
        r#"{{"capability": "{capability}", "subject": "{path}", "operation": "{operation}", "by": [{by}], "was": "{was}",
            "allow": "--allow-{capability} {path}"}}"#
    )
}

/// Returns the lines of the policy without the first one, which is a remark.
fn learned(task: Option<&str>, records: &[RunRecord]) -> Vec<String> {
    let mut policy = LearnedPolicy::default();
    records.iter().for_each(|record| policy.add(LearnedTask { name: task }, record, &|owner| format!("{owner}!")));
    let text = render_learned(&policy, "test", false);
    PolicyFile::parse(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    text.lines().skip(1).map(str::to_owned).collect()
}

#[test]
fn a_command_that_a_profile_covers_becomes_the_profile_of_the_module() {
    let profile = r#", "profile": "manage-services", "names": ["nginx"]"#;
    let commands = command(1, 0, "/usr/bin/systemctl restart nginx", profile);
    let one = record("ansible.builtin.service", &commands, "", "");
    let other = record("ansible.legacy.service", &commands.replace("nginx", "cron"), "", "");
    let lines = learned(Some("restart"), &[one.clone(), other]);
    assert_eq!(lines, ["modules:", "  service: {profiles: [{manage-services: [cron, nginx]}]}"]);
    // A task of `command` says itself what runs, so the profile is for this task.
    let shell = RunRecord { name: Some("ansible.builtin.command".to_owned()), ..one };
    assert_eq!(
        learned(Some("restart"), &[shell]),
        ["tasks:", "  \"restart\": {profiles: [{manage-services: [nginx]}]}"]
    );
}

#[test]
fn a_command_that_reaches_further_is_a_decision() {
    for (denial, why) in [
        (used("write", "/run/docker.sock", "connect", "1", "socket"), "it talks to a daemon: /run/docker.sock"),
        (
            r#"{"capability": "confinement", "subject": "mount", "operation": "call", "by": [1], "allow": "--allow-all"}"#
                .to_owned(),
            "it calls `mount`",
        ),
        (
            r#"{"capability": "confinement", "subject": "socket(AF_NETLINK, NETLINK_NETFILTER)", "operation": "call", "by": [1], "allow": "--allow-all"}"#
                .to_owned(),
            "it calls `socket(AF_NETLINK, NETLINK_NETFILTER)`",
        ),
        (
            (0..9).map(|n| used("read", &format!("/srv/{n}/file"), "open", "1", "file")).collect::<Vec<_>>().join(", "),
            "it uses 9 paths",
        ),
    ] {
        let commands = command(1, 0, "/usr/bin/tool --now", "");
        let lines = learned(Some("a: b"), &[record("x.y.tool", &commands, &denial, "")]);
        let expect = format!("  \"a: b\": {{allow: {{outside: [\"/usr/bin/tool --now\"]}}}}  # decide: {why}");
        assert_eq!(lines, ["tasks:".to_owned(), expect]);
    }
}

#[test]
fn programs_that_run_what_they_fetch_stay_inside() {
    let denials =
        (0..9).map(|n| used("read", &format!("/srv/{n}/f"), "open", "1", "file")).collect::<Vec<_>>().join(", ");
    let lines = learned(None, &[record("git", &command(1, 0, "/usr/bin/git fetch", ""), &denials, "")]);
    assert!(lines.iter().all(|line| !line.contains("outside") && !line.contains("decide")), "{lines:?}");
}

#[test]
fn paths_are_few_and_never_all_of_a_directory_at_the_top() {
    let denials = [
        used("write", "/etc/x.conf", "change", "0", "file"),
        used("write", "/etc/.ansible_tmpabcx.conf", "open", "0", "missing"),
        used("read", "/etc", "open", "0", "directory"),
        used("read", "/etc/shadow", "look", "0", "private-file"),
        used("read", "/etc/no", "look", "0", "missing"),
        used("write", "/srv/app/new", "make-directory", "0", "missing"),
        used("read", "/srv/app/old", "open", "0", "file"),
        used("read", "/etc/python3.11/sitecustomize.py", "open", "0", "file"),
    ];
    let renamed = r#"["/etc/.ansible_tmpabcx.conf", "/etc/x.conf"]"#;
    let lines = learned(Some("t"), &[record("copy", "", &denials.join(", "), renamed)]);
    assert_eq!(lines, ["tasks:", "  \"t\": {allow: {write: [/etc/x.conf, /srv/app]}}"]);
}

#[test]
fn what_the_host_had_counts_and_not_what_is_here() {
    // On this machine the first is a directory at the top, and there is no second one.
    let denials =
        [used("read", "/usr", "open", "0", "file"), used("read", "/no/such/file", "open", "0", "file")].join(", ");
    let lines = learned(Some("t"), &[record("copy", "", &denials, "")]);
    assert_eq!(lines, ["tasks:", "  \"t\": {allow: {read: [/no/such/file, /usr]}}"]);
}

#[test]
fn modules_that_act_in_their_own_process_are_a_decision_by_their_digest() {
    let call = r#"{"capability": "confinement", "subject": "swapon", "operation": "call", "allow": "--allow-all"}"#;
    let home = used("write", "/srv/app/.ssh", "make-directory", "0", "missing");
    let profile = r#", "profile": "manage-users", "names": ["app"]"#;
    let useradd = command(1, 0, "/usr/sbin/useradd -d /srv/app app", profile);
    for (record, why) in [
        (record("x.y.swap", "", call, ""), "swap: it calls `swapon` in its own process"),
        (record("user", &useradd, &home, ""), "user: it writes in a home that its own command makes: /srv/app/.ssh"),
        (record("ansible.posix.mount", &useradd, "", ""), "mount: it mounts, and reads which mounts there are"),
    ] {
        let lines = learned(Some("t"), &[record]);
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(lines[1].contains("{unconfined: true}  # decide: ") && lines[1].ends_with(why), "{lines:?}");
    }
}

#[test]
fn owners_have_names_and_variables_of_a_shell_are_nothing() {
    let denials = r#"{"capability": "own", "subject": "/srv/x", "operation": "set-owner", "allow": "--allow-own 7:8"},
        {"capability": "env", "subject": "EDITOR", "operation": "inherit", "allow": "--allow-env EDITOR"}"#;
    assert_eq!(
        learned(Some("t"), &[record("file", "", denials, "")]),
        ["tasks:", "  \"t\": {allow: {own: [\"7:8!\"]}}"]
    );
}

#[test]
fn files_of_a_controller_and_questions_need_no_grant() {
    let denials = [
        used("write", "/srv/.ansible/tmp/ansible-tmp-1.2-3-4/.source.conf", "change", "0", "file"),
        used("write", "/srv/app/app.conf", "look", "0", "file").replace("--allow-write /srv/app/app.conf", ""),
        used("read", "/etc/magic", "open", "0", "file"),
    ];
    let lines = learned(None, &[record("ansible.builtin.copy", "", &denials.join(", "), "")]);
    assert_eq!(lines, ["modules:", "  copy: {allow: {read: [/etc/magic]}}"]);
}

#[test]
fn what_no_name_can_hold_needs_the_directory_around_it_or_a_decision() {
    for (used, expect) in [
        (used("write", "/etc/app", "make-directory", "0", "missing"), "write: [/etc/app]"),
        (used("write", "/etc/app/sub", "make-directory", "0", "missing"), "write: [/etc/app]"),
        (used("write", "/etc/app/link", "make-link", "0", "missing"), "write: [/etc/app]"),
        (used("write", "/etc/app/link", "remove", "0", "other"), "write: [/etc/app]"),
        (used("write", "/etc/app/sub", "remove", "0", "directory"), "write: [/etc/app]"),
        (used("write", "/etc/app/sub", "change", "0", "directory"), "write: [/etc/app/sub]"),
        (used("write", "/etc/app/file", "remove", "0", "file"), "write: [/etc/app/file]"),
    ] {
        let lines = learned(Some("t"), &[record("file", "", &used, "")]);
        assert_eq!(lines, ["tasks:".to_owned(), format!("  \"t\": {{allow: {{{expect}}}}}")]);
    }
    // The directory around it is the system's own.
    for (path, operation, was) in [("/etc/localtime", "change", "other"), ("/etc/localtime", "make-link", "missing")] {
        let record = record("file", "", &used("write", path, operation, "0", was), "");
        let why = format!("it makes, replaces or removes the link or the directory {path}");
        let lines = learned(Some("t"), std::slice::from_ref(&record));
        assert_eq!(lines, ["tasks:".to_owned(), format!("  \"t\": {{allow: all}}  # decide: {why}")]);
        let lines = learned(None, &[record]);
        assert!(lines[1].ends_with(&format!("{{unconfined: true}}  # decide: file: {why}")), "{lines:?}");
    }
}

#[test]
fn what_a_profile_for_users_shows_is_granted_by_it_alone() {
    let profile = r#", "profile": "manage-users", "names": ["app"]"#;
    let useradd = command(1, 0, "/usr/sbin/useradd -m app", profile);
    let denials = [
        used("read", "/etc/shadow", "open", "0", "private-file"),
        used("read", "/home/app", "open", "0", "directory"),
        used("read", "/srv/other", "open", "0", "directory"),
    ];
    let lines = learned(Some("t"), &[record("user", &useradd, &denials.join(", "), "")]);
    assert_eq!(
        lines,
        ["modules:", "  user: {profiles: [{manage-users: [app]}]}", "tasks:", "  \"t\": {allow: {read: [/srv/other]}}"]
    );
}

#[test]
fn the_runs_of_a_loop_have_one_list_of_outermost_paths() {
    let first = record("copy", "", &used("write", "/srv/app/x", "make-directory", "0", "missing"), "");
    let second = record("copy", "", &used("write", "/srv/app/x/file", "change", "0", "file"), "");
    let third = record("copy", "", &used("read", "/srv/app/y", "open", "0", "file"), "");
    let lines = learned(Some("t"), &[second, third, first]);
    assert_eq!(lines, ["tasks:", "  \"t\": {allow: {write: [/srv/app]}}"]);
}

//! `modbox play --syntax-check` over the integration targets of ansible-core: each refusal has a known reason, and nothing
//! crashes or hangs.
//!
//! The files are read out of place: a list of tasks without its role, a play without its collections. What Ansible itself
//! would refuse is listed by file.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::support::{Modbox, TestDir, oracle, sample};

/// Files that an ordinary run reads.
const FILES: usize = 150;

/// Parts of messages, each with the reason why it may be said of a file that Ansible accepts.
const REASONS: &[(&str, &str)] = &[
    (
        "failed to read `playbook`: expected a list of plays or tasks, found a mapping",
        "inventories, which Ansible refuses, too",
    ),
    ("the playbook is empty", "lists without tasks, read as playbooks, which Ansible refuses, too"),
    ("failed to find the action or module", "modules of folders and collections that belong to another play"),
    ("failed to find the role", "roles of another play or of a collection"),
    ("failed to find the playbook", "playbooks of a collection"),
    ("the file does not exist", "files of a role that is not there"),
    ("is undefined", "names of files that need variables of another play"),
    ("is done by a plugin in Python", "actions in Python do not run"),
    ("is a Python plugin", "filters, tests and lookups in Python do not run"),
    ("unknown lookup `", "lookups of the targets, in Python"),
    ("No filter named", "filters of the targets, in Python"),
    ("No test named", "tests of the targets, in Python"),
    ("filters do not encrypt or decrypt", "vaults"),
    ("templates see values after they are decrypted", "vaults"),
    ("encrypted with Ansible Vault", "vaults"),
    ("no vault secrets found", "vaults, whose passwords are not given"),
    ("so that only `linear`, `free` and `host_pinned` are known", "strategies are Python plugins"),
    ("modbox runs on this host only", "connections are Python plugins"),
    ("modbox has no task debugger", "the debugger is not supported"),
    ("facts of programs are not gathered", "`fact_path` is not supported"),
    ("modbox changes the user by itself", "methods of `become` are Python plugins"),
    ("`meta: end_role` ends a role", "tasks of a role, read without it"),
    ("failed to find the file `", "files of a role, read without it"),
];

/// Files that Ansible refuses, too, or in which a task is meant to fail.
const WRONG: &[&str] = &[
    "dataloader/attempt_to_load_invalid_json.yml",
    "conditionals/play.yml",
    "handlers/test_block_as_handler-import.yml",
    "handlers/test_block_as_handler.yml",
    "handlers/test_role_as_handler.yml",
    "include_import/apply/import_apply.yml",
    "include_import/null_filename/tasks.yml",
    "include_import/role/test_include_role_vars_from.yml",
    // An option that only `include_role` has.
    "includes/import_no_rescue.yml",
    "include_when_parent_is_static/playbook.yml",
    "include_when_parent_is_static/tasks.yml",
    "lookup_csvfile/tasks/main.yml",
    "playbook/empty_hosts.yml",
    "playbook/malformed_post_tasks.yml",
    "playbook/malformed_pre_tasks.yml",
    "playbook/malformed_roles.yml",
    "playbook/malformed_tasks.yml",
    "playbook/old_style_role.yml",
    "playbook/remote_user_and_user.yml",
    "protomatter/tasks/main.yml",
    "register/invalid.yml",
    "register/invalid_skipped.yml",
    "roles/end_role_handler_error.yml",
    "roles/no_outside_import.yml",
    "set_fact/set_fact_ansible_vars.yml",
    "task-args/tasks/main.yml",
    "templating/tasks/main.yml",
    "templating/tasks/plugin_errors.yml",
];

#[test]
#[expect(clippy::print_stdout, reason = "how many were read and refused is the result")]
fn every_refusal_of_a_target_has_a_known_reason() {
    let dir = TestDir::new();
    let targets = targets(&dir);
    let mut all = Vec::new();
    collect(&targets, &mut all);
    all.sort();
    assert!(all.len() > 1000, "{} files", all.len());
    let (files, mut refused, mut unknown) = (sample::sample(all, FILES), 0, Vec::new());
    for file in &files {
        let said = check(&dir, &targets, file);
        refused += usize::from(!said.is_empty());
        let name = file.strip_prefix(&targets).unwrap().display().to_string();
        if !WRONG.contains(&name.as_str()) {
            unknown.extend(said.into_iter().filter(|line| !REASONS.iter().any(|(part, _)| line.contains(part))));
        }
    }
    println!("{} files read, {refused} refused", files.len());
    assert!(unknown.is_empty(), "refused for no known reason:\n{}", unknown.join("\n"));
}

/// Checks a file. Returns what is said of it.
fn check(dir: &TestDir, targets: &Path, file: &Path) -> Vec<String> {
    let bin = oracle::python().parent().unwrap().display().to_string();
    let command = Modbox::new(dir).args(["play", "--syntax-check", "--roles-path"]).arg(targets).arg(file);
    let ran = command.env("PATH", format!("{bin}:/usr/bin:/bin")).run().within(Duration::from_secs(30));
    match ran.status.code() {
        Some(0) => Vec::new(),
        Some(2) => {
            let text = ran.stderr_text();
            let lines: Vec<String> = text
                .lines()
                .filter(|line| (line.contains(".y") || line.contains(".json")) && !line.starts_with(' '))
                .map(str::to_owned)
                .collect();
            assert!(!lines.is_empty(), "{}: refused without a position: {text}", file.display());
            lines
        }
        other => panic!("{}: {other:?}: {}", file.display(), ran.stderr_text()),
    }
}

/// Extracts the targets. Returns their folder.
fn targets(dir: &TestDir) -> PathBuf {
    let mut tar = Command::new("tar");
    tar.arg("xzf").arg(oracle::sources()).arg("-C").arg(dir.path());
    assert!(tar.arg("--wildcards").arg("*/test/integration/targets/*").status().expect("tar starts").success());
    dir.join(&format!("ansible_core-{}/test/integration/targets", oracle::version()))
}

/// Adds the playbooks and lists of tasks in a folder.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let (path, kind) = (entry.path(), entry.file_type().unwrap());
        if kind.is_dir() {
            collect(&path, files);
        } else if kind.is_file() && path.extension().is_some_and(|extension| extension == "yml") {
            let is_list = path.parent().is_some_and(|parent| parent.ends_with("tasks"));
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            if is_list || text.lines().any(|line| line.starts_with("- hosts:") || line.starts_with("  hosts:")) {
                files.push(path);
            }
        }
    }
}

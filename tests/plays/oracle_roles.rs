//! Which uses of roles are the same, and so run once: random trees of roles and dependencies by ansible-playbook and by modbox.

use std::fmt::Write as _;

use crate::support::sample::{Random, cases};
use crate::support::{Modbox, TestDir, oracle};

/// Roles of a tree. One depends only on later ones, so that no circle arises.
const ROLES: [&str; 5] = ["a", "b", "c", "n.c.d", "e"];

/// What a use of a role may have, each with forms that mean the same.
const KEYWORDS: [&[&str]; 4] = [
    &["when: true", "when: [true]", "when: 1 == 1", "when: [1 == 1]"],
    &["tags: x", "tags: [x]", "tags: 'x, y'", "tags: [x, y]", "tags: [y, x]"],
    &["vars: {p: 1, o: 2}", "vars: {o: 2, p: 1}", "vars: {p: 1}", "vars: {p: '1'}", "vars: {}"],
    &["u: 1, v: {s: 1, t: 2}", "v: {t: 2, s: 1}, u: 1", "u: 1", "u: '{{ 1 }}'"],
];

/// Ways to name a role: as it is, by its path, or in a collection that is searched.
fn name(role: &str, random: &mut Random) -> String {
    match (role, random.below(6)) {
        ("n.c.d", 0 | 1) => "d".to_owned(),
        ("n.c.d", _) => role.to_owned(),
        (role, 0) => format!("../roles/{role}"),
        (role, 1) => format!("{{{{ '{role}' }}}}"),
        (role, 2) => format!("linked/{role}"),
        _ => role.to_owned(),
    }
}

/// Returns a use of a role as an entry of `roles` or `dependencies`.
fn use_of(role: &str, random: &mut Random) -> String {
    let mut entry = format!("role: \"{}\"", name(role, random));
    for forms in KEYWORDS {
        // Few keywords, so that many uses are the same.
        if random.below(5) == 0 {
            let _ = write!(entry, ", {}", random.pick(forms));
        }
    }
    format!("{{{entry}}}")
}

/// Returns an import or include of a role as a task.
fn task_of(role: &str, random: &mut Random) -> String {
    let action = random.pick(&["import_role", "include_role"]);
    let mut task = format!("  - {action}: {{name: \"{}\"", name(role, random));
    if random.below(2) == 0 {
        task += ", allow_duplicates: false";
    }
    task += "}\n";
    if random.below(4) == 0 {
        let _ = writeln!(task, "    {}", random.pick(KEYWORDS[2]));
    }
    task
}

/// Writes a tree, and a playbook with two plays that use it.
fn write(dir: &TestDir, random: &mut Random) {
    for (at, role) in ROLES.iter().enumerate() {
        let folder = match role.rsplit_once('.') {
            Some((_, name)) => format!("collections/ansible_collections/n/c/roles/{name}"),
            None => format!("roles/{role}"),
        };
        let later = &ROLES[at + 1..];
        let count = if later.is_empty() { 0 } else { random.below(3) };
        let needs: Vec<String> = (0..count)
            .map(|_| {
                let role = *random.pick(later);
                use_of(role, random)
            })
            .collect();
        let duplicates = random.pick(&["", "allow_duplicates: true\n", "allow_duplicates: false\n"]);
        dir.write(
            &format!("{folder}/meta/main.yml"),
            format!("{duplicates}collections: [n.c]\ndependencies: [{}]\n", needs.join(", ")),
        );
        let condition = random.pick(&["", "  when: false\n", "  changed_when: true\n"]);
        let shown = "{{ p | default('-') }} {{ o | default('-') }} {{ u | default('-') }} {{ (v | default({})).s | default('-') }}";
        dir.write(&format!("{folder}/tasks/main.yml"), format!("- debug: {{msg: \"{role} {shown}\"}}\n{condition}"));
    }
    let mut text = String::new();
    for _ in 0..2 {
        let uses: Vec<String> = (0..1 + random.below(4))
            .map(|_| {
                let role = *random.pick(&ROLES[..]);
                use_of(role, random)
            })
            .collect();
        let tasks: String = (0..random.below(4))
            .map(|_| {
                let role = *random.pick(&ROLES[..]);
                task_of(role, random)
            })
            .collect();
        let _ = write!(
            text,
            "- hosts: localhost\n  gather_facts: false\n  collections: [n.c]\n  roles: [{}]\n  tasks:\n  - debug: {{msg: between}}\n{tasks}",
            uses.join(", ")
        );
    }
    dir.write("play.yml", text);
}

/// Returns what a run shows of its tasks.
fn shown(output: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(output);
    let is_shown = |line: &&str| line.starts_with("TASK [") || line.contains("\"msg\": ") || line.contains("skipping:");
    text.lines().filter(is_shown).map(|line| line.trim_end_matches('*').trim().to_owned()).collect()
}

#[test]
fn the_same_uses_of_roles_run_once_as_by_ansible() {
    let Some(version) = oracle::newest() else { return };
    let mut random = Random::new(0x801e);
    for _ in 0..cases(4, 60) {
        let dir = TestDir::new();
        write(&dir, &mut random);
        std::os::unix::fs::symlink(".", dir.join("roles/linked")).unwrap();
        let mut ansible = oracle::ansible_of(version, &dir, "playbook");
        let theirs = ansible.arg("play.yml").current_dir(dir.path()).output().expect("Ansible starts");
        let ours = Modbox::new(&dir).args(["play", "play.yml"]).run();
        let play = std::fs::read_to_string(dir.join("play.yml")).unwrap();
        assert_eq!(ours.status.success(), theirs.status.success(), "{play}: {ours}: {theirs:?}");
        assert_eq!(shown(&ours.stdout), shown(&theirs.stdout), "{play}");
    }
}

#[test]
fn roles_under_several_names_run_as_ansible_decides() {
    let Some(version) = oracle::newest() else { return };
    let dir = TestDir::new();
    for folder in ["roles/r", "collections/ansible_collections/n/c/roles/r", "roles/s"] {
        dir.write(&format!("{folder}/tasks/main.yml"), format!("- debug: {{msg: {folder}}}\n"));
    }
    std::os::unix::fs::symlink("s", dir.join("roles/t")).unwrap();
    for roles in [
        "[r, n.c.r]",
        "[n.c.r, r, n.c.r]",
        "[r, roles/r, ../roles/r]",
        "[s, t, s]",
        "[{role: r, when: true}, {role: r, when: [true]}, r]",
        "[{role: r, tags: 'a, b'}, {role: r, tags: [a, b]}, {role: r, tags: [b, a]}]",
        "[{role: r, x: 1, y: 2}, {role: r, y: 2, x: 1}, {role: r, vars: {x: 1, y: 2}}, {role: r, vars: {y: 2, x: 1}}]",
        "[{role: r, x: {a: 1, b: 2}}, {role: r, x: {b: 2, a: 1}}]",
        "[{role: r, x: 1}, {role: r, x: true}, {role: r, x: 1.0}, {role: r, x: '1'}]",
        "[{role: r, become: false}, {role: r, become: true, become_user: \"{{ 'root' }}\"}]",
    ] {
        for collections in ["[]", "[n.c]"] {
            dir.write(
                "play.yml",
                format!("- hosts: localhost\n  gather_facts: false\n  collections: {collections}\n  roles: {roles}\n"),
            );
            let mut ansible = oracle::ansible_of(version, &dir, "playbook");
            let theirs = ansible.arg("play.yml").current_dir(dir.path()).output().expect("Ansible starts");
            let ours = Modbox::new(&dir).args(["play", "play.yml"]).run();
            assert_eq!(shown(&ours.stdout), shown(&theirs.stdout), "{roles} {collections}: {ours}: {theirs:?}");
        }
    }
}

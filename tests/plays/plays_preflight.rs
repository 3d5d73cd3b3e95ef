//! What `modbox play` finds before the first task: files that tasks name, and what includes read. What every run would come to is
//! refused; the rest is a warning, and the play runs.

use crate::support::{Modbox, RunOutput, TestDir};

/// Tasks that fail when they run, each with a part of what is said of it.
const WRONG: [(&str, &str); 29] = [
    ("copy: {src: gone.txt, dest: /tmp/x}", "failed to find the file `gone.txt`; looked at: "),
    ("template: {src: gone.j2, dest: /tmp/x}", "failed to find the file `gone.j2`"),
    ("template: {src: secret.j2, dest: /tmp/x}", "secret.j2`"),
    ("copy: {src: secret.j2, dest: /tmp/x}", "secret.j2`"),
    ("unarchive: {src: gone.tar, dest: /tmp/x}", "failed to find the file `gone.tar`"),
    ("assemble: {src: gone.d, dest: /tmp/x, remote_src: false}", "failed to find the file `gone.d`"),
    ("script: gone.sh --with arguments", "failed to find the file `gone.sh`"),
    ("include_vars: gone.yml", "failed to find the file `gone.yml`"),
    ("include_vars: {file: broken.yml}", "broken.yml:2:"),
    ("include_vars: list.yml", "expected a mapping, found a list"),
    ("include_tasks: gone.yml", "failed to find the file `gone.yml`"),
    ("include_tasks: {file: broken.yml}", "broken.yml:2:"),
    ("include_tasks: outer.yml", "inner.yml:1:3: failed to find the action or module `no_such_module`"),
    ("include_tasks: bad_text.yml", "bad_text.yml:1:16"),
    ("include_role: {name: gone}", "failed to find the role `gone`"),
    ("include_role: {name: r, tasks_from: gone}", "failed to find the file of the role `tasks/gone`"),
    (r#"debug: {msg: "{{ lookup('file', 'gone.txt') }}"}"#, "failed to find the file `gone.txt`; looked at: "),
    (r#"debug: {msg: ["a {{ query('ansible.builtin.unvault', 'gone.txt') }}"]}"#, "failed to find the file `gone.txt`"),
    (
        r#"debug: {msg: "{{ (lookup('file', 'outer.yml', 'gone.txt') | trim).x[0] + 'y' }}"}"#,
        "find the file `gone.txt`",
    ),
    (r#"debug: {var: "lookup('template', 'gone.j2')"}"#, "failed to find the file `gone.j2`"),
    (r#"debug: {msg: "{{ lookup('ini', 'a', section='b', file='gone.ini') }}"}"#, "failed to find the file `gone.ini`"),
    (r#"assert: {that: ["lookup('file', 'gone.txt') == 'x'"]}"#, "failed to find the file `gone.txt`"),
    (r#"debug: {msg: "{{ lookup('file', 'secret.j2') }}"}"#, "secret.j2`"),
    (
        r#"debug: {msg: "{{ lookup('template', 'includes.j2') }}"}"#,
        "includes.j2:2:1: failed to find the template `gone.j2`",
    ),
    (
        "template: {src: includes.j2, dest: /tmp/x}",
        "includes.j2:2:1: failed to find the template `gone.j2`; looked at: ",
    ),
    ("template: {src: chain.j2, dest: /tmp/x}", "includes.j2:2:1: failed to find the template `gone.j2`"),
    ("template: {src: with_broken.j2, dest: /tmp/x}", "broken.j2:2"),
    ("template: {src: looks_up.j2, dest: /tmp/x}", "looks_up.j2:1:1: failed to find the file `gone.txt`"),
    ("include_role: {name: r}", "roles/r/tasks/main.yml:1:3: failed to find the action or module `no_such_module`"),
];

fn files(dir: &TestDir) {
    dir.write("outer.yml", "- include_tasks: inner.yml\n");
    dir.write("inner.yml", "- no_such_module:\n");
    dir.write("bad_text.yml", "- debug: {msg: \"{{ x y }}\"}\n");
    dir.write("broken.yml", "a: [\n");
    dir.write("vars/list.yml", "[1]\n");
    dir.write("secret.j2", "$ANSIBLE_VAULT;1.1;AES256\n30\n");
    dir.write("templates/includes.j2", "first\n{% include 'gone.j2' %}\n");
    dir.write("templates/chain.j2", "{% import 'includes.j2' as other with context %}\n");
    dir.write("templates/with_broken.j2", "{% extends ['gone.j2', 'broken.j2'] %}\n");
    dir.write("templates/broken.j2", "first\n{{ x y }}\n");
    dir.write("looks_up.j2", "{{ lookup('file', 'gone.txt') }}");
    dir.write("roles/r/tasks/main.yml", "- no_such_module:\n");
    dir.write("library/who.sh", "#!/bin/sh\n# WANT_JSON\necho '{}'\n");
}

fn play(dir: &TestDir, tasks: &str, args: &[&str]) -> RunOutput {
    dir.write("play.yml", format!("- hosts: localhost\n  gather_facts: false\n{tasks}"));
    Modbox::new(dir).args(["play", "play.yml"]).args(args).run()
}

#[test]
fn what_every_run_comes_to_is_refused_before_the_first_task() {
    let dir = TestDir::new();
    files(&dir);
    for (task, expect) in WRONG {
        for tasks in [
            format!("  tasks:\n  - debug:\n  - who: {{path: /etc/other}}\n  - {task}\n"),
            format!("  tasks:\n  - block:\n    - debug:\n    always:\n    - {task}\n"),
        ] {
            let ran = play(&dir, &tasks, &[]).exits_with(2);
            assert!(ran.stderr_text().contains(expect) && ran.stdout_text().is_empty(), "{task}: {ran}");
            play(&dir, &tasks, &["--syntax-check"]).exits_with(2);
        }
    }
}

#[test]
fn what_a_run_may_never_come_to_is_a_warning() {
    let dir = TestDir::new();
    files(&dir);
    for (task, expect) in WRONG {
        for tasks in [
            format!("  tasks:\n  - {task}\n    when: false\n"),
            format!("  tasks:\n  - {task}\n    loop: []\n"),
            format!("  tasks:\n  - block:\n    - {task}\n    when: x is defined\n"),
            format!("  tasks:\n  - block:\n    - debug:\n    rescue:\n    - {task}\n"),
            format!("  tasks:\n  - meta: end_play\n  - {task}\n"),
        ] {
            let ran = play(&dir, &tasks, &[]).exits_with(0);
            let said = ran.stderr_text();
            assert!(said.contains("a task that reaches one of these fails") && said.contains(expect), "{tasks}: {ran}");
            assert!(ran.stdout_text().contains("PLAY RECAP"), "{tasks}: {ran}");
            let checked = play(&dir, &tasks, &["--syntax-check"]).exits_with(0).stderr_text();
            assert!(checked.contains(expect), "{tasks}: {checked}");
        }
        if !task.starts_with("include_role") {
            let tasks = format!("  tasks:\n  - debug:\n  handlers:\n  - name: h\n    {task}\n");
            let ran = play(&dir, &tasks, &[]).exits_with(0);
            assert!(ran.stderr_text().contains(expect), "{tasks}: {ran}");
        }
    }
}

#[test]
fn files_that_a_text_may_do_without_are_a_warning_or_nothing() {
    let dir = TestDir::new();
    files(&dir);
    dir.write("templates/perhaps.j2", "{% if false %}{% include 'gone.j2' %}{% endif %}ok\n");
    dir.write("templates/round.j2", "{% if false %}{% include 'round.j2' %}{% endif %}ok\n");
    let is_warned = |said: &str| said.contains("a task that reaches one of these fails");
    for (text, warns) in [
        ("{{ true or lookup('file', 'gone.txt') }}", true),
        ("{{ 1 if true else lookup('file', 'gone.txt') }}", true),
        ("{{ [lookup('file', 'gone.txt')] | length }}", true),
        ("{{ lookup('file', 'gone.txt', errors='ignore') }}", true),
        ("{% for x in [] %}{{ lookup('file', 'gone.txt') }}{% endfor %}", true),
        ("{{ lookup('template', 'perhaps.j2') }}", true),
        ("{{ lookup('template', 'round.j2') }}", false),
        ("{{ lookup('first_found', ['gone.txt', 'outer.yml']) }}", false),
        ("{{ lookup('fileglob', 'gone*.txt') }}", false),
        ("{{ lookup('file', 'outer.yml') }}", false),
        ("{% raw %}{{ lookup('file', 'gone.txt') }}{% endraw %}", false),
    ] {
        let ran = play(&dir, &format!("  tasks:\n  - debug: {{msg: \"{text}\"}}\n"), &[]).exits_with(0);
        assert_eq!(is_warned(&ran.stderr_text()), warns, "{text}: {ran}");
    }
    // A filter that takes undefined values may take failures, too.
    let ran = play(&dir, "  tasks:\n  - debug: {msg: \"{{ lookup('file', 'gone.txt') | default('none') }}\"}\n", &[]);
    assert!(is_warned(&ran.exits_with(1).stderr_text()));
    // A variable may not be used, and an unused task's condition not be evaluated.
    for task in [
        "debug:\n    vars: {x: \"{{ lookup('file', 'gone.txt') }}\"}",
        "debug:\n    when: true or lookup('file', 'gone.txt') == ''",
    ] {
        let ran = play(&dir, &format!("  tasks:\n  - {task}\n"), &[]).exits_with(0);
        assert!(is_warned(&ran.stderr_text()), "{task}: {ran}");
    }
}

#[test]
fn files_that_loops_look_up_are_looked_for_first() {
    let dir = TestDir::new();
    files(&dir);
    for keyword in [
        "with_file: [outer.yml, gone.txt]",
        "with_file: gone.txt",
        "with_template: [gone.txt]",
        "with_ansible.builtin.file: [gone.txt]",
    ] {
        let tasks = |more: &str| format!("  tasks:\n  - debug: {{msg: x}}\n    {keyword}\n{more}");
        let refused = play(&dir, &tasks(""), &[]).exits_with(2);
        assert!(refused.stderr_text().contains("failed to find the file `gone.txt`"), "{refused}");
        assert!(refused.stdout_text().is_empty(), "{refused}");
        let warned = play(&dir, &tasks("    when: false\n"), &["--syntax-check"]).exits_with(0);
        assert!(warned.stderr_text().contains("failed to find the file `gone.txt`"), "{warned}");
    }
    let globbed = play(&dir, "  tasks:\n  - debug:\n    with_fileglob: [gone*.txt]\n", &[]).exits_with(0);
    assert!(globbed.stderr_text().is_empty(), "{globbed}");
    let maker = "  tasks:\n  - who: {path: \"{{ playbook_dir }}/gone.txt\"}\n";
    let made = play(&dir, &format!("{maker}  - debug: {{msg: \"{{{{ lookup('file', 'gone.txt') }}}}\"}}\n"), &[]);
    assert!(made.stdout_text().contains("failed=1"), "{made}");
}

#[test]
fn a_play_may_begin_without_a_file_that_a_task_may_make() {
    let dir = TestDir::new();
    files(&dir);
    let include = "  - include_tasks: made.yml\n";
    let folder = dir.path().display().to_string();
    for (maker, args) in [
        ("who: {path: \"{{ playbook_dir }}/made.yml\"}".to_owned(), &[][..]),
        (format!("who: {{path: {folder}}}"), &[]),
        ("who: {words: touch made.yml}".to_owned(), &[]),
        ("who:".to_owned(), &["--allow-all"]),
        ("who:".to_owned(), &["--allow-write", &folder]),
    ] {
        let tasks = format!("  tasks:\n  - {maker}\n{include}");
        let ran = play(&dir, &tasks, args).exits_with(3);
        assert!(ran.stderr_text().contains("failed to find the file `made.yml`"), "{maker}: {ran}");
        // The task that needs the file fails, and the play has its recap.
        assert!(ran.stdout_text().contains("ok=1") && ran.stdout_text().contains("failed=1"), "{maker}: {ran}");
    }
    play(&dir, &format!("  tasks:\n  - who: {{path: /etc/other}}\n{include}"), &[]).exits_with(2);
}

#[test]
fn files_of_variables_of_every_play_are_read_first() {
    let dir = TestDir::new();
    files(&dir);
    let later = |file: &str| {
        format!(
            "  tasks:\n  - debug:\n- hosts: localhost\n  gather_facts: false\n  vars_files: [gone.yml, [none.yml, {file}]]\n  tasks: []\n"
        )
    };
    for (file, expect) in [("broken.yml", "broken.yml:2:"), ("list.yml", "expected a mapping, found a list")] {
        let ran = play(&dir, &later(file), &[]).exits_with(2);
        assert!(ran.stderr_text().contains(expect) && ran.stdout_text().is_empty(), "{ran}");
    }
    let ran = play(&dir, &later("\"{{ 'broken' }}.yml\""), &[]).exits_with(1);
    assert!(ran.stdout_text().contains("PLAY RECAP") && ran.stderr_text().contains("broken.yml:2:"), "{ran}");
}

#[test]
fn includes_that_include_each_other_are_followed_once() {
    let dir = TestDir::new();
    dir.write("a.yml", "- include_tasks: b.yml\n  when: depth | int < 3\n");
    dir.write("b.yml", "- include_tasks: a.yml\n  vars: {depth: \"{{ depth | int + 1 }}\"}\n  when: depth | int < 3\n");
    dir.write("own.yml", "- include_tasks: own.yml\n  when: false\n");
    let ran = play(&dir, "  vars: {depth: 3}\n  tasks:\n  - include_tasks: a.yml\n  - include_tasks: own.yml\n", &[]);
    assert!(ran.exits_with(0).stderr_text().is_empty());
}

//! `modbox play` with JSON: playbooks and lists of tasks in JSON, and commands of lookups that print JSON.

use serde_json::json;

use crate::support::{Modbox, RunOutput, TestDir};

fn play(dir: &TestDir, name: &str, args: &[&str]) -> RunOutput {
    Modbox::new(dir).arg("play").args(args).arg(name).run()
}

#[test]
fn tasks_of_json_run_as_those_of_yaml_do() {
    let dir = TestDir::new();
    dir.write("library/answer.sh", "#!/bin/sh\n# WANT_JSON\necho '{\"ping\": \"pong\"}'\n");
    let tasks = json!([
        {"answer": {}, "register": "pong"},
        {"ansible.builtin.assert": {"that": ["pong.ping == 'pong'"]}},
        {"name": "{{ kind }} list", "include_tasks": "tasks.json", "vars": {"given": "{{ pong.ping }}"}},
        {"action": "debug msg='by action'"},
    ]);
    let playbook = json!([{"hosts": "localhost", "gather_facts": false, "vars": {"kind": "included"}, "tasks": tasks}]);
    dir.write("play.json", playbook.to_string());
    dir.write("tasks.json", json!([{"debug": {"msg": "given {{ given }}"}, "when": "given != ''"}]).to_string());
    let shown = play(&dir, "play.json", &[]).exits_with(0).stdout_text();
    for expect in [
        "TASK [answer] ***",
        "TASK [ansible.builtin.assert] ***",
        "TASK [included list] ***",
        "given pong",
        "by action",
        "ok=5    changed=0 ",
    ] {
        assert!(shown.contains(expect), "`{expect}` is missing: {shown}");
    }
    dir.assert_nothing_left();
}

#[test]
fn mistakes_in_tasks_of_json_name_the_action() {
    let dir = TestDir::new();
    let playbook = |task: serde_json::Value| json!([{"hosts": "localhost", "gather_facts": false, "tasks": [task]}]);
    for (task, expect) in [
        (json!({"no_such_module": {}}), "no_such_module"),
        (json!({"ping": {}, "debug": {}}), "ping"),
        (json!({"include_tasks": "x.json", "delay": 1}), "delay"),
        // A key is not a template, not even one that names an action.
        (json!({"{{ 'ping' }}": {}}), "{{ 'ping' }}"),
    ] {
        dir.write("play.json", playbook(task.clone()).to_string());
        let ran = play(&dir, "play.json", &[]).exits_with(2);
        assert!(ran.stderr_text().contains(expect), "{task}: {}", ran.stderr_text());
    }
}

#[test]
fn lookups_give_the_text_of_commands_that_print_json() {
    let dir = TestDir::new();
    dir.write(
        "play.yml",
        r#"
- hosts: localhost
  gather_facts: false
  vars:
    printed: "{{ lookup('pipe', command) }}"
  tasks:
  - assert:
      that: ["printed == expected", "lookup('lines', command) == expected"]
    loop:
    - '{"a": 1, "b": [true, null]}'
    - '{"changed": true, "failed": true, "msg": "a result", "rc": 3}'
    - '{"ansible_facts": {"injected": 1}}'
    - '[1, 2]'
    - '{]'
    - !unsafe '{"text": "{{ 1 + 1 }}"}'
    loop_control: {loop_var: expected}
    vars:
      command: "printf '%s' {{ expected | quote }}"
  - assert:
      that: ["(printed | from_json).rc == 0", "lookup('lines', command, wantlist=true) == ['{\"rc\":', '0}']"]
    vars:
      command: "echo '{\"rc\":'; echo '0}'"
  - assert:
      that: [printed == '', injected is undefined]
    vars:
      command: "true"
  - debug: {msg: "{{ lookup('pipe', 'echo {}; exit 3') }}"}
"#,
    );
    let ran = play(&dir, "play.yml", &["--allow-run", "/bin/sh", "--allow-read", "."]).exits_with(1);
    let shown = ran.stdout_text();
    assert!(shown.contains("ok=3    changed=0    unreachable=0    failed=1 "), "{shown}");
    assert!(shown.contains("lookup_plugin.pipe(echo {}; exit 3) returned 3"), "{shown}");
    dir.assert_nothing_left();
}

//! The action `libral` of plays: resources of providers, under the policy of the task.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Modbox, RunOutput, TestDir};

/// A provider of files with one line, with a `noop_safe` or not.
const LINE: &str = "#!/bin/bash\neval \"$@\"\necho '# simple'\ncase $ral_action in\n  list) echo 'name: a'; echo 'name: b' ;;\n\
    \x20 find) echo \"name: $name\"; [ -e \"$name\" ] && echo \"text: $(cat \"$name\")\" ;;\n\
    \x20 update) [ \"$text\" = bad ] && { echo 'ral_error: bad text'; exit 0; }; echo 'warn: slow' >&2\n\
    \x20   echo \"$text\" > \"$name\" || { echo 'ral_error: refused'; exit 0; }; echo \"ral_derive: true\" ;;\nesac\nexit 0\n";

const METADATA: &str = "provider: {type: line, invoke: simple, suitable: true, attributes: {name: {access: write}, text: , \
    b: {type: boolean}, list: {type: 'array[string]'}, fixed: {kind: r}}}\n";

fn provider(dir: &TestDir, folder: &str, name: &str) {
    dir.write_executable(&format!("{folder}/providers/{name}.prov"), LINE);
    dir.write(&format!("{folder}/providers/{name}.yaml"), METADATA);
}

fn play(dir: &TestDir, tasks: &str, args: &[&str]) -> RunOutput {
    let text = format!("- hosts: all\n  gather_facts: false\n  tasks:\n{tasks}");
    dir.write("play.yml", text);
    Modbox::new(dir).arg("play").args(args).arg("play.yml").run()
}

fn results(ran: &RunOutput) -> Vec<Value> {
    let events = ran.stdout_text();
    let events = events.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    events.filter(|event| event["event"] == "result").collect()
}

#[test]
fn a_task_updates_a_resource_once() {
    let dir = TestDir::new();
    provider(&dir, ".", "p");
    let file = dir.write("motd", "Hello\n");
    let path = file.display().to_string();
    let tasks = format!(
        "  - libral: {{type: line, name: {path}, text: Goodbye}}\n    register: r\n    notify: h\n  \
        - debug: {{msg: '{{{{ r.changes[0].was }}}} {{{{ r.resource.text }}}}'}}\n  handlers:\n  - {{name: h, debug: {{msg: handled}}}}\n"
    );
    // Check mode tells, and changes nothing.
    let checked = play(&dir, &tasks, &["--check", "--output", "jsonl"]).exits_with(0);
    let result = &results(&checked)[0];
    assert_eq!((&result["status"], &result["result"]["simulated"]), (&json!("changed"), &json!(true)), "{result:#}");
    assert_eq!(result["reports"].as_array().unwrap().len(), 1);
    assert_eq!(fs::read(&file).unwrap(), b"Hello\n");
    let shown = play(&dir, &tasks, &["--diff"]).exits_with(0).stdout_text();
    assert!(shown.contains("-    \"text\": \"Hello\"\n+    \"text\": \"Goodbye\"\n"), "{shown}");
    assert!(shown.contains(&format!("--- before: line::p {path}\n")), "{shown}");
    assert!(shown.contains("\"msg\": \"Hello Goodbye\"") && shown.contains("changed=1 "), "{shown}");
    assert_eq!(fs::read(&file).unwrap(), b"Goodbye\n");
    // The second time nothing differs, so only `find` runs.
    let only = format!("  - libral: {{type: line, name: {path}, text: Goodbye}}\n");
    let again = play(&dir, &only, &["--output", "jsonl"]).exits_with(0);
    let result = &results(&again)[0];
    assert_eq!((&result["status"], &result["result"]["changes"]), (&json!("ok"), &json!([])), "{result:#}");
    assert_eq!(result["reports"].as_array().unwrap().len(), 1);
    dir.assert_nothing_left();
}

#[test]
fn a_task_has_the_warnings_and_failures_of_the_provider() {
    let dir = TestDir::new();
    provider(&dir, ".", "p");
    let path = dir.join("file").display().to_string();
    let one = |attributes: &str, args: &[&str], status: i32| {
        let tasks = format!("  - libral: {{type: line, name: {path}, {attributes}}}\n");
        let ran = play(&dir, &tasks, &[&["--output", "jsonl"], args].concat()).exits_with(status);
        results(&ran)[0].clone()
    };
    let changed = one("text: x", &["--allow-write", "."], 0);
    assert_eq!(changed["result"]["warnings"], json!(["the provider says: slow"]), "{changed:#}");
    assert_eq!(changed["reports"].as_array().unwrap().len(), 2);
    let failed = one("text: bad", &["--allow-write", "."], 1);
    assert_eq!(failed["result"]["msg"], "the provider reported: bad text", "{failed:#}");
    // Values have the types of the metadata, and wrong ones run nothing.
    for (attributes, expect) in [
        ("txet: x", "did you mean `text`?"),
        ("fixed: x", "it can only be read"),
        ("b: perhaps", "`perhaps` is not a boolean"),
        ("text: [a]", "is not a value of type string"),
        ("text: {a: 1}", "dict is not a value of an attribute"),
    ] {
        let refused = one(attributes, &[], 1);
        let message = refused["result"]["msg"].as_str().unwrap();
        assert!(message.contains(expect) && refused["reports"] == json!([]), "{refused:#}");
    }
    // What the operator does not grant is denied: naming the path grants nothing then.
    let denied = one("text: y", &["--designated", "none"], 4);
    assert!(denied["result"]["msg"].as_str().unwrap().contains(&path), "{denied:#}");
    assert_eq!(fs::read(dir.join("file")).unwrap(), b"x\n");
}

#[test]
fn a_task_finds_and_lists() {
    let dir = TestDir::new();
    provider(&dir, ".", "p");
    let file = dir.write("file", "text\n");
    let tasks = format!("  - libral: {{type: 'line::p', name: {}}}\n  - libral: type=line\n", file.display());
    let ran = play(&dir, &tasks, &["--output", "jsonl"]).exits_with(0);
    let found = results(&ran);
    assert_eq!(found[0]["result"]["resource"]["text"], "text");
    assert_eq!(found[1]["result"]["resources"], json!([{"name": "a"}, {"name": "b"}]));
    assert!(found.iter().all(|one| one["status"] == "ok"), "{found:#?}");
}

#[test]
fn providers_are_beside_the_play_in_roles_and_where_the_operator_says() {
    let dir = TestDir::new();
    for (folder, name) in [(".", "play"), ("roles/r", "role"), ("given", "given"), ("data", "data")] {
        provider(&dir, folder, name);
    }
    dir.write("roles/r/tasks/main.yml", "- libral: {type: 'line::role'}\n- libral: {type: 'line::play'}\n");
    let run = |args: &[&str], tasks: &str, status: i32| {
        dir.write("play.yml", format!("- hosts: all\n  gather_facts: false\n{tasks}"));
        Modbox::new(&dir)
            .arg("play")
            .args(args)
            .arg("play.yml")
            .env("RALSH_DATA_DIR", dir.join("data"))
            .run()
            .exits_with(status)
    };
    run(&[], "  roles: [r]\n", 0);
    run(&[], "  tasks:\n  - libral: {type: 'line::data'}\n", 0);
    run(&["-I", "given"], "  tasks:\n  - libral: {type: 'line::given'}\n", 0);
    run(&["--data-dir", "given"], "  tasks:\n  - libral: {type: 'line::given'}\n", 0);
    // A provider of a role is not one of the play, and a type with several must be told apart.
    let unknown = run(&[], "  tasks:\n  - libral: {type: 'line::rol'}\n", 3).stdout_text();
    assert!(unknown.contains("there is none; expected one of line::data, line::play"), "{unknown}");
    let several = run(&[], "  tasks:\n  - libral: {type: line}\n", 3).stdout_text();
    assert!(several.contains("choose one of line::data, line::play"), "{several}");
    // What was left out is said, since it may be the reason.
    dir.write_executable("providers/broken.prov", "#!/bin/sh\nexit 3\n");
    let broken = run(&[], "  tasks:\n  - libral: {type: broken}\n", 3).stdout_text();
    assert!(broken.contains("left out: ") && broken.contains("exited with status 3"), "{broken}");
}

//! The client of npm's SDK against `modbox mcp`: lists, calls, wrong calls, and a person who answers. `npm_client.mjs` is the client.

use std::fs;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{TestDir, modbox, module, npm, repository, run_tool, stretched, temporary};

const SDK: &str = "@modelcontextprotocol/sdk@1.32.2";

/// Returns a folder whose `lineinfile` may write `site`.
fn folder() -> TestDir {
    let dir = TestDir::new();
    let site = dir.write("site/motd", "hello\n").parent().unwrap().display().to_string();
    fs::create_dir_all(dir.join("modules")).unwrap();
    for name in ["stat", "lineinfile"] {
        fs::copy(module(name), dir.join(&format!("modules/{name}.wasm"))).unwrap();
    }
    let policy = format!(
        "tools: {{modules: [stat, lineinfile], confirm: person}}\n\
         modules: {{stat: {{allow: {{read: [{site}]}}}}, lineinfile: {{allow: {{write: [{site}]}}}}}}\n"
    );
    dir.write("agent.yaml", policy);
    dir
}

#[test]
fn a_person_behind_a_client_of_npm_decides() {
    let Some(packages) = npm::packages("mcp-node", SDK, "clients of npm") else { return };
    // What a person answers, the status of the call, the file after it, and the number of questions.
    let cases = [
        ("yes", "changed", "hello\ntwo\n", 1),
        ("no", "discarded", "hello\n", 1),
        ("cancel", "planned", "hello\n", 1),
        ("none", "planned", "hello\n", 0),
    ];
    let folders = cases.map(|_| folder());
    let client = |answer: &str, dir: &TestDir| {
        let motd = dir.join("site/motd");
        let calls = json!([
            ["stat", {"path": motd}],
            ["lineinfile", {"path": motd, "line": "two"}],
            ["stat", {"path": "relative"}],
            ["nothing", {}],
        ]);
        json!({"answer": answer, "calls": calls, "directory": dir.path()})
    };
    let clients: Vec<Value> = cases.iter().zip(&folders).map(|((answer, ..), dir)| client(answer, dir)).collect();
    let mut node = Command::new("node");
    node.arg(repository().join("tests/agents/npm_client.mjs")).arg(packages).arg(Value::from(clients).to_string());
    node.arg(modbox()).args(["mcp", "--policy", "agent.yaml", "--module-path", "modules"]);
    node.env("XDG_CACHE_HOME", temporary().join("cache"));
    let said = run_tool(&mut node, stretched(Duration::from_secs(120))).unwrap();
    let said: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(said.len(), cases.len(), "{said:?}");
    for (((answer, status, after, questions), dir), said) in cases.iter().zip(&folders).zip(said) {
        assert_eq!(said["tools"], json!(["stat", "lineinfile", "modbox_undo"]));
        let answers = &said["answers"];
        assert_eq!(answers[0]["structure"]["result"]["stat"]["size"], 6, "{answer}: {said}");
        assert_eq!(answers[1]["structure"]["status"], *status, "{answer}: {said}");
        assert_eq!(
            (&answers[2]["structure"]["status"], &answers[3]["code"]),
            (&json!("invalid"), &json!(-32602)),
            "{said}"
        );
        assert_eq!(fs::read_to_string(dir.join("site/motd")).unwrap(), *after, "{answer}");
        let asked = said["questions"].as_array().unwrap();
        assert_eq!(asked.len(), *questions, "{answer}: {said}");
        assert!(asked.iter().all(|question| question.as_str().unwrap().contains("\n+two\n")), "{said}");
    }
}

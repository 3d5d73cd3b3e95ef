//! The client of PyPI's `mcp`, by the authors of the protocol, against `modbox mcp`: in a session, as a client that finds out
//! what the server speaks, and without a session. `sdk_client.py` is the client.

use std::fs;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{TestDir, modbox, module, oracle, repository, run_tool, stretched, temporary};

/// The modes of the client, with the version of the protocol that each leads to.
const MODES: [(&str, &str); 3] = [("legacy", "2025-11-25"), ("auto", "2026-07-28"), ("2026-07-28", "2026-07-28")];

/// Returns a folder with modules, and `agent.yaml` with these lines.
fn folder(modules: &[&str], policy: impl Fn(&str) -> String) -> TestDir {
    let dir = TestDir::new();
    dir.write("site/motd", "hello\n");
    fs::create_dir_all(dir.join("modules")).unwrap();
    for name in modules {
        fs::copy(module(name), dir.join(&format!("modules/{name}.wasm"))).unwrap();
    }
    dir.write("agent.yaml", policy(&dir.join("site").display().to_string()));
    dir
}

/// Runs clients one after the other, and returns what each says.
fn said(clients: &[Value]) -> Vec<Value> {
    let mut command = Command::new(oracle::python_with_mcp());
    command.arg(repository().join("tests/agents/sdk_client.py")).arg(Value::from(clients).to_string()).arg(modbox());
    command.args(["mcp", "--policy", "agent.yaml", "--module-path", "modules", "--jobs", "8"]);
    command.env("XDG_CACHE_HOME", temporary().join("cache"));
    let said = run_tool(&mut command, stretched(Duration::from_secs(120))).unwrap();
    let said: Vec<Value> =
        said.lines().filter(|line| line.starts_with('{')).map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(said.len(), clients.len(), "{said:?}");
    said
}

#[test]
fn the_client_of_the_protocols_authors_is_served_in_both_generations() {
    let policy = |site: &str| format!("tools: {{modules: [slurp, stat], confirm: never}}\nallow: {{read: [{site}]}}\n");
    let dir = folder(&["stat", "slurp"], policy);
    let calls = json!([
        ["slurp", {"src": dir.join("site/motd"), "armor": false}],
        ["stat", {"path": dir.join("agent.yaml")}],
        ["stat", {"path": "relative"}],
        ["nothing", {}],
    ]);
    let client =
        |mode| json!({"mode": mode, "answer": "none", "calls": calls, "together": 32, "directory": dir.path()});
    let clients = MODES.map(|(mode, _)| client(mode));
    for ((mode, protocol), said) in MODES.into_iter().zip(said(&clients)) {
        assert_eq!((&said["protocol"], &said["tools"]), (&json!(protocol), &json!(["slurp", "stat"])), "{mode}");
        let answers = &said["answers"];
        assert_eq!(answers[0]["structure"]["result"]["content"], "hello\n", "{mode}: {answers}");
        assert_eq!(answers[1]["structure"]["status"], "denied", "{mode}: {answers}");
        assert_eq!(answers[2]["structure"]["status"], "invalid", "{mode}: {answers}");
        assert_eq!(answers[3]["code"], -32602, "{mode}: {answers}");
        assert_eq!(said["together"], 32, "{mode}");
    }
}

#[test]
fn a_person_behind_the_client_decides_in_both_generations() {
    let policy = |site: &str| {
        format!(
            "tools: {{modules: [stat, lineinfile], confirm: person}}\n\
             modules: {{stat: {{allow: {{read: [{site}]}}}}, lineinfile: {{allow: {{write: [{site}]}}}}}}\n"
        )
    };
    // What a person answers, the status of the call, the file after it, and the least number of questions.
    let cases = [
        ("yes", "changed", "hello\ntwo\n", 1),
        ("no", "discarded", "hello\n", 1),
        ("cancel", "planned", "hello\n", 1),
        ("none", "planned", "hello\n", 0),
    ];
    let cases: Vec<_> = MODES.iter().flat_map(|(mode, _)| cases.map(|case| (*mode, case))).collect();
    let folders: Vec<TestDir> = cases.iter().map(|_| folder(&["stat", "lineinfile"], policy)).collect();
    let client = |mode: &str, answer: &str, dir: &TestDir| {
        let motd = dir.join("site/motd");
        let calls = json!([["stat", {"path": motd}], ["lineinfile", {"path": motd, "line": "two"}]]);
        json!({"mode": mode, "answer": answer, "calls": calls, "together": 0, "directory": dir.path()})
    };
    let clients = cases.iter().zip(&folders).map(|((mode, (answer, ..)), dir)| client(mode, answer, dir));
    let clients: Vec<Value> = clients.collect();
    for (((mode, (answer, status, after, questions)), dir), said) in cases.iter().zip(&folders).zip(said(&clients)) {
        let structure = &said["answers"][1]["structure"];
        assert_eq!(structure["status"], *status, "{mode} {answer}: {said}");
        assert_eq!(fs::read_to_string(dir.join("site/motd")).unwrap(), *after, "{mode} {answer}");
        // A client that gets no decision may ask again.
        let asked = said["questions"].as_array().unwrap();
        assert!(asked.len() >= *questions && asked.is_empty() == (*questions == 0), "{mode} {answer}: {said}");
        assert!(asked.iter().all(|question| question.as_str().unwrap().contains("\n+two\n")), "{said}");
    }
}

//! The client of PyPI's `mcp`, by the authors of the protocol, against `modbox mcp`: in a session, as a client that finds out
//! what the server speaks, and without a session. `sdk_client.py` is the client.

use std::fs;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{TestDir, modbox, module, oracle, repository, run_tool, stretched};

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

/// Runs the client, and returns what it says.
fn said(dir: &TestDir, mode: &str, answer: &str, calls: &Value) -> Value {
    let mut client = Command::new(oracle::python_with_mcp());
    client.arg(repository().join("tests/agents/sdk_client.py")).args([mode, answer, &calls.to_string()]).arg(modbox());
    client.args(["mcp", "--policy", "agent.yaml", "--module-path", "modules", "--jobs", "8"]);
    client.env("HOME", dir.join("home")).env("TMPDIR", dir.join("tmp"));
    client.env("XDG_STATE_HOME", dir.join("home/state")).current_dir(dir.path());
    let said = run_tool(&mut client, stretched(Duration::from_secs(120)));
    let said = said.unwrap_or_else(|error| panic!("{mode} {answer}: {error}"));
    let line = said.lines().rfind(|line| line.starts_with('{')).unwrap_or_else(|| panic!("{mode} {answer}: {said}"));
    serde_json::from_str(line).unwrap()
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
    for (mode, protocol) in MODES {
        let said = said(&dir, mode, "none", &calls);
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
    for (mode, _) in MODES {
        for (answer, status, after, questions) in [
            ("yes", "changed", "hello\ntwo\n", 1),
            ("no", "discarded", "hello\n", 1),
            ("cancel", "planned", "hello\n", 1),
            ("none", "planned", "hello\n", 0),
        ] {
            let dir = folder(&["stat", "lineinfile"], policy);
            let motd = dir.join("site/motd");
            let calls = json!([["stat", {"path": motd}], ["lineinfile", {"path": motd, "line": "two"}]]);
            let said = said(&dir, mode, answer, &calls);
            let structure = &said["answers"][1]["structure"];
            assert_eq!(structure["status"], status, "{mode} {answer}: {said}");
            assert_eq!(fs::read_to_string(&motd).unwrap(), after, "{mode} {answer}");
            // A client that gets no decision may ask again.
            let asked = said["questions"].as_array().unwrap();
            assert!(asked.len() >= questions && asked.is_empty() == (questions == 0), "{mode} {answer}: {said}");
            assert!(asked.iter().all(|question| question.as_str().unwrap().contains("\n+two\n")), "{said}");
        }
    }
}

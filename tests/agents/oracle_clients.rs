//! The client of PyPI's `mcp`, by the authors of the protocol, against `modbox mcp`: in a session, as a client that finds out
//! what the server speaks, and without a session. `sdk_client.py` is the client.

use std::fs;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{TestDir, modbox, module, oracle, repository, run_tool, stretched};

#[test]
fn the_client_of_the_protocols_authors_is_served_in_both_generations() {
    let dir = TestDir::new();
    dir.write("site/motd", "hello\n");
    fs::create_dir_all(dir.join("modules")).unwrap();
    for name in ["stat", "slurp"] {
        fs::copy(module(name), dir.join(&format!("modules/{name}.wasm"))).unwrap();
    }
    let site = dir.join("site");
    dir.write(
        "agent.yaml",
        format!("tools: {{modules: [stat, slurp], confirm: never}}\nallow: {{read: [{}]}}\n", site.display()),
    );
    let calls = json!([
        ["slurp", {"src": site.join("motd"), "armor": false}],
        ["stat", {"path": dir.join("agent.yaml")}],
        ["stat", {"path": "relative"}],
        ["nothing", {}],
    ]);
    let script = repository().join("tests/agents/sdk_client.py");
    for (mode, protocol) in [("legacy", "2025-11-25"), ("auto", "2026-07-28"), ("2026-07-28", "2026-07-28")] {
        let mut client = Command::new(oracle::python_with_mcp());
        client.arg(&script).args([mode, &calls.to_string()]).arg(modbox());
        client.args(["mcp", "--policy", "agent.yaml", "--module-path", "modules", "--jobs", "8"]);
        client.env("HOME", dir.join("home")).env("TMPDIR", dir.join("tmp")).current_dir(dir.path());
        let said = run_tool(&mut client, stretched(Duration::from_secs(120)))
            .unwrap_or_else(|error| panic!("{mode}: {error}"));
        let line = said.lines().rfind(|line| line.starts_with('{')).unwrap_or_else(|| panic!("{mode}: {said}"));
        let said: Value = serde_json::from_str(line).unwrap();
        assert_eq!(said["protocol"], protocol, "{mode}");
        let names: Vec<&str> =
            said["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["stat", "slurp"], "{mode}");
        let answers = &said["answers"];
        assert_eq!(answers[0]["structure"]["result"]["content"], "hello\n", "{mode}: {answers}");
        assert_eq!(answers[1]["structure"]["status"], "denied", "{mode}: {answers}");
        assert_eq!(answers[2]["structure"]["status"], "invalid", "{mode}: {answers}");
        assert_eq!(answers[3]["code"], -32602, "{mode}: {answers}");
        assert_eq!(said["together"], 32, "{mode}");
    }
}

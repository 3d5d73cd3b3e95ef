//! More modules than clients list: `modbox_find` finds them, and `modbox_read` and `modbox_change` call them.

use std::fs;

use serde_json::{Value, json};

use crate::agents::client::Client;
use crate::agents::mcp_gate::{asked, modbox, motd};
use crate::agents::mcp_tools::site;
use crate::support::{TestDir, module};

/// Returns a folder with more modules than clients list.
fn many() -> TestDir {
    let dir = site();
    for number in 0..45 {
        fs::copy(module("ping"), dir.join(&format!("modules/ping{number}.wasm"))).unwrap();
    }
    let site = dir.join("site");
    let text = format!(
        "tools: {{modules: ['ping*', stat, slurp, lineinfile], confirm: person}}\naudit: {}\nmodules: {{lineinfile: {{allow: \
         {{write: [{}]}}}}, stat: {{allow: {{read: [{}]}}}}}}\n",
        dir.join("audit.jsonl").display(),
        site.display(),
        site.display()
    );
    dir.write("agent.yaml", text);
    dir
}

fn names(list: &Value) -> Vec<&str> {
    list["result"]["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

#[test]
fn modules_are_found_and_called() {
    let dir = many();
    let mut client = asked(&dir);
    let list = client.ask("list", "tools/list", &json!({}));
    assert_eq!(names(&list), ["modbox_find", "modbox_read", "modbox_change", "modbox_undo"]);
    let hints = |name: &str| {
        let tools = list["result"]["tools"].as_array().unwrap();
        tools.iter().find(|tool| tool["name"] == name).unwrap()["annotations"].clone()
    };
    assert_eq!(
        (&hints("modbox_read")["readOnlyHint"], &hints("modbox_change")["readOnlyHint"]),
        (&json!(true), &json!(false))
    );
    let found = client.structure(1, "modbox_find", &json!({"query": "add a line to a text file"}));
    let first = &found["result"]["modules"][0];
    assert_eq!((&first["module"], &first["call"]), (&json!("lineinfile"), &json!("modbox_change")), "{found}");
    assert_eq!(first["args"]["properties"]["line"]["type"], "string");
    let motd_file = dir.join("site/motd");
    let read = client.structure(2, "modbox_read", &json!({"module": "stat", "args": {"path": motd_file}}));
    assert_eq!((&read["status"], &read["result"]["stat"]["size"]), (&json!("ok"), &json!(6)), "{read}");
    let change = json!({"module": "lineinfile", "args": {"path": motd_file, "line": "two"}});
    assert_eq!(client.structure(3, "modbox_read", &change)["status"], "invalid");
    // The gate is that of the module, and the audit log names it.
    client.request(4, "tools/call", &json!({"name": "modbox_change", "arguments": change}));
    let question = client.answer(|message| message["method"] == "elicitation/create");
    assert!(question["params"]["message"].as_str().unwrap().starts_with("modbox asks: lineinfile would"), "{question}");
    assert_eq!(motd(&dir), "hello\n");
    let yes = json!({"action": "accept", "content": {"decision": "apply"}});
    client.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": yes}));
    let done = client.answer(|message| message["id"] == 4)["result"]["structuredContent"].take();
    assert_eq!((&done["status"], motd(&dir).as_str()), (&json!("changed"), "hello\ntwo\n"), "{done}");
    assert!(fs::read_to_string(dir.join("audit.jsonl")).unwrap().contains(r#""tool": "lineinfile""#));
}

#[test]
fn modules_that_are_not_listed_are_not_called_directly() {
    let dir = many();
    let mut client = Client::legacy(&dir, &[]);
    let unknown = client.call(1, "stat", &json!({"path": dir.join("site/motd")}));
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
    for (module, args) in
        [("nothing", json!({})), ("modbox_undo", json!({"run": "x"})), ("stat", json!({"path": "relative"}))]
    {
        let invalid = client.structure(2, "modbox_read", &json!({"module": module, "args": args}));
        assert_eq!(invalid["status"], "invalid", "{invalid}");
    }
    let denied = json!({"module": "stat", "args": {"path": dir.join("secret")}});
    assert_eq!(client.structure(3, "modbox_read", &denied)["status"], "denied");
    let shown = modbox(&dir).args(["mcp", "--policy", "agent.yaml", "--module-path", "modules", "--show"]).run();
    let shown = shown.exits_with(0).stdout_text();
    assert!(shown.contains("ping44 (") && shown.contains("modbox_find (modbox's own)"), "{shown}");
}

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

/// Returns a folder with so many modules that they are read after the client is answered.
fn very_many() -> TestDir {
    let dir = site();
    for number in 0..300 {
        fs::hard_link(dir.join("modules/stat.wasm"), dir.join(&format!("modules/stat{number}.wasm"))).unwrap();
    }
    dir.write("agent.yaml", "tools: {modules: ['stat*'], confirm: person}\n");
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

#[test]
fn a_client_is_answered_before_many_modules_are_read() {
    let dir = very_many();
    let site = dir.join("site");
    let text = format!("tools: {{modules: ['stat*'], confirm: client}}\nallow: {{read: [{}]}}\n", site.display());
    dir.write("agent.yaml", text);
    let mut client = Client::start(&dir, &[]);
    let told = client.initialize();
    assert!(told["instructions"].as_str().unwrap().contains("`modbox_find` finds modules"), "{told}");
    let list = client.ask("list", "tools/list", &json!({}));
    assert_eq!(names(&list), ["modbox_find", "modbox_read", "modbox_change", "modbox_undo", "modbox_apply"]);
    let found = client.structure(1, "modbox_find", &json!({"query": "stat299"}));
    assert_eq!(found["result"]["modules"][0]["module"], "stat299", "{found}");
    let args = json!({"path": dir.join("site/motd")});
    let read = client.structure(2, "modbox_read", &json!({"module": "stat7", "args": args}));
    assert_eq!((&read["status"], &read["result"]["stat"]["size"]), (&json!("ok"), &json!(6)), "{read}");
    let shown =
        modbox(&dir).args(["mcp", "--policy", "agent.yaml", "--module-path", "modules", "--show", "--json"]).run();
    assert_eq!(names(&json!({"result": shown.exits_with(0).json()})), names(&list), "the list that clients get");
}

#[test]
fn many_modules_that_cannot_be_served_are_refused_in_each_answer() {
    let dir = very_many();
    let modules = dir.join("modules");
    dir.write(
        "agent.yaml",
        format!("tools: {{modules: ['stat*'], confirm: person}}\nallow: {{write: [{}]}}\n", modules.display()),
    );
    let mut client = asked(&dir);
    assert_eq!(names(&client.ask("list", "tools/list", &json!({}))).len(), 4);
    assert_eq!(client.call(1, "stat7", &json!({}))["error"]["code"], -32602);
    for (number, tool, arguments) in [
        (2, "modbox_find", json!({"query": "stat"})),
        (3, "modbox_change", json!({"module": "stat7", "args": {"path": modules}})),
    ] {
        let refused = client.structure(number, tool, &arguments);
        assert_eq!(refused["status"], "failed", "{refused}");
        assert!(refused["notes"][0].as_str().unwrap().contains("a folder of modules"), "{refused}");
    }
    let (_, status, errors) = client.end_with_errors();
    assert!(status.code() == Some(2) && errors.contains("each call is refused: "), "{status} {errors}");
}

#[test]
fn calls_that_came_before_the_input_ended_are_answered() {
    let dir = very_many();
    let mut client = Client::legacy(&dir, &[]);
    client.request(1, "tools/call", &json!({"name": "modbox_find", "arguments": {"query": "stat3"}}));
    let (answers, status) = client.end();
    let found = answers.iter().find(|answer| answer["id"] == 1).expect("the call is answered");
    assert_eq!(found["result"]["structuredContent"]["result"]["modules"][0]["module"], "stat3", "{found}");
    assert!(status.success());
}

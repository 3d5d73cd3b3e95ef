//! What clients of `modbox mcp` see of tools, and what their calls do: they read what is granted, and change nothing.

use std::fs;

use serde_json::{Value, json};

use crate::agents::client::{Client, MODERN, PATIENCE, modern, with_module};
use crate::support::{TestDir, children, guest, module, stretched, wait_for};

/// A folder with the modules `stat` and `slurp`, and a policy that lets them read `site`.
pub(crate) fn site() -> TestDir {
    let dir = TestDir::new();
    dir.write("site/motd", "hello\n");
    dir.write("secret", "top\n");
    for name in ["stat", "slurp", "lineinfile"] {
        fs::create_dir_all(dir.join("modules")).unwrap();
        fs::copy(module(name), dir.join(&format!("modules/{name}.wasm"))).unwrap();
    }
    policy(&dir, "[stat, slurp]", "");
    dir
}

/// Writes the agent's policy.
pub(crate) fn policy(dir: &TestDir, modules: &str, more: &str) {
    let site = dir.join("site");
    let text = format!(
        "tools: {{modules: {modules}, confirm: never}}\nallow: {{read: [{}]}}\naudit: {}\n{more}",
        site.display(),
        dir.join("audit.jsonl").display()
    );
    dir.write("agent.yaml", text);
}

#[test]
fn tools_are_listed_with_hints_from_grants_and_closed_schemas() {
    let dir = site();
    let mut client = Client::start(&dir, &[]);
    let server = client.initialize();
    assert_eq!((&server["serverInfo"]["name"], &server["capabilities"]), (&json!("modbox"), &json!({"tools": {}})));
    let list = client.ask(1, "tools/list", &json!({}));
    let tools = list["result"]["tools"].as_array().unwrap();
    assert_eq!(tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect::<Vec<_>>(), ["stat", "slurp"]);
    let stat = &tools[0];
    assert_eq!(stat["annotations"], json!({"readOnlyHint": true, "destructiveHint": false, "openWorldHint": false}));
    let schema = stat["inputSchema"].as_object().unwrap();
    assert_eq!(schema.keys().collect::<Vec<_>>(), ["additionalProperties", "properties", "required", "type"]);
    assert_eq!(schema["required"], json!(["path"]));
    assert_eq!(schema["properties"]["follow"]["type"], "boolean");
    assert!(stat["description"].as_str().unwrap().starts_with("Returns the attributes of a file"));
    assert_eq!(tools[0]["outputSchema"], tools[1]["outputSchema"]);
    // The same list, at any time.
    assert_eq!(client.ask(2, "tools/list", &json!({}))["result"], list["result"]);
    assert!(client.end().1.success());
}

#[test]
fn modern_clients_need_no_session() {
    let dir = site();
    let mut client = Client::start(&dir, &[]);
    let found = client.ask(1, "server/discover", &modern(json!({})));
    assert!(found["result"]["supportedVersions"].as_array().unwrap().contains(&json!(MODERN)), "{found}");
    let list = client.ask(2, "tools/list", &modern(json!({})));
    assert_eq!(
        (&list["result"]["ttlMs"], &list["result"]["cacheScope"]),
        (&json!(3_600_000), &json!("private")),
        "{list}"
    );
    let call = modern(json!({"name": "stat", "arguments": {"path": dir.join("site/motd")}}));
    let answer = client.ask(3, "tools/call", &call);
    assert_eq!(answer["result"]["structuredContent"]["result"]["stat"]["size"], 6, "{answer}");
}

#[test]
fn calls_read_what_is_granted_and_nothing_else() {
    let dir = site();
    let mut client = Client::legacy(&dir, &[]);
    let read = client.structure(1, "slurp", &json!({"src": dir.join("site/motd"), "armor": false}));
    assert_eq!((&read["status"], &read["result"]["content"]), (&json!("ok"), &json!("hello\n")), "{read}");
    assert!(read["result"].get("invocation").is_none());
    let denied = client.structure(2, "slurp", &json!({"src": dir.join("secret")}));
    let key = format!(r#"modules: {{"slurp": {{allow: {{read: ["{}"]}}}}}}"#, dir.join("secret").display());
    assert_eq!((&denied["status"], &denied["denials"][0]["key"]), (&json!("denied"), &json!(key)), "{denied}");
    assert!(!denied.to_string().contains("--allow"), "an agent has no switches: {denied}");
    // A link inside of the grant leads out of it.
    std::os::unix::fs::symlink(dir.join("secret"), dir.join("site/link")).unwrap();
    let linked = client.structure(3, "slurp", &json!({"src": dir.join("site/link")}));
    assert_eq!(linked["status"], "denied", "{linked}");
    for (arguments, expect) in [
        (json!({"src": "site/motd"}), "must be an absolute path"),
        (json!({"src": format!("{}/../secret", dir.join("site").display())}), "without `..`"),
        (json!({"src": dir.join("site/motd"), "unknown": 1}), "unknown options"),
        (json!({}), "missing required arguments"),
        (json!({"src": dir.join("site/motd"), "_ansible_verbosity": 3}), "internal"),
    ] {
        let refused = client.structure(4, "slurp", &arguments);
        assert_eq!(refused["status"], "invalid", "{refused}");
        assert!(refused["notes"][0].as_str().unwrap().contains(expect), "{refused}");
    }
    let unknown = client.call(5, "lineinfile", &json!({}));
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
    assert!(client.end().1.success());
    let audit = fs::read_to_string(dir.join("audit.jsonl")).unwrap();
    let audited: Vec<Value> = audit.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(
        audited.iter().map(|line| line["status"].as_str().unwrap()).collect::<Vec<_>>(),
        ["ok", "denied", "denied"]
    );
    let call = json!({"tool": "slurp", "client": "lines 1", "protocol": "2025-11-25", "request": "1"});
    assert_eq!(audited[0]["mcp"], call);
}

#[test]
fn tools_change_nothing_even_where_a_policy_grants_it() {
    let dir = site();
    let options = json!({"path": {"type": "path"}, "content": {}});
    with_module(&dir, "put", &guest("put"), &json!({"name": "put", "argument_spec": options}));
    let site = dir.join("site");
    policy(&dir, "[put]", &format!("modules: {{put: {{allow: {{write: [{}]}}}}}}\n", site.display()));
    let mut client = Client::legacy(&dir, &[]);
    let list = client.ask(1, "tools/list", &json!({}));
    assert_eq!(list["result"]["tools"][0]["annotations"]["readOnlyHint"], true, "{list}");
    let path = site.join("motd");
    let refused = client.structure(2, "put", &json!({"path": path, "content": "changed"}));
    assert_eq!(refused["status"], "failed", "{refused}");
    assert_eq!(refused["denials"][0]["capability"], "write", "{refused}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "hello\n");
    // It reads what it may only write in the eyes of the policy.
    let same = client.structure(3, "put", &json!({"path": path, "content": "hello\n"}));
    assert_eq!(same["status"], "ok", "{same}");
}

#[test]
fn secrets_and_hidden_texts_of_modules_do_not_reach_a_client() {
    let dir = site();
    let options = json!({
        "path": {"type": "path", "description": ["A\u{202e} path.\u{1b}[31m", "\u{e0041}\u{200b}Really."]},
        "token": {"no_log": true, "aliases": ["key"]},
    });
    let metadata = json!({"name": "put", "description": "Puts.\u{feff}", "argument_spec": options});
    with_module(&dir, "put", &guest("put"), &metadata);
    with_module(
        &dir,
        "needs_key",
        &guest("put"),
        &json!({"name": "x", "argument_spec": {"key": {"no_log": true, "required": true}}}),
    );
    with_module(&dir, "hidden", &guest("put"), &json!({"name": "x", "argument_spec": {"a\u{200b}b": {}}}));
    policy(&dir, "['*']", "");
    let mut client = Client::legacy(&dir, &[]);
    let list = client.ask(1, "tools/list", &json!({}))["result"]["tools"].clone();
    let names: Vec<&str> = list.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"put") && !names.contains(&"needs_key") && !names.contains(&"hidden"), "{names:?}");
    let put = list.as_array().unwrap().iter().find(|tool| tool["name"] == "put").unwrap();
    assert_eq!(put["description"], "Puts.");
    assert_eq!(
        put["inputSchema"]["properties"],
        json!({"path": {"type": "string", "description": "A path.[31m Really."}})
    );
    for name in ["token", "key"] {
        let refused = client.structure(2, "put", &json!({"path": dir.join("site/motd"), name: "s3cr3t"}));
        assert!(refused["notes"][0].as_str().unwrap().contains("is a secret"), "{refused}");
        assert!(!refused.to_string().contains("s3cr3t"));
    }
}

#[test]
fn a_module_that_changed_after_the_start_does_not_run() {
    let dir = site();
    let mut client = Client::legacy(&dir, &[]);
    let arguments = json!({"path": dir.join("site/motd")});
    assert_eq!(client.structure(1, "stat", &arguments)["status"], "ok");
    fs::copy(guest("put"), dir.join("modules/stat.wasm")).unwrap();
    let refused = client.structure(2, "stat", &arguments);
    let note = refused["notes"][0].as_str().unwrap();
    assert!(note.starts_with("the module was changed since the server started"), "{refused}");
}

#[test]
fn a_grant_that_leads_elsewhere_after_the_start_is_not_given() {
    let dir = site();
    dir.write("elsewhere/motd", "secret");
    let link = dir.join("link");
    std::os::unix::fs::symlink("site", &link).unwrap();
    policy_of(&dir, &format!("stat: {{allow: {{read: [{}]}}}}", link.display()));
    let mut client = Client::legacy(&dir, &[]);
    let arguments = json!({"path": dir.join("link/motd")});
    assert_eq!(client.structure(1, "stat", &arguments)["status"], "ok");
    fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink("elsewhere", &link).unwrap();
    let refused = client.structure(2, "stat", &arguments);
    let note = refused["notes"][0].as_str().unwrap();
    assert!(note.starts_with("what the module is granted was changed since the server started"), "{refused}");
}

fn policy_of(dir: &TestDir, modules: &str) {
    dir.write("agent.yaml", format!("tools: {{modules: [stat], confirm: never}}\nmodules: {{{modules}}}\n"));
}

#[test]
fn a_client_that_cancels_ends_the_run() {
    let dir = site();
    with_module(
        &dir,
        "sleep",
        &guest("sleep"),
        &json!({"name": "sleep", "argument_spec": {"started": {"type": "str"}, "say": {}}}),
    );
    policy(&dir, "[sleep, stat]", "");
    let mut client = Client::legacy(&dir, &["--jobs", "1"]);
    client.request(1, "tools/call", &json!({"name": "sleep", "arguments": {"say": "x"}}));
    // A job that was given to a process has a line of the audit log, however it ends.
    assert!(wait_for(stretched(PATIENCE), || !children(client.pid()).is_empty()));
    client.send(
        &json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1, "reason": "enough"}}),
    );
    // There is room for one call, so this one waits until the other has ended.
    let next = client.structure(2, "stat", &json!({"path": dir.join("site/motd")}));
    assert_eq!(next["status"], "ok", "{next}");
    let (rest, status) = client.end();
    assert!(status.success() && rest.iter().all(|message| message["id"] != 1), "{rest:?}");
    let audit = fs::read_to_string(dir.join("audit.jsonl")).unwrap();
    assert!(audit.contains(r#""status": "cancelled""#), "{audit}");
}

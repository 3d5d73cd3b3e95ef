//! Modules that reach other machines: they run when a person has said yes, since what they do there cannot be shown before.

use std::fs;

use serde_json::{Value, json};

use crate::agents::client::{Client, PATIENCE};
use crate::agents::mcp_ask::{place, policy};
use crate::agents::mcp_gate::{asked, modbox, modern_call_of, yes};
use crate::support::server::{Server, response};
use crate::support::{TestDir, module, stretched, wait_for};

/// A server that counts, and a folder whose `get_url` may connect to it and write `site`.
fn served(confirm: &str) -> (TestDir, Server, Value) {
    let dir = TestDir::new();
    fs::create_dir_all(dir.join("modules")).unwrap();
    fs::copy(module("get_url"), dir.join("modules/get_url.wasm")).unwrap();
    dir.write("site/motd", "hello\n");
    let server = Server::http(|_, _| response("200 OK", "", "page"));
    let text = format!(
        "tools: {{modules: [get_url], confirm: {confirm}}}\naudit: {}\nmodules: {{get_url: {{allow: {{write: [{}], net: ['{}']}}}}}}\n",
        dir.join("audit.jsonl").display(),
        dir.join("site").display(),
        server.address,
    );
    dir.write("agent.yaml", text);
    let arguments = json!({"url": format!("http://{}/", server.address), "dest": dir.join("site/page"), "force": true});
    (dir, server, arguments)
}

fn page(dir: &TestDir) -> Option<String> {
    fs::read_to_string(dir.join("site/page")).ok()
}

#[test]
fn a_person_is_asked_before_a_module_connects() {
    let (dir, server, arguments) = served("person");
    let mut client = asked(&dir);
    for (decision, status, connections) in [("discard", "discarded", 0), ("apply", "changed", 1)] {
        client.request(decision, "tools/call", &json!({"name": "get_url", "arguments": arguments}));
        let question = client.answer(|message| message["method"] == "elicitation/create");
        let text = question["params"]["message"].as_str().unwrap();
        assert!(
            text.starts_with("modbox asks: may get_url run? What it does on other machines is not seen before"),
            "{text}"
        );
        assert!(text.contains(&format!("\nmay connect to `{}`\n", server.address)), "{text}");
        assert!(text.contains(&format!("\ndest: \"{}\"\n", dir.join("site/page").display())), "{text}");
        assert_eq!((server.connections(), page(&dir)), (0, None));
        let content = json!({"action": "accept", "content": {"decision": decision}});
        client.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": content}));
        let answer = client.answer(|message| message["id"] == decision)["result"]["structuredContent"].take();
        assert_eq!((&answer["status"], server.connections()), (&json!(status), connections), "{answer}");
    }
    assert_eq!(page(&dir).as_deref(), Some("page"));
    let audit = fs::read_to_string(dir.join("audit.jsonl")).unwrap();
    assert!(audit.contains(r#""state": "approved""#) && audit.contains(r#""state": "discarded""#), "{audit}");
    // The file is taken back like any other change.
    let kept = modbox(&dir).args(["transactions", "--json", "--origin", "mcp"]).run().exits_with(0).stdout_text();
    let kept: Value = serde_json::from_str(kept.trim()).unwrap();
    client.request("undo", "tools/call", &json!({"name": "modbox_undo", "arguments": {"run": kept["run"]}}));
    let question = client.answer(|message| message["method"] == "elicitation/create");
    let yes = json!({"action": "accept", "content": {"decision": "apply"}});
    client.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": yes}));
    assert_eq!(client.answer(|message| message["id"] == "undo")["result"]["structuredContent"]["status"], "changed");
    assert_eq!(page(&dir), None);
}

#[test]
fn without_a_question_nothing_connects() {
    let (dir, server, arguments) = served("person");
    let refused = Client::legacy(&dir, &[]).structure(1, "get_url", &arguments);
    assert_eq!((&refused["status"], server.connections()), (&json!("refused"), 0), "{refused}");
    // A client without a session calls again with the answer; one that has no plan of this call is refused.
    let mut client = Client::start(&dir, &[]);
    let mut call =
        |id: &str, more: &Value| modern_call_of(&mut client, id, "get_url", &arguments, more)["result"].take();
    let question = call("1", &json!({}));
    assert_eq!((&question["resultType"], server.connections()), (&json!("input_required"), 0), "{question}");
    let forged = call("2", &yes(&json!("0".repeat(32))));
    assert_eq!((&forged["structuredContent"]["status"], server.connections()), (&json!("refused"), 0), "{forged}");
    let done = call("3", &yes(&question["requestState"]));
    assert_eq!((&done["structuredContent"]["status"], server.connections()), (&json!("changed"), 1), "{done}");
    let replay = call("4", &yes(&question["requestState"]));
    assert_eq!((&replay["structuredContent"]["status"], server.connections()), (&json!("refused"), 1), "{replay}");
}

#[test]
fn a_client_that_approves_repeats_what_the_module_may_reach() {
    let (dir, server, arguments) = served("client");
    let mut client = Client::legacy(&dir, &[]);
    let planned = client.structure(1, "get_url", &arguments);
    assert_eq!((&planned["status"], server.connections()), (&json!("planned"), 0), "{planned}");
    assert_eq!(planned["changes"][0], format!("may connect to `{}`", server.address), "{planned}");
    let apply = |changes: &Value| json!({"plan": planned["plan"], "changes": changes});
    assert_eq!(client.structure(2, "modbox_apply", &apply(&json!(["may connect to `other:1`"])))["status"], "refused");
    assert_eq!(server.connections(), 0);
    let done = client.structure(3, "modbox_apply", &apply(&planned["changes"]));
    assert_eq!((&done["status"], server.connections()), (&json!("changed"), 1), "{done}");
    assert!(done["changes"][0].as_str().unwrap().starts_with("created ") && done["run"].is_string(), "{done}");
    assert_eq!(client.structure(4, "modbox_apply", &apply(&planned["changes"]))["status"], "refused");
}

#[test]
fn a_file_that_another_process_changes_meanwhile_stays() {
    let (dir, _, _) = served("none");
    let page_of_other = dir.join("site/page");
    let server = Server::http(move |_, _| {
        fs::write(&page_of_other, "other").unwrap();
        response("200 OK", "", "page")
    });
    let rule = format!("net: ['{}']", server.address);
    let text = fs::read_to_string(dir.join("agent.yaml")).unwrap();
    let (before, _) = text.split_once("net: [").unwrap();
    dir.write("agent.yaml", format!("{before}{rule}}}}}}}\n"));
    let arguments = json!({"url": format!("http://{}/", server.address), "dest": dir.join("site/page"), "force": true});
    let conflict = Client::legacy(&dir, &[]).structure(1, "get_url", &arguments);
    assert_eq!((&conflict["status"], page(&dir).as_deref()), (&json!("conflict"), Some("other")), "{conflict}");
    let note = conflict["notes"][0].as_str().unwrap();
    assert!(note.starts_with("no file was changed") && note.ends_with("on other machines stays"), "{conflict}");
    assert_eq!(conflict["changes"], json!([]));
}

#[test]
fn what_fails_changes_no_file_and_what_needs_no_question_runs() {
    let (dir, server, arguments) = served("none");
    let mut client = Client::legacy(&dir, &[]);
    let done = client.structure(1, "get_url", &arguments);
    assert_eq!(
        (&done["status"], server.connections(), page(&dir).as_deref()),
        (&json!("changed"), 1, Some("page")),
        "{done}"
    );
    let mut elsewhere = arguments;
    elsewhere["dest"] = json!(dir.join("other"));
    let denied = client.structure(2, "get_url", &elsewhere);
    assert_eq!(denied["status"], "denied", "{denied}");
    drop(client);
    // A person who decides by hand could not be shown anything.
    let (dir, ..) = served("hand");
    let shown = modbox(&dir).args(["mcp", "--policy", "agent.yaml", "--module-path", "modules", "--show"]).run();
    let shown = shown.exits_with(0).stdout_text();
    assert!(shown.contains("cannot be shown to decide by hand"), "{shown}");
}

#[test]
fn a_run_that_fails_after_its_yes_changes_no_file() {
    for confirm in ["none", "person"] {
        let dir = place(confirm);
        let server = Server::http(|_, _| response("200 OK", "", "page"));
        let address = server.address.to_string();
        // The kernel keeps a native module to ports alone.
        let (host, port) = address.rsplit_once(':').unwrap();
        policy(&dir, confirm, "", &format!("modules: {{spy: {{allow: {{net: ['*:{port}+any']}}}}}}\n"));
        let code = format!(
            "open('{}', 'a').write('half\\n'); import socket; socket.create_connection(('{host}', {port})).close(); raise OSError('broken')",
            dir.join("site/motd").display()
        );
        let mut client = asked(&dir);
        client.request(1, "tools/call", &json!({"name": "spy", "arguments": {"do": code}}));
        if confirm == "person" {
            let question = client.answer(|message| message["method"] == "elicitation/create");
            assert_eq!(server.connections(), 0);
            let yes = json!({"action": "accept", "content": {"decision": "apply"}});
            client.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": yes}));
        }
        let answer = client.answer(|message| message["id"] == 1)["result"].take();
        let failed = &answer["structuredContent"];
        assert_eq!((&failed["status"], &answer["isError"]), (&json!("failed"), &json!(true)), "{answer}");
        assert!(failed["result"]["msg"].as_str().unwrap().contains("broken"), "{answer}");
        assert_eq!((&failed["changes"], &failed["run"]), (&json!([]), &Value::Null), "{answer}");
        // The kernel takes the connection before the server does.
        assert!(wait_for(stretched(PATIENCE), || server.connections() == 1), "{}", server.connections());
        assert_eq!(fs::read_to_string(dir.join("site/motd")).unwrap(), "hello\n");
        // Nothing is kept that could be taken back.
        let kept = modbox(&dir).args(["transactions", "--json", "--origin", "mcp"]).run().exits_with(0).stdout_text();
        assert_eq!(kept.trim(), "");
    }
}

#[test]
fn addresses_that_are_asked_for_are_asked_before_the_run() {
    let (dir, server, arguments) = served("person");
    let text = fs::read_to_string(dir.join("agent.yaml")).unwrap();
    let net = format!(", net: ['{}']", server.address);
    dir.write("agent.yaml", format!("{}ask: {{net: ['{}']}}\n", text.replacen(&net, "", 1), server.address));
    let mut client = asked(&dir);
    for (decision, status, connections) in [("discard", "discarded", 0), ("apply", "changed", 1)] {
        client.request(decision, "tools/call", &json!({"name": "get_url", "arguments": arguments}));
        let question = client.answer(|message| message["method"] == "elicitation/create" || message["id"] == decision);
        let text = question["params"]["message"].as_str().unwrap_or_else(|| panic!("{question}"));
        assert!(text.starts_with("modbox asks: may get_url run?"), "{text}");
        assert!(text.contains(&format!("asks to connect to {}: the module was refused it", server.address)), "{text}");
        assert_eq!((server.connections(), page(&dir)), (0, None));
        let content = json!({"action": "accept", "content": {"decision": decision}});
        client.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": content}));
        let answer = client.answer(|message| message["id"] == decision)["result"]["structuredContent"].take();
        assert_eq!((&answer["status"], server.connections()), (&json!(status), connections), "{answer}");
    }
    assert_eq!(page(&dir).as_deref(), Some("page"));
    // A person who decides by hand could be shown nothing of it, also where changes need no question.
    for confirm in ["none", "hand"] {
        let text = fs::read_to_string(dir.join("agent.yaml")).unwrap();
        let (_, rest) = text.split_once("confirm: ").unwrap();
        let rest = &rest[rest.find('}').unwrap()..];
        dir.write("agent.yaml", format!("tools: {{modules: [get_url], confirm: {confirm}{rest}"));
        let refused = Client::legacy(&dir, &[]).structure(1, "get_url", &arguments);
        assert_eq!((&refused["status"], server.connections()), (&json!("refused"), 1), "{confirm}: {refused}");
    }
}

//! Changes of tools: a run on views, a question, and exactly what was shown, or nothing. By a client that answers, one that does not,
//! one that lies, and one that says what it was never asked.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::agents::client::{Client, modern, state, with_module};
use crate::agents::mcp_tools::site;
use crate::support::{Modbox, TestDir, guest};

/// Returns a folder in which `lineinfile` may write `site`, and `confirm` says what confirms that.
pub(crate) fn gated(confirm: &str) -> TestDir {
    let dir = site();
    write_policy(&dir, confirm, "");
    dir
}

pub(crate) fn write_policy(dir: &TestDir, confirm: &str, more: &str) {
    let (site, audit) = (dir.join("site"), dir.join("audit.jsonl"));
    let text = format!(
        "tools: {{modules: [lineinfile, stat], confirm: {confirm}}}\naudit: {}\n\
         modules: {{lineinfile: {{allow: {{write: [{}]}}}}, stat: {{allow: {{read: [{}]}}}}}}\n{more}",
        audit.display(),
        site.display(),
        site.display()
    );
    dir.write("agent.yaml", text);
}

pub(crate) fn modbox(dir: &TestDir) -> Modbox {
    Modbox::new(dir).env("XDG_STATE_HOME", state(dir))
}

pub(crate) fn motd(dir: &TestDir) -> String {
    fs::read_to_string(dir.join("site/motd")).unwrap()
}

pub(crate) fn line(dir: &TestDir, line: &str) -> Value {
    json!({"path": dir.join("site/motd"), "line": line})
}

/// Returns the files of the plan store with this ending.
pub(crate) fn plans(dir: &TestDir, ending: &str) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(state(dir).join("modbox/plans")) else { return Vec::new() };
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|found| found == ending)).collect()
}

/// A client in a session that can be asked.
pub(crate) fn asked(dir: &TestDir) -> Client {
    let mut client = Client::start(dir, &[]);
    client.initialize_with(&json!({"elicitation": {}}));
    client
}

/// Calls `lineinfile`, checks the question, and answers it.
fn call_and_answer(client: &mut Client, dir: &TestDir, text: &str, answer: &Value) -> Value {
    client.request(text, "tools/call", &json!({"name": "lineinfile", "arguments": line(dir, text)}));
    let question = client.answer(|message| message["method"] == "elicitation/create");
    assert!(
        question["params"]["message"].as_str().unwrap().starts_with("modbox asks: lineinfile would change 1 path\n"),
        "{question}"
    );
    assert_eq!(question["params"]["requestedSchema"]["properties"]["decision"]["enum"], json!(["apply", "discard"]));
    client.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": answer}));
    client.answer(|message| message["id"] == text)["result"]["structuredContent"].clone()
}

#[test]
fn a_person_says_yes_and_exactly_what_was_shown_is_made() {
    let dir = gated("person");
    let mut client = asked(&dir);
    let list = client.ask("list", "tools/list", &json!({}));
    let hints = json!({"readOnlyHint": false, "destructiveHint": true, "openWorldHint": false});
    assert_eq!(list["result"]["tools"][0]["annotations"], hints, "{list}");
    client.request(1, "tools/call", &json!({"name": "lineinfile", "arguments": line(&dir, "two")}));
    let question = client.answer(|message| message["method"] == "elicitation/create");
    let text = question["params"]["message"].as_str().unwrap();
    assert!(
        text.contains(&format!("modified {}", dir.join("site/motd").display())) && text.contains("\n+two\n"),
        "{text}"
    );
    assert_eq!(motd(&dir), "hello\n", "nothing is changed before the answer");
    let yes = json!({"action": "accept", "content": {"decision": "apply"}});
    client.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": yes}));
    let done = client.answer(|message| message["id"] == 1)["result"]["structuredContent"].clone();
    assert_eq!((&done["status"], done["changes"].as_array().unwrap().len()), (&json!("changed"), 1), "{done}");
    assert_eq!(motd(&dir), "hello\ntwo\n");
    assert!(plans(&dir, "changes").is_empty() && plans(&dir, "json").is_empty() && plans(&dir, "claimed").is_empty());
    // The same call again finds nothing to change, and asks nothing.
    let again = client.structure(2, "lineinfile", &line(&dir, "two"));
    assert_eq!((&again["status"], &again["plan"]), (&json!("ok"), &Value::Null), "{again}");
    assert!(client.end().1.success());
    let audit = fs::read_to_string(dir.join("audit.jsonl")).unwrap();
    let audited: Vec<Value> = audit.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(audited.len(), 3, "{audit}");
    assert_eq!(
        (&audited[1]["answer"]["by"], &audited[1]["answer"]["decision"]),
        (&json!("elicitation"), &json!("apply")),
        "{audit}"
    );
    assert_eq!(
        (&audited[1]["effect"]["mode"], &audited[1]["mcp"]["tool"]),
        (&json!("mcp"), &json!("lineinfile")),
        "{audit}"
    );
    // It is kept for undo, and not as the person's own.
    let run = done["run"].as_str().unwrap();
    modbox(&dir).args(["undo", run]).run().exits_with(3);
    modbox(&dir).args(["undo", "--origin", "mcp", run]).run().exits_with(0);
    assert_eq!(motd(&dir), "hello\n");
}

#[test]
fn no_and_silence_change_nothing() {
    let dir = gated("person");
    let mut client = asked(&dir);
    for (text, answer, status, left) in [
        ("decline", json!({"action": "decline"}), "discarded", 0),
        ("discard", json!({"action": "accept", "content": {"decision": "discard"}}), "discarded", 0),
        ("cancel", json!({"action": "cancel"}), "planned", 1),
        ("lie", json!({"action": "accept", "content": {"decision": "yes"}}), "planned", 2),
        ("empty", json!({"action": "accept"}), "planned", 3),
    ] {
        let answer = call_and_answer(&mut client, &dir, text, &answer);
        assert_eq!(answer["status"], status, "{text}: {answer}");
        assert_eq!((motd(&dir).as_str(), plans(&dir, "changes").len()), ("hello\n", left), "{text}");
        assert_eq!(answer["result"], json!({}), "the result says what is not true yet: {answer}");
    }
    // A client that answers with an error, and one that goes away.
    client.request("error", "tools/call", &json!({"name": "lineinfile", "arguments": line(&dir, "error")}));
    let question = client.answer(|message| message["method"] == "elicitation/create");
    client.send(&json!({"jsonrpc": "2.0", "id": question["id"], "error": {"code": -32601, "message": "no"}}));
    let answer = client.answer(|message| message["id"] == "error");
    assert_eq!(answer["result"]["structuredContent"]["status"], "planned", "{answer}");
    client.request("gone", "tools/call", &json!({"name": "lineinfile", "arguments": line(&dir, "gone")}));
    client.answer(|message| message["method"] == "elicitation/create");
    let (answers, status) = client.end();
    assert!(status.success());
    let gone = answers.iter().find(|message| message["id"] == "gone").unwrap();
    assert_eq!(gone["result"]["structuredContent"]["status"], "planned", "{gone}");
    assert_eq!(motd(&dir), "hello\n");
}

#[test]
fn a_person_can_decide_by_hand() {
    for (confirm, capabilities) in [("hand", json!({"elicitation": {}})), ("person", json!({}))] {
        let dir = gated(confirm);
        let mut client = Client::start(&dir, &[]);
        client.initialize_with(&capabilities);
        let planned = client.structure(1, "lineinfile", &line(&dir, "by hand"));
        assert_eq!(planned["status"], "planned", "{confirm}: {planned}");
        let file = plans(&dir, "changes").pop().unwrap();
        assert!(
            planned["notes"][0].as_str().unwrap().contains(&format!("`modbox apply {}`", file.display())),
            "{planned}"
        );
        assert_eq!(file.file_stem().unwrap().to_str(), planned["plan"].as_str());
        assert_eq!(motd(&dir), "hello\n");
        modbox(&dir).arg("apply").arg(&file).run().exits_with(0);
        assert_eq!(motd(&dir), "hello\nby hand\n");
        let again = client.structure(2, "lineinfile", &line(&dir, "by hand"));
        assert_eq!(again["status"], "ok", "{again}");
    }
}

/// Calls `lineinfile` without a session.
fn modern_call(client: &mut Client, id: &str, arguments: &Value, more: &Value) -> Value {
    modern_call_of(client, id, "lineinfile", arguments, more)
}

/// Calls a tool without a session.
pub(crate) fn modern_call_of(client: &mut Client, id: &str, tool: &str, arguments: &Value, more: &Value) -> Value {
    let mut params = modern(json!({"name": tool, "arguments": arguments}));
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({"elicitation": {"form": {}}});
    for (key, value) in more.as_object().unwrap() {
        params[key] = value.clone();
    }
    client.ask(id, "tools/call", &params)
}

pub(crate) fn yes(state: &Value) -> Value {
    json!({"requestState": state, "inputResponses": {"confirm": {"action": "accept", "content": {"decision": "apply"}}}})
}

#[test]
fn a_client_without_a_session_calls_again_with_the_answer() {
    let dir = gated("person");
    let mut client = Client::start(&dir, &[]);
    let asked = modern_call(&mut client, "first", &line(&dir, "two"), &json!({}));
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    let message = asked["result"]["inputRequests"]["confirm"]["params"]["message"].as_str().unwrap();
    assert!(message.contains("\n+two\n"), "{message}");
    assert_eq!(motd(&dir), "hello\n");
    let state = asked["result"]["requestState"].clone();
    // Another process does it, since a client may start one for each request.
    drop(client);
    let mut client = Client::start(&dir, &[]);
    let closed = modern_call(
        &mut client,
        "closed",
        &line(&dir, "two"),
        &json!({"requestState": state, "inputResponses": {"confirm": {"action": "cancel"}}}),
    );
    assert_eq!(closed["result"]["structuredContent"]["status"], "planned", "{closed}");
    let done = modern_call(&mut client, "again", &line(&dir, "two"), &yes(&state));
    assert_eq!(done["result"]["structuredContent"]["status"], "changed", "{done}");
    assert_eq!(motd(&dir), "hello\ntwo\n");
}

#[test]
fn what_was_not_asked_is_not_answered() {
    let dir = gated("person");
    let mut client = Client::start(&dir, &[]);
    let ask = |client: &mut Client, text: &str| {
        modern_call(client, text, &line(&dir, text), &json!({}))["result"]["requestState"].clone()
    };
    let refused = |answer: &Value| {
        assert_eq!(answer["result"]["structuredContent"]["status"], "refused", "{answer}");
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        assert_eq!(motd(&dir), "hello\n");
    };
    let given = ask(&mut client, "two");
    for forged in [json!(""), json!("0".repeat(32)), json!("../../x"), json!(format!("{}x", given.as_str().unwrap()))] {
        refused(&modern_call(&mut client, "forged", &line(&dir, "two"), &yes(&forged)));
    }
    refused(&modern_call(&mut client, "foreign", &line(&dir, "other"), &yes(&given)));
    // Under another policy.
    write_policy(&dir, "person", "limits: {timeout: 30s}\n");
    let mut other = Client::start(&dir, &[]);
    refused(&modern_call(&mut other, "policy", &line(&dir, "two"), &yes(&given)));
    write_policy(&dir, "person", "");
    drop(other);
    // An old one.
    let stale = ask(&mut client, "stale");
    let record = state(&dir).join(format!("modbox/plans/{}.json", stale.as_str().unwrap()));
    let mut kept: Value = serde_json::from_slice(&fs::read(&record).unwrap()).unwrap();
    kept["asked_ms"] = json!(kept["asked_ms"].as_u64().unwrap() - 15 * 60 * 1000);
    fs::write(&record, kept.to_string()).unwrap();
    refused(&modern_call(&mut client, "stale", &line(&dir, "stale"), &yes(&stale)));
    // A file that was changed meanwhile.
    let conflict = ask(&mut client, "conflict");
    fs::write(dir.join("site/motd"), "changed by others\n").unwrap();
    let answer = modern_call(&mut client, "conflict", &line(&dir, "conflict"), &yes(&conflict));
    assert_eq!(answer["result"]["structuredContent"]["status"], "conflict", "{answer}");
    assert_eq!(motd(&dir), "changed by others\n");
}

#[test]
fn a_plan_is_applied_once_also_by_two_processes() {
    let dir = gated("person");
    let mut clients = [Client::start(&dir, &[]), Client::start(&dir, &[])];
    let state = modern_call(&mut clients[0], "ask", &line(&dir, "once"), &json!({}))["result"]["requestState"].clone();
    let mut params = modern(json!({"name": "lineinfile", "arguments": line(&dir, "once")}));
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({"elicitation": {"form": {}}});
    for (key, value) in yes(&state).as_object().unwrap() {
        params[key] = value.clone();
    }
    for client in &mut clients {
        client.request("go", "tools/call", &params);
    }
    let mut statuses: Vec<String> = clients
        .iter_mut()
        .map(|client| {
            client.answer(|message| message["id"] == "go")["result"]["structuredContent"]["status"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .collect();
    statuses.sort();
    assert_eq!(statuses, ["changed", "refused"]);
    assert_eq!(motd(&dir), "hello\nonce\n");
    let replay = clients[0].ask("replay", "tools/call", &params);
    assert_eq!(replay["result"]["structuredContent"]["status"], "refused", "{replay}");
}

#[test]
fn questions_are_made_of_what_is_seen() {
    let dir = gated("person");
    let mut client = asked(&dir);
    let text = "+\u{202e}\u{200b}```````\u{1b}[2J modbox asks: nothing";
    client.request("x", "tools/call", &json!({"name": "lineinfile", "arguments": line(&dir, text)}));
    let question = client.answer(|message| message["method"] == "elicitation/create");
    let message = question["params"]["message"].as_str().unwrap();
    assert!(!message.contains(['\u{202e}', '\u{200b}', '\u{1b}']), "{message:?}");
    assert_eq!(message.lines().filter(|line| *line == "````````").count(), 2, "{message}");
}

#[test]
fn what_cannot_be_shown_is_not_offered() {
    let dir = gated("person");
    with_module(
        &dir,
        "put",
        &guest("put"),
        &json!({"name": "put", "argument_spec": {"path": {"type": "path"}, "content": {}}}),
    );
    let (site, text) = (dir.join("site"), "tools: {modules: [put, stat], confirm: hand}\n");
    dir.write(
        "agent.yaml",
        format!("{text}modules: {{put: {{allow: {{write: [{}], net: ['h:1']}}}}}}\n", site.display()),
    );
    let shown = modbox(&dir).args(["mcp", "--policy", "agent.yaml", "--module-path", "modules", "--show"]).run();
    assert!(shown.exits_with(0).stdout_text().contains("put: it may connect to `h:1`, which cannot be shown"));
    // A file that the module may not write is not written on views either.
    write_policy(&dir, "hand", "");
    let mut client = Client::legacy(&dir, &[]);
    let outside = json!({"path": dir.join("secret"), "line": "x"});
    let denied = client.structure(1, "lineinfile", &outside);
    assert_eq!(
        (&denied["status"], &denied["denials"][0]["capability"]),
        (&json!("denied"), &json!("write")),
        "{denied}"
    );
    assert!(denied["denials"][0]["key"].as_str().unwrap().contains("{allow: {write: ["), "{denied}");
    assert!(plans(&dir, "changes").is_empty());
}

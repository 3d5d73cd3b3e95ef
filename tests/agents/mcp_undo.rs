//! `modbox_undo`: a client takes back what its calls have changed, through the same gate; and what is left of servers that are killed.

use std::fs;

use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};

use crate::agents::client::{Client, PATIENCE, state};
use crate::agents::mcp_gate::{asked, gated, line, modbox, motd, plans, write_policy};
use crate::support::{TestDir, children, stretched, wait_for};

/// Changes `motd` at once, and returns the run.
fn changed(dir: &TestDir) -> Value {
    write_policy(dir, "none", "");
    let done = Client::legacy(dir, &[]).structure(1, "lineinfile", &line(dir, "two"));
    assert_eq!((&done["status"], motd(dir).as_str()), (&json!("changed"), "hello\ntwo\n"), "{done}");
    done["run"].clone()
}

#[test]
fn a_run_is_taken_back_once_and_no_other() {
    let dir = gated("none");
    let run = changed(&dir);
    let mut client = Client::legacy(&dir, &[]);
    // A person's own run.
    let own = ["run", "--transaction", "--keep-undo", "modules/lineinfile.wasm", "line=x", "create=true"];
    let (path, site) = (dir.join("site/own"), dir.join("site").display().to_string());
    modbox(&dir).args(own).arg(format!("path={}", path.display())).args(["--allow-write", &site]).run().exits_with(0);
    let kept = modbox(&dir).args(["transactions", "--json", "--origin", "person"]).run().exits_with(0).stdout_text();
    let persons: Value = serde_json::from_str(kept.lines().next().unwrap()).unwrap();
    for foreign in [persons["run"].as_str().unwrap(), "", ".", "../transactions", "no\u{202e}ne"] {
        let refused = client.structure(foreign, "modbox_undo", &json!({"run": foreign}));
        let note = refused["notes"][0].as_str().unwrap();
        assert!(refused["status"] == "refused" && note.ends_with("of these tools can be taken back"), "{refused}");
        assert!(!note.contains('\u{202e}'));
    }
    assert!(path.exists());
    let undone = client.structure(2, "modbox_undo", &json!({"run": run}));
    assert_eq!((&undone["status"], motd(&dir).as_str()), (&json!("changed"), "hello\n"), "{undone}");
    let line = format!("puts back the former {}", dir.join("site/motd").display());
    assert_eq!(undone["changes"], json!([line]));
    assert_eq!(client.structure(3, "modbox_undo", &json!({"run": run}))["status"], "refused");
    assert!(plans(&dir, "json").is_empty() && plans(&dir, "claimed").is_empty());
    let audit = fs::read_to_string(dir.join("audit.jsonl")).unwrap();
    assert!(audit.contains(r#""state": "undone""#) && audit.contains(r#""tool": "modbox_undo""#), "{audit}");
}

#[test]
fn a_run_of_another_policy_or_of_a_changed_file_is_not_taken_back() {
    let dir = gated("none");
    let run = changed(&dir);
    fs::write(dir.join("site/motd"), "another's\n").unwrap();
    let conflict = Client::legacy(&dir, &[]).structure(1, "modbox_undo", &json!({"run": run}));
    assert_eq!((&conflict["status"], motd(&dir).as_str()), (&json!("conflict"), "another's\n"), "{conflict}");
    // Other rules are another policy, which knows nothing of these runs.
    write_policy(&dir, "none", "limits: {files: 100}\n");
    let refused = Client::legacy(&dir, &[]).structure(1, "modbox_undo", &json!({"run": run}));
    assert_eq!(refused["status"], "refused", "{refused}");
}

/// Returns a server whose rules let one of its calls change `motd` without a question, with that call's run.
fn with_a_draft(confirm: &str) -> (TestDir, Client, Value) {
    let dir = gated(confirm);
    dir.write("site/drafts/a", "one\n");
    let text = fs::read_to_string(dir.join("agent.yaml")).unwrap();
    let drafts = format!("confirm: {confirm}, unconfirmed: [{}]}}", dir.join("site/drafts").display());
    dir.write("agent.yaml", text.replace(&format!("confirm: {confirm}}}"), &drafts));
    let mut client = if confirm == "person" { asked(&dir) } else { Client::legacy(&dir, &[]) };
    let done = client.structure(1, "lineinfile", &json!({"path": dir.join("site/drafts/a"), "line": "two"}));
    assert_eq!(done["status"], "changed", "{done}");
    (dir, client, done["run"].clone())
}

fn draft(dir: &TestDir) -> String {
    fs::read_to_string(dir.join("site/drafts/a")).unwrap()
}

#[test]
fn what_is_made_without_a_question_is_taken_back_without_one() {
    let (dir, mut client, run) = with_a_draft("hand");
    assert_eq!(client.structure(2, "modbox_undo", &json!({"run": run}))["status"], "changed");
    assert_eq!(draft(&dir), "one\n");
}

/// Lets a call change a file by a person's yes, and returns its run.
fn confirmed(client: &mut Client, dir: &TestDir) -> Value {
    client.request("change", "tools/call", &json!({"name": "lineinfile", "arguments": line(dir, "two")}));
    answer(client, "change", "apply")["run"].clone()
}

/// Answers a question, and returns the answer of its call.
fn answer(client: &mut Client, call: &str, decision: &str) -> Value {
    let question = client.answer(|message| message["method"] == "elicitation/create");
    let content = json!({"action": "accept", "content": {"decision": decision}});
    client.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": content}));
    let mut answer = client.answer(|message| message["id"] == call)["result"]["structuredContent"].take();
    answer["question"] = question["params"]["message"].clone();
    answer
}

#[test]
fn a_person_is_asked_before_a_run_is_taken_back() {
    let dir = gated("person");
    let mut client = asked(&dir);
    let run = confirmed(&mut client, &dir);
    for (decision, status, after) in [("discard", "discarded", "hello\ntwo\n"), ("apply", "changed", "hello\n")] {
        client.request(decision, "tools/call", &json!({"name": "modbox_undo", "arguments": {"run": run}}));
        let answer = answer(&mut client, decision, decision);
        let question = answer["question"].as_str().unwrap();
        let line = format!("\nputs back the former {}\n", dir.join("site/motd").display());
        assert!(question.starts_with("modbox asks: modbox_undo would change 1 path\n"), "{question}");
        assert!(
            question.contains(&line) && question.ends_with("modbox transactions --origin mcp --json"),
            "{question}"
        );
        assert_eq!((&answer["status"], motd(&dir).as_str()), (&json!(status), after), "{answer}");
    }
}

#[test]
fn a_person_without_a_client_and_a_client_without_a_person_take_back() {
    let dir = gated("client");
    let mut client = Client::legacy(&dir, &[]);
    let approved = |client: &mut Client, planned: &Value| {
        let arguments = json!({"plan": planned["plan"], "changes": planned["changes"]});
        client.structure("apply", "modbox_apply", &arguments)
    };
    let planned = client.structure(1, "lineinfile", &line(&dir, "two"));
    let run = approved(&mut client, &planned)["run"].clone();
    // Asked twice, it is one plan: that of the later question.
    let first = client.structure(2, "modbox_undo", &json!({"run": run}));
    let second = client.structure(3, "modbox_undo", &json!({"run": run}));
    assert_eq!((&second["status"], motd(&dir).as_str()), (&json!("planned"), "hello\ntwo\n"), "{second}");
    assert_eq!(approved(&mut client, &first)["status"], "refused");
    let undone = approved(&mut client, &second);
    assert_eq!((&undone["status"], motd(&dir).as_str()), (&json!("changed"), "hello\n"), "{undone}");
    drop(client);

    let dir = gated("hand");
    let mut client = Client::legacy(&dir, &[]);
    client.structure(1, "lineinfile", &line(&dir, "two"));
    modbox(&dir).args(["apply", "--keep-undo"]).arg(plans(&dir, "changes").pop().unwrap()).run().exits_with(0);
    let kept = modbox(&dir).args(["transactions", "--json"]).run().exits_with(0).stdout_text();
    let kept: Value = serde_json::from_str(kept.trim()).unwrap();
    // What a person has applied is the person's own run.
    let refused = client.structure(2, "modbox_undo", &json!({"run": kept["run"]}));
    assert_eq!((&refused["status"], motd(&dir).as_str()), (&json!("refused"), "hello\ntwo\n"), "{refused}");
}

#[test]
fn a_killed_server_leaves_all_or_nothing() {
    let long = "some words of a line\n".repeat(1 << 16);
    type StateCheck = fn(&TestDir, &Client) -> bool;
    let states: [StateCheck; 4] = [
        |_, client| !children(client.pid()).is_empty(),
        |dir, _| !plans(dir, "changes").is_empty(),
        |dir, _| !plans(dir, "json").is_empty(),
        |dir, _| !plans(dir, "claimed").is_empty() || motd(dir).ends_with("two\n"),
    ];
    for (number, is_reached) in states.into_iter().enumerate() {
        let dir = gated("none");
        dir.write("site/motd", &long);
        let mut client = Client::legacy(&dir, &[]);
        client.request(1, "tools/call", &json!({"name": "lineinfile", "arguments": line(&dir, "two")}));
        // A state that is over so soon that it is not seen ends with the call.
        let is_over = || motd(&dir).ends_with("two\n");
        assert!(wait_for(stretched(PATIENCE), || is_reached(&dir, &client) || is_over()), "{number}");
        kill_process(client.pid(), Signal::KILL).unwrap();
        client.end();
        modbox(&dir).arg("recover").run().exits_with(0);
        let after = motd(&dir);
        assert!(after == long || after == format!("{long}two\n"), "{number}: {} bytes", after.len());
        // The next server goes on.
        let mut next = Client::legacy(&dir, &[]);
        let again = next.structure(1, "lineinfile", &line(&dir, "two"));
        assert!(again["status"] == if after == long { "changed" } else { "ok" }, "{number}: {again}");
        drop(next);
        let left = fs::read_dir(dir.join("site")).unwrap().map(|entry| entry.unwrap().file_name()).collect::<Vec<_>>();
        assert!(left.iter().all(|name| name == "motd" || name.to_string_lossy().starts_with(".modbox")), "{left:?}");
        assert!(state(&dir).exists());
    }
}

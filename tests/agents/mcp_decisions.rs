//! What decides in place of an asked person: the client, a rule, a person by hand, or a call that is cancelled.

use std::fs;

use serde_json::{Value, json};

use crate::agents::client::{Client, PATIENCE};
use crate::agents::mcp_gate::{gated, line, modbox, motd, plans, write_policy};
use crate::support::{children, stretched, wait_for};

#[test]
fn a_client_confirms_by_repeating_the_changes() {
    let dir = gated("client");
    let mut client = Client::legacy(&dir, &[]);
    let list = client.ask("list", "tools/list", &json!({}));
    let last = list["result"]["tools"].as_array().unwrap().last().unwrap().clone();
    assert_eq!((&last["name"], &last["annotations"]["destructiveHint"]), (&json!("modbox_apply"), &json!(true)));
    let planned = client.structure(1, "lineinfile", &line(&dir, "two"));
    assert_eq!(planned["status"], "planned", "{planned}");
    assert!(planned["notes"][0].as_str().unwrap().contains("`modbox_apply`"), "{planned}");
    let (plan, changes) = (&planned["plan"], &planned["changes"]);
    let nothing: [&str; 0] = [];
    for wrong in [
        json!({"plan": plan, "changes": ["modified /other"]}),
        json!({"plan": plan, "changes": nothing}),
        json!({"plan": "0".repeat(32), "changes": changes}),
        json!({"plan": "../x", "changes": changes}),
    ] {
        let refused = client.structure(2, "modbox_apply", &wrong);
        assert_eq!((&refused["status"], motd(&dir).as_str()), (&json!("refused"), "hello\n"), "{wrong}: {refused}");
    }
    assert_eq!(client.structure(3, "modbox_apply", &json!({"plan": plan}))["status"], "invalid");
    let done = client.structure(4, "modbox_apply", &json!({"plan": plan, "changes": changes}));
    assert_eq!((&done["status"], motd(&dir).as_str()), (&json!("changed"), "hello\ntwo\n"), "{done}");
    let replay = client.structure(5, "modbox_apply", &json!({"plan": plan, "changes": changes}));
    assert_eq!(replay["status"], "refused", "{replay}");
    let audit = fs::read_to_string(dir.join("audit.jsonl")).unwrap();
    assert!(audit.contains(r#""answer": {"by": "client", "decision": "apply""#), "{audit}");
    // The tool is there only where clients confirm.
    write_policy(&dir, "hand", "");
    let mut other = Client::legacy(&dir, &[]);
    let unknown = other.call(1, "modbox_apply", &json!({"plan": plan, "changes": changes}));
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
}

#[test]
fn what_needs_no_confirmation_is_made_at_once_and_kept() {
    let dir = gated("none");
    let mut client = Client::legacy(&dir, &[]);
    let done = client.structure(1, "lineinfile", &line(&dir, "two"));
    assert_eq!((&done["status"], motd(&dir).as_str()), (&json!("changed"), "hello\ntwo\n"), "{done}");
    assert!(plans(&dir, "changes").is_empty() && plans(&dir, "claimed").is_empty());
    modbox(&dir).args(["undo", "--origin", "mcp", done["run"].as_str().unwrap()]).run().exits_with(0);
    assert_eq!(motd(&dir), "hello\n");
    drop(client);
    // Drafts are made at once, and nothing beside them.
    dir.write("site/drafts/a", "one\n");
    let rules = |confirm: &str| {
        let text = fs::read_to_string(dir.join("agent.yaml")).unwrap();
        let drafts = format!("confirm: {confirm}, unconfirmed: [{}]}}", dir.join("site/drafts").display());
        dir.write("agent.yaml", text.replace("confirm: none}", &drafts));
    };
    rules("hand");
    let mut client = Client::legacy(&dir, &[]);
    let draft = client.structure(1, "lineinfile", &json!({"path": dir.join("site/drafts/a"), "line": "two"}));
    assert_eq!(draft["status"], "changed", "{draft}");
    assert_eq!(fs::read_to_string(dir.join("site/drafts/a")).unwrap(), "one\ntwo\n");
    let other = client.structure(2, "lineinfile", &line(&dir, "two"));
    assert_eq!((&other["status"], motd(&dir).as_str()), (&json!("planned"), "hello\n"), "{other}");
    let audit = fs::read_to_string(dir.join("audit.jsonl")).unwrap();
    assert!(audit.contains(r#""answer": {"by": "rule", "decision": "apply""#), "{audit}");
}

#[test]
fn a_call_that_the_client_has_cancelled_changes_nothing() {
    let dir = gated("none");
    // Long enough that the run still goes on when it is cancelled.
    let long = "some words of a line\n".repeat(1 << 20);
    dir.write("site/motd", &long);
    let mut client = Client::legacy(&dir, &["--jobs", "1"]);
    client.request(1, "tools/call", &json!({"name": "lineinfile", "arguments": line(&dir, "two")}));
    assert!(wait_for(stretched(PATIENCE), || !children(client.pid()).is_empty()));
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}));
    // There is room for one call, so this one waits until the other has ended.
    client.structure(2, "stat", &json!({"path": dir.join("site/motd")}));
    assert!(client.end().1.success());
    assert!(motd(&dir) == long && plans(&dir, "changes").is_empty());
}

#[test]
fn a_client_approves_no_changes_that_it_cannot_show_whole() {
    let dir = gated("client");
    let long = dir.mkdir(&format!("site/{}", "long-".repeat(45))).join("l".repeat(200));
    fs::write(&long, "one\n").unwrap();
    let mut client = Client::legacy(&dir, &[]);
    let refused = client.structure(1, "lineinfile", &json!({"path": long, "line": "two"}));
    assert_eq!((&refused["status"], &refused["plan"]), (&json!("refused"), &Value::Null), "{refused}");
    assert!(refused["notes"][0].as_str().unwrap().contains("too many or too long"), "{refused}");
    assert!(plans(&dir, "changes").is_empty() && fs::read_to_string(&long).unwrap() == "one\n");
}

#[test]
fn an_old_plan_is_not_applied_by_hand() {
    let dir = gated("hand");
    let mut client = Client::legacy(&dir, &[]);
    let planned = client.structure(1, "lineinfile", &line(&dir, "two"));
    assert_eq!(planned["status"], "planned", "{planned}");
    let (file, record) = (plans(&dir, "changes").pop().unwrap(), plans(&dir, "json").pop().unwrap());
    let mut aged: Value = serde_json::from_slice(&fs::read(&record).unwrap()).unwrap();
    aged["asked_ms"] = json!(1);
    fs::write(&record, aged.to_string()).unwrap();
    modbox(&dir).arg("apply").arg(&file).run().exits_with(3).says("is older than 15 minutes");
    assert_eq!(motd(&dir), "hello\n");
}

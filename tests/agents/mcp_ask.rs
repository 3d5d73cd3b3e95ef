//! The key `ask` of a policy for agents: a call that lacks something runs with it on views, and nothing of that run reaches the client
//! before a person has said yes: no content, no name that the module chose, no error.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::agents::client::{Client, state};
use crate::agents::mcp_gate::{asked, modbox, modern_call_of, plans, yes};
use crate::support::{TestDir, module};

/// What is in files that nothing grants. It must not be in any message before a yes.
pub(crate) const MARKER: &str = "MARKER-7f3a";

/// A native module that reads the file `path`, if it is given, and then runs the code in `do`, in which `text` is what it has read.
const SPY: &str = r#"#!/usr/bin/python3
# WANT_JSON
import json, os, sys, time
args = json.load(open(sys.argv[1]))
text = ""
try:
    if args.get("path"):
        text = open(args["path"]).read()
    exec(args.get("do") or "")
    print(json.dumps({"changed": False, "text": text}))
except Exception as error:
    print(json.dumps({"failed": True, "msg": repr(error), "text": text}))
"#;

const SPY_MANUAL: &str = "DOCUMENTATION:\n  module: spy\n  short_description: spies\n  options:\n    path: {type: path}\n    do: {type: str}\n";

/// A folder with the module `spy` and `lineinfile`, which may ask for `secrets`, and may write `site`.
pub(crate) fn place(confirm: &str) -> TestDir {
    let dir = TestDir::new();
    dir.write_executable("modules/spy", SPY);
    dir.write("modules/spy.yml", SPY_MANUAL);
    fs::copy(module("lineinfile"), dir.join("modules/lineinfile.wasm")).unwrap();
    dir.write("site/motd", "hello\n");
    dir.write("secrets/log", format!("{MARKER}\n"));
    dir.write("secrets/more", "more\n");
    dir.write("other/file", "other\n");
    policy(&dir, confirm, &format!("read: [{0}], write: [{0}]", dir.join("secrets").display()), "");
    dir
}

pub(crate) fn policy(dir: &TestDir, confirm: &str, ask: &str, more: &str) {
    let text = format!(
        "tools: {{modules: [spy, lineinfile], confirm: {confirm}}}\naudit: {}\nallow: {{write: [{}]}}\nask: {{{ask}}}\n{more}",
        dir.join("audit.jsonl").display(),
        dir.join("site").display(),
    );
    dir.write("agent.yaml", text);
}

pub(crate) fn secret(dir: &TestDir) -> String {
    dir.join("secrets/log").display().to_string()
}

/// Calls a tool, returns the text of the question, and asserts that nothing of the file was told before it.
#[track_caller]
pub(crate) fn question(client: &mut Client, id: &str, tool: &str, arguments: &Value) -> (Value, String) {
    let params = json!({"name": tool, "arguments": arguments, "_meta": {"progressToken": id}});
    client.request(id, "tools/call", &params);
    let question = client.answer(|message| message["method"] == "elicitation/create" || message["id"] == id);
    assert_eq!(question["method"], "elicitation/create", "{question}");
    assert!(!question.to_string().contains(MARKER) && !client.kept_text().contains(MARKER), "{question}");
    let text = question["params"]["message"].as_str().unwrap().to_owned();
    (question["id"].clone(), text)
}

pub(crate) fn decide(client: &mut Client, question: &Value, id: &str, decision: &str) -> Value {
    let content = json!({"action": "accept", "content": {"decision": decision}});
    client.send(&json!({"jsonrpc": "2.0", "id": question, "result": content}));
    client.answer(|message| message["id"] == id)["result"]["structuredContent"].clone()
}

#[test]
fn what_is_read_is_told_after_a_yes_alone() {
    let dir = place("person");
    let mut client = asked(&dir);
    let call = json!({"path": secret(&dir)});
    for (decision, status, is_told) in [("discard", "discarded", false), ("apply", "ok", true)] {
        let (id, text) = question(&mut client, decision, "spy", &call);
        let head =
            "modbox asks: spy wants 1 grant, and would change nothing. Yes also tells the client what it has read";
        assert!(text.starts_with(head), "{text}");
        let line = format!("\nspy (no signature checked) asks to read {}: the argument path names it\n", secret(&dir));
        assert!(text.contains(&line), "{text}");
        let answer = decide(&mut client, &id, decision, decision);
        assert_eq!((&answer["status"], answer.to_string().contains(MARKER)), (&json!(status), is_told), "{answer}");
    }
    let audit = fs::read_to_string(dir.join("audit.jsonl")).unwrap();
    assert!(audit.contains(r#""decision": "discard""#) && audit.contains(r#""decision": "apply""#), "{audit}");
    assert!(plans(&dir, "json").is_empty() && plans(&dir, "changes").is_empty() && plans(&dir, "claimed").is_empty());
    assert!(client.end().1.success());
}

#[test]
fn changes_of_what_is_asked_for_are_made_by_the_same_yes() {
    let dir = place("person");
    let mut client = asked(&dir);
    let call = json!({"path": secret(&dir), "line": "new"});
    let (id, text) = question(&mut client, "no", "lineinfile", &call);
    assert!(text.contains("lineinfile wants 1 grant, and would change 1 path."), "{text}");
    assert!(text.contains(&format!("asks to write {}: the argument path names it\nmodified ", secret(&dir))), "{text}");
    assert!(text.contains("All of it: modbox apply --show ") && !text.contains("+new"), "{text}");
    assert_eq!(decide(&mut client, &id, "no", "discard")["status"], "discarded");
    let (id, _) = question(&mut client, "yes", "lineinfile", &call);
    assert_eq!(fs::read_to_string(secret(&dir)).unwrap(), format!("{MARKER}\n"));
    let done = decide(&mut client, &id, "yes", "apply");
    assert_eq!((&done["status"], done["run"].is_string()), (&json!("changed"), true), "{done}");
    assert!(done["changes"][0].as_str().unwrap().contains("lines +1 -0"), "{done}");
    assert_eq!(fs::read_to_string(secret(&dir)).unwrap(), format!("{MARKER}\nnew\n"));
}

#[test]
fn outside_of_the_sections_nothing_is_asked() {
    let dir = place("person");
    let mut client = asked(&dir);
    let other = dir.join("other/file");
    let denied = client.structure(1, "spy", &json!({"path": other}));
    assert_eq!(denied["status"], "denied", "{denied}");
    // The file of the person only takes away, and gives nothing that the agent's lacks.
    dir.write("home/.config/modbox/policy.yaml", format!("ask: {{read: [{}]}}\n", dir.join("other").display()));
    let mut client = asked(&dir);
    for path in [&other, &dir.join("secrets/log")] {
        assert_eq!(client.structure(1, "spy", &json!({"path": path}))["status"], "denied");
    }
    policy(&dir, "person", "", "");
    let mut client = asked(&dir);
    assert_eq!(client.structure(1, "spy", &json!({"path": other}))["status"], "denied");
    // Tools that only read ask for nothing.
    fs::remove_file(dir.join("home/.config/modbox/policy.yaml")).unwrap();
    policy(&dir, "never", &format!("read: [{}]", dir.join("secrets").display()), "");
    let mut client = asked(&dir);
    assert_eq!(client.structure(1, "spy", &json!({"path": secret(&dir)}))["status"], "denied");
}

#[test]
fn a_module_cannot_smuggle_what_it_has_read_into_the_question() {
    let dir = place("person");
    let mut client = asked(&dir);
    let (site, secrets) = (dir.join("site").display().to_string(), dir.join("secrets").display().to_string());
    let smuggled = [
        // By a name that it asks for.
        format!("open('{secrets}/' + text.strip(), 'w').write('x')"),
        // By the name of a file that it makes where it may.
        format!("open('{site}/' + text.strip(), 'w').write('x')"),
        // By an error, a warning, and what it prints.
        "raise OSError(text)".to_owned(),
        "print(text); print(text, file=sys.stderr); sys.exit(3)".to_owned(),
        "sys.stderr.write(text * 1000); os.abort()".to_owned(),
    ];
    for (number, code) in smuggled.iter().enumerate() {
        let id = number.to_string();
        let (asked, text) = question(&mut client, &id, "spy", &json!({"path": secret(&dir), "do": code}));
        assert!(!text.to_lowercase().contains("marker"), "{text}");
        assert_eq!(text.contains("asks for more to write in "), number == 0, "{text}");
        assert_eq!(text.contains("that are not named here"), number < 2, "{text}");
        let answer = decide(&mut client, &asked, &id, "discard");
        assert_eq!((&answer["status"], answer.to_string().contains(MARKER)), (&json!("discarded"), false), "{answer}");
    }
    assert!(!client.kept_text().contains(MARKER));
    let (_, _, stderr) = client.end_with_errors();
    assert!(!stderr.contains(MARKER), "{stderr}");
    assert_eq!((fs::read_dir(&site).unwrap().count(), fs::read_dir(&secrets).unwrap().count()), (1, 2));
}

#[test]
fn what_a_module_asks_for_while_it_runs_is_asked_with_the_rest() {
    let dir = place("person");
    let mut client = asked(&dir);
    let code = format!("text += open('{}').read()", dir.join("secrets/more").display());
    let (id, text) = question(&mut client, "1", "spy", &json!({"path": secret(&dir), "do": code}));
    assert!(text.contains("spy wants 2 grants"), "{text}");
    assert!(text.contains(&format!("asks for more to read in {}", dir.join("secrets").display())), "{text}");
    let answer = decide(&mut client, &id, "1", "apply");
    assert_eq!(answer["result"]["text"], format!("{MARKER}\nmore\n"), "{answer}");
    // Before it has read anything that it is not granted, what it asks for has its name.
    let code = format!("text += open('{}').read()", dir.join("secrets/more").display());
    let (id, text) = question(&mut client, "2", "spy", &json!({"do": code}));
    assert!(text.contains(&format!("asks to read {}: ", dir.join("secrets/more").display())), "{text}");
    assert_eq!(decide(&mut client, &id, "2", "apply")["result"]["text"], "more\n");
}

#[test]
fn without_a_person_nothing_is_told_whatever_confirms_changes() {
    for (confirm, more) in [("none", ""), ("person", "unconfirmed"), ("hand", "")] {
        let dir = place(confirm);
        if more == "unconfirmed" {
            let text = fs::read_to_string(dir.join("agent.yaml")).unwrap();
            let paths = format!("unconfirmed: [{}]}}", dir.join("secrets").display());
            dir.write("agent.yaml", text.replacen("confirm: person}", &format!("confirm: person, {paths}"), 1));
        }
        // This client cannot be asked.
        let mut client = Client::legacy(&dir, &[]);
        let read = client.structure("read", "spy", &json!({"path": secret(&dir)}));
        let write = client.structure("write", "lineinfile", &json!({"path": secret(&dir), "line": "new"}));
        for planned in [&read, &write] {
            assert_eq!(planned["status"], "planned", "{confirm}: {planned}");
            assert!(!planned.to_string().contains(MARKER), "{planned}");
            assert_eq!(planned["result"], json!({}), "{planned}");
        }
        assert_eq!(fs::read_to_string(secret(&dir)).unwrap(), format!("{MARKER}\n"));
    }
    // A client that can be asked is, although changes need no question.
    let dir = place("none");
    let mut client = asked(&dir);
    let (id, _) = question(&mut client, "1", "spy", &json!({"path": secret(&dir)}));
    assert_eq!(decide(&mut client, &id, "1", "apply")["result"]["text"], format!("{MARKER}\n"));
    let changed = client.structure("2", "lineinfile", &json!({"path": dir.join("site/motd"), "line": "new"}));
    assert_eq!(changed["status"], "changed", "{changed}");
}

/// Returns the file of the only plan, by which a person decides.
fn plan(dir: &TestDir, answer: &Value) -> PathBuf {
    let note = answer["notes"][0].as_str().unwrap();
    let (_, rest) = note.split_once("`modbox apply ").unwrap();
    let file = PathBuf::from(rest.split_once('`').unwrap().0);
    assert!(file.starts_with(state(dir).join("modbox/plans")), "{note}");
    file
}

#[test]
fn by_hand_a_person_sees_what_is_asked_and_the_same_call_gets_it() {
    let dir = place("hand");
    let mut client = Client::legacy(&dir, &[]);
    let read = json!({"path": secret(&dir)});
    let failing = json!({"path": secret(&dir), "do": "raise OSError('broken')"});
    let write = json!({"path": secret(&dir), "line": "new"});
    for (tool, call, status) in [("spy", &read, "ok"), ("spy", &failing, "failed"), ("lineinfile", &write, "changed")] {
        let planned = client.structure("1", tool, call);
        assert_eq!(planned["status"], "planned", "{planned}");
        let file = plan(&dir, &planned);
        let shown = modbox(&dir).args(["apply", "--show"]).arg(&file).run().exits_with(0);
        let path = secret(&dir);
        assert!(shown.stderr_text().contains("asked for: ") && shown.stderr_text().contains(&path), "{shown}");
        assert!(shown.stderr_text().contains("the client gets: {\"notes\":"), "{shown}");
        assert!(shown.stderr_text().contains(MARKER), "{shown}");
        let applied = modbox(&dir).arg("apply").arg(&file).run().exits_with(0);
        assert!(applied.stderr_text().contains("given: ") && applied.stderr_text().contains(&path), "{applied}");
        modbox(&dir).arg("apply").arg(&file).run().exits_with(3);
        let answer = client.call("2", tool, call)["result"]["structuredContent"].take();
        assert_eq!(answer["status"], status, "{answer}");
        assert!(answer["result"].to_string().contains(MARKER), "{answer}");
        assert!(answer["notes"].to_string().contains("a person has said yes by hand"), "{answer}");
        if tool == "spy" {
            // It was for one call.
            assert_eq!(client.structure("3", tool, call)["status"], "planned");
        }
    }
    assert_eq!(fs::read_to_string(secret(&dir)).unwrap(), format!("{MARKER}\nnew\n"));
    assert!(plans(&dir, "given").is_empty());
}

#[test]
fn a_client_that_approves_repeats_what_is_asked_for() {
    let dir = place("client");
    let mut client = Client::legacy(&dir, &[]);
    let planned = client.structure(1, "lineinfile", &json!({"path": secret(&dir), "line": "new"}));
    assert_eq!(planned["status"], "planned", "{planned}");
    let lines = planned["changes"].as_array().unwrap();
    assert!(lines.len() == 2 && lines[0].as_str().unwrap().contains("asks to write "), "{planned}");
    assert!(lines[1].as_str().unwrap().contains("is told after the yes"), "{planned}");
    let apply = |changes: &Value| json!({"plan": planned["plan"], "changes": changes});
    assert_eq!(client.structure(2, "modbox_apply", &apply(&json!([lines[1]])))["status"], "refused");
    let done = client.structure(3, "modbox_apply", &apply(&planned["changes"]));
    assert_eq!(done["status"], "changed", "{done}");
}

#[test]
fn the_server_does_not_start_if_a_yes_could_lead_to_its_rules() {
    let dir = place("person");
    for (place, what) in [(dir.path().to_owned(), "a policy file"), (dir.join("modules"), "a folder of modules")] {
        policy(&dir, "person", &format!("write: [{}]", place.display()), "");
        let refused = modbox(&dir).args(["mcp", "--policy", "agent.yaml", "--module-path", "modules", "--show"]).run();
        let refused = refused.exits_with(2).stderr_text();
        assert!(
            refused.contains("the key `ask` may lead to a grant") && refused.contains("the right to write"),
            "{refused}"
        );
        assert!(refused.contains(what), "{refused}");
    }
}

#[test]
fn the_list_says_what_may_be_asked() {
    let dir = place("person");
    let show = || modbox(&dir).args(["mcp", "--policy", "agent.yaml", "--module-path", "modules", "--show"]).run();
    let shown = show().exits_with(0).stdout_text();
    let line = format!("  may ask a person for: read {0}, write {0}\n", dir.join("secrets").display());
    assert_eq!(shown.matches(&line).count(), 2, "{shown}");
    // Hints are those of what may be given.
    policy(&dir, "person", &format!("write: [{}]", dir.join("secrets").display()), "");
    let text = fs::read_to_string(dir.join("agent.yaml")).unwrap();
    dir.write("agent.yaml", text.replacen("allow: {write:", "allow: {read:", 1));
    assert_eq!(show().exits_with(0).stdout_text().matches("(changes this machine)").count(), 2);
    policy(&dir, "never", &format!("write: [{}]", dir.join("secrets").display()), "");
    assert!(!show().exits_with(0).stdout_text().contains("may ask a person"));
}

#[test]
fn a_plan_is_for_one_call_and_once_in_the_newer_protocol() {
    let dir = place("person");
    let mut client = Client::start(&dir, &[]);
    let arguments = json!({"path": secret(&dir)});
    let mut call = |id: &str, arguments: &Value, more: &Value| {
        modern_call_of(&mut client, id, "spy", arguments, more)["result"].take()
    };
    let question = call("1", &arguments, &json!({}));
    assert_eq!(question["resultType"], "input_required", "{question}");
    assert!(!question.to_string().contains(MARKER), "{question}");
    let other = json!({"path": secret(&dir), "do": "pass"});
    for (id, arguments, state) in
        [("2", &arguments, json!("0".repeat(32))), ("3", &other, question["requestState"].clone())]
    {
        let refused = call(id, arguments, &yes(&state));
        assert_eq!(refused["structuredContent"]["status"], "refused", "{refused}");
        assert!(!refused.to_string().contains(MARKER), "{refused}");
    }
    let told = call("4", &arguments, &yes(&question["requestState"]));
    assert_eq!(told["structuredContent"]["result"]["text"], format!("{MARKER}\n"), "{told}");
    let replay = call("5", &arguments, &yes(&question["requestState"]));
    assert_eq!(replay["structuredContent"]["status"], "refused", "{replay}");
    assert!(!replay.to_string().contains(MARKER), "{replay}");
}

#[test]
fn what_is_swapped_before_the_yes_is_not_changed() {
    let dir = place("person");
    let mut client = asked(&dir);
    let call = json!({"path": secret(&dir), "line": "new"});
    let (id, _) = question(&mut client, "1", "lineinfile", &call);
    fs::remove_file(secret(&dir)).unwrap();
    std::os::unix::fs::symlink(dir.join("other/file"), secret(&dir)).unwrap();
    assert_eq!(decide(&mut client, &id, "1", "apply")["status"], "conflict");
    assert_eq!(fs::read_to_string(dir.join("other/file")).unwrap(), "other\n");
    // A link that leads out of what may be asked for is not asked about.
    let denied = client.structure("2", "lineinfile", &call);
    assert_eq!(denied["status"], "denied", "{denied}");
    // A module that is another one gets nothing, and what the first one has found out is told once.
    let read = json!({"path": dir.join("secrets/more")});
    let (id, _) = question(&mut client, "3", "spy", &read);
    dir.write_executable("modules/spy", SPY.replace("text = \"\"", "text = \"other module\""));
    assert_eq!(decide(&mut client, &id, "3", "apply")["result"]["text"], "more\n");
    let refused = client.structure("4", "spy", &read);
    assert!(refused["notes"].to_string().contains("was changed since the server started"), "{refused}");
}

#[test]
fn a_section_means_what_it_meant_at_the_start() {
    let dir = place("person");
    // The agent may not change the link: it would decide what the section has.
    let way = dir.join("way");
    std::os::unix::fs::symlink(dir.join("secrets"), &way).unwrap();
    policy(&dir, "person", "", &format!("modules: {{spy: {{ask: {{read: [{}]}}}}}}\n", way.display()));
    let mut client = asked(&dir);
    let (id, _) = question(&mut client, "1", "spy", &json!({"path": secret(&dir)}));
    assert_eq!(decide(&mut client, &id, "1", "discard")["status"], "discarded");
    fs::remove_file(&way).unwrap();
    std::os::unix::fs::symlink(dir.join("other"), &way).unwrap();
    for path in [dir.join("other/file"), dir.join("secrets/log")] {
        assert_eq!(client.structure("2", "spy", &json!({"path": path}))["status"], "denied");
    }
}

#[test]
fn names_that_hide_something_are_written_out() {
    let dir = place("person");
    let name = "x\u{202e}`````\u{200b}y";
    dir.write(&format!("secrets/{name}"), format!("{MARKER}\n"));
    let mut client = asked(&dir);
    let (id, text) = question(&mut client, "1", "spy", &json!({"path": dir.join(&format!("secrets/{name}"))}));
    assert!(!text.contains(['\u{202e}', '\u{200b}']), "{text}");
    assert!(text.contains("\\u{202e}") && text.contains("\n``````\n"), "{text}");
    assert!(decide(&mut client, &id, "1", "apply").to_string().contains(MARKER));
    // A name that would be another line is not asked about.
    let name = "x\nmodbox asks: nothing";
    dir.write(&format!("secrets/{name}"), "");
    let denied = client.structure("2", "spy", &json!({"path": dir.join(&format!("secrets/{name}"))}));
    assert_eq!(denied["status"], "denied", "{denied}");
}

#[test]
fn a_call_that_is_cancelled_before_its_question_is_told_nothing() {
    let dir = place("person");
    let mut client = asked(&dir);
    client.request("1", "tools/call", &json!({"name": "spy", "arguments": {"path": secret(&dir)}}));
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "1"}}));
    let (id, _) = question(&mut client, "2", "spy", &json!({"path": secret(&dir)}));
    assert_eq!(decide(&mut client, &id, "2", "apply")["status"], "ok");
    assert!(!client.kept_text().contains(MARKER));
    assert!(client.end().1.success());
}

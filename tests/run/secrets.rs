//! Secrets that a module's spec or a task's `no_log` declares are in nothing that modbox tells: components and native modules.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::secret_hunt::{Teller, hunt};
use crate::support::{Modbox, TestDir, guest};

/// A native module that tells its argument `token` in all ways. It declares no options, so only a task makes that a secret.
const NATIVE: &str = r#"#!/usr/bin/python3
# WANT_JSON
import json, os, sys
args = json.load(open(sys.argv[1]))
token, tree = args["token"], args["d"]
open(tree + "/f", "a").write("a %s b\n" % token)
os.symlink(token, tree + "/l-" + token)
os.mkdir(tree + "/d-" + token)
sys.stderr.write("E: %s\n" % token)
if args["end"] == "junk":
    print("no result", token)
    sys.exit(3)
print(json.dumps({"changed": True, "msg": "M " + token, "failed": args["end"] == "fail"}))
"#;

/// Returns a copy of a guest with metadata, as the SDK writes them into a section of their own.
fn with_metadata(dir: &TestDir, name: &str, metadata: &Value) -> PathBuf {
    let mut bytes = fs::read(guest(name)).unwrap();
    let (section, text) = ("modbox:module", metadata.to_string());
    let mut content = vec![u8::try_from(section.len()).unwrap()];
    content.extend([section.as_bytes(), text.as_bytes()].concat());
    bytes.push(0);
    let mut length = content.len();
    while length >= 0x80 {
        bytes.push(u8::try_from(length & 0x7f).unwrap() | 0x80);
        length >>= 7;
    }
    bytes.push(u8::try_from(length).unwrap());
    bytes.extend(content);
    dir.write(&format!("modules/{name}.wasm"), bytes)
}

fn operations(secret: &str, end: &str, tree: &Path) -> Value {
    let path = |name: &str| tree.join(name).display().to_string();
    let mut ops = vec![
        json!(["append", path("f"), format!("a {secret} b\n")]),
        json!(["write", path(&format!("n-{secret}")), secret]),
        json!(["symlink", secret, path(&format!("l-{secret}"))]),
        json!(["read", path("f")]),
        json!(["list", tree]),
    ];
    match end {
        "fail" => ops.push(json!(["read", format!("/srv/{secret}")])),
        "crash" => ops.push(json!([format!("unknown-{secret}")])),
        _ => {}
    }
    json!({"ops": ops, "token": secret, "strict": end == "fail"})
}

#[test]
fn secrets_of_a_components_spec_are_told_nowhere() {
    let dir = TestDir::new();
    let options = json!({"ops": {"type": "raw"}, "strict": {"type": "bool"}, "token": {"no_log": true}});
    let metadata = json!({"name": "drive", "version": "1", "argument_spec": options});
    let module = with_metadata(&dir, "drive", &metadata);
    let (switches, variables) = (Vec::new(), Vec::new());
    let ends = &["ok", "fail", "crash"];
    hunt(&Teller { module, arguments: operations, ends, switches, variables, no_log: false }, 0x5ec1);
}

fn native_arguments(secret: &str, end: &str, tree: &Path) -> Value {
    json!({"token": secret, "d": tree, "end": end})
}

#[test]
fn all_that_a_task_with_no_log_writes_is_told_nowhere() {
    let dir = TestDir::new();
    let module = dir.write_executable("modules/teller", NATIVE);
    let (switches, variables) = (Vec::new(), Vec::new());
    let ends = &["ok", "fail", "junk"];
    hunt(&Teller { module, arguments: native_arguments, ends, switches, variables, no_log: true }, 0x5ec2);
}

#[test]
fn an_option_that_the_caller_names_is_a_secret() {
    let dir = TestDir::new();
    let module = dir.write_executable("teller", NATIVE);
    let tree = dir.mkdir("tree");
    dir.write("tree/f", "");
    let run = Modbox::run_module(&dir, &module).args(["--preview", "--audit", "audit", "--secret", "token"]);
    let run = run.arg("--allow-write").arg(&tree).json_args(&native_arguments("Q7x9", "ok", &tree));
    let ran = run.report().run().exits_with(0);
    let text = ran.stdout_text() + &ran.stderr_text() + &fs::read_to_string(dir.join("audit")).unwrap();
    assert!(!text.contains("Q7x9") && text.contains("+a ******** b") && text.contains("l-********"), "{text}");
    let job = json!({"module": module, "args": native_arguments("Q7x9", "ok", &tree), "secrets": ["token"]});
    let batch = Modbox::new(&dir).args(["batch", "--allow-write"]).arg(&tree).stdin(format!("{job}\n"));
    let ran = batch.run().exits_with(0);
    assert!(!ran.stdout_text().contains("Q7x9") && ran.stdout_text().contains("M ********"), "{ran}");
}

/// Modules of ansible-core 2.22 list their secrets, and leave them in their results.
#[test]
fn secrets_that_a_result_lists_are_masked() {
    let dir = TestDir::new();
    let text = "#!/bin/sh\n# WANT_JSON\necho 'E Q7x9' >&2\n\
                echo '{\"_ansible_new_secrets\": [\"Q7x9\"], \"msg\": \"M Q7x9\", \"changed\": true}'\n";
    let module = dir.write_executable("teller", text);
    let run = Modbox::run_module(&dir, module).args(["--audit", "audit", "-vvv", "--log", "trace", "name=a-Q7x9"]);
    let ran = run.report().run().exits_with(0);
    assert!(!ran.stdout_text().contains("Q7x9") && !ran.stderr_text().contains("Q7x9"), "{ran}");
    let report = ran.json();
    assert_eq!(report["result"], json!({"msg": "M $REDACTED$", "changed": true, "failed": false}));
    assert_eq!(report["stderr"], "E ********\n");
    assert!(!fs::read_to_string(dir.join("audit")).unwrap().contains("Q7x9"));
}

/// A native module that tells its secret in all ways, and lists it, as modules of ansible-core 2.22 do.
const LISTING: &str = r#"#!/usr/bin/python3
# WANT_JSON
import json, os, sys
args = json.load(open(sys.argv[1]))
token, tree = args["token"], args["d"]
open(tree + "/f", "a").write("a %s b\n" % token)
try:
    os.symlink(token, tree + "/l-" + token)
    os.mkdir(tree + "/d-" + token)
except FileExistsError:
    pass
sys.stderr.write("E: %s\n" % token)
told = {"changed": True, "msg": "M " + token, "failed": args["end"] == "fail", "k-" + token: [token, {token: 1}],
        "stdout": "a\n%s\nb" % token, "_ansible_x": token, "warnings": ["W " + token], "_ansible_new_secrets": [token]}
print("junk %s" % token)
print(json.dumps(told) + ("\n}" if args["end"] == "junk" else ""))
"#;

#[test]
fn secrets_that_a_module_lists_are_told_nowhere() {
    let dir = TestDir::new();
    let module = dir.write_executable("modules/teller", LISTING);
    let (switches, variables) = (Vec::new(), Vec::new());
    let ends = &["ok", "fail", "junk"];
    hunt(&Teller { module, arguments: native_arguments, ends, switches, variables, no_log: false }, 0x5ec6);
}

/// Neither the reserved keys of this release nor those of another one are shown, wherever they are.
#[test]
fn values_of_reserved_keys_are_not_shown() {
    let dir = TestDir::new();
    let text = "#!/bin/sh\n# WANT_JSON\n\
                echo '{\"_ansible_next\": \"Q7x9\", \"add_host\": {\"n\": \"Z5w8\"}, \"deep\": [{\"_ansible_next\": \"Q7x9\"}]}'\n";
    let module = dir.write_executable("library/teller", text);
    for contract in ["2.9", "2.14", "2.19", "2.21", "2.22"] {
        let run = Modbox::run_module(&dir, &module).args(["--audit", "audit", "-vvv", "--log", "trace"]);
        let ran = run.args(["--contract", contract]).report().run().exits_with(0);
        let audit = fs::read_to_string(dir.join("audit")).unwrap();
        let told = [ran.stdout_text(), ran.stderr_text(), audit].concat();
        assert!(!told.contains("Q7x9"), "{contract}: {ran}");
        // Since 2.21 this key is one like others.
        assert_eq!(told.contains("Z5w8"), ["2.21", "2.22"].contains(&contract), "{contract}: {ran}");
        assert!(ran.stdout_text().contains("_ansible_next"), "{contract}: {ran}");
    }
    dir.write("play.yml", "- hosts: all\n  gather_facts: false\n  tasks: [teller: ]\n");
    let ran = Modbox::new(&dir).args(["play", "-vvv", "play.yml"]).run().exits_with(0);
    let told = ran.stdout_text() + &ran.stderr_text();
    assert!(!told.contains("Q7x9") && told.contains("_ansible_next"), "{ran}");
}

/// Variables of a play keep the values, as in ansible-core 2.22, also those of jobs; nothing that is shown has them.
#[test]
fn tasks_use_the_secrets_that_a_module_lists() {
    let dir = TestDir::new();
    dir.write_executable("library/teller", LISTING);
    let writer = "#!/usr/bin/python3\n# WANT_JSON\nimport json, sys\nargs = json.load(open(sys.argv[1]))\n\
                  open(args['dest'], 'w').write(args['content'])\nprint(json.dumps({'wrote': args['content']}))\n";
    dir.write_executable("library/writer", writer);
    dir.write("tree/f", "");
    let tree = dir.join("tree");
    let args = format!("{{token: Q7x9, end: ok, d: {}}}", tree.display());
    let tasks = format!(
        "
    - teller: {args}
      register: told
    - assert:
        that:
        - told.msg == 'M Q7' ~ 'x9'
        - told['k-Q7x9'][1]['Q7' ~ 'x9'] == 1
        - told.stdout_lines == ['a', 'Q7' ~ 'x9', 'b']
        - told.keys() | select('match', '_ansible') | list == []
    - writer: {{content: '{{{{ told.msg }}}}', dest: '{d}/c-{{{{ told.stdout_lines[1] }}}}'}}
      register: written
    - assert: {{that: written.wrote == told.msg}}
    - debug: {{msg: 'it is {{{{ told.msg }}}}'}}
    - teller: {args}
      async: 60
      poll: 0
      register: job
    - async_status: {{jid: '{{{{ job.ansible_job_id }}}}'}}
      register: ended
      until: ended is finished
      retries: 60
      delay: 1
    - assert: {{that: ended.msg == told.msg}}
    - debug: {{var: ended}}
    - fail: {{msg: '{{{{ ended.msg }}}} and {{{{ told.stdout }}}}'}}
      ignore_errors: true
",
        d = tree.display()
    );
    dir.write("play.yml", format!("- hosts: all\n  gather_facts: false\n  tasks:{tasks}"));
    for output in ["human", "jsonl", "html"] {
        let words = ["play", "-vvv", "--diff", "--audit", "audit", "--output", output, "--allow-write"];
        let ran = Modbox::new(&dir).args(words).arg(&tree).arg("play.yml").run().exits_with(0);
        let text = ran.stdout_text() + &ran.stderr_text();
        // The page has the text of the play in it, which has the secret.
        assert!(!text.contains("M Q7x9") && !text.contains("k-Q7x9") && !text.contains("W Q7x9"), "{output}: {ran}");
        assert!(text.contains("it is M $REDACTED$"), "{output}: {ran}");
        assert!(!text.contains("c-Q7x9"), "{output}: {ran}");
    }
    assert!(fs::read_to_string(dir.join("tree/c-Q7x9")).unwrap().contains("M Q7x9"));
    let audit = fs::read_to_string(dir.join("audit")).unwrap();
    assert!(!audit.contains("M Q7x9") && !audit.contains("c-Q7x9"), "{audit}");
    let folder = dir.join("home/.ansible_async");
    let id = fs::read_dir(&folder).unwrap().next().unwrap().unwrap().file_name();
    let status = Modbox::new(&dir).arg("status").arg(&id).run().exits_with(0);
    assert!(!status.stdout_text().contains("Q7x9") && status.json()["msg"] == "M $REDACTED$", "{status}");
}

/// The forms that Ansible calls give a controller of ansible-core 2.22 the values and the secrets, by which it masks what it
/// shows; earlier controllers get the masked result.
#[test]
fn a_controller_that_masks_gets_the_secrets() {
    let dir = TestDir::new();
    let options = json!({"ops": {"type": "raw"}, "token": {"no_log": true}});
    let metadata = json!({"name": "drive", "version": "1", "argument_spec": options});
    let module = with_metadata(&dir, "drive", &metadata);
    for (version, expect) in [
        ("2.19.14", json!([null, "VALUE_SPECIFIED_IN_NO_LOG_PARAMETER"])),
        ("2.21.5", json!([null, "VALUE_SPECIFIED_IN_NO_LOG_PARAMETER"])),
        ("2.22.0rc1", json!([["Q7x9"], "Q7x9"])),
        ("2.30.0", json!([["Q7x9"], "Q7x9"])),
    ] {
        let ops = json!([["write", "/tmp/a", "Q7x9"], ["read", "/tmp/a"]]);
        let args = json!({"ops": ops, "token": "Q7x9", "_ansible_version": version});
        dir.write("args", args.to_string());
        let ran = Modbox::new(&dir).arg(&module).arg("args").run();
        let result = ran.json();
        assert_eq!(json!([result["_ansible_new_secrets"], result["seen"][1]]), expect, "{ran}");
    }
}

/// The result of a job is data: a later task can use it, and no listing shows it.
#[test]
fn the_result_of_a_secret_job_is_for_tasks_only() {
    let dir = TestDir::new();
    dir.write("library/teller.sh", "#!/bin/sh\n# WANT_JSON\necho '{\"changed\": true, \"msg\": \"Q7x9\"}'\n");
    let tasks = "
    - teller:
      no_log: true
      async: 60
      poll: 0
      register: job
    - async_status: {jid: \"{{ job.ansible_job_id }}\"}
      register: ended
      until: ended is finished
      retries: 60
      delay: 1
    - assert: {that: ended.msg | length == 4}
";
    dir.write("play.yml", format!("- hosts: all\n  gather_facts: false\n  tasks:{tasks}"));
    let ran = Modbox::new(&dir).args(["play", "-vvv", "--output", "jsonl", "play.yml"]).run().exits_with(0);
    assert!(!ran.stdout_text().contains("Q7x9"), "{ran}");
    let folder = dir.join("home/.ansible_async");
    let id = fs::read_dir(&folder).unwrap().next().unwrap().unwrap().file_name();
    let status = Modbox::new(&dir).arg("status").arg(&id).run().exits_with(0).json();
    assert_eq!((&status["changed"], &status["finished"], &status["msg"]), (&json!(true), &json!(true), &Value::Null));
    assert!(status["censored"].as_str().unwrap().contains("no_log"), "{status}");
    assert!(fs::read_to_string(folder.join(id)).unwrap().contains("Q7x9"));
}

/// A module that writes its argument as programs write it, and makes what no commit makes.
const NOTATIONS: &str = r#"#!/usr/bin/python3
# WANT_JSON
import json, os, sys, urllib.parse
args = json.load(open(sys.argv[1]))
token, tree = args["token"], args["d"]
forms = [json.dumps(token), repr(token), json.dumps(repr(token)), json.dumps(token, ensure_ascii=False),
         "https://u:%s@host/" % urllib.parse.quote(token, safe=""), urllib.parse.quote_plus(token)]
open(tree + "/f", "a").write("\n".join(forms) + "\n")
if args.get("fifo"):
    os.mkfifo(tree + "/fifo-" + token)
sys.stderr.write("E: %s\n" % " ".join(forms))
print(json.dumps({"changed": True, "msg": "M %r" % [token], "forms": forms, "cmd": "x " + repr("it's " + token)}))
"#;

/// JSON, Python, shells and URLs write some characters of a secret in another way.
#[test]
fn notations_of_a_secret_are_told_nowhere() {
    let dir = TestDir::new();
    dir.write_executable("library/teller", NOTATIONS);
    let tree = dir.mkdir("tree");
    for end in ["z'", "z\"", "z\\", "z\n", "z\u{7f}", "z\u{1b}", "z\u{e9}", "z\u{2028}", "z\u{1f600}", "z @&%"] {
        let secret = format!("Q7x9{end}k");
        for layers in [&[][..], &["--preview"]] {
            dir.write("tree/f", "");
            let run =
                Modbox::run_module(&dir, "library/teller").args(["--audit", "audit", "--secret", "token", "-vvv"]);
            let run = run.args(["--diff", "--log", "trace", "--allow-write"]).arg(&tree).args(layers);
            let ran = run.json_args(&json!({"token": secret, "d": tree})).report().run().exits_with(0);
            let audit = fs::read_to_string(dir.join("audit")).unwrap();
            let told = [ran.stdout_text(), ran.stderr_text(), audit].concat();
            assert!(!told.contains("Q7x9"), "{secret:?}: {ran}");
            assert!(ran.json()["result"]["msg"] != Value::Null && told.contains("********"), "{ran}");
        }
    }
}

#[test]
fn the_policy_is_shown_without_secrets_of_arguments() {
    let dir = TestDir::new();
    let text = "from ansible.module_utils.basic import AnsibleModule\n\
                AnsibleModule(argument_spec=dict(key_file=dict(type='path', no_log=True)))\n";
    let module = dir.write("m.py", text);
    let path = dir.join("Q7x9");
    let args = format!("key_file={}", path.display());
    for output in [&[][..], &["--json"]] {
        let show = Modbox::new(&dir).args(["policy", "show", "--designate", "key_file:read"]).args(output);
        let ran = show.arg(&module).arg(&args).run();
        let told = ran.stdout_text() + &ran.stderr_text();
        assert!(!told.contains("Q7x9") && told.contains("argument key_file"), "{ran}");
    }
}

/// What keeps a commit from being made names files.
#[test]
fn refusals_of_a_commit_tell_no_secret() {
    let dir = TestDir::new();
    dir.write_executable("library/teller", NOTATIONS);
    let tree = dir.mkdir("tree");
    let args = json!({"token": "Q7x9z", "d": tree, "fifo": true});
    let refused = "a commit does not make these";
    for secret in [&["--secret", "token"][..], &["--no-log"]] {
        for layers in [&["--transaction"][..], &["--preview", "--save", "saved"]] {
            let run = Modbox::run_module(&dir, "library/teller").args(secret).args(layers);
            let ran = run.arg("--allow-write").arg(&tree).json_args(&args).report().run().exits_with(8);
            let told = ran.stdout_text() + &ran.stderr_text();
            assert!(!told.contains("Q7x9") && told.contains(refused) && told.contains("fifo-"), "{ran}");
        }
    }
    for (hides, output) in [(json!({"no_log": true}), "human"), (json!({"no_log": true}), "jsonl")] {
        let mut task = hides;
        task["teller"] = args.clone();
        let play = json!([{"hosts": "localhost", "gather_facts": false, "tasks": [task]}]);
        dir.write("site.json", play.to_string());
        let words = ["play", "site.json", "--transaction", "--output", output, "--audit", "audit", "--allow-write"];
        let ran = Modbox::new(&dir).args(words).arg(&tree).run().exits_with(8);
        let audit = fs::read_to_string(dir.join("audit")).unwrap();
        let told = [ran.stdout_text(), ran.stderr_text(), audit].concat();
        assert!(!told.contains("Q7x9") && told.contains(refused) && told.contains("fifo-"), "{ran}");
    }
    assert_eq!(fs::read_dir(&tree).unwrap().count(), 0, "nothing was committed");
}

#[test]
fn what_no_task_and_no_spec_declares_is_shown() {
    let dir = TestDir::new();
    let module = dir.write_executable("modules/teller", NATIVE);
    let tree = dir.mkdir("tree");
    dir.write("tree/f", "");
    let ran = Modbox::run_module(&dir, module).args(["--preview", "--allow-write"]).arg(&tree);
    let report = ran.json_args(&native_arguments("Q7x9", "ok", &tree)).report().run().exits_with(0).json();
    let text = report["effect"].to_string();
    assert!(text.contains("+a Q7x9 b") && text.contains("l-Q7x9"), "{report}");
    assert_eq!((&report["result"]["msg"], &report["stderr"]), (&json!("M Q7x9"), &json!("E: Q7x9\n")));
}

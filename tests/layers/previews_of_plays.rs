//! `modbox play --preview` and `--transaction`: a whole play on layers, in which each task sees what earlier ones did.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;

use serde_json::{Value, json};

use crate::layers::layers_runs::{Layered, Runs, runners};
use crate::support::{RunOutput, module};

/// A play that builds on its own changes: a module of Python, one of modbox, lookups, a handler.
const PLAY: &str = "
- hosts: localhost
  gather_facts: false
  tasks:
    - module.py: {do: \"os.mkdir('%/tree/new')\"}
    - module.py: {do: \"open('%/tree/new/made', 'w').write('one\\\\n')\"}
    - lineinfile: {path: %/tree/new/made, line: two}
    - assert: {that: \"lookup('file', '%/tree/new/made') == 'one\\\\ntwo'\"}
    - module.py: {do: \"os.remove('%/tree/file')\"}
      notify: wrote
    - stat: {path: %/tree/file}
      register: found
    - assert: {that: not found.stat.exists}
  handlers:
    - name: wrote
      lineinfile: {path: %/single, line: handled}
";

fn play(case: &Layered, text: &str, switches: &[&str]) -> RunOutput {
    case.dir.write("plays/site.yml", text.replace('%', &case.dir.path().display().to_string()));
    case.dir.mkdir("library");
    for name in ["lineinfile", "stat", "copy", "template"] {
        fs::copy(module(name), case.dir.join(&format!("library/{name}.wasm"))).unwrap();
    }
    let words = ["play", "%/plays/site.yml", "-M", "%", "-M", "%/library", "--allow-write", "%/tree"];
    let ran = case.command(&[&words[..], switches].concat()).run();
    case.assert_nothing_left();
    ran
}

/// Returns a case for each user who can make layers for a play: root, and users who may have namespaces.
fn cases() -> impl Iterator<Item = Layered> {
    let is_root = rustix::process::geteuid().is_root();
    runners().into_iter().map(Layered::new).filter(move |case| is_root && !case.is_users() || case.has_namespaces())
}

fn case() -> Option<Layered> {
    cases().next()
}

/// Returns the last event, which is about the changes.
fn effect(ran: &RunOutput) -> Value {
    let last: Value = serde_json::from_str(ran.stdout_text().lines().last().unwrap()).unwrap();
    assert_eq!(last["event"], "effect", "{ran}");
    last["effect"].clone()
}

#[test]
fn a_play_is_previewed_as_a_whole() {
    for case in cases() {
        let before = case.state();
        let ran = play(&case, PLAY, &["--preview", "--output", "jsonl"]).exits_with(0);
        let effect = effect(&ran);
        let totals = &effect["totals"];
        assert_eq!(
            (&totals["created"], &totals["removed"], &totals["modified"]),
            (&json!(2), &json!(1), &json!(1)),
            "{ran}"
        );
        assert!(effect["changes"].to_string().contains("+handled"), "{ran}");
        assert_eq!(case.state(), before);
        let human = play(&case, PLAY, &["--preview"]).exits_with(0);
        assert!(human.stdout_text().contains("nothing was changed"), "{human}");
        assert_eq!(case.state(), before);
    }
}

#[test]
fn a_play_is_committed_as_a_whole_or_not_at_all() {
    let failing =
        format!("{PLAY}    - name: other\n      fail: {{msg: x}}\n").replace("notify: wrote", "notify: [wrote, other]");
    for case in cases() {
        let before = case.state();
        play(&case, &failing, &["--transaction"]).exits_with(1);
        assert_eq!(case.state(), before);
        play(&case, PLAY, &["--transaction", "--keep-undo"]).exits_with(0);
        assert_eq!(
            (case.read("tree/new/made").as_str(), case.read("single").as_str()),
            ("one\ntwo\n", "single\nhandled\n")
        );
        assert!(!case.dir.join("tree/file").exists());
        let listed = case.command(&["transactions", "--json"]).run().exits_with(0).json();
        case.command(&["undo", listed["run"].as_str().unwrap()]).run().exits_with(0);
        assert!(case.dir.join("tree/file").exists() && !case.dir.join("tree/new").exists());
        assert_eq!(case.read("single"), "single\n");
    }
}

#[test]
fn a_single_file_beside_the_play_is_held() {
    let Some(case) = case() else { return };
    // The layer is over the folder of the play itself.
    let text = "
- hosts: localhost
  gather_facts: false
  tasks:
    - lineinfile: {path: \"{{ playbook_dir }}/made\", line: x, create: true}
    - assert: {that: \"lookup('file', 'made') == 'x'\"}
    - template: {src: text.j2, dest: \"{{ playbook_dir }}/text\"}
";
    case.dir.write("plays/text.j2", "{{ 1 + 1 }}\n");
    let ran = play(&case, text, &["--preview", "--output", "jsonl"]).exits_with(0);
    assert_eq!(effect(&ran)["totals"]["created"], 2, "{ran}");
    assert!(!case.dir.join("plays/made").exists() && !case.dir.join("plays/text").exists());
}

#[test]
fn what_a_play_on_layers_cannot_hold_is_refused() {
    let case = Layered::new(Runs::Self_);
    let before = case.state();
    let code = "open('%/tree/file', 'w').write('x')";
    let task = format!("- module.py: {{do: \"{code}\"}}\n");
    for (switches, status, said) in [
        (&["--preview", "--check"][..], 2, "leave out `--check`"),
        (&["--transaction", "--check"], 2, "cannot be used with"),
        (&["--preview", "--allow-all"], 2, "cannot be used with"),
        (&["--preview", "--allow-write", "/proc/self"], 3, "state of the kernel"),
    ] {
        if status == 3 && !rustix::process::geteuid().is_root() {
            continue;
        }
        let ran = play(&case, &task, switches).exits_with(status);
        assert!(ran.stderr_text().contains(said), "{said}: {ran}");
        assert_eq!(case.state(), before, "{switches:?}");
    }
    let job = format!("- module.py: {{do: \"{code}\"}}\n  async: 10\n  poll: 1\n");
    if rustix::process::geteuid().is_root() {
        let ran = play(&case, &job, &["--preview"]);
        assert!(!ran.status.success() && ran.stdout_text().contains("leave `async` out"), "{ran}");
        assert_eq!(case.state(), before);
    }
}

/// Renames and links are what an overlay of an ordinary user does otherwise than its directory.
#[test]
fn a_users_play_renames_directories_and_keeps_links() {
    let text = "
- hosts: localhost
  gather_facts: false
  tasks:
    - module.py: {do: \"os.rename('%/tree/sub', '%/tree/moved')\"}
    - module.py: {do: \"open('%/tree/linked', 'a').write('more\\\\n')\"}
    - assert: {that: \"lookup('file', '%/tree/other') == 'other\\\\nmore'\"}
    - lineinfile: {path: %/tree/moved/inner, line: two}
";
    for case in cases() {
        let before = case.state();
        let ran = play(&case, text, &["--preview", "--output", "jsonl"]).exits_with(0);
        let effect = effect(&ran);
        assert_eq!((&effect["complete"], &effect["totals"]["renamed"]), (&json!(true), &json!(1)), "{ran}");
        assert_eq!(case.state(), before);
        play(&case, text, &["--transaction"]).exits_with(0);
        assert_eq!(
            (case.read("tree/moved/inner").as_str(), case.read("tree/other").as_str()),
            ("inner\ntwo\n", "other\nmore\n")
        );
        assert!(!case.dir.join("tree/sub").exists());
    }
}

/// What an ordinary user's layers do not show as it is.
#[test]
fn a_users_play_refuses_what_it_could_not_show() {
    let Some(case) = cases().find(Layered::is_users) else { return };
    let task = |module: &str| {
        let name = module.split(':').next().unwrap();
        format!("    - name: of {name}\n      {module}\n")
    };
    let play_of = |tasks: &str| format!("- hosts: localhost\n  gather_facts: false\n  tasks:\n{tasks}");
    let policy = "tasks:\n  'of stat*': {allow: {write: [%/more]}}\n";
    case.dir.write("policy.yaml", policy.replace('%', &case.dir.path().display().to_string()));
    case.dir.write("more/file", "");
    case.dir.write("more/second", "");
    fs::hard_link(case.dir.join("more/second"), case.dir.join("more/third")).unwrap();
    case.give("more");
    case.dir.write("theirs/file", "");
    let before = case.state();
    let single = task("lineinfile: {path: %/single, line: x}");
    for (tasks, switches, status, said) in [
        (single.clone(), &["--allow-write", "%/theirs"][..], 3, "belongs to another user"),
        (task("lineinfile: {path: %/theirs/file, line: x}"), &[], 4, "belongs to another user"),
        (task("lineinfile: {path: %/more/second, line: x}"), &[], 4, "has several names"),
        (single.clone() + &task("stat: {path: /etc/passwd}"), &[], 4, "would not see their owners"),
        (single + &task("stat: {path: %/more/file}"), &["--policy", "%/policy.yaml"], 4, "with `--allow-write`"),
        (task("stat: {path: %/more/file}"), &["--policy", "%/policy.yaml"], 0, "nothing was changed"),
    ] {
        let ran = play(&case, &play_of(&tasks), &[switches, &["--preview"]].concat()).exits_with(status);
        assert!(format!("{}{}", ran.stdout_text(), ran.stderr_text()).contains(said), "{said}: {ran}");
        assert_eq!(case.state(), before, "{said}");
    }
}

/// A play with a handler that reaches a service. It notifies another handler, and a third one changes files alone.
const RESTART: &str = "
- hosts: localhost
  gather_facts: false
  tasks:
    - lineinfile: {path: %/tree/file, line: three}
      notify: [restart it, files]
  handlers:
    - name: restart it
      module.py: {do: \"socket.socket(socket.AF_UNIX).connect('%/service')\"}
      notify: after
    - name: files
      lineinfile: {path: %/single, line: handled}
    - name: after
      lineinfile: {path: %/tree/other, line: after}
";

/// Runs the play. Returns what the service saw of the file when the handler reached it.
fn restart(case: &Layered, text: &str, switches: &[&str]) -> (RunOutput, Option<String>) {
    let service = case.dir.join("service");
    let _ = fs::remove_file(&service);
    let listener = UnixListener::bind(&service).unwrap();
    fs::set_permissions(&service, fs::Permissions::from_mode(0o777)).unwrap();
    let policy = "tasks:\n  'restart *': {allow: {write: [%/service]}}\n";
    case.dir.write("policy.yaml", policy.replace('%', &case.dir.path().display().to_string()));
    let waiting = listener.try_clone().unwrap();
    let file = case.dir.join("tree/file");
    // The handler's connection is the only one, so that what the file has then is what it had at the end of this run.
    let seen = std::thread::spawn(move || waiting.accept().ok().map(|_| fs::read_to_string(file).unwrap()));
    let ran = play(case, text, &[&["--policy", "%/policy.yaml"], switches].concat());
    rustix::net::shutdown(&listener, rustix::net::Shutdown::Both).unwrap();
    (ran, seen.join().unwrap())
}

#[test]
fn handlers_that_reach_out_run_after_the_commit() {
    for case in cases() {
        assert_order_of_handlers(&case);
    }
}

fn assert_order_of_handlers(case: &Layered) {
    let before = case.state();
    let (ran, seen) = restart(case, RESTART, &["--preview", "--output", "jsonl"]);
    let outside = effect(&ran.exits_with(0))["outside"].clone();
    assert_eq!(outside, json!([{"kind": "handler", "subject": "restart it", "withheld": true}]));
    assert_eq!((seen, case.state()), (None, before.clone()));

    let failing = RESTART.replace("  handlers:\n", "    - fail: {msg: x}\n  handlers:\n");
    let (ran, seen) = restart(case, &failing, &["--transaction", "--force-handlers"]);
    ran.exits_with(1);
    assert_eq!((seen, case.state()), (None, before));

    let (ran, seen) = restart(case, RESTART, &["--transaction", "--audit", "%/audit.jsonl"]);
    let ran = ran.exits_with(0);
    let audited = case.read("audit.jsonl");
    let commit = audited.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let commit = commit.filter(|line| !line["effect"].is_null()).collect::<Vec<_>>();
    assert_eq!(commit.len(), 1, "{audited}");
    assert_eq!(
        (&commit[0]["module"]["name"], &commit[0]["effect"]["state"]),
        (&json!("modbox play"), &json!("committed"))
    );
    assert_eq!(seen.as_deref(), Some("one\ntwo\nthree\n"), "{ran}");
    assert_eq!(
        (case.read("single").as_str(), case.read("tree/other").as_str()),
        ("single\nhandled\n", "other\nafter\n")
    );
    let text = ran.stdout_text();
    let order =
        ["RUNNING HANDLER [files]", "committed", "RUNNING HANDLER [restart it]", "RUNNING HANDLER [after]", "RECAP"];
    let places: Vec<Option<usize>> = order.iter().map(|part| text.find(part)).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?} {ran}");
}

/// A play with a handler that asks a program outside, by a rule of its own or because it names what it manages.
const ASK: &str = "
- hosts: localhost
  gather_facts: false
  tasks:
    - lineinfile: {path: %/tree/file, line: three}
      notify: [told, parameter]
  handlers:
    - name: told
      module.py: {do: \"os.system('/usr/bin/cp %/tree/file %/seen')\"}
    - name: parameter
      ansible.posix.sysctl: {name: kernel.ostype, folder: %}
";

/// A module in the place of `ansible.posix.sysctl`, which only asks.
const SYSCTL: &str = r#"#!/usr/bin/python3
# WANT_JSON
import json, subprocess, sys
args = json.load(open(sys.argv[1]))
asked = subprocess.run(["sysctl", "-n", args["name"]], capture_output=True, text=True)
print(json.dumps({"changed": True, "msg": asked.stdout, "failed": asked.returncode != 0}))
"#;

#[test]
fn handlers_with_commands_outside_run_after_the_commit() {
    let Some(case) = case() else { return };
    case.dir.write("collections/ansible_collections/ansible/posix/plugins/modules/sysctl.py", SYSCTL);
    let here = case.dir.path().display().to_string();
    let policy = "tasks:\n  told: {allow: {outside: ['/usr/bin/cp %/tree/file %/seen']}}\n".replace('%', &here);
    case.dir.write("policy.yaml", policy);
    let switches = ["--policy", "%/policy.yaml", "--designated", "manage", "--collections-path", "%/collections"];
    let previewed = play(&case, ASK, &[&switches[..], &["--preview", "--output", "jsonl"]].concat()).exits_with(0);
    let waits = |name: &str| json!({"kind": "handler", "subject": name, "withheld": true});
    assert_eq!(effect(&previewed)["outside"], json!([waits("told"), waits("parameter")]), "{previewed}");
    assert!(!case.dir.join("seen").exists());
    let ran = play(&case, ASK, &[&switches[..], &["--transaction"]].concat()).exits_with(0);
    assert_eq!(case.read("seen"), "one\ntwo\nthree\n", "{ran}");
    let text = ran.stdout_text();
    let places = ["committed", "HANDLER [told]", "HANDLER [parameter]"].map(|part| text.find(part));
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?} {ran}");
}

#[test]
fn a_handler_that_fails_after_the_commit_fails_the_play() {
    let Some(case) = case() else { return };
    let failing = RESTART.replace("connect('%/service')", "connect('%/none')");
    let (ran, seen) = restart(&case, &failing, &["--transaction"]);
    let ran = ran.exits_with(1);
    assert_eq!(seen, None, "{ran}");
    assert_eq!(
        (case.read("tree/file").as_str(), case.read("tree/other").as_str()),
        ("one\ntwo\nthree\n", "other\n"),
        "{ran}"
    );
}

#[test]
fn a_preview_beside_a_page_has_no_colour_codes() {
    let Some(case) = case() else { return };
    let tasks = "
- hosts: localhost
  gather_facts: false
  tasks:
    - module.py: {do: \"open('%/tree/new', 'w').write('\\\\x1b[2Jone\\\\r\\\\n')\"}
";
    let ran = play(&case, tasks, &["--preview", "--diff", "--output", "html"]).exits_with(0);
    let said = ran.stderr_text();
    assert!(said.contains("preview: 1 created") && said.contains("\\u{1b}[2Jone\\u{d}"), "{ran}");
    assert!(!said.contains('\u{1b}') && !said.contains("\\u{1b}[1m"), "{ran}");
    assert!(ran.stdout_text().ends_with("</html>\n") && !ran.stdout.contains(&0x1b), "{ran}");
    let ran = play(&case, tasks, &["--preview", "--diff", "--output", "jsonl"]).exits_with(0);
    assert!(ran.stdout.iter().all(|byte| matches!(byte, b' '..=b'~' | b'\n')), "{ran}");
}

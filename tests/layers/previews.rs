//! `modbox run --preview`: what would change is observed and shown, and nothing is changed.

use serde_json::{Value, json};

use crate::layers::layers_runs::{Layered, Runs, changes, runners};
use crate::support::{guest, module};

/// Changes of every kind.
const MANY: &str = "
open('%/tree/file', 'a').write('three\\n')
os.mkdir('%/tree/new'); open('%/tree/new/made', 'w').write('made\\n')
os.remove('%/tree/link')
os.chmod('%/tree/sub', 0o700)
open('%/single', 'w').write('new\\n')";

#[test]
fn all_changes_are_shown_and_none_is_made() {
    for runs in runners() {
        let case = Layered::new(runs);
        let before = case.state();
        let effect = case.effect(MANY, &["--preview"], 0);
        let expect = [
            "modified tree/file",
            "removed tree/link",
            "created tree/new",
            "created tree/new/made",
            "attributes tree/sub",
            "modified single",
        ];
        assert_eq!(changes(&case, &effect), expect, "{runs:?}: {effect}");
        assert_eq!(effect["changes"][0]["diff"], "@@ -1,2 +1,3 @@\n one\n two\n+three\n", "{effect}");
        assert_eq!(
            (&effect["mode"], &effect["changed"], &effect["claim"], &effect["complete"], &effect["commit"]["state"]),
            (&json!("preview"), &json!(true), &json!("agrees"), &json!(true), &json!("discarded"))
        );
        assert_eq!(case.state(), before, "{runs:?}");
    }
}

#[test]
fn a_guest_is_previewed_like_a_native_module() {
    for runs in runners() {
        let case = Layered::new(runs);
        let before = case.state();
        let lineinfile = module("lineinfile");
        let words = ["run", lineinfile.to_str().unwrap(), "path=%/single", "line=new", "--preview"];
        let ran = case.command(&words).run().exits_with(0);
        let diff = ran.json()["diff"][0]["prepared"].as_str().unwrap().to_owned();
        assert!(diff.ends_with("@@ -1 +1,2 @@\n single\n+new\n"), "{diff}");
        assert_eq!(case.state(), before, "{runs:?}");
        // A second run of the same arguments would change nothing.
        let direct: Vec<&str> = words[..4].to_vec();
        case.command(&direct).run().exits_with(0);
        let again = case.command(&words).run().exits_with(0);
        assert_eq!((&again.json()["changed"], &again.json()["diff"]), (&json!(false), &Value::Null));
        case.assert_nothing_left();
    }
}

#[test]
fn a_user_has_an_overlay_where_a_copy_takes_long() {
    for runs in runners() {
        let case = Layered::new(runs);
        let view = "line = [line.split() for line in open('/proc/self/mountinfo') if line.split()[4] == '%/tree'][0]
say({'changed': False, 'overlay': line[3] == '/' and 'overlay' in line[6:]})";
        let is_overlay = |switches: &[&str]| {
            let ran = case.run(view, &[&["--preview"], switches].concat()).exits_with(0);
            ran.json()["overlay"].as_bool().unwrap()
        };
        let is_root = runs == Runs::Self_ && rustix::process::geteuid().is_root();
        assert_eq!(is_overlay(&[]), is_root, "small, with a second name");
        case.make_large();
        assert!(is_overlay(&[]) || !case.has_namespaces());
        // A run that is not repeated renames directories on a copy.
        assert_eq!(is_overlay(&["--preview-net", "--allow-net", "*:9+any"]), is_root);
    }
}

#[test]
fn an_old_directory_is_renamed_in_every_view() {
    let many = "
os.mkdir('%/tree/new'); os.rename('%/tree/new', '%/tree/fresh')
os.chdir('%/tree'); os.rename('sub', 'fresh/moved')";
    for runs in runners() {
        for is_large in [false, true] {
            let case = Layered::new(runs);
            if is_large {
                case.make_large();
            }
            let before = case.state();
            let effect = case.effect(many, &["--preview"], 0);
            let expect = ["created tree/fresh", "renamed tree/fresh/moved"];
            assert_eq!(changes(&case, &effect), expect, "{runs:?} {is_large}: {effect}");
            let drive = guest("drive").display().to_string();
            let ops = r#"{"ops": [["rename", "%/tree/sub", "%/tree/moved"]]}"#;
            let words = ["run", &drive, "--allow-write", "%/tree", "--preview", "--output", "report", "--args", ops];
            let of_guest = case.command(&words).run().exits_with(0).json()["effect"].clone();
            assert_eq!(changes(&case, &of_guest), ["renamed tree/moved"], "{runs:?} {is_large}: {of_guest}");
            assert_eq!((&effect["complete"], case.state()), (&json!(true), before), "{runs:?} {is_large}");
            let effect = case.effect(many, &["--transaction"], 0);
            assert_eq!(effect["commit"]["state"], "committed", "{runs:?} {is_large}: {effect}");
            assert_eq!(case.read("tree/fresh/moved/inner"), "inner\n");
        }
    }
}

#[test]
fn what_a_module_says_is_compared_with_what_it_does() {
    let touch = "os.utime('%/tree/file', (1, 1))";
    let restore = "open('%/tree/file', 'w').write('x'); open('%/tree/file', 'w').write('one\\ntwo\\n')";
    for (code, claim, changed) in [
        ("pass", "claimed-not-observed", false),
        ("say({'changed': False}); open('%/tree/file', 'a').write('x')", "observed-not-claimed", true),
        ("say({'changed': False}); os.chmod('%/tree/file', 0o600)", "observed-not-claimed", true),
        ("say({'changed': False})", "agrees", false),
        ("open('%/single', 'w').write('x')", "agrees", true),
        (touch, "agrees", false),
        (restore, "agrees", false),
    ] {
        let case = Layered::new(Runs::Self_);
        let ran = case.run(code, &["--preview", "--output", "report"]).exits_with(0);
        let report = ran.json();
        assert_eq!(report["effect"]["claim"], claim, "{code}: {ran}");
        assert_eq!(report["result"]["changed"], changed, "{code}: {ran}");
        let warned = report["result"]["warnings"].to_string().contains("the module says");
        assert_eq!(warned, claim != "agrees", "{code}: {ran}");
    }
}

#[test]
fn check_mode_is_compared_with_a_real_run() {
    for (code, claimed, wrote, agrees) in [
        ("if not check: open('%/single', 'w').write('x')", json!(true), false, true),
        ("say({'changed': not check}); open('%/single', 'w').write('x')", json!(false), true, false),
        ("say({'skipped': True}) if check else open('%/single', 'w').write('x')", Value::Null, false, false),
    ] {
        let case = Layered::new(Runs::Self_);
        let effect = case.effect(code, &["--preview", "--check"], 0);
        let expect = json!({"claimed": claimed, "wrote": wrote, "agrees": agrees});
        assert_eq!(effect["check"], expect, "{code}");
    }
}

#[test]
fn a_policy_makes_check_mode_a_preview() {
    let case = Layered::new(Runs::Self_);
    case.dir.write("policy.yaml", "check: observe\n");
    let code = "say({'skipped': True}) if check else open('%/single', 'w').write('x')";
    let ran = case.run(code, &["--check", "--policy", "%/policy.yaml"]).exits_with(0);
    assert_eq!(ran.json()["changed"], true, "{ran}");
    assert_eq!(case.read("single"), "single\n");
    // Without check mode, the rule has no effect.
    case.run(code, &["--policy", "%/policy.yaml"]).exits_with(0);
    assert_eq!(case.read("single"), "x");
}

#[test]
fn the_lines_of_private_files_are_hidden() {
    let case = Layered::new(Runs::Self_);
    let code = "os.chmod('%/single', 0o600); open('%/single', 'a').write('secret\\n')";
    let ran = case.run(code, &["--preview", "--output", "report"]).exits_with(0);
    assert!(!ran.stdout_text().contains("secret\\\\n") && !ran.stdout_text().contains("+secret"), "{ran}");
    let change = &ran.json()["effect"]["changes"][0];
    assert_eq!((&change["content"], &change["lines"]["added"]), (&json!("secret"), &json!(1)), "{ran}");
    let shown = case.effect(code, &["--preview", "--diff"], 0);
    assert_eq!(shown["changes"][0]["diff"], "@@ -1 +1,2 @@\n single\n+secret\n", "{shown}");
    let hidden = case.run(code, &["--preview", "--diff", "--no-log", "--output", "report"]).exits_with(0);
    assert!(!hidden.stdout_text().contains("+secret"), "{hidden}");
}

#[test]
fn the_network_is_withheld() {
    let case = Layered::new(Runs::Self_);
    let code = "socket.create_connection(('127.0.0.1', 9))";
    let effect = case.effect(code, &["--preview", "--allow-net", "*:9+any"], 1);
    let outside = json!([{"kind": "net", "subject": "*:9+any", "withheld": true}]);
    assert_eq!((&effect["outside"], &effect["complete"]), (&outside, &json!(false)), "{effect}");
    assert!(effect["incomplete"][0]["why"].as_str().unwrap().contains("--preview-net"), "{effect}");
}

/// The kernel tells no value of an empty `security.capability`.
#[test]
fn an_empty_capability_of_a_file_is_an_attribute() {
    // Only root may set one.
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let case = Layered::new(Runs::Self_);
    let code = "os.setxattr('%/tree/file', 'security.capability', b'')";
    let effect = case.effect(code, &["--preview"], 0);
    assert_eq!(changes(&case, &effect), ["attributes tree/file"], "{effect}");
    assert_eq!(effect["changes"][0]["after"]["xattrs"], json!(["security.capability"]));
    let effect = case.effect(code, &["--transaction"], 8);
    assert_eq!(effect["commit"]["state"], "refused", "{effect}");
}

#[test]
fn people_see_what_would_change() {
    let case = Layered::new(Runs::Self_);
    let ran = case.run(MANY, &["--preview", "--output", "human"]).exits_with(0);
    for text in [
        "preview: 2 created, 2 modified, 1 with other attributes, 1 removed; lines +3 -1",
        "+three",
        "tree/sub: mode 0750 to 0700",
        "nothing was changed",
    ] {
        assert!(ran.stdout_text().contains(text), "{text}: {ran}");
    }
}

#[test]
fn what_cannot_be_held_is_refused_before_the_start() {
    let case = Layered::new(Runs::Self_);
    let marker = "open('%/outside', 'w').write('started')";
    for (switches, status, said) in [
        (&["--preview", "--allow-all"][..], 2, "cannot be used with"),
        (&["--preview", "--transaction"], 2, "cannot be used with"),
        (&["--preview-net"], 2, "--preview"),
        (&["--preview", "--allow-write", "/proc/self"], 3, "state of the kernel"),
        (&["--preview", "--allow-write", "/dev/shm/../.."], 3, "root of the machine"),
    ] {
        let ran = case.run(marker, switches).exits_with(status);
        assert!(ran.stdout_text().contains(said) || ran.stderr_text().contains(said), "{said}: {ran}");
        assert_eq!(case.read("outside"), "outside\n");
    }
}

#[test]
fn jobs_of_a_batch_are_previewed() {
    let case = Layered::new(Runs::Self_);
    let before = case.state();
    let path = case.dir.join("single").display().to_string();
    let job = |id: u32, effect: &str| {
        let module = module("lineinfile").display().to_string();
        let args = json!({"path": path, "line": format!("line {id}")});
        json!({"id": id, "module": module, "args": args, "effect": effect}).to_string()
    };
    let lines: Vec<String> = (0..4).map(|id| job(id, "preview")).collect();
    let ran = case.command(&["batch", "--ordered"]).stdin(lines.join("\n")).run().exits_with(0);
    for (id, line) in ran.stdout_text().lines().enumerate() {
        let report: Value = serde_json::from_str(line).unwrap();
        let diff = report["effect"]["changes"][0]["diff"].as_str().unwrap();
        assert_eq!(diff, format!("@@ -1 +1,2 @@\n single\n+line {id}\n"), "{line}");
    }
    assert_eq!(case.state(), before);
    let done = case.command(&["batch"]).stdin(job(7, "transaction")).run().exits_with(0);
    assert!(done.stdout_text().contains("\"committed\""), "{done}");
    assert_eq!(case.read("single"), "single\nline 7\n");
}

//! Rules for commands outside and the profiles that have them: what `policy show` and `policy check` print, and which runs are refused
//! since their commands cannot run outside. `core/native/native_outside.rs` has those that can.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::providers::providers_runs::provider;
use crate::support::{Modbox, TestDir, small_module};

const POLICY: &str = "modules:\n  probe:\n    profiles: [{manage-services: [nginx, 'php*-fpm']}, {manage-users: [deploy, sudo]}]\n    \
                      allow: {outside: ['nginx-test-program -t']}\n";

/// A native module that leaves a file, if it runs.
const MODULE: &str = "#!/bin/sh\n# WANT_JSON\n: > DIR/out/ran\necho '{\"changed\": true}'\n";

/// Returns a place with the module `probe`, and another one.
fn place() -> TestDir {
    let dir = TestDir::new();
    fs::create_dir(dir.join("out")).unwrap();
    for name in ["probe", "other"] {
        dir.write(&format!("library/{name}"), MODULE.replace("DIR", &dir.path().display().to_string()));
    }
    dir
}

/// Returns what `policy check` prints of a file, with its exit status.
fn checked(dir: &TestDir, text: &str, status: i32) -> String {
    dir.write("policy.yaml", text);
    Modbox::new(dir).args(["policy", "check", "policy.yaml"]).run().exits_with(status).stdout_text()
}

#[test]
fn every_rule_of_a_module_is_shown() {
    let dir = place();
    dir.write("policy.yaml", POLICY);
    let show = |words: &[&str]| {
        let words = [&["policy", "show", "--policy", "policy.yaml"], words].concat();
        Modbox::new(&dir).args(words).arg("./library/probe").run().exits_with(0)
    };
    let text = show(&[]).stdout_text();
    for expect in [
        "  outside systemctl {--no-block|--force|--now} (start|stop|restart|reload|enable|disable|mask|unmask) <unit>… for nginx \
         'php*-fpm' (profile manage-services, policy file policy.yaml, `probe`)\n",
        "  outside /etc/init.d/<unit> status for nginx 'php*-fpm' (profile manage-services, policy file policy.yaml, `probe`)\n",
        "  outside systemctl (daemon-reload|daemon-reexec) (profile manage-services, policy file policy.yaml, `probe`)\n",
        "  outside gpasswd (-a|-d) <user> <user> for deploy sudo (profile manage-users, policy file policy.yaml, `probe`)\n",
        "  outside nginx-test-program -t (policy file policy.yaml, `probe`)\n",
        "as powerful as root:\n  the name `sudo`: it is reserved, since it stops the machine or gives root's rights (profile \
         manage-users, policy file policy.yaml, `probe`)\n",
    ] {
        assert!(text.contains(expect), "{expect}\n{text}");
    }
    let json = show(&["--json"]).json();
    assert_eq!(json["root_powers"][0]["what"], "the name `sudo`");
    let grants = json["grants"].as_array().unwrap();
    assert!(grants.iter().filter(|grant| grant["capability"] == "outside").count() > 20, "{json}");
    // Other modules have none of it.
    let other = Modbox::new(&dir).args(["policy", "show", "--policy", "policy.yaml", "./library/other"]).run();
    assert!(!other.exits_with(0).stdout_text().contains("  outside "));
}

#[test]
fn mistakes_in_rules_and_profiles_are_found_with_their_places() {
    let dir = TestDir::new();
    let profiles = "`facts`, `packages`, `services`, `users`, `manage-cron`, `manage-firewall`, `manage-host`, `manage-kernel`, \
                    `manage-packages`, `manage-services`, `manage-users`, `update-packages`";
    let text = "modules:\n  a: {allow: {outside: ['systemctl restart *', 'x (a|(b))', 'x <package>']}}\n  \
                b: {profiles: [manage-everything, {manage-users: [0]}]}\nallow: {outside: [x]}\n";
    let found = checked(&dir, text, 2);
    for expect in [
        "policy.yaml:2:25: error: invalid grant `systemctl restart *`: rules for outside commands have no wildcards; spell the \
         words, use a kind such as `<name>`, or quote `*`, at character 19\n"
            .to_owned(),
        "policy.yaml:2:48: error: invalid grant `x (a|(b))`: groups cannot be nested; write the alternatives out, at character 6\n"
            .to_owned(),
        "policy.yaml:2:61: error: invalid grant `x <package>`: unknown kind `<package>`; expected one of <unit>, <pkg>, <user>"
            .to_owned(),
        format!("policy.yaml:3:18: error: unknown profile `manage-everything`; expected one of {profiles}\n"),
        "policy.yaml:3:53: error: `0` is not a name for <user>; expected a name, with `*` for any characters\n".to_owned(),
        "policy.yaml:4:9: error: `outside` is for single modules and tasks; write it below `modules` or `tasks`\n".to_owned(),
    ] {
        assert!(found.contains(&expect), "{expect}\n{found}");
    }
}

#[test]
fn what_is_as_powerful_as_root_is_a_warning() {
    let dir = TestDir::new();
    let text = "tasks:\n  'cron *': {profiles: [{manage-cron: [root]}]}\n  other: {allow: {outside: ['sh <input>']}, profiles: \
                [{manage-packages: [git]}]}\n";
    let found = checked(&dir, text, 0);
    for expect in [
        "policy.yaml:2:26: warning: as powerful as root: the name `root`: it is reserved, since it stops the machine or gives root's \
         rights\n",
        "policy.yaml:3:29: warning: as powerful as root: outside sh <input>: the program runs, loads or places what an argument \
         names\n",
        "policy.yaml:3:57: warning: the names do not bind `dpkg --set-selections` and `debconf-set-selections`, which read names \
         from their input\n",
    ] {
        assert!(found.contains(expect), "{expect}\n{found}");
    }
    let absent = checked(&dir, "modules: {a: {allow: {outside: [no-such-program]}}}", 0);
    assert!(absent.contains("warning: there is no program `no-such-program` in /usr/local/sbin, "), "{absent}");
    let plain = checked(&dir, "modules: {a: {profiles: [facts]}}", 0);
    assert!(!plain.contains("root") && !plain.contains("outside"), "{plain}");
}

/// The beginning and the end of the message of a refused run.
const REFUSED: [&str; 2] =
    ["the policy grants the command outside `", "so the module was not run; take the grant from the policy"];

#[test]
fn a_native_module_runs_under_such_a_policy() {
    let dir = place();
    dir.write("policy.yaml", POLICY);
    let out = dir.join("out");
    let write = ["--allow-write", out.to_str().unwrap()];
    for switches in [
        &["--policy", "policy.yaml"][..],
        &["--policy", "policy.yaml", "--allow-all"],
        &["--allow-outside", "true <n>"],
    ] {
        let run = Modbox::run_module(&dir, "./library/probe").args(write).args(switches).report().run().exits_with(0);
        assert_eq!(run.json()["outside"], serde_json::Value::Null, "{run}");
        std::fs::remove_file(out.join("ran")).unwrap();
    }
    let wrong = Modbox::run_module(&dir, "./library/probe").args(["--allow-outside", "true *"]).run().exits_with(2);
    wrong.says("invalid grant `--allow-outside true *`").says("rules for outside commands have no wildcards");
    dir.assert_nothing_left();
}

#[test]
fn what_cannot_start_commands_outside_is_not_run() {
    let dir = place();
    let out = dir.join("out");
    let component = small_module(&dir, "component");
    let provider = provider(&dir, "p", "", "echo");
    let outside = ["--allow-outside", "true <n>"];
    let run = |module: &Path, words: &[&str]| {
        let write = ["--allow-write", out.to_str().unwrap()];
        let done = Modbox::run_module(&dir, module).args(write).args(outside).args(words).report().run();
        assert!(!out.join("ran").exists(), "{done}");
        dir.assert_nothing_left();
        done.exits_with(4).json()["result"]["msg"].as_str().unwrap().to_owned()
    };
    let of_provider = run(&provider, &["ral_action=find", "name=x"]);
    assert!(REFUSED.iter().all(|part| of_provider.contains(part)), "{of_provider}");
    assert!(of_provider.contains("for modules alone; this is a provider"), "{of_provider}");
    assert!(of_provider.contains("`true <n>` (--allow-outside)"), "{of_provider}");
    for words in [&["--preview"][..], &["--transaction"]] {
        let message = run(&dir.join("library/probe"), words);
        assert!(message.contains("`true <n>`, which a preview or a transaction would really run"), "{message}");
        // A component on layers would really run it, too.
        let message = run(&component, words);
        assert!(message.contains("`true <n>`, which a preview or a transaction would really run"), "{message}");
    }
}

#[test]
fn a_task_runs_commands_outside_and_a_preview_of_its_play_does_not() {
    let dir = place();
    let out = dir.join("out");
    dir.write("play.yml", "- hosts: localhost\n  gather_facts: false\n  tasks:\n    - name: write it\n      probe:\n");
    let tool = dir.write("tool", format!("#!/bin/sh\necho \"$1\" >> {}/noted\n", dir.path().display()));
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).unwrap();
    let module = format!(
        "#!/bin/sh\n# WANT_JSON\n{} 7\n: > {}/ran\necho '{{\"changed\": true}}'\n",
        tool.display(),
        out.display()
    );
    dir.write("library/probe", module);
    let rules = format!("allow: {{write: ['{}'], outside: ['{} <n>']}}", out.display(), tool.display());
    dir.write("policy.yaml", format!("tasks: {{'write *': {{{rules}}}}}\n"));
    let words = ["play", "play.yml", "--module-path", "library", "--policy", "policy.yaml"];
    let previewed = Modbox::new(&dir).args(words).arg("--preview").run();
    assert!(!previewed.status.success() && !dir.join("noted").exists() && !out.join("ran").exists(), "{previewed}");
    assert!(previewed.stdout_text().contains("which a preview or a transaction would really run"), "{previewed}");
    let general = Modbox::new(&dir).args(words).args(["--allow-outside", "true"]).run().exits_with(2);
    general.says("write `outside` below `modules` or `tasks` of a policy file");
    let done = Modbox::new(&dir).args(words).run().exits_with(0);
    assert!(out.join("ran").exists() && fs::read_to_string(dir.join("noted")).unwrap() == "7\n", "{done}");
}

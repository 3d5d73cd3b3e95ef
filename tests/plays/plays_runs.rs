//! `modbox play` and `modbox template`: the real program, with modules of the play's own `library`.
//!
//! The engine of plays is compared with ansible-core elsewhere; here is what the program adds: sandboxes, the play's tree,
//! denials, exit statuses, output formats, and what is left of a play that is killed.

use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{Modbox, RunOutput, TestDir, wait_for};

/// A module that returns the text of its argument `text`, with template syntax around it.
const HOSTILE: &str = "#!/bin/sh\n# WANT_JSON\necho '{\"changed\": false, \"text\": \"{{ 12345 * 54321 }}\", \"{{ 12345 * 54321 }}\": 1}'\n";

/// A module that tries to read a file that nothing grants.
const READER: &str = "#!/bin/sh\n# WANT_JSON\nif read line < \"$HOME_OF_SECRET/secret\"; then echo '{\"failed\": true, \"msg\": \"read\"}'\n\
                      else echo '{\"changed\": true}'; fi\n";

fn play(dir: &TestDir, text: &str, args: &[&str]) -> RunOutput {
    dir.write("play.yml", text);
    Modbox::new(dir).arg("play").args(args).arg("play.yml").run()
}

/// Returns the events of a play.
fn events(output: &RunOutput) -> Vec<Value> {
    output.stdout_text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_module_of_ansible_is_missed_for_want_of_ansible_core() {
    let dir = TestDir::new();
    dir.write("play.yml", "- hosts: all\n  gather_facts: false\n  tasks:\n  - apt: {name: x}\n");
    let run = |words: &[&str]| Modbox::new(&dir).env("PATH", dir.join("nothing")).args(words).run();
    let told = run(&["play", "play.yml"]).exits_with(2).stderr_text();
    assert!(told.contains("module `apt`: no ansible-core was found; install it"), "{told}");
    assert!(told.contains("modbox itself has assemble,") && !told.contains("check its spelling"), "{told}");
    let told = run(&["run", "apt"]).exits_with(3).stderr_text();
    assert!(told.contains("ansible-core (not found; install it, or name its Python"), "{told}");
    // There is no Rust to build it either.
    let told = run(&["run", "ansible.builtin.ping"]).exits_with(3).stderr_text();
    assert!(told.contains("modbox's own module `ping` stands for `ansible.builtin.ping`"), "{told}");
}

#[test]
fn a_denied_module_of_ansible_names_the_component_to_build() {
    let dir = TestDir::new();
    dir.write("core/ansible/release.py", "__version__ = '2.19.0'");
    dir.write("core/ansible/module_utils/basic.py", "");
    let reader =
        "#!/bin/sh\n# WANT_JSON\nread line < /etc/shadow && echo '{}' || echo '{\"failed\": true, \"msg\": \"no\"}'\n";
    dir.write("core/ansible/modules/file.py", reader);
    dir.write("play.yml", "- hosts: all\n  gather_facts: false\n  tasks:\n  - file: {path: a}\n");
    let utils = dir.join("core/ansible/module_utils");
    let run = Modbox::new(&dir).own_cache(&dir).arg("play").arg("--module-utils").arg(utils).arg("play.yml");
    let ran = run.run().exits_with(1);
    let told = ran.stderr_text();
    let remedy = told.find("component `file` is not built; run `modbox build file`");
    assert!(
        remedy.is_some_and(|remedy| remedy < told.find("--allow").unwrap_or(usize::MAX)),
        "the narrow remedy first: {told}"
    );
}

#[test]
fn a_play_runs_its_modules_and_prints_what_ansible_prints() {
    let dir = TestDir::new();
    dir.write("library/hostile.sh", HOSTILE);
    let text = "- hosts: all\n  gather_facts: false\n  tasks:\n  - hostile:\n    register: r\n    notify: h\n    changed_when: true\n\
                \x20 - debug: {msg: \"{{ r.text }}\"}\n  handlers:\n  - name: h\n    debug: {msg: handled}\n";
    let ran = play(&dir, text, &[]).exits_with(0);
    let shown = ran.stdout_text();
    assert!(shown.contains("TASK [hostile] ****"), "{shown}");
    assert!(
        shown.contains("\"msg\": \"{{ 12345 * 54321 }}\"") && !shown.contains("670592745"),
        "a result is never a template: {shown}"
    );
    assert!(shown.contains("RUNNING HANDLER [h] ****") && shown.contains("ok=3    changed=1 "), "{shown}");
    dir.assert_nothing_left();
}

#[test]
fn modules_of_a_play_are_called_by_the_release_that_plays_follow() {
    let dir = TestDir::new();
    dir.write(
        "library/caller.sh",
        "#!/bin/sh\n# WANT_JSON\nv=$(sed 's/.*\"_ansible_version\": \"\\([^\"]*\\)\".*/\\1/' \"$1\")\n\
         echo \"{\\\"changed\\\": false, \\\"caller\\\": \\\"$v\\\"}\"\n",
    );
    let text = "- hosts: all\n  gather_facts: false\n  tasks:\n  - caller:\n    register: r\n\
                \x20 - caller:\n    async: 60\n    poll: 1\n    register: job\n\
                \x20 - assert: {that: [\"r.caller == ansible_version.full\", \"job.caller == r.caller\", \"r.caller == '2.21.5'\"]}\n";
    play(&dir, text, &[]).exits_with(0);
    dir.assert_nothing_left();
}

#[test]
fn results_are_never_templates_whatever_a_play_does_with_them() {
    let dir = TestDir::new();
    dir.write("library/hostile.sh", HOSTILE);
    let text = "- hosts: all\n  gather_facts: false\n  tasks:\n  - hostile:\n    register: r\n  - set_fact: {copied: \"{{ r.text }}\"}\n\
                \x20 - debug: {msg: \"{{ copied }} {{ item }}\"}\n    loop: [\"{{ r.text }}\", \"{{ copied }}\"]\n    register: d\n\
                \x20 - assert: {that: [\"d.results[0].msg == copied ~ ' ' ~ copied\", \"copied | length == 19\"]}\n\
                \x20 - debug: {msg: no}\n    when: \"{{ copied }}\"\n    ignore_errors: true\n    register: refused\n\
                \x20 - assert: {that: refused is failed}\n";
    let ran = play(&dir, text, &["--output", "jsonl"]).exits_with(0);
    assert!(!ran.stdout_text().contains("670592745"), "{}", ran.stdout_text());
}

#[test]
fn what_templates_lack_is_refused_by_name_before_anything_runs() {
    let dir = TestDir::new();
    dir.write(
        "filter_plugins/own.py",
        // No Python has this, so that the file cannot be loaded on any machine.
        "import no_such_module\nclass FilterModule:\n    def filters(self):\n        return {'own_filter': len}\n",
    );
    let text =
        |tasks: &str| format!("- hosts: all\n  gather_facts: false\n  tasks:\n  - debug: {{msg: first}}\n{tasks}");
    let bad = "  - debug: {msg: \"{{ 'a' | own_filter }}\"}\n";
    let file = dir.join("filter_plugins/own.py").display().to_string();
    let check = |tasks: &str, args: &[&str], status: i32, says: &str, runs: bool| {
        let ran = play(&dir, &text(tasks), args).exits_with(status);
        assert!(ran.stderr_text().contains(says), "{tasks}: {}", ran.stderr_text());
        assert_eq!(ran.stdout_text().contains("\"msg\": \"first\""), runs, "{tasks}: {}", ran.stdout_text());
    };
    let named = format!("play.yml:5:18: the filter `own_filter` is a Python plugin ({file})");
    // Every run would fail there, so none begins.
    check(bad, &[], 2, &named, false);
    check(bad, &["--syntax-check"], 2, &named, false);
    check("  - debug: {msg: \"{{ x }\"}\n", &[], 2, "play.yml:5:18: failed to parse the template", false);
    check("  - debug: {msg: \"{{ lookup('a.b.c') }}\"}\n", &[], 2, "the lookup `a.b.c` is a Python plugin", false);
    check("  - debug: {msg: a}\n    when: a is not_there\n", &[], 2, "No test named 'not_there'.", false);
    // A run that may be spared it begins, says so, and fails only if it comes there.
    check(&format!("{bad}    when: false\n"), &[], 0, &named, true);
    check(&format!("{bad}    when: false\n"), &["--syntax-check"], 0, &named, false);
    check(&format!("{bad}    ignore_errors: true\n"), &[], 0, &named, true);
    check(&format!("{bad}    tags: later\n"), &["--skip-tags", "later"], 0, &named, true);
    check(&format!("{bad}    when: true\n"), &[], 1, &named, true);
    let rescued = format!("  - block:\n    {}    rescue:\n    - debug: {{msg: saved}}\n", bad.trim_start());
    check(&rescued, &[], 0, "own_filter", true);
    // So is the file of a template, if the task names it and its syntax is the usual one.
    dir.write("templates/bad.j2", "first\n{{ 1 | not_there }}\n");
    let template = "  - template: {src: bad.j2, dest: made";
    let says = "templates/bad.j2:2:1: No filter named 'not_there'.";
    check(&format!("{template}}}\n"), &[], 2, says, false);
    check(&format!("{template}}}\n"), &["--syntax-check"], 2, says, false);
    check(&format!("{template}}}\n    when: false\n"), &[], 0, says, true);
    check(&format!("{template}, variable_start_string: '[['}}\n"), &["--syntax-check"], 0, "", false);
    check("  - template: {src: none.j2, dest: made}\n", &["--syntax-check"], 2, "the file `none.j2`", false);
    check("  - template: {src: \"{{ 'bad' }}.j2\", dest: made}\n", &["--syntax-check"], 0, "", false);
    // Known names in all their forms are accepted.
    check("  - debug: {msg: \"{{ 'a' | ansible.builtin.upper }}\"}\n", &["--syntax-check"], 0, "", false);
}

#[test]
fn a_module_reaches_only_what_its_task_names() {
    let dir = TestDir::new();
    dir.write("library/reader.sh", READER);
    dir.write("secret", "s\n");
    let home = dir.path().display().to_string();
    let text = format!(
        "- hosts: all\n  gather_facts: false\n  tasks:\n  - reader:\n    environment: {{HOME_OF_SECRET: {home}}}\n"
    );
    let ran = play(&dir, &text, &["--output", "jsonl"]).exits_with(0);
    let events = events(&ran);
    let result = events.iter().find(|event| event["event"] == "result").unwrap();
    assert_eq!(result["status"], "changed", "{result}");
    let report = &result["reports"][0];
    assert!(report["confinement"]["level"].as_u64() >= Some(2), "{report}");
    let granted = report["grants"].as_array().unwrap();
    assert!(granted.iter().any(|grant| grant["source"] == "`environment` of the task"), "{report}");
    // The same module reads the file if the operator grants it.
    let ran = play(&dir, &text, &["--allow-read", "secret"]).exits_with(1);
    assert!(ran.stdout_text().contains("\"msg\": \"read\""), "{}", ran.stdout_text());
}

#[test]
fn mistakes_are_told_before_anything_runs() {
    let dir = TestDir::new();
    dir.write("library/toucher.sh", "#!/bin/sh\n# WANT_JSON\ntouch ran\necho '{}'\n");
    let task = |rest: &str| format!("- hosts: all\n  gather_facts: false\n  tasks:\n  - toucher:\n{rest}");
    for (text, expect) in [
        (task("    whne: true\n"), "play.yml:5:5"),
        (task("  - no_such_module: {}\n"), "no_such_module"),
        (task("  - import_role: {name: ../../x}\n"), "x"),
        (task("  - debug: {msg: a\n"), "play.yml"),
        ("- hosts: all\n  strategy: debug\n".to_owned(), "strategy"),
        ("text\n".to_owned(), "play.yml:1:1"),
        (String::new(), "empty"),
    ] {
        let ran = play(&dir, &text, &[]).exits_with(2);
        assert!(ran.stderr_text().contains(expect), "{text}: {}", ran.stderr_text());
        assert!(!dir.join("ran").exists());
    }
    let missing = Modbox::new(&dir).args(["play", "none.yml"]).run().exits_with(2);
    assert!(missing.stderr_text().contains("failed to read the playbook"), "{}", missing.stderr_text());
}

#[test]
fn files_outside_of_the_plays_folders_need_a_grant() {
    let dir = TestDir::new();
    dir.write("outside.yml", "x: 1\n");
    dir.write(
        "play/play.yml",
        "- hosts: all\n  gather_facts: false\n  vars_files: [../outside.yml]\n  tasks:\n  - debug: {var: x}\n",
    );
    let run = |args: &[&str]| Modbox::new(&dir).arg("play").args(args).arg("play/play.yml").run();
    let denied = run(&[]);
    let told = denied.stdout_text() + &denied.stderr_text();
    assert!(told.contains("--allow-read"), "{told}");
    let allowed = run(&["--allow-read", "outside.yml"]).exits_with(0);
    assert!(allowed.stdout_text().contains("\"x\": 1"), "{}", allowed.stdout_text());
}

#[test]
fn a_failed_task_a_denied_task_and_a_limit_have_their_statuses() {
    let dir = TestDir::new();
    dir.write("library/sleeper.sh", "#!/bin/sh\n# WANT_JSON\nwhile :; do :; done\n");
    let task = |task: &str| format!("- hosts: all\n  gather_facts: false\n  tasks:\n  - {task}\n");
    play(&dir, &task("fail: {msg: x}"), &[]).exits_with(1);
    let limited = play(&dir, &task("sleeper:"), &["--timeout", "1s"]).exits_with(5);
    assert!(limited.stdout_text().contains("failed=1"), "{}", limited.stdout_text());
    dir.assert_nothing_left();
}

#[test]
fn a_module_that_is_not_started_fails_whatever_its_task_says_of_failures() {
    let dir = TestDir::new();
    dir.write("play/library/told.py", "#!/bin/sh\n# WANT_JSON\necho '{}'\n");
    dir.write(
        "trust.yaml",
        format!("trust: {{require-signature: true, signers: {}}}\n", dir.join("signers").display()),
    );
    dir.write("signers", "");
    let task =
        "- hosts: all\n  gather_facts: false\n  tasks:\n  - {told: {}, failed_when: false, until: true, retries: 2}\n";
    dir.write("play/play.yml", task);
    let ran = Modbox::new(&dir).args(["play", "--policy", "trust.yaml", "--output", "jsonl", "play/play.yml"]).run();
    let ran = ran.exits_with(4);
    let result = events(&ran).into_iter().find(|event| event["event"] == "result").unwrap();
    assert!(result["result"]["msg"].as_str().unwrap().contains("requires a signature"), "{result:#}");
    assert_eq!((&result["status"], &result["result"].get("attempts")), (&json!("failed"), &None), "{result:#}");
}

#[test]
fn a_page_shows_the_tasks_and_no_markup_of_modules() {
    let dir = TestDir::new();
    dir.write("library/markup.sh", "#!/bin/sh\n# WANT_JSON\necho '{\"msg\": \"<img src=x onerror=alert(1)>\"}'\n");
    let text = "- hosts: all\n  gather_facts: false\n  tasks:\n  - name: <b>bold</b>\n    markup:\n";
    let page = play(&dir, text, &["--output", "html"]).exits_with(0).stdout_text();
    assert!(page.starts_with("<!DOCTYPE html>") && page.trim_end().ends_with("</html>"), "{page}");
    assert!(page.contains("&lt;b&gt;bold&lt;/b&gt;") && !page.contains("<img"), "{page}");
}

/// A play that waits in a module, with a handler that was notified and tasks that run even after a failure.
const WAITING: &str = "- hosts: all
  gather_facts: false
  tasks:
  - block:
    - debug: {msg: begun}
      changed_when: true
      notify: handled
    - waiter:
    always:
    - debug: {msg: even after a failure}
  handlers:
  - name: handled
    debug: {msg: a handler}
";

#[test]
fn a_killed_play_leaves_nothing_and_does_nothing_more() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP, Signal::KILL] {
        let dir = TestDir::new();
        let begun = dir.join("begun").display().to_string();
        dir.write("library/waiter.sh", format!("#!/bin/sh\n# WANT_JSON\nsleep 1000 &\necho $! > {begun}\nwait\n"));
        dir.write("library/nothing.sh", "#!/bin/sh\n# WANT_JSON\necho '{}'\n");
        dir.write("play.yml", WAITING);
        let play = || Modbox::new(&dir).args(["play", "--force-handlers", "--allow-write", "."]);
        let running = play().arg("play.yml").spawn();
        assert!(wait_for(Duration::from_secs(60), || dir.join("begun").exists()), "the module begins");
        running.signal(signal);
        let ended = running.wait().dies_of(signal);
        let shown = ended.stdout_text();
        assert!(shown.contains("begun") && shown.contains("TASK [waiter]"), "{signal:?}: {shown}");
        for more in ["a handler", "even after", "RECAP", "fatal"] {
            assert!(!shown.contains(more), "{signal:?}: {shown}");
        }
        if signal == Signal::INT {
            assert_eq!(ended.stderr_text(), "modbox: interrupted\n");
        }
        if signal == Signal::KILL {
            // The next play sweeps what this signal leaves behind.
            dir.write("next.yml", "- hosts: all\n  gather_facts: false\n  tasks: [nothing: ]\n");
            play().arg("next.yml").run().exits_with(0);
        }
        dir.assert_nothing_left();
    }
}

#[test]
fn templates_are_rendered_by_the_command() {
    let dir = TestDir::new();
    let run = |args: &[&str]| Modbox::new(&dir).arg("template").args(args).run();
    assert_eq!(
        run(&["Hello {{ name | capitalize }}", "-e", "name=world"]).exits_with(0).stdout_text(),
        "Hello World\n"
    );
    assert_eq!(run(&["--expression", "[1, 2] | sum"]).exits_with(0).stdout_text(), "3\n");
    // A filter that is given something undefined returns it, so that a default applies.
    let undefined = ["-e", "{\"d\": {\"k\": \"{{ nope }}\"}}"];
    let kept = [&["--expression", "d.items() | list | default([])"], &undefined[..]].concat();
    assert_eq!(run(&kept).exits_with(0).stdout_text(), "[]\n");
    let wrong = run(&["{{ nope }}"]).exits_with(1);
    assert!(wrong.stderr_text().contains("'nope' is undefined"), "{}", wrong.stderr_text());
    dir.write("t.j2", "{% include 'part.j2' %}-{{ x }}\n");
    dir.write("part.j2", "part");
    assert_eq!(run(&["@t.j2", "-e", "x=1"]).exits_with(0).stdout_text(), "part-1\n");
    let denied = run(&["{{ lookup('file', '/etc/hostname') }}"]).exits_with(1);
    assert!(denied.stderr_text().contains("--allow-read /etc/hostname"), "{}", denied.stderr_text());
    let lines = "{\"template\": \"{{ a }}\", \"variables\": {\"a\": \"{{ 1 + 1 }}\"}}\n\
                 {\"template\": \"{{ a }}\", \"data\": {\"a\": \"{{ 1 + 1 }}\"}}\nnonsense\n\
                 {\"template\": \"{{ a }}\", \"vars\": {\"a\": 1}}\n";
    let answers = Modbox::new(&dir).args(["template", "--jsonl"]).stdin(lines).run().exits_with(0);
    let answers: Vec<Value> = events(&answers);
    assert_eq!((&answers[0]["value"], &answers[1]["value"]), (&2.into(), &"{{ 1 + 1 }}".into()));
    assert!(answers[2]["broken"].as_str().unwrap().contains("not JSON"), "{}", answers[2]);
    assert!(answers[3]["broken"].as_str().unwrap().starts_with("unknown key `vars`; the keys"), "{}", answers[3]);
}

/// Variables of many files, in the order of the last ones of each name; 200,000 of one file within 20 s of processor time.
#[test]
fn many_variables_of_files_are_read_in_little_time() {
    let dir = TestDir::new();
    let many: String = (0..200_000).map(|number| format!("\"key_{number}\": {number},\n")).collect();
    dir.write("vars/a.json", format!("{{{many} \"last\": 1}}"));
    dir.write("vars/b.yml", "key_7: again\n");
    let tasks = "  - include_vars: {dir: vars, name: all_of_them}\n  - assert: {that: [\"all_of_them.key_7 == 'again'\", \
                 \"all_of_them | length == 200001\", \"(all_of_them | list)[-1] == 'key_7'\"]}\n";
    dir.write("play.yml", format!("- hosts: all\n  gather_facts: false\n  tasks:\n{tasks}"));
    let limited = Modbox::of("/bin/sh".as_ref(), &dir).args(["-c", "ulimit -t 20; exec \"$0\" play play.yml"]);
    limited.arg(env!("CARGO_BIN_EXE_modbox")).run().exits_with(0);
}

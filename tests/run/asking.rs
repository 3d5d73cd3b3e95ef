//! `modbox run --ask` on a terminal: what is asked, what each answer does, and what is never asked. Each situation is played
//! by keys on a terminal, and what the person sees is compared.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Modbox, RunOutput, TestDir, component, fixture, guest, module, stretched};

/// Time in which a run with questions ends, with what it may compile.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A native module without documentation, so that nothing is designated. It runs the code in `do`.
const MODULE: &str = r#"#!/usr/bin/python3
# WANT_JSON
import json, os, sys
args = json.load(open(sys.argv[1]))
try:
    exec(args["do"])
    print(json.dumps({"changed": True}))
except Exception as error:
    print(json.dumps({"failed": True, "msg": repr(error)}))
"#;

/// End of a question.
pub(crate) const KEYS: &str = "n no > ";

/// Makes a folder with modules and a file.
pub(crate) fn place() -> TestDir {
    let dir = TestDir::new();
    dir.write_executable("native", MODULE);
    fs::copy(module("lineinfile"), dir.join("lineinfile.wasm")).unwrap();
    dir.write("site/motd", "hello\n");
    dir.write("site/other", "other\n");
    dir
}

pub(crate) fn modbox(dir: &TestDir) -> Modbox {
    Modbox::new(dir).env("XDG_STATE_HOME", dir.join("home/state"))
}

/// Runs modbox on a terminal. A step is a text, the keys that are typed after it, and what is done before.
pub(crate) fn on_terminal(dir: &TestDir, steps: &Value, words: &[&str]) -> RunOutput {
    let patience = stretched(PATIENCE);
    Modbox::of(Path::new("python3"), dir)
        .arg(fixture("plays/terminal.py"))
        .args([&patience.as_secs().to_string(), &steps.to_string(), env!("CARGO_BIN_EXE_modbox"), "run"])
        .args(words)
        .env("XDG_STATE_HOME", dir.join("home/state"))
        .patience(patience + PATIENCE)
        .run()
}

/// The words that have `lineinfile` write the file, which nothing grants.
pub(crate) fn line(dir: &TestDir, line: &str) -> Vec<String> {
    let path = format!("path={}", dir.join("site/motd").display());
    ["./lineinfile.wasm", "--designated=none", &path, &format!("line={line}")].map(str::to_owned).to_vec()
}

pub(crate) fn asked(dir: &TestDir, steps: &Value, words: &[String]) -> RunOutput {
    let words: Vec<&str> = ["--ask"].into_iter().chain(words.iter().map(String::as_str)).collect();
    on_terminal(dir, steps, &words)
}

/// The words that have the native module run code, in which `%` stands for the folder.
fn code(dir: &TestDir, code: &str) -> Vec<String> {
    vec!["./native".to_owned(), format!("do={}", code.replace('%', &dir.path().display().to_string()))]
}

/// What the person sees, without the folder's name.
fn shown(dir: &TestDir, ran: &RunOutput) -> String {
    ran.stdout_text().replace("\r\n", "\n").replace(&dir.path().display().to_string(), "%")
}

fn motd(dir: &TestDir) -> String {
    fs::read_to_string(dir.join("site/motd")).unwrap()
}

/// Returns the files of the folder of answers.
pub(crate) fn answers(dir: &TestDir) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(dir.join("home/.config/modbox/policy.d")) else { return Vec::new() };
    entries.map(|entry| entry.unwrap().path()).collect()
}

fn user_policy(dir: &TestDir, text: &str) {
    dir.write("home/.config/modbox/policy.yaml", text);
}

/// The question of [`line`].
const QUESTION: &str = "modbox: lineinfile 0.1.0 (no signature checked) asks to write %/site/motd\n        \
                        the argument path names it\n  o once   a always   n no > \n";

#[test]
fn once_is_for_this_command() {
    let dir = place();
    let ran = asked(&dir, &json!([[KEYS, "o"]]), &line(&dir, "new")).exits_with(0);
    let seen = shown(&dir, &ran);
    assert!(
        seen.starts_with(&format!("{QUESTION}modbox: once: write %/site/motd\nchanged: lineinfile 0.1.0\n")),
        "{seen}"
    );
    assert_eq!((motd(&dir).as_str(), answers(&dir).len()), ("hello\nnew\n", 0));
    modbox(&dir).arg("run").args(line(&dir, "next")).run().exits_with(4);
    dir.assert_nothing_left();
}

#[test]
fn always_is_a_file_of_its_own_until_it_is_removed() {
    let dir = place();
    user_policy(&dir, "# mine\n");
    let ran = asked(&dir, &json!([[KEYS, "a"]]), &line(&dir, "new")).exits_with(0);
    let seen = shown(&dir, &ran);
    let written = "modbox: always: written to `%/home/.config/modbox/policy.d/lineinfile-";
    assert!(seen.starts_with(&format!("{QUESTION}{written}")), "{seen}");
    let [file] = &answers(&dir)[..] else { panic!("{seen}") };
    let text = fs::read_to_string(file).unwrap();
    assert!(text.contains("# Module: lineinfile 0.1.0 (no signature checked)\n"), "{text}");
    assert!(text.contains("# Reason: the argument path names it\n"), "{text}");
    assert!(text.contains(&format!("      write:\n        - \"{}\"\n", dir.join("site/motd").display())), "{text}");
    // The next run needs no question, on no terminal.
    modbox(&dir).arg("run").args(line(&dir, "next")).run().exits_with(0);
    let listed = modbox(&dir).args(["policy", "show", "./lineinfile.wasm"]).run().exits_with(0).stdout_text();
    assert!(listed.contains(&format!("  {}\n", file.display())), "{listed}");
    assert!(
        listed.contains(&format!("write {} (policy file {}", dir.join("site/motd").display(), file.display())),
        "{listed}"
    );
    modbox(&dir).args(["policy", "check"]).arg(file).run().exits_with(0);
    // It is for these bytes, not for the name.
    fs::copy(guest("echo"), dir.join("lineinfile.wasm")).unwrap();
    let other = modbox(&dir).args(["policy", "show", "./lineinfile.wasm"]).run().exits_with(0).stdout_text();
    assert!(!other.contains("  write "), "{other}");
    fs::copy(module("lineinfile"), dir.join("lineinfile.wasm")).unwrap();
    fs::remove_file(file).unwrap();
    modbox(&dir).arg("run").args(line(&dir, "third")).run().exits_with(4);
    assert_eq!(fs::read_to_string(dir.join("home/.config/modbox/policy.yaml")).unwrap(), "# mine\n");
}

#[test]
fn no_and_ctrl_c_change_nothing() {
    let dir = place();
    let ran = asked(&dir, &json!([[KEYS, "xn"]]), &line(&dir, "new")).exits_with(4);
    let seen = shown(&dir, &ran);
    assert!(seen.starts_with(&format!("{QUESTION}denied: lineinfile 0.1.0\n")), "{seen}");
    // Python's form of the end by SIGINT.
    asked(&dir, &json!([[KEYS, "\u{3}"]]), &line(&dir, "new")).exits_with(254);
    assert_eq!((motd(&dir).as_str(), answers(&dir).len()), ("hello\n", 0));
    dir.assert_nothing_left();
}

#[test]
fn a_native_module_starts_again_and_nothing_half_done_remains() {
    let dir = place();
    let words = code(&dir, "open('%/site/motd', 'a').write('one\\n'); open('%/site/other', 'a').write('two\\n')");
    let motd_refused =
        "asks to write %/site/motd\n        the module was refused it (open); its changes are discarded\n";
    let ran = asked(&dir, &json!([[KEYS, "o"], [KEYS, "n"]]), &words).exits_with(4);
    let seen = shown(&dir, &ran);
    assert!(seen.contains(motd_refused) && seen.contains("asks to write %/site/other\n"), "{seen}");
    assert_eq!(motd(&dir), "hello\n");
    asked(&dir, &json!([[KEYS, "o"], [KEYS, "o"]]), &words).exits_with(0);
    assert_eq!(
        (motd(&dir).as_str(), fs::read_to_string(dir.join("site/other")).unwrap().as_str()),
        ("hello\none\n", "other\ntwo\n")
    );
    dir.assert_nothing_left();
}

#[test]
fn a_denial_that_a_module_gets_over_is_not_asked_about() {
    let dir = place();
    let words = code(&dir, "\ntry: open('%/site/motd')\nexcept OSError: pass");
    let seen = shown(&dir, &asked(&dir, &json!([]), &words).exits_with(0));
    assert!(!seen.contains("asks to"), "{seen}");
}

#[test]
fn what_no_answer_should_grant_is_never_asked() {
    let dir = place();
    dir.mkdir("audit");
    user_policy(&dir, &format!("audit: {}\n", dir.join("audit/log").display()));
    for (text, why) in [
        ("os.mkdir('/etc/none')", "root or a top-level folder"),
        ("open('%/home/.config/modbox/policy.yaml', 'w')", "it decides about grants"),
        ("open('%/home/.config/modbox/policy.d/x.yaml', 'w')", "it decides about grants"),
        ("open('%/audit/log', 'a')", "it decides about grants"),
        ("import socket; socket.create_connection(('127.0.0.1', 9))", "does not name a host"),
    ] {
        fs::create_dir_all(dir.join("home/.config/modbox/policy.d")).unwrap();
        let seen = shown(&dir, &asked(&dir, &json!([]), &code(&dir, text)).exits_with(1));
        assert!(!seen.contains("asks to"), "{text}: {seen}");
        assert!(seen.contains("modbox: not asked: ") && seen.contains(why), "{text}: {seen}");
    }
    assert_eq!(answers(&dir).len(), 0);
}

#[test]
fn sections_of_policy_files_bound_questions() {
    let dir = place();
    let site = dir.join("site");
    for (policy, is_asked) in [
        (format!("ask: {{write: [{}]}}", site.display()), true),
        (format!("ask: {{read: [{}]}}", site.display()), false),
        (format!("ask: {{write: [{}]}}", site.join("other").display()), false),
        (format!("modules: {{lineinfile: {{ask: {{write: [{}]}}}}}}", site.display()), true),
        (format!("modules: {{other: {{ask: {{write: [{}]}}}}}}", site.display()), false),
        ("ask: {}".to_owned(), false),
    ] {
        user_policy(&dir, &policy);
        let steps = if is_asked { json!([[KEYS, "n"]]) } else { json!([]) };
        let seen = shown(&dir, &asked(&dir, &steps, &line(&dir, "new")).exits_with(4));
        let left_out = "modbox: not asked: write %/site/motd: the sections `ask` of the policy files do not have it\n";
        assert_eq!((seen.contains(QUESTION), seen.contains(left_out)), (is_asked, !is_asked), "{policy}: {seen}");
    }
    // A second file takes away.
    user_policy(&dir, &format!("ask: {{write: [{}]}}", site.display()));
    dir.write("more.yaml", format!("ask: {{write: [{}]}}", site.join("other").display()));
    let words = [line(&dir, "new"), vec!["--policy=more.yaml".to_owned()]].concat();
    asked(&dir, &json!([]), &words).exits_with(4);
    let listed = modbox(&dir).args(["policy", "show", "--policy", "more.yaml"]).run().exits_with(0);
    assert!(listed.stdout_text().contains("may be asked:\n  write "), "{listed}");
    let wrong = dir.write("wrong.yaml", "ask: {reed: [], read: [/none/none]}");
    let checked = modbox(&dir).args(["policy", "check"]).arg(&wrong).run().exits_with(2).stdout_text();
    assert!(checked.contains("unknown key `reed`") && checked.contains("invalid grant `/none/none`"), "{checked}");
}

#[test]
fn a_section_asks_on_a_terminal_without_the_switch() {
    let dir = place();
    let words = line(&dir, "new");
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let seen = shown(&dir, &on_terminal(&dir, &json!([]), &words).exits_with(4));
    assert!(!seen.contains("asks to"), "{seen}");
    user_policy(&dir, &format!("ask: {{write: [{}]}}", dir.join("site").display()));
    on_terminal(&dir, &json!([[KEYS, "o"]]), &words).exits_with(0);
    assert_eq!(motd(&dir), "hello\nnew\n");
    // Without a terminal the section does nothing, and with other ways of running neither.
    modbox(&dir).arg("run").args(line(&dir, "next")).run().exits_with(4);
    on_terminal(&dir, &json!([]), &[&words[..], &["--check"]].concat()).exits_with(4);
}

#[test]
fn without_a_terminal_the_switch_is_a_mistake() {
    let dir = place();
    let ran = modbox(&dir).args(["run", "--ask"]).args(line(&dir, "new")).run().exits_with(2);
    assert!(ran.stderr_text().contains("`--ask` asks a person on a terminal"), "{ran}");
    for other in ["--check", "--allow-all", "--watch", "--async=1m", "--learn=x", "--keep-files"] {
        let ran = modbox(&dir).args(["run", "--ask", other]).args(line(&dir, "new")).run().exits_with(2);
        assert!(ran.stderr_text().contains("cannot be used with"), "{other}: {ran}");
    }
}

#[test]
fn a_ceiling_is_not_asked_about() {
    let dir = place();
    dir.write("signers", "");
    let (signers, site) = (dir.join("signers"), dir.join("site"));
    let policy = |most: &str| {
        format!("trust:\n  signers: {}\n  rules:\n    - {{unsigned: true, at-most: {most}}}\n", signers.display())
    };
    dir.write("policy.yaml", policy(&format!("{{read: [{}]}}", site.display())));
    let words = [line(&dir, "new"), vec!["--policy=policy.yaml".to_owned()]].concat();
    let seen = shown(&dir, &asked(&dir, &json!([]), &words).exits_with(4));
    assert!(!seen.contains("asks to"), "{seen}");
    dir.write("policy.yaml", policy(&format!("{{write: [{}]}}", site.display())));
    let seen = shown(&dir, &asked(&dir, &json!([[KEYS, "o"]]), &words).exits_with(0));
    assert!(seen.contains("modbox: lineinfile 0.1.0 (not signed) asks to write %/site/motd\n"), "{seen}");
}

#[test]
fn a_preview_asks_too_and_changes_nothing() {
    let dir = place();
    let words = [line(&dir, "new"), vec!["--preview".to_owned()]].concat();
    let seen = shown(&dir, &asked(&dir, &json!([[KEYS, "o"]]), &words).exits_with(0));
    assert!(seen.contains("modified %/site/motd"), "{seen}");
    assert_eq!(motd(&dir), "hello\n");
}

#[test]
fn keys_before_a_question_do_not_answer_it() {
    let dir = place();
    let words = code(&dir, "open('%/site/motd', 'a').write(open('%/site/other').read())");
    // Three keys at the first question: only one is its answer.
    let ran = asked(&dir, &json!([[KEYS, "ooo"], [KEYS, "n"]]), &words).exits_with(4);
    assert_eq!((motd(&dir).as_str(), shown(&dir, &ran).matches("asks to").count()), ("hello\n", 2), "{ran}");
}

#[test]
fn keys_without_a_character_answer_nothing() {
    let dir = place();
    // Arrows, a key with Alt, and a pasted text.
    let keys = "\u{1b}[A\u{1b}[1;5A\u{1b}OA\u{1b}o\u{1b}[200~always\u{1b}[201~n";
    asked(&dir, &json!([[KEYS, keys]]), &line(&dir, "new")).exits_with(4);
    assert_eq!((motd(&dir).as_str(), answers(&dir).len()), ("hello\n", 0));
}

#[test]
fn a_signal_ends_a_question() {
    let dir = place();
    for (signal, status) in [("INT", 254), ("TERM", 241)] {
        let step = json!([[KEYS, "", format!("kill -{signal} $PID")]]);
        // Python's form of the end by a signal.
        asked(&dir, &step, &line(&dir, "new")).exits_with(status);
        assert_eq!((motd(&dir).as_str(), answers(&dir).len()), ("hello\n", 0));
    }
    dir.assert_nothing_left();
}

#[test]
fn a_link_is_said_and_holds_for_what_it_led_to() {
    let dir = place();
    std::os::unix::fs::symlink(dir.join("site/motd"), dir.join("site/link")).unwrap();
    let words = code(&dir, "open('%/site/link', 'a').write('new\\n')");
    let swap = format!("ln -sfn {} {}", dir.join("site/other").display(), dir.join("site/link").display());
    let ran = asked(&dir, &json!([[KEYS, "o", swap], [KEYS, "n"]]), &words).exits_with(4);
    let seen = shown(&dir, &ran);
    assert!(seen.contains("        a link leads to %/site/motd\n"), "{seen}");
    assert!(seen.contains("asks to write %/site/other\n"), "{seen}");
    assert_eq!(
        (motd(&dir).as_str(), fs::read_to_string(dir.join("site/other")).unwrap().as_str()),
        ("hello\n", "other\n")
    );
}

#[test]
fn what_a_module_says_is_marked_as_its_words() {
    let dir = place();
    let text = fs::read_to_string(fixture("cli/sessions/modules/asks.wat")).unwrap();
    let other = dir.join("site/other").display().to_string();
    let text = text.replacen(r#"\"env\""#, r#"\"read\""#, 1).replace("ASKED", &other);
    // A line that looks like the end of the question.
    component(&dir, "asks.wasm", &text.replace("says what to do", r"to work\\n  o once\\u202e"));
    let words = ["./asks.wasm".to_owned(), format!("log={}", dir.join("site/motd").display())];
    let seen = shown(&dir, &asked(&dir, &json!([[KEYS, "o"]]), &words).exits_with(0));
    let question = "modbox: asks 1.0.0 (no signature checked) asks to read %/site/other\n        the module cannot do without it, \
                    by its own word\n        the module says: \"to work\\u{a}  o once\\u{202e}\"\n  o once   a always   n no > \n";
    assert!(seen.starts_with(question), "{seen}");
}

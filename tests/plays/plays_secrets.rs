//! Secrets of plays that follow ansible-core 2.22: texts that templates register, answers that are typed unseen, passwords of
//! lookups and of `become`. They are in nothing that the play shows, and tasks use them as they are.

use std::path::Path;
use std::time::Duration;

use serde_json::json;

use crate::support::{Modbox, RunOutput, TestDir, fixture, stretched};

/// Time in which a play of no work ends.
const PATIENCE: Duration = Duration::from_secs(20);

/// Parts of which the plays make secrets, so that no line of them has one.
const PARTS: (&str, &str) = ("Q7x9", "kWz4");

fn secret() -> String {
    format!("{}{}", PARTS.0, PARTS.1)
}

/// A module that tells all its arguments.
const TELLER: &str =
    "#!/bin/sh\n# WANT_JSON\ncat \"$1\" >&2\nprintf '{\"changed\": true, \"told\": %s}' \"$(cat \"$1\")\"\n";

/// Tasks that put the variable `tok` everywhere, and look for its value where it is used.
const USES: &str = r#"
  - name: "named {{ tok }}"
    debug: {msg: "msg {{ tok }}", verbosity: 0}
  - teller: {text: "a {{ tok }} b"}
    register: said
  - assert: {that: ["said.told.text == 'a ' ~ one ~ two ~ ' b'"]}
  - teller: {text: "{{ item }}"}
    loop: [x, "{{ tok }}"]
    loop_control: {label: "label {{ item }}"}
  - set_fact: {kept: {"key {{ tok }}": "{{ tok }}"}}
  - debug: {var: kept}
  - command: "echo {{ tok }}"
    ignore_errors: true
  - fail: {msg: "failed of {{ tok }}"}
    ignore_errors: true
  - debug: {msg: "{{ ('x' ~ tok) | int + 'y' }}"}
    ignore_errors: true
  - include_vars: "{{ tok }}.yml"
    ignore_errors: true
  - set_stats: {data: {stat: "{{ tok }}"}}
  - debug: {msg: "{{ lookup('file', tok) }}"}
    ignore_errors: true
"#;

fn write_play(dir: &TestDir, vars: &str, tasks: &str) {
    dir.write("library/teller.sh", TELLER);
    let (one, two) = PARTS;
    let head =
        format!("- hosts: localhost\n  gather_facts: false\n  vars: {{one: {one}, two: {two}}}\n{vars}  tasks:\n");
    dir.write("play.yml", format!("{head}{tasks}"));
}

fn play(dir: &TestDir, args: &[&str]) -> RunOutput {
    Modbox::new(dir).args(["play", "play.yml"]).args(args).run()
}

/// Fails if a text has the secret in it, as it is or as some notation writes it.
#[track_caller]
fn assert_untold(what: &str, text: &str) {
    assert!(!text.contains(&secret()), "{what} tells the secret:\n{text}");
}

#[test]
fn registered_secrets_are_in_nothing_that_a_play_shows() {
    let dir = TestDir::new();
    let register = "  - set_fact: {tok: \"{{ (one ~ two) | register_secret }}\"}\n    no_log: true\n";
    write_play(&dir, "", &format!("{register}{USES}"));
    dir.write("policy.yaml", format!("audit: {}\n", dir.join("audit.log").display()));
    for format in ["human", "jsonl", "html"] {
        let args = ["--contract", "2.22", "--output", format, "-vvv", "--policy", "policy.yaml", "--log", "debug"];
        let ran = play(&dir, &args).exits_with(0);
        assert_untold(format, &ran.stdout_text());
        assert_untold("standard error", &ran.stderr_text());
        assert!(ran.stdout_text().contains("$REDACTED$"), "{ran}");
    }
    let explained = play(&dir, &["--contract", "2.22", "--explain"]);
    assert_untold("--explain", &explained.stdout_text());
    let audit = std::fs::read_to_string(dir.join("audit.log")).unwrap();
    assert!(audit.contains("teller"), "{audit}");
    assert_untold("the audit log", &audit);
    dir.assert_nothing_left();
}

#[test]
fn masking_in_templates_follows_what_is_registered() {
    let dir = TestDir::new();
    write_play(
        &dir,
        "",
        r#"
  - assert:
      that:
      - "('x' ~ one) | mask_secrets == 'x' ~ one"
      - "('  ' ~ one ~ '\n') | register_secret == '  ' ~ one ~ '\n'"
      - "('x' ~ one ~ 'y') | mask_secrets(mask_placeholder='***') == 'x***y'"
      - "('x' ~ one ~ two) | ansible.builtin.mask_secrets('-') == 'x-' ~ two"
      - "('$REDACTED$' ~ one) | mask_secrets('-') == '$REDACTED$-'"
      - "0 | mask_secrets == 0"
      - "5 | register_secret(validation_action='ignore') == 5"
      - "' ' | register_secret(validation_action='warn') == ' '"
  - debug: {msg: "{{ 12 | mask_secrets }}"}
    ignore_errors: true
  - debug: {msg: "{{ ['listed'] | register_secret }}"}
    ignore_errors: true
  - debug: {msg: "{{ one | register_secret('warn') }}"}
    ignore_errors: true
"#,
    );
    let ran = play(&dir, &["--contract", "2.22"]).exits_with(0);
    let shown = ran.stdout_text() + &ran.stderr_text();
    for expect in [
        "The filter plugin 'ansible.builtin.mask_secrets' failed: secret masking failed",
        "The filter plugin 'ansible.builtin.register_secret' failed: Secret must be a string",
        "register_secret() takes 1 positional argument but 2 were given",
        "(source not shown: content redacted)",
        "Secret must not be empty after trimming whitespace",
    ] {
        assert!(shown.contains(expect), "`{expect}` is missing: {shown}");
    }
    // The lines of the play around the task whose value may be a secret.
    let (before, _) = shown.split_once("takes 1 positional argument").unwrap();
    assert!(!before.contains("'listed'"), "{before}");
}

#[test]
fn templates_of_earlier_releases_know_no_secrets() {
    let dir = TestDir::new();
    write_play(&dir, "", "  - debug: {msg: \"{{ 'a' | mask_secrets ~ 'b' | register_secret }}\"}\n");
    for release in ["2.19", "2.21"] {
        let said = play(&dir, &["--contract", release]).exits_with(2).stderr_text();
        assert!(said.contains("No filter named 'mask_secrets'."), "{release}: {said}");
    }
    let template = |args: &[&str]| {
        let given = ["template", "{{ 'Q7x9' | register_secret }} {{ 'Q7x9' | mask_secrets('-') }}"];
        Modbox::new(&dir).args(given).args(args).run()
    };
    assert_eq!(template(&["--contract", "2.22"]).exits_with(0).stdout_text(), "$REDACTED$ -\n");
    let said = template(&["--contract", "2.21"]).exits_with(1).stderr_text();
    assert!(said.contains("No filter named 'register_secret'."), "{said}");
}

#[test]
fn a_play_follows_the_installed_ansible_core() {
    let dir = TestDir::new();
    write_play(&dir, "", "  - debug: {msg: \"{{ 'a' | register_secret }} of {{ ansible_version.full }}\"}\n");
    let interpreter = format!("python={}", dir.write_executable("venv/bin/python3", "#!/bin/sh\nexit 1\n").display());
    let package = "venv/lib/python3.13/site-packages/ansible";
    dir.write(&format!("{package}/module_utils/basic.py"), "");
    for (version, expect) in
        [("2.22.0rc1", Some("$REDACTED$ of 2.22.0rc1")), ("2.23.1", Some("$REDACTED$ of")), ("2.21.5", None)]
    {
        dir.write(&format!("{package}/release.py"), format!("__version__ = '{version}'\n__author__ = 'x'\n"));
        let ran = play(&dir, &["--interpreter", &interpreter]);
        match expect {
            Some(expect) => assert!(ran.exits_with(0).stdout_text().contains(expect), "{version}"),
            None => assert!(ran.exits_with(2).stderr_text().contains("No filter named 'register_secret'"), "{version}"),
        }
    }
}

/// Runs a play on a terminal of its own. `steps` are texts, and the keys that are typed after each.
fn on_terminal(dir: &TestDir, release: &str, steps: &[(&str, &str)]) -> RunOutput {
    let patience = stretched(PATIENCE).as_secs().to_string();
    Modbox::of(Path::new("python3"), dir)
        .arg(fixture("plays/terminal.py"))
        .args([
            &patience,
            &json!(steps).to_string(),
            env!("CARGO_BIN_EXE_modbox"),
            "play",
            "--contract",
            release,
            "play.yml",
        ])
        .env("TERM", "xterm")
        .run()
}

#[test]
fn answers_that_are_typed_unseen_are_secrets_since_2_22() {
    let dir = TestDir::new();
    let prompts = "  vars_prompt:\n  - {name: tok, prompt: Token}\n  - {name: seen, prompt: Seen, private: false}\n\
                   \x20 - {name: usual, prompt: Usual, default: usual-answer}\n";
    let tasks = "  - debug: {msg: '{{ tok }}, {{ seen }}, {{ usual }}'}\n  - pause: {prompt: More, echo: false}\n\
                 \x20   register: typed\n  - debug: {msg: '{{ typed.user_input }} again'}\n\
                 \x20 - assert: {that: [tok == one ~ two, 'typed.user_input == two ~ one']}\n";
    write_play(&dir, prompts, tasks);
    let (token, more) = (format!("{}\r", secret()), format!("{}{}\r", PARTS.1, PARTS.0));
    let steps = [("Token:", token.as_str()), ("Seen:", "plain\r"), ("Usual [", "\r"), ("hidden):", more.as_str())];
    let shown = on_terminal(&dir, "2.22", &steps).exits_with(0).stdout_text();
    assert!(shown.contains("$REDACTED$, plain, $REDACTED$") && shown.contains("$REDACTED$ again"), "{shown}");
    assert_untold("the terminal", &shown);
    let shown = on_terminal(&dir, "2.21", &steps).exits_with(0).stdout_text();
    assert!(shown.contains(&format!("{}, plain, usual-answer", secret())), "{shown}");
}

#[test]
fn passwords_of_lookups_and_of_become_are_secrets_since_2_22() {
    let dir = TestDir::new();
    dir.write("files/secret.txt", format!("{}\n", secret()));
    let tasks = r#"
  - debug: {msg: "{{ one ~ two }} {{ 'zz' ~ 'yy' }}"}
  - debug: {msg: "{{ lookup('password', '/dev/null', seed='x', length=12, chars=['digits']) }} made"}
  - set_fact: {read: "{{ lookup('unvault', 'secret.txt') }}"}
  - debug: {msg: "{{ one ~ two }} read"}
  - debug: {msg: "{{ 'zz' ~ 'yy' }} unused"}
    vars: {ansible_become_password: "{{ 'zz' ~ 'yy' }}"}
  - debug: {msg: "{{ 'zz' ~ 'yy' }} used"}
    become: true
    become_user: "{{ lookup('pipe', 'id -un') }}"
    vars: {ansible_become_password: "{{ 'zz' ~ 'yy' }}"}
"#;
    write_play(&dir, "", tasks);
    let shown = |release: &str| {
        let ran = play(&dir, &["--contract", release, "--allow-all"]).exits_with(0);
        ran.stdout_text()
    };
    let (newer, older) = (shown("2.22"), shown("2.21"));
    let clear = format!("{} zzyy", secret());
    for expect in [clear.as_str(), "$REDACTED$ made", "$REDACTED$ read", "zzyy unused", "$REDACTED$ used"] {
        assert!(newer.contains(expect), "`{expect}` is missing: {newer}");
    }
    assert!(!older.contains("$REDACTED$"), "{older}");
}

//! Text that no author of a play wrote is never rendered: results of modules, registered and loop variables, facts, files,
//! and the environment.
//!
//! Hostile strings are made at random and sent through a play in every way that data can take. Each must come back as it
//! was: rendering would change it. What a canary would leave is looked for, too, and a play of the same form whose strings
//! are trusted shows that the canary sings. `MODBOX_HOSTILE_STRINGS=N` sets their number.

use std::fmt::Write as _;

use serde_json::json;

use crate::support::sample::Random;
use crate::support::{Modbox, RunOutput, TestDir};

/// Strings of an ordinary run.
const STRINGS: usize = 2000;

/// Strings of one play.
const BATCH: usize = 10_000;

/// Strings of a play that have a task of their own each.
const SINGLE: usize = 100;

/// What the canary computes; no string has it.
const PRODUCT: &str = "62615533";

/// What the file has that a canary reads.
const FILE: &str = "CANARY-FILE-WAS-READ";

/// What strings are made of: everything that begins, ends or is a template in some language.
const PARTS: &[&str] = &[
    "{{ 7919 * 7907 }}",
    "{{ canary }}",
    "{{ lookup('file', 'canary.txt') }}",
    "{{ lookup('pipe', 'echo CANARY-FILE-WAS-READ') }}",
    "{% if true %}{{ 7919 * 7907 }}{% endif %}",
    "{% set x = 7919 * 7907 %}{{ x }}",
    "{%- for i in [7919 * 7907] -%}{{ i }}{%- endfor -%}",
    "{% raw %}{{ 7919 * 7907 }}{% endraw %}",
    "{{ '{{ 7919 * 7907 }}' }}",
    "{{ \"{{ canary }}\" }}",
    "{# {{ canary }} #}",
    "#jinja2: variable_start_string:'[[', variable_end_string:']]'\n[[ 7919 * 7907 ]]",
    "#jinja2:trim_blocks:True\n",
    "[[ 7919 * 7907 ]]",
    "!unsafe ",
    "!vault |\n",
    "$ANSIBLE_VAULT;1.1;AES256",
    "{{ omit }}",
    "{{",
    "}}",
    "{%",
    "%}",
    "{#",
    "#}",
    "'",
    "\"",
    "\\",
    "\n",
    " ",
    "7919 * 7907",
    "canary",
    "${canary}",
    "%(canary)s",
    "é{{ canary }}\u{202e}",
    "\u{0}{{ canary }}",
    "__omit_place_holder__",
    "AnsibleUnsafe",
    "a: {{ canary }}",
    "- [{{ canary }}]",
];

fn strings(random: &mut Random, count: usize) -> Vec<String> {
    (0..count).map(|_| (0..=random.below(4)).map(|_| *random.pick(PARTS)).collect()).collect()
}

/// Sends a list through a play. `source` names the variable of the play that has it.
fn tasks(source: &str) -> String {
    format!(
        r#"
  - set_fact: {{ copied: "{{{{ {source} }}}}" }}
  - set_fact:
      derived:
        joined: "{{{{ copied | join('|') }}}}"
        pairs: "{{{{ dict(copied | zip(copied)) }}}}"
        mapped: "{{{{ copied | map('upper') | list }}}}"
        chosen: "{{{{ copied | select('in', {source}) | list }}}}"
        nested: {{ deep: ["{{{{ copied }}}}", {{ key: "{{{{ copied[0] }}}}" }}] }}
        json: "{{{{ copied | to_json }}}}"
        back: "{{{{ copied | to_json | from_json }}}}"
        yaml: "{{{{ copied | to_nice_yaml | from_yaml }}}}"
  - debug: {{ msg: "{{{{ copied }}}}" }}
    register: shown
  - debug: {{ var: through }}
    register: vared
  - set_fact: {{ again: "{{{{ shown.msg }}}}", all: "{{{{ shown }}}}", looked: "{{{{ lookup('vars', 'copied') }}}}" }}
  - debug: {{ msg: "{{{{ item.1 }}}}" }}
    loop: "{{{{ copied[:{SINGLE}] | map('split', 'no such text') | zip(copied) | list }}}}"
    loop_control: {{ label: "{{{{ item.1 }}}}" }}
    register: looped
  - debug: {{ msg: "{{{{ item.key }}}}" }}
    with_dict: "{{{{ dict(copied[:{SINGLE}] | zip(copied)) }}}}"
    register: keyed
  - debug: {{ msg: no }}
    when: "{{{{ item }}}}"
    loop: "{{{{ copied[:{SINGLE}] }}}}"
    ignore_errors: true
    register: conditions
  - set_fact: {{ rendered: "{{{{ lookup('template', 'all.j2') }}}}", read: "{{{{ lookup('file', 'data.json') }}}}" }}
  - generate:
  - include_vars: {{ file: generated.yml, name: included }}
  - include_role: {{ name: made, vars_from: generated }}
    vars: {{ fact: of_vars }}
  - include_role: {{ name: made, defaults_from: generated }}
    vars: {{ fact: of_defaults }}
  - assert:
      quiet: true
      that:
      - copied == {source} and again == copied and looked == copied and through == copied and shown.msg == copied
      - derived.pairs.keys() | list == copied | unique | list and derived.chosen == copied
      - derived.nested.deep[0] == copied and derived.back == copied and derived.yaml == copied
      - looped.results | map(attribute='msg') | list == copied[:{SINGLE}]
      - of_vars == copied and of_defaults == copied
      - included.strings == copied and (read | from_json).strings == copied
      - rendered == copied | join('|') ~ '|' ~ (copied | to_json)
      - conditions.results | rejectattr('failed') | list == []
"#
    )
}

/// Runs a play over the strings in `strings.json`, which a module prints.
fn run(dir: &TestDir, all: &[String], source: &str) -> RunOutput {
    dir.write("data.json", json!({ "changed": false, "strings": all }).to_string());
    let folder = dir.path().display();
    dir.write("library/hostile.sh", format!("#!/bin/sh\n# WANT_JSON\ncat '{folder}/data.json'\n"));
    dir.write(
        "library/generate.sh",
        format!(
            "#!/bin/sh\n# WANT_JSON\ncd '{folder}'\nfor name in . roles/made/vars roles/made/defaults; do\n    cat data.json > \
             $name/generated.yml\ndone\necho '{{}}'\n"
        ),
    );
    dir.write("roles/made/tasks/main.yml", "- set_fact: {'{{ fact }}': '{{ strings }}'}\n");
    dir.mkdir("roles/made/vars");
    dir.mkdir("roles/made/defaults");
    dir.write("canary.txt", FILE);
    dir.write("templates/all.j2", "{% for text in copied %}{{ text }}|{% endfor %}{{ r.strings | to_json }}");
    let trusted: Vec<String> = all.iter().map(|text| json!(text).to_string()).collect();
    let mut play = String::from("- hosts: all\n  gather_facts: false\n  vars:\n    canary: \"{{ 7919 * 7907 }}\"\n");
    play.push_str("    through: \"{{ copied }}\"\n");
    if source != "r.strings" {
        let _infallible = writeln!(play, "    {source}: [{}]", trusted.join(", "));
    }
    play.push_str("  tasks:\n  - hostile:\n    register: r\n");
    play.push_str(&tasks(source));
    dir.write("play.yml", play);
    let here = folder.to_string();
    Modbox::new(dir).args(["play", "--output", "jsonl", "--allow-write", &here, "play.yml"]).run()
}

fn check_batch(all: &[String]) {
    let dir = TestDir::new();
    let events = run(&dir, all, "r.strings").exits_with(0).stdout_text();
    assert!(!events.contains(PRODUCT), "a canary was rendered");
    // The strings name the file's text themselves, but only behind a command that would print it.
    let alone = events.replace(&format!("echo {FILE}"), "").replace(&format!("ECHO {FILE}"), "");
    assert!(!alone.contains(FILE), "a canary read its file");
}

#[test]
#[expect(clippy::print_stdout, reason = "how many were sent is the result")]
fn hostile_strings_come_back_as_they_were() {
    let count = std::env::var("MODBOX_HOSTILE_STRINGS").ok().and_then(|text| text.parse().ok()).unwrap_or(STRINGS);
    let mut random = Random::new(0x0a5a_fe00);
    let mut sent = 0;
    while sent < count {
        let all = strings(&mut random, BATCH.min(count - sent));
        check_batch(&all);
        sent += all.len();
    }
    println!("{sent} strings were never rendered");
}

#[test]
fn the_canary_sings_where_text_is_trusted() {
    let dir = TestDir::new();
    let all = ["{{ 7919 * 7907 }}", "{{ lookup('file', 'canary.txt') }}", "{{ canary }}"].map(str::to_owned);
    let ran = run(&dir, &all, "trusted");
    let events = ran.stdout_text();
    assert!(events.contains(PRODUCT) && events.contains(FILE), "{events}");
}

#[test]
fn strict_runs_and_renders_no_file_that_a_task_made() {
    let dir = TestDir::new();
    dir.write("templates/part.j2", "part");
    let folder = dir.path().display().to_string();
    let make = "- hosts: all\n  gather_facts: false\n  tasks:\n  - make:\n";
    dir.write(
        "library/make.sh",
        format!(
            "#!/bin/sh\n# WANT_JSON\ncd '{folder}'\necho '- debug: {{msg: \"{{{{ 7919 * 7907 }}}}\"}}' | tee made.yml > /dev/null\n\
             echo '{{{{ 7919 * 7907 }}}}' | tee made.j2 templates/part.j2 > /dev/null\necho '{{\"changed\": true}}'\n"
        ),
    );
    dir.write("templates/whole.j2", "{% include 'part.j2' %}");
    for (task, file) in [
        ("include_tasks: made.yml", "made.yml"),
        ("template: {src: made.j2, dest: out}", "made.j2"),
        ("debug: {msg: \"{{ lookup('template', 'made.j2') }}\"}", "made.j2"),
        ("debug: {msg: \"{{ lookup('template', 'whole.j2') }}\"}", "part.j2"),
    ] {
        let text = format!("{make}  - {task}\n");
        let run = |more: &[&str]| {
            let _ = std::fs::remove_file(dir.join("made.yml"));
            let _ = std::fs::remove_file(dir.join("made.j2"));
            dir.write("play.yml", &text);
            Modbox::new(&dir).args(["play", "--allow-write", &folder]).args(more).arg("play.yml").run()
        };
        // The module behind `template` needs a toolchain, which it does not get here.
        if !task.starts_with("template") {
            let usual = run(&[]).exits_with(0).stdout_text();
            assert!(usual.contains(PRODUCT), "{task}: {usual}");
        }
        let strict = run(&["--strict"]);
        let told = strict.stdout_text() + &strict.stderr_text();
        for part in [file, "written since the run began", "second `modbox play`"] {
            assert!(told.contains(part), "{task}: `{part}` is missing: {told}");
        }
        assert!(!told.contains(PRODUCT) && !dir.join("out").exists(), "{task}: {told}");
    }
    // As data, such a file can be read.
    dir.write("play.yml", format!("{make}  - debug: {{msg: \"{{{{ lookup('file', 'made.yml') }}}}\"}}\n"));
    let read = Modbox::new(&dir).args(["play", "--strict", "--allow-write", &folder, "play.yml"]).run().exits_with(0);
    assert!(read.stdout_text().contains("7919 * 7907"), "{}", read.stdout_text());
}

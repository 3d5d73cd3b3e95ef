//! The tables of commands of the rules (`runner/core/policy/src/outside/tests`), asked for by a guest: those that pass run outside, and
//! the attacks do not run at all.
//!
//! A `?` before a command that passes says that it only asks. Programs are stand-ins that note their words, in a mount namespace of the test, before all others of their names.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use serde_json::{Value, json};

use crate::core::native::native_place::{Ended, Place};
use crate::support::{prefixed, repository};

/// Runs a command with the stand-ins, and without scripts of services.
const OWN_PROGRAMS: &str =
    "mount --bind $0 /usr/local/sbin && { [ ! -d /etc/init.d ] || mount -t tmpfs none /etc/init.d; } && exec \"$@\"";

/// A part of a table: the rules, and commands.
struct Section {
    title: String,
    /// The rules for the guest, as a policy has them.
    rules: Value,
    commands: Vec<Vec<String>>,
}

/// Reads a table. Left out are sections for other users than root and for programs with a path, and commands with words that a
/// guest cannot pass on, or with a program that has a path.
fn sections(name: &str) -> Vec<Section> {
    let table = fs::read_to_string(repository().join("runner/core/policy/src/outside/tests").join(name)).unwrap();
    let mut sections: Vec<Section> = Vec::new();
    for line in table.lines().filter(|line| !line.is_empty()) {
        if let Some(title) = line.strip_prefix("= ") {
            let rules = match title.strip_prefix("manage-").and_then(|rest| rest.split_once(" [")) {
                Some((profile, rest)) => {
                    let (names, user) = rest.split_once("] as ").unwrap();
                    let names: Vec<&str> = names.split_whitespace().collect();
                    let profile =
                        if profile == "updates" { "update-packages".into() } else { format!("manage-{profile}") };
                    let of_profile = if names.is_empty() { json!(profile) } else { json!({profile: names}) };
                    if user == "root" { json!({"profiles": [of_profile]}) } else { Value::Null }
                }
                None if title.starts_with('/') => Value::Null,
                None => json!({"allow": {"outside": [title]}}),
            };
            sections.push(Section { title: title.to_owned(), rules, commands: Vec::new() });
        } else if let Some(words) = words(line.strip_prefix('?').unwrap_or(line)) {
            sections.last_mut().unwrap().commands.push(words);
        }
    }
    sections.retain(|section| !section.rules.is_null() && !section.commands.is_empty());
    sections
}

/// Splits a command like bash; `None` if it is not one of the guest's.
fn words(line: &str) -> Option<Vec<String>> {
    let escapes = [('n', '\n'), ('r', '\r'), ('t', '\t'), ('e', '\u{1b}')];
    let (mut words, mut word, mut rest) = (Vec::new(), None::<String>, line.chars().peekable());
    while let Some(next) = rest.next() {
        let is_escaped = next == '$' && rest.next_if_eq(&'\'').is_some();
        match next {
            ' ' => words.extend(word.take()),
            _ if is_escaped || next == '\'' => {
                let word = word.get_or_insert_default();
                while let Some(quoted) = rest.next().filter(|quoted| *quoted != '\'') {
                    match quoted {
                        '\\' if is_escaped => {
                            let escape = rest.next()?;
                            word.push(escapes.iter().find(|(name, _)| *name == escape)?.1);
                        }
                        plain => word.push(plain),
                    }
                }
            }
            plain => word.get_or_insert_default().push(plain),
        }
    }
    words.extend(word);
    (!words.first()?.contains('/') && !words[0].is_empty()).then_some(words)
}

/// Makes stand-ins for the programs of all sections.
fn make_programs(place: &Place, sections: &[Section]) {
    let programs = place.at("programs");
    fs::create_dir(&programs).unwrap();
    let script =
        format!("#!/bin/sh\necho \"${{0##*/}} $*\" | tr '\\n' ' ' >> {0}; echo >> {0}\n", place.path("data/ran"));
    let names: BTreeSet<&String> =
        sections.iter().flat_map(|section| &section.commands).map(|words| &words[0]).collect();
    for name in names.into_iter().filter(|name| !name.contains(char::is_control) && *name != "." && *name != "..") {
        fs::write(programs.join(name), &script).unwrap();
        fs::set_permissions(programs.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
}

/// Asks for the commands of a section in a guest. Returns what the guest saw of each.
fn asked(place: &Place, section: &Section) -> (Vec<Value>, Ended) {
    let commands: Vec<Value> = section.commands.iter().map(|words| json!({"argv": words})).collect();
    place.write("home/policy", &json!({"modules": {"command": section.rules}}).to_string());
    let policy = place.path("home/policy");
    let modbox = place.guest_command(&json!({"commands": commands}), &["--policy", &policy]);
    let mut unshare = Command::new("unshare");
    unshare.args(["--mount", "--propagation", "private", "sh", "-c", OWN_PROGRAMS, &place.path("programs")]);
    let ended = place.ended_by(prefixed(unshare, &modbox).output().unwrap());
    let seen = ended.report["result"]["seen"].as_array().unwrap_or_else(|| panic!("{:#}", ended.report)).clone();
    assert_eq!(seen.len(), commands.len());
    (seen, ended)
}

fn ran(place: &Place) -> Vec<String> {
    let ran = fs::read_to_string(place.at("data/ran")).unwrap_or_default();
    let _ = fs::remove_file(place.at("data/ran"));
    ran.lines().map(str::to_owned).collect()
}

#[test]
fn commands_beyond_the_rules_do_not_run() {
    let place = Place::new(None);
    if !place.is_root() {
        return;
    }
    let sections = sections("attacks.txt");
    make_programs(&place, &sections);
    let mut count = 0;
    for section in &sections {
        let (seen, ended) = asked(&place, section);
        for (words, seen) in section.commands.iter().zip(&seen) {
            assert!(seen["denied"].is_string(), "{}: {words:?}: {seen}", section.title);
        }
        assert_eq!((&ended.report["outside"], ran(&place)), (&Value::Null, Vec::<String>::new()), "{}", section.title);
        count += seen.len();
    }
    assert!(count >= 400, "{count}");
}

#[test]
fn commands_within_the_rules_run_outside() {
    let place = Place::new(None);
    if !place.is_root() {
        return;
    }
    let sections = sections("passing.txt");
    make_programs(&place, &sections);
    let mut count = 0;
    for section in &sections {
        let (seen, ended) = asked(&place, section);
        let ran = ran(&place);
        let mut expect = Vec::new();
        for (words, seen) in section.commands.iter().zip(&seen) {
            // A file that the guest does not have.
            let lacks_file = seen["end"] == 126 && words.iter().any(|word| word.contains('/'));
            assert!(seen["end"] == 0 || lacks_file, "{}: {words:?}: {seen}", section.title);
            if !lacks_file {
                expect.push(words.join(" ").replace('\n', " ") + " ");
            }
        }
        let ran: Vec<&str> = ran.iter().map(|line| line.trim_end()).collect();
        let expect: Vec<&str> = expect.iter().map(|line| line.trim_end()).collect();
        assert_eq!(ran, expect, "{}: {:#}", section.title, ended.report);
        count += ran.len();
    }
    assert!(count >= 150, "{count}");
}

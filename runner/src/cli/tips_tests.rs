//! Every tip is a command that works: collects the commands and switches that messages and help texts of all crates name, and
//! parses them with modbox's own command line.
//!
//! A tip is a text in backticks in a string of the sources that begins with `modbox ` or with a switch. What stands for a value
//! in it is replaced by a word. Whether a command then does what was promised is for the tests of its message.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use clap::error::ErrorKind;
use clap::{Command, CommandFactory};

use crate::cli::args::Cli;

/// Not switches of modbox: one of a linker, and the start of a document in YAML.
const FOREIGN: [&str; 2] = ["--no-entry", "---"];

/// A text in backticks, with the file that it is in.
struct Tip {
    file: PathBuf,
    text: String,
}

#[test]
fn every_command_in_a_tip_parses() {
    let tips: Vec<Tip> = tips("modbox ").into_iter().chain(examples()).collect();
    assert!(tips.len() > 100, "only {} tips were found", tips.len());
    let wrong: Vec<String> = tips.iter().filter_map(|tip| Some(shown(tip, &refusal(&tip.text)?))).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_switch_in_a_tip_exists() {
    let mut known = BTreeSet::from(["--help".to_owned(), "--version".to_owned()]);
    let mut command = Cli::command();
    // The switches of a command are made when it is built.
    command.build();
    collect_switches(&command, &mut known);
    let tips = tips("--");
    assert!(tips.len() > 100, "only {} tips were found", tips.len());
    let is_known = |tip: &&Tip| {
        let end = tip.text.find([' ', '=', '[']).unwrap_or(tip.text.len());
        let switch = &tip.text[..end];
        known.contains(switch) || FOREIGN.contains(&switch) || switch.contains(['{', '*'])
    };
    let wrong: Vec<String> = tips.iter().filter(|tip| !is_known(tip)).map(|tip| shown(tip, "unknown")).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn shown(tip: &Tip, why: &str) -> String {
    format!("{}: `{}`: {why}", tip.file.display(), tip.text)
}

fn collect_switches(command: &Command, known: &mut BTreeSet<String>) {
    let longs =
        command.get_arguments().flat_map(|argument| argument.get_long_and_visible_aliases().unwrap_or_default());
    known.extend(longs.map(|long| format!("--{long}")));
    command.get_subcommands().for_each(|command| collect_switches(command, known));
}

/// Returns why the command line refuses a command; `None` if it takes it. The bare name of a command is only a mention of it.
fn refusal(text: &str) -> Option<String> {
    let has_value = text.contains(['{', '…']) || text.contains("DIGEST");
    let words = words(text);
    let is_mention =
        words.iter().skip(1).all(|word| word.chars().all(|letter| letter.is_ascii_lowercase() || letter == '-'));
    let is_module_file = words.get(1).is_some_and(|word| word == "FILE" || word.contains('/'));
    let error = Cli::command().try_get_matches_from(&words).err()?;
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            None
        }
        ErrorKind::MissingRequiredArgument | ErrorKind::MissingSubcommand | ErrorKind::InvalidValue if is_mention => {
            None
        }
        ErrorKind::ValueValidation | ErrorKind::InvalidValue if has_value => None,
        ErrorKind::InvalidSubcommand if is_module_file => None,
        _ => Some(error.to_string().lines().next().unwrap_or_default().to_owned()),
    }
}

/// Splits a command as a shell does, up to a pipe or a redirection. A value that is filled in becomes a word.
fn words(text: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    let text = filled(text);
    for letter in text.chars().chain([' ']) {
        match (letter, quote) {
            ('\'' | '"', None) => quote = Some(letter),
            (_, Some(open)) if letter == open => quote = None,
            (' ', None) => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
            }
            ('|' | '<' | '>' | ';', None) => break,
            _ => word.push(letter),
        }
    }
    words
}

/// Replaces `{name}` by a word.
fn filled(text: &str) -> String {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        filled.push_str(before);
        filled.push('x');
        rest = after.split_once('}').map_or("", |(_, rest)| rest);
    }
    filled + rest
}

/// Returns all texts in backticks that begin with a prefix.
fn tips(prefix: &str) -> Vec<Tip> {
    let mut tips = Vec::new();
    for (file, text) in sources() {
        for line in text.lines() {
            let quoted = line.split('`').skip(1).step_by(2).filter(|quoted| quoted.starts_with(prefix));
            tips.extend(quoted.map(|quoted| Tip { file: file.clone(), text: quoted.to_owned() }));
        }
    }
    tips
}

/// Returns the examples of help texts: lines that are a command.
fn examples() -> Vec<Tip> {
    let mut tips = Vec::new();
    for (file, text) in
        sources().into_iter().filter(|(file, _)| file.components().any(|part| part.as_os_str() == "args"))
    {
        let commands = text.lines().filter(|line| line.starts_with("  modbox "));
        let command = |line: &str| line.trim().trim_end_matches("\";").replace("\\\"", "\"");
        // Braces in an example are JSON.
        tips.extend(
            commands.map(command).filter(|line| !line.contains('{')).map(|text| Tip { file: file.clone(), text }),
        );
    }
    tips
}

/// Returns the sources of all crates without comments and unit tests, with continued lines of strings joined.
fn sources() -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut pending = vec![PathBuf::from(env!("CARGO_MANIFEST_DIR"))];
    while let Some(folder) = pending.pop() {
        for entry in fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()) {
            let name = entry.file_name().unwrap_or_default().to_string_lossy();
            if entry.is_dir() && !["tests", "target", "docs", "examples", "template", "benches"].contains(&&*name) {
                pending.push(entry);
            } else if name.ends_with(".rs") && !name.contains("test") {
                found.push((entry.clone(), without_comments(&entry)));
            }
        }
    }
    assert!(found.len() > 300, "the sources of all crates lie below this one");
    found
}

#[expect(clippy::disallowed_methods, reason = "the test reads the sources of this repository")]
fn without_comments(file: &Path) -> String {
    let text = fs::read_to_string(file).unwrap();
    let text = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    let (mut joined, mut continues) = (String::new(), false);
    for line in text.lines() {
        let line = if continues { line.trim_start() } else { line };
        if !continues && ["//!", "// "].iter().any(|mark| line.trim_start().starts_with(mark)) {
            continue;
        }
        // Comments of switches are their help.
        continues = line.ends_with('\\');
        joined.push_str(line.strip_suffix('\\').unwrap_or(line));
        if !continues {
            joined.push('\n');
        }
    }
    joined
}

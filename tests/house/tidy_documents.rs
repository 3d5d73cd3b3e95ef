//! The rules for documents that a program can check: README is short, words are plain, links have targets, and the
//! documents name only what exists in the program.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Component, Path, PathBuf};

use modbox_kinds::Kind;
use regex::Regex;

use crate::house::tidy::{ascii, help, read, subcommands};
use crate::support::markdown::{BOOK, Document, documents, pages};
use crate::support::repository;

/// The page that is written from the help of each command.
const COMMAND_LINE: &str = "runner/docs/src/reference/command-line.md";

/// The lines before the helps on the generated page.
const INTRODUCTION: &str = "\
# Command line

This page is generated: it shows `--help` of every command. A test compares it with the program.
";

/// The most lines of README.md, and characters of each.
const README_LINES: usize = 150;
const README_COLUMNS: usize = 100;

/// Words that documents must not use, with their replacements. Code in backticks and blocks is not checked.
const NOT_PLAIN: [(&str, &str); 9] = [
    ("whoever", "name the person or program"),
    ("nobody", "say what does not happen"),
    ("somebody", "name the person or program"),
    ("someone", "name the person or program"),
    (" is no ", "write `is not a`, or `unknown`"),
    (" are no ", "write `are not`, or `has no`"),
    ("that is none", "write `is not one`"),
    ("that are none", "write `are not`"),
    ("beside that", "write `also`"),
];

#[test]
fn the_readme_is_short() {
    let readme = read("README.md");
    let lines = readme.lines().count();
    assert!(lines <= README_LINES, "README.md has {lines} lines; what is more belongs into the book, runner/docs");
    // A command is one line, to be copied whole.
    let prose = readme.lines().filter(|line| !line.starts_with("$ "));
    let long: Vec<&str> = prose.filter(|line| line.chars().count() > README_COLUMNS).collect();
    assert!(long.is_empty(), "lines of README.md with more than {README_COLUMNS} characters: {long:#?}");
}

#[test]
fn documents_are_in_plain_words() {
    let code = Regex::new("`[^`]*`").unwrap();
    let mut found = Vec::new();
    for document in documents() {
        for (number, line) in document.prose() {
            let line = code.replace_all(line, "``").to_lowercase();
            let line = line.replace("there is no ", "").replace("there are no ", "");
            let words = NOT_PLAIN.iter().filter(|(word, _)| line.contains(word));
            found.extend(words.map(|(word, instead)| format!("{}:{number}: `{word}`: {instead}", document.path)));
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn documents_use_commands_and_options_that_exist() {
    let option = ascii(r"(?m)(?:^|[\s`(])(--[a-z][a-z-]+)");
    let command = ascii(r"(?:`|\$ |&& )(modbox|cargo) ([a-z][a-z-]*)");
    let modbox: String = modbox_helps();
    let cargo_commands = ["build", "test", "run", "install", "bench"];
    let mut options: BTreeSet<String> = option.captures_iter(&modbox).map(|found| found[1].to_owned()).collect();
    for name in cargo_commands {
        options.extend(option.captures_iter(&help("cargo", &[name, "--help"])).map(|found| found[1].to_owned()));
    }
    // Of programs that run outside of a sandbox.
    options.extend(["--set-selections", "--yes"].map(str::to_owned));
    // Of container engines.
    options.extend(["--privileged", "--rm", "--security-opt"].map(str::to_owned));
    // The heads of these scripts list their options.
    for script in ["runner/dist/release", "tests/fuzz/run"] {
        let script = fs::read_to_string(repository().join(script)).unwrap();
        options.extend(option.captures_iter(&script).map(|found| found[1].to_owned()));
    }
    let mut seen = 0;
    for Document { path: document, text } in documents() {
        for found in command.captures_iter(&text) {
            seen += 1;
            let known = match &found[1] {
                "modbox" => subcommands().iter().any(|name| *name == found[2]),
                _ => cargo_commands.contains(&&found[2]),
            };
            assert!(known, "{document}: there is no `{} {}`", &found[1], &found[2]);
        }
        for found in option.captures_iter(&text) {
            assert!(options.contains(&found[1]), "{document}: no command has the option `{}`", &found[1]);
        }
    }
    assert!(seen > 10, "only {seen} commands were found in the documents");
}

#[test]
fn documents_name_every_kind_and_limit() {
    // The generated page names all of them by itself.
    let written = documents().into_iter().filter(|document| document.path != COMMAND_LINE);
    let text: String = written.map(|document| document.text).collect();
    for kind in Kind::all() {
        let name = match kind {
            // Recognised and not run, which is said in words.
            Kind::Powershell => "PowerShell".to_owned(),
            _ => format!("`{kind}`"),
        };
        assert!(text.contains(&name), "no document names {name}");
    }
    let limits = help("modbox", &["run", "-h"]);
    let limits = limits.split_once("\nLimits:\n").expect("the help has a part on limits").1;
    let limits = limits.split("\n\n").next().unwrap_or_default();
    let option = ascii(r"(?m)^ +(--[a-z-]+)");
    let mut known = 0;
    for found in option.captures_iter(limits) {
        known += 1;
        assert!(text.contains(&found[1]), "no document names the limit `{}`", &found[1]);
    }
    assert!(known >= 5, "only {known} limits were found in:\n{limits}");
}

#[test]
fn links_of_documents_lead_somewhere() {
    let mut broken = Vec::new();
    for document in documents() {
        for (line, target) in document.links().into_iter().filter(|(_, target)| !target.contains("://")) {
            if let Err(reason) = resolve(&document, &target) {
                broken.push(format!("{}:{line}: `{target}`: {reason}", document.path));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn paths_that_documents_name_exist() {
    let path = Regex::new(r"`((?:runner|tests|guest-sdk|modules|\.github|\.ci)/[^`\s]*)`").unwrap();
    let (mut named, mut missing) = (0, Vec::new());
    for document in documents() {
        for (line, text) in document.prose() {
            for found in path.captures_iter(text) {
                named += 1;
                if !repository().join(&found[1]).exists() {
                    missing.push(format!("{}:{line}: `{}`", document.path, &found[1]));
                }
            }
        }
    }
    assert!(named > 60, "only {named} paths were found");
    assert!(missing.is_empty(), "paths that do not exist: {missing:#?}");
}

#[test]
fn every_page_is_in_the_navigation() {
    let pages: BTreeSet<String> = pages().into_iter().map(|page| page.path[BOOK.len() + 5..].to_owned()).collect();
    let navigation = fs::read_to_string(repository().join(BOOK).join("mkdocs.yml")).unwrap();
    let named = ascii(r"(?m)([a-z0-9/-]+\.md)$");
    let named: BTreeSet<String> = named.captures_iter(&navigation).map(|found| found[1].to_owned()).collect();
    assert_eq!(pages, named);
}

#[test]
fn the_command_line_page_is_what_help_says() {
    let page = command_line_page();
    let path = repository().join(COMMAND_LINE);
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, &page).unwrap();
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    assert!(written == page, "{COMMAND_LINE} differs from the program; BLESS=1 writes it");
}

#[test]
fn the_sdk_shows_the_same_options_as_the_book() {
    let options = |path: &str| {
        let text = Document::read(path).text;
        let part = text.split_once("\n## Options\n").unwrap_or_else(|| panic!("{path} has no part `Options`")).1;
        part.split("\n## ").next().unwrap_or_default().trim().to_owned()
    };
    assert_eq!(options("guest-sdk/README.md"), options("runner/docs/src/authors/sdk.md"));
}

fn modbox_helps() -> String {
    let mut helps = help("modbox", &["--help"]);
    for command in subcommands() {
        helps += &help("modbox", &[command, "--help"]);
    }
    for command in [["cache", "prune"], ["collection", "build"], ["policy", "suggest"], ["python", "install"]] {
        helps += &help("modbox", &[command[0], command[1], "--help"]);
    }
    helps
}

/// Checks that a relative link leads to a file, and to a heading of it.
fn resolve(document: &Document, target: &str) -> Result<(), String> {
    let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
    let folder = Path::new(&document.path).parent().expect("it lies in a folder");
    let path = if file.is_empty() { PathBuf::from(&document.path) } else { normalized(&folder.join(file)) };
    if !repository().join(&path).exists() {
        return Err("there is no such file".to_owned());
    }
    let book = Path::new(BOOK).join("src");
    if Path::new(&document.path).starts_with(&book) && !path.starts_with(&book) {
        return Err("it leads out of the book".to_owned());
    }
    let anchors = || Document::read(&path.to_string_lossy()).anchors();
    if !anchor.is_empty() && !anchors().iter().any(|known| known == anchor) {
        return Err("there is no such heading".to_owned());
    }
    Ok(())
}

fn normalized(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(normal.pop()),
            Component::CurDir => {}
            part => normal.push(part),
        }
    }
    normal
}

/// Writes the page from the help of every command, and of the commands below those.
fn command_line_page() -> String {
    let mut page = INTRODUCTION.to_owned();
    let nested = [
        ["policy", "show"],
        ["policy", "check"],
        ["python", "install"],
        ["python", "list"],
        ["python", "remove"],
        ["cache", "list"],
        ["cache", "prune"],
        ["cache", "clear"],
    ];
    let commands = subcommands().iter().map(|name| vec![name.as_str()]).chain(nested.iter().map(|path| path.to_vec()));
    for command in [Vec::new()].into_iter().chain(commands) {
        let heading: String = ["modbox"].iter().chain(&command).copied().collect::<Vec<_>>().join(" ");
        let words: Vec<&str> = command.iter().copied().chain(["--help"]).collect();
        let text = help("modbox", &words);
        let text: Vec<&str> = text.trim_end().lines().map(str::trim_end).collect();
        write!(page, "\n## {heading}\n\n```text\n{}\n```\n", text.join("\n")).unwrap();
    }
    page
}

//! Tables of commands, and the grants that they are held against.
//!
//! A section begins with `= manage-PROFILE [NAME …] as USER`, or with `= RULE` for a rule that an operator wrote. Its other lines are
//! commands.

use modbox_vocabulary::GrantSource;

use crate::outside::{BoundNames, OutsideCommand, OutsideGrant, RuleProgram, shipped};
use crate::run::STANDARD_DIRECTORIES;

/// The profiles of the tables, by short names.
pub(super) fn shipped_rules(profile: &str) -> shipped::ShippedRules {
    match profile {
        "packages" => shipped::PACKAGES,
        "updates" => shipped::UPDATES,
        "services" => shipped::SERVICES,
        "users" => shipped::ACCOUNTS,
        "cron" => shipped::CRON,
        "kernel" => shipped::KERNEL,
        "host" => shipped::HOST,
        "firewall" => shipped::FIREWALL,
        other => panic!("no profile {other}"),
    }
}

/// A part of a table.
pub(super) struct Section<'t> {
    pub(super) title: &'t str,
    pub(super) grants: Vec<OutsideGrant>,
    pub(super) user: &'t str,
    pub(super) commands: Vec<&'t str>,
}

pub(super) fn sections(table: &str) -> Vec<Section<'_>> {
    let mut sections: Vec<Section<'_>> = Vec::new();
    for line in table.lines().filter(|line| !line.is_empty()) {
        let Some(title) = line.strip_prefix("= ") else {
            sections.last_mut().expect("a section begins before its commands").commands.push(line);
            continue;
        };
        let (grants, user) = match title.strip_prefix("manage-") {
            Some(rest) => {
                let (start, user) = rest.split_once("] as ").unwrap();
                let (name, names) = start.split_once(" [").unwrap();
                (profile(name, &names.split_whitespace().collect::<Vec<_>>()), user)
            }
            None => (vec![own(title)], "root"),
        };
        sections.push(Section { title, grants, user, commands: Vec::new() });
    }
    sections
}

/// Returns the grants of a profile with names, on a machine that has every program in each standard directory.
pub(super) fn profile(profile: &str, names: &[&str]) -> Vec<OutsideGrant> {
    let shipped = shipped_rules(profile);
    let names = BoundNames::new(names, shipped.kinds).unwrap();
    let grant = |shipped::ShippedRule { rule, is_query }| {
        let names = names.clone();
        OutsideGrant {
            programs: programs(&rule),
            rule,
            names,
            is_query,
            is_shipped: true,
            source: GrantSource::named(profile),
        }
    };
    shipped.rules(!names.is_empty()).into_iter().map(grant).collect()
}

/// Returns the grant of a rule that an operator wrote.
pub(super) fn own(rule: &str) -> OutsideGrant {
    let rule: crate::outside::OutsideRule = rule.parse().unwrap_or_else(|error| panic!("{rule}: {error}"));
    let (names, source) = (BoundNames::default(), GrantSource::named("test"));
    OutsideGrant { programs: programs(&rule), rule, names, is_query: false, is_shipped: false, source }
}

fn programs(rule: &crate::outside::OutsideRule) -> Vec<std::path::PathBuf> {
    match rule.program() {
        RuleProgram::Script => Vec::new(),
        RuleProgram::Named(path) if path.contains('/') => vec![path.into()],
        RuleProgram::Named(name) => {
            STANDARD_DIRECTORIES.iter().map(|folder| format!("{folder}/{name}").into()).collect()
        }
    }
}

/// Returns the command if a grant covers it. The first word is the program.
pub(super) fn covered<'g>(grants: &'g [OutsideGrant], words: &[Vec<u8>], user: &str) -> Option<OutsideCommand<'g>> {
    let program = std::str::from_utf8(words.first()?).ok()?;
    grants.iter().find_map(|grant| grant.covers(program, &words[1..], user))
}

/// Splits a command of a table like a shell. `\n` and other escapes stand for themselves only in `$'…'`, as in bash.
pub(super) fn words(command: &str) -> Vec<Vec<u8>> {
    let mut words = Vec::new();
    let mut word: Option<Vec<u8>> = None;
    let mut rest = command.chars().peekable();
    while let Some(character) = rest.next() {
        match character {
            ' ' => words.extend(word.take()),
            '\'' => word
                .get_or_insert_default()
                .extend(rest.by_ref().take_while(|end| *end != '\'').collect::<String>().bytes()),
            '$' if rest.peek() == Some(&'\'') => {
                rest.next();
                let quoted: String = rest.by_ref().take_while(|end| *end != '\'').collect();
                word.get_or_insert_default().extend(unescaped(&quoted));
            }
            plain => word.get_or_insert_default().extend(plain.encode_utf8(&mut [0; 4]).bytes()),
        }
    }
    words.extend(word);
    words
}

fn unescaped(text: &str) -> Vec<u8> {
    let (mut bytes, mut rest) = (Vec::new(), text.chars());
    while let Some(character) = rest.next() {
        match (character, character == '\\') {
            (_, false) => bytes.extend(character.encode_utf8(&mut [0; 4]).bytes()),
            _ => match rest.next().unwrap() {
                'n' => bytes.push(b'\n'),
                'r' => bytes.push(b'\r'),
                't' => bytes.push(b'\t'),
                '0' => bytes.push(0),
                'e' => bytes.push(27),
                'x' => {
                    let digits: String = rest.by_ref().take(2).collect();
                    bytes.push(u8::from_str_radix(&digits, 16).unwrap());
                }
                other => panic!("escape {other}"),
            },
        }
    }
    bytes
}

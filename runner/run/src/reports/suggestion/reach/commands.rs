//! Which commands of a run have to run outside: those that a profile covers, and those that reach further than a few files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use modbox_policy::{Profile, outside};
use modbox_python_json::Value;
use modbox_vocabulary::{Capability, MODULE, ObservedCommand, Operation, PathState};

use crate::reports::suggestion::reach::unconfinable::changes_machine;
use crate::reports::suggestion::record::{RunRecord, Use};

/// Maximum number of paths that are granted for a command that runs inside.
const MAX_PATHS: usize = 8;

/// Beginnings of the names of programs that run what they fetch: outside of the room nothing would hold that.
const INSIDE: [&str; 10] = ["cargo", "gem", "git", "make", "node", "npm", "perl", "pip", "python", "ruby"];

/// Calls by which a program takes the rights of another user.
const IDENTITIES: [&str; 7] = ["setgid", "setgroups", "setregid", "setresgid", "setresuid", "setreuid", "setuid"];

/// The names that a profile has to bind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ProfileNeed {
    pub(super) names: BTreeSet<String>,
    /// Whether only the profile without names is enough.
    pub(super) is_whole: bool,
}

/// A command that has to run outside by a rule of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OutsideNeed {
    /// The rule; `None` if no rule can have the words.
    pub(super) rule: Option<String>,
    /// Whether a person has to decide: not where the words are those of the task itself, and it only uses many paths.
    pub(super) is_open: bool,
    /// The words, for people.
    pub(super) shown: String,
    pub(super) why: String,
}

/// What the commands of a run need.
#[derive(Debug, Default)]
pub(super) struct CommandNeeds {
    pub(super) profiles: BTreeMap<String, ProfileNeed>,
    pub(super) outside: Vec<OutsideNeed>,
    /// Whether `no_log` has hidden the names of a profile.
    pub(super) lacks_names: bool,
    /// The commands that run outside, with those that they start.
    outside_numbers: BTreeSet<u32>,
}

impl CommandNeeds {
    /// Returns whether something that stays inside made a use.
    pub(super) fn is_inside(&self, used: &Use<'_>) -> bool {
        used.by.is_empty() || used.by.iter().any(|by| !self.outside_numbers.contains(by))
    }

    /// Returns what the commands of a run need.
    pub(super) fn of(record: &RunRecord) -> Self {
        let mut needs = Self::default();
        for command in &record.commands {
            let Some(profile) = &command.profile else { continue };
            let need = needs.profiles.entry(profile.clone()).or_default();
            need.names.extend(command.names.iter().cloned());
            need.is_whole |= command.is_whole;
            let binds =
                profile.parse::<Profile>().ok().and_then(Profile::commands).is_some_and(|it| !it.kinds.is_empty());
            needs.lacks_names |= binds && !command.is_whole && command.names.is_empty() && command.words.len() == 1;
        }
        let roots = record.commands.iter().filter(|command| command.by == MODULE);
        let roots: Vec<&ObservedCommand> = roots.collect();
        roots.into_iter().for_each(|command| needs.visit(record, command));
        needs
    }

    /// Decides a command after those that it starts: the innermost one that reaches too far runs outside.
    fn visit(&mut self, record: &RunRecord, command: &ObservedCommand) {
        if command.profile.is_some() || is_of_apt(command) {
            return;
        }
        for inner in record.commands.iter().filter(|inner| inner.by == command.number && inner.number > command.number)
        {
            self.visit(record, inner);
        }
        let mut numbers = BTreeSet::from([command.number]);
        for inner in &record.commands {
            if numbers.contains(&inner.by) && inner.profile.is_none() && !self.outside_numbers.contains(&inner.number) {
                numbers.insert(inner.number);
            }
        }
        let uses = || record.uses().filter(|used| used.by.iter().any(|by| numbers.contains(by)));
        let Some(why) = reason(command, uses) else { return };
        self.outside_numbers.extend(&numbers);
        self.outside.push(outside_need(record, command, why));
    }
}

/// Returns whether a command is a part of apt, which the profile `update-packages` lets run inside.
fn is_of_apt(command: &ObservedCommand) -> bool {
    command.program.starts_with("/usr/lib/apt/")
}

/// Returns whether a command has the words that its task says, and is not a shell, whose words can be anything.
fn is_of_task(record: &RunRecord, command: &ObservedCommand) -> bool {
    let text = |key: &str| record.arguments.get(key).and_then(Value::as_str);
    let given = record
        .arguments
        .get("argv")
        .and_then(Value::as_list)
        .map(|words| words.iter().filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>());
    let line =
        text("_raw_params").or_else(|| text("cmd")).and_then(|line| modbox_vocabulary::quoting::split(line).ok());
    let uses_shell = record.arguments.get("_uses_shell").is_some_and(Value::is_truthy);
    !uses_shell && given.or(line).is_some_and(|words| words == command.words)
}

fn reason<'r, I: Iterator<Item = Use<'r>>>(command: &ObservedCommand, uses: impl Fn() -> I) -> Option<(String, bool)> {
    if let Some(socket) = uses().find(|used| used.is_for(Capability::Write) && used.is(Operation::Connect)) {
        return Some((format!("it talks to a daemon: {}", socket.missing.subject), true));
    }
    if let Some(call) = uses().find(changes_machine) {
        return Some((format!("it calls `{}`", call.missing.subject), true));
    }
    if command.set_id {
        return Some(("its program has a set-id bit".to_owned(), true));
    }
    let takes_rights = |used: &Use<'_>| used.is(Operation::Call) && IDENTITIES.contains(&used.missing.subject.as_str());
    if let Some(call) = uses().find(takes_rights) {
        return Some((format!("it takes the rights of other users (`{}`)", call.missing.subject), true));
    }
    let is_path = |used: &Use<'_>| {
        (used.is_for(Capability::Read) || used.is_for(Capability::Write)) && used.was != Some(PathState::Missing)
    };
    let paths: BTreeSet<&str> = uses().filter(is_path).map(|used| used.missing.subject.as_str()).collect();
    let within = |path: &&&str| !paths.iter().any(|other| other != *path && Path::new(path).starts_with(other));
    let paths: BTreeSet<&str> = paths.iter().filter(within).copied().collect();
    let name = command.program.rsplit('/').next().unwrap_or_default();
    let is_inside = INSIDE.iter().any(|start| name.starts_with(start));
    (!is_inside && paths.len() > MAX_PATHS).then(|| (format!("it uses {} paths", paths.len()), false))
}

/// Returns the rule for exactly the words of a command. A file that the run made for it can have another name the next time.
fn outside_need(record: &RunRecord, command: &ObservedCommand, (why, is_open): (String, bool)) -> OutsideNeed {
    let mut words = command.words.clone();
    if words.first().is_some_and(|first| first.contains('/')) {
        command.program.clone_into(&mut words[0]);
    }
    let (program, arguments) =
        words.split_first().map_or((String::new(), &[][..]), |(first, rest)| (first.clone(), rest));
    let texts: Vec<&[u8]> = arguments.iter().map(String::as_bytes).collect();
    let denial = outside::denied(program.as_bytes(), &texts);
    let rule = modbox_vocabulary::quoting::split(&denial.allow).ok().and_then(|words| words.into_iter().nth(1));
    let inputs: Vec<&String> = arguments.iter().filter(|word| is_own_file(record, word)).collect();
    let rule = rule.map(|rule| {
        inputs.iter().fold(rule, |rule, word| rule.replace(&modbox_vocabulary::quoting::quote(word), "<input>"))
    });
    OutsideNeed { rule, shown: denial.subject, why, is_open: is_open || !is_of_task(record, command) }
}

/// Returns whether a word is a file of the run's own: in its temporary directory, or in one that goes with the run.
fn is_own_file(record: &RunRecord, word: &str) -> bool {
    let path = Path::new(word);
    let named = record.temporary.as_deref().is_some_and(|folder| path.starts_with(folder) && path != Path::new(folder));
    // Uses of what a run has made in `/tmp` are not in the record.
    let was_there = || record.uses().any(|used| used.missing.subject == word && used.was != Some(PathState::Missing));
    path.is_absolute()
        && (named
            || path.starts_with("/tmp") && !was_there()
            || path.components().any(|part| part.as_os_str() == ".ansible"))
}

//! `modbox play --learn FILE`: collects what the modules of a play need, and writes a policy file of it.
//!
//! The play runs once, and is observed: nothing is refused to native modules. A component makes each use through modbox, so it is
//! confined all the same; it runs again with what it lacked, which it has not done.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use modbox_contract::Dict;
use modbox_policy::accounts::Accounts;
use modbox_policy::outside::RootPower;
use modbox_policy::{FileRules, PolicyFile, Rules, TaskNames, merge};
use modbox_run::Report;
use modbox_run::suggestion::{LearnedPolicy, LearnedTask, RunRecord, render_learned};
use modbox_vocabulary::GrantSource;

use crate::cli::exit::error_words;
use crate::cli::play::needs::Need;
use crate::cli::process::environment::Environment;
use crate::cli::settings::{self, Resolved};

/// Maximum number of entries that contradict others and are left out.
const MAX_CONTRADICTIONS: usize = 1000;

/// The command that makes the file.
const ORIGIN: &str = "modbox play --learn";

/// What a play has taught so far.
#[derive(Debug, Default)]
pub(crate) struct Learning {
    policy: LearnedPolicy,
    /// What components lacked, as policy files have it, for the tasks after.
    granted: BTreeSet<String>,
}

/// What the host of a play and the command share.
pub(crate) type SharedLearning = Rc<RefCell<Learning>>;

/// A learned policy file, before it is written.
pub(crate) struct LearnedFile {
    pub(crate) text: String,
    /// What a person should know of it.
    pub(crate) notes: Vec<String>,
}

impl Learning {
    /// Adds what a run shows. `action` is the name of the module as the task has it, which is the name of a task without one, with its
    /// arguments.
    pub(crate) fn add(&mut self, names: &TaskNames, (action, args): (&str, &Dict), report: &Report) {
        let shown = match &names.role {
            Some(role) => format!("{role} : {}", names.name),
            None => names.name.clone(),
        };
        let is_named = !names.name.is_empty() && names.name != action;
        if let Ok(mut record) = RunRecord::of(shown.clone(), &report.to_value()) {
            // Results need not repeat them.
            args.iter().for_each(|(name, value)| {
                record.arguments.entry(name.clone()).or_insert_with(|| value.clone());
            });
            let task = LearnedTask { name: is_named.then_some(&*shown) };
            self.policy.add(task, &record, &owner_names);
        }
    }

    /// Returns what the file has to say. `needs` are those of lookups and of the play's files.
    pub(crate) fn file(
        &mut self,
        environment: &Environment,
        needs: &[Need],
        reasons: bool,
    ) -> anyhow::Result<LearnedFile> {
        outermost(needs).for_each(|need| self.policy.add_play(&need.switch));
        let mut text = render_learned(&self.policy, ORIGIN, reasons);
        for _ in 0..MAX_CONTRADICTIONS {
            let file = PolicyFile::parse(&text)?;
            let Some((item, why)) = refused(environment, &file) else { break };
            self.policy.leave_out(&item, &why);
            let without = render_learned(&self.policy, ORIGIN, reasons);
            if without == text {
                anyhow::bail!("failed to write a policy file that loads: {item}: {why}");
            }
            text = without;
        }
        let file = PolicyFile::parse(&text)?;
        let decisions = self.policy.decisions();
        let count = if decisions == 1 { "1 decision is".to_owned() } else { format!("{decisions} decisions are") };
        let mut notes = vec![format!("{count} marked with `decide`")];
        notes.extend(powers(environment, &file));
        Ok(LearnedFile { text, notes })
    }

    /// Returns grants for a run of a component that lacked some; `None` if it lacked nothing new.
    pub(crate) fn grants_of(&mut self, environment: &Environment, report: &Report) -> Option<Rules> {
        let before = self.granted.len();
        for denial in &report.denials {
            let words = modbox_vocabulary::quoting::split(&denial.allow).unwrap_or_default();
            if let [.., option, value] = words.as_slice()
                && let Some(key) = option.strip_prefix("--allow-").filter(|key| *key != "all")
            {
                self.granted.insert(format!("{key}: [{}]", modbox_contract::encode(&value.as_str().into())));
            }
        }
        if self.granted.len() == before {
            return None;
        }
        let mut all = Rules::default();
        for item in &self.granted {
            let file = PolicyFile::parse(&format!("modules: {{x: {{allow: {{{item}}}}}}}")).ok()?;
            let (_, rules) = file.modules.first()?;
            all.add_grants(settings::resolve(environment, rules, &GrantSource::named("learning")).rules);
        }
        Some(all)
    }

    /// Forgets what a component lacked, before the next task.
    pub(crate) fn begin_task(&mut self) {
        self.granted.clear();
    }
}

/// Returns the needs that another one does not cover: a folder covers the files in it.
fn outermost(needs: &[Need]) -> impl Iterator<Item = &Need> {
    let read = |need: &Need| {
        let words = modbox_vocabulary::quoting::split(&need.switch).unwrap_or_default();
        match words.as_slice() {
            [option, path] if option == "--allow-read" => Some(PathBuf::from(path)),
            _ => None,
        }
    };
    let folders: BTreeSet<PathBuf> = needs.iter().filter_map(read).collect();
    let is_covered = move |path: &Path| path.ancestors().skip(1).any(|folder| folders.contains(folder));
    needs.iter().filter(move |need| !read(need).is_some_and(|path| is_covered(&path)))
}

/// Returns the rules of all sections of a file.
fn sections(file: &PolicyFile) -> impl Iterator<Item = &FileRules> {
    let of_modules = file.modules.iter().map(|(_, rules)| rules);
    std::iter::once(&file.rules).chain(of_modules).chain(file.tasks.iter().map(|(_, rules)| rules))
}

/// Returns the first item that this machine would refuse, and the reason.
fn refused(environment: &Environment, file: &PolicyFile) -> Option<(String, String)> {
    let source = GrantSource::named("learned");
    sections(file).find_map(|written| {
        let Resolved { rules, wrong, .. } = settings::resolve(environment, written, &source);
        if let Some(wrong) = wrong.first() {
            return Some((wrong.written.clone(), error_words(&wrong.error)));
        }
        let merged = merge(&[Rules { paths: rules.paths, ..Rules::default() }]);
        merged.err().map(|error| (error.guest().to_owned(), error.to_string()))
    })
}

/// Returns which grants of a file are as powerful as root.
fn powers(environment: &Environment, file: &PolicyFile) -> BTreeSet<String> {
    let source = GrantSource::named("learned");
    let of_section = |written: &FileRules| {
        let rules = settings::resolve(environment, written, &source).rules;
        let of_commands = rules.outside.iter().flat_map(RootPower::of_command);
        let of_owners = rules.own.iter().filter_map(RootPower::of_owner);
        let all = of_commands.chain(rules.paths.iter().filter_map(RootPower::of_path)).chain(of_owners);
        all.map(|RootPower { what, why, .. }| format!("as powerful as root: {what}: {why}")).collect::<Vec<_>>()
    };
    sections(file).flat_map(of_section).collect()
}

/// Returns the names of an owner that a denial has as numbers, such as `1000:1000+setid`. What has no name stays a number.
fn owner_names(written: &str) -> String {
    let accounts = Accounts::of_now();
    let (ids, more) = written.split_once('+').map_or((written, ""), |(ids, _)| (ids, &written[ids.len()..]));
    let (user, group) = ids.split_once(':').map_or((ids, None), |(user, group)| (user, Some(group)));
    let name = |id: &str, names: &dyn Fn(u32) -> Option<String>| {
        id.parse().ok().and_then(names).unwrap_or_else(|| id.to_owned())
    };
    let user = name(user, &|id| accounts.users().name(id).map(str::to_owned));
    let group = group.map(|group| format!(":{}", name(group, &|id| accounts.groups().name(id).map(str::to_owned))));
    format!("{user}{}{more}", group.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_covers_the_files_in_it() {
        let need = |switch: &str| Need { action: String::new(), switch: switch.to_owned() };
        let needs = [
            "--allow-read /r/role",
            "--allow-read /r/role/tasks",
            "--allow-read '/r/role/tasks/a b.yml'",
            "--allow-read /r/roles",
            "--allow-env X",
        ]
        .map(need);
        let left: Vec<&str> = outermost(&needs).map(|need| need.switch.as_str()).collect();
        assert_eq!(left, ["--allow-read /r/role", "--allow-read /r/roles", "--allow-env X"]);
    }
}

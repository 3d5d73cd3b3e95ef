//! A policy that is learned from runs: rules for modules, where what the module is tells what it needs, and for tasks.

use std::collections::BTreeMap;

use super::super::play::key;
use super::needs::Needs;
use crate::reports::suggestion::record::RunRecord;

/// Modules that run whatever their task says, so that a profile is for the task alone.
const FREE: [&str; 5] = ["command", "expect", "raw", "script", "shell"];

/// Modules that `service` chooses by what it knows of the host, which can differ in a room: the rules are for all of them.
const OF_SERVICE: [&str; 4] = ["openrc", "systemd", "systemd_service", "sysvinit"];

/// Names by which a module is known that needs no collection.
const CORE: [&str; 2] = ["ansible.builtin.", "ansible.legacy."];

/// The task of a run.
#[derive(Debug, Clone, Copy)]
pub struct LearnedTask<'a> {
    /// The name, with that of its role; `None` for a task without a name of its own, or for a run outside of a play.
    pub name: Option<&'a str>,
}

/// A module that no room can hold.
#[derive(Debug)]
pub(super) struct Unconfined {
    pub(super) name: String,
    pub(super) why: String,
}

/// A policy that is learned.
#[derive(Debug, Default)]
pub struct LearnedPolicy {
    pub(super) runs: u64,
    pub(super) failed: u64,
    pub(super) play: Needs,
    pub(super) modules: BTreeMap<String, Needs>,
    /// Rules of tasks, in the order of their first runs.
    pub(super) tasks: Vec<(String, Needs)>,
    /// By the digests of modules with all their parts.
    pub(super) unconfined: BTreeMap<String, Unconfined>,
    /// What is left out.
    pub(super) remarks: Vec<String>,
    /// Whether rules for modules are for their digests.
    is_by_digest: bool,
}

impl LearnedPolicy {
    /// Starts a policy whose rules for modules are for their digests. That of the default is for their names.
    #[must_use]
    pub fn by_digest() -> Self {
        Self { is_by_digest: true, ..Self::default() }
    }

    /// Adds what the play itself needs: the option that allows it, such as `--allow-read /srv/key`.
    pub fn add_play(&mut self, allow: &str) {
        let words = modbox_vocabulary::quoting::split(allow).unwrap_or_default();
        if let [.., option, value] = words.as_slice()
            && let Some(capability) = option.strip_prefix("--allow-").and_then(super::super::advised::key)
        {
            self.play.allow.entry(capability).or_default().insert(value.clone());
        }
    }

    /// Adds what a run shows. `owner` names an owner that a denial has as numbers.
    pub fn add(&mut self, task: LearnedTask<'_>, record: &RunRecord, owner: &dyn Fn(&str) -> String) {
        self.runs += 1;
        self.failed += u64::from(!record.succeeded);
        if record.omitted > 0 {
            let module = record.name.as_deref().unwrap_or("a module");
            self.remarks
                .push(format!("{module}: {} more uses are not in the record ({})", record.omitted, record.origin));
        }
        let mut needs = Needs::of(record, owner);
        if task.name.is_none() {
            // Rules for all tasks of a module leave it confined, or not at all.
            let beyond = needs.beyond.take();
            needs.unconfined = needs.unconfined.or(beyond);
        }
        let Some(name) = record.name.as_deref().map(short).filter(|name| !name.is_empty()) else {
            if !needs.is_empty() {
                self.remarks.push(format!("left out, since the record does not name the module: {}", record.origin));
            }
            return;
        };
        if let Some(why) = needs.unconfined {
            match &record.digest {
                Some(digest) => {
                    drop(self.unconfined.insert(digest.clone(), Unconfined { name: name.to_owned(), why }));
                }
                None => self.remarks.push(format!("{name}: it cannot be confined, and its digest is unknown: {why}")),
            }
            return;
        }
        let is_free = FREE.contains(&name.rsplit('.').next().unwrap_or(name));
        let (of_module, of_task) = match task.name {
            Some(_) if is_free || needs.beyond.is_some() => (Needs::default(), needs),
            Some(_) => {
                let Needs { profiles, limits, .. } = needs;
                let of_task = Needs { profiles: BTreeMap::new(), limits: BTreeMap::new(), ..needs };
                (Needs { profiles, limits, ..Needs::default() }, of_task)
            }
            None => (needs, Needs::default()),
        };
        if !of_module.is_empty() {
            if OF_SERVICE.contains(&name) && !self.is_by_digest {
                let other = Needs { profiles: of_module.profiles.clone(), ..Needs::default() };
                self.modules.entry("service".to_owned()).or_default().merge(other);
            }
            let key = record.digest.as_deref().filter(|_| self.is_by_digest).unwrap_or(name);
            self.modules.entry(key.to_owned()).or_default().merge(of_module);
        }
        if let Some(task) = task.name.filter(|_| !of_task.is_empty() || !of_task.decisions.is_empty()) {
            let key = key(task);
            match self.tasks.iter_mut().find(|(known, _)| *known == key) {
                Some((_, known)) => known.merge(of_task),
                None => self.tasks.push((key, of_task)),
            }
        }
    }

    /// Removes items that the machine would refuse, with the reason.
    pub fn leave_out(&mut self, item: &str, why: &str) {
        let all = self.modules.values_mut().chain(self.tasks.iter_mut().map(|(_, needs)| needs));
        let mut found = false;
        for needs in all.chain([&mut self.play]) {
            for items in needs.allow.values_mut() {
                found |= items.remove(item);
            }
            needs.allow.retain(|_, items| !items.is_empty());
        }
        if found {
            self.remarks.push(format!("left out: {item}: {why}"));
        }
        self.modules.retain(|_, needs| !needs.is_empty());
        self.tasks.retain(|(_, needs)| !needs.is_empty() || !needs.decisions.is_empty());
    }

    /// Returns the number of decisions that a person has to make.
    #[must_use]
    pub fn decisions(&self) -> usize {
        let rules = self.modules.values().chain(self.tasks.iter().map(|(_, needs)| needs));
        self.unconfined.len() + rules.filter(|needs| !needs.decisions.is_empty() || needs.beyond.is_some()).count()
    }
}

/// Returns the short name of a module of ansible-core; other names stay.
fn short(name: &str) -> &str {
    CORE.iter().find_map(|core| name.strip_prefix(core)).unwrap_or(name)
}

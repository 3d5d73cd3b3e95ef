//! What one run needs, as parts of rules.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use modbox_policy::{Profile, covering};
use modbox_vocabulary::{Capability, MODULE, quoting};

use crate::reports::suggestion::advised;
use crate::reports::suggestion::reach::commands::{CommandNeeds, ProfileNeed};
use crate::reports::suggestion::reach::limits::{self, RaisedLimits};
use crate::reports::suggestion::reach::paths::PathNeeds;
use crate::reports::suggestion::reach::unconfinable;
use crate::reports::suggestion::record::{Lacking, RunRecord};

/// Modules that ask a machine what it has, by the last part of their names, with the profile that shows it.
const OF_FACTS: [(&str, Profile); 5] = [
    ("gather_facts", Profile::Facts),
    ("getent", Profile::Users),
    ("package_facts", Profile::Packages),
    ("service_facts", Profile::Services),
    ("setup", Profile::Facts),
];

/// The passwords of all users.
const SHADOW: &str = "/etc/shadow";

/// What one run needs, or several of the same task or module.
#[derive(Debug, Default)]
pub(super) struct Needs {
    /// The names that each profile has to bind.
    pub(super) profiles: BTreeMap<String, ProfileNeed>,
    /// The items of `allow`, by their keys.
    pub(super) allow: BTreeMap<Capability, BTreeSet<String>>,
    /// The limits that have to be raised.
    pub(super) limits: RaisedLimits,
    /// What a person has to decide, with the reason.
    pub(super) decisions: BTreeSet<String>,
    /// What a person may want to know.
    pub(super) reasons: BTreeSet<String>,
    /// Why no room can hold the module.
    pub(super) unconfined: Option<String>,
    /// Why no room can hold this task, while one can hold the module.
    pub(super) beyond: Option<String>,
}

impl Needs {
    /// Returns what a run needs. `owner` names an owner that a denial has as numbers.
    pub(super) fn of(record: &RunRecord, owner: &dyn Fn(&str) -> String) -> Self {
        if record.observed
            && let Some(why) = unconfinable::reason(record)
        {
            return Self { unconfined: Some(why), ..Self::default() };
        }
        let last = record.name.as_deref().and_then(|name| name.rsplit('.').next()).unwrap_or_default();
        if let Some((_, profile)) = OF_FACTS.iter().find(|(name, _)| *name == last).filter(|_| record.observed) {
            let profiles = [(profile.to_string(), ProfileNeed::default())].into();
            return Self { profiles, limits: limits::of(record), ..Self::default() };
        }
        let commands = CommandNeeds::of(record);
        let mut needs = Self { profiles: commands.profiles.clone(), limits: limits::of(record), ..Self::default() };
        needs.settle_updates(record);
        let profiles: Vec<Profile> = needs.profiles.keys().filter_map(|name| name.parse().ok()).collect();
        if record.observed {
            let homes = unconfinable::new_homes(record);
            // A room with this profile shows which homes there are, and the passwords of the users that are named.
            let of_users = |path: &str| {
                profiles.contains(&Profile::ManageUsers) && (path == SHADOW || homes.iter().any(|home| home == path))
            };
            let is_granted = |path: &str, writes: bool| {
                !writes && of_users(path)
                    || profiles.iter().any(|profile| {
                        is_below(path, profile.written_paths()) || !writes && is_below(path, profile.paths())
                    })
            };
            let paths = PathNeeds::of(record, &commands, is_granted);
            needs.allow_all(Capability::Read, paths.read);
            needs.allow_all(Capability::Write, paths.write);
            needs.reasons.extend(paths.left_out);
            needs.beyond = paths.beyond;
        }
        if commands.lacks_names {
            needs
                .decisions
                .insert("`no_log` hides the names for which this is; write them into the profile".to_owned());
        }
        for outside in &commands.outside {
            match &outside.rule {
                Some(rule) if !advised::is_hidden(rule) => {
                    needs.allow_all(Capability::Outside, [rule.clone()].into());
                    match outside.is_open {
                        true => needs.decisions.insert(outside.why.clone()),
                        false => needs.reasons.insert(outside.why.clone()),
                    };
                }
                _ => drop(needs.decisions.insert(format!("no rule can allow {}: {}", outside.shown, outside.why))),
            }
        }
        for used in record.uses().filter(|used| commands.is_inside(used)) {
            // Owners of lists of packages are set by apt, which leaves them where it is confined.
            let is_updated = |profile: &Profile| is_below(&used.missing.subject, profile.written_paths());
            if !(used.is_for(Capability::Own) && profiles.iter().any(is_updated)) {
                needs.add_other(record, used.missing, owner);
            }
        }
        needs
    }

    /// Adds what is not a path of an observed run.
    fn add_other(&mut self, record: &RunRecord, missing: &Lacking, owner: &dyn Fn(&str) -> String) {
        let Ok(words) = quoting::split(&missing.allow) else { return };
        let [.., option, value] = words.as_slice() else { return };
        let Some(capability) = option.strip_prefix("--allow-").and_then(advised::key) else { return };
        if advised::is_hidden(value) {
            self.reasons.insert(format!("masked in the record: {capability} {}", missing.subject));
            return;
        }
        match capability {
            // What a person's shell has is not the task's.
            Capability::Env => {}
            Capability::Read | Capability::Write if record.observed => {}
            Capability::Run => match quoting::split(value).ok().and_then(|words| covered(&words)) {
                Some((profile, need)) => self.merge_profile(&profile, need),
                None => self.allow_all(Capability::Run, [value.clone()].into()),
            },
            Capability::Own => self.allow_all(Capability::Own, [owner(value)].into()),
            Capability::Net if record.observed => self.allow_all(Capability::Net, destinations(record, missing, value)),
            _ => self.allow_all(capability, [value.clone()].into()),
        }
    }

    /// `update-packages` is for a module that refreshes the lists itself, or does nothing else.
    fn settle_updates(&mut self, record: &RunRecord) {
        let name = Profile::UpdatePackages.to_string();
        let written = Profile::UpdatePackages.written_paths();
        let refreshes = record.observed
            && record.uses().any(|used| {
                used.is_for(Capability::Write) && used.is_by(MODULE) && is_below(&used.missing.subject, written)
            });
        if refreshes {
            self.profiles.entry(name).or_default();
        } else if self.profiles.contains_key(&Profile::ManagePackages.to_string()) {
            self.profiles.remove(&name);
        }
    }

    fn allow_all(&mut self, capability: Capability, items: BTreeSet<String>) {
        if !items.is_empty() {
            self.allow.entry(capability).or_default().extend(items);
        }
    }

    fn merge_profile(&mut self, profile: &str, need: ProfileNeed) {
        let own = self.profiles.entry(profile.to_owned()).or_default();
        own.names.extend(need.names);
        own.is_whole |= need.is_whole;
    }

    /// Adds the needs of another run of the same task or module.
    pub(super) fn merge(&mut self, other: Self) {
        other.profiles.into_iter().for_each(|(profile, need)| self.merge_profile(&profile, need));
        other.allow.into_iter().for_each(|(capability, items)| self.allow_all(capability, items));
        for (name, value) in other.limits {
            let own = self.limits.entry(name).or_default();
            *own = value.max(*own);
        }
        self.decisions.extend(other.decisions);
        for capability in [Capability::Read, Capability::Write] {
            let written = self.allow.get(&Capability::Write).cloned().unwrap_or_default();
            if let Some(items) = self.allow.get_mut(&capability) {
                items.retain(|item| !is_within_another(item, &written));
            }
        }
        self.allow.retain(|_, items| !items.is_empty());
        self.beyond = self.beyond.take().or(other.beyond);
        self.reasons.extend(other.reasons);
    }

    /// Returns whether a policy file has to grant nothing.
    pub(super) fn is_empty(&self) -> bool {
        let has_none = self.profiles.is_empty() && self.allow.is_empty() && self.limits.is_empty();
        has_none && self.unconfined.is_none() && self.beyond.is_none()
    }
}

/// Returns the rules for a connection. A room asks name servers by TCP unless its task says otherwise. With an address, the C library
/// makes a socket for datagrams that sends nothing, to see which address is near.
fn destinations(record: &RunRecord, missing: &Lacking, rule: &str) -> BTreeSet<String> {
    let Some(address) = missing.subject.strip_prefix("udp:") else { return [rule.to_owned()].into() };
    let port = address.rsplit(':').next().unwrap_or_default();
    let is_tcp = |other: &Lacking| {
        other.capability == Capability::Net.as_str()
            && !other.subject.starts_with("udp:")
            && other.subject.rsplit(':').next() == Some(port)
    };
    match port {
        "53" => [rule.to_owned(), "*:53+any".to_owned()].into(),
        _ if record.missing.iter().any(is_tcp) => BTreeSet::new(),
        _ => [rule.to_owned()].into(),
    }
}

/// Returns whether a path lies in one that may be written.
fn is_within_another(path: &str, written: &BTreeSet<String>) -> bool {
    written.iter().any(|other| other != path && Path::new(path).starts_with(other))
}

fn is_below(path: &str, granted: &[&str]) -> bool {
    granted.iter().any(|granted| Path::new(path).starts_with(granted))
}

fn covered(words: &[String]) -> Option<(String, ProfileNeed)> {
    let (program, arguments) = words.split_first()?;
    let found = covering(program, arguments, "root").filter(|found| found.settings.is_empty())?;
    let need = ProfileNeed { names: found.names.into_iter().collect(), is_whole: found.is_whole };
    Some((found.profile.to_string(), need))
}

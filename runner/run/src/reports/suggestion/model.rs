//! What runs show, collected by module: the entries of a policy file with their reasons, and remarks.

use std::collections::BTreeMap;

use modbox_policy::ModuleKey;
use modbox_vocabulary::{Capability, GrantSource};

use super::advised::{self, Advised, advised};
use super::observed;
use super::record::{RecordedGrant, RunRecord};

/// Number of places that a comment lists.
const MAX_PLACES: usize = 3;

/// The key of the rules for a module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyKind {
    /// The digest.
    Digest,
    /// The name.
    Name,
}

/// Runs in which the same use was found.
#[derive(Debug, Clone, Default)]
pub(super) struct Occurrences {
    pub(super) count: u64,
    pub(super) places: Vec<String>,
    last: String,
}

impl Occurrences {
    fn add(&mut self, origin: &str) {
        // One run can be denied the same by several options.
        if self.last != origin {
            self.count += 1;
            origin.clone_into(&mut self.last);
            if self.places.len() < MAX_PLACES {
                self.places.push(origin.to_owned());
            }
        }
    }

    /// Adds the runs of another list of the same record files.
    pub(super) fn merge(&mut self, other: Self) {
        self.count = self.count.max(other.count);
        let new = other.places.into_iter().filter(|place| !self.places.contains(place)).collect::<Vec<_>>();
        self.places.extend(new);
        self.places.truncate(MAX_PLACES);
    }
}

/// An entry of `allow`: its key and its text.
pub(super) type Entry = (Capability, String);

/// The reasons for an entry.
#[derive(Debug, Clone, Default)]
pub(super) struct Reasons {
    pub(super) causes: BTreeMap<String, Occurrences>,
    /// Number of entries that this one replaces.
    pub(super) widened: usize,
}

/// The rules for one module, for a task, or for all of a play.
#[derive(Debug, Default)]
pub(super) struct Rules {
    pub(super) name: String,
    pub(super) runs: u64,
    pub(super) succeeded: u64,
    pub(super) entries: BTreeMap<Entry, Reasons>,
    pub(super) remarks: BTreeMap<String, Occurrences>,
}

/// A policy that is being suggested.
#[derive(Debug, Default)]
pub struct Suggestion {
    by: Option<KeyKind>,
    pub(super) modules: BTreeMap<ModuleKey, Rules>,
    /// Runs whose module is unknown.
    pub(super) nameless: Occurrences,
}

impl Suggestion {
    /// Starts a suggestion. Without `by`, the key of a module is its digest, or its name where the digest is unknown.
    #[must_use]
    pub fn new(by: Option<KeyKind>) -> Self {
        Self { by, ..Self::default() }
    }

    /// Adds what one run shows.
    pub fn add(&mut self, record: &RunRecord) {
        let Some(key) = self.key(record) else {
            self.nameless.add(&record.origin);
            return;
        };
        let rules = self.modules.entry(key).or_default();
        rules.add(record);
    }

    /// Adds a comment to the rules of a record's module.
    pub fn note(&mut self, record: &RunRecord, text: &str) {
        if let Some(key) = self.key(record) {
            self.modules.entry(key).or_default().remark(text.to_owned(), &record.origin);
        }
    }

    fn key(&self, record: &RunRecord) -> Option<ModuleKey> {
        let parsed = |text: &Option<String>| ModuleKey::parse(text.as_deref()?).ok();
        let name = parsed(&record.name).filter(|key| matches!(key, ModuleKey::Name(_)));
        let digest = parsed(&record.digest).filter(|key| matches!(key, ModuleKey::Digest(_)));
        match self.by {
            Some(KeyKind::Name) => name,
            Some(KeyKind::Digest) => digest,
            None => digest.or(name),
        }
    }
}

impl Rules {
    pub(super) fn remark(&mut self, text: String, origin: &str) {
        self.remarks.entry(text).or_default().add(origin);
    }

    fn entry(&mut self, entry: Entry, cause: String, origin: &str) {
        self.entries.entry(entry).or_default().causes.entry(cause).or_default().add(origin);
    }

    pub(super) fn add(&mut self, record: &RunRecord) {
        let origin = &record.origin;
        self.runs += 1;
        self.succeeded += u64::from(record.succeeded);
        if let Some(name) = &record.name {
            self.name.clone_from(name);
        }
        for grant in &record.grants {
            self.add_grant(grant, origin);
        }
        for missing in &record.missing {
            if record.observed
                && let Some(remark) = observed::left_out(missing)
            {
                self.remark(remark, origin);
                continue;
            }
            if record.observed && observed::is_way(missing, record) {
                continue;
            }
            if record.succeeded && !record.observed {
                let shown = format!("{} {}", missing.capability, missing.subject);
                self.remark(format!("the module succeeded without this: {shown} ({})", missing.cause), origin);
                continue;
            }
            if let Some(directory) = observed::directory_instead(missing).filter(|_| record.observed) {
                self.entry((Capability::Write, directory), missing.cause.clone(), origin);
                continue;
            }
            let Advised { entry, remark } = advised(record, missing);
            if let Some(entry) = entry {
                self.entry(entry, missing.cause.clone(), origin);
            }
            if let Some(remark) = remark {
                self.remark(remark, origin);
            }
        }
        if record.omitted > 0 {
            self.remark(format!("{} more grants and denials are not in the record", record.omitted), origin);
        }
    }

    fn add_grant(&mut self, grant: &RecordedGrant, origin: &str) {
        let RecordedGrant { capability, subject, source } = grant;
        let shown = format!("{capability} {subject}");
        match source {
            // modbox grants these by itself, such as those of an interpreter.
            GrantSource::Need(_) => {}
            GrantSource::Argument { option, .. } => self.remark(
                format!(
                    "granted by an argument: {shown}; if it needed `--designate {option}:{capability}`, repeat that"
                ),
                origin,
            ),
            GrantSource::PolicyFile(_) | GrantSource::Profile { .. } => {
                self.remark(format!("granted by {source}, which this file does not replace: {shown}"), origin);
            }
            GrantSource::Named(_) if advised::is_hidden(subject) => {
                self.remark(format!("masked or cut in the record: {shown} ({source})"), origin);
            }
            GrantSource::Named(_) => self.add_named_grant(grant, origin),
        }
    }

    fn add_named_grant(&mut self, RecordedGrant { capability, subject, source }: &RecordedGrant, origin: &str) {
        let Some(key) = advised::key(capability) else {
            return self.remark(format!("not repeated, since it grants everything: {source}"), origin);
        };
        if key == Capability::Env {
            self.remark(format!("`{subject}` has the value of the caller's environment"), origin);
        }
        self.entry((key, subject.to_owned()), format!("granted by {source}"), origin);
    }
}

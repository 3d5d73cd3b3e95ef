//! The plans of tools in the plan store: beside each saved preview `NAME.changes` lies `NAME.json`, which says for which call and
//! under which policy it was made, and until when a person may say yes.
//!
//! A client holds only the name, 128 random bits: what decides stays here, so there is nothing to forge. A plan is renamed before it
//! is applied, so that it is applied once, also with two processes.

mod claimed;
mod files;
mod record;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use modbox_agents::answer::shown_changes;
use modbox_overlay::commit::StateDir;
use rustix::rand::GetRandomFlags;
use sha2::{Digest as _, Sha256};

pub(crate) use self::claimed::{ClaimedPlan, claim_by_hand, plan_of};
pub(crate) use self::files::CHANGES;
use self::files::{CLAIMED, GIVEN, RECORD, UNFINISHED, write};
#[cfg(test)]
use self::record::now_ms;
pub(crate) use self::record::{
    KeptAsk, KeptDenial, KeptGrant, LIFE, PlanRecord, PlannedAction, PlannedCall, future_ms,
};

/// Maximum number of plans of one policy that have no saved preview.
const MAX_ACTIONS: usize = 64;

/// Characters of a name: 128 bits in hex.
const NAME: usize = 32;

/// The plans of one policy.
#[derive(Debug)]
pub(crate) struct Plans {
    folder: PathBuf,
    policy: String,
}

impl Plans {
    /// Returns the plans in a folder that were made under a policy with this digest.
    pub(crate) fn new(folder: PathBuf, policy: &[u8; 32]) -> Self {
        Self { folder, policy: hex(policy) }
    }

    /// Keeps what a person is asked of a saved preview. Returns the name of the plan.
    ///
    /// # Errors
    ///
    /// The record cannot be written.
    pub(crate) fn keep(&self, file: &Path, record: PlanRecord) -> anyhow::Result<String> {
        let name = file.file_stem().and_then(|name| name.to_str()).filter(|name| is_name(name));
        let name = name.ok_or_else(|| anyhow::anyhow!("`{}` is not in the plan store", file.display()))?;
        self.write(name, record)?;
        Ok(name.to_owned())
    }

    /// Keeps what a person is asked of a run that was given what it lacked, in place of what was asked of the same call before. `file` is its
    /// saved preview, if it has changed something. Returns the name of the plan.
    ///
    /// # Errors
    ///
    /// There are too many plans of such runs, or the record cannot be written: both whether or not there is a saved preview.
    pub(crate) fn keep_held(&self, file: Option<&Path>, record: PlanRecord) -> anyhow::Result<String> {
        let mut held = self.own_records();
        held.retain(|(_, of)| of.ask.is_some());
        let (same, others): (Vec<_>, Vec<_>) = held.into_iter().partition(|(_, of)| of.call == record.call);
        for (name, _) in same {
            let _ = fs::remove_file(self.path(&name, RECORD));
            let _ = fs::remove_file(self.path(&name, CHANGES));
        }
        anyhow::ensure!(others.len() < MAX_ACTIONS, "{MAX_ACTIONS} calls wait for a person already");
        match file {
            Some(file) => self.keep(file, record),
            None => self.keep_new(PlanRecord { action: PlannedAction::Tell(record.call.clone()), ..record }),
        }
    }

    /// Keeps what a person is asked of something else than a saved preview, in place of what was asked of the same before. Returns the
    /// name of the plan.
    ///
    /// # Errors
    ///
    /// There are too many such plans, or the record cannot be written.
    pub(crate) fn keep_action(&self, record: PlanRecord) -> anyhow::Result<String> {
        StateDir::open(&self.folder)?;
        let (same, others): (Vec<_>, Vec<_>) =
            self.own_records().into_iter().partition(|(_, of)| of.action == record.action);
        for (name, _) in same {
            let _ = fs::remove_file(self.path(&name, RECORD));
        }
        let is_open = |of: &&(String, PlanRecord)| of.1.action != PlannedAction::Apply && of.1.ask.is_none();
        anyhow::ensure!(
            others.iter().filter(is_open).count() < MAX_ACTIONS,
            "{MAX_ACTIONS} calls wait for a person already; a plan that is not decided about goes after 15 minutes"
        );
        self.keep_new(record)
    }

    /// Keeps a record under a new name.
    fn keep_new(&self, record: PlanRecord) -> anyhow::Result<String> {
        StateDir::open(&self.folder)?;
        let mut random = [0_u8; NAME / 2];
        rustix::rand::getrandom(&mut random, GetRandomFlags::empty())?;
        let name = hex(&random);
        self.write(&name, record)?;
        Ok(name)
    }

    /// Returns the plans of this policy that are not taken.
    fn own_records(&self) -> Vec<(String, PlanRecord)> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| {
            let path = entry.path();
            let is_record = path.extension().is_some_and(|found| found == RECORD);
            Some(path.file_stem()?.to_str()?.to_owned()).filter(|_| is_record)
        });
        let records = names.filter_map(|name| Some((self.record(&name)?.0, name)));
        records.filter(|(record, _)| record.policy == self.policy).map(|(record, name)| (name, record)).collect()
    }

    fn write(&self, name: &str, record: PlanRecord) -> anyhow::Result<()> {
        let record = PlanRecord { policy: self.policy.clone(), ..record };
        Ok(write(&record, &self.path(name, UNFINISHED), &self.path(name, RECORD))?)
    }

    /// Takes a plan whose changes are these, as answers list them, whichever call it is of; `None` as for [`Plans::claim`].
    pub(crate) fn claim_changes(&self, name: &str, changes: &[String]) -> Option<ClaimedPlan> {
        let (record, _) = self.record(name)?;
        if shown_changes(&record.told_lines()) != changes {
            return None;
        }
        self.claim(name, &record.call)
    }

    /// Takes a plan for one call; `None` if no plan has this name, policy and call, or if it is too old or taken already.
    pub(crate) fn claim(&self, name: &str, call: &str) -> Option<ClaimedPlan> {
        let (record, path) = self.record(name).filter(|(record, _)| self.is_of(record, call))?;
        let claim = self.path(name, CLAIMED);
        // The process whose rename succeeds is the one that goes on.
        fs::rename(path, &claim).ok()?;
        Some(ClaimedPlan { record, file: self.path(name, CHANGES), claim })
    }

    /// Takes what a person has given to a call by hand: `None` if that is nothing, or was too long ago.
    pub(crate) fn take_given(&self, call: &str) -> Option<PlanRecord> {
        let entries = fs::read_dir(&self.folder).ok()?.flatten().map(|entry| entry.path());
        let mut given = entries.filter(|path| path.extension().is_some_and(|found| found == GIVEN));
        given.find_map(|path| {
            let record = PlanRecord::read(&path).ok().filter(|record| self.is_of(record, call))?;
            let taken = path.with_extension(CLAIMED);
            // The process whose rename succeeds is the one that answers.
            fs::rename(&path, &taken).ok()?;
            let _ = fs::remove_file(taken);
            Some(record)
        })
    }

    /// Returns a plan that is not taken, with its saved preview, as [`Plans::claim`] finds it.
    pub(crate) fn open(&self, name: &str, call: &str) -> Option<(PlanRecord, PathBuf)> {
        let (record, _) = self.record(name).filter(|(record, _)| self.is_of(record, call))?;
        Some((record, self.path(name, CHANGES)))
    }

    /// Returns the path of the record of a plan.
    pub(crate) fn record_file(&self, name: &str) -> PathBuf {
        self.path(name, RECORD)
    }

    /// Removes plans that are too old, and what is left of others. What cannot be removed stays.
    pub(crate) fn sweep(&self) {
        let Ok(entries) = fs::read_dir(&self.folder) else { return };
        for path in entries.flatten().map(|entry| entry.path()) {
            let has = |ending: &str| path.extension().is_some_and(|found| found == ending);
            let name = path.file_stem().and_then(|name| name.to_str()).filter(|name| is_name(name));
            let Some(name) = name else { continue };
            if has(UNFINISHED) && is_left(&path) {
                let _ = fs::remove_file(&path);
            }
            if !has(RECORD) && !has(CLAIMED) && !has(GIVEN) {
                continue;
            }
            let changes = self.path(name, CHANGES);
            let is_over = match PlanRecord::read(&path) {
                Ok(record) if has(GIVEN) => record.is_over(),
                Ok(record) => record.is_over() || (record.action == PlannedAction::Apply && !changes.exists()),
                // Another process has just claimed or removed the plan.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(_) => true,
            };
            if is_over {
                let _ = fs::remove_file(&changes);
                let _ = fs::remove_file(&path);
            }
        }
    }

    fn is_of(&self, record: &PlanRecord, call: &str) -> bool {
        record.policy == self.policy && record.call == call && !record.is_over()
    }

    fn record(&self, name: &str) -> Option<(PlanRecord, PathBuf)> {
        let path = Some(self.path(name, RECORD)).filter(|_| is_name(name))?;
        Some((PlanRecord::read(&path).ok()?, path))
    }

    fn path(&self, name: &str, ending: &str) -> PathBuf {
        self.folder.join(format!("{name}.{ending}"))
    }
}

pub(crate) fn call_digest(tool: &str, module: &str, arguments: &str) -> String {
    let mut digest = Sha256::new();
    for part in [tool, module, arguments] {
        digest.update((part.len() as u64).to_le_bytes());
        digest.update(part);
    }
    hex(&digest.finalize())
}

/// Returns whether a file was left by a process that ended while it wrote.
fn is_left(path: &Path) -> bool {
    let modified = path.metadata().and_then(|found| found.modified());
    modified.is_ok_and(|modified| modified.elapsed().is_ok_and(|age| age >= LIFE))
}

fn is_name(name: &str) -> bool {
    name.len() == NAME && name.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::time::{Duration, SystemTime};

    use super::*;

    fn record(asked_ms: u64) -> PlanRecord {
        PlanRecord {
            call: call_digest("t", "m", "{}"),
            asked_ms,
            result: serde_json::json!({"a": 1}),
            changes: vec!["modified /x".to_owned()],
            ..PlanRecord::now()
        }
    }

    fn planned(plans: &Plans, asked_ms: u64) -> String {
        let name = hex(&rand(asked_ms));
        let file = plans.folder.join(format!("{name}.changes"));
        fs::write(&file, "").unwrap();
        plans.keep(&file, record(asked_ms)).unwrap()
    }

    fn rand(seed: u64) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        bytes
    }

    #[test]
    fn a_plan_is_claimed_once_for_its_call_and_its_policy() {
        let dir = tempfile::tempdir().unwrap();
        let plans = Plans::new(dir.path().to_owned(), &[1; 32]);
        let name = planned(&plans, now_ms());
        let call = record(0).call;
        let others = Plans::new(dir.path().to_owned(), &[2; 32]);
        assert!(others.claim(&name, &call).is_none(), "another policy");
        assert!(plans.claim(&name, &call_digest("t", "m", "{\"a\": 1}")).is_none(), "other arguments");
        for forged in ["", "..", "../x", &name[1..], &name.to_uppercase(), &"0".repeat(32), &format!("{name}/")] {
            assert!(plans.claim(forged, &call).is_none(), "{forged}");
        }
        for wrong in [&[][..], &["modified /y".to_owned()][..], &["modified /x".to_owned(), String::new()][..]] {
            assert!(plans.claim_changes(&name, wrong).is_none() && others.claim_changes(&name, wrong).is_none());
        }
        assert!(others.claim_changes(&name, &["modified /x".to_owned()]).is_none(), "another policy");
        // The name is made of the time.
        let by_changes = planned(&plans, now_ms() - 60_000);
        assert!(plans.claim_changes(&by_changes, &["modified /x".to_owned()]).is_some());
        assert!(plans.claim_changes(&by_changes, &["modified /x".to_owned()]).is_none(), "a replay");
        fs::remove_file(dir.path().join(format!("{by_changes}.changes"))).unwrap();
        fs::remove_file(dir.path().join(format!("{by_changes}.claimed"))).unwrap();
        let claimed = plans.claim(&name, &call).unwrap();
        assert!(plans.claim(&name, &call).is_none(), "a replay");
        assert_eq!(claimed.record.changes, ["modified /x"]);
        claimed.remove();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn old_plans_are_not_claimed_and_are_swept() {
        let dir = tempfile::tempdir().unwrap();
        let plans = Plans::new(dir.path().to_owned(), &[1; 32]);
        let old = planned(&plans, now_ms() - u64::try_from(LIFE.as_millis()).unwrap());
        let future = planned(&plans, now_ms() + 1_000_000);
        let fresh = planned(&plans, now_ms());
        fs::write(dir.path().join("other.changes"), "").unwrap();
        let damaged = planned(&plans, 1);
        fs::write(dir.path().join(format!("{damaged}.json")), "{").unwrap();
        for (name, age) in [("0".repeat(32), LIFE), ("1".repeat(32), Duration::ZERO)] {
            let file = File::create(dir.path().join(format!("{name}.unfinished"))).unwrap();
            file.set_modified(SystemTime::now() - age).unwrap();
        }
        let call = record(0).call;
        assert!(plans.claim(&old, &call).is_none() && plans.claim(&future, &call).is_none());
        plans.sweep();
        let mut left: Vec<String> =
            fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        left.sort();
        let mut expect =
            vec![format!("{fresh}.changes"), format!("{fresh}.json"), format!("{}.unfinished", "1".repeat(32))];
        expect.sort();
        expect.push("other.changes".to_owned());
        assert_eq!(left, expect);
    }

    #[test]
    fn plans_without_a_saved_preview_are_bounded() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::set_permissions(dir.path(), std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
        let [one, other] = [1, 2].map(|policy| Plans::new(dir.path().to_owned(), &[policy; 32]));
        let undo = |run: &str| PlanRecord { action: PlannedAction::Undo(run.to_owned()), ..record(now_ms()) };
        let call = record(0).call;
        let first = one.keep_action(undo("a")).unwrap();
        let (second, third, foreign) = (
            one.keep_action(undo("a")).unwrap(),
            one.keep_action(undo("b")).unwrap(),
            other.keep_action(undo("a")).unwrap(),
        );
        one.sweep();
        assert!(one.claim(&first, &call).is_none() && one.claim(&foreign, &call).is_none());
        assert_eq!(one.claim(&second, &call).unwrap().record.action, PlannedAction::Undo("a".to_owned()));
        assert!(one.claim(&third, &call).is_some() && other.claim(&foreign, &call).is_some());
        for run in 0..MAX_ACTIONS {
            one.keep_action(undo(&run.to_string())).unwrap();
        }
        assert!(one.keep_action(undo("more")).unwrap_err().to_string().contains("wait for a person already"));
        one.keep_action(undo("3")).unwrap();
    }

    #[test]
    fn a_plan_is_decided_about_by_hand_once_and_in_time() {
        let dir = tempfile::tempdir().unwrap();
        let plans = Plans::new(dir.path().to_owned(), &[1; 32]);
        let file = |name: &str| dir.path().join(format!("{name}.changes"));
        let (fresh, call) = (planned(&plans, now_ms()), record(0).call);
        let claimed = claim_by_hand(&file(&fresh)).unwrap().unwrap();
        assert!(plans.claim(&fresh, &call).is_none());
        assert!(claim_by_hand(&file(&fresh)).unwrap_err().to_string().contains("decided about already"));
        claimed.give_back();
        assert!(plans.claim(&fresh, &call).is_some());
        let old = planned(&plans, now_ms() - u64::try_from(LIFE.as_millis()).unwrap());
        assert!(claim_by_hand(&file(&old)).unwrap_err().to_string().contains("older than 15 minutes"));
        // A preview that a person has saved was not planned by a tool.
        assert!(claim_by_hand(&file("person")).unwrap().is_none());
    }
}

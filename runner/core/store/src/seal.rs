//! Seals: records that an entry passed its hash check, so that the runs of the next hour skip it. Hashing compiled
//! code takes longer than running a short module.
//!
//! A seal is a note on the entry's file (see `notes`). It is valid for an hour, and only for the file with this
//! fingerprint. The time limit is there to detect a failing disk, which damages a file without a write. Seals weaken
//! nothing: writing one needs the key, and with the key one can write an entry.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use modbox_cleanup::Cleanup;
use modbox_vocabulary::FileFingerprint;

use crate::folder::Folder;
use crate::notes;

/// How long a seal is valid.
const LIFETIME: Duration = Duration::from_hours(1);

/// First word of a seal; the name of the entry and the time follow.
const PREFIX: &str = "authentic";

/// Returns whether the entry `name`, a file in this state, has a valid seal.
pub(crate) fn is_sealed(folder: &Folder, name: &str, entry: &FileFingerprint) -> bool {
    notes::recall(folder, entry).is_some_and(|seal| is_valid(&seal, name, SystemTime::now()))
}

/// Seals the entry `name`, a file in this state. Returns whether it did; if not, the next run hashes the entry again.
pub(crate) fn seal(folder: &Folder, name: &str, entry: &FileFingerprint, cleanup: &Cleanup) -> bool {
    notes::remember(folder, entry, text(name, SystemTime::now()).as_bytes(), cleanup).unwrap_or(false)
}

fn text(name: &str, now: SystemTime) -> String {
    format!("{PREFIX} {name} {}", seconds(now))
}

/// Returns whether a seal is valid. A seal from the future is not: the clock was set back since.
fn is_valid(seal: &[u8], name: &str, now: SystemTime) -> bool {
    let since = || {
        let mut words = std::str::from_utf8(seal).ok()?.split(' ');
        let sealed = [words.next()?, words.next()?] == [PREFIX, name];
        words.next()?.parse::<u64>().ok().filter(|_| sealed && words.next().is_none())
    };
    since().and_then(|since| seconds(now).checked_sub(since)).is_some_and(|age| age < LIFETIME.as_secs())
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seal_is_valid_for_an_hour_and_for_one_entry() {
        let now = UNIX_EPOCH + Duration::from_hours(24);
        let sealed = text("a-1", now);
        let is_valid = |seal: &str, name, now| is_valid(seal.as_bytes(), name, now);
        assert!(is_valid(&sealed, "a-1", now) && is_valid(&sealed, "a-1", now + LIFETIME / 2));
        assert!(!is_valid(&sealed, "b-1", now), "of another entry");
        assert!(!is_valid(&sealed, "a-1", now + LIFETIME), "too old");
        assert!(!is_valid(&sealed, "a-1", now - Duration::from_secs(1)), "from the future");
        for other in ["", "authentic", "authentic a-1", "authentic a-1 x", "authentic a-1 86400 86400", "{\"size\": 1}"]
        {
            assert!(!is_valid(other, "a-1", now), "{other}");
        }
    }
}

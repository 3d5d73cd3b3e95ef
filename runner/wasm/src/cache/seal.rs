//! What was found authentic: to hash compiled code takes longer than to run a short module with it.
//!
//! After an entry was hashed, a note on its file says so, as `known` has them: it counts for the file with this very
//! fingerprint and for an hour, so that what a failing disk does to a file that nobody wrote is
//! found, too. Whoever could make a note without the key could as well make an entry.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use modbox_cleanup::Cleanup;
use modbox_vocabulary::FileFingerprint;

use super::CompileCache;

/// How long a seal counts.
const LASTS: Duration = Duration::from_hours(1);

/// Begins a seal; the name of the entry and the time follow.
const WORD: &str = "authentic";

impl CompileCache {
    /// Whether the entry `name`, a file in this state, was found authentic lately.
    pub(super) fn is_sealed(&self, name: &str, entry: &FileFingerprint) -> bool {
        self.recall(entry).is_some_and(|seal| counts(&seal, name, SystemTime::now()))
    }

    /// Notes that the entry `name`, a file in this state, is authentic. Where that cannot be done, it is hashed again
    /// next time.
    pub(super) fn seal(&self, name: &str, entry: &FileFingerprint, cleanup: &Cleanup) {
        drop(self.remember(entry, seal(name, SystemTime::now()).as_bytes(), cleanup));
    }
}

fn seal(name: &str, now: SystemTime) -> String {
    format!("{WORD} {name} {}", seconds(now))
}

/// Seals of the future are those of a clock that was set back since.
fn counts(seal: &[u8], name: &str, now: SystemTime) -> bool {
    let since = || {
        let mut words = std::str::from_utf8(seal).ok()?.split(' ');
        let sealed = [words.next()?, words.next()?] == [WORD, name];
        words.next()?.parse::<u64>().ok().filter(|_| sealed && words.next().is_none())
    };
    since().and_then(|since| seconds(now).checked_sub(since)).is_some_and(|age| age < LASTS.as_secs())
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seal_lasts_an_hour_and_is_of_one_entry() {
        let now = UNIX_EPOCH + Duration::from_hours(24);
        let sealed = seal("a-1", now);
        let counts = |seal: &str, name, now| counts(seal.as_bytes(), name, now);
        assert!(counts(&sealed, "a-1", now) && counts(&sealed, "a-1", now + LASTS / 2));
        assert!(!counts(&sealed, "b-1", now), "of another entry");
        assert!(!counts(&sealed, "a-1", now + LASTS), "too old");
        assert!(!counts(&sealed, "a-1", now - Duration::from_secs(1)), "from the future");
        for other in ["", "authentic", "authentic a-1", "authentic a-1 x", "authentic a-1 86400 86400", "{\"size\": 1}"]
        {
            assert!(!counts(other, "a-1", now), "{other}");
        }
    }
}

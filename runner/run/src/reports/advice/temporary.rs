//! Recognises names that a program makes up: temporary files, and copies that carry the time. A grant of such a name is
//! of no use to the next run, which makes up another one.
//!
//! Recognition is by the form of the name, so it can err. It only chooses which option is suggested.

/// Prefixes of temporary files: ansible-core 2.19 (`atomic_move`, `tempfile`), rsync, editors, and GNU `sed`.
const PREFIXES: [&str; 5] = [".ansible_tmp", "ansible.", ".~tmp", ".#", "#"];

/// Endings of temporary files and locks.
const ENDINGS: [&str; 5] = [".tmp", ".temp", ".swp", ".part", ".lock"];

/// Length of the random part of Python's `tempfile` (`tmpxxxxxxxx`).
const PYTHON_RANDOM: usize = 8;

/// Length of the random part of the C library's `mkstemp`.
const MKSTEMP_RANDOM: usize = 6;

/// Kind of a made-up name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MadeUp {
    /// A file that is removed, or renamed to another name in the same directory.
    Temporary,
    /// A copy that stays.
    Backup,
}

/// Returns what a name was made up for, or `None` for another name.
pub(super) fn recognize(name: &str) -> Option<MadeUp> {
    if is_backup(name) {
        return Some(MadeUp::Backup);
    }
    let framed =
        PREFIXES.iter().any(|prefix| name.starts_with(prefix)) || ENDINGS.iter().any(|end| name.ends_with(end));
    (framed || is_python_temporary(name) || is_mkstemp(name)).then_some(MadeUp::Temporary)
}

/// Returns whether a name is `NAME.PID.YYYY-MM-DD@HH:MM:SS~` (ansible-core 2.19, `backup_local`).
fn is_backup(name: &str) -> bool {
    let Some((before, time)) = name.strip_suffix('~').and_then(|name| name.rsplit_once('.')) else { return false };
    let pid = before.rsplit_once('.').map(|(_, pid)| pid);
    let is_time = time.len() == "YYYY-MM-DD@HH:MM:SS".len() && time.contains('@');
    is_time && pid.is_some_and(|pid| !pid.is_empty() && pid.bytes().all(|byte| byte.is_ascii_digit()))
}

fn is_python_temporary(name: &str) -> bool {
    let random = |text: &str| {
        text.len() >= PYTHON_RANDOM
            && text
                .bytes()
                .take(PYTHON_RANDOM)
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
    };
    name.trim_start_matches('.').strip_prefix("tmp").is_some_and(random)
}

/// Returns whether a name ends as one of `mkstemp` does. A word of a person seldom mixes capitals and small letters
/// after its first letter.
fn is_mkstemp(name: &str) -> bool {
    // GNU `sed -i` uses six letters and digits of any case.
    if name.strip_prefix("sed").is_some_and(|random| random.len() == MKSTEMP_RANDOM && is_alphanumeric(random)) {
        return true;
    }
    let Some(random) = name.len().checked_sub(MKSTEMP_RANDOM).and_then(|at| name.get(at..)) else { return false };
    let has = |is: fn(&u8) -> bool| random.as_bytes()[1..].iter().any(is);
    is_alphanumeric(random) && has(u8::is_ascii_uppercase) && (has(u8::is_ascii_lowercase) || has(u8::is_ascii_digit))
}

fn is_alphanumeric(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_programs_make_up_are_recognised() {
        for name in [
            ".ansible_tmpy9zgepkhexists",
            "ansible.twot95sd",
            "tmpiqsav55r",
            ".tmpiqsav55r",
            "sedlRzXVe",
            "sedm5px2y",
            "passwd.lock",
            "file.part",
            "tmp.q7Rt2XvB1k",
        ] {
            assert_eq!(recognize(name), Some(MadeUp::Temporary), "{name}");
        }
        assert_eq!(recognize("exists.2.2026-11-24@01:56:38~"), Some(MadeUp::Backup));
    }

    #[test]
    fn names_of_people_are_kept() {
        for name in
            ["motd", "Makefile", "README.md", "tmp", "tmpfile", "nginx.conf", "id_ed25519", "v1.2.3", "a~", "é.x"]
        {
            assert_eq!(recognize(name), None, "{name}");
        }
    }
}

//! The user and the groups whose rights to files a thread has, for a process that makes a call in the thread's place.
//!
//! The thread waits for an answer to its call meanwhile, so they do not change. This file does not make calls.

use std::fs::File;
use std::io::Read;

/// The bit of a mode by which a program runs as its group.
const SET_GROUP_ID: u32 = 0o2000;

/// Upper bound of the size of a `status` file in `/proc`: a thread may have 65,536 groups.
const MAX_STATUS: u64 = 1 << 20;

/// The user and the groups of a thread, as far as files are concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    user: u32,
    groups: Vec<u32>,
}

impl Caller {
    /// Reads the user and the groups of a thread. `None` if it has ended.
    #[must_use]
    pub fn of(thread: u32) -> Option<Self> {
        let mut status = String::new();
        File::open(format!("/proc/{thread}/status")).ok()?.take(MAX_STATUS).read_to_string(&mut status).ok()?;
        Self::parse(&status)
    }

    /// Reads the text of proc_pid_status(5). Of four numbers, the last is that for files.
    fn parse(status: &str) -> Option<Self> {
        let numbers = |key: &str| -> Option<Vec<u32>> {
            let line = status.lines().find_map(|line| line.strip_prefix(key))?;
            line.split_whitespace().map(|number| number.parse().ok()).collect()
        };
        let (user, group) = (*numbers("Uid:")?.last()?, *numbers("Gid:")?.last()?);
        let groups = numbers("Groups:")?.into_iter().chain([group]).collect();
        Some(Self { user, groups })
    }

    /// Returns the number of its user.
    #[must_use]
    pub fn uid(&self) -> u32 {
        self.user
    }

    /// Returns the number of its group, which is not one of its other groups.
    #[must_use]
    pub fn gid(&self) -> u32 {
        self.groups.last().copied().unwrap_or_default()
    }

    /// Returns whether it acts as root on files.
    #[must_use]
    pub fn is_root(&self) -> bool {
        self.user == 0
    }

    /// Returns whether it may set the mode of a file of a user: root and the owner may.
    #[must_use]
    pub fn may_set_mode(&self, owner: u32) -> bool {
        self.is_root() || self.user == owner
    }

    /// Returns the mode that the kernel sets for a file of a group: without set-group-id if the user is not in the group
    /// (chmod(2)).
    #[must_use]
    pub fn mode_in(&self, group: u32, mode: u32) -> u32 {
        if self.is_root() || self.groups.contains(&group) { mode } else { mode & !SET_GROUP_ID }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_user_and_the_group_for_files_are_the_last_of_four() {
        let status = "Name:\tcat\nUid:\t1\t2\t3\t4\nGid:\t5\t6\t7\t8\nGroups:\t9 10 \n";
        let caller = Caller::parse(status).unwrap();
        assert_eq!(caller, Caller { user: 4, groups: vec![9, 10, 8] });
        assert_eq!([8, 9, 5].map(|group| caller.mode_in(group, 0o6755)), [0o6755, 0o6755, 0o4755]);
        assert!(caller.may_set_mode(4) && !caller.may_set_mode(1));
        assert_eq!(Caller::parse("Uid:\t1\n"), None);
    }

    #[test]
    fn this_process_is_its_own_caller() {
        let process = rustix::process::getpid().as_raw_nonzero().get().cast_unsigned();
        let caller = Caller::of(process).unwrap();
        assert!(caller.may_set_mode(rustix::process::geteuid().as_raw()));
        assert_eq!(caller.mode_in(rustix::process::getegid().as_raw(), 0o2755), 0o2755);
    }
}

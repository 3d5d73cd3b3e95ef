//! The limits of the process. They are the second line: the engine's own meter and the guard of the filesystem come
//! first and end in a report; these bound what a fault in them could use.
//!
//! `RLIMIT_AS` is not among them: the engine reserves gigabytes of addresses that it does not use. `RLIMIT_NPROC` is
//! not, since it counts a user's processes and not a run's, and does not bind root.

use std::fs::File;
use std::io::{self, Read};
use std::time::Duration;

use modbox_policy::{Access, Policy, Shape};
use modbox_vocabulary::Limits;
use rustix::process::{Resource, Rlimit};

use crate::system;

/// Memory for the engine: stacks, the runtime, tables of handles. Chosen with room to spare: whole processes of guests
/// that hoard handles were seen with less than thirty megabytes.
const ENGINE_MEMORY: u64 = 96 << 20;

/// Memory that reading a result takes, for each byte of output. The worst is an array of short numbers.
const RESULT_MEMORY: u64 = 100;

/// Descriptors for the engine: its runtime has four, a directory takes two, and names are looked up on the way.
const ENGINE_DESCRIPTORS: u64 = 32;

/// Processor time beyond the guest's: reading its result, and the engine's own meter being first.
const CPU_SLACK: Duration = Duration::from_secs(10);

/// From the signal that a process may clean up after to the one that it does not see.
const CPU_GRACE: u64 = 2;

/// How much a process may use, each beyond what it uses already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessLimits {
    /// Bytes of private, writable memory.
    pub memory: u64,
    /// Processor time of the whole process; without one, as much as it likes, since it runs many guests.
    pub cpu_time: Option<Duration>,
    /// Descriptors open at a time.
    pub descriptors: u64,
    /// Bytes of any one file; without one, files may grow as they like.
    pub file_size: Option<u64>,
}

impl ProcessLimits {
    /// Makes the limits of a guest's worker.
    #[must_use]
    pub fn for_guest(policy: &Policy, limits: &Limits) -> Self {
        let grants = policy.paths().len() as u64;
        let result = limits.max_output.saturating_mul(RESULT_MEMORY);
        Self {
            memory: limits.max_memory.saturating_add(ENGINE_MEMORY).saturating_add(result),
            cpu_time: Some(limits.cpu_time.saturating_add(CPU_SLACK)),
            descriptors: limits.max_descriptors.saturating_add(ENGINE_DESCRIPTORS).saturating_add(2 * grants),
            file_size: largest_granted(policy).map(|size| limits.max_disk.saturating_add(size)),
        }
    }

    /// Sets them, soft and hard alike, so that they cannot be raised again. Limits that are lower already stay.
    pub(super) fn apply(&self) -> io::Result<()> {
        system::survive_file_size_limit();
        if let Some(size) = self.file_size {
            lower(Resource::Fsize, size, 0)?;
        }
        if let Some(cpu_time) = self.cpu_time {
            let cpu = process_cpu_time().saturating_add(cpu_time).as_secs().saturating_add(1);
            lower(Resource::Cpu, cpu, CPU_GRACE)?;
        }
        lower(Resource::Data, private_memory()?.saturating_add(self.memory), 0)?;
        lower(Resource::Nofile, open_descriptors()?.saturating_add(self.descriptors), 0)?;
        lower(Resource::Core, 0, 0)
    }
}

/// The size of the largest file that is granted for writing. `None` when a whole directory is: `RLIMIT_FSIZE` bounds
/// how long a file is and not how much is written, so it would keep a guest from adding a line to a long log.
fn largest_granted(policy: &Policy) -> Option<u64> {
    let mut writable = policy.paths().iter().filter(|grant| grant.access == Access::Write);
    writable.try_fold(0, |largest: u64, grant| match grant.shape {
        Shape::Directory => None,
        Shape::Name => Some(std::fs::metadata(&grant.host).map_or(largest, |metadata| largest.max(metadata.len()))),
    })
}

/// Lowers a limit, never raises it. The hard limit is `grace` above the soft one.
fn lower(resource: Resource, to: u64, grace: u64) -> io::Result<()> {
    let present = rustix::process::getrlimit(resource);
    let at_most = |present: Option<u64>, to: u64| Some(present.map_or(to, |present| present.min(to)));
    let maximum = at_most(present.maximum, to.saturating_add(grace));
    Ok(rustix::process::setrlimit(resource, Rlimit { current: at_most(present.current, to), maximum })?)
}

fn process_cpu_time() -> Duration {
    rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime).try_into().unwrap_or_default()
}

/// What `RLIMIT_DATA` counts, in bytes, and stacks with it.
fn private_memory() -> io::Result<u64> {
    let mut text = [0; 128];
    let length = File::open("/proc/self/statm")?.read(&mut text)?;
    let pages =
        str::from_utf8(&text[..length]).ok().and_then(|text| text.split(' ').nth(5)?.trim().parse::<u64>().ok());
    let pages = pages
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "`/proc/self/statm` is not as Linux writes it"))?;
    Ok(pages.saturating_mul(rustix::param::page_size() as u64))
}

/// How many descriptors are open. `RLIMIT_NOFILE` bounds their numbers, and every one below it that is taken is one
/// less for the guest: what a caller left open must not count.
fn open_descriptors() -> io::Result<u64> {
    const DESCRIPTORS: &str = "/proc/self/fd";
    match std::fs::metadata(DESCRIPTORS)?.len() {
        // Before Linux 6.2 the directory does not say how many it holds.
        0 => Ok(std::fs::read_dir(DESCRIPTORS)?.count() as u64),
        count => Ok(count),
    }
}

#[cfg(test)]
mod tests {
    use modbox_policy::PathGrant;

    use super::*;

    fn size_limit(grants: &[(&str, Shape, Access)]) -> Option<u64> {
        let mut policy = Policy::default();
        for (host, shape, access) in grants {
            let guest = (*host).to_owned();
            policy
                .allow_path(PathGrant {
                    host: host.into(),
                    shape: *shape,
                    guest,
                    access: *access,
                    source: String::new(),
                })
                .unwrap();
        }
        ProcessLimits::for_guest(&policy, &Limits { max_disk: 1000, ..Limits::default() }).file_size
    }

    #[test]
    fn long_files_that_are_granted_can_still_be_added_to() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("long.log");
        std::fs::write(&file, [0; 500]).unwrap();
        let (dir, file) = (dir.path().to_str().unwrap(), file.to_str().unwrap());
        assert_eq!(size_limit(&[]), Some(1000));
        assert_eq!(size_limit(&[(dir, Shape::Directory, Access::Read)]), Some(1000));
        assert_eq!(size_limit(&[(file, Shape::Name, Access::Write)]), Some(1500));
        assert_eq!(size_limit(&[("/missing/file", Shape::Name, Access::Write)]), Some(1000));
        assert_eq!(size_limit(&[(dir, Shape::Directory, Access::Write)]), None);
    }

    #[test]
    fn what_is_in_use_is_known() {
        assert!(private_memory().unwrap() > 100 << 10);
        let before = open_descriptors().unwrap();
        let files: Vec<File> = (0..100).map(|_| File::open("/dev/null").unwrap()).collect();
        assert!(open_descriptors().unwrap() >= before.max(3) + 50, "{} more", files.len());
    }
}

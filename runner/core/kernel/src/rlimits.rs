//! The limits of the process. They are the second line of defence: the engine's meter and the guard of the file system
//! act first and report. These limits bound the effect of a fault in them.
//!
//! `RLIMIT_AS` is not used: the engine reserves gigabytes of addresses. `process_limit` has `RLIMIT_NPROC`.

use std::fs::File;
use std::io::{self, Read};
use std::time::Duration;

use modbox_policy::{Access, Policy, Shape};
use modbox_vocabulary::Limits;
use rustix::process::{Resource, Rlimit};

use crate::{process_limit, system};

/// The memory of the engine: stacks, runtime, tables of handles. Processes of guests that hoard handles need less than
/// thirty megabytes.
const ENGINE_MEMORY: u64 = 96 << 20;

/// The memory for reading a result, per byte of output. The worst case is an array of short numbers.
const RESULT_MEMORY: u64 = 100;

/// The descriptors of the engine: its runtime has four, a directory takes two, and name lookup needs some.
const ENGINE_DESCRIPTORS: u64 = 32;

/// Processor time beyond the guest's, for reading its result. The engine's own meter acts first.
const CPU_SLACK: Duration = Duration::from_secs(10);

/// Seconds between the signal that allows cleanup and the one that kills.
const CPU_GRACE: u64 = 2;

/// The limits of a process, each in addition to its current use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessLimits {
    /// Bytes of private, writable memory.
    pub memory: u64,
    /// Processor time of the whole process. A worker that runs many guests has no such limit.
    pub cpu_time: Option<Duration>,
    /// The number of open descriptors.
    pub descriptors: u64,
    /// The size of any one file, if it is limited.
    pub file_size: Option<u64>,
    /// The number of processes and threads of this user, if it is limited.
    pub processes: Option<u64>,
}

impl ProcessLimits {
    /// Returns the limits of a guest's worker.
    #[must_use]
    pub fn for_guest(policy: &Policy, limits: &Limits) -> Self {
        let grants = policy.paths().len() as u64;
        let result = limits.max_output.saturating_mul(RESULT_MEMORY);
        Self {
            memory: limits.max_memory.saturating_add(ENGINE_MEMORY).saturating_add(result),
            cpu_time: Some(limits.cpu_time.saturating_add(CPU_SLACK)),
            descriptors: limits.max_descriptors.saturating_add(ENGINE_DESCRIPTORS).saturating_add(2 * grants),
            file_size: largest_granted(policy).map(|size| limits.max_disk.saturating_add(size)),
            // The filter lets a guest start none.
            processes: None,
        }
    }

    /// Sets the soft and hard limits, so that they cannot be raised again. Lower limits stay.
    pub(super) fn apply(&self) -> io::Result<()> {
        system::survive_file_size_limit();
        if let Some(size) = self.file_size {
            lower(Resource::Fsize, size, 0)?;
        }
        if let Some(more) = self.processes {
            // The launcher counts them in any case.
            let _ = process_limit::allow_more(more);
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

/// Returns the size of the largest file that is granted for writing, or `None` if a whole directory is. `RLIMIT_FSIZE`
/// limits the length of a file, not the bytes written, so it would prevent a guest from appending to a long log.
fn largest_granted(policy: &Policy) -> Option<u64> {
    let mut writable = policy.paths().iter().filter(|grant| grant.access == Access::Write);
    writable.try_fold(0, |largest: u64, grant| match grant.shape {
        Shape::Directory => None,
        Shape::Name => {
            let metadata = std::fs::metadata(policy.single_files().place(&grant.host));
            Some(metadata.map_or(largest, |metadata| largest.max(metadata.len())))
        }
    })
}

/// Lowers a limit, and never raises it. The hard limit is `grace` above the soft one.
fn lower(resource: Resource, to: u64, grace: u64) -> io::Result<()> {
    let present = rustix::process::getrlimit(resource);
    let at_most = |present: Option<u64>, to: u64| Some(present.map_or(to, |present| present.min(to)));
    let maximum = at_most(present.maximum, to.saturating_add(grace));
    Ok(rustix::process::setrlimit(resource, Rlimit { current: at_most(present.current, to), maximum })?)
}

fn process_cpu_time() -> Duration {
    rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime).try_into().unwrap_or_default()
}

/// Returns the bytes that `RLIMIT_DATA` counts, with the stacks.
fn private_memory() -> io::Result<u64> {
    let mut text = [0; 128];
    let length = File::open("/proc/self/statm")?.read(&mut text)?;
    let pages =
        str::from_utf8(&text[..length]).ok().and_then(|text| text.split(' ').nth(5)?.trim().parse::<u64>().ok());
    let pages = pages
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "`/proc/self/statm` is not as Linux writes it"))?;
    Ok(pages.saturating_mul(rustix::param::page_size() as u64))
}

/// Returns the number of open descriptors. `RLIMIT_NOFILE` limits the highest descriptor, so descriptors that a caller
/// left open must not reduce the guest's.
fn open_descriptors() -> io::Result<u64> {
    const DESCRIPTORS: &str = "/proc/self/fd";
    match std::fs::metadata(DESCRIPTORS)?.len() {
        // Before Linux 6.2, the directory does not report the number of its entries.
        0 => Ok(std::fs::read_dir(DESCRIPTORS)?.count() as u64),
        count => Ok(count),
    }
}

#[cfg(test)]
mod tests {
    use modbox_policy::PathGrant;
    use modbox_vocabulary::GrantSource;

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
                    source: GrantSource::named(""),
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

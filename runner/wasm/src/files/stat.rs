//! What `stat` says of what is not wasmtime-wasi's.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{FileType, Stat};
use wasmtime_wasi::p2::bindings::clocks::wall_clock::Datetime;
use wasmtime_wasi::p2::bindings::filesystem::types::{DescriptorStat, DescriptorType, MetadataHashValue};

use crate::files::listing::descriptor_type;

/// Makes the upper half of a hash from the lower one, as wasmtime-wasi does; the two are compared by guests.
const UPPER: u64 = 4_614_256_656_552_045_848;

/// A number of no device.
const NO_DEVICE: u64 = u64::MAX;

/// Describes a file of the host.
#[allow(clippy::useless_conversion, reason = "the number of links is a `u32` on some architectures")]
pub(super) fn of_host(stat: &Stat) -> DescriptorStat {
    let time = |seconds: i64, nanoseconds: u64| {
        let seconds = u64::try_from(seconds).ok()?;
        Some(Datetime { seconds, nanoseconds: u32::try_from(nanoseconds).unwrap_or(0) })
    };
    DescriptorStat {
        type_: descriptor_type(FileType::from_raw_mode(stat.st_mode)),
        link_count: u64::from(stat.st_nlink),
        size: u64::try_from(stat.st_size).unwrap_or(0),
        data_access_timestamp: time(stat.st_atime, stat.st_atime_nsec),
        data_modification_timestamp: time(stat.st_mtime, stat.st_mtime_nsec),
        status_change_timestamp: time(stat.st_ctime, stat.st_ctime_nsec),
    }
}

/// Describes what only the guest has.
pub(super) fn of_own(type_: DescriptorType, size: u64, made: SystemTime) -> DescriptorStat {
    let since = made.duration_since(UNIX_EPOCH).unwrap_or_default();
    let time = Some(Datetime { seconds: since.as_secs(), nanoseconds: since.subsec_nanos() });
    DescriptorStat {
        type_,
        link_count: 1,
        size,
        data_access_timestamp: time,
        data_modification_timestamp: time,
        status_change_timestamp: time,
    }
}

/// The identity of a file of the host, the same that wasmtime-wasi gives it.
pub(super) fn hash_of_host(stat: &Stat) -> MetadataHashValue {
    hash(identity(stat))
}

/// What tells a file of the host from all others.
pub(super) fn identity(stat: &Stat) -> (u64, u64) {
    (stat.st_dev, stat.st_ino)
}

/// The identity of what only the guest has.
pub(super) fn hash_of_own(kind: u64, index: usize) -> MetadataHashValue {
    hash((NO_DEVICE, kind, index))
}

fn hash(identity: impl Hash) -> MetadataHashValue {
    let mut hasher = DefaultHasher::new();
    identity.hash(&mut hasher);
    let lower = hasher.finish();
    MetadataHashValue { lower, upper: lower ^ UPPER }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    use super::*;

    #[test]
    fn what_a_guest_sees_of_a_file_is_what_the_host_sees() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&file, "12345").unwrap();
        let handle = std::fs::File::options().write(true).open(&file).unwrap();
        handle.set_modified(UNIX_EPOCH + std::time::Duration::new(1000, 7)).unwrap();
        // Its status changes again, after it was made.
        handle.set_permissions(std::fs::Permissions::from_mode(0o600)).unwrap();
        let (seen, host) = (of_host(&rustix::fs::fstat(&handle).unwrap()), handle.metadata().unwrap());
        let time = |time: Option<Datetime>| time.map(|time| (time.seconds, u64::from(time.nanoseconds)));
        let expect = |seconds: i64, nanoseconds: i64| Some((seconds as u64, nanoseconds as u64));
        assert_eq!((seen.size, seen.link_count), (5, 1));
        assert_eq!(time(seen.data_modification_timestamp), Some((1000, 7)));
        assert_eq!(time(seen.status_change_timestamp), expect(host.ctime(), host.ctime_nsec()));
        assert_eq!(time(seen.data_access_timestamp), expect(host.atime(), host.atime_nsec()));
    }
}

//! `stat` results that wasmtime-wasi does not compute.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{FileType, Stat};
use wasmtime_wasi::p2::bindings::clocks::wall_clock::Datetime;
use wasmtime_wasi::p2::bindings::filesystem::types::{DescriptorStat, DescriptorType, MetadataHashValue};

/// Constant that makes the upper half of an identity hash from the lower half, as in wasmtime-wasi; guests compare
/// both.
const UPPER: u64 = 4_614_256_656_552_045_848;

/// A device number that no device has.
const NO_DEVICE: u64 = u64::MAX;

/// Returns the status of a host file.
#[allow(clippy::useless_conversion, reason = "the number of links is a `u32` on some architectures")]
pub(crate) fn of_host(stat: &Stat) -> DescriptorStat {
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

pub(crate) fn is_directory(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::Directory
}

pub(crate) fn is_link(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::Symlink
}

/// Returns the status of a file that exists only for the guest.
pub(crate) fn of_virtual(type_: DescriptorType, size: u64, made: SystemTime) -> DescriptorStat {
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

/// Returns the identity hash of a host file; equal to wasmtime-wasi's.
pub(crate) fn hash_of_host(stat: &Stat) -> MetadataHashValue {
    hash(identity(stat))
}

/// Returns the pair that identifies a host file.
pub(crate) fn identity(stat: &Stat) -> (u64, u64) {
    (stat.st_dev, stat.st_ino)
}

/// Returns the identity hash of a file that exists only for the guest.
pub(crate) fn hash_of_virtual(kind: u64, index: usize) -> MetadataHashValue {
    hash((NO_DEVICE, kind, index))
}

fn hash(identity: impl Hash) -> MetadataHashValue {
    let mut hasher = DefaultHasher::new();
    identity.hash(&mut hasher);
    let lower = hasher.finish();
    MetadataHashValue { lower, upper: lower ^ UPPER }
}

/// Returns WASI's name for a file type.
pub(crate) fn descriptor_type(kind: FileType) -> DescriptorType {
    match kind {
        FileType::RegularFile => DescriptorType::RegularFile,
        FileType::Directory => DescriptorType::Directory,
        FileType::Symlink => DescriptorType::SymbolicLink,
        FileType::Fifo => DescriptorType::Fifo,
        FileType::Socket => DescriptorType::Socket,
        FileType::CharacterDevice => DescriptorType::CharacterDevice,
        FileType::BlockDevice => DescriptorType::BlockDevice,
        FileType::Unknown => DescriptorType::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    use super::*;

    #[test]
    fn stat_matches_the_host() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&file, "12345").unwrap();
        let handle = std::fs::File::options().write(true).open(&file).unwrap();
        handle.set_modified(UNIX_EPOCH + std::time::Duration::new(1000, 7)).unwrap();
        // Changes ctime after the file was created.
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

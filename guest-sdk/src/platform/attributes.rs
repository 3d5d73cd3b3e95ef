//! The attributes and the times of a file.

use std::time::{SystemTime, UNIX_EPOCH};

/// The attributes of the file at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Attributes {
    /// The permissions, with the set-user-id, set-group-id and sticky bits.
    pub mode: u32,
    /// The number of the owner.
    pub uid: u32,
    /// The number of the group.
    pub gid: u32,
    /// The owner's name, if the owner has one.
    pub user: Option<String>,
    /// The group's name, if the group has one.
    pub group: Option<String>,
    /// The number of hard links.
    pub links: u64,
    /// The inode number.
    pub inode: u64,
    /// The number of the device.
    pub device: u64,
    /// The length in bytes.
    pub size: u64,
    /// The number of blocks of 512 bytes.
    pub blocks: u64,
    /// The best size for reads and writes.
    pub block_size: u64,
    /// The device number, if the file is a device.
    pub device_type: u64,
    /// What it is, if it is not a regular file, directory or link.
    pub special: Option<Special>,
    /// Whether the file is a directory; a link that was not followed is not one.
    pub directory: bool,
    /// The target, if the file is a link.
    pub target: Option<Vec<u8>>,
}

impl Attributes {
    /// Returns the bytes that the file takes on its disk.
    #[must_use]
    pub fn disk_usage(&self) -> u64 {
        self.blocks.saturating_mul(512)
    }
}

/// What a replaced file had and the new one does not have.
#[cfg(not(all(target_family = "wasm", feature = "host-files")))]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Lost {
    /// The owner or the group.
    pub(crate) owner: bool,
    /// The set-user-id and set-group-id bits.
    pub(crate) set_id: bool,
    /// The access list or extended attributes of users.
    pub(crate) attributes: bool,
}

/// Kinds of files other than regular files, directories or links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Special {
    /// A block device.
    BlockDevice,
    /// A character device.
    CharacterDevice,
    /// A named pipe.
    Fifo,
    /// A socket.
    Socket,
}

/// A time of a file. Unlike a time of WASI's standard library, it may be before 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileTime {
    /// Seconds since 1970, negative before.
    pub seconds: i64,
    /// Nanoseconds after that: at most 999,999,999.
    pub nanoseconds: u32,
}

impl FileTime {
    /// Returns the time in seconds since 1970, computed as in Python, so that the digits agree.
    #[must_use]
    pub fn as_seconds(self) -> f64 {
        self.seconds as f64 + 1e-9 * f64::from(self.nanoseconds)
    }
}

impl From<SystemTime> for FileTime {
    fn from(time: SystemTime) -> Self {
        let nanoseconds = match time.duration_since(UNIX_EPOCH) {
            Ok(since) => i128::try_from(since.as_nanos()).unwrap_or(i128::MAX),
            Err(before) => -i128::try_from(before.duration().as_nanos()).unwrap_or(i128::MAX),
        };
        Self {
            seconds: i64::try_from(nanoseconds.div_euclid(1_000_000_000)).unwrap_or(i64::MAX),
            nanoseconds: u32::try_from(nanoseconds.rem_euclid(1_000_000_000)).unwrap_or_default(),
        }
    }
}

/// The times of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    /// Of the last read.
    pub access: FileTime,
    /// Of the last change of the contents.
    pub modification: FileTime,
    /// Of the last change of the contents or the attributes.
    pub change: FileTime,
}

/// A time to set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NewTime {
    /// The time stays.
    Keep,
    /// The present time.
    Now,
    /// This time.
    At(FileTime),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_before_1970_have_seconds_below_zero() {
        let half = std::time::Duration::from_millis(500);
        let time = FileTime::from(UNIX_EPOCH - half);
        assert_eq!(time, FileTime { seconds: -1, nanoseconds: 500_000_000 });
        assert!((time.as_seconds() + 0.5).abs() < 1e-9 && time < FileTime::from(UNIX_EPOCH));
    }
}

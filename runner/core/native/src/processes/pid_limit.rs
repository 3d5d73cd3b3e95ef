//! Whether a room can have its own limit of processes, by the largest pid in its namespace.

use std::fs::File;
use std::io::Read;

/// Returns whether the kernel has a largest pid for each pid namespace.
pub(crate) fn is_per_namespace() -> bool {
    let mut release = [0; 64];
    let read = File::open("/proc/sys/kernel/osrelease").and_then(|mut file| file.read(&mut release)).unwrap_or(0);
    let release = String::from_utf8_lossy(&release[..read]).into_owned();
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|number| number.parse::<u32>().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= (6, 14)
}

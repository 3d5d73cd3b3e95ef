//! Which limits an observed run would have met, and how far they have to be raised.

use std::collections::BTreeMap;

use modbox_vocabulary::{DEFAULT_CPU_TIME, DEFAULT_MAX_DISK, DEFAULT_MAX_MEMORY, DEFAULT_TIMEOUT};

use crate::reports::suggestion::record::{RunRecord, count};

/// How much more than the observed use is allowed: another run may use more.
const ROOM: u64 = 2;

const MIB: u64 = 1 << 20;

/// Limits by their names in policy files, in MiB or in seconds.
pub(super) type RaisedLimits = BTreeMap<&'static str, u64>;

/// Returns the limits that have to be raised for a run: it used more than half of what they allow.
pub(super) fn of(record: &RunRecord) -> RaisedLimits {
    let micros = |time: std::time::Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    let known = [
        ("cpu-time", "cpu_us", micros(DEFAULT_CPU_TIME), 1_000_000),
        ("disk", "disk_bytes", DEFAULT_MAX_DISK, MIB),
        ("memory", "memory_bytes", DEFAULT_MAX_MEMORY, MIB),
        ("timeout", "wall_us", micros(DEFAULT_TIMEOUT), 1_000_000),
    ];
    let raised = |(name, key, default, unit): (&'static str, &str, u64, u64)| {
        let used = count(record.usage.get(key));
        let wanted = used.saturating_mul(ROOM).div_ceil(unit).next_power_of_two();
        (record.observed && used > default / ROOM).then_some((name, wanted))
    };
    known.into_iter().filter_map(raised).collect()
}

/// Returns the limits as a policy file has them: `{disk: 512MiB}`.
pub(super) fn shown(limits: &RaisedLimits) -> String {
    let one = |(name, value): (&&str, &u64)| match *name {
        "cpu-time" | "timeout" => format!("{name}: {value}s"),
        _ => format!("{name}: {value}MiB"),
    };
    format!("{{{}}}", limits.iter().map(one).collect::<Vec<_>>().join(", "))
}

//! Memory, processors and uptime. Devices and mounts are missing: no file describes them.

use std::collections::BTreeMap;

use modbox_sdk::{Dict, Value};

use crate::source::{Facts, text};

pub(crate) fn facts() -> Dict {
    let mut facts = Facts::default();
    if let Some(text) = text("/proc/meminfo") {
        memory(&text, &mut facts);
    }
    if let Some(text) = text("/proc/cpuinfo") {
        processors(&text, &mut facts);
    }
    let uptime = text("/proc/uptime");
    let seconds = uptime.as_deref().and_then(|uptime| uptime.split('.').next()?.parse::<i64>().ok());
    facts.put_known("uptime_seconds", seconds);
    facts.0
}

fn memory(text: &str, facts: &mut Facts) {
    let number = |line: &str| {
        let (name, rest) = line.split_once(':')?;
        let kilobytes: i64 = rest.split_whitespace().next()?.parse().ok()?;
        Some((name.to_owned(), kilobytes / 1024))
    };
    let megabytes: BTreeMap<String, i64> = text.lines().filter_map(number).collect();
    let of = |name: &str| megabytes.get(name).copied();
    for name in ["MemTotal", "MemFree", "SwapTotal", "SwapFree"] {
        facts.put_known(&format!("{}_mb", name.to_lowercase()), of(name));
    }
    let less = |one: Option<i64>, other: Option<i64>| Some(one? - other?);
    let sum = || Some(of("Cached")? + of("MemFree")? + of("Buffers")?);
    let part = |entries: &[(&str, Option<i64>)]| -> Value {
        entries.iter().map(|(name, value)| ((*name).to_owned(), Value::from(*value))).collect::<Dict>().into()
    };
    let (total, free, swap, unswapped) = (of("MemTotal"), of("MemFree"), of("SwapTotal"), of("SwapFree"));
    let parts = [
        ("real", part(&[("total", total), ("used", less(total, free)), ("free", free)])),
        ("nocache", part(&[("free", sum()), ("used", less(total, sum()))])),
        (
            "swap",
            part(&[
                ("total", swap),
                ("free", unswapped),
                ("used", less(swap, unswapped)),
                ("cached", of("SwapCached")),
            ]),
        ),
    ];
    facts.put("memory_mb", Value::from(parts));
}

/// Counts the processors in `cpuinfo` as ansible-core does for PC architectures, whose entries name a vendor.
fn processors(text: &str, facts: &mut Facts) {
    let entry = |line: &str| {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        (name.trim().to_owned(), value.trim().to_owned())
    };
    let entries: Vec<(String, String)> = text.lines().map(entry).collect();
    let of =
        |name: &'static str| entries.iter().filter(move |(other, _)| other == name).map(|(_, value)| value.as_str());
    let named = ["model name", "Processor", "vendor_id", "cpu", "Vendor", "processor"];
    let listed = entries.iter().filter(|(name, _)| named.contains(&name.as_str()));
    facts.put("processor", listed.map(|(_, value)| Value::from(value.as_str())).collect::<Vec<_>>());
    if let Some(flags) = of("flags").next_back() {
        facts.put("flags", flags.split_whitespace().map(Value::from).collect::<Vec<_>>());
    }
    let makers = of("vendor_id").count();
    if makers == 0 || makers != of("model name").count() {
        return;
    }
    let mut sockets: Vec<&str> = of("physical id").collect();
    sockets.sort_unstable();
    sockets.dedup();
    let number = |name| of(name).next().and_then(|number| number.parse::<i64>().ok());
    let count = i64::try_from(if sockets.is_empty() { makers } else { sockets.len() }).unwrap_or(i64::MAX);
    let cores = number("cpu cores").filter(|cores| *cores > 0 && !sockets.is_empty()).unwrap_or(1);
    let threads = number("siblings").map_or(1, |siblings| siblings / cores);
    facts.put("processor_count", count);
    facts.put("processor_cores", cores);
    facts.put("processor_threads_per_core", threads);
    facts.put("processor_vcpus", count.saturating_mul(cores).saturating_mul(threads));
}

//! The distribution: Debian or Ubuntu. Other distributions have no facts here, since each needs rules of its own.

use std::collections::BTreeMap;

use modbox_sdk::Dict;

use crate::source::{Facts, text};

const OS_RELEASE: &str = "/etc/os-release";

pub(crate) fn facts() -> Dict {
    let mut facts = Facts::default();
    let Some(release) = text(OS_RELEASE).map(|text| entries(&text)) else { return facts.0 };
    let entry = |key: &str| release.get(key).cloned();
    let name = match release.get("ID").map(String::as_str) {
        Some("debian") => "Debian",
        Some("ubuntu") => "Ubuntu",
        _ => return facts.0,
    };
    facts.put("distribution", name);
    facts.put("os_family", "Debian");
    facts.put("distribution_file_path", OS_RELEASE);
    facts.put("distribution_file_variety", "Debian");
    facts.put("distribution_file_parsed", true);
    facts.put_known("distribution_release", entry("VERSION_CODENAME"));
    let number = entry("VERSION_ID");
    facts.put_known("distribution_major_version", number.as_deref().and_then(|number| number.split('.').next()));
    if name == "Ubuntu" {
        facts.put_known("distribution_version", number);
    } else if let Some(version) =
        text("/etc/debian_version").filter(|text| text.starts_with(|c: char| c.is_ascii_digit()))
    {
        facts.put_known("distribution_minor_version", version.split('.').nth(1));
        facts.put("distribution_version", version);
    }
    facts.0
}

/// Returns the entries of os-release(5), without quotes.
fn entries(text: &str) -> BTreeMap<String, String> {
    let entry = |line: &str| {
        let (key, value) = line.split_once('=')?;
        Some((key.trim().to_owned(), value.trim().trim_matches(['"', '\'']).to_owned()))
    };
    text.lines().filter_map(entry).collect()
}

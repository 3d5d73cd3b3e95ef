//! Observed changes in the form of Ansible's `diff`, which its callbacks print.
//!
//! Each change is one item with `prepared` text: the differing lines of a text file, else a line that says what happened.

use modbox_python_json::Value;

use crate::reports::parts::effect_report::{ShownChange, ShownEntry, ShownKind, ShownType};

/// Returns the `diff` of a result.
pub(crate) fn of(changes: &[ShownChange]) -> Vec<Value> {
    let shown = changes.iter().filter(|change| change.kind != ShownKind::Times);
    shown.map(|change| Value::from([("prepared", Value::from(prepared(change)))])).collect()
}

fn prepared(change: &ShownChange) -> String {
    let before = change.from.as_ref().unwrap_or(&change.path);
    match &change.diff {
        Some(diff) => format!("--- {before}\n+++ {}\n{diff}", change.path),
        None => format!("{}\n", in_one_line(change)),
    }
}

/// Returns what happened to a path.
pub fn in_one_line(change: &ShownChange) -> String {
    let ShownChange { path, kind, from, before, after, .. } = change;
    let moved = from.as_ref().map(|from| format!(" (before: {from})")).unwrap_or_default();
    let detail = match (before, after) {
        (Some(before), Some(after)) => differences(before, after),
        (None, Some(after)) => vec![described(after)],
        (Some(_), None) => change.entries.map(|entries| format!("{entries} entries")).into_iter().collect(),
        (None, None) => Vec::new(),
    };
    let lines = change.lines.map(|lines| format!("lines +{} -{}", lines.added, lines.removed));
    let words: Vec<String> = detail.into_iter().chain(lines).collect();
    let words = if words.is_empty() { String::new() } else { format!(": {}", words.join(", ")) };
    format!("{kind} {path}{moved}{words}")
}

fn described(entry: &ShownEntry) -> String {
    let target = entry.target.as_ref().map(|target| format!(" to {target}")).unwrap_or_default();
    let size = if entry.entry_type == ShownType::File { format!(" of {} bytes", entry.size) } else { String::new() };
    format!("{}{target}{size}, mode {}, owner {}:{}", entry.entry_type, entry.mode, entry.uid, entry.gid)
}

fn differences(before: &ShownEntry, after: &ShownEntry) -> Vec<String> {
    let mut words = Vec::new();
    let mut differ = |what: &str, one: &str, other: &str| {
        if one != other {
            words.push(format!("{what} {one} to {other}"));
        }
    };
    differ("type", &before.entry_type.to_string(), &after.entry_type.to_string());
    differ("mode", &before.mode, &after.mode);
    let owner = |entry: &ShownEntry| format!("{}:{}", entry.uid, entry.gid);
    differ("owner", &owner(before), &owner(after));
    differ("size", &before.size.to_string(), &after.size.to_string());
    let target = |entry: &ShownEntry| entry.target.clone().unwrap_or_else(|| "none".to_owned());
    differ("target", &target(before), &target(after));
    let names = |entry: &ShownEntry| entry.xattrs.join(" ");
    differ("attributes", &names(before), &names(after));
    words
}

#[cfg(test)]
mod tests {
    use modbox_python_json::encode;

    use super::*;

    fn entry(mode: &str, size: u64) -> ShownEntry {
        ShownEntry {
            entry_type: ShownType::File,
            mode: mode.to_owned(),
            uid: 0,
            gid: 0,
            size,
            modified_ns: "0".to_owned(),
            target: None,
            sha256: None,
            xattrs: Vec::new(),
        }
    }

    fn change(kind: ShownKind, before: Option<ShownEntry>, after: Option<ShownEntry>) -> ShownChange {
        let (path, from, entries, content, diff, lines) = ("/a".to_owned(), None, None, None, None, None);
        ShownChange { path, kind, from, entries, before, after, content, diff, lines }
    }

    #[test]
    fn each_change_has_one_text() {
        let created = change(ShownKind::Created, None, Some(entry("0644", 3)));
        assert_eq!(in_one_line(&created), "created /a: file of 3 bytes, mode 0644, owner 0:0");
        let attributes = change(ShownKind::Attributes, Some(entry("0644", 3)), Some(entry("0600", 3)));
        assert_eq!(in_one_line(&attributes), "attributes /a: mode 0644 to 0600");
        let removed = ShownChange { entries: Some(17), ..change(ShownKind::Removed, Some(entry("0755", 0)), None) };
        assert_eq!(in_one_line(&removed), "removed /a: 17 entries");
    }

    #[test]
    fn lines_have_headers_and_times_are_left_out() {
        let text = ShownChange {
            diff: Some("@@ -1 +1 @@\n-a\n+b\n".to_owned()),
            ..change(ShownKind::Modified, Some(entry("0644", 2)), Some(entry("0644", 2)))
        };
        let times = change(ShownKind::Times, Some(entry("0644", 2)), Some(entry("0644", 2)));
        let diff = Value::List(of(&[text, times]));
        assert_eq!(encode(&diff), r#"[{"prepared": "--- /a\n+++ /a\n@@ -1 +1 @@\n-a\n+b\n"}]"#);
    }
}

//! Compares the report of a run and the files after it with the expectations of a case. Pure, except for reading files.

use std::path::Path;

use serde_json::Value;
use similar::TextDiff;

use super::case::Case;
use super::requests;
use crate::bounded_file::read_all;

/// Maximum size of a file that is compared.
const MAX_FILE: u64 = 16 << 20;

/// Returns the differences, each of one or several lines.
pub(super) fn differences(case: &Case, report: &Value, work: &Path) -> Vec<String> {
    let expected = &case.expect;
    let mut found = Vec::new();
    let status = report["status"].as_str().unwrap_or_default();
    if let Some(wanted) = expected.status.as_deref().filter(|wanted| *wanted != status) {
        found.push(format!("status: expected `{wanted}`, got `{status}`"));
    }
    for (key, wanted) in &expected.result {
        match report["result"].get(key) {
            Some(value) if value == wanted => {}
            Some(value) => found.push(format!("result.{key}: expected {wanted}, got {value}")),
            None => found.push(format!("result.{key}: expected {wanted}, but the result does not have it")),
        }
    }
    for (name, wanted) in &expected.files {
        found.extend(file_difference(name, wanted.as_deref(), &work.join(name)));
    }
    if let Some(wanted) = &case.http {
        found.extend(requests::differences(wanted, report));
    }
    // The module's own words say more than what differs.
    if let Some(message) = report["result"]["msg"].as_str().filter(|_| !found.is_empty()) {
        found.push(format!("the module said: {message}"));
    }
    found
}

fn file_difference(name: &str, wanted: Option<&str>, path: &Path) -> Option<String> {
    if path.symlink_metadata().is_err() {
        return wanted.map(|_| format!("{name}: expected a file, and there is none"));
    }
    let Some(wanted) = wanted else { return Some(format!("{name}: expected no file, and there is one")) };
    let bytes = match path.is_file().then(|| read_all(path, MAX_FILE)) {
        Some(Ok(bytes)) => bytes,
        Some(Err(error)) => return Some(format!("{name}: failed to read the file: {error}")),
        None => return Some(format!("{name}: expected a file, and it is not a regular one")),
    };
    let text = String::from_utf8_lossy(&bytes);
    let differs = text != wanted;
    differs.then(|| {
        let diff = TextDiff::from_lines(wanted, &text);
        diff.unified_diff().header(&format!("{name} expected"), &format!("{name} after the run")).to_string()
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_difference_is_named() {
        let work = tempfile::tempdir().unwrap();
        std::fs::write(work.path().join("motd"), "one\ntwo\n").unwrap();
        let case = |expect: Value| serde_json::from_value::<Case>(json!({"expect": expect, "http": []})).unwrap();
        let expected = case(json!({
            "status": "ok", "result": {"changed": false, "path": "motd", "rc": 0},
            "files": {"motd": "one\n", "gone": "x", "kept": null}
        }));
        let report = json!({"status": "changed", "result": {"changed": true, "path": "motd", "msg": "wrote it"}});
        let found = differences(&expected, &report, work.path());
        let expect = [
            "status: expected `ok`, got `changed`",
            "result.changed: expected false, got true",
            "result.rc: expected 0, but the result does not have it",
            "gone: expected a file, and there is none",
            "--- motd expected\n+++ motd after the run\n@@ -1 +1,2 @@\n one\n+two\n",
            "the module said: wrote it",
        ];
        assert_eq!(found, expect);
        let fits = case(json!({"result": {"changed": true}}));
        assert!(differences(&fits, &report, work.path()).is_empty());
    }
}

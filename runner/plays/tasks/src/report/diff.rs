//! The text of a result's `diff`, as Ansible shows it.

use modbox_python_json::{Dict, Value};

use crate::report::difference::unified;
use crate::report::json::dumps;

/// Returns the text of a result's `diff`: one difference or a list of them. Empty if nothing differs.
#[must_use]
pub fn text(diff: &Value) -> String {
    let diffs = match diff {
        Value::List(items) => items.as_slice(),
        single => std::slice::from_ref(single),
    };
    diffs.iter().filter_map(Value::as_dict).map(text_of).collect()
}

fn text_of(diff: &Dict) -> String {
    let mut text = String::new();
    for (key, side) in [("dst_binary", "destination"), ("src_binary", "source")] {
        if diff.contains_key(key) {
            text.push_str(&format!("diff skipped: {side} file appears to be binary\n"));
        }
    }
    for (key, side) in [("dst_larger", "destination"), ("src_larger", "source")] {
        if let Some(limit) = diff.get(key) {
            let limit = modbox_python_json::str(limit);
            text.push_str(&format!("diff skipped: {side} file size is greater than {limit}\n"));
        }
    }
    if let (Some(before), Some(after)) = (diff.get("before"), diff.get("after")) {
        let name = |side: &str| match diff.get(&format!("{side}_header")) {
            Some(header) => format!("{side}: {}", modbox_python_json::str(header)),
            None => side.to_owned(),
        };
        let lines = unified(&lines(before), &lines(after), &name("before"), &name("after"));
        if !lines.is_empty() {
            text.push_str(&lines.concat());
            text.push('\n');
        }
    }
    if let Some(prepared) = diff.get("prepared") {
        text.push_str(&modbox_python_json::str(prepared));
    }
    text
}

/// Returns the lines of one side with their line breaks. A dict is shown as JSON.
fn lines(side: &Value) -> Vec<String> {
    let text = match side {
        Value::Dict(entries) => dumps(entries, Some(4), true) + "\n",
        Value::Null => String::new(),
        other => modbox_python_json::str(other),
    };
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    if let Some(last) = lines.last_mut().filter(|last| !last.ends_with('\n')) {
        last.push_str("\n\\ No newline at end of file\n");
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_shown_as_ansible_does() {
        let check = |json: &str, expect: &str| assert_eq!(text(&modbox_python_json::decode(json).unwrap()), expect);
        check(
            r#"{"before": "a\n", "after": "b", "after_header": "/x"}"#,
            "--- before\n+++ after: /x\n@@ -1 +1 @@\n-a\n+b\n\\ No newline at end of file\n\n",
        );
        check(r#"[{"before": "a", "after": "a"}, {"prepared": "x\n"}]"#, "x\n");
        check(r#"{"dst_binary": 1}"#, "diff skipped: destination file appears to be binary\n");
        let expect = "--- before\n+++ after\n@@ -1,3 +1,3 @@\n {\n-    \"a\": 1\n+    \"a\": 2\n }\n\n";
        check(r#"{"before": {"a": 1}, "after": {"a": 2}}"#, expect);
    }
}

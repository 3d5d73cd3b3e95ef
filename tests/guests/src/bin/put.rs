//! A well-behaved module: writes `content` to `path` if it differs, and honours check mode.

use serde_json::json;
use test_guests::Args;

fn main() {
    let args = Args::read();
    let (path, content) = (args.text("path"), args.text("content"));
    let before = std::fs::read_to_string(path).ok();
    let changed = before.as_deref() != Some(content);
    let mut result = json!({"changed": changed, "path": path, "check_mode": args.flag("_ansible_check_mode")});
    if changed
        && !args.flag("_ansible_check_mode")
        && let Err(error) = std::fs::write(path, content)
    {
        result = json!({"failed": true, "msg": format!("cannot write {path}: {error}")});
    }
    if args.flag("_ansible_diff") {
        result["diff"] = json!({"before": before.unwrap_or_default(), "after": content});
    }
    test_guests::print(&result);
}

//! Performs operations of `modbox:host/files`. `ops` is a list of arrays of a name and its arguments. Returns each
//! result.

use std::io;
use std::path::Path;

use serde_json::{Value, json};

fn main() {
    let args = test_guests::Args::read();
    let ops = args.0.get("ops").and_then(Value::as_array).cloned().unwrap_or_default();
    let seen: Vec<Value> = ops
        .iter()
        .map(|op| {
            let words: Vec<&str> = op.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            attempt(&words).unwrap_or_else(|error| json!(format!("{:?}", error.kind())))
        })
        .collect();
    test_guests::print(&json!({"changed": false, "seen": seen}));
}

#[cfg(target_family = "wasm")]
fn attempt(words: &[&str]) -> io::Result<Value> {
    use modbox_host::files;
    let path = Path::new(words[1]);
    let number = |index: usize| words.get(index).and_then(|word| word.parse().ok());
    let done = |()| json!("ok");
    match words[0] {
        op @ ("stat" | "lstat") => files::stat(path, op == "stat").map(|found| {
            let target = found.target.map(|target| String::from_utf8_lossy(&target).into_owned());
            json!({
                "kind": format!("{:?}", found.kind), "mode": format!("{:o}", found.mode), "uid": found.uid, "gid": found.gid,
                "user": found.user, "group": found.group, "links": found.links, "inode": found.inode, "device": found.device,
                "size": found.size, "target": target,
            })
        }),
        "mode" => files::set_mode(path, u32::from_str_radix(words[2], 8).expect("an octal number")).map(done),
        "special" => {
            modbox_host::file_changes::set_mode(path, u32::from_str_radix(words[2], 8).expect("an octal number")).map(done)
        }
        "replace" => modbox_host::file_changes::replace(path, Path::new(words[2])).map(|lost| json!(lost.set_id)),
        "owner" => files::set_owner(path, true, number(2), number(3)).map(done),
        "lowner" => files::set_owner(path, false, number(2), number(3)).map(done),
        "user_id" => Ok(json!(files::user_id(words[1]))),
        "group_id" => Ok(json!(files::group_id(words[1]))),
        "write" => std::fs::write(path, words[2]).map(done),
        "rename" => std::fs::rename(path, words[2]).map(done),
        op => panic!("`{op}` is not an operation of this guest"),
    }
}

#[cfg(not(target_family = "wasm"))]
fn attempt(words: &[&str]) -> io::Result<Value> {
    panic!("{words:?} at {:?}: only a component has the interface", Path::new("."))
}

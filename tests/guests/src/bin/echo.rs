//! Prints all its input: argv, environment, working directory, `/args`, standard input.

use std::collections::BTreeMap;
use std::io::Read;

use serde_json::json;

fn main() {
    let mut stdin = Vec::new();
    let read = std::io::stdin().read_to_end(&mut stdin);
    let names = |dir: &str| {
        let entries = std::fs::read_dir(dir).map(|entries| {
            let mut names: Vec<String> =
                entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
            names.sort();
            names
        });
        entries.map_err(|error| error.to_string()).map_or_else(|error| json!(error), |names| json!(names))
    };
    let raw = std::fs::read(std::env::args().nth(1).unwrap_or_default()).unwrap_or_default();
    test_guests::print(&json!({
        "changed": false,
        "argv": std::env::args().collect::<Vec<_>>(),
        "env": std::env::vars().collect::<BTreeMap<_, _>>(),
        // As text, since keys that start with `_ansible_` would be removed from a result.
        "args": String::from_utf8_lossy(&raw),
        "args_are_ascii": raw.is_ascii(),
        "args_dir": names("/args"),
        "tmp_dir": names("/tmp"),
        // Under another name, since its own would be removed from the result.
        "tmpdir": test_guests::Args::read().text("_ansible_tmpdir"),
        "root_dir": names("/"),
        "stdin_read": test_guests::seen(&read),
        "stdin": String::from_utf8_lossy(&stdin),
    }));
}

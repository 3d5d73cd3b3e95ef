//! Opens one file up to `times` times, and returns the number of successes and the last error.

use std::fs::File;

use serde_json::json;
use test_guests::Args;

fn main() {
    let args = Args::read();
    let (mut open, mut stopped) = (Vec::new(), "ok".to_owned());
    for _ in 0..args.number("times").unwrap_or(1) {
        let file = File::open("/args/args.json");
        match file {
            Ok(file) => open.push(file),
            Err(_) => {
                stopped = test_guests::seen(&file);
                break;
            }
        }
    }
    test_guests::print(&json!({"changed": false, "opened": open.len(), "stopped": stopped}));
}

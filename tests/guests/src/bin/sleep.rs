//! Sleeps in one host call: for `seconds`, or for the longest time of the clock. Writes to `/tmp` first, so that there
//! is something to clean up, and prints `say` to standard error.

use std::io::Write;
use std::time::Duration;

use test_guests::Args;

fn main() {
    let args = Args::read();
    std::fs::write("/tmp/used", "").expect("every guest has a /tmp");
    std::io::stderr().write_all(args.text("say").as_bytes()).expect("stderr takes bytes");
    test_guests::say_started(&args);
    std::thread::sleep(args.number("seconds").map_or(Duration::MAX, Duration::from_secs));
    test_guests::print(&serde_json::json!({"changed": false, "slept": true}));
}

//! Sleeps in one host call: `seconds`, or for as long as the clock can say.

use std::time::Duration;

use test_guests::Args;

fn main() {
    let args = Args::read();
    test_guests::say_started(&args);
    std::thread::sleep(args.number("seconds").map_or(Duration::MAX, Duration::from_secs));
    test_guests::print(&serde_json::json!({"changed": false, "slept": true}));
}

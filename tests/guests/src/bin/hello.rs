//! The module that the tests have in every language: greets `name` and returns `n`.

use serde_json::json;
use test_guests::Args;

fn main() {
    let args = Args::read();
    let mark = if args.flag("loud") { "!" } else { "" };
    let greeting = format!("hello {}{mark}", args.text("name"));
    let mut result = json!({"changed": false, "greeting": greeting, "n": args.number("n")});
    if args.flag("_ansible_check_mode") {
        result["check"] = json!(true);
    }
    test_guests::print(&result);
}

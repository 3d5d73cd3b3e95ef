//! The module that the tests have in every language: greets `name` and gives back `n`.

use serde_json::json;
use test_guests::Args;

fn main() {
    let args = Args::read();
    let greeting = format!("hello {}", args.text("name"));
    test_guests::print(&json!({"changed": false, "greeting": greeting, "n": args.number("n")}));
}

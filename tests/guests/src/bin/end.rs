//! Ends in the way of `how`, after printing `text` if it is given.

use test_guests::Args;

fn main() {
    let args = Args::read();
    if !args.text("text").is_empty() {
        test_guests::print(&serde_json::from_str(args.text("text")).expect("`text` is JSON"));
    }
    match args.text("how") {
        "exit" => std::process::exit(args.number("code").and_then(|code| i32::try_from(code).ok()).unwrap_or(255)),
        "panic" => panic!("this guest panics"),
        "trap" => std::process::abort(),
        _ => {}
    }
}

//! Performs lists of file calls and prints each outcome: one program for WASI and for Linux, whose outcomes
//! `tests/twin.rs` compares.
//!
//! The argument `cases` is a list of objects with `number`, `grants` and `calls`. A call is a line of words (`words.rs`);
//! paths are bytes. For each call, a line on standard error has the numbers of the case and the call, and the outcome:
//! values, or an error by its name, since the numbers of WASI and Linux differ. A guest that crashes has printed what
//! went before.
//!
//! On Linux the program also knows the grants. What they do not cover it does not do: it prints the reason as the outcome,
//! and with each outcome the traits of the paths, by which differences are classified (`reach.rs`).

#[path = "twin/calls.rs"]
mod calls;
#[path = "twin/errors.rs"]
mod errors;
#[cfg(not(target_family = "wasm"))]
#[path = "twin/grants.rs"]
mod grants;
#[path = "twin/library.rs"]
mod library;
#[cfg_attr(not(target_family = "wasm"), path = "twin/names_of_linux.rs")]
#[cfg_attr(target_family = "wasm", path = "twin/names_of_wasi.rs")]
mod names;
#[path = "twin/perform.rs"]
mod perform;
#[cfg(not(target_family = "wasm"))]
#[path = "twin/reach.rs"]
mod reach;
#[path = "twin/words.rs"]
mod words;

use std::io::Write;

use serde_json::{Value, json};

use crate::perform::Slots;
use crate::words::Call;

fn main() {
    enter();
    let args = test_guests::Args::read();
    let cases = args.0.get("cases").and_then(Value::as_array).cloned().unwrap_or_default();
    for case in &cases {
        run(case);
    }
    test_guests::print(&json!({"changed": false, "cases": cases.len()}));
}

/// Enters the working directory that the host names, as modules of the SDK do.
fn enter() {
    #[cfg(target_family = "wasm")]
    if let Some(directory) = wasip2::cli::environment::initial_cwd() {
        std::env::set_current_dir(directory).expect("the working directory exists");
    }
}

/// Performs the calls of a case. Descriptors of one case do not outlive it.
fn run(case: &Value) {
    let number = &case["number"];
    let mut slots = Slots::default();
    #[cfg(not(target_family = "wasm"))]
    let grants = grants::Grants::read(&case["grants"]);
    for (index, line) in case["calls"].as_array().into_iter().flatten().enumerate() {
        let call = Call::parse(line.as_str().unwrap_or_default());
        #[cfg(not(target_family = "wasm"))]
        let (outcome, traits) = reach::performed(&grants, &call, &mut slots);
        #[cfg(target_family = "wasm")]
        let (outcome, traits) = (slots.perform(&call), "");
        say(&format!("={number}.{index}\t{outcome}\t{traits}\n"));
    }
}

/// Writes one line to standard error, by one call.
fn say(line: &str) {
    std::io::stderr().write_all(line.as_bytes()).expect("standard error takes the outcome");
}

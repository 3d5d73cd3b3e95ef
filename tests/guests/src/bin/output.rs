//! Prints exactly the bytes that `stdout` and `stderr` give in hexadecimal, then exits with `code`.

use std::io::{self, Write};

use test_guests::Args;

fn bytes(hex: &str) -> Vec<u8> {
    let byte = |at| u8::from_str_radix(&hex[at..at + 2], 16).expect("two hexadecimal digits");
    (0..hex.len()).step_by(2).map(byte).collect()
}

fn main() {
    let args = Args::read();
    io::stderr().write_all(&bytes(args.text("stderr"))).expect("stderr takes bytes");
    let mut stdout = io::stdout();
    stdout.write_all(&bytes(args.text("stdout"))).expect("stdout takes bytes");
    stdout.flush().expect("stdout can be flushed");
    std::process::exit(args.number("code").and_then(|code| i32::try_from(code).ok()).unwrap_or(0));
}

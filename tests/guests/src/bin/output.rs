//! Prints exactly the bytes that `stdout` and `stderr` give in hexadecimal, then exits with `code`.

use std::io::{self, Write};

use test_guests::Args;

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().map(|digit| (digit as char).to_digit(16).expect("hexadecimal") as u8).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

#[expect(clippy::exit, reason = "an exit status is part of the scenario")]
fn main() {
    let args = Args::read();
    io::stderr().write_all(&bytes(args.text("stderr"))).expect("stderr takes bytes");
    let mut stdout = io::stdout();
    stdout.write_all(&bytes(args.text("stdout"))).expect("stdout takes bytes");
    stdout.flush().expect("stdout can be flushed");
    std::process::exit(args.number("code").and_then(|code| i32::try_from(code).ok()).unwrap_or(0));
}

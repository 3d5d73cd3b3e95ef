//! Connects to `address` and returns what it reads.

use std::io::Read;
use std::net::TcpStream;

use serde_json::json;
use test_guests::Args;

fn main() {
    let args = Args::read();
    let mut heard = String::new();
    let connected = TcpStream::connect(args.text("address")).and_then(|mut stream| stream.read_to_string(&mut heard));
    let seen = test_guests::seen(&connected);
    test_guests::print(&json!({"changed": false, "failed": connected.is_err(), "seen": seen, "heard": heard}));
}

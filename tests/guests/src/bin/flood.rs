//! Writes `bytes` to the stream `stream`, then a result.

use std::io::{self, Write};

use test_guests::Args;

fn main() {
    let args = Args::read();
    let mut left = args.number("bytes").expect("`bytes` says how many");
    let chunk = [b'x'; 64 << 10];
    let mut stream: Box<dyn Write> = match args.text("stream") {
        "stderr" => Box::new(io::stderr()),
        _ => Box::new(io::stdout()),
    };
    while left > 0 {
        let length = chunk.len().min(usize::try_from(left).unwrap_or(chunk.len()));
        stream.write_all(&chunk[..length]).expect("a stream takes what is written to it");
        left -= length as u64;
    }
    stream.write_all(b"\n").expect("a stream takes what is written to it");
    stream.flush().expect("a stream can be flushed");
    test_guests::print(&serde_json::json!({"changed": false, "wrote": true}));
}

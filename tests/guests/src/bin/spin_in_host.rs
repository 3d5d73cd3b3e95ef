//! Never ends, and spends its time in host calls instead of in its own code.

use std::io::Write;

fn main() {
    loop {
        let _ = std::io::stderr().write_all(&[0; 4096]);
        std::hint::black_box(std::fs::metadata("/tmp").is_ok());
    }
}

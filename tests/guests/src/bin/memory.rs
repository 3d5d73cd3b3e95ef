//! Allocates memory until an allocation fails. With `graceful`, it then frees it and prints a result; otherwise it
//! aborts, as programs do.

use test_guests::Args;

const CHUNK: usize = 1 << 20;

fn main() {
    let args = Args::read();
    let wanted = args.number("mib").unwrap_or(u64::MAX);
    let mut chunks: Vec<Vec<u8>> = Vec::new();
    let mut got = 0;
    while got < wanted {
        let mut chunk = Vec::new();
        if args.flag("graceful") {
            if chunk.try_reserve_exact(CHUNK).is_err() {
                break;
            }
        } else {
            chunk.reserve_exact(CHUNK);
        }
        chunk.resize(CHUNK, 1);
        chunks.push(chunk);
        got += 1;
    }
    drop(std::hint::black_box(chunks));
    test_guests::print(&serde_json::json!({"changed": false, "got_mib": got}));
}

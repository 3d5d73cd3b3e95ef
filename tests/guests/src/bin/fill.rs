//! Fills `dir` with `files` files of `mib` MiB each, and returns how many were written.

use std::fs::File;
use std::io::Write;

use serde_json::json;
use test_guests::Args;

fn main() {
    let args = Args::read();
    let (files, mib) = (args.number("files").unwrap_or(1), args.number("mib").unwrap_or(0));
    let chunk = vec![7; 1 << 20];
    let (mut written, mut made, mut stopped) = (0, 0, "ok".to_owned());
    'all: for index in 0..files {
        let file = File::create(format!("{}/fill-{index}", args.text("dir")));
        let Ok(mut file) = file else {
            stopped = test_guests::seen(&file);
            break;
        };
        made += 1;
        for _ in 0..mib {
            let write = file.write_all(&chunk);
            if write.is_err() {
                stopped = test_guests::seen(&write);
                break 'all;
            }
            written += 1;
        }
    }
    test_guests::print(&json!({"changed": true, "written_mib": written, "made": made, "stopped": stopped}));
}

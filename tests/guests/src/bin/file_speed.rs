//! Measures file operations in the directory `dir` and prints the nanoseconds of each. With `rounds`, the best of that
//! many rounds. `compute` is an operation without host calls.

use std::fs::{self, File};
use std::hint::black_box;
use std::io::{Read, Seek, SeekFrom, Write};
use std::time::Instant;

use serde_json::{Map, json};
use test_guests::Args;

/// The number of operations in a round.
const MANY: u32 = 2000;

/// The number of entries in the listed directory.
const ENTRIES: usize = 100;

fn main() {
    let args = Args::read();
    let dir = args.text("dir").to_owned();
    let (file, list) = (format!("{dir}/file"), format!("{dir}/list"));
    fs::write(&file, vec![7; 64 << 10]).expect("the directory is writable");
    fs::create_dir_all(&list).expect("the directory is writable");
    for index in 0..ENTRIES {
        fs::write(format!("{list}/{index}"), "").expect("the directory is writable");
    }
    let mut reading = File::open(&file).expect("it is there");
    let mut writing = File::create(format!("{dir}/written")).expect("the directory is writable");
    let mut buffer = vec![0; 4096];
    let mut best = Map::new();
    for _ in 0..args.number("rounds").unwrap_or(1) {
        let mut measure = |name: &str, many: u32, operation: &mut dyn FnMut()| {
            let started = Instant::now();
            for _ in 0..many {
                operation();
            }
            let took = u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX) / u64::from(many);
            let before = best.get(name).and_then(serde_json::Value::as_u64).unwrap_or(u64::MAX);
            best.insert(name.to_owned(), json!(took.min(before)));
        };
        measure("open", MANY, &mut || drop(File::open(&file).expect("it is there")));
        measure("read", MANY, &mut || {
            reading.seek(SeekFrom::Start(0)).expect("a file can be sought");
            reading.read_exact(&mut buffer).expect("it is long enough");
        });
        measure("stat", MANY, &mut || assert!(fs::metadata(&file).expect("it is there").is_file()));
        measure("write", MANY, &mut || {
            writing.seek(SeekFrom::Start(0)).expect("a file can be sought");
            writing.write_all(&buffer).expect("there is space");
        });
        measure("compute", MANY, &mut || {
            let sum = |sum: u32, byte: &u8| sum.wrapping_mul(31).wrapping_add(u32::from(*byte));
            black_box(black_box(&buffer).iter().fold(0, sum));
        });
        measure("create", MANY / 10, &mut || {
            fs::write(format!("{dir}/new"), "").expect("the directory is writable");
            fs::remove_file(format!("{dir}/new")).expect("it was just made");
        });
        measure("readdir", MANY / 100, &mut || {
            assert_eq!(fs::read_dir(&list).expect("it is there").count(), ENTRIES);
        });
    }
    test_guests::print(&json!({"changed": true, "nanoseconds": best}));
}

//! Tries the operation `op` on `path` (and `to`), and fails unless the outcome is `expect`: `ok`, or the kind of an
//! error.

use std::fs::{self, File, FileTimes, OpenOptions};
use std::io::{self, Read, Write};
use std::time::{Duration, SystemTime};

use serde_json::json;
use test_guests::Args;

fn main() {
    let args = Args::read();
    let tried = attempt(&args);
    let seen = test_guests::seen(&tried);
    let as_expected = seen.split(' ').next() == Some(args.text("expect"));
    let mut result = json!({"changed": false, "failed": !as_expected, "seen": seen});
    if !as_expected {
        result["msg"] = json!(format!("saw `{seen}` instead of `{}`", args.text("expect")));
    }
    if let Ok(content) = tried {
        result["content"] = json!(content);
    }
    test_guests::print(&result);
}

fn attempt(args: &Args) -> io::Result<String> {
    let (path, to) = (args.text("path"), args.text("to"));
    let nothing = |()| String::new();
    match args.text("op") {
        "read" => fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
        "read_a_byte" => {
            let mut byte = [0];
            File::open(path)?.read_exact(&mut byte).map(nothing)
        }
        "list" => fs::read_dir(path).map(|entries| {
            let mut names: Vec<String> =
                entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
            names.sort();
            names.join(" ")
        }),
        "stat" => fs::metadata(path).map(|metadata| metadata.len().to_string()),
        "read_link" => fs::read_link(path).map(|target| target.to_string_lossy().into_owned()),
        "create" => OpenOptions::new().write(true).create_new(true).open(path)?.write_all(b"guest").map(nothing),
        "overwrite" => OpenOptions::new().write(true).open(path)?.write_all(b"guest").map(nothing),
        "append" => OpenOptions::new().append(true).open(path)?.write_all(b"guest").map(nothing),
        "truncate_by_open" => OpenOptions::new().write(true).truncate(true).open(path).map(|_| String::new()),
        "truncate_by_size" => File::open(path)?.set_len(0).map(nothing),
        "rename" => fs::rename(path, to).map(nothing),
        "hard_link" => fs::hard_link(path, to).map(nothing),
        #[expect(deprecated, reason = "the portable name is the only one that is stable for WASI")]
        "symlink" => fs::soft_link(path, to).map(nothing),
        "set_times" => {
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
            File::open(path)?.set_times(FileTimes::new().set_modified(time).set_accessed(time)).map(nothing)
        }
        "unlink" => fs::remove_file(path).map(nothing),
        "mkdir" => fs::create_dir(path).map(nothing),
        "rmdir" => fs::remove_dir(path).map(nothing),
        // A new handle below the first, so that no earlier check of the path helps.
        "rename_then_read" => {
            fs::rename(path, to)?;
            fs::read(to).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        }
        op => panic!("`{op}` is not an operation of this guest"),
    }
}

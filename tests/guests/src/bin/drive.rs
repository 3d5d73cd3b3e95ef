//! Performs file operations. `ops` is a list of arrays of a name and its arguments. Returns each result. Files that
//! `hold` opens stay open.

use std::fs::{self, File, FileTimes, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use test_guests::Args;
use wasip2::filesystem::preopens::get_directories;
use wasip2::filesystem::types::PathFlags;

fn main() {
    let args = Args::read();
    test_guests::say_started(&args);
    let ops = args.0.get("ops").and_then(Value::as_array).cloned().unwrap_or_default();
    let mut held = Vec::new();
    let mut all_ok = true;
    let seen: Vec<Value> = ops
        .iter()
        .map(|op| {
            let words: Vec<&str> = op.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            let [name, rest @ ..] = &words[..] else { panic!("{op} is not an operation") };
            let arg = |index: usize| rest.get(index).copied().unwrap_or_default();
            match attempt(name, arg, &mut held) {
                Ok(content) if content.is_empty() => json!("ok"),
                Ok(content) => json!(content),
                Err(error) => {
                    all_ok = false;
                    json!(name_of(&error))
                }
            }
        })
        .collect();
    let failed = args.flag("strict") && !all_ok;
    test_guests::print(&json!({"changed": false, "failed": failed, "seen": seen}));
    if failed {
        std::process::exit(1);
    }
}

fn attempt<'a>(op: &str, arg: impl Fn(usize) -> &'a str, held: &mut Vec<File>) -> io::Result<String> {
    let (path, second) = (arg(0), arg(1));
    let number = || second.parse().expect("the second argument is a number");
    let nothing = |()| String::new();
    match op {
        "read" => fs::read(path).map(text),
        "write" => fs::write(path, second).map(nothing),
        "create" => {
            OpenOptions::new().write(true).create_new(true).open(path)?.write_all(second.as_bytes()).map(nothing)
        }
        "overwrite" => OpenOptions::new().write(true).open(path)?.write_all(second.as_bytes()).map(nothing),
        "append" => OpenOptions::new().append(true).create(true).open(path)?.write_all(second.as_bytes()).map(nothing),
        "write_at" => {
            let mut file = OpenOptions::new().write(true).open(path)?;
            file.seek(SeekFrom::Start(number()))?;
            file.write_all(b"x").map(nothing)
        }
        "fill" => {
            File::create(path)?.write_all(&vec![7; usize::try_from(number()).expect("it fits in memory")]).map(nothing)
        }
        "set_len" => OpenOptions::new().write(true).open(path)?.set_len(number()).map(nothing),
        "set_len_read_only" => File::open(path)?.set_len(number()).map(nothing),
        "list" => list(path),
        "stat" => fs::metadata(path).map(|metadata| describe(&metadata)),
        "lstat" => fs::symlink_metadata(path).map(|metadata| describe(&metadata)),
        "identity" => Ok(identity(path)),
        "open_dir" => File::open(path)?.metadata().map(|metadata| describe(&metadata)),
        "rename" => fs::rename(path, second).map(nothing),
        "link" => fs::hard_link(path, second).map(nothing),
        #[expect(deprecated, reason = "the portable name is the only one that is stable for WASI")]
        "symlink" => fs::soft_link(path, second).map(nothing),
        "read_link" => fs::read_link(path).map(|target| target.to_string_lossy().into_owned()),
        "times" => {
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
            File::open(path)?.set_times(FileTimes::new().set_modified(time)).map(nothing)
        }
        "unlink" => fs::remove_file(path).map(nothing),
        "mkdir" => fs::create_dir(path).map(nothing),
        "rmdir" => fs::remove_dir(path).map(nothing),
        "remove_all" => fs::remove_dir_all(path).map(nothing),
        "hold" => {
            held.push(File::open(path)?);
            Ok(String::new())
        }
        "hold_many" => {
            for _ in 0..number() {
                held.push(File::open(path)?);
            }
            Ok(String::new())
        }
        "release" => {
            held.clear();
            Ok(String::new())
        }
        "read_held" => {
            let mut content = Vec::new();
            held.last_mut().expect("something is held").read_to_end(&mut content)?;
            Ok(text(content))
        }
        // The distinct contents and errors of many reads of a path.
        "read_often" => Ok(often(number(), || fs::read(path).map(text))),
        "write_often" => Ok(often(number(), || fs::write(path, arg(2)).map(|()| "ok".to_owned()))),
        "list_often" => Ok(often(number(), || list(path))),
        "wait" => {
            while fs::metadata(path).is_err() {
                std::thread::sleep(Duration::from_millis(2));
            }
            Ok(String::new())
        }
        op => panic!("`{op}` is not an operation of this guest"),
    }
}

/// Returns Rust's name for an error, or the name of the code in WASI 0.1 if Rust has none.
fn name_of(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(29) => "Io".to_owned(),
        Some(48) => "OutOfMemory".to_owned(),
        Some(51) => "StorageFull".to_owned(),
        _ => format!("{:?}", error.kind()),
    }
}

fn often(tries: u64, attempt: impl Fn() -> io::Result<String>) -> String {
    let seen: std::collections::BTreeSet<String> =
        (0..tries).map(|_| attempt().unwrap_or_else(|error| name_of(&error))).collect();
    seen.into_iter().collect::<Vec<_>>().join(" | ")
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns the identity of a file; the standard library does not expose it.
fn identity(path: &str) -> String {
    let below = |dir: &str| path.strip_prefix(dir).filter(|rest| rest.is_empty() || rest.starts_with('/'));
    let found = get_directories().into_iter().find_map(|(dir, at)| below(&at).map(|rest| (dir, rest)));
    let (dir, rest) = found.expect("a directory that the guest starts with");
    let rest = if rest.is_empty() { "." } else { &rest[1..] };
    match dir.metadata_hash_at(PathFlags::empty(), rest) {
        Ok(hash) => format!("{:x} {:x}", hash.lower, hash.upper),
        Err(error) => format!("{error:?}"),
    }
}

fn describe(metadata: &fs::Metadata) -> String {
    let kind = match metadata.file_type() {
        kind if kind.is_dir() => "dir",
        kind if kind.is_file() => "file",
        kind if kind.is_symlink() => "link",
        _ => "other",
    };
    format!("{kind} {}", if metadata.is_file() { metadata.len() } else { 0 })
}

fn list(path: &str) -> io::Result<String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let slash = if entry.file_type()?.is_dir() { "/" } else { "" };
        names.push(format!("{}{slash}", entry.file_name().to_string_lossy()));
    }
    names.sort();
    Ok(format!("[{}]", names.join(" ")))
}

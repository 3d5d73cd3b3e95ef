//! The guard in hostile environments: links, files replaced during a call, files that block, odd paths.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{fs, thread};

use rustix::fs::{CWD, Mode, RenameFlags};
use serde_json::json;

use crate::core::native::native_ladder::behind;
use crate::core::wasm::wasm_guard::{drive, run, run_report, seen};
use crate::support::{TestDir, sample};

/// Maximum number of runs of a race until both sides have won: on a busy machine, one side may win a whole run.
const TRIES: u32 = 30;

/// Swaps two names for as long as something runs.
fn swapping<T>(first: &Path, second: &Path, run: impl FnOnce() -> T) -> T {
    swapping_from(None, first, second, run)
}

/// The same, starting when a file exists that the guest creates when it runs. A swap before that would only change the
/// resolved grant.
fn swapping_from<T>(started: Option<&Path>, first: &Path, second: &Path, run: impl FnOnce() -> T) -> T {
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                if started.is_some_and(|started| !started.exists()) {
                    thread::yield_now();
                    continue;
                }
                rustix::fs::renameat_with(CWD, first, CWD, second, RenameFlags::EXCHANGE).unwrap();
            }
        });
        let result = run();
        done.store(true, Ordering::Relaxed);
        result
    })
}

#[test]
fn a_directory_that_is_swapped_for_a_link_leads_nowhere_else() {
    let dir = TestDir::new();
    let (granted, outside) = (dir.mkdir("granted"), dir.mkdir("outside"));
    dir.write("granted/inner/file", "inside");
    dir.write("outside/file", "canary");
    dir.write("outside/only-outside", "");
    let (inner, link) = (granted.join("inner"), granted.join("link"));
    symlink("../outside", &link).unwrap();
    let new = inner.join("new");
    let ops = json!([
        ["read_often", inner.join("file"), "4000"],
        ["write_often", inner.join("file"), "2000", "inside"],
        ["list_often", inner, "500"],
        ["write_often", new, "2000", "guest"],
    ]);
    let (mut read, mut refused) = (false, false);
    for _ in 0..TRIES {
        let seen = swapping(&inner, &link, || drive(&dir, &[("--allow-write", &granted)], &ops));
        assert!(seen.iter().all(|seen| !seen.contains("canary") && !seen.contains("only-outside")), "{seen:?}");
        read |= seen[0].contains("inside");
        refused |= seen[0].contains("PermissionDenied");
        if read && refused {
            break;
        }
    }
    assert!(read && refused, "nothing was swapped while it was read");
    assert_eq!(fs::read(outside.join("file")).unwrap(), b"canary");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 2);
}

/// Renames a directory out of the granted one and back, and lets a link to outside take its place, for as long as something runs.
fn renaming<T>(granted: &Path, outside: &Path, run: impl FnOnce() -> T) -> T {
    let (inside, moved) = (granted.join("a/deep"), outside.join("deep-moved"));
    let (link, parked) = (granted.join("link"), granted.join("a"));
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                fs::rename(&inside, &moved).unwrap();
                rustix::fs::renameat_with(CWD, &parked, CWD, &link, RenameFlags::EXCHANGE).unwrap();
                rustix::fs::renameat_with(CWD, &parked, CWD, &link, RenameFlags::EXCHANGE).unwrap();
                fs::rename(&moved, &inside).unwrap();
            }
        });
        let result = run();
        done.store(true, Ordering::Relaxed);
        result
    })
}

#[test]
fn a_renamer_beside_the_guest_does_not_choose_a_weaker_way_to_resolve() {
    let dir = TestDir::new();
    let (granted, outside) = (dir.mkdir("granted"), dir.mkdir("outside"));
    dir.write("granted/a/deep/file", "inside");
    dir.write("granted/a/file", "inside");
    for name in ["outside/file", "outside/deep/file", "file"] {
        dir.write(name, "canary");
    }
    symlink("../outside", granted.join("link")).unwrap();
    let opens = sample::cases(10_000, 250_000).to_string();
    let paths = ["a/deep/file", "a/deep/../deep/file", "a/deep/../file", "a/deep/../../a/deep/file"];
    let ops: Vec<_> = paths.iter().map(|path| json!(["read_often", granted.join(path), opens])).collect();
    let mut found = std::collections::BTreeSet::new();
    for _ in 0..TRIES {
        let run = || drive(&dir, &[("--timeout", Path::new("10m")), ("--allow-read", &granted)], &json!(ops));
        let seen = renaming(&granted, &outside, run);
        found.extend(seen.iter().flat_map(|seen| seen.split(" | ")).map(str::to_owned));
        if found.len() > 1 {
            break;
        }
    }
    // The link leads to what is not granted, and a directory that has left the grant is missing, or out of reach.
    let allowed = ["inside", "NotFound", "PermissionDenied", "NotADirectory"];
    assert!(found.iter().all(|seen| allowed.contains(&seen.as_str())), "{found:?}");
    assert!(found.contains("inside") && found.len() > 1, "nothing was renamed while it was read: {found:?}");
}

#[test]
fn a_granted_file_that_is_swapped_for_a_link_leads_nowhere_else() {
    let dir = TestDir::new();
    let (motd, canary) = (dir.write("etc/motd", "old"), dir.write("outside/file", "canary"));
    let link = motd.with_file_name("link");
    symlink(&canary, &link).unwrap();
    let temporary = motd.with_extension("tmp");
    let (own, started) = (dir.mkdir("own"), dir.join("own/started"));
    let ops = json!([
        ["write", started, ""],
        ["read_often", motd, "4000"],
        ["write_often", motd, "2000", "old"],
        ["write_often", temporary, "100", "new"],
        ["rename", temporary, motd],
    ]);
    let (mut read, mut refused) = (false, false);
    for _ in 0..TRIES {
        let grants = [("--allow-write", &*motd), ("--allow-write", &*own)];
        let seen = swapping_from(Some(&started), &motd, &link, || drive(&dir, &grants, &ops));
        assert!(seen.iter().all(|seen| !seen.contains("canary")), "{seen:?}");
        // The guest's own bytes, once they have replaced the file.
        read |= seen[1].contains("old") || seen[1].contains("new");
        refused |= seen[1].contains("PermissionDenied");
        if read && refused {
            break;
        }
        // The guest may have put its file in the place of the link; then there is nothing to swap any more.
        let _ = fs::remove_file(&link);
        let _ = fs::remove_file(&motd);
        let _ = fs::remove_file(&started);
        fs::write(&motd, "old").unwrap();
        symlink(&canary, &link).unwrap();
    }
    assert!(read && refused, "nothing was swapped while it was read");
    assert_eq!((fs::read(&canary).unwrap(), fs::metadata(&canary).unwrap().nlink()), (b"canary".to_vec(), 1));
}

#[test]
fn a_link_in_the_place_of_a_granted_file_leads_nowhere_else() {
    let dir = TestDir::new();
    let canary = dir.write("outside/file", "canary");
    let motd = dir.mkdir("etc").join("motd");
    // Granted as a name that is not there; the link comes while the guest runs.
    symlink(&canary, dir.join("etc/link")).unwrap();
    let started = dir.mkdir("granted").join("started");
    let ops = json!([
        ["write", started, ""],
        ["wait", dir.join("granted/go")],
        ["read", motd],
        ["write", motd, "x"],
        ["append", motd, "x"],
        ["stat", motd],
        ["lstat", motd],
        ["set_len", motd, "0"],
        ["read_link", motd],
        ["write", motd.with_extension("tmp"), "x"],
        ["rename", motd.with_extension("tmp"), motd],
        ["unlink", motd],
    ]);
    let granted = dir.join("granted");
    let seen = thread::scope(|scope| {
        scope.spawn(|| {
            assert!(crate::support::wait_for(std::time::Duration::from_secs(30), || started.exists()));
            fs::rename(dir.join("etc/link"), &motd).unwrap();
            fs::write(granted.join("go"), "").unwrap();
        });
        drive(&dir, &[("--allow-write", &motd), ("--allow-write", &granted)], &ops)
    });
    // The link is followed, and nothing grants its target. The grant is for the name, so the link can be replaced.
    let denied = "PermissionDenied";
    let target = canary.to_str().unwrap();
    let expect = ["ok", "ok", denied, denied, denied, denied, "link 0", denied, target, "ok", "ok", "ok"];
    assert_eq!(seen, expect);
    assert_eq!(fs::read(&canary).unwrap(), b"canary");
}

#[test]
fn files_that_block_are_listed_and_never_opened() {
    let dir = TestDir::new();
    let granted = dir.mkdir("granted");
    let (fifo, socket) = (granted.join("fifo"), granted.join("socket"));
    rustix::fs::mkfifoat(CWD, &fifo, Mode::from_raw_mode(0o666)).unwrap();
    let _listener = UnixListener::bind(&socket).unwrap();
    symlink("fifo", granted.join("to-fifo")).unwrap();
    let denied = "PermissionDenied";
    for path in [&fifo, &socket, &granted.join("to-fifo")] {
        let ops = json!([
            ["read", path],
            ["write", path, "x"],
            ["append", path, "x"],
            ["overwrite", path, "x"],
            ["set_len", path, "0"],
            ["times", path],
            ["stat", path],
            ["list", granted],
        ]);
        let expect = [denied, denied, denied, denied, denied, denied, "other 0", "[fifo socket to-fifo]"];
        assert_eq!(drive(&dir, &[("--allow-write", &granted)], &ops), expect, "{}", path.display());
        // As granted names, too. The link was followed when it was granted.
        let expect = [denied, denied, denied, denied, denied, denied, "other 0"];
        assert_eq!(drive(&dir, &[("--allow-write", path)], &json!(ops.as_array().unwrap()[..7]))[..6], expect[..6]);
    }
    let (moved, other) = (granted.join("moved"), granted.join("other"));
    let ops = json!([["rename", fifo, moved], ["link", moved, other], ["rename", socket, fifo], ["unlink", other]]);
    assert_eq!(drive(&dir, &[("--allow-write", &granted)], &ops), ["ok", "ok", denied, "ok"]);
    let kind = |path: &Path| fs::symlink_metadata(path).unwrap().file_type();
    assert!(kind(&moved).is_fifo() && kind(&socket).is_socket() && !other.exists());
    let ops =
        json!([["read", "/dev/zero"], ["overwrite", "/dev/null", "x"], ["read", "/dev/tty"], ["stat", "/dev/null"]]);
    let expect = [denied, denied, denied, "other 0"];
    assert_eq!(drive(&dir, &[("--allow-write", Path::new("/dev"))], &ops), expect);
}

#[test]
fn odd_paths_reach_nothing_and_crash_nothing() {
    let dir = TestDir::new();
    let granted = dir.mkdir("granted");
    dir.write("granted/file", "inside");
    dir.mkdir("granted/sub");
    let canary = dir.write("outside/file", "canary");
    for (name, target) in [
        ("up", ".."),
        ("slash", "../outside/"),
        ("dot", "../outside/."),
        ("loop", "loop"),
        ("file-slash", "file/"),
        ("absolute", "/"),
        ("proc", "/proc/self/root"),
        ("inside", "sub/../file"),
    ] {
        symlink(target, granted.join(name)).unwrap();
    }
    let path = |rest: &str| format!("{}/{rest}", granted.display());
    let refused = [
        "../outside/file",
        "sub/../../outside/file",
        "up/outside/file",
        "slash/file",
        "slash//file",
        "dot/file",
        "dot/./file",
        "loop",
        "loop/",
        "file/",
        "file/.",
        "file/..",
        "file-slash",
        "absolute/etc/passwd",
        "proc/etc/passwd",
        "sub/../up/outside/file/",
        "./../outside/file",
        "//../outside/file",
        "slash/",
        "dot/.",
    ];
    for rest in refused {
        let path = path(rest);
        let ops = json!([
            ["read", path],
            ["write", path, "guest"],
            ["append", path, "guest"],
            ["set_len", path, "0"],
            ["rename", path, format!("{}/moved", granted.display())],
            ["rename", format!("{}/file", granted.display()), path],
            ["link", path, format!("{}/linked", granted.display())],
            ["unlink", path],
        ]);
        let seen = drive(&dir, &[("--allow-write", &granted)], &json!(ops.as_array().unwrap()[..4]));
        assert!(seen.iter().all(|seen| seen != "ok" && !seen.contains("canary")), "{rest}: {seen:?}");
        // What only renames or removes a link itself may work; what it leads to stays.
        let twin = TestDir::new();
        let _ = drive(&twin, &[("--allow-write", &granted)], &json!(ops.as_array().unwrap()[4..]));
        assert_eq!(fs::read(&canary).unwrap(), b"canary", "{rest}");
        assert_eq!((fs::metadata(&canary).unwrap().nlink(), names_of(&dir.join("outside"))), (1, 1), "{rest}");
        if !granted.join("file").is_file() {
            fs::write(granted.join("file"), "inside").unwrap();
        }
    }
    for rest in ["file", "./file", "sub/../file", "inside", "sub//..//file"] {
        if granted.join("inside").is_symlink() || rest != "inside" {
            assert_eq!(
                drive(&dir, &[("--allow-read", &granted)], &json!([["read", path(rest)]])),
                ["inside"],
                "{rest}"
            );
        }
    }
}

#[test]
fn a_name_that_is_not_utf_8_is_listed_and_used_as_any_other() {
    let dir = TestDir::new();
    let granted = dir.mkdir("granted");
    for name in [b"before".as_slice(), b"\xff", b"a\xc3", b"z"] {
        fs::write(granted.join(OsStr::from_bytes(name)), "").unwrap();
    }
    let inner = granted.join(OsStr::from_bytes(b"inner\xfe"));
    fs::create_dir(&inner).unwrap();
    let ops = json!([
        ["list", granted],
        ["unlink", granted.join("a\u{10f7c3}")],
        ["rename", granted.join("\u{10f7ff}"), granted.join("inner\u{10f7fe}/\u{10f7fd}")],
        // Another spelling of `é`, which has one that is UTF-8.
        ["write", granted.join("\u{10f7c3}\u{10f7a9}"), ""],
        ["list", granted],
        ["list", granted.join("inner\u{10f7fe}")],
    ]);
    let report = run_report(&dir, &[("--allow-write", granted.as_path())], &ops);
    let expect = [
        "[a\u{10f7c3} before inner\u{10f7fe}/ z \u{10f7ff}]",
        "ok",
        "ok",
        "ok",
        "[before inner\u{10f7fe}/ z é]",
        "[\u{10f7fd}]",
    ];
    assert_eq!(seen(&report["result"]), expect, "{report:#}");
    assert!(inner.join(OsStr::from_bytes(b"\xfd")).exists());
    assert!(granted.join("é").exists());
}

fn names_of(dir: &Path) -> usize {
    fs::read_dir(dir).unwrap().count()
}

#[test]
fn a_kernel_without_openat2_starts_no_guest() {
    let dir = TestDir::new();
    dir.write("granted/file", "inside");
    let granted = dir.join("granted");
    // Filters of old containers answer with EPERM.
    for errno in [libc::ENOSYS, libc::EPERM] {
        let read = json!([["read", granted.join("file")]]);
        let ran = behind(&[(libc::SYS_openat2, errno)], || run(&dir, &[("--allow-read", &granted)], &read));
        let message = ran.exits_with(70).json()["msg"].as_str().unwrap().to_owned();
        assert!(message.contains("openat2") && message.contains("Linux 5.6"), "{message}");
        // Also without any grant.
        let ran = behind(&[(libc::SYS_openat2, errno)], || run(&dir, &[], &json!([["list", "/tmp"]])));
        let message = ran.exits_with(70).json()["msg"].as_str().unwrap().to_owned();
        assert!(message.contains("openat2"), "{message}");
    }
}

//! Compiled code is cached, checked before use and removed on request. An unusable cache makes runs slower, but never
//! fails one.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::support::{Modbox, TestDir, guest, small_module, wait_for};

/// Age of a file whose times are trusted, and the fraction of a second that is cut off.
const SETTLED: Duration = Duration::from_secs(3);

fn folder(dir: &TestDir) -> PathBuf {
    dir.join("home/.cache/modbox/compiled")
}

/// The entries of compiled code.
fn entries(dir: &TestDir) -> Vec<PathBuf> {
    let all = fs::read_dir(folder(dir)).into_iter().flatten().flatten().map(|entry| entry.path());
    all.filter(|path| path.extension().is_some_and(|extension| extension == "cwasm")).collect()
}

fn entry(dir: &TestDir) -> PathBuf {
    let entries = entries(dir);
    assert_eq!(entries.len(), 1, "{entries:?}");
    entries[0].clone()
}

/// Runs the small module with a cache of the test's own, asserts its result and returns the report.
#[track_caller]
fn run(dir: &TestDir) -> Value {
    run_with(Modbox::run_module(dir, small_module(dir, "small.wasm")).own_cache(dir))
}

#[track_caller]
fn run_with(modbox: Modbox) -> Value {
    let report = modbox.report().run().exits_with(0).json();
    assert_eq!(report["result"], json!({"changed": false, "small": true, "failed": false}));
    report
}

#[track_caller]
fn assert_compiled(report: &Value, compiled: bool) {
    assert_eq!(report["timing"]["compile_us"].as_u64().unwrap() > 0, compiled, "{report}");
}

#[test]
fn pruning_removes_what_was_not_used_for_longest() {
    let dir = TestDir::new();
    run(&dir);
    let small = entry(&dir);
    let old = SystemTime::now() - Duration::from_hours(10);
    fs::File::open(&small).unwrap().set_times(fs::FileTimes::new().set_accessed(old).set_modified(old)).unwrap();
    Modbox::run_module(&dir, guest("hello")).own_cache(&dir).run().exits_with(0);
    let all = fs::read_dir(folder(&dir)).unwrap().map(|entry| entry.unwrap().path());
    // The names of modules are entries, too.
    let counted =
        all.filter(|path| path.extension().is_some_and(|extension| extension == "cwasm" || extension == "name"));
    let sizes: u64 = counted.map(|path| path.metadata().unwrap().len()).sum();
    let prune = |size: u64| {
        let prune = ["cache".to_owned(), "prune".to_owned(), "--max-size".to_owned(), size.to_string()];
        Modbox::new(&dir).own_cache(&dir).args(prune).run().exits_with(0)
    };
    assert!(prune(sizes).stdout_text().starts_with("removed 0 files"));
    assert_eq!(entries(&dir).len(), 2);
    assert!(prune(sizes - 1).stdout_text().starts_with("removed 1 files"));
    assert!(!small.exists() && entries(&dir).len() == 1);
    assert_compiled(&run(&dir), true);
    prune(1);
    assert_eq!(entries(&dir).len(), 0);
}

/// Waits until modbox trusts a file's times: a younger file may change again without a difference in them.
fn wait_until_settled(file: &Path) {
    assert!(wait_for(Duration::from_secs(60), || {
        let metadata = file.metadata().unwrap();
        // The time of the last change, which no program can set back.
        let changed = UNIX_EPOCH + Duration::from_secs(u64::try_from(metadata.ctime()).unwrap());
        SystemTime::now().duration_since(changed).is_ok_and(|age| age > SETTLED)
    }));
}

#[test]
fn a_module_that_did_not_change_is_not_read_again() {
    let dir = TestDir::new();
    let module = small_module(&dir, "small.wasm");
    wait_until_settled(&module);
    let known = || {
        let ran =
            Modbox::run_module(&dir, &module).own_cache(&dir).args(["--log", "debug"]).report().run().exits_with(0);
        let known = ran.stderr_text().contains("among those that were read before known=true");
        (known, ran.json())
    };
    let (first, before) = known();
    assert!(!first);
    let (second, after) = known();
    assert!(second);
    assert_eq!(before["module"], after["module"]);
    assert_eq!(before["result"], after["result"]);
    // It is read after all when it must be compiled.
    fs::remove_file(entry(&dir)).unwrap();
    let (third, again) = known();
    assert!(third);
    assert_compiled(&again, true);
    // The same size, other contents.
    let mut bytes = fs::read(&module).unwrap();
    let at = bytes.windows(5).position(|window| window == b"small").unwrap();
    bytes[at..at + 5].copy_from_slice(b"SMALL");
    fs::write(&module, bytes).unwrap();
    let (fourth, changed) = known();
    assert!(!fourth && changed["module"]["digest"] != before["module"]["digest"], "{changed}");
    assert_eq!(changed["result"]["SMALL"], true, "{changed}");
}

#[test]
fn a_full_disk_costs_time_only() {
    let dir = TestDir::new();
    let cache = dir.mkdir("home/.cache");
    // A separate file system, too small for the compiled code.
    let script = "mount -t tmpfs -o size=64k,mode=700 tmpfs \"$2\" && \"$0\" run \"$1\" name=x --output report \
                  && ls -A \"$2\"/modbox/compiled >&2";
    let spaces = if rustix::process::geteuid().is_root() { "-m" } else { "-rm" };
    let ran = Modbox::of(Path::new("unshare"), &dir)
        .own_cache(&dir)
        .args([spaces, "sh", "-c", script, env!("CARGO_BIN_EXE_modbox")])
        .arg(guest("hello"))
        .arg(&cache)
        .run()
        .exits_with(0);
    let report = ran.json();
    assert_eq!(report["result"]["greeting"], "hello x", "{ran}");
    assert_compiled(&report, true);
    assert!(report["notes"].to_string().contains("No space left"), "{ran}");
    // A small note on the module's file fits, and its name.
    let stderr = ran.stderr_text();
    let left: Vec<&str> =
        stderr.split_whitespace().filter(|name| !name.ends_with(".known") && !name.ends_with(".name")).collect();
    assert_eq!(left, ["key", "locks"], "nothing half-written stays");
    dir.assert_nothing_left();
}

/// Removes write permission, which root ignores, and restores it.
fn read_only<T>(path: &Path, body: impl FnOnce() -> T) -> T {
    fs::set_permissions(path, fs::Permissions::from_mode(0o500)).unwrap();
    let value = body();
    fs::set_permissions(path, fs::Permissions::from_mode(0o700)).unwrap();
    value
}

#[test]
fn a_module_is_compiled_once() {
    let dir = TestDir::new();
    assert_compiled(&run(&dir), true);
    assert_compiled(&run(&dir), false);
    assert_compiled(&run(&dir), false);
    dir.assert_nothing_left();
}

#[test]
fn a_component_is_compiled_once() {
    let dir = TestDir::new();
    let run =
        || Modbox::run_module(&dir, guest("hello")).own_cache(&dir).arg("name=x").report().run().exits_with(0).json();
    assert_compiled(&run(), true);
    assert_compiled(&run(), false);
}

#[test]
fn a_module_under_another_name_is_the_same() {
    let dir = TestDir::new();
    run(&dir);
    let copy = dir.join("other-name.wasm");
    fs::copy(dir.join("small.wasm"), &copy).unwrap();
    assert_compiled(&run_with(Modbox::run_module(&dir, copy).own_cache(&dir)), false);
}

#[test]
fn entries_and_their_folder_are_private() {
    let dir = TestDir::new();
    run(&dir);
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder(&dir)), 0o700);
    assert_eq!(mode(&entry(&dir)) & 0o077, 0);
    assert_eq!(mode(&folder(&dir).join("key")) & 0o077, 0);
}

#[test]
fn a_damaged_entry_is_noticed_and_made_anew() {
    let dir = TestDir::new();
    run(&dir);
    let entry = entry(&dir);
    let good = fs::read(&entry).unwrap();
    let flipped = |at: usize| {
        let mut bytes = good.clone();
        bytes[at] ^= 1;
        bytes
    };
    let cases = [
        ("first byte", flipped(0)),
        ("a byte of the code", flipped(good.len() / 2)),
        ("last byte", flipped(good.len() - 1)),
        ("cut in half", good[..good.len() / 2].to_vec()),
        ("a byte too short", good[..good.len() - 1].to_vec()),
        ("a byte too long", [good.as_slice(), b"x"].concat()),
        ("empty", Vec::new()),
        ("something else", b"\x7fELF".repeat(1000)),
    ];
    for (name, bytes) in cases {
        // In place, as a failing disk would change it.
        fs::write(&entry, bytes).unwrap();
        assert_compiled(&run(&dir), true);
        assert_compiled(&run(&dir), false);
        assert_eq!(entries(&dir).len(), 1, "{name}");
    }
}

#[test]
fn an_entry_is_hashed_again_when_its_file_is_not_what_it_was() {
    let dir = TestDir::new();
    let run = || {
        let ran = Modbox::run_module(&dir, guest("hello"))
            .own_cache(&dir)
            .args(["--log", "debug"])
            .report()
            .run()
            .exits_with(0);
        (ran.stderr_text().contains("hashed"), ran.json())
    };
    run();
    wait_until_settled(&entry(&dir));
    assert!(run().0);
    let (hashed, report) = run();
    assert!(!hashed, "it was, and is the same: {report}");
    assert_compiled(&report, false);
    let (entry, written) = (entry(&dir), entry(&dir).metadata().unwrap().modified().unwrap());
    let good = fs::read(&entry).unwrap();
    let mut bad = good.clone();
    bad[good.len() / 2] ^= 1;
    fs::write(&entry, &bad).unwrap();
    fs::File::options().write(true).open(&entry).unwrap().set_modified(written).unwrap();
    assert_compiled(&run().1, true);
    // A copy is another file, also where it has another's times.
    fs::remove_file(&entry).unwrap();
    fs::write(&entry, good).unwrap();
    fs::File::options().write(true).open(&entry).unwrap().set_modified(written).unwrap();
    let (hashed, report) = run();
    assert!(hashed, "{report}");
    assert_compiled(&report, false);
}

#[test]
fn an_entry_of_another_module_is_not_used() {
    let dir = TestDir::new();
    run(&dir);
    let first = entry(&dir);
    Modbox::run_module(&dir, guest("hello")).own_cache(&dir).run().exits_with(0);
    let second = entries(&dir).into_iter().find(|path| *path != first).unwrap();
    fs::copy(second, first).unwrap();
    assert_compiled(&run(&dir), true);
}

#[test]
fn an_entry_of_another_cache_is_not_used() {
    let (dir, other) = (TestDir::new(), TestDir::new());
    run(&dir);
    run(&other);
    fs::copy(entry(&other), entry(&dir)).unwrap();
    assert_compiled(&run(&dir), true);
    assert_compiled(&run(&dir), false);
}

#[test]
fn entries_of_a_lost_key_are_made_anew() {
    let dir = TestDir::new();
    run(&dir);
    fs::remove_file(folder(&dir).join("key")).unwrap();
    assert_compiled(&run(&dir), true);
    assert_compiled(&run(&dir), false);
}

#[test]
fn a_damaged_key_is_replaced_and_costs_time_once() {
    let dir = TestDir::new();
    run(&dir);
    let key = folder(&dir).join("key");
    for damaged in ["", "short", "one byte longer than a key may be"] {
        fs::write(&key, damaged).unwrap();
        let report = run(&dir);
        assert_compiled(&report, true);
        assert_eq!(report.get("notes"), None, "{report}");
        assert_compiled(&run(&dir), false);
        assert_eq!(fs::metadata(&key).unwrap().permissions().mode() & 0o777, 0o600);
    }
    // A key that is damaged and cannot be replaced is reported on every run.
    fs::remove_file(&key).unwrap();
    fs::create_dir(&key).unwrap();
    let report = run(&dir);
    assert_compiled(&report, true);
    assert!(report["notes"].to_string().contains("key"), "{report}");
}

#[test]
fn a_read_only_cache_is_read() {
    let dir = TestDir::new();
    run(&dir);
    let report = read_only(&folder(&dir), || run(&dir));
    assert_compiled(&report, false);
}

#[test]
fn a_cache_that_cannot_be_written_costs_time_only() {
    let dir = TestDir::new();
    let home = dir.mkdir("home/.cache");
    let report = read_only(&home, || run(&dir));
    assert_compiled(&report, true);
    // No folder can be made in these, not even by root.
    for place in ["/proc", "/dev/null"] {
        let report = run_with(Modbox::run_module(&dir, small_module(&dir, "small.wasm")).env("XDG_CACHE_HOME", place));
        assert_compiled(&report, true);
        assert!(report["notes"].to_string().contains(place), "{report}");
    }
    dir.assert_nothing_left();
}

#[test]
fn a_folder_that_others_can_write_is_not_used() {
    let dir = TestDir::new();
    run(&dir);
    fs::set_permissions(folder(&dir), fs::Permissions::from_mode(0o777)).unwrap();
    let report = run(&dir);
    assert_compiled(&report, true);
    assert!(report["notes"].to_string().contains("writable by others"), "{report}");
}

#[test]
fn a_link_in_the_place_of_an_entry_is_not_written_through() {
    let dir = TestDir::new();
    run(&dir);
    let entry = entry(&dir);
    let target = dir.write("precious", "precious");
    fs::remove_file(&entry).unwrap();
    symlink(&target, &entry).unwrap();
    run(&dir);
    assert_eq!(fs::read(target).unwrap(), b"precious");
}

#[test]
fn many_first_runs_at_once_leave_one_whole_entry() {
    let dir = TestDir::new();
    let module = guest("hello");
    let start = || Modbox::run_module(&dir, &module).own_cache(&dir).args(["name=x", "n=1"]).report().spawn();
    let running: Vec<_> = (0..8).map(|_| start()).collect();
    let reports: Vec<Value> = running.into_iter().map(|run| run.wait().exits_with(0).json()).collect();
    assert!(reports.iter().all(|report| report["result"]["greeting"] == "hello x"), "{reports:?}");
    let compiled = reports.iter().filter(|report| report["timing"]["compile_us"] != 0).count();
    assert_eq!(compiled, 1, "one compiles, the others wait for it: {reports:?}");
    entry(&dir);
    dir.assert_nothing_left();
}

#[test]
fn the_list_shows_modules_and_clearing_removes_them_all() {
    let dir = TestDir::new();
    run(&dir);
    fs::write(folder(&dir).join(".writing-left"), "half").unwrap();
    let digest = run(&dir)["module"]["digest"].as_str().unwrap().to_owned();
    let cache = |command: &str| Modbox::new(&dir).own_cache(&dir).args(["cache", command]).run().exits_with(0);
    let list = cache("list").stdout_text();
    assert!(list.lines().count() == 1 && list.starts_with(&digest), "{list}");
    fs::write(folder(&dir).join("notes.txt"), "not modbox's").unwrap();
    cache("clear");
    assert_eq!(cache("list").stdout_text(), "");
    let left: Vec<_> = fs::read_dir(folder(&dir)).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(left, ["notes.txt"]);
    assert_compiled(&run(&dir), true);
}

//! Quotas for what a guest writes, creates and opens; denials and their reports; and generated sequences of operations,
//! which never reach a canary. These tests use the library, with limits for each test.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use modbox_contract::args::decode_file;
use modbox_contract::{Dict, InternalArgs};
use modbox_policy::{Access, PathGrant, Policy, Shape};
use modbox_run::{Arguments, Module, ModuleFile, Report, RunRequest, Runner, RunnerConfig, Status};
use modbox_vocabulary::GrantSource;
use modbox_vocabulary::quoting::quote;
use modbox_vocabulary::{Denial, LimitKind, Limits};
use modbox_wasm::CompileCache;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};

use crate::support::{TestDir, guest};

/// One runner and one module for all runs of this file.
fn driver() -> &'static (Runner, Module) {
    static DRIVER: OnceLock<(Runner, Module)> = OnceLock::new();
    DRIVER.get_or_init(|| {
        let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("library-cache");
        let runner = Runner::new(RunnerConfig {
            cache: Some(CompileCache::new(cache)),
            ..RunnerConfig::new(env!("CARGO_TARGET_TMPDIR").into())
        });
        let path = guest("drive");
        let bytes = fs::read(&path).unwrap().into();
        (runner, Module::new(ModuleFile { path, bytes }, None))
    })
}

fn grant(path: &Path, access: Access) -> PathGrant {
    let shape = if path.is_dir() { Shape::Directory } else { Shape::Name };
    let (host, guest) = (path.to_owned(), path.display().to_string());
    PathGrant { host, shape, guest, access, source: GrantSource::named("test") }
}

fn run(grants: &[PathGrant], limits: &Limits, strict: bool, ops: &Value) -> (Report, Vec<String>) {
    let (runner, module) = driver();
    let mut policy = Policy::default();
    for grant in grants {
        policy.allow_path(grant.clone()).unwrap();
    }
    let args = json!({"ops": ops, "strict": strict}).to_string();
    let args: Dict = decode_file(args.as_bytes()).unwrap();
    let arguments = Arguments::Task { args, internal: Box::new(InternalArgs::new("drive")) };
    let report = runner.run(module, &RunRequest::new("drive", arguments, &policy, limits));
    let result: Value = serde_json::from_str(&report.result.to_json()).unwrap();
    let seen = result["seen"].as_array().into_iter().flatten().map(|seen| seen.as_str().unwrap().to_owned());
    let seen = seen.collect();
    (report, seen)
}

#[test]
fn bytes_are_counted_however_they_are_written() {
    let dir = TestDir::new();
    let granted = dir.mkdir("granted");
    let limits = Limits { max_disk: 100_000, max_tmp: 30_000, ..Limits::default() };
    let path = |name: &str| granted.join(name);
    // A guest for WASI 0.1 learns only that the stream failed, not why.
    let (full, stream) = ("StorageFull", "Io");
    for (ops, expect, used) in [
        (
            json!([["fill", path("a"), "90000"], ["fill", path("b"), "20000"], ["fill", path("c"), "1000"]]),
            vec!["ok", stream, "ok"],
            90_000,
        ),
        // Overwritten bytes count, too.
        (json!([["fill", path("a"), "60000"], ["fill", path("a"), "60000"]]), vec!["ok", stream], 60_000),
        (
            json!([["write", path("d"), ""], ["set_len", path("d"), "100001"], ["set_len", path("d"), "100000"]]),
            vec!["ok", full, "ok"],
            100_000,
        ),
        (
            json!([["write", path("e"), ""], ["write_at", path("e"), "1000000000"], ["write_at", path("e"), "99999"]]),
            vec!["ok", stream, "ok"],
            100_000,
        ),
        (
            json!([["fill", "/tmp/a", "30000"], ["append", "/tmp/a", "x"], ["fill", path("f"), "70000"]]),
            vec!["ok", stream, "ok"],
            100_000,
        ),
    ] {
        let (report, seen) = run(&[grant(&granted, Access::Write)], &limits, false, &ops);
        assert_eq!(seen, expect, "{ops}");
        assert!((used..=100_000).contains(&report.usage.disk_bytes), "{ops}: {} bytes", report.usage.disk_bytes);
        assert_eq!((report.status, report.limit), (Status::Ok, None), "a guest that copes has its result");
        for entry in fs::read_dir(&granted).unwrap().flatten() {
            assert!(entry.metadata().unwrap().len() <= 100_000);
            fs::remove_file(entry.path()).unwrap();
        }
    }
}

#[test]
fn a_guest_that_fails_for_a_quota_has_hit_that_limit() {
    let dir = TestDir::new();
    let granted = dir.mkdir("granted");
    let (file, path) = (dir.write("granted/file", ""), |name: &str| granted.join(name));
    let limits = Limits { max_disk: 100_000, max_tmp: 10, max_files: 2, max_descriptors: 10, ..Limits::default() };
    for (ops, kind, allowed) in [
        (json!([["fill", path("a"), "200000"]]), LimitKind::Disk, 100_000),
        (json!([["fill", "/tmp/a", "11"]]), LimitKind::Tmp, 10),
        (json!([["write", path("b"), ""], ["mkdir", path("c")], ["write", path("d"), ""]]), LimitKind::Files, 2),
        (json!([["hold_many", file, "11"]]), LimitKind::Descriptors, 10),
    ] {
        let (report, _) = run(&[grant(&granted, Access::Write)], &limits, true, &ops);
        let hit = report.limit.unwrap_or_else(|| panic!("{ops}: no limit was hit"));
        assert_eq!((report.status, hit.kind, hit.allowed), (Status::Limit, kind, allowed), "{ops}");
        assert_eq!(hit.unit, kind.unit());
    }
}

#[test]
fn what_is_made_is_counted_once_and_what_is_open_at_a_time() {
    let dir = TestDir::new();
    let granted = dir.mkdir("granted");
    let path = |name: &str| granted.join(name);
    let limits = Limits { max_files: 5, max_descriptors: 20, ..Limits::default() };
    let ops = json!([
        ["write", path("a"), ""],
        ["write", path("a"), "1"],
        ["append", path("a"), "2"],
        ["create", path("a"), "3"],
        ["mkdir", path("b")],
        ["mkdir", path("b")],
        ["symlink", "a", path("c")],
        ["link", path("a"), path("d")],
        ["rename", path("a"), path("e")],
        ["append", path("c"), "through a link to nothing"],
        ["write", path("f"), ""],
        ["write", path("e"), "there already"],
        ["unlink", path("e")],
        ["write", path("e"), ""],
        ["hold_many", path("d"), "15"],
        ["release"],
        ["hold_many", path("d"), "15"],
    ]);
    let (exists, full) = ("AlreadyExists", "StorageFull");
    let (report, seen) = run(&[grant(&granted, Access::Write)], &limits, false, &ops);
    let expect =
        ["ok", "ok", "ok", exists, "ok", exists, "ok", "ok", "ok", "ok", full, "ok", "ok", full, "ok", "ok", "ok"];
    assert_eq!(seen, expect);
    assert_eq!(report.usage.files, 5);
    assert!((15..=20).contains(&report.usage.descriptors), "{}", report.usage.descriptors);
}

fn denials(report: &Report) -> Vec<(&str, &str, &str, &str)> {
    let line = |denial: &'_ Denial| (denial.capability.as_str(), denial.operation.as_str());
    let all = report.denials.iter();
    all.map(|denial| (line(denial).0, denial.subject.as_str(), line(denial).1, denial.allow.as_str())).collect()
}

#[test]
fn each_denial_names_the_switch_that_allows_it() {
    let dir = TestDir::new();
    let granted = dir.mkdir("granted");
    let motd = dir.write("etc/motd", "old");
    let secret = dir.write("outside/it's secret", "canary");
    symlink(&secret, granted.join("link")).unwrap();
    let shown = |path: &Path| path.display().to_string();
    let (new, link, old) = (shown(&granted.join("new")), shown(&granted.join("link")), shown(&motd));
    let neighbour = shown(&motd.with_file_name("neighbour"));
    let ops = json!([
        ["read", "/etc/shadow"],
        ["read", "/etc/shadow"],
        ["write", new, ""],
        ["stat", neighbour],
        ["unlink", old],
        ["read", link],
        ["read", granted.join("missing")],
        ["read", "/args/other"],
        ["read", "/tmp/missing"],
        ["mkdir", "/srv"],
        ["read", granted.join("../outside/x")],
    ]);
    let grants = [grant(&granted, Access::Read), grant(&motd, Access::Read)];
    let (report, _) = run(&grants, &Limits::default(), false, &ops);
    let (secret, quoted) = (shown(&secret), format!("--allow-read {}", quote(&shown(&secret))));
    let outside = shown(&dir.join("outside/x"));
    let expect = [
        ("read", "/etc/shadow", "open-at", "--allow-read /etc/shadow".to_owned()),
        ("write", &new, "open-at", format!("--allow-write {new}")),
        // It does not exist, so no switch shows it.
        ("read", &neighbour, "stat-at", String::new()),
        ("write", &old, "unlink-file-at", format!("--allow-write {old}")),
        // What the link leads to.
        ("read", &secret, "open-at", quoted),
        ("write", "/srv", "create-directory-at", "--allow-write /srv".to_owned()),
        ("read", &outside, "open-at", String::new()),
    ];
    let expect: Vec<_> = expect.iter().map(|(a, b, c, d)| (*a, *b, *c, d.as_str())).collect();
    // The adapter also reads the metadata of what it opens; those denials are left out.
    let seen: Vec<_> = denials(&report).into_iter().filter(|seen| seen.2 != "metadata-hash-at").collect();
    assert_eq!(seen, expect);
}

#[test]
fn a_switch_from_a_denial_does_allow_it() {
    let dir = TestDir::new();
    let granted = dir.mkdir("granted");
    let secret = dir.write("outside/secret", "canary");
    symlink(&secret, granted.join("link")).unwrap();
    let link = granted.join("link");
    let ops = json!([["read", link]]);
    let (report, seen) = run(&[grant(&granted, Access::Read)], &Limits::default(), false, &ops);
    assert_eq!(seen, ["PermissionDenied"]);
    let also = grant(&PathBuf::from(&report.denials[0].allow["--allow-read ".len()..]), Access::Read);
    let (report, seen) = run(&[grant(&granted, Access::Read), also], &Limits::default(), false, &ops);
    assert_eq!((seen, report.denials), (vec!["canary".to_owned()], Vec::new()));
}

#[test]
fn denials_are_bounded() {
    let ops: Vec<Value> = (0..200).map(|index| json!(["stat", format!("/nowhere/{index}")])).collect();
    let (report, _) = run(&[], &Limits::default(), false, &json!(ops));
    assert_eq!((report.denials.len(), report.denials_omitted), (64, 136));
}

/// Components of generated paths: directories, `..`, links that lead out, and names.
const WORDS: [&str; 12] = ["granted", "outside", "..", ".", "", "sub", "file", "up", "out", "new", "etc", "motd"];

fn any_path(root: PathBuf) -> impl Strategy<Value = String> {
    let words = prop::collection::vec(prop::sample::select(&WORDS[..]), 0..6);
    (0..4_u8, words).prop_map(move |(start, words)| {
        let start = match start {
            0 => "/".to_owned(),
            1 => "/tmp".to_owned(),
            2 => root.display().to_string(),
            _ => root.join("granted").display().to_string(),
        };
        format!("{start}/{}", words.join("/"))
    })
}

fn any_op(root: &Path) -> impl Strategy<Value = Value> + use<> {
    let ops = [
        "read",
        "write",
        "append",
        "list",
        "stat",
        "rename",
        "link",
        "symlink",
        "unlink",
        "mkdir",
        "rmdir",
        "set_len",
        "times",
        "create",
        "remove_all",
    ];
    (prop::sample::select(ops.to_vec()), any_path(root.to_owned()), any_path(root.to_owned())).prop_map(
        |(op, path, other)| match op {
            "rename" | "link" => json!([op, path, other]),
            "symlink" => json!([op, other.trim_start_matches('/'), path]),
            "set_len" => json!([op, path, "1"]),
            _ => json!([op, path, "guest"]),
        },
    )
}

#[test]
fn no_sequence_of_operations_reaches_a_canary() {
    let dir = TestDir::new();
    let root = dir.path().to_owned();
    let mut runner = TestRunner::new(Config { cases: 96, failure_persistence: None, ..Config::default() });
    let sequence = prop::collection::vec(any_op(&root), 1..40);
    let tested = runner.run(&sequence, |ops| {
        for tree in ["granted", "outside", "etc"] {
            let _ = fs::remove_dir_all(root.join(tree));
        }
        for (file, content) in [
            ("granted/sub/file", "inside"),
            ("granted/file", "inside"),
            ("outside/file", "canary"),
            ("outside/sub/file", "canary"),
            ("etc/motd", "inside"),
            ("etc/file", "canary"),
            ("file", "canary"),
        ] {
            dir.write(file, content);
        }
        symlink("..", root.join("granted/up")).unwrap();
        symlink("../outside", root.join("granted/out")).unwrap();
        symlink("../../outside/file", root.join("granted/sub/out")).unwrap();
        let grants = [grant(&root.join("granted"), Access::Write), grant(&root.join("etc/motd"), Access::Write)];
        let (report, seen) = run(&grants, &Limits::default(), false, &json!(ops));
        // A file that is left beside a granted one is lost, which fails the run.
        let is_lost = !report.lost.is_empty();
        prop_assert!(report.error.is_none() && (report.status == Status::Ok || is_lost), "{:?}", report);
        prop_assert!(seen.iter().all(|seen| !seen.contains("canary")), "{:?}", seen);
        for (file, content) in
            [("outside/file", "canary"), ("outside/sub/file", "canary"), ("etc/file", "canary"), ("file", "canary")]
        {
            prop_assert_eq!(fs::read_to_string(root.join(file)).unwrap(), content);
        }
        let names = |tree: &str| fs::read_dir(root.join(tree)).unwrap().count();
        prop_assert!(names("outside") == 2 && names("etc") <= 2, "something was made outside");
        Ok(())
    });
    tested.unwrap_or_else(|error| panic!("{error}"));
}

//! The guest's own directory, `/tmp`: made on the host when something is done in it, and the same one before and after.

use std::fs;
use std::path::PathBuf;

use modbox::contract::args::decode_file;
use modbox::contract::{Dict, InternalArgs};
use modbox::run::{Arguments, Module, ModuleFile, Report, RunRequest, Runner, RunnerConfig, Status};
use modbox::sandbox::limits::Limits;
use modbox::sandbox::policy::Policy;
use modbox::sandbox::wasm::CompileCache;
use serde_json::{Value, json};

use crate::support::{TestDir, guest};
use crate::wasm_guard::drive;

#[test]
fn it_is_one_directory_whether_or_not_something_was_made_in_it() {
    let dir = TestDir::new();
    let seen = drive(
        &dir,
        &[],
        &json!([
            ["identity", "/tmp"],
            ["stat", "/tmp"],
            ["lstat", "/tmp/."],
            ["stat", "/tmp/sub"],
            ["identity", "/tmp"],
            ["mkdir", "/tmp/sub"],
            ["identity", "/tmp"],
            ["identity", "/tmp/sub/.."],
            ["identity", "/tmp/sub"],
            ["identity", "/args"],
            ["stat", "/tmp"],
            ["list", "/tmp"],
        ]),
    );
    assert_eq!(
        [&*seen[1], &*seen[2], &*seen[3], &*seen[10], &*seen[11]],
        ["dir 0", "dir 0", "NotFound", "dir 0", "[sub/]"]
    );
    for same in [4, 6, 7] {
        assert_eq!(seen[0], seen[same], "{same}: {seen:?}");
    }
    assert_ne!(seen[0], seen[8]);
    assert_ne!(seen[0], seen[9]);
}

#[test]
fn who_only_looks_at_it_has_nothing_made() {
    let dir = TestDir::new();
    // Below a file nothing can be made.
    let nowhere = dir.write("file", "").join("below");
    let runner = Runner::new(RunnerConfig {
        cache: Some(CompileCache::new(PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("library-cache"))),
        ..RunnerConfig::new(nowhere)
    });
    let path = guest("drive");
    let module = Module::new(ModuleFile { bytes: fs::read(&path).unwrap().into(), path }, None);
    let run = |ops: Value| -> Report {
        let args: Dict = decode_file(json!({"ops": ops}).to_string().as_bytes()).unwrap();
        let arguments = Arguments::Task { args, internal: Box::new(InternalArgs::new("drive")) };
        runner.run(&module, &RunRequest::new("drive", arguments, &Policy::default(), &Limits::default()))
    };
    let seen = |report: &Report| {
        assert_eq!(report.status, Status::Ok, "{report:?}");
        let result: Value = serde_json::from_str(&report.result.to_json()).unwrap();
        result["seen"].clone()
    };
    assert_eq!(seen(&run(json!([["stat", "/tmp"], ["lstat", "/tmp"]]))), json!(["dir 0", "dir 0"]));
    assert_eq!(seen(&run(json!([["write", "/tmp/new", "x"]]))), json!(["Io"]), "here it would have been made");
}

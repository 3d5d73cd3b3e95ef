//! Overlapping grants, core modules, and that a guarded run leaves nothing behind.

use std::path::PathBuf;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::json;

use crate::core::wasm::wasm_guard::{drive, etc, names, run};
use crate::support::{Modbox, TestDir, guest, small_module, wait_for};

#[test]
fn the_innermost_grant_decides() {
    let dir = TestDir::new();
    let outer = dir.mkdir("srv");
    let inner = dir.mkdir("srv/app");
    let (file, beside) = (dir.write("srv/conf/main", "old"), dir.write("srv/conf/other", "other"));
    let temporary = file.with_extension("tmp");
    let grants = [("--allow-read", &*outer), ("--allow-write", &*inner), ("--allow-write", &*file)];
    let ops = json!([
        ["list", outer],
        ["write", outer.join("x"), ""],
        ["write", inner.join("x"), "1"],
        ["list", inner],
        ["list", outer.join("conf")],
        ["read", beside],
        ["write", beside, ""],
        ["unlink", beside],
        ["write", temporary, "new"],
        ["list", outer.join("conf")],
        ["rename", temporary, file],
        ["read", file],
        ["mkdir", outer.join("conf/dir")],
        ["rename", file, beside],
    ]);
    let denied = "PermissionDenied";
    let expect = [
        "[app/ conf/]",
        denied,
        "ok",
        "[x]",
        "[main other]",
        "other",
        denied,
        denied,
        "ok",
        "[main main.tmp other]",
        "ok",
        "new",
        denied,
        denied,
    ];
    assert_eq!(drive(&dir, &grants, &ops), expect);
    assert_eq!(
        (names(&inner), names(&outer.join("conf"))),
        (vec!["x".to_owned()], vec!["main".to_owned(), "other".to_owned()])
    );
    let ran = run(&dir, &[("--allow-write", &outer), ("--allow-read", &file)], &json!([]));
    ran.exits_with(2).says("granted for reading inside");
}

#[test]
fn what_is_mapped_into_another_grant_is_listed_once_and_found() {
    let dir = TestDir::new();
    let (outer, other) = (dir.mkdir("srv"), dir.mkdir("other"));
    dir.write("srv/app/of-outer", "");
    dir.write("other/of-inner", "");
    let grant = PathBuf::from(format!("{}::{}", other.display(), outer.join("app").display()));
    let ops = json!([["list", outer], ["list", outer.join("app")], ["stat", outer.join("app/of-outer")]]);
    let seen = drive(&dir, &[("--allow-read", &outer), ("--allow-read", &grant)], &ops);
    assert_eq!(seen, ["[app/]", "[of-inner]", "NotFound"]);
}

#[test]
fn temporaries_are_gone_after_a_signal_and_swept_after_a_kill() {
    for signal in [Signal::TERM, Signal::KILL] {
        let dir = TestDir::new();
        let (motd, _) = etc(&dir);
        let granted = dir.mkdir("granted");
        let ops = json!([
            ["write", motd.with_extension("tmp"), "half"],
            ["write", granted.join("started"), ""],
            ["wait", granted.join("never")],
        ]);
        let running = Modbox::run_module(&dir, guest("drive")).json_args(&json!({"ops": ops}));
        let running = running.arg("--allow-write").arg(&motd).arg("--allow-write").arg(&granted).spawn();
        assert!(wait_for(Duration::from_secs(30), || granted.join("started").exists()));
        let during = names(motd.parent().unwrap());
        assert!(during.len() == 3 && during[0].starts_with(".modbox-tmp-"), "{during:?}");
        running.signal(signal);
        running.wait().dies_of(signal);
        // The next run that makes nothing itself sweeps, too.
        Modbox::run_module(&dir, small_module(&dir, "small.wasm")).run().exits_with(0);
        assert_eq!(names(motd.parent().unwrap()), ["motd", "neighbour"], "{signal:?}");
        dir.assert_nothing_left();
    }
}

#[test]
fn a_guest_that_uses_no_tmp_leaves_nothing_on_the_disk() {
    let dir = TestDir::new();
    drive(&dir, &[], &json!([["read", "/args/args.json"], ["stat", "/"]]));
    dir.assert_nothing_left();
}

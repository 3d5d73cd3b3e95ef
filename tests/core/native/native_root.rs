//! Root's native modules without namespaces, as in most containers: rules of the kernel alone confine them, and they reach
//! nothing but what is granted. `native/root.py` lists the attempts.

#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};

use serde_json::json;

use crate::attempts_of_root::assert_confined;
use crate::core::native::native_ladder::{NO_LANDLOCK, NO_MOUNTS};
use crate::core::native::native_place::{DONE, Ended, Place};
use crate::support::fixture;

/// Owner of files that are not root's.
const OTHER: u32 = 23456;

/// Kernel that refuses what Docker's usual profile refuses, as far as modbox could use it.
const CONTAINER: &[(i64, i32)] = &[
    NO_MOUNTS[0],
    (libc::SYS_unshare, libc::EPERM),
    (libc::SYS_process_vm_readv, libc::EPERM),
    (libc::SYS_clone3, libc::ENOSYS),
];

/// The same without notifications of seccomp.
const NO_NOTIFICATIONS: &[(i64, i32)] = &[NO_MOUNTS[0], (libc::SYS_seccomp, libc::EINVAL)];

/// Returns a folder of root's, with a granted file of another user and a file that is not granted; `None` for other users.
fn root_place() -> Option<Place> {
    let place = Place::new(None);
    if !place.is_root() {
        return None;
    }
    for name in ["data/theirs", "data/gone"] {
        place.write(name, "theirs");
        chown(place.at(name), Some(OTHER), Some(OTHER)).unwrap();
        fs::set_permissions(place.at(name), fs::Permissions::from_mode(0o600)).unwrap();
    }
    place.write("theirs/secret", "secret");
    place.write("theirs/script", "#!/bin/sh\necho ran\n");
    fs::set_permissions(place.at("theirs/script"), fs::Permissions::from_mode(0o755)).unwrap();
    Some(place)
}

/// Runs the attempts on a kernel that refuses what containers refuse.
fn attempted(place: &Place, switches: &[&str]) -> Ended {
    place.write("home/root.py", &fs::read_to_string(fixture("core/native/programs/root.py")).unwrap());
    let (data, script) = (place.path("data"), place.path("home/root.py"));
    let run = format!("exec python3 {script} {data} {}", place.path("theirs"));
    let granted = ["--allow-write", &data, "--allow-read", &script];
    place.run_without(CONTAINER, &run, &[granted.as_slice(), switches].concat())
}

#[test]
fn root_without_namespaces_reaches_only_what_is_granted() {
    let Some(place) = root_place() else { return };
    let report = attempted(&place, &[]).changed();
    assert_eq!(report["confinement"]["level"], 2, "{report:#}");
    assert!(report["notes"].to_string().contains("`--min-confinement 3` refuses that"), "{report:#}");
    assert_confined(&report["result"]["tried"]);
    // Reading, writing and removing files of others is the only right of root that is left: CAP_DAC_OVERRIDE.
    let left = &report["result"]["capabilities"];
    let only = "0000000000000002";
    let none = "0000000000000000";
    let expected = json!({"CapInh": none, "CapPrm": only, "CapEff": only, "CapBnd": only, "CapAmb": none});
    assert_eq!(left, &expected, "{report:#}");
    assert_eq!(place.read("theirs/secret"), "secret");
    assert_eq!(place.names("theirs"), ["script", "secret"]);
    for name in ["theirs/secret", "theirs/script"] {
        let meta = fs::metadata(place.at(name)).unwrap();
        let mode = if name.ends_with("secret") { 0o644 } else { 0o755 };
        assert_eq!((meta.uid(), meta.permissions().mode() & 0o7777), (0, mode), "{name}");
    }
    let theirs = fs::metadata(place.at("data/theirs")).unwrap();
    assert_eq!((theirs.uid(), theirs.gid(), theirs.mtime()), (OTHER, OTHER, 2));
    assert_eq!(theirs.permissions().mode() & 0o7777, 0o640);
    assert_eq!(fs::metadata(place.at("data/new")).unwrap().uid(), OTHER);
    let denials = report["denials"].to_string();
    for option in [format!("--allow-write {}", place.path("theirs")), "--allow-own 4321".to_owned()] {
        assert!(denials.contains(&option), "no {option} in {report:#}");
    }
}

#[test]
fn a_granted_owner_is_set_by_root_without_namespaces() {
    let Some(place) = root_place() else { return };
    let data = place.path("data");
    let script = format!("chown 4321:4322 $d/data/theirs && chown -h 4321 $d/data/link && {DONE}");
    std::os::unix::fs::symlink(place.at("theirs/secret"), place.at("data/link")).unwrap();
    let switches = ["--allow-write", &data, "--allow-own", "4321:4322"];
    let report = place.run_without(CONTAINER, &script, &switches).changed();
    assert_eq!(report["confinement"]["level"], 2, "{report:#}");
    // Names of users are looked for with a socket, which is refused.
    assert!(!report["denials"].to_string().contains("own"), "{report:#}");
    let owner = |name: &str| fs::symlink_metadata(place.at(name)).map(|meta| (meta.uid(), meta.gid())).unwrap();
    assert_eq!((owner("data/theirs"), owner("data/link")), ((4321, 4322), (4321, 0)));
    assert_eq!(owner("theirs/secret"), (0, 0));
}

/// Exchanges a directory for a link while it gives a file in it an owner that the other directory has.
const EXCHANGES: &str = r#"
import os, sys, threading
data, other = sys.argv[1:]
os.mkdir(f"{data}/a"); open(f"{data}/a/f", "w").close()
os.symlink(other, f"{data}/link")
over = False
def exchange():
    while not over:
        for one, two in [("a", "was"), ("link", "a"), ("a", "link"), ("was", "a")]:
            os.rename(f"{data}/{one}", f"{data}/{two}")
thread = threading.Thread(target=exchange); thread.start()
given = 0
for _ in range(2000):
    try:
        os.chown(f"{data}/a/f", 4321, -1)
        given += 1
    except OSError:
        pass
over = True
thread.join()
print('{"changed": true, "given": %d}' % given)
"#;

#[test]
fn an_owner_of_another_directory_is_not_known() {
    let Some(place) = root_place() else { return };
    place.write("theirs/f", "");
    chown(place.at("theirs/f"), Some(4321), None).unwrap();
    place.write("home/exchange.py", EXCHANGES);
    let (data, script) = (place.path("data"), place.path("home/exchange.py"));
    let run = format!("exec python3 {script} {data} {}", place.path("theirs"));
    let report = place.run_without(CONTAINER, &run, &["--allow-write", &data, "--allow-read", &script]).changed();
    assert_eq!(report["result"]["given"], 0, "{report:#}");
}

#[test]
fn processes_of_root_are_bounded_without_namespaces() {
    let Some(place) = root_place() else { return };
    // Each child starts two more.
    let bomb = "f() { f | f & }; f; sleep 600";
    let ended = place.run_without(CONTAINER, bomb, &["--max-processes", "40"]);
    assert_eq!(ended.report["status"], "limit", "{:#}", ended.report);
    assert_eq!(ended.report["limit"]["kind"], "processes", "{:#}", ended.report);
    let script = format!("touch {}; {DONE}", place.path("data/made"));
    let ended = place.run_without(NO_NOTIFICATIONS, &script, &["--allow-write", &place.path("data")]);
    assert_eq!((&ended.report["status"], ended.exit), (&json!("denied"), Some(4)), "{:#}", ended.report);
    assert!(!place.at("data/made").exists());
}

#[test]
fn less_than_every_rule_of_the_kernel_is_refused_for_root() {
    let Some(place) = root_place() else { return };
    let script = format!("touch $d/data/made; {DONE}");
    let neither: &[(i64, i32)] = &[NO_MOUNTS[0], NO_LANDLOCK[0]];
    for (calls, switch, least) in
        [(NO_MOUNTS, "3", "--allow-all"), (neither, "0", "--allow-all"), (neither, "2", "--allow-all")]
    {
        let switches = ["--min-confinement", switch, "--allow-write", &place.path("data")];
        let ended = place.run_without(calls, &script, &switches);
        assert_eq!((&ended.report["status"], ended.exit), (&json!("denied"), Some(4)), "{:#}", ended.report);
        assert!(ended.report.to_string().contains(least), "{:#}", ended.report);
        assert!(!place.at("data/made").exists());
    }
}

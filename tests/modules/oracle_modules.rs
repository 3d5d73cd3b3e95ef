//! The example modules behave as ansible-core's modules of the same names.
//!
//! `modules_oracle.py` holds the scenarios. Each runs on both sides, in check mode, for real, and once more. Here
//! modbox runs the components as the kernel starts it for Ansible, and a policy file grants the folder of the
//! scenarios.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Modbox, TestDir, fixture, module, native_modules, oracle, sample};

/// Time limit for hundreds of Python processes on two busy cores.
const COMPARISON: Duration = Duration::from_secs(600);

/// Number of scenarios of a module that an ordinary run takes.
const SAMPLE: usize = 5;

/// Modules that come from collections, not from ansible-core.
const OF_COLLECTIONS: [&str; 2] = ["archive", "ini_file"];

/// Modules that send requests to servers.
const OF_THE_WEB: [&str; 2] = ["get_url", "uri"];

/// Modules that are also compared as native programs, a form that Ansible can run, too.
const NATIVE: [&str; 4] = ["archive", "file", "lineinfile", "unarchive"];

/// Programs that the scenarios of `command` run.
const COMMANDS: [&str; 9] = [
    "sh -c *",
    "echo *",
    "cat *",
    "true",
    "false",
    "/no/such/program *",
    "/bin/sh -c *",
    "/usr/bin/no-such-program a b",
    "/etc/passwd",
];

/// Compares one module in all its scenarios, as a component, and for some modules also as a native program.
#[track_caller]
fn check(name: &str, scenarios: usize) {
    let dir = TestDir::new();
    let (modules, work) = (dir.mkdir("modules"), dir.mkdir("work"));
    fs::copy(module(name), modules.join(format!("{name}.wasm"))).unwrap();
    // Some scenarios send requests to servers on this machine.
    let net = if OF_THE_WEB.contains(&name) { "127.0.0.1" } else { "" };
    let run =
        COMMANDS.iter().filter(|_| name == "command").map(|rule| format!("'{rule}'")).collect::<Vec<_>>().join(", ");
    let policy = format!("allow:\n  write: [{}]\n  net: [{net}]\n  run: [{run}]\n", work.display());
    dir.write("home/.config/modbox/policy.yaml", policy);
    let python = oracle::python();
    let collections = if OF_COLLECTIONS.contains(&name) { oracle::collections() } else { PathBuf::new() };
    let taken = sample::cases(SAMPLE, scenarios).min(scenarios);
    let native = if NATIVE.contains(&name) { native_modules(&NATIVE) } else { PathBuf::new() };
    let ran = Modbox::of(&python, &dir)
        .arg(fixture("oracle/modules_oracle.py"))
        .args([python.parent().unwrap(), &modules])
        .args(["--suffix", ".wasm", "--runner", env!("CARGO_BIN_EXE_modbox"), "--only", name, "--native"])
        .arg(native)
        .arg("--collections")
        .arg(collections)
        .args(["--sample", &taken.to_string(), "--seed", &sample::seed().to_string()])
        .arg("--work")
        .arg(work)
        .patience(COMPARISON)
        .run()
        .exits_with(0);
    assert_eq!(ran.stdout_text(), format!("{taken} of {scenarios} scenarios, 0 different\n"), "{name}: {ran}");
    dir.assert_nothing_left();
}

#[test]
fn ping_does_what_ansibles_does() {
    check("ping", 3);
}

#[test]
fn stat_does_what_ansibles_does() {
    check("stat", 16);
}

#[test]
fn copy_does_what_ansibles_does() {
    check("copy", 35);
}

#[test]
fn file_does_what_ansibles_does() {
    check("file", 111);
}

#[test]
fn unarchive_does_what_ansibles_does() {
    check("unarchive", 64);
}

#[test]
fn archive_does_what_community_generals_does() {
    check("archive", 66);
}

#[test]
fn lineinfile_does_what_ansibles_does() {
    check("lineinfile", 93);
}

#[test]
fn blockinfile_does_what_ansibles_does() {
    check("blockinfile", 76);
}

#[test]
fn ini_file_does_what_community_generals_does() {
    check("ini_file", 105);
}

#[test]
fn slurp_does_what_ansibles_does() {
    check("slurp", 8);
}

#[test]
fn assemble_does_what_ansibles_does() {
    check("assemble", 26);
}

#[test]
fn replace_does_what_ansibles_does() {
    check("replace", 77);
}

#[test]
fn find_does_what_ansibles_does() {
    check("find", 64);
}

#[test]
fn template_does_what_ansibles_does() {
    check("template", 48);
}

#[test]
fn uri_does_what_ansibles_does() {
    check("uri", 106);
}

#[test]
fn get_url_does_what_ansibles_does() {
    check("get_url", 77);
}

#[test]
fn command_does_what_ansibles_does() {
    check("command", 54);
}

#[test]
fn setup_tells_what_ansibles_does() {
    // Values that change over time must exist with the same type; all others must be equal.
    const MOVING: [&str; 8] = [
        "ansible_date_time",
        "ansible_loadavg",
        "ansible_memfree_mb",
        "ansible_swapfree_mb",
        "ansible_memory_mb",
        "ansible_uptime_seconds",
        "ansible_env",
        "ansible_flags",
    ];
    let dir = TestDir::new();
    let arguments = dir.write("arguments", json!({"ANSIBLE_MODULE_ARGS": {}}).to_string());
    let theirs =
        Modbox::of(&oracle::python(), &dir).args(["-B", "-m", "ansible.modules.setup"]).arg(arguments).env("TZ", "UTC");
    let theirs = theirs.patience(COMPARISON).run().exits_with(0).json()["ansible_facts"].clone();
    let setup = |switches: &[&str], args: &[&str]| {
        let run =
            Modbox::run_module(&dir, module("setup")).args(switches).args(["--allow-env", "STAGE=test"]).args(args);
        run.run().exits_with(0).json()["ansible_facts"].as_object().unwrap().clone()
    };
    let inspected = Modbox::new(&dir).args(["inspect", "--json"]).arg(module("setup")).run().exits_with(0).json();
    let asked = inspected["requests"].as_array().unwrap().iter().map(|request| request["subject"].as_str().unwrap());
    let grants: Vec<&str> =
        asked.filter(|path| PathBuf::from(path).exists()).flat_map(|path| ["--allow-read", path]).collect();
    assert!(grants.len() > 20, "{grants:?}");
    let ours = setup(&grants, &[]);
    assert!(ours.len() > 25, "{ours:#?}");
    for (name, fact) in &ours {
        let same = match MOVING.contains(&name.as_str()) {
            true => std::mem::discriminant(fact) == std::mem::discriminant(&theirs[name]),
            false => *fact == theirs[name],
        };
        assert!(same, "{name}: {fact} and {}", theirs[name]);
    }
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    for name in ["ansible_date_time", "ansible_loadavg", "ansible_memory_mb"] {
        assert_eq!(keys(&ours[name]), keys(&theirs[name]), "{name}");
    }
    assert_eq!(ours["ansible_memory_mb"]["real"]["total"], theirs["ansible_memory_mb"]["real"]["total"]);
    assert_eq!(ours["ansible_date_time"]["tz"], theirs["ansible_date_time"]["tz"]);
    assert_eq!(ours["ansible_env"], json!({"STAGE": "test"}));
    // Without grants, only the facts that need none are returned.
    assert_eq!(keys(&setup(&[], &[]).into()), ["ansible_date_time", "ansible_env", "gather_subset", "module_setup"]);
    let filtered = setup(&grants, &["filter=mem*,ansible_dist*_version"]);
    let expect =
        ["ansible_distribution_major_version", "ansible_distribution_minor_version", "ansible_distribution_version"];
    let found = keys(&filtered.into());
    assert!(expect.iter().all(|name| found.contains(&(*name).to_owned()) == ours.contains_key(*name)), "{found:?}");
    assert!(found.contains(&"ansible_memory_mb".to_owned()) && !found.contains(&"ansible_env".to_owned()), "{found:?}");
    let chosen = setup(&grants, &["gather_subset=!all,!min,loadavg"]);
    assert_eq!(keys(&chosen.into()), ["ansible_loadavg", "gather_subset", "module_setup"]);
    let wrong = Modbox::run_module(&dir, module("setup")).arg("gather_subset=nonsense").run().exits_with(1).json();
    assert!(wrong["msg"].as_str().unwrap().starts_with("Bad subset 'nonsense' given to Ansible."), "{wrong}");
    dir.assert_nothing_left();
}

#[test]
fn tempfile_uses_a_new_name() {
    let dir = TestDir::new();
    let data = dir.mkdir("data");
    let run = |args: &[&str]| {
        let path = format!("path={}", data.display());
        Modbox::run_module(&dir, module("tempfile")).arg("--allow-write").arg(&data).arg(path).args(args).run()
    };
    let made = |args: &[&str]| {
        let result = run(args).exits_with(0).json();
        assert_eq!(result["changed"], true, "{result}");
        PathBuf::from(result["path"].as_str().unwrap())
    };
    let (first, second) = (made(&[]), made(&["prefix=x.", "suffix=.y"]));
    assert!(first.is_file() && second.is_file() && first.parent() == Some(data.as_path()));
    let name = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
    assert!(name(&first).starts_with("ansible.") && name(&first).len() == 16, "{first:?}");
    assert!(name(&second).starts_with("x.") && name(&second).ends_with(".y"), "{second:?}");
    assert!(made(&["state=directory"]).is_dir());
    assert_eq!(run(&["--check"]).exits_with(0).json()["skipped"], true);
    run(&["prefix=../x"]).exits_with(1);
    assert_eq!(fs::read_dir(&data).unwrap().count(), 3);
}

#[test]
fn a_link_that_is_named_is_removed_and_not_what_it_leads_to() {
    let dir = TestDir::new();
    let (target, link) = (dir.write("data/target", "kept"), dir.join("data/link"));
    symlink(&target, &link).unwrap();
    let path = format!("path={}", link.display());
    let run = Modbox::run_module(&dir, module("file")).arg(path).arg("state=absent").run().exits_with(0);
    assert_eq!(run.json()["changed"], true, "{run}");
    assert!(link.symlink_metadata().is_err());
    assert_eq!(fs::read_to_string(&target).unwrap(), "kept");
}

#[test]
fn a_folder_is_removed_where_the_folder_around_it_is_granted() {
    let dir = TestDir::new();
    let inner = dir.write("data/folder/inner", "x");
    let folder = dir.join("data/folder");
    let run = || {
        let path = format!("path={}", folder.display());
        Modbox::run_module(&dir, module("file")).arg(path).arg("state=absent")
    };
    let failed = run().run().exits_with(1);
    assert!(failed.json()["msg"].as_str().unwrap().contains("--allow-write"), "{failed}");
    assert!(inner.exists());
    run().arg("--allow-write").arg(dir.join("data")).run().exits_with(0);
    assert!(!folder.exists());
}

#[test]
fn a_link_says_an_absolute_path_only_where_that_is_granted() {
    let dir = TestDir::new();
    let (target, data) = (dir.write("other/target", "x"), dir.mkdir("data"));
    let link = data.join("link");
    let run = |says: &str| {
        let args = [format!("path={}", link.display()), format!("src={says}"), "state=link".into(), "force=yes".into()];
        Modbox::run_module(&dir, module("file")).arg("--allow-write").arg(&data).args(args)
    };
    let says = target.to_str().unwrap();
    let allowed = dir.join("other");
    let denied = run(says).arg("--output").arg("report").run();
    assert!(denied.stdout_text().contains("--designate src:read"), "{denied}");
    assert!(link.symlink_metadata().is_err());
    run(says).arg("--allow-read").arg(&allowed).run().exits_with(0);
    assert_eq!(link.read_link().unwrap(), target);
    // Paths that climb out of the grant, paths in the guest's private directory, and paths mapped elsewhere.
    for escape in [
        format!("{}/../data/x", allowed.display()),
        "/args/x".into(),
        "/tmp/x".into(),
        "/".into(),
        "/etc/passwd".into(),
    ] {
        fs::remove_file(&link).ok();
        run(&escape).arg("--allow-read").arg(&allowed).run().exits_with(1);
        assert!(link.symlink_metadata().is_err(), "{escape}");
    }
    run("/shown").arg("--allow-read").arg(format!("{}::/shown", allowed.display())).run().exits_with(1);
    assert!(link.symlink_metadata().is_err());
}

#[test]
fn a_file_that_is_changed_is_replaced_and_keeps_its_mode() {
    let dir = TestDir::new();
    let data = dir.mkdir("data");
    let (file, link) = (dir.write("data/file", "secret\nand a longer line\n"), data.join("link"));
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    fs::hard_link(&file, &link).unwrap();
    let path = file.display();
    for (name, args) in [
        ("lineinfile", [format!("path={path}"), "line=more".to_owned()]),
        ("copy", [format!("dest={path}"), "content=short\n".to_owned()]),
    ] {
        let run = Modbox::run_module(&dir, module(name)).arg("--allow-write").arg(&data).args(args);
        assert_eq!(run.run().exits_with(0).json()["changed"], true, "{name}");
        let metadata = fs::metadata(&file).unwrap();
        assert_eq!((metadata.mode() & 0o777, metadata.nlink()), (0o600, 1), "{name}");
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), "short\n");
    // Ansible's modules replace the file, too: its other name keeps the old one.
    assert_eq!(fs::read_to_string(&link).unwrap(), "secret\nand a longer line\n");
    assert_eq!(fs::read_dir(&data).unwrap().count(), 2);
}

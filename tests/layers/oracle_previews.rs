//! What a preview lists is what a real run does, for ansible-core's modules and for modbox's own; and a preview leaves no
//! trace. Modules that lie are named.
//!
//! `oracle/previews/prove.py` says how that is proved. `oracle/previews/cases.py` and `lies.py` have what is run.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use serde_json::Value;

use crate::python::python_closure::package;
use crate::support::{Modbox, TestDir, fixture, module, oracle, sample};

/// Time limit for hundreds of runs, on two busy cores.
const PROOF: Duration = Duration::from_secs(900);

/// modbox's own modules that are run.
const OWN: [&str; 18] = [
    "archive",
    "assemble",
    "blockinfile",
    "command",
    "copy",
    "file",
    "find",
    "get_url",
    "ini_file",
    "lineinfile",
    "ping",
    "replace",
    "slurp",
    "stat",
    "tempfile",
    "template",
    "unarchive",
    "uri",
];

/// Parts of the cases, of which an ordinary run takes one.
const PARTS: usize = 48;

/// Least numbers of what is run as root, by their names in the summary.
const AS_ROOT: [(&str, u64); 5] = [("cases", 90), ("modules", 40), ("own", 60), ("random", 10), ("lies", 12)];

/// Least numbers of what is run as an ordinary user, who cannot have folders of the machine replaced.
const AS_USER: [(&str, u64); 5] = [("cases", 60), ("modules", 20), ("own", 60), ("random", 10), ("lies", 12)];

#[test]
fn a_preview_tells_what_a_real_run_does_and_leaves_no_trace() {
    prove(&[], &[("root", AS_ROOT), ("user", AS_USER)]);
}

#[test]
fn so_does_a_preview_of_an_ordinary_user_on_overlays() {
    prove(&["--users", "user", "--plain"], &[("user", AS_USER)]);
}

fn prove(options: &[&str], sides: &[(&str, [(&str, u64); 5])]) {
    let dir = TestDir::new();
    // The ordinary user of runs that root starts must be able to reach it.
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let own = dir.mkdir("own");
    for name in OWN {
        fs::copy(module(name), own.join(format!("{name}.wasm"))).unwrap();
    }
    let python = oracle::python();
    let parts = sample::cases(PARTS, 1);
    let ran = Modbox::of(&python, &dir)
        .arg(fixture("oracle/previews/prove.py"))
        .args(["--modbox", env!("CARGO_BIN_EXE_modbox"), "--python"])
        .arg(&python)
        .arg("--modules")
        .arg(package(&python).join("modules"))
        .arg("--own")
        .arg(own)
        .arg("--work")
        .arg(dir.mkdir("work"))
        .args(["--seed", &sample::seed().to_string(), "--parts", &parts.to_string()])
        .args(options)
        .patience(PROOF)
        .run();
    let text = ran.stdout_text();
    let summary: Value = text.lines().last().and_then(|line| serde_json::from_str(line).ok()).unwrap_or_default();
    let is_root = rustix::process::geteuid().is_root();
    for (side, least) in sides.iter().filter(|(side, _)| is_root || *side == "user") {
        let numbers = &summary[*side];
        assert_eq!(numbers["different"], 0, "{side}: {text}{ran}");
        for (name, all) in *least {
            let least = if name == "lies" { all } else { all / parts as u64 };
            assert!(numbers[name].as_u64() >= Some(least), "{side}: fewer {name} than {least}: {text}{ran}");
        }
    }
    let ran = ran.exits_with(0);
    assert_eq!(text.lines().filter(|line| line.starts_with("===")).count(), 0, "{ran}");
    dir.assert_nothing_left();
}

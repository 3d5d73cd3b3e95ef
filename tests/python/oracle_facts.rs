//! Facts of a confined `setup`, held against those of the plain module: with the profile `facts` they are the machine's, and what the
//! module cannot know is left out, and said.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::python::oracle_python_places::{INSTALLED, modbox};
use crate::support::{TestDir, oracle};

/// Facts that a room does not change, and that other processes do not change meanwhile.
const STEADY: [&str; 23] = [
    "architecture",
    "bios_vendor",
    "cmdline",
    "distribution",
    "distribution_major_version",
    "distribution_release",
    "distribution_version",
    "dns",
    "fips",
    "hostname",
    "kernel",
    "lsb",
    "machine",
    "memtotal_mb",
    "nodename",
    "os_family",
    "pkg_mgr",
    "product_name",
    "service_mgr",
    "system",
    "system_vendor",
    "virtualization_role",
    "virtualization_type",
];

/// Those that only the machine's first process and root tell.
const OF_MACHINE: [&str; 4] = ["service_mgr", "is_chroot", "virtualization_role", "virtualization_type"];

type Facts = BTreeMap<String, Value>;

fn facts(result: &Value) -> Facts {
    let facts = result["ansible_facts"].as_object().unwrap_or_else(|| panic!("{result:#}"));
    let plain = |name: &String| name.strip_prefix("ansible_").unwrap_or(name).to_owned();
    facts.iter().map(|(name, value)| (plain(name), value.clone())).collect()
}

fn plain() -> Facts {
    let (dir, python) = (TestDir::new(), &INSTALLED.python);
    let mut ansible = oracle::ansible_by(python, &dir, "adhoc");
    ansible.args(["localhost", "-m", "setup", "-e", &format!("ansible_python_interpreter={}", python.display())]);
    let output = ansible.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let object = text.find('{').map(|at| &text[at..]).unwrap_or_else(|| panic!("{text}"));
    facts(&serde_json::from_str(object).unwrap())
}

/// Runs `setup`, and returns its facts and its warnings.
fn confined(place: &str, policy: &str) -> (Facts, String) {
    let dir = &INSTALLED.dir;
    let file = dir.write("facts.yaml", policy);
    let run = modbox(&INSTALLED.python, dir).args(["run", "ansible.builtin.setup", "--python", place]);
    let report = run.arg("--policy").arg(file).report().run().exits_with(0).json();
    (facts(&report["result"]), report["result"]["warnings"].to_string())
}

#[test]
fn facts_of_a_room_are_those_of_the_machine_or_are_left_out() {
    let plain = plain();
    let (with_profile, warnings) = confined("native", "modules: {setup: {profiles: [facts]}}\n");
    for name in STEADY {
        assert_eq!(with_profile.get(name), plain.get(name), "`{name}` with the profile");
    }
    assert_eq!(with_profile.get("is_chroot"), None);
    assert!(warnings.contains("left out") && warnings.contains("ansible_is_chroot"), "{warnings}");
    assert!(!warnings.contains("ansible_service_mgr"), "{warnings}");
    let (without, warnings) = confined("native", "{}\n");
    for name in OF_MACHINE {
        assert_eq!(without.get(name), None, "`{name}` without the profile");
        assert!(warnings.contains(&format!("ansible_{name}")), "{warnings}");
    }
    assert!(warnings.contains("grant it the profile `facts`"), "{warnings}");
    assert_eq!(without.get("kernel"), plain.get("kernel"));
}

#[test]
fn the_sandbox_does_not_guess_facts_of_the_machine() {
    let dir = &INSTALLED.dir;
    let file = dir.write("facts-sandbox.yaml", "modules: {setup: {profiles: [facts]}}\n");
    let run = modbox(&INSTALLED.python, dir).args(["run", "ansible.builtin.setup", "--python", "wasm", "--policy"]);
    let report = run.arg(file).report().run().exits_with(1).json();
    assert_eq!(report["result"]["ansible_facts"], Value::Null, "{report:#}");
    assert!(report["result"]["warnings"].to_string().contains("`--python native` runs it natively"), "{report:#}");
}

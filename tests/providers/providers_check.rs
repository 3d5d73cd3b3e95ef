//! Check mode of providers: nothing is written, whatever a provider does with `ral_noop`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::providers::providers_runs::{provider, resource};
use crate::support::{Modbox, TestDir};

/// A provider that writes to every place that it is granted, in each of its actions.
const WRITER: &str = "echo $ral_action$ral_noop > canary/$ral_action || info='warn: refused'\necho x >> canary/file; echo $info >&2\n\
    if [ $ral_action = update ]; then echo ral_derive: true; else echo name: ${name-n}; echo a: old; fi\n";

/// Returns the files below a folder, with their contents.
fn tree(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

/// Makes a folder of canaries and a provider that writes there.
fn prepare(key: &str) -> (TestDir, PathBuf) {
    let dir = TestDir::new();
    let canary = dir.mkdir("canary");
    dir.write("canary/file", "as it was");
    provider(&dir, "p", key, WRITER);
    (dir, canary)
}

#[test]
fn check_mode_writes_nothing() {
    for (key, words) in [
        ("", &["n", "a=new"][..]),
        ("", &["n"]),
        ("", &[]),
        ("  noop_safe: true\n", &["n", "a=new"]),
        ("  noop_safe: true\n", &["n"]),
    ] {
        let (dir, canary) = prepare(key);
        let before = tree(&canary);
        let run = |more: &[&str]| resource(&dir, &["thing"]).args(words).args(["--allow-write", "."]).args(more).run();
        let checked = run(&["--check", "--output", "report"]).exits_with(0).json();
        assert_eq!(tree(&canary), before, "{key} {words:?}: {checked:#}");
        // It tried, and each try is in the report.
        for report in checked["runs"].as_array().unwrap() {
            assert_eq!(report["denials"].as_array().unwrap().len(), 2, "{report:#}");
        }
        // Without the switch the same run writes.
        run(&[]).exits_with(0);
        assert_ne!(tree(&canary), before, "{key} {words:?}");
        dir.assert_nothing_left();
    }
}

#[test]
fn an_update_is_simulated_unless_the_provider_is_safe() {
    for (key, simulated, runs) in [("", true, 1), ("  noop_safe: true\n", false, 2)] {
        let (dir, _) = prepare(key);
        let run = |words: &[&str]| {
            resource(&dir, &["thing", "n", "a=new", "--check", "--output", "report"])
                .args(words)
                .run()
                .exits_with(0)
                .json()
        };
        let checked = run(&[]);
        assert_eq!(checked["changes"], json!([{"attr": "a", "is": "new", "was": "old"}]));
        assert_eq!((&checked["simulated"], checked["runs"].as_array().unwrap().len()), (&json!(simulated), runs));
        // What is granted everything cannot be kept from writing, so it is never asked.
        let all = run(&["--allow-all"]);
        assert_eq!((&all["simulated"], all["runs"].as_array().unwrap().len()), (&json!(true), 1));
    }
}

#[test]
fn a_safe_provider_is_told_and_an_unsafe_one_is_left_out() {
    let told = "echo \"info: ${ral_noop-unset}\" >&2; echo a: x";
    for (key, switches, expect) in [
        ("", &["--check"][..], None),
        ("", &["ral_noop=true"], None),
        ("", &[], Some("unset")),
        ("  noop_safe: true\n", &["--check"], Some("true")),
        ("  noop_safe: true\n", &["ral_noop=true"], Some("true")),
        ("  noop_safe: true\n", &["--check", "--allow-all"], None),
        ("  noop_safe: true\n", &[], Some("unset")),
    ] {
        let dir = TestDir::new();
        let module = provider(&dir, "p", key, told);
        let run = Modbox::run_module(&dir, module).args(["ral_action=update", "name=n", "a=x"]).args(switches);
        let report = run.report().run().exits_with(0).json();
        match expect {
            None => {
                assert_eq!(
                    (&report["status"], &report["usage"]["wall_us"]),
                    (&json!("skipped"), &json!(0)),
                    "{report:#}"
                );
            }
            Some(noop) => {
                let note = format!("the provider says: {noop}");
                assert!(report["notes"].as_array().unwrap().contains(&json!(note)), "{key} {switches:?}: {report:#}");
            }
        }
    }
}

#[test]
fn a_designated_file_stays_in_check_mode() {
    let dir = TestDir::new();
    let body = "echo x > \"$file\" 2>/dev/null || echo 'info: refused' >&2\n\
        if [ $ral_action = update ]; then echo ral_derive: true; else echo name: n; fi";
    provider(&dir, "p", "  noop_safe: true\n", body);
    for name in ["work/there", "work/missing"] {
        let file = dir.join(name);
        dir.write("work/there", "old");
        let word = format!("file={}", file.display());
        let before = fs::read(&file).ok();
        let ran = resource(&dir, &["thing", "n", &word, "--check"]).run();
        assert_eq!(fs::read(&file).ok(), before, "{ran}");
        resource(&dir, &["thing", "n", &word]).run().exits_with(0);
        assert_eq!(fs::read(&file).unwrap(), b"x\n");
    }
    dir.assert_nothing_left();
}

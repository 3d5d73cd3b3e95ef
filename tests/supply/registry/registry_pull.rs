//! Modules are pushed to registries, pulled from them, and run by their references.

use std::fs;

use serde_json::{Value, json};

use crate::supply::registry::registry_place::{Place, pushed_digest};
use crate::support::registry::Behavior;
use crate::support::{Modbox, module};

#[test]
fn a_module_is_pushed_pulled_and_run() {
    for referrers in [true, false] {
        let place = Place::of(Behavior { referrers, ..Behavior::default() });
        let path = place.dir.join("lineinfile.wasm");
        fs::copy(module("lineinfile"), &path).unwrap();
        place.sign(&path, Some("acme/lineinfile"), &[1]);
        let pushed = place.pushes(&path, "acme/lineinfile:1.0").run().says("goes along");
        let digest = pushed_digest(&pushed);
        let name = format!("{}@{digest}", place.reference("acme/lineinfile:1.0"));
        assert_eq!(pushed.stdout_text(), format!("{name}\n"));
        let pulled = place.pull("acme/lineinfile:1.0").exits_with(0);
        assert_eq!(pulled.stdout_text(), format!("{name}\n"));
        assert_eq!(place.assert_store_whole().len(), 2, "the module and its signature");
        let content = fs::read(place.blob(&place.layer("acme/lineinfile", "1.0"))).unwrap();
        assert_eq!(content, fs::read(&path).unwrap());
        place.registry.clear_requests();
        let changed = place.dir.join("app.conf");
        let run = place.run("acme/lineinfile:1.0").json_args(&json!({"path": changed, "line": "x", "create": true}));
        assert_eq!(run.run().exits_with(0).json()["changed"], true);
        assert_eq!(fs::read_to_string(changed).unwrap(), "x\n");
        assert_eq!(place.requests(), [""; 0], "what is in the store is not asked for");
        place.dir.assert_nothing_left();
    }
}

#[test]
fn what_was_pulled_is_listed() {
    let place = Place::new();
    let references = ["1.0", "2.0"].map(|tag| format!("acme/lineinfile:{tag}"));
    for reference in &references {
        place.push(&module("lineinfile"), reference);
        place.pull(reference).exits_with(0);
    }
    let listed = |words: &[&str]| -> Vec<Value> {
        let text = place.modbox(&["list", "--json"]).args(words).run().exits_with(0).stdout_text();
        let rows = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        rows.filter(|row| row["name"].as_str().unwrap().starts_with("oci://")).collect()
    };
    let names: Vec<Value> = listed(&["lineinfile"]).into_iter().map(|row| row["name"].clone()).collect();
    assert_eq!(names, references.each_ref().map(|reference| place.reference(reference)));
    let [only] = &listed(&[&place.reference(&references[1])])[..] else { panic!("one fits") };
    assert_eq!((&only["kind"], &only["version"]), (&"component".into(), &"0.1.0".into()));
    assert_eq!(listed(&["other"]), [Value::Null; 0]);
}

#[test]
fn the_manifest_has_the_layout_of_the_cncf() {
    let place = Place::new();
    let digest = place.push(&module("lineinfile"), "acme/lineinfile:1.0");
    let manifest = place.manifest("acme/lineinfile", "1.0");
    assert_eq!(manifest, place.manifest("acme/lineinfile", &digest));
    let layer = json!({
        "mediaType": "application/wasm",
        "digest": place.layer("acme/lineinfile", "1.0"),
        "size": fs::metadata(module("lineinfile")).unwrap().len(),
    });
    assert_eq!(manifest["layers"], json!([layer]));
    assert_eq!(manifest["schemaVersion"], 2);
    assert_eq!(manifest["mediaType"], "application/vnd.oci.image.manifest.v1+json");
    assert_eq!(manifest["config"]["mediaType"], "application/vnd.wasm.config.v0+json");
    assert_eq!(manifest["annotations"]["org.opencontainers.image.title"], "lineinfile");
    assert!(manifest.get("subject").is_none() && manifest.get("artifactType").is_none(), "{manifest}");
    let config = place.registry.blob(manifest["config"]["digest"].as_str().unwrap()).unwrap();
    assert_eq!(manifest["config"]["size"], config.len());
    let config: Value = serde_json::from_slice(&config).unwrap();
    assert_eq!((&config["architecture"], &config["os"]), (&json!("wasm"), &json!("wasip2")));
    assert_eq!(config["layerDigests"], json!([layer["digest"]]));
    let lists = |key: &str, name: &str| config["component"][key].to_string().contains(name);
    assert!(lists("imports", "wasi:filesystem/types@0.2") && lists("exports", "wasi:cli/run@0.2"), "{config}");
    assert!(config.get("created").is_none(), "the same module has the same digest");
    let core = place.push_word("one", "core:1");
    assert_ne!(core, digest);
    let config = place.manifest("core", "1")["config"]["digest"].as_str().unwrap().to_owned();
    let config: Value = serde_json::from_slice(&place.registry.blob(&config).unwrap()).unwrap();
    assert_eq!(config["os"], "wasip1");
    assert!(config.get("component").is_none(), "{config}");
}

#[test]
fn a_module_is_pulled_by_tag_by_digest_and_by_both() {
    let place = Place::new();
    let digest = place.push_word("one", "a/b:1");
    for (reference, printed, is_locked) in [
        ("a/b:1".to_owned(), format!("a/b:1@{digest}"), true),
        (format!("a/b@{digest}"), format!("a/b@{digest}"), false),
        (format!("a/b:1@{digest}"), format!("a/b:1@{digest}"), true),
        // The tag need not exist: the digest says what it is.
        (format!("a/b:other@{digest}"), format!("a/b:other@{digest}"), true),
    ] {
        let _ = fs::remove_dir_all(place.store(""));
        let _ = fs::remove_file(place.dir.join("modbox.lock"));
        let pulled = place.pull(&reference).exits_with(0);
        assert_eq!(pulled.stdout_text(), format!("{}\n", place.reference(&printed)));
        assert_eq!(place.assert_store_whole(), [digest.as_str()]);
        assert_eq!(place.lock().contains(&format!("manifest = \"{digest}\"")), is_locked, "{reference}");
        place.runs(&format!("a/b@{digest}"), "one");
    }
    let other = format!("a/b:1@sha256:{}", "0".repeat(64));
    place.pull(&other).exits_with(3).says(&format!("`{}` is not there", place.reference(&other)));
    place.pull("a/none:1").exits_with(3).says("is not there");
}

#[test]
fn a_reference_stands_where_a_module_does() {
    let place = Place::new();
    let digest = place.push(&module("lineinfile"), "acme/lineinfile:1.0");
    place.pull("acme/lineinfile:1.0").exits_with(0);
    let layer = place.layer("acme/lineinfile", "1.0");
    for word in ["acme/lineinfile:1.0".to_owned(), format!("acme/lineinfile@{digest}")] {
        let reference = place.reference(&word);
        let modbox = |args: &[&str]| place.modbox(args).arg(&reference);
        let inspected = modbox(&["inspect"]).run().exits_with(0).stdout_text();
        assert!(inspected.contains(&format!("digest:  {layer}")), "{inspected}");
        let manual = modbox(&["doc"]).run().exits_with(0).stdout_text();
        assert!(manual.contains("lineinfile") && manual.contains("insertafter"), "{manual}");
        modbox(&["validate"]).args(["path=/x", "line=y"]).run().exits_with(0);
        modbox(&["validate"]).arg("no-such-option=1").run().exits_with(1);
        let path = place.dir.join("batch.conf");
        let job = json!({"module": reference, "args": {"path": path, "line": "x", "create": true}});
        let jobs = format!("{job}\n{job}\n");
        let ran = place.modbox(&["batch", "--jobs", "1"]).stdin(jobs).run().exits_with(0).stdout_text();
        let statuses: Vec<Value> =
            ran.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["status"].clone()).collect();
        assert_eq!(statuses, ["changed", "ok"], "{ran}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "x\n");
        fs::remove_file(path).unwrap();
        let report =
            modbox(&["run"]).json_args(&json!({"path": "/x", "line": "y", "state": "absent"})).arg("--check").report();
        let report = report.run().exits_with(0).json();
        assert_eq!(report["module"]["digest"], layer, "{report}");
    }
    place.dir.assert_nothing_left();
}

#[test]
fn a_digest_is_pulled_by_a_run_and_a_tag_is_not() {
    let place = Place::new();
    let digest = place.push_word("one", "a:1");
    let reference = place.reference("a:1");
    let refused = place.run("a:1").run().exits_with(3);
    let refused =
        refused.says(&format!("does not say which module `{reference}` is; run `modbox pull {reference}` once"));
    assert_eq!(refused.stdout_text(), "");
    assert!(!place.store("").exists() && place.lock().is_empty());
    place.runs(&format!("a@{digest}"), "one");
    assert_eq!(place.assert_store_whole(), [digest]);
    assert!(place.lock().is_empty(), "a run writes no lock file");
}

#[test]
fn words_that_are_not_references_are_errors_of_usage() {
    let place = Place::new();
    let module = place.module("one").display().to_string();
    let (name, digest) = ("a".repeat(250), "sha256:12");
    for (text, message) in [
        ("ghcr.io/a:1", "`ghcr.io/a:1` does not begin with `oci://`"),
        ("oci://ghcr.io", "`oci://ghcr.io` has no name after the host; write `oci://HOST/NAME:TAG`"),
        ("oci://h/:1", "`oci://h/:1` has no name after the host"),
        ("oci:///a:1", "`` is not a host with an optional port"),
        ("oci://H/a:1", "`H` is not a host"),
        ("oci://user@h/a:1", "`user@h` is not a host"),
        ("oci://h:99999/a:1", "`h:99999` is not a host"),
        ("oci://h/A:1", "`A` is not the name of a repository"),
        ("oci://h/../a:1", "`../a` is not the name of a repository"),
        (&format!("oci://hhhhh/{name}:1"), "is not the name of a repository"),
        ("oci://h/a:", "`` is not a tag"),
        ("oci://h/a:1:2", "`1:2` is not a tag"),
        ("oci://h/a", "`oci://h/a` names no version; add a tag such as `:1.0.0`, or a digest"),
        (&format!("oci://h/a@{digest}"), "`sha256:12` is not a digest: `sha256:` and 64 lower-case hex digits"),
        ("oci://h/a:1@", "`` is not a digest"),
    ] {
        place.modbox(&["pull", text]).run().exits_with(2).says(message);
        place.modbox(&["push", &module, text]).run().exits_with(2).says(message);
        if text.starts_with("oci://") {
            place.modbox(&["run", text]).run().exits_with(2).says(message);
            place.modbox(&["inspect", text]).run().exits_with(2).says(message);
        }
    }
    let pinned = place.reference(&format!("a:1@sha256:{}", "0".repeat(64)));
    place.modbox(&["push", &module, &pinned]).run().exits_with(2).says("what is pushed has a tag");
    assert_eq!(place.requests(), [""; 0]);
    assert!(!place.store("").exists());
}

#[test]
fn a_module_is_also_written_to_a_file() {
    let place = Place::new();
    let module = place.module("one");
    place.push(&module, "a:1");
    place.push_word("two", "b:1");
    let (a, b) = (place.reference("a:1"), place.reference("b:1"));
    place.modbox(&["pull", &a, "-o", "own.wasm"]).run().exits_with(0);
    assert_eq!(fs::read(place.dir.join("own.wasm")).unwrap(), fs::read(&module).unwrap());
    let ran = Modbox::run_module(&place.dir, place.dir.join("own.wasm")).run().exits_with(0);
    assert_eq!(ran.json()["word"], "one");
    place.modbox(&["pull", &a, &b, "-o", "both.wasm"]).run().exits_with(2).says("pull one at a time");
    place.modbox(&["pull", &a, "-o", "none/own.wasm"]).run().exits_with(3).says("failed to write");
    assert!(!place.dir.join("both.wasm").exists());
    let _ = place.assert_store_whole();
}

#[test]
fn a_store_needs_a_folder_for_data() {
    let place = Place::new();
    let digest = place.push_word("one", "a:1");
    let reference = place.reference(&format!("a@{digest}"));
    let own = place.modbox(&["pull", &reference]).env("XDG_DATA_HOME", place.dir.join("data"));
    own.behind(|mut command| {
        command.env_remove("HOME");
        command
    })
    .run()
    .exits_with(0);
    assert!(place.dir.join("data/modbox/registry/oci/index.json").exists() && !place.store("").exists());
    let blocked = place.dir.write("blocked", "");
    let ran = place.modbox(&["pull", &reference]).env("HOME", &blocked).run().exits_with(3);
    ran.says("failed to make `").says("/blocked/.local/share/modbox/registry/oci/blobs/sha256`");
}

#[test]
fn the_help_says_what_each_command_does() {
    let place = Place::new();
    for (command, purpose) in [("pull", "Bring modules from registries"), ("push", "Send a module to a registry")] {
        let help = place.modbox(&[command, "--help"]).run().exits_with(0).stdout_text();
        assert!(help.starts_with(&format!("{purpose}\n")), "{help}");
    }
}

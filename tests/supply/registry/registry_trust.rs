//! Trust rules hold for what is pulled: before the lock file knows of it, and again at each run.

use std::fs;

use modbox_registry::lock_file::LockFile;
use serde_json::{Value, json};

use crate::supply::registry::registry_place::{Place, digest_of, fingerprint};
use crate::support::registry::Behavior;
use crate::support::{RunOutput, module};

const REQUIRED: &str = "  require-signature: true\n";

fn pull(place: &Place, from: &str) -> RunOutput {
    place.modbox(&["pull", "--policy", "policy.yaml"]).arg(place.reference(from)).run()
}

fn run(place: &Place, module: &str) -> RunOutput {
    place.run(module).args(["--policy", "policy.yaml"]).report().run()
}

#[test]
fn an_unsigned_module_is_refused_before_it_is_locked() {
    let place = Place::new();
    place.trust(REQUIRED);
    let module = place.module("one");
    let digest = place.push(&module, "a:1");
    let refused = pull(&place, "a:1").exits_with(4);
    let refused = refused.says(&format!("the trust rules refuse `{}`: ", place.reference("a:1")));
    let refused = refused.says("requires a signature of the module, and none counts");
    assert_eq!((refused.stdout_text(), place.lock()), (String::new(), String::new()));
    let ran = run(&place, &format!("a@{digest}")).exits_with(4).json();
    assert!(ran["result"]["msg"].as_str().unwrap().contains("requires a signature"), "{ran}");
    // A key that no rule knows changes nothing.
    place.sign(&module, None, &[3]);
    place.push(&module, "a:1");
    pull(&place, "a:1").exits_with(4).says("is not listed");
    assert!(place.lock().is_empty());
    place.sign(&module, None, &[1]);
    place.push(&module, "a:1");
    pull(&place, "a:1").exits_with(0);
    assert!(place.lock().contains(&digest));
}

#[test]
fn the_lock_file_says_by_whose_keys_a_module_was_signed() {
    let place = Place::new();
    place.trust(REQUIRED);
    let module = place.module("one");
    place.sign(&module, Some("acme/one"), &[1]);
    let digest = place.push(&module, "a:1");
    let pulled = pull(&place, "a:1").exits_with(0).stdout_text();
    assert_eq!(pulled, format!("{}@{digest} signed by release@acme.example\n", place.reference("a:1")));
    let lock = place.lock();
    let keys = format!("signers = [\"release@acme.example\"]\nkeys = [\"{}\"]\n", fingerprint(1));
    assert!(lock.ends_with(&format!("module = \"{}\"\n{keys}", digest_of(&module))), "{lock}");
    let report = run(&place, "a:1").exits_with(0).json();
    assert_eq!(report["module"]["signature"]["signers"], json!(["release@acme.example"]), "{report}");
    // Without trust rules, a signature says nothing.
    fs::remove_file(place.dir.join("modbox.lock")).unwrap();
    place.pull("a:1").exits_with(0);
    assert!(!place.lock().contains("signers"));
}

#[test]
fn the_lock_file_has_the_requests_and_the_version_of_a_module() {
    let place = Place::new();
    place.push(&module("setup"), "setup:1");
    place.pull("setup:1").exits_with(0);
    let inspected = place.modbox(&["inspect", "--json"]).arg(place.reference("setup:1")).run().exits_with(0).json();
    let lock = LockFile::read(&place.dir.join("modbox.lock")).unwrap();
    let (_, locked) = lock.iter().next().unwrap();
    assert_eq!(locked.version.as_deref(), inspected["metadata"]["version"].as_str());
    let text = |request: &Value| {
        let [capability, subject] = ["capability", "subject"].map(|key| request[key].as_str().unwrap());
        format!("{capability} {subject}")
    };
    let mut requests: Vec<String> = inspected["requests"].as_array().unwrap().iter().map(text).collect();
    requests.sort();
    assert!(requests.len() > 5, "{requests:?}");
    assert_eq!(locked.requests, requests);
}

#[test]
fn a_rule_names_a_module_by_its_repository() {
    let place = Place::new();
    place.push(&module("lineinfile"), "tools/lineinfile:1");
    place.pull("tools/lineinfile:1").exits_with(0);
    let app = place.dir.mkdir("app");
    let rule = |name: &str| {
        let allow = format!("{{allow: {{write: [{}]}}}}", app.display());
        place.dir.write("policy.yaml", format!("designated: none\nmodules:\n  \"{name}\": {allow}\n"));
    };
    let write = |to: &str| {
        let args = json!({"path": app.join(to), "line": "x", "create": true});
        run_with(&place, "tools/lineinfile:1", &args)
    };
    rule(&place.reference("tools/lineinfile"));
    write("a").exits_with(0);
    rule(&place.reference("tools/other"));
    write("b").exits_with(4);
    for wrong in ["tools/lineinfile:1", "tools/lineinfile@sha256:ab"] {
        rule(&place.reference(wrong));
        write("c").exits_with(2).says("without a tag and without a digest");
    }
}

fn run_with(place: &Place, module: &str, args: &Value) -> RunOutput {
    place.run(module).args(["--policy", "policy.yaml"]).json_args(args).run()
}

#[test]
fn a_ceiling_holds_at_a_run() {
    let place = Place::new();
    place.trust(&format!(
        "  rules: [{{signer: release@acme.example, modules: ['acme/*'], at-most: {{write: [{}/app]}}}}]\n{REQUIRED}",
        place.dir.path().display()
    ));
    let path = place.dir.join("lineinfile.wasm");
    fs::copy(module("lineinfile"), &path).unwrap();
    place.sign(&path, Some("acme/lineinfile"), &[1]);
    place.push(&path, "tools/lineinfile:1");
    pull(&place, "tools/lineinfile:1").exits_with(0);
    place.dir.mkdir("app");
    place.dir.mkdir("elsewhere");
    let write = |to: &str| {
        let path = place.dir.join(to);
        let run = place.run("tools/lineinfile:1").args(["--policy", "policy.yaml"]).report();
        (run.json_args(&json!({"path": path, "line": "x", "create": true})).run(), path)
    };
    let (ran, path) = write("app/a");
    ran.exits_with(0);
    assert_eq!(fs::read_to_string(path).unwrap(), "x\n");
    let (ran, path) = write("elsewhere/a");
    let report = ran.exits_with(4).json();
    let message = report["result"]["msg"].as_str().unwrap();
    assert!(message.contains("release@acme.example may not be given write"), "{message}");
    assert!(!path.exists());
    place.dir.assert_nothing_left();
}

#[test]
fn signatures_of_one_module_from_two_repositories_come_together() {
    let place = Place::new();
    place.trust("  rules: [{signer: '*.example', signatures: 2}]\n  require-signature: true\n");
    let module = place.module("one");
    for (seeds, tag) in [(&[1, 3][..], "a:1"), (&[2, 3], "b:1")] {
        place.sign(&module, None, seeds);
        place.push(&module, tag);
    }
    pull(&place, "a:1").exits_with(4).says("no trust rule fits its signers");
    let pulled = pull(&place, "b:1").exits_with(0).stdout_text();
    assert!(pulled.ends_with("signed by release@acme.example, team@other.example\n"), "{pulled}");
    let folder = place.store("signatures").join(digest_of(&module).hex());
    let files: Vec<_> = fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path()).collect();
    let [file] = &files[..] else { panic!("one statement: {files:?}") };
    let text = fs::read_to_string(file).unwrap();
    assert_eq!(text.matches("-----BEGIN SSH SIGNATURE-----").count(), 3, "{text}");
    pull(&place, "a:1").exits_with(0);
    place.assert_store_whole();
}

/// What one repository says of a module does not keep another one from signing it.
#[test]
fn a_signature_of_another_statement_does_not_hide_one_that_counts() {
    for (first, second) in [((Some("evil/one"), 3), (Some("acme/one"), 1)), ((Some("acme/one"), 1), (None, 3))] {
        let place = Place::new();
        place.trust("  rules: [{signer: release@acme.example, modules: ['acme/*']}]\n  require-signature: true\n");
        let module = place.module("one");
        for (tag, (name, seed)) in [("a:1", first), ("b:1", second)] {
            place.sign(&module, name, &[seed]);
            place.push(&module, tag);
            pull(&place, tag);
        }
        let (good, bad) = if first.1 == 1 { ("a:1", "b:1") } else { ("b:1", "a:1") };
        pull(&place, good).exits_with(0);
        assert!(place.lock().contains(&place.reference(good)), "{bad}: {}", place.lock());
    }
}

#[test]
fn a_module_that_is_signed_again_counts_by_its_new_statement() {
    // This registry lists signatures in the order in which they came.
    let place = Place::of(Behavior::default());
    place.trust("  rules: [{signer: release@acme.example, modules: ['acme/*']}]\n  require-signature: true\n");
    let module = place.module("one");
    place.sign(&module, Some("wrong/one"), &[1]);
    place.push(&module, "a:1");
    pull(&place, "a:1").exits_with(4);
    place.sign(&module, Some("acme/one"), &[1]);
    place.push(&module, "a:1");
    pull(&place, "a:1").exits_with(0);
}

#[test]
fn a_revoked_module_is_refused_also_after_its_pull() {
    let place = Place::new();
    place.trust(REQUIRED);
    let module = place.module("one");
    place.sign(&module, None, &[1]);
    place.push(&module, "a:1");
    pull(&place, "a:1").exits_with(0);
    let lock = place.lock();
    place.dir.write("revoked", digest_of(&module).to_string());
    place.trust(&format!("  revoked: {}\n{REQUIRED}", place.dir.join("revoked").display()));
    pull(&place, "a:1").exits_with(4).says("is revoked");
    let report = run(&place, "a:1").exits_with(4).json();
    assert!(report["result"]["msg"].as_str().unwrap().contains("is revoked"), "{report}");
    assert_eq!(place.lock(), lock);
}

#[test]
fn the_signature_of_a_reference_is_shown() {
    let place = Place::new();
    place.trust(REQUIRED);
    let module = place.module("one");
    place.sign(&module, None, &[1]);
    place.push(&module, "a:1");
    place.pull("a:1").exits_with(0);
    let reference = place.reference("a:1");
    for how in [["--policy", "policy.yaml"], ["--signers", "signers"]] {
        let shown = place.modbox(&["verify", "--json", &reference]).args(how).run().exits_with(0);
        let shown: Value = serde_json::from_slice(&shown.stdout).unwrap();
        assert!(shown.to_string().contains("release@acme.example"), "{shown}");
    }
}

/// A ceiling is written for many hosts.
#[test]
fn a_ceiling_may_name_what_a_host_lacks() {
    let place = Place::new();
    let most = "{run: [no-such-program], read: [/nowhere], write: [/nowhere/at/all]}";
    place.trust(&format!("  rules: [{{unsigned: true, at-most: {most}}}]\n"));
    place.push_word("one", "a:1");
    pull(&place, "a:1").exits_with(0);
    place.trust("  rules: [{unsigned: true, at-most: {read: ['~/x']}}]\n");
    pull(&place, "a:1").exits_with(2).says("is not expanded");
}

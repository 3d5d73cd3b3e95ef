//! `modbox update`: the lock file moves to what tags stand for now, and what changes with that is shown.

use std::fs;
use std::path::PathBuf;

use crate::supply::registry::registry_place::{Place, fingerprint, public};
use crate::support::registry::{Behavior, Fault};
use crate::support::{Modbox, module};

const POLICY: [&str; 2] = ["--policy", "policy.yaml"];

fn update(place: &Place, args: &[&str]) -> Modbox {
    place.modbox(&["update"]).args(args)
}

/// Copies one of modbox's own modules to the test's folder, where it can be signed.
fn own(place: &Place, name: &str) -> PathBuf {
    let path = place.dir.join(&format!("{name}.wasm"));
    fs::copy(module(name), &path).unwrap();
    path
}

#[test]
fn a_tag_that_moved_is_shown_with_what_changes() {
    let place = Place::new();
    place.trust("");
    let (one, setup) = (place.module("one"), own(&place, "setup"));
    place.sign(&one, None, &[1]);
    place.sign(&setup, None, &[2]);
    let old = place.push(&one, "a:1");
    place.push_word("stays", "b:1");
    for name in ["a:1", "b:1"] {
        place.modbox(&["pull"]).args(POLICY).arg(place.reference(name)).run().exits_with(0);
    }
    let (before, [a, b]) = (place.lock(), ["a:1", "b:1"].map(|name| place.reference(name)));
    let new = place.push(&setup, "a:1");
    let dry = update(&place, &["--dry-run"]).args(POLICY).run().exits_with(0).stdout_text();
    assert_eq!(place.lock(), before);
    let updated = update(&place, &[]).args(POLICY).run().exits_with(0);
    assert_eq!((updated.stdout_text(), updated.stderr_text()), (dry.clone(), String::new()));
    let inspected = place.modbox(&["inspect", "--json", &a]).run().exits_with(0).json();
    let mut lines = dry.lines();
    assert_eq!(lines.next(), Some(format!("{a}: {old} -> {new}").as_str()));
    let version = inspected["metadata"]["version"].as_str().unwrap();
    assert_eq!(lines.next(), Some(format!("  version: unknown -> {version}").as_str()));
    let [acme, other] = [("release@acme.example", 1), ("team@other.example", 2)]
        .map(|(signer, seed)| format!("{signer} ({})", fingerprint(seed)));
    assert_eq!(lines.next(), Some(format!("  signed by: {acme} -> {other}").as_str()));
    let requests = inspected["requests"].as_array().unwrap();
    assert!(requests.len() > 5, "{requests:?}");
    for request in requests {
        let [capability, subject] = ["capability", "subject"].map(|key| request[key].as_str().unwrap());
        assert!(dry.contains(&format!("  now asks for: {capability} {subject}\n")), "{request}");
    }
    assert_eq!(lines.clone().filter(|line| line.starts_with("  now asks for: ")).count(), requests.len());
    assert_eq!(lines.last(), Some(format!("{b}: unchanged").as_str()));
    assert!(place.lock().contains(&new) && !place.lock().contains(&old), "{}", place.lock());
    assert!(place.lock().contains("signers = [\"team@other.example\"]"), "{}", place.lock());
    place.assert_store_whole();
    // And back.
    place.push(&one, "a:1");
    let back = update(&place, &[&a]).args(POLICY).run().exits_with(0).stdout_text();
    assert!(back.starts_with(&format!("{a}: {new} -> {old}\n  version: {version} -> unknown\n")), "{back}");
    assert!(back.contains(&format!("  signed by: {other} -> {acme}\n")) && !back.contains(&b), "{back}");
    assert_eq!(back.matches("  no longer asks for: ").count(), requests.len(), "{back}");
    assert_eq!(place.lock(), before);
    place.runs("a:1", "one");
    place.dir.assert_nothing_left();
}

#[test]
fn a_tag_that_did_not_move_leaves_the_lock_file_as_it_is() {
    let place = Place::new();
    place.push_word("one", "a:1");
    place.pull("a:1").exits_with(0);
    let (lock, unchanged) = (place.lock(), format!("{}: unchanged\n", place.reference("a:1")));
    for args in [&["--dry-run"][..], &[]] {
        assert_eq!(update(&place, args).run().exits_with(0).stdout_text(), unchanged);
        assert_eq!(place.lock(), lock);
    }
}

#[test]
fn a_signer_that_comes_or_another_key_is_shown() {
    let place = Place::new();
    let signers = [1, 3].map(|seed| format!("release@acme.example {}\n", public(seed))).concat();
    place.trust("");
    place.dir.write("signers", signers);
    let (one, a) = (place.module("one"), place.reference("a:1"));
    let digest = place.push(&one, "a:1");
    place.modbox(&["pull", &a]).args(POLICY).run().exits_with(0);
    let [first, second] = [1, 3].map(fingerprint);
    let mut both = [first.clone(), second];
    both.sort();
    let first = format!("release@acme.example ({first})");
    let steps = [
        (&[1][..], format!("no known signer -> {first}")),
        (&[1, 3], format!("{first} -> release@acme.example ({})", both.join(", "))),
    ];
    for (seeds, change) in steps {
        place.sign(&one, None, seeds);
        place.push(&one, "a:1");
        let lock = place.lock();
        let updated = update(&place, &[]).args(POLICY).run().exits_with(0).stdout_text();
        assert_ne!(place.lock(), lock);
        assert_eq!(updated, format!("{a}: {digest} -> {digest}\n  signed by: {change}\n"));
    }
}

#[test]
fn a_tag_that_the_lock_file_lacks_is_new() {
    let place = Place::new();
    let (one, two) = (place.push_word("one", "a:1"), place.push_word("two", "b:1"));
    let [a, b] = ["a:1", "b:1"].map(|name| place.reference(name));
    let line = format!("{a}: new, {one}\n");
    assert_eq!(update(&place, &["--dry-run", &a]).run().exits_with(0).stdout_text(), line);
    assert!(!place.dir.join("modbox.lock").exists());
    assert_eq!(update(&place, &[&a]).run().exits_with(0).stdout_text(), line);
    place.runs("a:1", "one");
    let other = update(&place, &["--lock", "other.lock", &b]).run().exits_with(0).stdout_text();
    assert_eq!(other, format!("{b}: new, {two}\n"));
    assert!(fs::read_to_string(place.dir.join("other.lock")).unwrap().contains(&two));
    assert!(!place.lock().contains(&two));
}

#[test]
fn what_trust_rules_refuse_is_not_locked() {
    let place = Place::new();
    place.trust("  require-signature: true\n");
    let (one, a) = (place.module("one"), place.reference("a:1"));
    place.sign(&one, None, &[1]);
    let old = place.push(&one, "a:1");
    place.modbox(&["pull", &a]).args(POLICY).run().exits_with(0);
    let lock = place.lock();
    place.push_word("two", "a:1");
    for args in [&["--dry-run"][..], &[], &[&a]] {
        let refused = update(&place, args).args(POLICY).run().exits_with(4);
        let refused = refused.says(&format!("the trust rules refuse `{a}`: ")).says("requires a signature");
        assert_eq!((refused.stdout_text(), place.lock()), (String::new(), lock.clone()));
    }
    assert!(lock.contains(&old));
    let ran = place.run("a:1").args(POLICY).run().exits_with(0);
    assert_eq!(ran.json()["word"], "one");
}

#[test]
fn what_cannot_be_asked_for_leaves_the_lock_file_as_it_is() {
    let place = Place::new();
    update(&place, &[]).run().exits_with(2).says("`modbox.lock` has no modules; pull one first");
    update(&place, &["--lock", "x/none.lock"]).run().exits_with(2).says("`x/none.lock` has no modules");
    let digest = place.push_word("one", "a:1");
    place.pull("a:1").exits_with(0);
    let lock = place.lock();
    place.push_word("two", "a:1");
    let a = place.reference("a:1");
    for fixed in [format!("a@{digest}"), format!("a:1@{digest}")] {
        let reference = place.reference(&fixed);
        let refused = update(&place, &[&a, &reference]).run().exits_with(2);
        refused.says(&format!("`{reference}` has a digest, which stands for one module; name the tag alone"));
    }
    for wrong in ["a:1", "oci://", "./x.wasm"] {
        update(&place, &[wrong]).run().exits_with(2);
    }
    let untagged = place.reference("a");
    let refused = update(&place, &[&untagged]).run();
    assert!(!refused.status.success(), "{refused}");
    update(&place, &[&place.reference("a:none")]).run().exits_with(3).says("is not there");
    for fault in [Fault::Down, Fault::NotHttp, Fault::OtherBlob, Fault::OtherManifest] {
        place.registry.set(Behavior { referrers: true, fault: Some(fault), ..Behavior::default() });
        for args in [&["--dry-run"][..], &[]] {
            let failed = update(&place, args).run().exits_with(3);
            assert_eq!(failed.stdout_text(), "");
        }
        assert_eq!(place.lock(), lock);
        place.assert_store_whole();
    }
    place.registry.set(Behavior { referrers: true, ..Behavior::default() });
    place.dir.write("modbox.lock", "nonsense");
    update(&place, &[]).run().exits_with(2).says("modbox.lock");
    assert_eq!(place.lock(), "nonsense");
}

#[test]
fn installed_modules_are_updated_with_their_lock_file() {
    let place = Place::new();
    place.trust("  require-signature: true\n");
    let library = |name: &str| place.dir.join("home/.local/share/modbox/library").join(name);
    update(&place, &["--installed"]).run().exits_with(2).says("nothing is installed; `modbox install oci://");
    let old = place.push_word("old", "acme/one:1");
    let one = place.reference("acme/one:1");
    place.modbox(&["install", &one]).run().exits_with(0);
    let lock = || fs::read_to_string(library("modbox.lock")).unwrap();
    let runs = |word: &str| assert_eq!(place.modbox(&["run", "one"]).run().exits_with(0).json()["word"], word);
    let before = lock();
    let new = place.push_word("new", "acme/one:1");
    let line = format!("{one}: {old} -> {new}\n");
    let other = place.reference("acme/two:1");
    update(&place, &["--installed", &other]).run().exits_with(2).says(&format!("`{other}` is not installed"));
    update(&place, &["--installed", "--lock", "x"]).run().exits_with(2);
    assert_eq!(update(&place, &["--installed", "--dry-run"]).run().exits_with(0).stdout_text(), line);
    update(&place, &["--installed"]).args(POLICY).run().exits_with(4);
    assert_eq!(lock(), before);
    runs("old");
    assert_eq!(update(&place, &["--installed", &one]).run().exits_with(0).stdout_text(), line);
    assert!(lock().contains(&new) && !lock().contains(&old), "{}", lock());
    assert_eq!(fs::read(library("one.wasm")).unwrap(), fs::read(place.dir.join("new.wasm")).unwrap());
    runs("new");
    assert_eq!(place.lock(), "", "the lock file of the folder is another one");
    // A file that was lost or changed comes back.
    for damage in [true, false] {
        if damage {
            fs::write(library("one.wasm"), "other").unwrap();
        } else {
            fs::remove_file(library("one.wasm")).unwrap();
        }
        let unchanged = update(&place, &["--installed"]).run().exits_with(0).stdout_text();
        assert_eq!(unchanged, format!("{one}: unchanged\n"));
        runs("new");
    }
    place.dir.assert_nothing_left();
}

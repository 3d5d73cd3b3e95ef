//! The lock file: what a tag stood for stays so.

use std::fs;
use std::os::unix::fs::MetadataExt as _;

use crate::supply::registry::registry_place::{Place, digest_of};
use crate::support::module;

/// First lines of a lock file.
const HEAD: &str = "# Written by modbox: the modules that tags stood for. Commit it.\nversion = 1\n";

fn entry(place: &Place, tag: &str, manifest: &str, word: &str) -> String {
    let (reference, module) = (place.reference(tag), digest_of(&place.module(word)));
    format!("\n[[module]]\nref = \"{reference}\"\nmanifest = \"{manifest}\"\nmodule = \"{module}\"\n")
}

#[test]
fn a_pull_writes_what_the_tag_stands_for() {
    let place = Place::new();
    let (one, two) = (place.push_word("one", "a:1"), place.push_word("two", "a:2"));
    place.pull("a:2").exits_with(0);
    assert_eq!(place.lock(), format!("{HEAD}{}", entry(&place, "a:2", &two, "two")));
    place.pull("a:1").exits_with(0);
    let both = format!("{HEAD}{}{}", entry(&place, "a:1", &one, "one"), entry(&place, "a:2", &two, "two"));
    assert_eq!(place.lock(), both);
    let inode = || fs::metadata(place.dir.join("modbox.lock")).unwrap().ino();
    let before = inode();
    place.pull("a:1").exits_with(0);
    place.pull(&format!("a@{one}")).exits_with(0);
    assert_eq!((place.lock(), inode()), (both, before), "nothing new is not written");
    // Metadata comes from the module itself.
    let other = place.push(&module("lineinfile"), "lineinfile:1");
    place.modbox(&["pull", "--lock", "other.lock"]).arg(place.reference("lineinfile:1")).run().exits_with(0);
    let lock = fs::read_to_string(place.dir.join("other.lock")).unwrap();
    assert!(lock.contains(&other) && !place.lock().contains(&other), "{lock}");
    place.run("lineinfile:1").run().exits_with(3).says("does not say which module");
    let run = place.run("lineinfile:1").args(["--lock", "other.lock", "--check", "path=/x", "line=y", "state=absent"]);
    run.run().exits_with(0);
}

#[test]
fn a_tag_that_moved_leads_to_the_locked_module() {
    let place = Place::new();
    let old = place.push_word("old", "a:1");
    place.pull("a:1").exits_with(0);
    let lock = place.lock();
    let new = place.push_word("new", "a:1");
    assert_ne!(new, old);
    place.runs("a:1", "old");
    for is_stored in [true, false] {
        if !is_stored {
            fs::remove_dir_all(place.store("")).unwrap();
        }
        let pulled = place.pull("a:1").exits_with(0).stdout_text();
        assert_eq!(pulled, format!("{}@{old}\n", place.reference("a:1")));
        assert_eq!(place.lock(), lock);
        place.runs("a:1", "old");
    }
    // A run pulls it as well.
    fs::remove_dir_all(place.store("")).unwrap();
    place.runs("a:1", "old");
    place.runs(&format!("a@{new}"), "new");
    fs::remove_file(place.dir.join("modbox.lock")).unwrap();
    place.pull("a:1").exits_with(0);
    place.runs("a:1", "new");
}

#[test]
fn a_lock_file_with_another_module_for_its_manifest_runs_nothing() {
    let place = Place::new();
    place.push_word("one", "a:1");
    place.pull("a:1").exits_with(0);
    let lock = place.lock();
    let module = format!("module = \"{}\"", digest_of(&place.module("one")));
    let changed = lock.replace(&module, &format!("module = \"sha256:{}\"", "ab".repeat(32)));
    assert_ne!(changed, lock);
    place.dir.write("modbox.lock", &changed);
    let told = format!(
        "`{}` says that the module of `{}` is sha256:abab",
        place.dir.join("modbox.lock").display(),
        place.reference("a:1")
    );
    place.run("a:1").run().exits_with(3).says(&told);
    place.pull("a:1").exits_with(3).says("restore the file, or run `modbox update ");
    place.modbox(&["pull", "--locked"]).run().exits_with(3).says(&told);
    assert_eq!(place.lock(), changed);
    place.dir.write("modbox.lock", &lock);
    place.runs("a:1", "one");
}

#[test]
fn a_module_that_is_pulled_again_is_once_in_the_index() {
    let place = Place::new();
    let digest = place.push_word("one", "a:1");
    for _ in 0..3 {
        place.pull("a:1").exits_with(0);
    }
    assert_eq!(place.assert_store_whole(), [digest]);
}

#[test]
fn all_of_a_lock_file_is_pulled() {
    let place = Place::new();
    let digests = [place.push_word("one", "a:1"), place.push_word("two", "b/c:2")];
    let references = [place.reference("a:1"), place.reference("b/c:2")];
    place.modbox(&["pull"]).run().exits_with(2).says("`modbox.lock` has no modules; name one such as `oci://HOST/");
    place.modbox(&["pull"]).args(&references).run().exits_with(0);
    let (lock, printed) = (place.lock(), [0, 1].map(|at| format!("{}@{}\n", references[at], digests[at])).concat());
    for args in [&["pull"][..], &["pull", "--locked"]] {
        fs::remove_dir_all(place.store("")).unwrap();
        let pulled = place.modbox(args).run().exits_with(0).stdout_text();
        assert_eq!((pulled, place.lock()), (printed.clone(), lock.clone()));
        assert_eq!(place.assert_store_whole().len(), 2);
    }
    // One that fails does not take the entries of the others along.
    fs::remove_file(place.dir.join("modbox.lock")).unwrap();
    let args = ["pull", &references[0], &place.reference("none:1"), &references[1]];
    place.modbox(&args).run().exits_with(3).says("is not there");
    assert_eq!(place.lock(), format!("{HEAD}{}", entry(&place, "a:1", &digests[0], "one")));
}

#[test]
fn only_what_is_locked_is_pulled_when_asked_so() {
    let place = Place::new();
    let digest = place.push_word("one", "a:1");
    place.push_word("two", "b:1");
    let locked = |rest: &str| place.modbox(&["pull", "--locked"]).arg(place.reference(rest)).run();
    let refused = |rest: &str| {
        let reference = place.reference(rest);
        locked(rest).exits_with(2).says(&format!("does not have `{reference}`, and --locked says to leave it so"))
    };
    refused("a:1");
    assert!(place.requests().iter().all(|request| !request.starts_with("GET ")) && place.lock().is_empty());
    place.pull("a:1").exits_with(0);
    let lock = place.lock();
    fs::remove_dir_all(place.store("")).unwrap();
    place.push_word("new", "a:1");
    locked("a:1").exits_with(0);
    place.runs("a:1", "one");
    refused("b:1");
    let both = place.modbox(&["pull", "--locked"]).args([place.reference("a:1"), place.reference("b:1")]).run();
    both.exits_with(2);
    // A digest needs no entry, and makes none.
    locked(&format!("c@{digest}")).exits_with(3).says("is not there");
    locked(&format!("a@{digest}")).exits_with(0);
    locked(&format!("a:other@{digest}")).exits_with(0);
    assert_eq!(place.lock(), lock);
}

#[test]
fn lock_files_that_are_wrong_are_named_with_their_line() {
    let place = Place::new();
    let digest = place.push_word("one", "a:1");
    let good = format!("version = 1\n{}", entry(&place, "a:1", &digest, "one"));
    let reference = place.reference("a:1");
    for (text, message) in [
        ("nonsense", "failed to read line 1: "),
        ("", "begin the file with `version = 1`"),
        ("version = 2\n", "failed to read version `2` of the format (line 1), since only `1` is known; update modbox"),
        (&format!("{good}{}", &good["version = 1\n".len()..]), "is there twice; keep one of its entries"),
        (&good.replace(&reference, "a:1"), "caused by: `a:1` does not begin with `oci://`"),
        (&good.replace("sha256:", "md5:"), "failed to read line 5: "),
        (&format!("{good}more = 1\n"), "failed to read line 7: unknown field `more`"),
        ("\0\u{1b}[31m", "failed to read line 1: "),
    ] {
        place.dir.write("modbox.lock", text);
        let pulled = place.pull("a:1").exits_with(2).says(message).says("modbox.lock");
        assert!(!pulled.stderr_text().contains('\u{1b}'), "{pulled}");
        place.run("a:1").run().exits_with(3).says(message);
        assert_eq!(place.lock(), text, "it is left as it is");
    }
    place.dir.write("modbox.lock", b"\xff");
    place.pull("a:1").exits_with(2).says("it is not UTF-8 text");
    fs::remove_file(place.dir.join("modbox.lock")).unwrap();
    place.dir.mkdir("modbox.lock");
    place.pull("a:1").exits_with(2).says("modbox.lock");
    assert!(!place.store("").exists());
    // A digest needs no lock file.
    place.runs(&format!("a@{digest}"), "one");
}

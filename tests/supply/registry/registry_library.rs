//! `modbox install`: modules in the user's library, which are found by their names from every directory.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::supply::registry::registry_place::Place;
use crate::support::registry::{Behavior, Fault};
use crate::support::{Modbox, RunOutput, module};

fn library(place: &Place, name: &str) -> PathBuf {
    place.dir.join("home/.local/share/modbox/library").join(name)
}

fn lock(place: &Place) -> String {
    fs::read_to_string(library(place, "modbox.lock")).unwrap_or_default()
}

fn install(place: &Place, name: &str) -> RunOutput {
    place.modbox(&["install"]).arg(place.reference(name)).run()
}

/// Prepares a command in another directory.
fn elsewhere(place: &Place, args: &[&str]) -> Modbox {
    let folder = place.dir.mkdir("elsewhere");
    place.modbox(args).behind(move |mut command| {
        command.current_dir(folder);
        command
    })
}

#[track_caller]
fn runs(place: &Place, name: &str, word: &str) {
    assert_eq!(elsewhere(place, &["run", name]).run().exits_with(0).json()["word"], word);
}

#[test]
fn an_installed_module_is_found_by_its_name_from_every_directory() {
    let place = Place::new();
    let digest = place.push_word("word", "acme/tools/one:1.2");
    let installed = install(&place, "acme/tools/one:1.2").exits_with(0).stdout_text();
    let (path, reference) = (library(&place, "one.wasm"), place.reference("acme/tools/one:1.2"));
    assert_eq!(installed, format!("{}: {reference}@{digest}\n", path.display()));
    assert_eq!(fs::read(&path).unwrap(), fs::read(place.dir.join("word.wasm")).unwrap());
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o644);
    assert!(lock(&place).contains(&reference) && lock(&place).contains(&digest), "{}", lock(&place));
    assert_eq!(place.lock(), "", "the lock file of the folder is another one");
    // No registry is needed from here on.
    place.registry.set(Behavior { fault: Some(Fault::Down), ..Behavior::default() });
    place.registry.clear_requests();
    runs(&place, "one", "word");
    let listed = elsewhere(&place, &["list", "--json", "one"]).run().exits_with(0).stdout_text();
    let rows: Vec<Value> = listed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(rows.iter().any(|row| row["name"] == "one" && row["path"] == path.to_str().unwrap()), "{listed}");
    elsewhere(&place, &["inspect", "one"]).run().exits_with(0);
    assert_eq!(place.requests(), [""; 0]);
    let mut left: Vec<_> =
        fs::read_dir(library(&place, "")).unwrap().flatten().map(|entry| entry.file_name()).collect();
    left.sort();
    assert_eq!(left, ["modbox.lock", "one.wasm"]);
    place.dir.assert_nothing_left();
}

#[test]
fn the_documentation_of_an_installed_module_is_shown_by_its_name() {
    let place = Place::new();
    place.push(&module("lineinfile"), "acme/own_line:1");
    install(&place, "acme/own_line:1").exits_with(0);
    let shown = elsewhere(&place, &["doc", "own_line"]).run().exits_with(0).stdout_text();
    assert!(shown.contains("regexp"), "{shown}");
    let inspected = elsewhere(&place, &["inspect", "--json", "own_line"]).run().exits_with(0).json();
    assert!(inspected["metadata"]["version"].is_string(), "{inspected}");
    let path = place.dir.write("elsewhere/app.conf", "");
    let args = ["run", "own_line", "path=app.conf", "line=x"];
    elsewhere(&place, &args).run().exits_with(0);
    assert_eq!(fs::read_to_string(path).unwrap(), "x\n");
}

#[test]
fn every_name_of_a_repository_is_a_name_of_a_module() {
    let place = Place::new();
    for name in ["my-module", "a.b", "a.b.c", "x__y", "0"] {
        place.push_word("word", &format!("acme/{name}:1"));
        let installed = install(&place, &format!("acme/{name}:1"));
        if installed.status.success() {
            runs(&place, name, "word");
        } else {
            installed.exits_with(2);
        }
    }
}

#[test]
fn another_repository_with_the_same_name_is_refused() {
    let place = Place::new();
    place.push_word("first", "acme/one:1");
    place.push_word("second", "other/one:1");
    let newer = place.push_word("newer", "acme/one:2");
    install(&place, "acme/one:1").exits_with(0);
    let before = lock(&place);
    let refused = install(&place, "other/one:1").exits_with(2);
    refused.says(&format!("`{}` is installed by the name `one` already", place.reference("acme/one:1")));
    assert_eq!(lock(&place), before);
    runs(&place, "one", "first");
    // Another tag of the same repository takes its place.
    install(&place, "acme/one:2").exits_with(0);
    runs(&place, "one", "newer");
    assert!(lock(&place).contains(&newer) && lock(&place).matches("[[module]]").count() == 1, "{}", lock(&place));
    // What the message says helps.
    fs::remove_file(library(&place, "one.wasm")).unwrap();
    fs::remove_file(library(&place, "modbox.lock")).unwrap();
    install(&place, "other/one:1").exits_with(0);
    runs(&place, "one", "second");
}

#[test]
fn two_repositories_with_one_name_are_refused_also_in_one_command() {
    let place = Place::new();
    place.push_word("first", "acme/one:1");
    place.push_word("second", "other/one:1");
    let both = ["acme/one:1", "other/one:1"].map(|name| place.reference(name));
    place.modbox(&["install"]).args(both).run().exits_with(2).says("by the name `one`");
    assert!(!lock(&place).contains("other/one"), "{}", lock(&place));
}

#[test]
fn a_name_and_tag_are_below_the_registry_of_the_environment() {
    let place = Place::new();
    place.push_word("word", "acme/one:1");
    let bare = |registry: &str, name: &str| place.modbox(&["install", name]).env("MODBOX_REGISTRY", registry).run();
    place.modbox(&["install", "one:1"]).run().exits_with(2).says("`one:1` names no registry: write `oci://HOST/");
    bare("", "one:1").exits_with(2).says("names no registry");
    bare("nonsense", "one:1").exits_with(2);
    for registry in ["acme", "acme/", ""].map(|name| place.reference(name)) {
        let name = if registry.contains("acme") { "one:1" } else { "acme/one:1" };
        bare(&registry, name).exits_with(0);
        runs(&place, "one", "word");
        fs::remove_dir_all(library(&place, "")).unwrap();
    }
    // A whole reference does not need it.
    let whole = place.reference("acme/one:1");
    bare("oci://127.0.0.1:1/none", &whole).exits_with(0);
    runs(&place, "one", "word");
    assert!(lock(&place).contains(&whole), "{}", lock(&place));
    for wrong in ["../one:1", "one:1:2", "one:", ":1", "ONE:1", ""] {
        let refused = bare(&place.reference("acme"), wrong);
        assert_eq!(refused.status.code(), Some(2), "{wrong}: {refused}");
    }
}

#[test]
fn a_tag_is_required() {
    let place = Place::new();
    let digest = place.push_word("word", "one:1");
    install(&place, "one").exits_with(2).says("has no tag, which `modbox update` needs");
    install(&place, &format!("one@{digest}")).exits_with(2).says("has no tag, which `modbox update` needs");
    assert!(!library(&place, "").exists());
    place.modbox(&["install"]).run().exits_with(2);
    install(&place, "one:none").exits_with(3).says("is not there");
    assert!(!library(&place, "one.wasm").exists());
    install(&place, &format!("one:1@{digest}")).exits_with(0);
    runs(&place, "one", "word");
    place.modbox(&["update", "--installed"]).run().exits_with(0);
}

#[test]
fn what_trust_rules_refuse_is_not_installed_and_signatures_count_at_runs() {
    let place = Place::new();
    place.trust("  require-signature: true\n");
    let policy = ["--policy", place.dir.join("policy.yaml").to_str().unwrap()].map(str::to_owned);
    let one = place.module("one");
    place.push(&one, "acme/one:1");
    let reference = place.reference("acme/one:1");
    let refused = place.modbox(&["install", &reference]).args(&policy).run().exits_with(4);
    let refused = refused.says(&format!("the trust rules refuse `{reference}`: "));
    assert_eq!(refused.stdout_text(), "");
    assert!(!library(&place, "one.wasm").exists() && lock(&place).is_empty());
    place.sign(&one, None, &[1]);
    place.push(&one, "acme/one:1");
    let installed = place.modbox(&["install", &reference]).args(&policy).run().exits_with(0).stdout_text();
    assert!(installed.ends_with(" signed by release@acme.example\n"), "{installed}");
    let run = || elsewhere(&place, &["run", "one"]).args(&policy).report().run();
    let report = run().exits_with(0).json();
    assert_eq!(report["result"]["word"], "one");
    assert_eq!(report["module"]["signature"]["signers"], json!(["release@acme.example"]), "{report}");
    elsewhere(&place, &["verify", "one"]).args(&policy).run().exits_with(0);
    // Another module in its place is not what was signed.
    fs::copy(place.module("two"), library(&place, "one.wasm")).unwrap();
    run().exits_with(4);
}

#[test]
fn the_library_of_the_directory_comes_first() {
    let place = Place::new();
    place.push_word("installed", "one:1");
    install(&place, "one:1").exits_with(0);
    runs(&place, "one", "installed");
    place.dir.mkdir("elsewhere/library");
    fs::copy(place.module("near"), place.dir.join("elsewhere/library/one.wasm")).unwrap();
    runs(&place, "one", "near");
    fs::remove_dir_all(place.dir.join("elsewhere/library")).unwrap();
    runs(&place, "one", "installed");
    // It comes before modbox's own modules, too, as every library.
    place.push_word("mine", "lineinfile:1");
    install(&place, "lineinfile:1").exits_with(0);
    runs(&place, "lineinfile", "mine");
}

#[test]
fn a_library_that_cannot_be_written_is_named() {
    let place = Place::new();
    let digest = place.push_word("one", "one:1");
    place.dir.write("home/.local/share/modbox/library", "a file");
    let refused = install(&place, "one:1").says("modbox/library");
    assert!([Some(2), Some(3)].contains(&refused.status.code()), "{refused}");
    assert_eq!(fs::read_to_string(library(&place, "").parent().unwrap().join("library")).unwrap(), "a file");
    // Neither does it stop other runs.
    elsewhere(&place, &["run", &place.reference(&format!("one@{digest}"))]).run().exits_with(0);
    fs::remove_file(place.dir.join("home/.local/share/modbox/library")).unwrap();
    let folder = place.dir.mkdir("home/.local/share/modbox/library");
    let script = "mount --bind \"$1\" \"$1\" && mount -o remount,ro,bind \"$1\" && exec \"$0\" install \"$2\"";
    let spaces = if rustix::process::geteuid().is_root() { "-m" } else { "-rm" };
    let shell = Modbox::of(Path::new("unshare"), &place.dir).env("MODBOX_PLAIN_HTTP", "127.0.0.1");
    let shell = shell.args([spaces, "sh", "-c", script, env!("CARGO_BIN_EXE_modbox")]).arg(&folder);
    let ran = shell.arg(place.reference("one:1")).run().exits_with(3);
    assert_eq!(ran.says("Read-only file system").stdout_text(), "");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
    install(&place, "one:1").exits_with(0);
    runs(&place, "one", "one");
}

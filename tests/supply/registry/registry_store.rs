//! The store of pulled modules: what is damaged in it is not run, and is replaced.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode};

use crate::supply::registry::registry_place::Place;
use crate::support::registry::{Behavior, Fault};

fn replace(path: &Path, make: impl FnOnce(&Path)) {
    fs::remove_file(path).unwrap();
    make(path);
}

/// Writes other bytes of the same length over content.
fn damage(path: &Path) {
    let mut bytes = fs::read(path).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    replace(path, |path| fs::write(path, bytes).unwrap());
}

#[test]
fn what_was_pulled_runs_without_the_network() {
    let place = Place::new();
    let digest = place.push_word("one", "a:1");
    place.push_word("two", "b:1");
    place.pull("a:1").exits_with(0);
    place.registry.set(Behavior { fault: Some(Fault::Down), ..Behavior::default() });
    place.registry.clear_requests();
    for module in ["a:1".to_owned(), format!("a@{digest}")] {
        place.runs(&module, "one");
        assert_eq!(place.run(&module).arg("--offline").run().exits_with(0).json()["word"], "one");
    }
    place.pull("b:1").exits_with(3).says("failed to speak with");
    let other = format!("b@sha256:{}", "0".repeat(64));
    place.run(&other).run().exits_with(3).says("failed to speak with");
    let offline = place.run(&other).arg("--offline").run().exits_with(3);
    offline.says(&format!("`{}` is not in the store, and --offline says not to pull it", place.reference(&other)));
    place.run("b:1").arg("--offline").run().exits_with(3).says("does not say which module");
    assert_eq!(place.requests(), [""; 0]);
    assert_eq!(place.assert_store_whole(), [digest]);
}

#[test]
fn a_damaged_module_is_not_run_and_pulled_again() {
    let place = Place::new();
    place.push_word("one", "a:1");
    place.pull("a:1").exits_with(0);
    let module = place.blob(&place.layer("a", "1"));
    for command in ["run", "inspect", "validate"] {
        damage(&module);
        let refused = place.modbox(&[command]).arg(place.reference("a:1")).run();
        let refused = refused.says(&format!("`{}` is damaged", module.display()));
        let refused = refused.says("remove it, and pull the module again");
        assert!(refused.status.code() == Some(3) && refused.stdout_text().is_empty(), "{refused}");
        place.pull("a:1").exits_with(0);
        place.assert_store_whole();
        place.runs("a:1", "one");
    }
    // What the message says helps, too.
    damage(&module);
    fs::remove_file(&module).unwrap();
    place.runs("a:1", "one");
}

#[test]
fn another_file_in_place_of_a_module_is_not_followed() {
    let place = Place::new();
    place.push_word("one", "a:1");
    place.pull("a:1").exits_with(0);
    let module = place.blob(&place.layer("a", "1"));
    // The target of the link has the size of the module, and the FIFO has no writer.
    let size = fs::metadata(&module).unwrap().len();
    let other = place.dir.write("other", vec![0; usize::try_from(size).unwrap()]);
    let makers: [&dyn Fn(&Path); 4] = [
        &|path| symlink(&other, path).unwrap(),
        &|path| symlink("/dev/zero", path).unwrap(),
        &|path| rustix::fs::mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap(),
        &|path| fs::write(path, "short").unwrap(),
    ];
    for make in makers {
        replace(&module, make);
        let refused = place.run("a:1").arg("--offline").run().exits_with(3);
        assert_eq!(refused.stdout_text(), "");
        place.runs("a:1", "one");
        place.assert_store_whole();
        replace(&module, make);
        place.pull("a:1").exits_with(0);
        place.assert_store_whole();
    }
    assert_eq!(fs::read(&other).unwrap(), vec![0; usize::try_from(size).unwrap()]);
}

#[test]
fn each_damaged_file_of_a_module_is_replaced_by_a_pull() {
    let place = Place::new();
    let module = place.module("one");
    place.sign(&module, None, &[1]);
    place.push(&module, "a:1");
    place.pull("a:1").exits_with(0);
    let blobs: Vec<_> = fs::read_dir(place.store("oci/blobs/sha256")).unwrap().flatten().collect();
    assert_eq!(blobs.len(), 6, "two manifests, each with a configuration and a layer");
    for blob in blobs {
        damage(&blob.path());
        place.pull("a:1").exits_with(0);
        place.assert_store_whole();
        place.runs("a:1", "one");
    }
}

/// Changes each file of one signed module in the store, and pulls another one and then the first one again.
fn check_others(change: impl Fn(&Path)) {
    let place = Place::new();
    for word in ["one", "two"] {
        let module = place.module(word);
        place.sign(&module, None, &[1]);
        place.push(&module, &format!("{word}:1"));
    }
    place.pull("one:1").exits_with(0);
    for blob in fs::read_dir(place.store("oci/blobs/sha256")).unwrap().flatten() {
        change(&blob.path());
    }
    place.pull("two:1").exits_with(0);
    place.runs("two:1", "two");
    place.pull("one:1").exits_with(0);
    place.runs("one:1", "one");
    place.assert_store_whole();
}

#[test]
fn damage_of_one_module_does_not_stop_another() {
    check_others(damage);
}

#[test]
fn loss_of_one_module_does_not_stop_another() {
    check_others(|path| fs::remove_file(path).unwrap());
}

#[test]
fn an_index_that_is_wrong_is_named() {
    let place = Place::new();
    place.push_word("one", "a:1");
    place.pull("a:1").exits_with(0);
    let index = place.store("oci/index.json");
    for text in ["", "{", "{\"schemaVersion\": 3, \"manifests\": []}"] {
        fs::write(&index, text).unwrap();
        place.pull("a:1").exits_with(3).says(&format!("failed to read `{}`", index.display()));
        place.runs("a:1", "one");
    }
    fs::remove_file(&index).unwrap();
    symlink("/dev/zero", &index).unwrap();
    place.pull("a:1").exits_with(3).says("index.json");
    fs::remove_file(&index).unwrap();
    place.pull("a:1").exits_with(0);
    place.assert_store_whole();
}

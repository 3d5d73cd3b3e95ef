//! Bundles: modules that are carried to where there is no registry.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::json;

use crate::supply::registry::registry_place::{Place, digest_of};
use crate::support::registry::{Behavior, Fault};
use crate::support::{Modbox, RunOutput, module, wait_for};

/// Writes a bundle as `tar` packs a layout: with folders, and `./` before names.
const PACKED: &str = r#"
import io, sys, tarfile
bundle, to = sys.argv[1:]
with tarfile.open(to, 'w', format=tarfile.PAX_FORMAT, pax_headers={'comment': 'x'}) as tar:
    for folder in ['.', './blobs', './blobs/sha256']:
        made = tarfile.TarInfo(folder)
        made.type, made.mode, made.mtime = tarfile.DIRTYPE, 0o755, 1.5
        tar.addfile(made)
    for member in reversed(tarfile.open(bundle).getmembers()):
        data = tarfile.open(bundle).extractfile(member).read()
        made = tarfile.TarInfo('./' + member.name)
        made.size, made.mtime, made.uname = len(data), 1.5, 'tester'
        tar.addfile(made, io.BytesIO(data))
"#;

/// Returns a place whose registry does not answer.
pub(crate) fn away() -> Place {
    Place::of(Behavior { fault: Some(Fault::Down), ..Behavior::default() })
}

pub(crate) fn python(code: &str, args: &[&Path]) {
    let output = Command::new("python3").args(["-c", code]).args(args).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Pushes signed modules with these words, pulls them by the tag 1, and returns the digests of their manifests.
pub(crate) fn pulled(place: &Place, words: &[&str]) -> Vec<String> {
    let pulled = words.iter().map(|word| {
        let module = place.module(word);
        place.sign(&module, None, &[1]);
        let digest = place.push(&module, &format!("{word}:1"));
        place.pull(&format!("{word}:1")).exits_with(0);
        digest
    });
    pulled.collect()
}

/// Saves all of the lock file.
pub(crate) fn save(place: &Place) -> PathBuf {
    let bundle = place.dir.join("b.tar");
    place.modbox(&["save"]).arg(&bundle).run().exits_with(0);
    bundle
}

pub(crate) fn load(place: &Place, bundle: &Path) -> RunOutput {
    place.modbox(&["load"]).arg(bundle).run()
}

pub(crate) fn run_offline(place: &Place, reference: &str) -> Modbox {
    place.modbox(&["run", "--offline", reference])
}

#[test]
fn saved_modules_run_where_there_is_no_registry() {
    let (home, away) = (Place::new(), away());
    let digests = pulled(&home, &["one", "two"]);
    let references = ["one:1", "two:1"].map(|name| home.reference(name));
    let saved = home.modbox(&["save", "b.tar"]).run().exits_with(0).stdout_text();
    let printed = [0, 1].map(|at| format!("{}@{}\n", references[at], digests[at]));
    assert_eq!(saved, printed.concat());
    let bundle = away.dir.join("carried.tar");
    fs::rename(home.dir.join("b.tar"), &bundle).unwrap();
    home.registry.clear_requests();
    away.trust("  require-signature: true\n");
    let data = away.dir.join("data");
    let at = |args: &[&str]| away.modbox(args).env("XDG_DATA_HOME", &data);
    let loaded = at(&["load", "carried.tar", "--policy", "policy.yaml"]).run().exits_with(0).stdout_text();
    assert_eq!(loaded, printed.map(|line| line.replace('\n', " signed by release@acme.example\n")).concat());
    for (reference, word) in references.iter().zip(["one", "two"]) {
        let policy = ["--policy", "policy.yaml"];
        at(&["verify", reference]).args(policy).run().exits_with(0);
        let run = at(&["run", "--offline", reference]).args(policy).report().run().exits_with(0).json();
        assert_eq!(run["result"]["word"], word);
        assert_eq!(run["module"]["signature"]["signers"], json!(["release@acme.example"]));
    }
    assert!(data.join("modbox/registry/oci/index.json").exists() && !away.store("").exists());
    assert!(away.lock().contains("signers = [\"release@acme.example\"]"), "{}", away.lock());
    assert_eq!((home.requests(), away.requests()), (Vec::new(), Vec::new()));
    away.dir.assert_nothing_left();
}

#[test]
fn all_signatures_of_a_module_are_carried() {
    let (home, away) = (Place::new(), away());
    let module = home.module("one");
    for (name, seeds) in [(None, &[1][..]), (None, &[2]), (Some("acme/one"), &[1, 2])] {
        home.sign(&module, name, seeds);
        home.push(&module, "one:1");
    }
    home.pull("one:1").exits_with(0);
    let bundle = save(&home);
    away.trust("  rules: [{signer: '*.example', signatures: 2}]\n  require-signature: true\n");
    let loaded = away.modbox(&["load", "--policy", "policy.yaml"]).arg(&bundle).run().exits_with(0).stdout_text();
    assert!(loaded.ends_with(" signed by release@acme.example, team@other.example\n"), "{loaded}");
    let mut stores = [&home, &away].map(Place::assert_store_whole);
    stores.iter_mut().for_each(|digests| digests.sort());
    assert_eq!(stores[0], stores[1]);
    // It can be carried on.
    fs::remove_file(home.dir.join("modbox.lock")).unwrap();
    let again = save(&away);
    assert!(fs::read(again).unwrap() == fs::read(bundle).unwrap());
}

#[test]
fn the_same_modules_give_the_same_bytes() {
    let place = Place::new();
    pulled(&place, &["one", "two"]);
    let first = fs::read(save(&place)).unwrap();
    // Other contents of the store change nothing, nor does another order.
    place.push_word("three", "three:1");
    place.modbox(&["pull", "--lock", "other.lock"]).arg(place.reference("three:1")).run().exits_with(0);
    assert!(fs::read(save(&place)).unwrap() == first, "another module is in the store");
    fs::remove_dir_all(place.store("")).unwrap();
    let [one, two] = ["one:1", "two:1"].map(|name| place.reference(name));
    place.modbox(&["pull", &two, &one]).run().exits_with(0);
    assert!(fs::read(save(&place)).unwrap() == first, "pulled in another order");
    for references in [[&one, &two, &one], [&two, &one, &two]] {
        place.modbox(&["save", "c.tar"]).args(references).run().exits_with(0);
        assert!(fs::read(place.dir.join("c.tar")).unwrap() == first, "saved as {references:?}");
    }
}

#[test]
fn what_the_store_lacks_is_pulled_unless_offline() {
    let (place, away) = (Place::new(), away());
    let digests = pulled(&place, &["one"]);
    fs::remove_dir_all(place.store("")).unwrap();
    let (one, fixed) = (place.reference("one:1"), place.reference(&format!("one@{}", digests[0])));
    for args in [&[][..], &[&one], &[&fixed]] {
        let offline = place.modbox(&["save", "b.tar", "--offline"]).args(args).run().exits_with(3);
        offline.says("is not in the store, and --offline says not to pull it");
        assert!(!place.dir.join("b.tar").exists());
    }
    place.modbox(&["save", "b.tar", &fixed]).run().exits_with(0);
    place.modbox(&["save", "b.tar", "--offline"]).run().exits_with(0);
    place.push_word("two", "two:1");
    let two = place.reference("two:1");
    place.modbox(&["save", "c.tar", &two]).run().exits_with(3).says("does not say which module");
    place.modbox(&["save", "c.tar", "--lock", "none.lock"]).run().exits_with(2).says("has no modules");
    place.modbox(&["save", "c.tar", "two"]).run().exits_with(2);
    assert!(!place.dir.join("c.tar").exists());
    load(&away, &place.dir.join("b.tar")).exits_with(0);
    assert_eq!(run_offline(&away, &one).run().exits_with(0).json()["word"], "one");
    place.dir.assert_nothing_left();
}

#[test]
fn a_lock_file_keeps_what_it_has() {
    let (home, away) = (Place::new(), away());
    pulled(&home, &["one", "two"]);
    load(&away, &save(&home)).exits_with(0);
    let (lock, old) = (away.lock(), home.lock());
    // Both tags move, and one more is added.
    for word in ["one", "two"] {
        home.push_word(&format!("new{word}"), &format!("{word}:1"));
    }
    fs::remove_file(home.dir.join("modbox.lock")).unwrap();
    pulled(&home, &["three"]);
    for word in ["one", "two"] {
        home.pull(&format!("{word}:1")).exits_with(0);
    }
    assert!(!old.is_empty() && home.lock() != old);
    let loaded = load(&away, &save(&home)).exits_with(0);
    for word in ["one:1", "two:1"] {
        let line = old.split("[[module]]").find(|entry| entry.contains(word)).unwrap();
        let digest = line.split('"').find(|text| text.starts_with("sha256:")).unwrap();
        let note = format!("the lock file has {digest} for `{}`, and keeps it", home.reference(word));
        assert!(loaded.stderr_text().contains(&note), "{loaded}");
    }
    assert!(lock.lines().all(|line| away.lock().contains(line)), "{}", away.lock());
    for (name, word) in [("one:1", "one"), ("two:1", "two"), ("three:1", "three")] {
        assert_eq!(run_offline(&away, &home.reference(name)).run().exits_with(0).json()["word"], word);
    }
    let other = away.modbox(&["load", "--lock", "other.lock"]).arg(home.dir.join("b.tar")).run().exits_with(0);
    assert_eq!(other.stderr_text(), "");
    assert_eq!(fs::read_to_string(away.dir.join("other.lock")).unwrap(), home.lock());
}

#[test]
fn trust_rules_refuse_a_bundle_before_it_is_locked() {
    let (home, away) = (Place::new(), away());
    pulled(&home, &["one"]);
    let digest = home.push_word("two", "two:1");
    home.pull("two:1").exits_with(0);
    away.trust("  require-signature: true\n");
    away.dir.write("modbox.lock", "version = 1\n");
    let refused = away.modbox(&["load", "--policy", "policy.yaml"]).arg(save(&home)).run().exits_with(4);
    let refused = refused.says(&format!("the trust rules refuse `{}`: ", home.reference("two:1")));
    assert_eq!((refused.stdout_text().as_str(), away.lock().as_str()), ("", "version = 1\n"));
    let reference = home.reference(&format!("two@{digest}"));
    run_offline(&away, &reference).args(["--policy", "policy.yaml"]).run().exits_with(4);
    run_offline(&away, &home.reference("one:1")).run().exits_with(3).says("does not say which module");
    away.dir.write("revoked", digest_of(&home.dir.join("one.wasm")).to_string());
    away.trust(&format!("  revoked: {}\n", away.dir.join("revoked").display()));
    let revoked = away.modbox(&["load", "--policy", "policy.yaml"]).arg(home.dir.join("b.tar")).run();
    revoked.exits_with(4).says("is revoked");
    // A lock file or policy that is wrong is named before anything is kept.
    fs::remove_dir_all(away.store("")).unwrap();
    away.modbox(&["load", "--policy", "none.yaml"]).arg(home.dir.join("b.tar")).run().exits_with(2);
    away.dir.write("modbox.lock", "nonsense");
    load(&away, &home.dir.join("b.tar")).exits_with(2).says("modbox.lock");
    assert!(!away.store("").exists());
}

#[test]
fn a_bundle_that_tar_packed_is_loaded() {
    let (home, away) = (Place::new(), away());
    pulled(&home, &["one", "two"]);
    let packed = away.dir.join("packed.tar");
    python(PACKED, &[&save(&home), &packed]);
    load(&away, &packed).exits_with(0);
    assert_eq!(away.lock(), home.lock());
    assert_eq!(away.assert_store_whole().len(), 4);
    assert_eq!(run_offline(&away, &home.reference("two:1")).run().exits_with(0).json()["word"], "two");
}

/// How far a load is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LoadState {
    /// The store is there.
    Begun,
    /// The store has so many bytes of the large module.
    Written(u64),
    /// The store has everything, and only the lock file is missing.
    LockAwaited,
}

impl LoadState {
    const ALL: [Self; 6] = [
        Self::Begun,
        Self::Written(1),
        Self::Written(LARGE / 3),
        Self::Written(LARGE / 3 * 2),
        Self::Written(LARGE),
        Self::LockAwaited,
    ];

    fn is_reached(self, place: &Place) -> bool {
        let store = place.store("");
        match self {
            Self::Begun => place.store("oci/blobs/sha256").exists(),
            Self::Written(bytes) => size_of(&store) >= bytes,
            // A load waits for the lock after it has written the index.
            Self::LockAwaited => place.store("oci/index.json").exists() && size_of(&store) >= LARGE,
        }
    }
}

/// Returns the bytes of the files below a folder, which may change meanwhile.
fn size_of(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let sizes = entries.filter_map(|entry| {
        let metadata = entry.metadata().ok()?;
        Some(if metadata.is_dir() { size_of(&entry.path()) } else { metadata.len() })
    });
    sizes.sum()
}

/// Bytes of a module that takes a while to load.
const LARGE: u64 = 24 << 20;

#[test]
fn a_load_that_is_killed_leaves_a_store_that_works() {
    let home = Place::new();
    // A large custom section, which nothing reads.
    let path = home.module("one");
    let (mut bytes, size) = (fs::read(&path).unwrap(), usize::try_from(LARGE).unwrap());
    // Its size in LEB128: 12 << 21.
    bytes.extend([0, 0x80, 0x80, 0x80, 12, 1, b'x']);
    bytes.resize(bytes.len() + size - 2, 7);
    fs::write(&path, bytes).unwrap();
    home.sign(&path, None, &[1]);
    home.push(&path, "one:1");
    home.pull("one:1").exits_with(0);
    let bundle = save(&home);
    for state in LoadState::ALL {
        let away = away();
        // Without the lock of the folder, a load does not write the lock file, which comes last.
        let lock = File::open(away.dir.path()).unwrap();
        if state == LoadState::LockAwaited {
            lock.lock().unwrap();
        }
        let running = away.modbox(&["load"]).arg(&bundle).spawn();
        let is_there = || state.is_reached(&away) || running.has_closed_stdout();
        assert!(wait_for(Duration::from_secs(60), is_there), "{state:?}");
        running.signal_unless_ended(Signal::KILL);
        let ran = running.wait();
        // A quick load has ended before; but none ends while it waits for the lock.
        if state == LoadState::LockAwaited || ran.status.code().is_none() {
            let ran = ran.dies_of(Signal::KILL);
            assert_eq!((ran.stdout_text(), away.lock()), (String::new(), String::new()), "{state:?}");
        } else {
            drop(ran.exits_with(0));
        }
        drop(lock);
        load(&away, &bundle).exits_with(0);
        assert_eq!(away.assert_store_whole().len(), 2);
        assert_eq!(run_offline(&away, &home.reference("one:1")).run().exits_with(0).json()["word"], "one");
    }
}

#[test]
fn a_bundle_that_cannot_be_written_leaves_nothing() {
    let place = Place::new();
    place.push(&module("lineinfile"), "lineinfile:1");
    place.pull("lineinfile:1").exits_with(0);
    place.modbox(&["save", "none/b.tar"]).run().exits_with(3).says("none/b.tar`");
    place.dir.mkdir("folder/sub");
    place.modbox(&["save", "folder"]).run().exits_with(3).says("folder`");
    let script = "mount -t tmpfs -o size=64k,mode=700 tmpfs small && \"$0\" save small/b.tar; code=$?; \
                  ls -A small; exit $code";
    let spaces = if rustix::process::geteuid().is_root() { "-m" } else { "-rm" };
    let shell = |script: &str| {
        let shell = Modbox::of(Path::new("unshare"), &place.dir);
        shell.args([spaces, "sh", "-c", script, env!("CARGO_BIN_EXE_modbox")]).run()
    };
    place.dir.mkdir("small");
    let full = shell(script).exits_with(3).says("failed to save `").says("small/b.tar`").says("No space left");
    assert_eq!(full.stdout_text(), "");
    // Nor does a store on a full disk break.
    save(&place);
    let full =
        shell(&script.replace("\"$0\" save small/b.tar", "XDG_DATA_HOME=\"$PWD\"/small \"$0\" load --lock l b.tar"));
    full.exits_with(3).says("failed to load `").says("No space left");
    let mut left: Vec<_> = fs::read_dir(place.dir.path()).unwrap().flatten().map(|entry| entry.file_name()).collect();
    left.sort();
    assert_eq!(left, ["b.tar", "folder", "home", "modbox.lock", "small", "tmp"]);
}

//! Time of a layer, of its list of changes and of a commit, beside a plain loop that copies and renames the same files.
//!
//! `cargo bench -p modbox-overlay` prints medians and the ratio of the commit to the loop. The rounds alternate, so that
//! other work of the machine meets both. This file does not check results; the tests of commits do.

#![allow(clippy::print_stdout, reason = "a benchmark prints its results")]

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::time::{Duration, Instant};

use modbox_overlay::change::Change;
use modbox_overlay::commit::fault::NoFault;
use modbox_overlay::commit::{Committed, Granted, Origin, OwnerRights, Settings, Start, StateDir, Strength, commit};
use modbox_overlay::layers::{LayerPlan, Layers};
use modbox_overlay::quota::{ListBounds, Quota};

/// Rounds of each size.
const ROUNDS: usize = 40;

/// Bytes of each file.
const LENGTH: usize = 4 << 10;

/// Times of one round.
struct Round {
    open: Duration,
    list: Duration,
    commit: Duration,
    plain: Duration,
}

fn main() {
    println!("files  layer ms  list ms  commit ms  plain loop ms  commit/loop");
    for files in [1, 10, 100, 1000] {
        let directory = tempfile::tempdir().expect("the disk has room");
        for name in ["tree", "scratch"] {
            fs::create_dir(directory.path().join(name)).expect("the disk has room");
        }
        write_all(&directory.path().join("tree"), files, 0);
        let rounds: Vec<Round> = (0..ROUNDS).map(|number| round(directory.path(), files, number)).collect();
        let median = |of: fn(&Round) -> Duration| {
            let mut times: Vec<f64> = rounds.iter().map(|round| of(round).as_secs_f64() * 1000.0).collect();
            times.sort_by(f64::total_cmp);
            times[times.len() / 2]
        };
        let (committed, plain) = (median(|r| r.commit), median(|r| r.plain));
        let (open, list) = (median(|r| r.open), median(|r| r.list));
        let ratio = committed / plain;
        println!("{files:5}  {open:8.3}  {list:7.3}  {committed:9.3}  {plain:13.3}  {ratio:11.2}");
    }
}

fn round(directory: &Path, files: usize, number: usize) -> Round {
    let tree = directory.join("tree");
    let (layers, _, _) = changed_layers(directory, files, number);
    let view = layers.iter().next().expect("one tree has one layer").place();
    let begun = Instant::now();
    for number in 0..files {
        copy_and_rename(&view, &tree, &name(number)).expect("the disk has room");
    }
    let plain = begun.elapsed();
    write_all(&tree, files, 0);
    drop(layers);

    let (layers, start, open) = changed_layers(directory, files, number);
    let layer = layers.iter().next().expect("one tree has one layer");
    let begun = Instant::now();
    let mut lists = layers.changes(ListBounds::default()).expect("the layer can be read");
    let list = begun.elapsed();
    let changes = lists.remove(0).changes;
    let begun = Instant::now();
    commit_changes(directory, layer.directory(), changes, start);
    Round { open, list, commit: begun.elapsed(), plain }
}

/// Returns a frozen layer in which each file is changed, when it was made, and how long that took.
fn changed_layers(directory: &Path, files: usize, number: usize) -> (Layers, Start, Duration) {
    let plan = LayerPlan {
        trees: vec![directory.join("tree")],
        quota: Quota { bytes: 64 << 20, files: 10_000 },
        scratch: directory.join("scratch"),
        ..LayerPlan::default()
    };
    let start = Start::settled();
    let begun = Instant::now();
    let layers = Layers::open(&plan).expect("the tree has a layer");
    let open = begun.elapsed();
    let layer = layers.iter().next().expect("one tree has one layer");
    write_all(&layer.place(), files, number + 1);
    layers.freeze().expect("no file is open");
    (layers, start, open)
}

fn commit_changes(directory: &Path, view: BorrowedFd<'_>, changes: Vec<Change>, start: Start) {
    let path = directory.join("tree");
    let state = StateDir::open(&directory.join("state")).expect("the disk has room");
    let real = File::open(&path).expect("the tree exists");
    let granted = Granted { path, real: real.as_fd(), view, only: None, changes, start };
    let owners = |_, _| OwnerRights::ALL;
    let settings = Settings {
        owners: &owners,
        strength: Strength::Process,
        keep_undo: false,
        origin: &Origin::Person,
        hidden: &[],
        state: &state,
        fault: &NoFault,
    };
    let committed = commit(&[granted], settings).expect("the disk has room");
    assert!(matches!(committed, Committed::Done { .. }), "{committed:?}");
}

/// Copies a file beside its name, with its mode, owner and time, and gives the copy the name.
fn copy_and_rename(from: &Path, to: &Path, name: &str) -> io::Result<()> {
    let mut source = File::open(from.join(name))?;
    let stat = source.metadata()?;
    let beside = to.join(format!(".beside-{name}"));
    let mut copy = File::options().write(true).create_new(true).open(&beside)?;
    io::copy(&mut source, &mut copy)?;
    std::os::unix::fs::fchown(&copy, Some(stat.uid()), Some(stat.gid()))?;
    copy.set_permissions(fs::Permissions::from_mode(stat.mode() & 0o7777))?;
    copy.set_modified(stat.modified()?)?;
    fs::rename(beside, to.join(name))
}

fn write_all(directory: &Path, files: usize, seed: usize) {
    for number in 0..files {
        let text = format!("{seed} {number}\n").repeat(LENGTH);
        fs::write(directory.join(name(number)), &text[..LENGTH]).expect("the disk has room");
    }
}

fn name(number: usize) -> String {
    format!("file-{number}.conf")
}

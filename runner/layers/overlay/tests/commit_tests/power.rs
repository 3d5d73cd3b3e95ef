//! Loss of power before each call of a durable commit: when the file system is mounted again, and recovery has run, all is old
//! or new, and nothing is left.
//!
//! The tree is on an ext4 of its own, on a loop device. `FS_IOC_SHUTDOWN` without a flush of the journal ends it, as in
//! xfstests: what was not on the disk is lost. The test does not reorder single writes of a disk.

use std::path::{Path, PathBuf};
use std::process::Command;

use modbox_overlay::commit::{Start, Strength};

use crate::child::{Work, run};
use crate::kills::{Tally, calls, check};
use crate::world::World;

/// Set in the process that has mounts of its own.
const IN_OWN_MOUNTS: &str = "MODBOX_TEST_OWN_MOUNTS";

/// Size of the file system.
const BYTES: u64 = 24 << 20;

/// The file system's journal is not written for minutes, unless it is asked for.
const OPTIONS: &str = "loop,commit=600";

/// Each this many calls of a commit, the power is lost.
const STEP: usize = 6;

/// Ends a file system: `FS_IOC_SHUTDOWN` with `EXT4_GOING_FLAGS_NOLOGFLUSH`.
const SHUT_DOWN: &str = "\
import fcntl, os, struct, sys
fcntl.ioctl(os.open(sys.argv[1], os.O_RDONLY), 0x8004587D, struct.pack('I', 2))
";

/// Ends the file system of a directory: what was not written to its disk is lost.
pub(crate) fn lose(directory: &Path) {
    run_tool(Command::new("python3").args(["-c", SHUT_DOWN]).arg(directory));
}

fn run_tool(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A file with a file system in it, and where it is mounted.
struct Disk {
    image: PathBuf,
    mounted: PathBuf,
}

impl Disk {
    fn mount(&self) {
        run_tool(Command::new("mount").args(["-o", OPTIONS]).args([&self.image, &self.mounted]));
    }

    fn unmount(&self) {
        run_tool(Command::new("umount").arg(&self.mounted));
    }

    /// Loses the power in the midst of some work, and looks at what is there after the next start.
    fn lose_power_during(&self, template: &Path, start: Start, work: Work, at: usize, look: impl FnOnce(&World)) {
        std::fs::copy(template, &self.image).unwrap();
        self.mount();
        let world = World::open(self.mounted.join("world"), start);
        if run(&world, work, at).success() {
            lose(&world.base);
        }
        self.unmount();
        self.mount();
        look(&world);
        self.unmount();
    }
}

#[test]
fn after_a_loss_of_power_a_durable_commit_is_old_or_new() {
    let can_mount = Command::new("unshare").args(["--mount", "true"]).status().is_ok_and(|status| status.success());
    if !can_mount || !Path::new("/dev/loop-control").exists() {
        println!("left out: the test mounts a file system on a loop device, which this user or machine cannot");
        return;
    }
    let mut command = Command::new("unshare");
    command.args(["--mount", "--"]).arg(std::env::current_exe().unwrap());
    let output = command.args(["--exact", "power::in_own_mounts", "--nocapture"]).env(IN_OWN_MOUNTS, "1").output();
    let output = output.unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    print!("{text}");
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn in_own_mounts() {
    if std::env::var_os(IN_OWN_MOUNTS).is_none() {
        return;
    }
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let disk = Disk { image: folder.path().join("image"), mounted: folder.path().join("mounted") };
    std::fs::create_dir(&disk.mounted).unwrap();
    std::fs::File::create(&disk.image).unwrap().set_len(BYTES).unwrap();
    run_tool(Command::new("mkfs.ext4").args(["-q", "-F", "-J", "size=4"]).arg(&disk.image));
    disk.mount();
    let world = World::changed_in(disk.mounted.join("world"));
    let (start, old, new) = (world.start, world.picture(), world.wanted());
    disk.unmount();
    let template = folder.path().join("template");
    std::fs::rename(&disk.image, &template).unwrap();

    // A commit that is not durable loses what it has done. So the test can fail.
    disk.lose_power_during(&template, start, Work::Commit, usize::MAX, |world| assert_eq!(world.picture(), old));
    disk.lose_power_during(&template, start, Work::CommitDurably, usize::MAX, |world| {
        world.recover();
        assert_eq!((world.picture(), world.records()), (new.clone(), Vec::new()));
    });
    let tally = Tally::default();
    let points = calls(Strength::Power, false);
    for at in (0..points).step_by(STEP) {
        disk.lose_power_during(&template, start, Work::LosePower, at, |world| {
            check(world, &old, &new, &tally, &format!("power lost at {at}"));
            assert_eq!(world.records(), Vec::<String>::new(), "power lost at {at}");
        });
    }
    let (old, new) = (tally.old.into_inner(), tally.new.into_inner());
    println!("power lost at {} of {points} points: {old} old, {new} new", old + new);
    assert!(old > 0 && new > 0);
}

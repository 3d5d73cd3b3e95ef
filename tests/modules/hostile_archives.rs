//! The module `unarchive` with hostile archives: some try to leave their folder, some to fill disks, some have a wrong
//! format.
//!
//! The whole folder around `dest` is granted, so that the tests prove that the module, not the sandbox, stays in
//! `dest`.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::support::{Modbox, TestDir, fixture, module, oracle};

/// The archives, with the reason for refusing each.
const REFUSED: [(&str, &str); 35] = [
    ("climbs.tar", "it leads out of dest"),
    ("climbs-inside.tar", "it leads out of dest"),
    ("climbs.zip", "it leads out of dest"),
    ("link-out.tar", "which leads out of dest; leave it out with `exclude`"),
    ("link-absolute.tar", "a link to `/etc/passwd`, which leads out of dest"),
    ("link-out.zip", "which leads out of dest"),
    ("through-link.tar", "which leads out of dest"),
    ("through-link-inside.tar", "it is below `l`, which is a link"),
    ("link-after.tar", "it is below `l`, which is a link"),
    ("through-link.zip", "it is below `l`, which is a link"),
    ("links-in-a-row.tar", "which leads out of dest"),
    ("hard-out.tar", "it leads out of dest"),
    ("hard-of-link.tar", "which is a link in the archive"),
    ("hard-absolute.tar", "is not a file in dest"),
    ("device.tar", "it is a device; leave it out with `exclude`"),
    ("block.tar", "it is a device"),
    ("fifo.tar", "it is a named pipe"),
    ("fifo.zip", "a device or a named pipe"),
    ("unknown.tar", "unknown member type `Z`"),
    ("bomb.tar.bz2", "it looks made to fill disks"),
    ("bomb.tar.gz", "it looks made to fill disks"),
    ("bomb.zip", "it looks made to fill disks"),
    ("sharing.zip", "members overlap"),
    ("same-name.zip", "several members of one name"),
    ("lying.zip", "failed to unpack `x`"),
    ("encrypted.zip", "it is encrypted"),
    ("corrupt.zip", "failed to unpack `x`"),
    ("cut.zip", "failed to read the archive"),
    ("cut.tar", "failed to read the archive"),
    ("cut.tar.gz", "failed to read the archive"),
    ("corrupt.tar.gz", "failed to read the archive"),
    ("checksum.tar.gz", "failed to read the archive"),
    ("header.tar", "failed to read the archive"),
    ("no-text.tar", "its name is not UTF-8"),
    ("many.tar.gz", "with more than 200000 members"),
];

/// Time limit for unpacking a hundred megabytes on two busy cores.
const PATIENCE: Duration = Duration::from_secs(120);

struct Archives {
    dir: TestDir,
    archives: PathBuf,
    outside: PathBuf,
}

impl Archives {
    fn new() -> Self {
        let dir = TestDir::new();
        let (archives, outside) = (dir.mkdir("archives"), dir.mkdir("data/outside"));
        fs::write(outside.join("secret"), "kept").unwrap();
        let mut make = Command::new(oracle::python());
        let made = make.arg(fixture("modules/hostile_archives.py")).args([&archives, &outside]).status().unwrap();
        assert!(made.success());
        Self { dir, archives, outside }
    }

    /// Creates a new folder to unpack into.
    fn dest(&self) -> PathBuf {
        let dest = self.dir.join("data/dest");
        let _ = fs::remove_dir_all(&dest);
        fs::create_dir_all(&dest).unwrap();
        dest
    }

    fn unpack(&self, archive: &str, dest: &Path) -> Modbox {
        let args = [format!("src={}", self.archives.join(archive).display()), format!("dest={}", dest.display())];
        let run = Modbox::run_module(&self.dir, module("unarchive")).arg("--allow-write").arg(self.dir.join("data"));
        run.args(args).arg("--cpu-time").arg("60s").patience(PATIENCE)
    }

    #[track_caller]
    fn assert_outside_is_as_it_was(&self, archive: &str) {
        let names: Vec<_> = fs::read_dir(&self.outside).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["secret"], "{archive}");
        assert_eq!(fs::read_to_string(self.outside.join("secret")).unwrap(), "kept", "{archive}");
        assert_eq!(fs::read_dir(self.dir.join("data")).unwrap().count(), 2, "{archive}");
    }
}

#[test]
fn hostile_archives_are_refused_and_leave_nothing() {
    let archives = Archives::new();
    for (archive, why) in REFUSED {
        let dest = archives.dest();
        let failed = archives.unpack(archive, &dest).run().exits_with(1);
        let message = failed.json()["msg"].as_str().unwrap().to_owned();
        assert!(message.contains(why), "{archive}: {message}");
        assert_eq!(fs::read_dir(&dest).unwrap().count(), 0, "{archive}");
        archives.assert_outside_is_as_it_was(archive);
    }
    archives.dir.assert_nothing_left();
}

#[test]
fn what_only_looks_hostile_is_unpacked_in_dest() {
    let archives = Archives::new();
    let outside = archives.outside.to_str().unwrap().trim_start_matches('/').to_owned();
    for (archive, made, contents) in [
        ("absolute.tar", format!("{outside}/x"), "x"),
        ("absolute.zip", format!("{outside}/x"), "x"),
        ("case.tar", "L/x".to_owned(), "x"),
        ("twice.tar", "x".to_owned(), "two"),
        ("link-then-file.tar", "x".to_owned(), "x"),
        ("good.tar", "l/x".to_owned(), "x"),
    ] {
        let dest = archives.dest();
        archives.unpack(archive, &dest).run().exits_with(0);
        assert_eq!(fs::read_to_string(dest.join(made)).unwrap(), contents, "{archive}");
        archives.assert_outside_is_as_it_was(archive);
    }
    assert!(fs::symlink_metadata(archives.dest().join("x")).is_err());
    let dest = archives.dest();
    let devices = |archive, name| archives.unpack(archive, &dest).arg(format!("exclude={name}")).run();
    // Excluded entries are not checked, and an archive with only excluded entries counts as empty.
    let message = devices("device.tar", "d").exits_with(1).json()["msg"].as_str().unwrap().to_owned();
    assert!(message.contains("It holds no files"), "{message}");
}

#[test]
fn a_link_in_dest_that_leads_out_is_not_followed() {
    let archives = Archives::new();
    let dest = archives.dest();
    symlink("../outside", dest.join("own")).unwrap();
    let failed = archives.unpack("behind-own-link.tar", &dest).run().exits_with(1);
    assert!(failed.json()["msg"].as_str().unwrap().contains("leads out of dest"), "{failed}");
    archives.assert_outside_is_as_it_was("behind-own-link.tar");
    // A link that stays inside the folder is followed.
    fs::remove_file(dest.join("own")).unwrap();
    fs::create_dir(dest.join("real")).unwrap();
    symlink("real", dest.join("own")).unwrap();
    archives.unpack("behind-own-link.tar", &dest).run().exits_with(0);
    assert_eq!(fs::read_to_string(dest.join("real/x")).unwrap(), "x");
}

#[test]
fn an_archive_ends_at_the_limit_of_the_disk() {
    let archives = Archives::new();
    let dest = archives.dest();
    let ended =
        archives.unpack("long.tar", &dest).args(["--max-disk", "4MiB", "--output", "report"]).run().exits_with(5);
    assert!(ended.stdout_text().contains("disk"), "{ended}");
    assert!(fs::symlink_metadata(dest.join("long")).is_err());
    archives.unpack("long.tar", &dest).run().exits_with(0);
    assert_eq!(fs::metadata(dest.join("long")).unwrap().len(), 12_000_000);
}

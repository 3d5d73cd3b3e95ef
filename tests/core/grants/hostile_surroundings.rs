//! What other users have prepared: a folder in the place of modbox's own, and policy files that they can change. All as
//! root and as an ordinary user.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use crate::support::{TestDir, copy_program, small_module};

/// An ordinary user, and another one.
const USER: u32 = 12345;
const OTHER: u32 = 54321;

/// A folder that an ordinary user can use, with modbox and two modules in it.
struct Place {
    dir: tempfile::TempDir,
    user: Option<u32>,
}

impl Place {
    /// Makes one for root and, when this is root, one for an ordinary user.
    fn all() -> Vec<Self> {
        let rooted = rustix::process::geteuid().is_root();
        let users = if rooted { vec![None, Some(USER)] } else { vec![None] };
        users.into_iter().map(Self::new).collect()
    }

    fn new(user: Option<u32>) -> Self {
        let dir = tempfile::Builder::new().permissions(Permissions::from_mode(0o755)).tempdir().unwrap();
        let place = Self { dir, user };
        for own in ["home", "home/modbox"] {
            fs::create_dir(place.at(own)).unwrap();
            place.set(own, 0o755, user);
        }
        fs::create_dir(place.at("tmp")).unwrap();
        place.set("tmp", 0o1777, None);
        place.write("native", "#!/bin/sh\n# WANT_JSON\necho '{\"changed\": false, \"small\": true}'\n");
        place.set("native", 0o755, user);
        copy_program(&place.at("modbox"));
        let guest = fs::read(small_module(&TestDir::new(), "guest.wasm")).unwrap();
        fs::write(place.at("guest"), guest).unwrap();
        place
    }

    fn at(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Sets the mode of a file, and its owner if this is root.
    fn set(&self, name: &str, mode: u32, owner: Option<u32>) {
        if let Some(owner) = owner {
            chown(self.at(name), Some(owner), Some(owner)).unwrap();
        }
        fs::set_permissions(self.at(name), Permissions::from_mode(mode)).unwrap();
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.at(name), text).unwrap();
        self.set(name, 0o644, self.user);
    }

    fn uid(&self) -> u32 {
        self.user.unwrap_or_else(|| rustix::process::geteuid().as_raw())
    }

    fn modbox(&self, words: &[&str]) -> Command {
        let mut command = Command::new(self.at("modbox"));
        command.env_clear().env("HOME", self.at("home")).env("TMPDIR", self.at("tmp")).current_dir(self.dir.path());
        command.env("XDG_CONFIG_HOME", self.at("home")).env("PATH", "/usr/bin:/bin").args(words);
        if let Some(user) = self.user {
            command.uid(user).gid(user);
        }
        command
    }

    #[track_caller]
    fn ends(&self, words: &[&str], status: i32) -> Output {
        let output = self.modbox(words).stdin(Stdio::null()).output().unwrap();
        assert_eq!(output.status.code(), Some(status), "{words:?}: {output:?}");
        output
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

const MODULES: [&str; 2] = ["./native", "./guest"];

#[test]
fn a_folder_in_the_place_of_modboxs_own_stops_nothing() {
    for place in Place::all() {
        let name = format!("tmp/modbox-{}", place.uid());
        let rooted = rustix::process::geteuid().is_root();
        let owner = rooted.then_some(OTHER);
        // Without root, another user's folder is stood for by one that is open to others.
        let modes = if rooted { vec![0o700, 0o755, 0o777] } else { vec![0o755, 0o777] };
        for mode in modes {
            fs::create_dir(place.at(&name)).unwrap();
            place.set(&name, mode, owner);
            for module in MODULES {
                place.ends(&["run", module], 0);
            }
            assert_eq!(fs::read_dir(place.at(&name)).unwrap().count(), 0, "nothing was put there");
            fs::remove_dir(place.at(&name)).unwrap();
        }
        symlink("/etc", place.at(&name)).unwrap();
        place.ends(&["run", "./native"], 0);
        // All runs used one second folder, which is private, and left nothing in it.
        let second = fs::read_dir(place.at("tmp")).unwrap().map(|entry| entry.unwrap().path());
        let second: Vec<_> = second.filter(|path| *path != place.at(&name)).collect();
        assert_eq!(second.len(), 1, "{second:?}");
        let metadata = second[0].metadata().unwrap();
        assert_eq!((metadata.uid(), metadata.mode() & 0o7777), (place.uid(), 0o700));
        assert_eq!(fs::read_dir(&second[0]).unwrap().count(), 0);
    }
}

/// A mode and an owner of the policy file or its folder, by which another user can change the file.
struct Exposure {
    name: &'static str,
    mode: u32,
    owner: Option<u32>,
    /// A part of the message.
    expect: String,
}

const POLICY: &str = "home/modbox/policy.yaml";

fn exposures(place: &Place) -> Vec<Exposure> {
    let shown = |name: &str| place.at(name).display().to_string();
    let of_mode = |(name, mode)| {
        let expect = format!("other users can write `{}` (mode {mode:04o})", shown(name));
        Exposure { name, mode, owner: None, expect }
    };
    let of_owner = |(name, mode)| {
        let expect = format!("`{}` belongs to user {OTHER}", shown(name));
        Exposure { name, mode, owner: Some(OTHER), expect }
    };
    let modes = [(POLICY, 0o664), (POLICY, 0o646), ("home/modbox", 0o777)].map(of_mode);
    // Only root can give a file to another user.
    let owners = rustix::process::geteuid().is_root().then(|| [(POLICY, 0o644), ("home/modbox", 0o755)].map(of_owner));
    modes.into_iter().chain(owners.into_iter().flatten()).collect()
}

#[test]
fn a_policy_file_that_others_can_change_is_refused_unless_it_was_named() {
    for place in Place::all() {
        let path = place.at(POLICY).display().to_string();
        place.write("args", "{}");
        for Exposure { name, mode, owner, expect } in exposures(&place) {
            let way = format!("{name} {mode:o} {owner:?}");
            let restore = || {
                place.set("home/modbox", 0o755, Some(place.uid()));
                let _ = fs::remove_file(place.at(POLICY));
                place.write(POLICY, "allow: {env: [STAGE=test]}\n");
            };
            restore();
            let trusted = place.ends(&["run", "./native", "--output", "report"], 0);
            assert!(text(&trusted.stdout).contains("STAGE"), "{way}: {trusted:?}");
            assert!(trusted.stderr.is_empty(), "{way}: {trusted:?}");
            place.set(name, mode, owner);
            for words in [&["run", "./native"][..], &["policy", "show"], &["batch"]] {
                let refused = place.ends(words, 2);
                let told = text(&refused.stderr);
                assert!(told.contains("failed to use the policy file") && told.contains(&expect), "{way}: {told}");
            }
            // As Ansible and the kernel call it.
            let refused = place.ends(&["./native", "args"], 2);
            assert!(text(&refused.stdout).contains("failed to use the policy file"), "{way}: {refused:?}");
            let checked = text(&place.ends(&["policy", "check", &path], 2).stdout);
            assert!(
                checked.contains("error: another user can change this file") && checked.contains(&expect),
                "{checked}"
            );

            // The same file, named and elsewhere.
            let named = place
                .modbox(&["run", "./native", "--policy", &path, "--output", "report"])
                .env("XDG_CONFIG_HOME", "/none")
                .output()
                .unwrap();
            assert_eq!(named.status.code(), Some(0), "{way}: {named:?}");
            assert!(text(&named.stdout).contains("STAGE"), "{way}: {named:?}");
            let told = text(&named.stderr);
            assert!(
                told.contains("another user can change the policy file") && told.contains(&expect),
                "{way}: {told}"
            );
            let checked = place.modbox(&["policy", "check", &path]).env("XDG_CONFIG_HOME", "/none").output().unwrap();
            let shown = text(&checked.stdout);
            assert!(
                checked.status.success() && shown.contains("warning: another user can change this file"),
                "{shown}"
            );
            restore();
        }
    }
}

#[test]
fn a_policy_file_of_root_is_accepted() {
    for place in Place::all().into_iter().filter(|place| place.user.is_some()) {
        place.write(POLICY, "allow: {env: [STAGE=test]}\n");
        place.set(POLICY, 0o644, Some(0));
        let report = place.ends(&["run", "./native", "--output", "report"], 0);
        assert!(text(&report.stdout).contains("STAGE"), "{report:?}");
    }
}

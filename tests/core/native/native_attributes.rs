//! Attributes of single files that native modules write: owner, mode, times, extended attributes, access lists and flags
//! reach the module and come back, and those that the module did not change stay.

#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;

use rustix::fs::{IFlags, XattrFlags};
use serde_json::{Value, json};

use crate::core::native::native_ladder::NO_MOUNTS;
use crate::core::native::native_place::{DONE, Place, USER};

const ACCESS_LIST: &str = "system.posix_acl_access";

/// Python that writes the granted file `f` in several ways.
const WAYS: [&str; 3] = [
    "",
    "open(f, 'a').write('more')",
    "open(f + '.new', 'w').write('new'); os.chmod(f + '.new', 0o640); [os.setxattr(f + '.new', n, os.getxattr(f, n)) \
     for n in os.listxattr(f)]; os.rename(f + '.new', f)",
];

/// Runs Python on the file `data/file`, which it may write.
#[track_caller]
fn python(place: &Place, code: &str) -> Value {
    let path = place.path("data/file");
    place.python(&format!("f = d + '/data/file'\n{code}"), &["--allow-write", &path]).changed()
}

#[test]
fn flags_of_a_file_system_mean_nothing_in_the_rooms_own() {
    for place in Place::all() {
        place.write("data/file", "old");
        let code = "
import fcntl, errno
def flag(path, bits):
    with open(path, 'a') as file:
        try:
            fcntl.ioctl(file, 0x40086602, struct.pack('L', bits))
            return 'set'
        except OSError as error:
            return errno.errorcode[error.errno]
open('/tmp/own', 'w').close()
one, beside = d + '/data/file', d + '/signal/file'
open(beside, 'w').close()
result['seen'] = [flag('/tmp/own', 0x80000), flag(one, 0x80000), flag('/tmp/own', 0x80010), flag('/tmp/own', 0x40), flag(beside, 0x40)]
";
        let switches = ["--allow-write", &place.path("data/file"), "--allow-write", &place.path("signal")];
        let report = place.python(code, &switches).changed();
        if report["confinement"]["level"] == 3 {
            assert_eq!(report["result"]["seen"], json!(["set", "set", "EPERM", "EPERM", "EPERM"]), "{report:#}");
        }
    }
}

fn set(path: &Path, name: &str, value: &[u8]) {
    rustix::fs::setxattr(path, name, value, XattrFlags::empty()).unwrap();
}

fn get(path: &Path, name: &str) -> Option<Vec<u8>> {
    let mut value = vec![0; 1 << 10];
    let length = rustix::fs::getxattr(path, name, &mut value[..]).ok()?;
    Some(value[..length].to_vec())
}

/// Returns an access list by which a user may read the file, and its form in Python.
fn access_list(user: u32) -> Vec<u8> {
    let entries = [(1, 6, u32::MAX), (2, 4, user), (4, 4, u32::MAX), (16, 4, u32::MAX), (32, 0, u32::MAX)];
    let mut list = 2_u32.to_le_bytes().to_vec();
    for (tag, rights, id) in entries {
        list.extend([u16::to_le_bytes(tag), u16::to_le_bytes(rights)].concat());
        list.extend(id.to_le_bytes());
    }
    list
}

fn in_python(bytes: &[u8]) -> String {
    format!("bytes({bytes:?})")
}

fn file(place: &Place) -> std::path::PathBuf {
    let file = place.at("data/file");
    let _ = fs::remove_file(&file);
    place.write("data/file", "old");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    file
}

#[test]
fn extended_attributes_are_seen_set_changed_and_removed() {
    for place in Place::all() {
        for way in WAYS {
            let file = file(&place);
            set(&file, "user.stays", b"1");
            set(&file, "user.changes", b"1");
            set(&file, "user.goes", b"1");
            let code = format!(
                "result['seen'] = sorted(os.listxattr(f))\n{way}\nos.setxattr(f, 'user.changes', b'2')\n\
                 os.setxattr(f, 'user.comes', b'3')\nos.removexattr(f, 'user.goes')"
            );
            let report = python(&place, &code);
            assert_eq!(report["result"]["seen"], json!(["user.changes", "user.goes", "user.stays"]), "{report:#}");
            let names = ["user.stays", "user.changes", "user.comes", "user.goes"];
            let values = names.map(|name| get(&file, name).map(|value| String::from_utf8(value).unwrap()));
            // A new file in place of the old one has removed nothing.
            let gone = way.contains("rename").then(|| "1".into());
            assert_eq!(values, [Some("1".into()), Some("2".into()), Some("3".into()), gone], "{way}");
            assert_eq!(file.metadata().unwrap().mode() & 0o7777, 0o640);
        }
    }
}

#[test]
fn attributes_of_a_new_file_arrive() {
    for place in Place::all() {
        let _ = fs::remove_file(place.at("data/file"));
        python(&place, "open(f, 'w').write('new'); os.setxattr(f, 'user.a', b'1'); os.chmod(f, 0o604)");
        let file = place.at("data/file");
        assert_eq!((get(&file, "user.a"), file.metadata().unwrap().mode() & 0o7777), (Some(b"1".to_vec()), 0o604));
    }
}

#[test]
fn access_lists_are_seen_set_changed_and_removed() {
    for place in Place::all() {
        // An ordinary user's module knows no other users.
        let user = place.user.unwrap_or(USER);
        let (list, python_list) = (access_list(user), in_python(&access_list(user)));
        for way in WAYS {
            let file = file(&place);
            let code =
                format!("result['seen'] = os.listxattr(f)\n{way}\nos.setxattr(f, '{ACCESS_LIST}', {python_list})");
            assert_eq!(python(&place, &code)["result"]["seen"], json!([]));
            assert_eq!(get(&file, ACCESS_LIST).as_ref(), Some(&list), "{way}");
            let code =
                format!("result['seen'] = os.getxattr(f, '{ACCESS_LIST}') == {python_list}\n{way}\nos.chmod(f, 0o600)");
            assert_eq!(python(&place, &code)["result"]["seen"], true);
            assert!(get(&file, ACCESS_LIST).is_some() && file.metadata().unwrap().mode() & 0o7777 == 0o600, "{way}");
            python(&place, "open(f + '.new', 'w').write('new'); os.chmod(f + '.new', 0o640); os.rename(f + '.new', f)");
            assert_eq!(get(&file, ACCESS_LIST).as_ref(), Some(&list), "{way}");
            python(&place, &format!("{}\nos.removexattr(f, '{ACCESS_LIST}')", if way == WAYS[2] { "" } else { way }));
            assert_eq!(get(&file, ACCESS_LIST), None, "{way}");
        }
    }
}

#[test]
fn an_access_list_with_users_that_the_module_does_not_know_stays() {
    for place in Place::all() {
        for way in &WAYS[1..] {
            let file = file(&place);
            set(&file, ACCESS_LIST, &access_list(4321));
            let report = python(&place, way);
            assert_eq!(get(&file, ACCESS_LIST), Some(access_list(4321)), "{way}");
            let unseen = report["notes"].to_string().contains("does not see the access list");
            assert_eq!(unseen, !place.is_root(), "{report:#}");
        }
    }
}

#[test]
fn attributes_of_root_and_flags_stay() {
    let place = Place::new(None);
    for way in WAYS {
        let file = file(&place);
        if rustix::fs::setxattr(&file, "trusted.a", b"1", XattrFlags::empty()).is_err() {
            return;
        }
        let flags = |file: &Path| rustix::fs::ioctl_getflags(fs::File::open(file).unwrap()).unwrap_or(IFlags::empty());
        let set_flags = rustix::fs::ioctl_setflags(fs::File::open(&file).unwrap(), flags(&file) | IFlags::NODUMP);
        python(&place, &format!("{way}\nos.chmod(f, 0o600)"));
        assert_eq!(get(&file, "trusted.a"), Some(b"1".to_vec()), "{way}");
        assert!(set_flags.is_err() || flags(&file).contains(IFlags::NODUMP), "{way}");
    }
}

#[test]
fn a_module_sets_no_attributes_of_root() {
    for place in Place::all() {
        let file = file(&place);
        for name in ["trusted.a", "security.capability", "security.a", "security.selinux"] {
            let path = place.path("data/file");
            let code = format!("f = d + '/data/file'\nopen(f, 'a').write('x')\nos.setxattr(f, '{name}', bytes(20))");
            let ended = place.python(&code, &["--allow-write", &path]);
            // Kernels with and without SELinux differ in what they let a module set on its copy.
            match ended.report["lost"].is_null() {
                true => assert_eq!(ended.report["status"], "failed", "{:#}", ended.report),
                false => drop(ended.lost(&path, &format!("extended attribute `{name}`, which is not taken over"))),
            }
            assert_ne!(get(&file, name), Some(vec![0; 20]), "{name}");
        }
    }
}

#[test]
fn a_mode_that_forbids_reading_arrives() {
    for place in Place::all() {
        for mode in [0o000, 0o200, 0o400, 0o1777] {
            let file = file(&place);
            python(&place, &format!("open(f, 'w').write('new'); os.setxattr(f, 'user.a', b'1'); os.chmod(f, {mode})"));
            assert_eq!(file.metadata().unwrap().mode() & 0o7777, mode);
            fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
            assert_eq!((fs::read(&file).unwrap(), get(&file, "user.a")), (b"new".to_vec(), Some(b"1".to_vec())));
        }
    }
}

#[test]
fn times_arrive() {
    for place in Place::all() {
        for way in WAYS {
            let file = file(&place);
            python(&place, &format!("{way}\nos.utime(f, ns=(1_000_000_001, 2_000_000_002))"));
            let found = file.metadata().unwrap();
            let times = (
                found.atime() * 1_000_000_000 + found.atime_nsec(),
                found.mtime() * 1_000_000_000 + found.mtime_nsec(),
            );
            assert_eq!(times, (1_000_000_001, 2_000_000_002), "{way}");
        }
    }
}

#[test]
fn times_of_a_file_of_others_cannot_be_set() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let place = Place::new(Some(USER));
    let path = place.path("data/file");
    let code = "f = d + '/data/file'\nopen(f, 'w').write('new'); os.utime(f, (1, 2))";
    fs::write(&path, "old").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
    place.python(code, &["--allow-write", &path]).lost(&path, "failed to set its times");
}

#[test]
fn owners_and_groups_arrive_and_stay() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let place = Place::new(None);
    let owner = |file: &Path| (file.metadata().unwrap().uid(), file.metadata().unwrap().gid());
    for way in &WAYS[..2] {
        let file = file(&place);
        chown(&file, Some(7), Some(8)).unwrap();
        python(&place, &format!("{way}\nos.chmod(f, 0o600)"));
        assert_eq!(owner(&file), (7, 8), "{way}");
        let path = place.path("data/file");
        let give = format!("f = d + '/data/file'\n{way}\nos.chown(f, 9, -1)");
        place.python(&give, &["--allow-write", &path, "--allow-own", "9"]).changed();
        assert_eq!(owner(&file), (9, 8), "{way}");
    }
    // The module of an ordinary user sees neither the group nor a set-group-id directory.
    let place = Place::new(Some(USER));
    chown(place.at("data"), Some(USER), Some(7)).unwrap();
    fs::set_permissions(place.at("data"), fs::Permissions::from_mode(0o2755)).unwrap();
    python(&place, "open(f, 'w').write('new')");
    assert_eq!(owner(&place.at("data/file")), (USER, 7));
    python(&place, "open(f, 'a').write('new'); os.chmod(f, 0o600)");
    assert_eq!(owner(&place.at("data/file")), (USER, 7));
}

#[test]
fn all_names_of_a_file_show_what_was_written_to_it() {
    for place in Place::all() {
        let file = file(&place);
        fs::hard_link(&file, place.at("data/other")).unwrap();
        python(&place, "open(f, 'a').write('+more')");
        assert_eq!(place.read("data/other"), "old+more");
        fs::remove_file(place.at("data/other")).unwrap();
    }
}

#[test]
fn set_id_bits_go_with_new_content_and_stay_without() {
    for place in Place::all() {
        let file = file(&place);
        let mode = |file: &Path| file.metadata().unwrap().mode() & 0o7777;
        fs::set_permissions(&file, fs::Permissions::from_mode(0o4755)).unwrap();
        python(&place, "os.setxattr(f, 'user.a', b'1')");
        assert_eq!(mode(&file), 0o4755);
        let report = python(&place, "open(f, 'a').write('more')");
        assert_eq!(mode(&file), 0o755);
        assert!(report["notes"].to_string().contains("has lost its set-id bits"), "{report:#}");
        let said = report["result"]["warnings"].to_string();
        assert!(said.contains("bits were refused") && said.contains(&place.path("data/file")), "{report:#}");
        assert!(said.contains("--allow-own"), "{report:#}");
        // What the operator has granted already is not asked for again.
        fs::set_permissions(&file, fs::Permissions::from_mode(0o4755)).unwrap();
        let user = rustix::process::geteuid().as_raw().to_string();
        let own = format!("{}+setid", place.user.map_or(user, |user| user.to_string()));
        let switches = ["--allow-write", &place.path("data/file"), "--allow-own", &own];
        let report = place.python("open(d + '/data/file', 'a').write('more')", &switches).changed();
        let said = report["result"]["warnings"].to_string();
        assert!(said.contains("bits were refused") && said.contains("--allow-all"), "{report:#}");
    }
}

#[test]
fn without_namespaces_extended_attributes_cannot_be_set_and_the_module_learns_it() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let place = Place::new(Some(USER));
    let file = file(&place);
    set(&file, "user.stays", b"1");
    let script = format!(
        "python3 -c 'import os; os.setxattr(\"{0}\", \"user.a\", b\"1\")' && exit 9; echo new > {0} && {DONE}",
        file.display()
    );
    place.run_without(NO_MOUNTS, &script, &["--allow-write", &place.path("data/file")]).changed();
    assert_eq!((place.read("data/file").as_str(), get(&file, "user.stays")), ("new\n", Some(b"1".to_vec())));
}

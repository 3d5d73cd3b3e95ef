//! Filters in Python that are hostile: what they reach, and when their process is replaced; and kernels that confine too little.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::process::Command;

use super::oracle_plugins::{modbox, modbox_by, write_play, write_plugins};
use super::plugin_attempts::{Attempt, check_attempts, on_files};
use crate::python::oracle_python_places::INSTALLED;
use crate::support::{TestDir, fixture, prefixed};

#[test]
fn a_hostile_plugin_reaches_nothing_and_its_process_is_replaced() {
    let dir = TestDir::new();
    dir.write("play/filter_plugins/hostile.py", fs::read(fixture("oracle/plugins/hostile.py")).unwrap());
    dir.write("play/.env", "do-not-read\n");
    dir.write("play/files/key", "-----BEGIN OPENSSH PRIVATE KEY-----\ndo-not-read\n");
    let password = dir.write("play/files/password", "do-not-read\n");
    let file = dir.write("play/files/own.txt", "a text\n").display().to_string();
    let of_play = |path: &str| dir.join("play").join(path).display().to_string();
    let secret = dir.write("secret", "do-not-read\n").display().to_string();
    dir.write("play/roles/r/files/text", "of a role\n");
    for (target, link) in [
        ("../../secret", "files/to_secret"),
        ("../..", "files/out"),
        ("password", "files/to_password"),
        ("key", "files/to_key"),
        ("../../../../secret", "roles/r/files/link"),
        ("text", "roles/r/files/inner"),
    ] {
        symlink(target, dir.join("play").join(link)).unwrap();
    }
    let outside = dir.join("made").display().to_string();
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let socket = dir.join("socket");
    let listener = UnixListener::bind(&socket).unwrap();
    let inner = UnixListener::bind(dir.join("play/socket")).unwrap();
    let absent = "No such file or directory";
    let mut attempts: Vec<Attempt> = vec![
        ("1 | spin".to_owned(), " seconds"),
        ("1 | leave".to_owned(), "its process ended with status 3"),
        ("1 | crash".to_owned(), "its process ended with status 139"),
        ("1 | kill".to_owned(), "No such process"),
        ("1 | half".to_owned(), "its process ended with status 0"),
        ("1 | unknown".to_owned(), "the plugin's answer has the unknown value `code`"),
        ("'/etc/shadow' | read".to_owned(), absent),
        (format!("'{secret}' | read"), absent),
        (format!("'{}' | read", of_play(".env")), absent),
        (format!("'{}' | read", of_play("files/key")), absent),
        (format!("'{}' | read", of_play("files/password")), absent),
        (format!("'{}' | read", of_play("files/to_secret")), absent),
        (format!("'{}/secret' | read", of_play("files/out")), absent),
        (format!("'{}' | read", of_play("files/to_password")), absent),
        (format!("'{}' | read", of_play("files/to_key")), absent),
        (format!("'{}' | read", of_play("roles/r/files/link")), absent),
        (format!("'{}' | read", of_play("roles/r/files/inner")), "of a role"),
        (format!("'{}' | connect_to_path", of_play("socket")), "Operation not permitted"),
        ("'/etc/made' | write".to_owned(), "Permission denied"),
        (format!("{} | connect", server.local_addr().unwrap().port()), "Permission denied"),
        (format!("'{}' | connect_to_path", socket.display()), "Operation not permitted"),
        ("1 | digits".to_owned(), "Exceeds the limit (4300 digits)"),
        ("1 | unreadable".to_owned(), "Unreadable"),
        ("1 | depth".to_owned(), "\"msg\": 1"),
    ];
    attempts.extend(on_files(&file, &of_play("files/made"), &outside));
    check_attempts(&dir, attempts, || {
        modbox(&dir, &dir.join("play/play.yml")).arg("--vault-password-file").arg(&password)
    });
    assert!(!dir.join("made").exists());
    for nothing in [server.set_nonblocking(true), listener.set_nonblocking(true), inner.set_nonblocking(true)] {
        nothing.unwrap();
    }
    let is_alone = server.accept().is_err() && listener.accept().is_err() && inner.accept().is_err();
    assert!(is_alone, "a plugin connected");
    assert_eq!(fs::read_to_string(&file).unwrap(), "a text\n");
    dir.assert_nothing_left();
}

/// What files do when they are loaded.
const HOSTILE_FILES: [(&str, &str); 9] = [
    ("a_loop", "while True: pass"),
    ("b_leave", "import os; os._exit(3)"),
    ("c_abort", "import os; os.abort()"),
    ("d_fork", "import os\nfor _ in range(100): os.fork()"),
    ("e_memory", "kept = []\nwhile True: kept.append(bytearray(1 << 20))"),
    ("f_raise", "raise SystemExit(5)"),
    ("g_shadow", "open('/etc/shadow').read()"),
    ("h_patch", "import json; json.dumps = json.loads = None"),
    ("i_recursion", "def again(): again()\nagain()"),
];

#[test]
#[ignore = "takes long; run it with `--ignored`"]
fn files_that_are_hostile_when_they_are_loaded_are_left_out_and_the_others_work() {
    for place in ["native", "wasm"] {
        let dir = TestDir::new();
        let filters = |name: &str| {
            format!(
                "class FilterModule(object):\n    def filters(self):\n        return {{'{name}': lambda value: value + 1}}\n"
            )
        };
        for (name, act) in HOSTILE_FILES {
            dir.write(&format!("filter_plugins/{name}.py"), format!("{act}\n{}", filters(name)));
        }
        dir.write("filter_plugins/z_good.py", filters("z_good"));
        write_play(&dir, "play.yml", &["1 | z_good".to_owned()]);
        let play = modbox_by(&dir, &dir.join("play.yml"), &INSTALLED.python).own_cache(&INSTALLED.dir);
        let ran = play.args(["--python", place]).run().exits_with(0);
        assert!(ran.stdout_text().contains("\"msg\": 2"), "{place}: {ran}");
        for (name, _) in HOSTILE_FILES {
            let says = format!("the plugins in `{}` are left out: ", dir.join("filter_plugins").join(name).display());
            let says = says.replace("` are", ".py` are");
            assert!(ran.stderr_text().contains(&says), "{place}: {name}: {ran}");
        }
        dir.assert_nothing_left();
    }
}

/// Runs a command where the kernel makes no further namespaces.
const WITHOUT_NAMESPACES: &str =
    "for kind in user mnt; do echo 0 > /proc/sys/user/max_${kind}_namespaces || exit 99; done; exec \"$@\"";

#[test]
fn plugins_run_only_where_the_kernel_confines_them_as_far_as_is_accepted() {
    let dir = TestDir::new();
    write_plugins(&dir);
    write_play(&dir, "play.yml", &["1 | show".to_owned()]);
    let run = |options: &[&str]| {
        let wrap = |command: Command| {
            let mut unshare = Command::new("unshare");
            unshare.args(["-Urm", "sh", "-c", WITHOUT_NAMESPACES, "sh"]);
            prefixed(unshare, &command)
        };
        modbox(&dir, &dir.join("play.yml")).args(options).behind(wrap).run()
    };
    let accepted = run(&["--min-confinement", "2"]).exits_with(0);
    assert!(accepted.stdout_text().contains("\"msg\": \"(1,) []\""), "{accepted}");
    let refused = run(&["--min-confinement", "3"]).stderr_text();
    let says = "the kernel confines it less than level 3";
    assert!(refused.contains(says) && refused.contains("--min-confinement asks for more"), "{refused}");
}

//! Root in a container of podman and runc, with their usual profile of system calls and capabilities: what native modules
//! reach there, and that Ansible's modules do their work.
//!
//! Where no container can run, the tests say so. `native_root.rs` has the same attempts on this machine, on a kernel that refuses
//! what containers refuse.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use crate::attempts_of_root::assert_confined;
use crate::support::{TestDir, copy_program, debian, fixture, oracle, run_tool};

/// Packages with the engine, the runtime and the libraries that they need, as far as the machine lacks them.
const PACKAGES: [&str; 4] = ["conmon", "golang-github-containers-common", "podman", "runc"];

/// Time for starting and ending a container, in which an engine may wait by itself.
const PATIENCE: Duration = Duration::from_secs(180);

/// Users of the container, so that a module can add another one.
const ACCOUNTS: [(&str, &str, u32); 5] = [
    ("passwd", "root:x:0:0:root:/root:/bin/sh\ndaemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin\n", 0o644),
    ("group", "root:x:0:\nshadow:x:42:\ndaemon:x:1:\n", 0o644),
    ("shadow", "root:*:19000:0:99999:7:::\ndaemon:*:19000:0:99999:7:::\n", 0o640),
    ("gshadow", "root:*::\nshadow:*::\ndaemon:*::\n", 0o640),
    ("login.defs", "UID_MIN 1000\nUID_MAX 60000\nGID_MIN 1000\nGID_MAX 60000\nENCRYPT_METHOD SHA512\n", 0o644),
];

/// Containers of this machine, below a folder of the test.
struct Containers {
    dir: TestDir,
    programs: PathBuf,
}

impl Containers {
    /// Returns `None`, and says why, where no container can run.
    fn new() -> Option<Self> {
        let say = |why: &str| {
            let _ = writeln!(std::io::stderr(), "no container runs here: {why}; native_root.rs stands in for it");
        };
        if !rustix::process::geteuid().is_root() {
            say("this is not root");
            return None;
        }
        let programs = match debian::unpacked("debian-containers", &PACKAGES) {
            Some(programs) => programs.unwrap(),
            None => {
                say("there are no Debian packages");
                return None;
            }
        };
        let containers = Self { dir: TestDir::new(), programs };
        containers.prepare();
        match containers.try_run(&[], &["/usr/bin/true"]) {
            Ok(_) => Some(containers),
            Err(why) => {
                say(&why);
                None
            }
        }
    }

    /// Makes the root of the containers, with this machine's programs, and the engine's configuration.
    fn prepare(&self) {
        for name in ["usr", "proc", "sys", "dev", "tmp", "run", "root", "var", "case"] {
            self.dir.mkdir(&format!("root/{name}"));
        }
        fs::set_permissions(self.dir.join("root/tmp"), fs::Permissions::from_mode(0o1777)).unwrap();
        for name in ["bin", "lib", "lib64", "sbin"] {
            symlink(format!("usr/{name}"), self.dir.join("root").join(name)).unwrap();
        }
        for (name, text, mode) in ACCOUNTS {
            let path = self.dir.write(&format!("root/etc/{name}"), text);
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            if name.ends_with("shadow") {
                chown(&path, Some(0), Some(42)).unwrap();
            }
        }
        for name in ["ld.so.cache", "nsswitch.conf", "alternatives"] {
            let from = Path::new("/etc").join(name);
            if from.exists() {
                let copied = Command::new("cp").arg("-a").arg(from).arg(self.dir.join("root/etc")).status().unwrap();
                assert!(copied.success());
            }
        }
        copy_program(&self.dir.join("root/case/modbox"));
        let program = |name: &str| {
            ["usr/bin", "usr/sbin"]
                .iter()
                .map(|folder| self.programs.join(folder).join(name))
                .find(|path| path.exists())
        };
        let shown =
            |name: &str| program(name).unwrap_or_else(|| Path::new("/usr/bin").join(name)).display().to_string();
        let profile = self.programs.join("usr/share/containers/seccomp.json");
        // The engine asks for more open files than this test may give.
        let text = format!(
            "[containers]\nseccomp_profile = {profile:?}\napparmor_profile = \"\"\n\
             default_ulimits = [\"nofile=1024:1024\", \"nproc=4096:4096\"]\n\
             [engine]\ncgroup_manager = \"cgroupfs\"\nevents_logger = \"none\"\nruntime = \"runc\"\n\
             conmon_path = [{:?}]\n[engine.runtimes]\nrunc = [{:?}]\n",
            shown("conmon"),
            shown("runc"),
        );
        self.dir.write("containers.conf", text);
    }

    /// Runs a command as root in a container of its own.
    fn try_run(&self, switches: &[&str], words: &[&str]) -> Result<String, String> {
        let libraries = self.programs.join("usr/lib").join(format!("{}-linux-gnu", std::env::consts::ARCH));
        let mut command = Command::new(self.programs.join("usr/bin/podman"));
        command.env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").env("LD_LIBRARY_PATH", libraries);
        command.env("HOME", self.dir.join("home")).env("CONTAINERS_CONF", self.dir.join("containers.conf"));
        for (option, folder) in [("--root", "storage"), ("--runroot", "state"), ("--tmpdir", "engine")] {
            command.arg(option).arg(self.dir.join(folder));
        }
        command.args(["--storage-driver", "vfs", "run", "--rm", "--network", "none", "--volume", "/usr:/usr:ro"]);
        let environment = oracle::python().parent().and_then(Path::parent).unwrap().display().to_string();
        // The interpreter of the environment may lie outside of `/usr`.
        let interpreter = oracle::python().canonicalize().unwrap();
        let prefix = interpreter.parent().and_then(Path::parent).unwrap().display().to_string();
        for folder in [environment, prefix] {
            if !folder.starts_with("/usr") {
                command.args(["--volume", &format!("{folder}:{folder}:ro")]);
            }
        }
        command.args(switches).arg("--rootfs").arg(self.dir.join("root")).args(words);
        run_tool(&mut command, PATIENCE)
    }

    #[track_caller]
    fn run(&self, switches: &[&str], words: &[&str]) -> String {
        self.try_run(switches, words).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Reads a file of the containers as JSON.
    #[track_caller]
    fn json(&self, name: &str) -> Value {
        let text = fs::read_to_string(self.dir.join("root/case").join(name)).unwrap();
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }
}

/// Tasks of Ansible's modules on files and users, each with what the second run of it says: whether it changes something.
fn tasks() -> Vec<(&'static str, Value, bool)> {
    vec![
        ("file", json!({"path": "/case/d/a", "state": "directory", "mode": "0750"}), false),
        ("file", json!({"path": "/case/d/b", "state": "directory", "mode": "1777"}), false),
        ("file", json!({"path": "/case/d/touched", "state": "touch", "mode": "0604"}), true),
        ("file", json!({"path": "/case/d/link", "src": "touched", "state": "link"}), false),
        ("file", json!({"path": "/case/d/theirs", "mode": "0666"}), false),
        ("file", json!({"path": "/case/d/mine", "state": "touch", "owner": "1234", "group": "1234"}), true),
        ("file", json!({"path": "/case/d/c/d/e", "state": "directory"}), false),
        ("file", json!({"path": "/case/d/c", "state": "absent"}), false),
        ("file", json!({"path": "/case/d/gone", "state": "absent"}), false),
        ("copy", json!({"src": "/case/d/source", "dest": "/case/d/copied", "remote_src": true, "mode": "0600"}), false),
        ("copy", json!({"src": "/case/d/source", "dest": "/case/d/theirs", "remote_src": true}), false),
        ("copy", json!({"src": "/case/d/source", "dest": "/case/d/a/", "remote_src": true}), false),
        ("lineinfile", json!({"path": "/case/d/lines", "line": "one", "create": true, "mode": "0644"}), false),
        ("lineinfile", json!({"path": "/case/d/lines", "line": "two", "insertbefore": "^one"}), false),
        ("lineinfile", json!({"path": "/case/d/lines", "regexp": "^one", "state": "absent"}), false),
        ("lineinfile", json!({"path": "/case/d/kept", "line": "three"}), false),
        ("replace", json!({"path": "/case/d/lines", "regexp": "two", "replace": "2"}), false),
        ("blockinfile", json!({"path": "/case/d/lines", "block": "a\nb"}), false),
        ("user", json!({"name": "deploy", "uid": 1500, "create_home": false, "shell": "/bin/sh"}), false),
        ("user", json!({"name": "deploy", "state": "absent"}), false),
    ]
}

#[test]
fn root_in_a_container_is_confined_and_does_its_work() {
    let Some(containers) = Containers::new() else { return };
    let dir = &containers.dir;
    dir.mkdir("root/case/out");
    // The attempts, with what they need.
    dir.write("root/case/root.py", fs::read_to_string(fixture("core/native/programs/root.py")).unwrap());
    dir.write_executable(
        "root/case/attempts",
        "#!/bin/sh\n# WANT_JSON\nexec /usr/bin/python3 /case/root.py /case/data /case/other\n",
    );
    for name in ["data/theirs", "data/gone", "d/theirs", "d/kept", "d/gone", "d/source"] {
        let path = dir.write(&format!("root/case/{name}"), format!("{name}\n"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        if !name.ends_with("source") {
            chown(&path, Some(23456), Some(23456)).unwrap();
        }
    }
    dir.write("root/case/other/secret", "secret");
    dir.write_executable("root/case/other/script", "#!/bin/sh\necho ran\n");
    let python = oracle::python().display().to_string();
    let mut script = "cd /case\nexport HOME=/root\nm='./modbox run --output report'\n\
                      $m ./attempts --allow-write /case/data --allow-read /case/root.py > out/attempts\n\
                      ./modbox doctor --json > out/doctor\n"
        .to_owned();
    let tasks = tasks();
    for (at, (module, args, _)) in tasks.iter().enumerate() {
        dir.write(&format!("root/case/args/{at}"), args.to_string());
        let grants = match *module {
            "user" => "--allow-write /etc --allow-own 0:42 --allow-read /var",
            _ => "--allow-write /case/d --allow-own 1234:1234",
        };
        for run in [1, 2] {
            script += &format!(
                "$m ansible.builtin.{module} --interpreter {python} {grants} --args \"$(cat args/{at})\" > out/{at}.{run}\n"
            );
        }
    }
    dir.write("root/case/script", script);
    containers.run(&[], &["/bin/sh", "/case/script"]);

    let report = containers.json("out/attempts");
    assert_eq!((&report["status"], &report["confinement"]["level"]), (&json!("changed"), &json!(2)), "{report:#}");
    assert_confined(&report["result"]["tried"]);
    assert_eq!(fs::read_to_string(dir.join("root/case/other/secret")).unwrap(), "secret");
    for (at, (module, args, again)) in tasks.iter().enumerate() {
        for (run, changes) in [(1, true), (2, *again)] {
            let report = containers.json(&format!("out/{at}.{run}"));
            let expected = if changes { "changed" } else { "ok" };
            assert_eq!(report["status"], expected, "{module} {args}, run {run}: {report:#}");
            assert_eq!(report["confinement"]["level"], 2, "{report:#}");
        }
    }
    let owner = |name: &str| {
        use std::os::unix::fs::MetadataExt as _;
        let meta = fs::metadata(dir.join("root").join(name)).unwrap();
        (meta.uid(), meta.gid(), meta.mode() & 0o7777)
    };
    // A copy of a file on the host replaces the other file, and a new line does not.
    assert_eq!((owner("case/d/theirs"), owner("case/d/kept")), ((0, 0, 0o600), (23456, 23456, 0o600)));
    assert_eq!(owner("case/d/mine").0, 1234);
    assert_eq!((owner("case/d/b").2, owner("etc/shadow")), (0o1777, (0, 42, 0o640)));
    assert_eq!(fs::read_to_string(dir.join("root/case/d/lines")).unwrap().lines().next(), Some("2"));

    let doctor = containers.json("out/doctor");
    let checks = doctor["checks"].as_array().unwrap();
    let check = |name: &str| checks.iter().find(|check| check["name"] == name).unwrap_or_else(|| panic!("{doctor:#}"));
    let native = check("confinement of native modules");
    assert!(native["state"] == "note" && native["found"].as_str().unwrap().starts_with("level 2"), "{doctor:#}");
    let namespaces = check("user namespaces")["remedy"].as_str().unwrap();
    assert!(namespaces.contains("--security-opt unmask=ALL"), "{doctor:#}");
    // The one switch that it names is enough.
    let unmasked = containers.run(&["--security-opt", "unmask=ALL"], &["/case/modbox", "doctor"]);
    assert!(unmasked.contains("confinement of native modules: level 3"), "{unmasked}");
}

//! What native modules can use. A Python script, a shell script and a compiled program try each thing without the
//! grant: the kernel refuses it, and the report names the switch. With that switch, it works. All as root and as an
//! ordinary user.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::support::server::reserved_port;
use crate::support::{copy_executable, fixture, missing, native_c};

/// An ordinary user.
const USER: u32 = 12345;

/// A folder that an ordinary user can use, with modbox and the modules in it.
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
        // Another user may have no access to the target directory.
        let dir = tempfile::Builder::new().permissions(fs::Permissions::from_mode(0o755)).tempdir().unwrap();
        let place = Self { dir, user };
        for own in ["home", "tmp", "data"] {
            fs::create_dir(place.at(own)).unwrap();
            place.give(own);
        }
        for (from, to) in [
            (PathBuf::from(env!("CARGO_BIN_EXE_modbox")), "modbox"),
            (fixture("core/native/programs/attempt.py"), "python"),
            (fixture("core/native/programs/attempt.sh"), "shell"),
            (native_c("core/native/programs/attempt.c"), "binary"),
        ] {
            copy_executable(&from, &place.at(to));
        }
        place.write("data/file", "content");
        place.write("other/file", "content");
        place
    }

    fn at(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn path(&self, name: &str) -> String {
        self.at(name).display().to_string()
    }

    fn give(&self, name: &str) {
        if let Some(user) = self.user {
            std::os::unix::fs::chown(self.at(name), Some(user), Some(user)).unwrap();
        }
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        fs::create_dir_all(self.at(name).parent().unwrap()).unwrap();
        fs::write(self.at(name), text).unwrap();
        self.give(name);
        self.give(Path::new(name).parent().unwrap().to_str().unwrap());
        self.at(name)
    }

    /// Runs a module that tries an operation, and returns the report.
    #[track_caller]
    fn attempt(&self, module: &str, op: &str, what: &str, switches: &[&str]) -> Value {
        let args = json!({"op": op, "what": what}).to_string();
        let mut command = Command::new(self.at("modbox"));
        command.env_clear().env("HOME", self.at("home")).env("TMPDIR", self.at("tmp")).env("STAGE", "secret");
        command.env("PATH", "/usr/local/bin:/usr/bin:/bin").current_dir(self.at("home"));
        command.arg("run").arg(self.at(module)).args(["--output", "report", "--timeout", "20s", "-a", &args]);
        command.args(switches);
        if let Some(user) = self.user {
            command.uid(user).gid(user);
        }
        let output = command.output().unwrap();
        let report = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
        self.assert_nothing_left();
        report
    }

    /// Asserts that runs have left nothing in the folder for temporary files.
    #[track_caller]
    fn assert_nothing_left(&self) {
        let roots = fs::read_dir(self.at("tmp")).unwrap().flatten();
        let left: Vec<_> = roots.flat_map(|root| fs::read_dir(root.path()).unwrap().flatten()).collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

const MODULES: [&str; 3] = ["python", "shell", "binary"];

#[track_caller]
fn assert_confined(report: &Value) {
    assert_eq!(report["confinement"]["level"], 3, "{report:#}");
    let layers: Vec<&str> =
        report["confinement"]["layers"].as_array().unwrap().iter().flat_map(Value::as_str).collect();
    for layer in ["namespace-user", "namespace-mount", "namespace-pid", "seccomp", "rlimits", "no-new-privs"] {
        assert!(layers.contains(&layer), "no {layer} in {layers:?}");
    }
}

/// Tries an operation without a grant, then with the switch that the report names, which must be the given one.
#[track_caller]
fn both(place: &Place, module: &str, op: &str, what: &str, capability: &str, switch: &str) -> Value {
    let refused = place.attempt(module, op, what, &[]);
    assert_confined(&refused);
    assert_eq!(refused["result"]["failed"], true, "{module} {op}: {refused:#}");
    // An argument names the path, so the advice is to designate it.
    let advice = match capability {
        "read" | "write" => format!("--designate what:{capability}"),
        _ => switch.to_owned(),
    };
    let named = missing(&refused).any(|missing| missing["allow"] == *advice && missing["capability"] == capability);
    assert!(named, "{module} {op}: no `{advice}` in {refused:#}");
    let words: Vec<&str> = switch.split(' ').map(|word| word.trim_matches('\'')).collect();
    let allowed = place.attempt(module, op, what, &words);
    assert_confined(&allowed);
    assert_eq!(allowed["status"], "ok", "{module} {op}: {allowed:#}");
    assert!(!missing(&allowed).any(|missing| missing["capability"] == capability), "{module} {op}: {allowed:#}");
    allowed["result"]["got"].clone()
}

#[test]
fn a_file_is_read_with_a_grant_alone() {
    for place in Place::all() {
        let file = place.path("data/file");
        for module in MODULES {
            let got = both(&place, module, "read", &file, "read", &format!("--allow-read {file}"));
            assert_eq!(got, "content", "{module}");
        }
    }
}

#[test]
fn a_granted_root_does_not_show_what_lies_behind_a_modules_own_tmp() {
    // The working directory, the module and the file are below `/tmp`.
    for place in Place::all() {
        let file = place.path("data/file");
        for module in MODULES {
            let refused = place.attempt(module, "read", &file, &["--allow-read", "/", "--designated", "none"]);
            assert_confined(&refused);
            assert_eq!(refused["result"]["failed"], true, "{module}: {refused:#}");
            let named = missing(&refused).any(|missing| missing["allow"] == format!("--allow-read {file}"));
            assert!(named, "{module}: {refused:#}");
            let other = place.attempt(module, "read", "/etc/os-release", &["--allow-read", "/"]);
            assert_eq!(other["status"], "ok", "{module}: {other:#}");
            // A grant below it is neither a part of the root nor in contradiction to it.
            for root in ["--allow-read", "--allow-write"] {
                if root == "--allow-write" && place.user.is_some() {
                    continue;
                }
                let allowed = place.attempt(module, "read", &file, &[root, "/", "--allow-read", &file]);
                assert_confined(&allowed);
                assert_eq!(allowed["result"]["got"], "content", "{module}: {allowed:#}");
            }
        }
    }
}

#[test]
fn a_file_is_written_with_a_grant_alone() {
    for place in Place::all() {
        for module in MODULES {
            for name in ["data/file", "data/new"] {
                let file = place.path(name);
                let before = fs::read(&file).ok();
                let refused = place.attempt(module, "write", &file, &["--allow-read", &place.path("data")]);
                assert_eq!(refused["result"]["failed"], true, "{module}: {refused:#}");
                assert_eq!(fs::read(&file).ok(), before, "{module} wrote to what is granted for reading");
                both(&place, module, "write", &file, "write", &format!("--allow-write {file}"));
                assert_eq!(fs::read(&file).unwrap().trim_ascii(), b"written", "{module}");
            }
            fs::remove_file(place.at("data/new")).unwrap();
            place.write("data/file", "content");
        }
    }
}

#[test]
fn a_directory_is_granted_with_what_is_in_it_and_nothing_beside() {
    for place in Place::all() {
        let (data, other) = (place.path("data"), place.path("other/file"));
        for module in MODULES {
            let read = |what: &str, switch: &str| place.attempt(module, "read", what, &[switch, &data]);
            assert_eq!(read(&place.path("data/file"), "--allow-read")["status"], "ok");
            assert_eq!(read(&other, "--allow-write")["result"]["failed"], true);
            let new = place.path("data/made");
            let made = place.attempt(module, "write", &new, &["--allow-write", &data]);
            assert_eq!(made["status"], "ok", "{made:#}");
            fs::remove_file(new).unwrap();
        }
    }
}

#[test]
fn a_grant_can_be_shown_elsewhere() {
    for place in Place::all() {
        let mapped = format!("{}::/somewhere/else", place.path("data"));
        for module in MODULES {
            let shown = place.attempt(module, "read", "/somewhere/else/file", &["--allow-read", &mapped]);
            assert_eq!(shown["result"]["got"], "content", "{shown:#}");
            let hidden = place.attempt(module, "read", &place.path("data/file"), &["--allow-read", &mapped]);
            assert_eq!(hidden["result"]["failed"], true, "{hidden:#}");
        }
    }
}

#[test]
fn a_variable_is_seen_with_a_grant_alone() {
    for place in Place::all() {
        for module in MODULES {
            let got = both(&place, module, "env", "STAGE", "env", "--allow-env STAGE");
            assert_eq!(got, "secret", "{module}");
        }
    }
}

#[test]
fn a_port_is_reached_with_a_grant_alone() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port().to_string();
    for place in Place::all() {
        for module in MODULES {
            both(&place, module, "connect", &port, "net", &format!("--allow-net '*:{port}+any'"));
            let other = place.attempt(module, "connect", &port, &["--allow-net", "*:1+any"]);
            assert_eq!(other["result"]["failed"], true, "{module}: {other:#}");
        }
    }
}

#[test]
fn a_port_is_listened_at_with_a_grant_alone() {
    let port = reserved_port().to_string();
    for place in Place::all() {
        for module in ["python", "binary"] {
            both(&place, module, "listen", &port, "listen", &format!("--allow-listen 0.0.0.0:{port}"));
        }
    }
}

#[test]
fn a_program_outside_the_system_is_run_with_a_grant_alone() {
    for place in Place::all() {
        let program = place.write("data/program", "#!/bin/sh\necho ran\n");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let program = program.display().to_string();
        for module in MODULES {
            let got = both(&place, module, "run", &program, "read", &format!("--allow-read {program}"));
            assert_eq!(got.as_str().unwrap().trim(), "ran", "{module}");
        }
    }
}

#[test]
fn hosts_are_not_what_the_kernel_knows() {
    for place in Place::all() {
        for (switch, rule, remedy) in [
            ("--allow-net", "example.org:443", "--allow-net '*:443+any'"),
            ("--allow-net", "127.0.0.1", "--allow-net '*+any'"),
            ("--allow-net", "udp:192.0.2.1:53", "--allow-net 'udp:*+any'"),
            ("--allow-listen", "127.0.0.1:80", "--allow-listen 0.0.0.0:80"),
        ] {
            let report = place.attempt("python", "read", "/etc/hosts", &[switch, rule]);
            assert_eq!((&report["status"], &report["denials"][0]["allow"]), (&json!("denied"), &json!(remedy)));
        }
    }
}

#[test]
fn common_files_are_there_and_secrets_are_not() {
    for place in Place::all() {
        for module in MODULES {
            assert_eq!(place.attempt(module, "read", "/etc/hosts", &[])["status"], "ok", "{module}");
            for secret in ["/etc/shadow", "/proc/1/environ", "/sys/kernel/notes", "/var/log/dpkg.log"] {
                let report = place.attempt(module, "read", secret, &[]);
                let got = report["result"]["got"].as_str().unwrap_or_default();
                assert!(!got.contains("root:") && !got.contains("HOME=/root"), "{module} {secret}: {report:#}");
            }
            for system in ["/usr/bin/modbox-test", "/etc/passwd", "/proc/sys/kernel/core_pattern", "/dev/null2"] {
                let report = place.attempt(module, "write", system, &[]);
                assert_eq!(report["result"]["failed"], true, "{module} {system}: {report:#}");
            }
        }
    }
    assert!(!Path::new("/usr/bin/modbox-test").exists());
}

#[test]
fn grants_by_policy_file_count_alike() {
    for place in Place::all() {
        let policy = place.write("policy.yaml", &format!("allow: {{read: [{}]}}\n", place.path("data")));
        let policy = policy.display().to_string();
        let report = place.attempt("python", "read", &place.path("data/file"), &["--policy", &policy]);
        assert_eq!(report["result"]["got"], "content", "{report:#}");
    }
}

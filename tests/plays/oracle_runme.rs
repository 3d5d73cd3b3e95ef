//! Runs ansible-core's own integration targets that are scripts, unmodified, with modbox under the name
//! `ansible-playbook`.
//!
//! A target's `runme.sh` starts `ansible-playbook` many times, and looks at output, files and exit statuses. It runs in a
//! copy of all targets, with the inventory and the variables that `ansible-test` gives. The other programs of Ansible are
//! the real ones. An ordinary run takes a sample of the targets. Each target passes with the real `ansible-playbook` too, which
//! is not run here, since that takes minutes.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::{TestDir, modbox, oracle, sample, temporary};

/// Targets that pass, those that take longest first.
const TARGETS: &[&str] = &[
    "pause",
    "playbook",
    "include_import",
    "blocks",
    "check_mode",
    "unsafe_writes",
    "module_precedence",
    "conditionals",
    "environment",
    "parsing",
    "lookup_password",
    "roles_arg_spec",
    "debug",
    "lookup_ini",
    "var_precedence",
    "json_cleanup",
    "async_extra_data",
    "var_blending",
    "meta_tasks",
    "templating_settings",
    "roles_var_inheritance",
    "tags",
    "loop_control",
    "register",
    "vars_files",
    "include_when_parent_is_dynamic",
    "include_when_parent_is_static",
    "filter_mathstuff",
];

/// Targets that do not pass, and why.
const MISSES: &[(&str, &str)] = &[
    ("any_errors_fatal", "needs each task to run on all hosts before the next task; modbox runs host after host"),
    ("argspec", "runs the program `ansible`, and no play"),
    ("callback_default", "asks for `strategy: free`, and one of its hosts cannot be reached"),
    ("data_tagging_controller", "compares warnings of the controller about untrusted templates word by word"),
    ("gathering_facts", "writes facts into `/etc` of the machine, and gathers facts of programs by `fact_path`"),
    ("jinja2_native_types", "has a file of variables in a vault, and shows `vars` as a whole"),
    ("lookup_env", "uses plugins of ansible-core's own tests"),
    ("module_defaults", "has action plugins in Python"),
    ("no_log", "has an action plugin in Python"),
    ("template", "has a filter plugin in Python"),
    ("test_core", "has a vault, and a host that cannot be reached"),
    ("omit", "a role of it adds a user to the machine"),
    ("var_templating", "looks for the command line of `sudo`, which modbox does not start"),
    ("set_fact", "asks for tags of Ansible's own values, by a test that is a Python plugin, and for a cache of facts"),
    ("include_vars", "asks for tags of Ansible's own values, by a test that is a Python plugin"),
    ("filter_core", "has a vault"),
    ("ignore_errors", "has `ignore_errors` for each item of a loop by itself, since 2.21"),
    ("handlers", "needs each task to run on all hosts before the next task, and Ansible's words about handlers"),
    ("roles", "needs a host that cannot be reached"),
];

/// Number of targets that an ordinary run takes; all of them take minutes.
const SAMPLE: usize = 2;

/// Number of targets that run at the same time. Waiting for the start of programs leaves processors idle.
const THREADS: usize = 3;

/// Bytes of a target's output that a failure shows.
const SHOWN: usize = 4000;

#[test]
fn scripts_of_integration_targets_pass() {
    let targets = sample::sample(TARGETS.to_vec(), SAMPLE);
    let next = AtomicUsize::new(0);
    let failures = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                while let Some(target) = targets.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(output) = run(target) {
                        failures.lock().unwrap().push(format!("--- {target}\n{output}"));
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{} of {} fail\n{}", failures.len(), targets.len(), failures.join("\n"));
}

#[test]
fn each_miss_is_a_target_and_has_a_reason() {
    for (target, reason) in MISSES {
        assert!(oracle::targets().join(target).join("runme.sh").is_file(), "{target}");
        assert!(!TARGETS.contains(target) && !reason.is_empty(), "{target}");
    }
}

/// Runs the script of a target. Returns the end of what it printed if it fails.
fn run(target: &str) -> Result<(), String> {
    let dir = place();
    let python = oracle::python();
    let output = Command::new("bash")
        .arg("runme.sh")
        .env_clear()
        .env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", dir.join("bin").display()))
        .env("HOME", dir.join("home"))
        .env("TMPDIR", dir.join("tmp"))
        .env("XDG_CACHE_HOME", temporary().join("cache"))
        .env("LC_ALL", "C.UTF-8")
        .env("PIP_NO_INDEX", "1")
        .env("OUTPUT_DIR", dir.join("out"))
        .env("JUNIT_OUTPUT_DIR", dir.join("out"))
        .env("ANSIBLE_TEST_PYTHON_INTERPRETER", &python)
        .env("INVENTORY_PATH", dir.join("integration/inventory"))
        .env("ANSIBLE_INVENTORY", dir.join("integration/inventory"))
        .env("ANSIBLE_CONFIG", dir.join("integration/empty.cfg"))
        .env("ANSIBLE_DEPRECATION_WARNINGS", "false")
        .env("ANSIBLE_HOST_KEY_CHECKING", "false")
        .env("ANSIBLE_RETRY_FILES_ENABLED", "false")
        .env("ANSIBLE_HOST_PATTERN_MISMATCH", "error")
        .env("ANSIBLE_NOCOLOR", "1")
        .current_dir(dir.join("integration/targets").join(target))
        .stdin(Stdio::null())
        .output()
        .expect("bash starts");
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    Err(text.get(text.len().saturating_sub(SHOWN)..).map_or_else(|| text.clone(), str::to_owned))
}

/// Makes a place for a target: a copy of all targets, since some use others, an inventory, and programs.
fn place() -> TestDir {
    let dir = TestDir::new();
    ["home", "tmp", "out", "bin"].into_iter().for_each(|name| drop(dir.mkdir(name)));
    dir.mkdir("integration");
    let copied = Command::new("cp").arg("-R").arg(oracle::targets()).arg(dir.join("integration")).status();
    assert!(copied.expect("cp starts").success());
    let python = oracle::python();
    let host = format!("testhost ansible_connection=\"local\" ansible_python_interpreter=\"{}\"", python.display());
    dir.write("integration/inventory", format!("[testgroup]\n{host}\n"));
    dir.write("integration/empty.cfg", "");
    programs(&dir, &python);
    dir
}

/// Puts the programs of Ansible into `bin`. `ansible-playbook` is modbox, with all grants: targets start programs and
/// write to places that no argument names.
fn programs(dir: &TestDir, python: &Path) {
    let real = python.parent().expect("an interpreter lies in a folder");
    for entry in fs::read_dir(real).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        if name.starts_with("ansible") && name != "ansible-playbook" {
            symlink(entry.path(), dir.join("bin").join(name)).unwrap();
        } else if name.starts_with("python") || name == "pip3" {
            // A link would be Python outside of its virtual environment.
            let name = if name == "pip3" { "pip" } else { &name };
            let script = format!("#!/bin/sh\nexec '{}' \"$@\"\n", entry.path().display());
            dir.write_executable(&format!("bin/{name}"), script);
        }
    }
    // Targets that install packages enter a virtual environment first. This one has what they install.
    dir.write("bin/virtualenv.sh", "");
    let script = format!(
        "#!/bin/bash\nexec -a ansible-playbook '{}' --allow-all --prefer classic --interpreter '{}' \"$@\"\n",
        modbox().display(),
        python.display()
    );
    dir.write_executable("bin/ansible-playbook", script);
}

//! What the collection does on the controller beside its tasks, under the real ansible-core: the callback that collects audit
//! lines, policies that come with tasks, the role that installs modbox, and runners that are known by their digests.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use crate::ansible::oracle_collection::{ansible, build, install, play, releases};
use crate::support::{Modbox, TestDir, modbox, oracle, prefixed, sample};

/// The option that names modbox on the host.
fn executable() -> String {
    format!("modbox_executable={}", modbox().display())
}

/// Returns the lines of a collected log.
fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
}

#[track_caller]
fn check_callback(version: &str) {
    let dir = TestDir::new();
    install(version, &dir, &[build(&dir, "out", &[])]);
    let (log, link) = (dir.join("lines.jsonl"), dir.mkdir("bin").join("modbox-python"));
    symlink(modbox(), &link).unwrap();
    dir.write("home/.config/modbox/policy.yaml", "audit-in-results: true\n");
    let file = dir.write("file", "one\n");
    let line = |line: &str| json!({"path": file, "line": line});
    let status = json!({"jid": "{{ task_4.ansible_job_id }}"});
    let tasks = [
        json!({"name": "Two lines", "modbox.modbox.lineinfile": line("{{ item }}"), "loop": ["two", "three"]}),
        json!({"name": "No line", "modbox.modbox.lineinfile": {"path": file}}),
        json!({"name": "Secret", "modbox.modbox.lineinfile": line("four"), "no_log": true}),
        json!({"name": "Waited", "modbox.modbox.ping": {}, "async": 120, "poll": 1}),
        json!({"name": "Started", "modbox.modbox.ping": {}, "async": 120, "poll": 0}),
        json!({"ansible.builtin.async_status": status, "until": "task_5 is finished", "retries": 120, "delay": 1}),
        json!({"name": "Python", "ansible.builtin.ping": {}, "vars": {"ansible_python_interpreter": link}}),
        json!({"name": "Unconfined", "ansible.builtin.ping": {}}),
    ];
    let mut command = ansible(version, &dir, "playbook");
    command.env("ANSIBLE_CALLBACKS_ENABLED", "modbox.modbox.audit").env("MODBOX_AUDIT_FILE", &log);
    let ran = oracle::play_by(command, &dir, &tasks, &["-e", &executable()]);
    let ran: Vec<Value> = serde_json::from_str(&ran).unwrap();
    // Since 2.21, ansible-core registers an invocation that a module tells unasked.
    let registers = oracle::newest() == Some(version);
    assert!(registers || ran.iter().all(|result| result.get("invocation").is_none()), "{ran:?}");
    let told = lines(&fs::read_to_string(&log).expect("the callback writes"));
    let seen: Vec<[&str; 3]> = told
        .iter()
        .map(|line| [&line["task"], &line["module"]["name"], &line["status"]].map(|text| text.as_str().unwrap()))
        .collect();
    let lineinfile = "modbox.modbox.lineinfile";
    assert_eq!(seen[..2], [["Two lines", lineinfile, "changed"]; 2], "{seen:?}");
    assert_eq!(seen[2], ["No line", lineinfile, "failed"]);
    assert_eq!(seen[3..].iter().filter(|line| line[1] == "modbox.modbox.ping").count(), 2, "{seen:?}");
    assert_eq!(seen[5..], [["Python", "ansible.builtin.ping", "ok"]], "{seen:?}");
    assert!(told.iter().all(|line| line["host"] == "localhost" && line["grants"].is_array()), "{told:?}");
    assert_eq!(fs::metadata(&log).unwrap().permissions().mode() & 0o777, 0o600);

    let audit =
        |switches: &[&str]| Modbox::new(&dir).arg("audit").args(switches).arg(&log).run().exits_with(0).stdout_text();
    let table = audit(&["--host", "local*"]);
    assert!(
        table.contains("HOST\n") && table.lines().all(|row| row.ends_with("HOST") || row.ends_with("localhost")),
        "{table}"
    );
    assert_eq!(audit(&["--host", "web*"]), "");
    assert!(audit(&["--html"]).contains("<td>localhost</td>"));
    dir.assert_nothing_left();
}

#[test]
fn the_callback_collects_the_lines_of_all_modules() {
    for version in sample::sample(releases(), 1) {
        check_callback(version);
    }
}

#[test]
fn a_callback_that_cannot_write_warns_once_and_stops_no_task() {
    let dir = TestDir::new();
    install(oracle::version(), &dir, &[build(&dir, "out", &[])]);
    let ping = json!({"modbox.modbox.ping": {}});
    let book = json!([{"hosts": "localhost", "gather_facts": false, "tasks": [ping.clone(), ping]}]);
    let mut command = ansible(oracle::version(), &dir, "playbook");
    command.env("ANSIBLE_CALLBACKS_ENABLED", "modbox.modbox.audit").env("MODBOX_AUDIT_FILE", dir.join("no/such/file"));
    let ran = command.args(["-e", &executable()]).arg(dir.write("book.yml", book.to_string())).output().unwrap();
    let text = String::from_utf8_lossy(&ran.stdout).into_owned() + &String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success() && text.contains("ok=2"), "{text}");
    assert_eq!(text.matches("audit lines of hosts are not written").count(), 1, "{text}");
}

#[test]
fn a_policy_comes_with_a_task() {
    let dir = TestDir::new();
    install(oracle::version(), &dir, &[build(&dir, "out", &[])]);
    let file = dir.write("file", "one\n");
    dir.write("files/read.yaml", "designated: read\n");
    let line = |policy: Value| json!({"modbox.modbox.lineinfile": {"path": file, "line": "two"}, "vars": {"modbox_policy": policy}});
    let job = |mut task: Value| {
        task.as_object_mut().unwrap().extend([("async".to_owned(), json!(60)), ("poll".to_owned(), json!(1))]);
        task
    };
    let tasks = [
        line(json!("read.yaml")),
        line(json!({"designated": "{{ 'no' ~ 'ne' }}"})),
        job(line(json!({"designated": "none"}))),
        line(json!({"allow": {"write": [dir.path()]}})),
        line(json!("nowhere.yaml")),
        line(json!(["x"])),
        line(json!({"limits": {"timeout": "30s"}})),
    ];
    let ran = play(oracle::version(), &dir, &tasks, &["-e", &executable()]);
    for (number, expect) in [
        (0, "--allow-write"),
        (1, "--allow-write"),
        (2, "--allow-write"),
        (3, "accept-policy: grants"),
        (4, "nowhere.yaml"),
        (5, "modbox_policy must be a mapping"),
    ] {
        let message = ran[number]["msg"].as_str().unwrap_or_default();
        assert!(ran[number]["failed"] == true && message.contains(expect), "{number}: {}", ran[number]);
    }
    assert_eq!(ran[6]["changed"], true, "{}", ran[6]);
    assert_eq!(fs::read_to_string(&file).unwrap(), "one\ntwo\n");
    dir.assert_nothing_left();
}

/// Makes a controller with modbox for hosts, not in `PATH`. Returns its folder.
fn runner_folder(dir: &TestDir) -> PathBuf {
    let folder = dir.mkdir("for hosts");
    symlink(modbox(), folder.join(format!("modbox-linux-{}", std::env::consts::ARCH))).unwrap();
    folder
}

#[test]
fn only_known_runners_are_sent() {
    let dir = TestDir::new();
    let folder = runner_folder(&dir);
    let known = build(&dir, "known", &["--runner", modbox().to_str().unwrap()]);
    let play_with = |archive: PathBuf| {
        install(oracle::version(), &dir, &[archive]);
        let mut command = ansible(oracle::version(), &dir, "playbook");
        command.env("PATH", "/usr/bin:/bin").args(["-e", &json!({"modbox_runner_dir": folder}).to_string()]);
        let ran = oracle::play_by(command, &dir, &[json!({"modbox.modbox.ping": {}})], &[]);
        serde_json::from_str::<Value>(&ran).unwrap()[0].clone()
    };
    let ran = play_with(known);
    assert_eq!(ran["ping"], "pong", "{ran}");
    fs::remove_dir_all(dir.join("home/.cache/modbox")).unwrap();
    fs::remove_dir_all(dir.join("collections")).unwrap();
    // A program of another digest, which a newer modbox could be.
    let other = dir.join("other");
    fs::write(&other, [fs::read(modbox()).unwrap(), vec![0]].concat()).unwrap();
    let ran = play_with(build(&dir, "other-one", &["--version", "0.1.1", "--runner", other.to_str().unwrap()]));
    let message = ran["msg"].as_str().unwrap_or_default();
    assert!(message.contains("built for others") && message.contains(folder.to_str().unwrap()), "{ran}");
    assert!(!dir.join("home/.cache/modbox/runners").exists());
}

#[test]
fn wrong_runners_are_refused_with_their_path() {
    let dir = TestDir::new();
    let program = modbox().display().to_string();
    let text = dir.write("text", "#!/bin/sh\n").display().to_string();
    for (switches, status, expect) in [
        (vec!["--runner", &text], 3, "it is not a program for Linux"),
        (vec!["--runner", "nowhere"], 3, "nowhere"),
        (vec!["--runner", "/dev/zero"], 3, "longer than the limit"),
        (vec!["--runner", &program, "--runner", &program], 3, "two runners are for"),
        (vec!["--namespace", "acme", "--runner", &program], 3, "only the collection modbox.modbox sends runners"),
    ] {
        let build = Modbox::new(&dir).args(["collection", "build", "--output", "out"]).args(&switches);
        let ran = build.arg(crate::support::module("ping")).run().exits_with(status);
        assert!(ran.stderr_text().contains(expect), "{ran}");
    }
}

#[track_caller]
fn check_role(version: &str) {
    let dir = TestDir::new();
    install(version, &dir, &[build(&dir, "out", &[])]);
    let place = dir.mkdir("host");
    let policy = json!({"python-modules": "confine", "audit-in-results": true, "limits": {"memory": "512MiB"}});
    let variables = json!({
        "modbox_runner_dir": runner_folder(&dir),
        "modbox_install_path": place.join("modbox"),
        "modbox_install_python_link": place.join("modbox-python"),
        "modbox_install_policy_path": dir.join("home/.config/modbox/policy.yaml"),
        "modbox_install_policy": policy,
        "modbox_install_interpreter": oracle::python_of(version),
    });
    // As in an inventory whose hosts run their modules by the link that the role makes.
    let host = json!({"ansible_connection": "local", "ansible_python_interpreter": place.join("modbox-python")});
    let inventory = dir.write("inventory.json", json!({"all": {"hosts": {"localhost": host}}}).to_string());
    let role = json!({"name": "modbox.modbox.install"});
    let tasks = json!([{"ansible.builtin.import_role": role}, {"ansible.builtin.ping": {}}]);
    let book = json!([{"hosts": "localhost", "gather_facts": false, "tasks": tasks}]);
    let book = dir.write("book.yml", book.to_string());
    let run = |more: &Value, switches: &[&str]| {
        let mut command = ansible(version, &dir, "playbook");
        command.arg("-i").arg(&inventory).args(["-e", &variables.to_string(), "-e", &more.to_string()]);
        command.args(switches).arg(&book);
        let ran = command.output().unwrap();
        let text = String::from_utf8_lossy(&ran.stdout).into_owned() + &String::from_utf8_lossy(&ran.stderr);
        (ran.status.success(), text)
    };
    let (is_done, text) = run(&json!({"modbox_install_policy": {"alow": {}}}), &[]);
    assert!(!is_done && text.contains("unknown key"), "{text}");
    assert!(!dir.join("home/.config/modbox/policy.yaml").exists(), "a wrong policy is not put in place");
    let (is_done, text) = run(&json!({}), &[]);
    assert!(is_done && text.contains("ok="), "{text}");
    assert_eq!(fs::read_link(place.join("modbox-python")).unwrap(), place.join("modbox"));
    let check = Modbox::new(&dir).args(["policy", "check", "home/.config/modbox/policy.yaml"]).run();
    check.exits_with(0);
    let (is_done, text) = run(&json!({}), &[]);
    assert!(is_done && text.contains("changed=0"), "{text}");
    let (is_done, text) = run(&json!({}), &["--check"]);
    assert!(is_done && text.contains("changed=0"), "{text}");
}

/// Runs a command in a room of its own, where AppArmor keeps namespaces from programs without a profile, and a parser notes how it is
/// told. What the command makes in `/etc` and `/usr/local/bin` is then in the folder `$0`.
const UBUNTU: &str = r#"
    set -eu
    mount -t tmpfs none "$0"
    for folder in etc usr/local/bin; do
        name=$(basename $folder)
        mkdir -p "$0/$name" "$0/work-$name"
        mount -t overlay -o "lowerdir=/$folder,upperdir=$0/$name,workdir=$0/work-$name" none /$folder
    done
    mkdir -p /etc/apparmor.d/abi "$0/kernel"
    touch /etc/apparmor.d/abi/4.0 "$0/kernel/apparmor_restrict_unprivileged_userns"
    mount --bind "$0/kernel" /proc/sys/kernel
    printf '#!/bin/sh\necho "$*" >> %s/bin/told\n' "$0" > /usr/local/bin/apparmor_parser
    chmod +x /usr/local/bin/apparmor_parser
    for run in first second; do "$@"; done
    cat "$0/bin/told"
    cmp "$0/bin/modbox" "$MODBOX"
    cat "$0/etc/apparmor.d/modbox"
"#;

#[test]
#[ignore = "takes long; run it with `--ignored`"]
fn the_role_installs_a_profile_where_programs_need_one_for_namespaces() {
    let (dir, version) = (TestDir::new(), oracle::version());
    install(version, &dir, &[build(&dir, "out", &[])]);
    let variables = json!({
        "modbox_runner_dir": runner_folder(&dir),
        "modbox_install_python_link": "",
        "modbox_install_interpreter": oracle::python_of(version),
    });
    let role = json!([{"ansible.builtin.import_role": {"name": "modbox.modbox.install"}}]);
    let book = json!([{"hosts": "localhost", "gather_facts": false, "tasks": role}]);
    let book = dir.write("book.yml", book.to_string());
    let mut command = ansible(version, &dir, "playbook");
    command.args(["-i", "localhost,", "-c", "local", "-e", &variables.to_string()]).arg(&book);
    command.env("MODBOX", modbox());
    let mut room = Command::new("unshare");
    room.args(["--map-root-user", "--mount", "sh", "-c", UBUNTU]).arg(dir.mkdir("room"));
    let ran = prefixed(room, &command).output().unwrap();
    let (out, errors) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success(), "{out}{errors}");
    let profile = include_str!("../../runner/ansible/collection/data/roles/install/files/apparmor");
    // Told once: the second run changes nothing.
    let end = format!("\n--replace --write-cache /etc/apparmor.d/modbox\n{profile}");
    assert!(out.ends_with(&end) && out.matches("changed=0").count() == 1, "{out}{errors}");
}

#[test]
fn the_role_installs_modbox_and_a_checked_policy() {
    for version in sample::sample(releases(), 1) {
        check_role(version);
    }
}

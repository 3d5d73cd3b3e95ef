//! Plays that change a machine, learned in one run on a fresh host, and confined with what was learned on another: the same files as
//! after plain Ansible.
//!
//! Each host is this machine under a layer of its own; see `fresh_host.sh`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{Modbox, TestDir, oracle, prefixed, temporary};

const FRESH_HOST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/support/fresh_host.sh");

/// A package, a service with a script, users, cron, files with checks, templates, and settings.
const PLAY: &str = r#"
- hosts: localhost
  gather_facts: false
  tasks:
    - name: package
      command: dpkg -i {{ here }}/learned-sample.deb
      args: {creates: /etc/init.d/learned-sample}
    - name: chosen
      dpkg_selections: {name: learned-sample, selection: hold}
    - name: group
      group: {name: outsiders, gid: 23456}
    - name: user
      user: {name: outsider, uid: 23457, group: outsiders, home: /srv/outsider, create_home: false}
    - name: checked file
      copy: {dest: /etc/learned-sample/main.conf, content: "value=1\n", owner: outsider, mode: '0640', validate: 'grep -q value %s'}
    - name: template
      template: {src: site.j2, dest: /etc/learned-sample/site.conf}
    - name: table
      cron: {name: sample, user: outsider, special_time: daily, job: "learned-sample --daily"}
    - name: line
      lineinfile: {path: /etc/learned-sample/defaults, line: "swappiness = 10"}
      notify: restarted
    - name: folder
      file: {path: /srv/learned, state: directory, owner: outsider, group: outsiders, mode: '0750'}
    - name: started
      service: {name: learned-sample, state: started, use: sysvinit}
    - name: told
      shell: cat /etc/learned-sample/*.conf > /var/lib/learned-sample.told
      args: {creates: /var/lib/learned-sample.told}
  handlers:
    - name: restarted
      service: {name: learned-sample, state: restarted, use: sysvinit}
"#;

/// A script of a service, which notes what it was told.
const SCRIPT: &str = "#!/bin/sh\n### BEGIN INIT INFO\n# Provides: learned-sample\n# Default-Start: 2\n# Default-Stop: 0\n\
    ### END INIT INFO\ncase $1 in\n\
    status) test -e /var/lib/learned-sample.on;;\n\
    start) echo start >> /var/lib/learned-sample.log; touch /var/lib/learned-sample.on;;\n\
    stop) echo stop >> /var/lib/learned-sample.log; rm -f /var/lib/learned-sample.on;;\n\
    restart) $0 stop; $0 start;;\nesac\n";

/// A `crontab` that keeps the tables of users, since not each machine has one.
const CRONTAB: &str = "#!/bin/sh\nuser=$(id -un)\nif [ \"$1\" = -u ]; then user=$2; shift 2; fi\nfile=/var/lib/learned-sample.cron-$user\n\
    case $1 in\n-l) if [ -e \"$file\" ]; then cat \"$file\"; else echo \"no crontab for $user\" >&2; exit 1; fi ;;\n\
    -r) rm -f \"$file\" ;;\n*) cat \"$1\" > \"$file\" ;;\nesac\n";

/// Where programs are, those that manage the system among them.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// What is compared, as shell code that prints it.
const STATE: &str = "getent passwd outsider; getent group outsiders; dpkg --get-selections learned-sample; \
    for f in /etc/learned-sample/* /srv/learned /var/lib/learned-sample.*; do stat -c '%n %U %G %a' \"$f\"; \
    test -d \"$f\" || cat \"$f\"; done";

/// Makes the package and the files of the play.
fn prepare(dir: &TestDir) {
    dir.write("play.yml", PLAY);
    dir.write("templates/site.j2", "site={{ here | basename | length > 0 }}\n");
    dir.write(
        "deb/DEBIAN/control",
        "Package: learned-sample\nVersion: 1\nArchitecture: all\nMaintainer: x <x@example.org>\nDescription: x\n",
    );
    dir.write("deb/etc/learned-sample/defaults", "a = 1\n");
    dir.write("deb/etc/init.d/learned-sample", SCRIPT);
    dir.write("deb/usr/bin/crontab", CRONTAB);
    let script = "chmod 755 deb/etc/init.d/learned-sample deb/usr/bin/crontab deb/DEBIAN && chmod -R go-w deb && dpkg-deb --root-owner-group -b deb learned-sample.deb";
    let made = Command::new("sh").args(["-ec", script]).current_dir(dir.path()).output().unwrap();
    assert!(made.status.success(), "{made:?}");
}

/// Returns a command that begins a host, and goes on with another one and then with [`STATE`].
fn fresh_host(dir: &TestDir, name: &str) -> Command {
    let layer = dir.mkdir(&format!("layer-{name}"));
    let mut host = Command::new("unshare");
    host.args(["--mount", "--pid", "--fork", "--kill-child", "sh", FRESH_HOST]).arg(layer).arg(target());
    let then = format!("\"$@\"; status=$?; {{ {STATE}; }} > state-{name} 2>&1; exit $status");
    host.args(["sh", "-c", &then, "sh"]);
    host
}

/// Returns the target directory, which has modbox, the oracle and the files of the test.
fn target() -> PathBuf {
    temporary().parent().expect("it lies in the target directory").to_owned()
}

fn state(dir: &TestDir, name: &str) -> String {
    fs::read_to_string(dir.join(&format!("state-{name}"))).unwrap()
}

fn modbox(dir: &TestDir, python: &Path, name: &str, options: &[&str]) {
    let ran = Modbox::new(dir)
        .args(["play", "play.yml", "--prefer", "classic", "-e", &format!("here={}", dir.path().display())])
        .args(["--interpreter", &format!("python={}", python.display())])
        .args(options)
        .env("PATH", PATH)
        .behind(|command| prefixed(fresh_host(dir, name), &command))
        .run();
    assert!(ran.status.success(), "{name}: {ran}");
}

#[test]
fn a_learned_play_is_confined_and_leaves_the_files_of_plain_ansible() {
    let Some(version) = oracle::newest() else { return };
    let is_debian = ["/usr/bin/dpkg-deb", "/usr/sbin/service"].iter().all(|path| Path::new(path).exists());
    if !rustix::process::geteuid().is_root() || !is_debian {
        return;
    }
    let (dir, python): (TestDir, PathBuf) = (TestDir::new(), oracle::python_of(version));
    prepare(&dir);
    let mut playbook = oracle::ansible_by(&python, &dir, "playbook");
    playbook.args(["play.yml", "-i", "localhost,", "-c", "local", "-e", &format!("here={}", dir.path().display())]);
    playbook.arg("-e").arg(format!("ansible_python_interpreter={}", python.display())).env("PATH", PATH);
    let ran = prefixed(fresh_host(&dir, "plain"), &playbook).output().unwrap();
    let said = [ran.stdout, ran.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(ran.status.success(), "{said}");

    modbox(&dir, &python, "learned", &["--learn", "learned.yaml"]);
    let policy = fs::read_to_string(dir.join("learned.yaml")).unwrap();
    modbox(&dir, &python, "confined", &["--policy", "learned.yaml"]);

    assert!(state(&dir, "plain").contains("learned-sample.on"), "{}", state(&dir, "plain"));
    assert_eq!(state(&dir, "learned"), state(&dir, "plain"), "{policy}");
    assert_eq!(state(&dir, "confined"), state(&dir, "plain"), "{policy}");
    let lines = policy.lines().count();
    // A person decides about the command that installs a file.
    assert!(lines <= 30 && policy.matches("decide").count() <= 1, "{lines} lines: {policy}");
    for rule in [
        "cron: {profiles: [{manage-cron: [outsider]}]}",
        "group: {profiles: [{manage-users: [outsiders]}]}",
        "service: {profiles: [{manage-services: [learned-sample]}]}",
    ] {
        assert!(policy.contains(rule), "{rule}: {policy}");
    }
    assert!(!Path::new("/etc/learned-sample").exists(), "the machine was changed");
    dir.assert_nothing_left();
}

//! Ansible's own modules that manage a machine, each twice in a row: results and what they leave on a host are those of plain Ansible. The
//! policy is what `modbox play --explain` says that the play needs, and nothing else.
//!
//! Each side runs in a host of its own, on this machine's file systems; see `system_host.sh`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::support::{Modbox, TestDir, debian, oracle, prefixed, repository};

/// Tasks, without their names and the names of their results.
const TASKS: &str = r#"
group: {name: lodgers, gid: 23461}
group: {name: lodgers, gid: 23461}
user: {name: lodger, uid: 23460, groups: [lodgers], comment: "A lodger", password: "$6$abc$IB2mjUgCHjWNlkpsLHOXcnMqKwLdZVlqrjYE4LBzF9hHqw0nqFNKFBnB8QxmPQbcTvXQLIK0xGQtP1PeIX3QU/"}
user: {name: lodger, uid: 23460, groups: [lodgers], comment: "A lodger", password: "$6$abc$IB2mjUgCHjWNlkpsLHOXcnMqKwLdZVlqrjYE4LBzF9hHqw0nqFNKFBnB8QxmPQbcTvXQLIK0xGQtP1PeIX3QU/"}
user: {name: lodger, password: "$6$def$IB2mjUgCHjWNlkpsLHOXcnMqKwLdZVlqrjYE4LBzF9hHqw0nqFNKFBnB8QxmPQbcTvXQLIK0xGQtP1PeIX3QU/"}
getent: {database: passwd, key: lodger}
cron: {name: modtest, user: lodger, special_time: daily, job: "true"}
cron: {name: modtest, user: lodger, special_time: daily, job: "true"}
cron: {name: modtest, user: lodger, state: absent}
dpkg_selections: {name: bash, selection: hold}
dpkg_selections: {name: bash, selection: hold}
debconf: {name: modtest, question: modtest/question, value: "yes", vtype: boolean}
debconf: {name: modtest, question: modtest/question, value: "yes", vtype: boolean}
hostname: {name: after.example}
hostname: {name: after.example}
sysvinit: {name: modtest, state: started, enabled: true}
sysvinit: {name: modtest, state: started, enabled: true}
service: {name: modtest, state: restarted, use: service}
service: {name: modtest, state: stopped, use: service}
known_hosts: {name: host.example, path: /etc/modtest-hosts, key: "host.example ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJoHG8qHUqMb0gqBvVrKKgqxhNZLXPpEmW5yrkrYbRxF"}
known_hosts: {name: host.example, path: /etc/modtest-hosts, key: "host.example ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJoHG8qHUqMb0gqBvVrKKgqxhNZLXPpEmW5yrkrYbRxF"}
apt: {name: modtest}
apt: {name: modtest}
package_facts: {}
apt: {name: modtest, state: absent, purge: true}
apt: {name: modtest, state: absent, purge: true}
"#;

/// Tasks of modules that write configuration, most of them of collections.
const CONFIGURING: &str = r#"
ansible.builtin.file: {path: /etc/modtest-folder, state: directory, mode: "0750"}
ansible.builtin.file: {path: /etc/modtest-folder, state: directory, mode: "0750"}
ansible.builtin.lineinfile: {path: /etc/modtest/main.conf, line: "c = 1"}
ansible.builtin.lineinfile: {path: /etc/modtest/main.conf, line: "c = 1"}
ansible.builtin.blockinfile: {path: /etc/modtest/main.conf, block: "d = 1"}
ansible.builtin.blockinfile: {path: /etc/modtest/main.conf, block: "d = 1"}
ansible.builtin.replace: {path: /etc/modtest/main.conf, regexp: "^a = .*", replace: "a = 2"}
ansible.builtin.replace: {path: /etc/modtest/main.conf, regexp: "^a = .*", replace: "a = 2"}
ansible.builtin.assemble: {src: /etc/modtest/parts, dest: /etc/modtest-assembled, remote_src: true}
ansible.builtin.assemble: {src: /etc/modtest/parts, dest: /etc/modtest-assembled, remote_src: true}
ansible.builtin.wait_for: {path: /etc/modtest/main.conf}
ansible.builtin.unarchive: {src: /var/modtest/archive.tar, dest: /var/modtest/unpacked, remote_src: true}
ansible.builtin.unarchive: {src: /var/modtest/archive.tar, dest: /var/modtest/unpacked, remote_src: true}
ansible.builtin.deb822_repository: {name: modtest, types: [deb], uris: ["file:/var/modtest-repository"], suites: ["./"], trusted: true}
ansible.builtin.deb822_repository: {name: modtest, types: [deb], uris: ["file:/var/modtest-repository"], suites: ["./"], trusted: true}
ansible.builtin.apt_repository: {repo: "deb [trusted=yes] file:/var/modtest-repository ./ #2", filename: modtest2, update_cache: false}
ansible.builtin.apt_repository: {repo: "deb [trusted=yes] file:/var/modtest-repository ./ #2", filename: modtest2, update_cache: false}
ansible.posix.authorized_key: {user: root, path: /etc/modtest-keys, manage_dir: false, key: "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJoHG8qHUqMb0gqBvVrKKgqxhNZLXPpEmW5yrkrYbRxF one"}
ansible.posix.authorized_key: {user: root, path: /etc/modtest-keys, manage_dir: false, key: "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJoHG8qHUqMb0gqBvVrKKgqxhNZLXPpEmW5yrkrYbRxF one"}
ansible.posix.sysctl: {name: vm.swappiness, value: "61", sysctl_file: /etc/modtest-sysctl.conf, reload: false}
ansible.posix.sysctl: {name: vm.swappiness, value: "61", sysctl_file: /etc/modtest-sysctl.conf, reload: false}
community.general.ini_file: {path: /etc/modtest.ini, section: a, option: b, value: c}
community.general.ini_file: {path: /etc/modtest.ini, section: a, option: b, value: c}
community.general.pamd: {name: pam, path: /etc/modtest, type: auth, control: required, module_path: pam_unix.so, new_control: sufficient}
community.general.pamd: {name: pam, path: /etc/modtest, type: auth, control: required, module_path: pam_unix.so, new_control: sufficient}
community.general.sudoers: {name: modtest, user: lodger, commands: [/bin/true], sudoers_path: /etc/modtest/sudoers.d, validation: absent}
community.general.sudoers: {name: modtest, user: lodger, commands: [/bin/true], sudoers_path: /etc/modtest/sudoers.d, validation: absent}
community.general.alternatives: {name: modtest, path: /bin/false}
community.general.alternatives: {name: modtest, path: /bin/false}
community.general.timezone: {name: Europe/Vienna}
community.general.timezone: {name: Europe/Vienna}
community.general.kernel_blacklist: {name: modtest, blacklist_file: /etc/modtest/blacklist.conf}
community.general.kernel_blacklist: {name: modtest, blacklist_file: /etc/modtest/blacklist.conf}
community.general.cronvar: {name: MAILTO, value: lodger, user: games}
community.general.cronvar: {name: MAILTO, value: lodger, user: games}
community.general.htpasswd: {path: /etc/modtest-htpasswd, name: lodger, password: secret, hash_scheme: plaintext}
community.general.htpasswd: {path: /etc/modtest-htpasswd, name: lodger, password: secret, hash_scheme: plaintext}
community.general.archive: {path: /etc/modtest/main.conf, dest: /var/modtest-archived.zip, format: zip}
community.general.git_config: {name: user.name, value: lodger, scope: file, file: /etc/modtest/gitconfig}
community.general.git_config: {name: user.name, value: lodger, scope: file, file: /etc/modtest/gitconfig}
community.general.interfaces_file: {dest: /etc/modtest/interfaces, iface: eth0, option: mtu, value: "1400"}
community.general.interfaces_file: {dest: /etc/modtest/interfaces, iface: eth0, option: mtu, value: "1400"}
community.general.xml: {path: /etc/modtest/a.xml, xpath: /a/b, value: c}
community.general.xml: {path: /etc/modtest/a.xml, xpath: /a/b, value: c}
community.general.filesize: {path: /var/modtest/sized, size: 10KiB}
community.general.filesize: {path: /var/modtest/sized, size: 10KiB}
community.general.read_csv: {path: /etc/modtest/a.csv}
community.general.crypttab: {name: luks-modtest, backing_device: /dev/null, password: none, opts: discard, path: /etc/modtest/crypttab, state: present}
community.general.crypttab: {name: luks-modtest, backing_device: /dev/null, password: none, opts: discard, path: /etc/modtest/crypttab, state: present}
community.crypto.openssl_privatekey_info: {content: "KEY"}
community.crypto.openssl_publickey: {path: /etc/modtest.pub, privatekey_content: "KEY"}
community.crypto.openssl_publickey: {path: /etc/modtest.pub, privatekey_content: "KEY"}
"#;

/// Tasks of modules that ask the kernel, or start programs that do.
const STARTING: &str = r#"
ansible.builtin.iptables: {chain: INPUT, protocol: tcp, destination_port: "22", jump: ACCEPT, comment: modtest}
ansible.builtin.iptables: {chain: INPUT, protocol: tcp, destination_port: "22", jump: ACCEPT, comment: modtest}
ansible.builtin.iptables: {chain: FORWARD, policy: DROP}
ansible.builtin.iptables: {chain: MODTEST, chain_management: true}
ansible.builtin.service_facts: {}
ansible.builtin.systemd_service: {name: modtest, state: started, enabled: true, daemon_reload: true}
ansible.builtin.systemd_service: {name: modtest, state: started, enabled: true}
ansible.builtin.systemd_service: {name: modtest, masked: true, state: stopped}
ansible.builtin.git: {repo: /var/modtest-repository-git, dest: /var/modtest-git/checkout, version: main}
ansible.builtin.git: {repo: /var/modtest-repository-git, dest: /var/modtest-git/checkout, version: main}
ansible.posix.acl: {path: /etc/modtest/main.conf, entity: games, etype: user, permissions: r, state: present}
ansible.posix.acl: {path: /etc/modtest/main.conf, entity: games, etype: user, permissions: r, state: present}
ansible.posix.at: {command: "true", count: 20, units: days, unique: true}
ansible.posix.mount: {path: /srv/modtest, src: /dev/modtest, fstype: ext4, fstab: /etc/modtest/fstab, state: present}
ansible.posix.mount: {path: /srv/modtest, src: /dev/modtest, fstype: ext4, fstab: /etc/modtest/fstab, state: present}
ansible.posix.patch: {src: /etc/modtest/change.patch, dest: /etc/modtest/patched, remote_src: true}
ansible.posix.patch: {src: /etc/modtest/change.patch, dest: /etc/modtest/patched, remote_src: true}
ansible.posix.selinux: {state: disabled}
community.general.capabilities: {path: /var/modtest/program, capability: cap_net_raw+ep, state: present}
community.general.capabilities: {path: /var/modtest/program, capability: cap_net_raw+ep, state: present}
community.general.decompress: {src: /var/modtest/text.gz, dest: /etc/modtest/text, remove: false}
community.general.decompress: {src: /var/modtest/text.gz, dest: /etc/modtest/text, remove: false}
community.general.deploy_helper: {path: /var/modtest-deployed, release: first, state: present}
community.general.deploy_helper: {path: /var/modtest-deployed, release: first, state: finalize}
community.general.dpkg_divert: {path: /etc/modtest/main.conf, divert: /etc/modtest/main.conf.own, rename: true}
community.general.dpkg_divert: {path: /etc/modtest/main.conf, divert: /etc/modtest/main.conf.own, rename: true}
community.general.filesystem: {dev: /var/modtest-image, fstype: ext4}
community.general.filesystem: {dev: /var/modtest-image, fstype: ext4}
community.general.locale_gen: {name: de_AT.UTF-8}
community.general.locale_gen: {name: de_AT.UTF-8}
community.general.make: {chdir: /var/modtest-made, target: all}
community.general.make: {chdir: /var/modtest-made, target: all}
community.general.pam_limits: {dest: /etc/modtest/limits.conf, domain: lodger, limit_type: soft, limit_item: nofile, value: "1000"}
community.general.pam_limits: {dest: /etc/modtest/limits.conf, domain: lodger, limit_type: soft, limit_item: nofile, value: "1000"}
community.general.ssh_config: {ssh_config_file: /etc/modtest/ssh_config, host: example, hostname: host.example, remote_user: lodger, port: "22"}
community.general.ssh_config: {ssh_config_file: /etc/modtest/ssh_config, host: example, hostname: host.example, remote_user: lodger, port: "22"}
community.general.ufw: {rule: allow, port: "22", proto: tcp}
community.general.ufw: {state: enabled, policy: deny}
community.general.ufw: {state: enabled, policy: deny}
community.general.xattr: {path: /var/modtest/program, namespace: user, key: modtest, value: one}
community.general.xattr: {path: /var/modtest/program, namespace: user, key: modtest, value: one}
"#;

/// What `--explain` does not know of: the argument of `git` may be an address as well, and it lists the folder that it makes.
const MORE: &str =
    "modules: {ansible.builtin.git: {allow: {read: [/var/modtest-repository-git], write: [/var/modtest-git]}}}";

/// A private key of no use elsewhere.
const KEY: &str = r"-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIFOzQHtf5i1dpilFJb6IicjMCpqIYCDlJ51Y4koJK5z+\n-----END PRIVATE KEY-----\n";

/// Keys of results that tell of the place, the time or the words of a run.
const ASIDE: [&str; 9] = [
    "invocation",
    "warnings",
    "deprecations",
    "diff",
    "stderr",
    "stderr_lines",
    "cache_update_time",
    // Of `at`: a temporary name. Of `ufw`: where PATH has it.
    "script_file",
    "commands",
];

/// Writes the play, and returns it with the number of its tasks.
fn play(dir: &TestDir, tasks: &str) -> (PathBuf, usize) {
    let tasks = tasks.replace("\"KEY\"", &format!("\"{KEY}\""));
    let tasks: Vec<&str> = tasks.lines().filter(|line| !line.is_empty()).collect();
    let task = |(index, task): (usize, &&str)| {
        let module = task.split(':').next().unwrap();
        // No host of these tests has SELinux, of which it complains.
        let rest = if module.ends_with(".selinux") { "      ignore_errors: true\n" } else { "" };
        format!("    - name: {index} {module}\n      {task}\n      register: r{index}\n{rest}")
    };
    let all: String = tasks.iter().enumerate().map(task).collect();
    let names: Vec<String> = (0..tasks.len()).map(|index| format!("r{index}")).collect();
    let results = format!(
        "    - name: results\n      copy: {{dest: \"{{{{ results }}}}\", content: \"{{{{ [{}] | to_json }}}}\"}}\n",
        names.join(", ")
    );
    let text = format!("- hosts: localhost\n  gather_facts: false\n  tasks:\n{all}{results}");
    (dir.write("play.yml", text), tasks.len())
}

/// Runs a command in a host of its own, and returns the results of the play and the state of the host.
fn side(dir: &TestDir, name: &str, run: impl FnOnce(Command, &str)) -> (Vec<Value>, String) {
    let folder = dir.mkdir(name);
    run(host(&folder), folder.join("results").to_str().unwrap());
    let results = fs::read_to_string(folder.join("results")).unwrap();
    let state = fs::read_to_string(folder.join("state")).unwrap();
    (serde_json::from_str(&results).unwrap(), state)
}

fn host(folder: &Path) -> Command {
    // Not each machine has the programs that the modules start.
    let roots = [debian::programs(), debian::programs_of_collections()];
    let more = roots.into_iter().flatten().map(|root| format!(":{}", root.join("usr").display()));
    let mut host = Command::new("unshare");
    host.args(["--mount", "--uts", "--net", "sh"]).arg(repository().join("tests/core/native/system_host.sh"));
    host.arg(folder).arg(more.collect::<String>());
    host
}

/// Returns whether the tests can make hosts here, with packages of Debian.
fn can_run() -> bool {
    let has = |program: &str| Path::new(program).exists();
    rustix::process::geteuid().is_root() && has("/usr/bin/apt-get") && has("/usr/lib/python3/dist-packages/apt")
}

/// Runs tasks under plain Ansible, and with what `--explain` says that they need, and compares results and states.
#[track_caller]
fn compare(tasks: &str, python: &Path, collections: Option<&Path>) {
    let dir = TestDir::new();
    let (play, count) = play(&dir, tasks);
    let (theirs, their_state) = side(&dir, "plain", |host, results| {
        let mut playbook = oracle::ansible_by(python, &dir, "playbook");
        playbook.arg(&play).args(["-i", "localhost,", "-c", "local", "-e", &format!("results={results}")]);
        playbook.arg("-e").arg(format!("ansible_python_interpreter={}", python.display()));
        playbook.envs(collections.map(|folder| ("ANSIBLE_COLLECTIONS_PATH", folder)));
        let ran = prefixed(host, &playbook).output().unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stdout));
    });
    let modbox = |host: Command, results: &str, words: &[&str]| {
        let usual = ["play", "play.yml", "--prefer", "classic", "-e", &format!("results={results}"), "--interpreter"];
        let folders = collections.map(|folder| ["--collections-path".as_ref(), folder.as_os_str()]);
        let play = Modbox::new(&dir).args(usual).arg(format!("python={}", python.display())).args(words);
        play.args(folders.into_iter().flatten()).behind(|command| prefixed(host, &command)).run()
    };
    let explained = dir.mkdir("explained");
    let needs = modbox(host(&explained), explained.join("results").to_str().unwrap(), &["--explain"]).exits_with(0);
    dir.write("needs.yaml", needs.stdout_text());
    dir.write("more.yaml", MORE);
    let (ours, our_state) = side(&dir, "ours", |host, results| {
        let ran = modbox(host, results, &["--policy", "needs.yaml", "--policy", "more.yaml", "--output", "jsonl"]);
        assert!(ran.status.success(), "{}\n{ran}", needs.stdout_text());
    });
    assert_eq!((ours.len(), theirs.len()), (count, count));
    for (index, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
        let keys = theirs.as_object().unwrap().keys().chain(ours.as_object().unwrap().keys());
        for key in keys.filter(|key| !ASIDE.contains(&key.as_str())) {
            assert_eq!(
                ours.get(key),
                theirs.get(key),
                "task {index}, `{key}`: {}",
                tasks.lines().nth(index + 1).unwrap()
            );
        }
    }
    assert_eq!(our_state, their_state);
    assert!(!fs::read_to_string("/etc/group").unwrap().contains("lodgers"), "the machine was changed");
    dir.assert_nothing_left();
}

#[test]
#[ignore = "takes long; run it with `--ignored`"]
fn modules_that_manage_a_machine_do_as_under_plain_ansible() {
    if let Some(version) = oracle::newest().filter(|_| can_run()) {
        compare(TASKS, &oracle::python_of(version), None);
    }
}

#[test]
#[ignore = "takes long; run it with `--ignored`"]
fn modules_that_start_programs_do_as_under_plain_ansible() {
    if oracle::newest().is_some() && can_run() {
        compare(STARTING, &oracle::python_for_collections(), Some(&oracle::collections()));
    }
}

#[test]
#[ignore = "takes long; run it with `--ignored`"]
fn modules_that_write_configuration_do_as_under_plain_ansible() {
    if oracle::newest().is_some() && can_run() {
        compare(CONFIGURING, &oracle::python_for_collections(), Some(&oracle::collections()));
    }
}

//! `modbox play --explain`: what tasks that manage a machine need, and the policy at its end.
//!
//! The modules are empty scripts in folders of the right names. Nothing of them runs.

use serde_json::{Value, json};

use crate::support::{Modbox, RunOutput, TestDir};

const MODULE: &str = "#!/usr/bin/python3\n# WANT_JSON\nDOCUMENTATION = \"\"\"\noptions:\n  name: {type: str, aliases: [key, pkg, service]}\n  \
                      groups: {type: list, elements: str}\n  user: {type: str}\n  path: {type: path}\n\"\"\"\n";

/// Modules of ansible-core, and of collections.
const NAMES: [&str; 11] = [
    "library/ansible/modules/apt.py",
    "library/ansible/modules/cron.py",
    "library/ansible/modules/group.py",
    "library/ansible/modules/hostname.py",
    "library/ansible/modules/setup.py",
    "library/ansible/modules/user.py",
    "library/ansible/modules/systemd.py",
    "library/ansible/modules/lineinfile.py",
    "collections/ansible_collections/ansible/posix/plugins/modules/mount.py",
    "collections/ansible_collections/ansible/posix/plugins/modules/sysctl.py",
    "collections/ansible_collections/community/general/plugins/modules/ufw.py",
];

/// Returns a folder with a play of these tasks.
fn prepared(tasks: &str) -> TestDir {
    let dir = TestDir::new();
    // Each has a digest of its own.
    NAMES.iter().for_each(|name| drop(dir.write(name, format!("{MODULE}# {name}\n"))));
    let vars = "  vars: {site: shop}\n";
    dir.write("play.yml", format!("- hosts: localhost\n  gather_facts: false\n{vars}  tasks:\n{tasks}"));
    dir
}

fn explain(dir: &TestDir, words: &[&str]) -> RunOutput {
    let usual = ["play", "play.yml", "--explain", "--prefer", "classic", "--module-path", "library/ansible/modules"];
    Modbox::new(dir).args(usual).args(["--collections-path", "collections"]).args(words).run().exits_with(0)
}

const TASKS: &str = r#"
    - {name: packages, apt: {pkg: ["nginx=1.2", "{{ site }}-tools"]}}
    - {name: one more, apt: {name: git, update_cache: true}}
    - {name: a user, user: {name: app, groups: [web, sudo]}}
    - {name: a group, group: {name: app}}
    - {name: a table, cron: {name: backup, user: app}}
    - {name: reload, systemd: {daemon_reload: true}}
    - {name: a parameter, ansible.posix.sysctl: {name: vm.swappiness, value: 1}}
    - {name: the firewall, community.general.ufw: {rule: allow}}
    - {name: a disk, ansible.posix.mount: {path: /srv}}
    - {name: asked, group: {name: "{{ found.stdout }}"}}
    - {name: nothing, lineinfile: {path: /dev/null}}
"#;

#[test]
fn each_task_says_what_it_needs_and_the_end_is_a_policy() {
    let dir = prepared(TASKS);
    // As if a task before had found it.
    let play = std::fs::read_to_string(dir.join("play.yml")).unwrap();
    let play = play.replace(
        "    - {name: asked",
        "    - {name: finds, systemd: {name: app}, register: found}\n    - {name: asked",
    );
    dir.write("play.yml", play);
    let explained = explain(&dir, &[]).stdout_text();
    for expect in [
        "#   needs manage-packages: [nginx, shop-tools]\n",
        "#   needs update-packages\n",
        "#   as powerful as root: update-packages: ",
        "#   needs --allow-net '*:443+any'\n",
        "#   needs manage-users: [app, web, sudo]\n#   as powerful as root: manage-users of `sudo`, a reserved name\n",
        "#   needs manage-cron: [app]\n",
        "#   needs outside: systemctl daemon-reload\n",
        "#   needs manage-kernel: [vm.swappiness]\n",
        "#   needs manage-firewall\n",
        "#   needs unconfined, as powerful as root: it reads the mounts of its own process, and mounts (sha256:",
        "#   needs manage-users, for names known at run time: {{ found.stdout }}\n",
        "#   name: known at run time: {{ found.stdout }}, from the result `found",
    ] {
        assert!(explained.contains(expect), "{expect}: {explained}");
    }
    let policy: Vec<&str> = explained.lines().skip_while(|line| *line != "modules:").collect();
    let expect = [
        "modules:",
        "  ansible.posix.sysctl: {profiles: [{manage-kernel: [vm.swappiness]}], allow: {write: [/etc/sysctl.conf]}}",
        "  apt: {profiles: [{manage-packages: [git, nginx, shop-tools]}, update-packages], allow: {net: [\"*:443+any\", \"*:80+any\"]}}",
        "  community.general.ufw: {profiles: [manage-firewall]}",
        "  cron: {profiles: [{manage-cron: [app]}]}",
        "  group: {profiles: [{manage-users: [app]}]}",
        "  systemd: {profiles: [{manage-services: [app]}], allow: {outside: [\"systemctl daemon-reload\"]}}",
        "  user: {profiles: [{manage-users: [app, sudo, web]}]}",
    ];
    assert_eq!(policy[..expect.len()], expect, "{explained}");
    assert!(policy[expect.len()].ends_with("{unconfined: true}  # ansible.posix.mount: it reads the mounts of its own process, and mounts; as powerful as root"));
    for expect in [
        "# group: manage-users, for names known at run time: {{ found.stdout }} (",
        "# as powerful as root: manage-users of `sudo`, a reserved name",
        "# as powerful as root: write /etc/sysctl.conf: ",
    ] {
        assert!(explained.lines().any(|line| line.starts_with(expect)), "{expect}: {explained}");
    }
    // Pasted, it lacks nothing but what is known at run time.
    dir.write("needs.yaml", &explained);
    Modbox::new(&dir).args(["policy", "check", "needs.yaml"]).run().exits_with(0);
    let again = explain(&dir, &["--policy", "needs.yaml"]).stdout_text();
    let needs: Vec<&str> = again.lines().filter(|line| line.starts_with("#   needs ")).collect();
    assert_eq!(needs, ["#   needs manage-users, for names known at run time: {{ found.stdout }}"], "{again}");
    assert!(again.contains("# As far as it is known before the run, a policy file has to grant nothing.\n"), "{again}");
    assert!(!again.contains("modules:"), "{again}");
}

#[test]
fn lines_of_json_have_the_same() {
    let dir = prepared(TASKS);
    let lines = explain(&dir, &["--output", "jsonl"]).stdout_text();
    let events: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let run = |task: &str| &events.iter().find(|event| event["task"] == task).unwrap()["runs"][0];
    let lacking = |task: &str, index: usize| &run(task)["profiles"][index];
    let user = json!({
        "profile": "manage-users", "names": ["app", "web", "sudo"], "reserved": ["sudo"], "known_at_run_time": [],
        "as_powerful_as_root": null
    });
    assert_eq!(*lacking("a user", 0), user);
    assert_eq!(lacking("the firewall", 0)["names"], json!([]));
    assert_eq!(lacking("one more", 1)["profile"], "update-packages");
    assert!(lacking("one more", 1)["as_powerful_as_root"].is_string());
    assert_eq!(run("reload")["outside"], json!(["systemctl daemon-reload"]));
    let mount = run("a disk");
    assert!(mount["unconfined"].is_string() && mount["digest"].as_str().unwrap().starts_with("sha256:"), "{mount:#}");
    assert_eq!(run("nothing")["profiles"], json!([]));
    let policy = events.last().unwrap();
    assert!(policy["event"] == "policy" && policy["text"].as_str().unwrap().contains("\nmodules:\n"), "{policy:#}");
}

#[test]
fn what_naming_grants_is_said_and_not_lacking() {
    let dir = prepared("    - {name: a user, user: {name: app, groups: [web, sudo]}}\n");
    let explained = explain(&dir, &["--designated", "manage"]).stdout_text();
    assert!(explained.contains("#   manage-users: [app, web] (argument name and groups)\n"), "{explained}");
    assert!(explained.contains("#   needs manage-users: [sudo]\n"), "{explained}");
    assert!(explained.contains("  user: {profiles: [{manage-users: [sudo]}]}\n"), "{explained}");
}

#[test]
fn what_no_rule_covers_is_said() {
    let dir = prepared(
        "    - {name: a file, apt: {deb: /srv/x.deb, name: 'https://example.org/x.deb'}}\n    \
         - {name: loops, group: {name: \"{{ item }}\"}, loop: [one, two]}\n    \
         - {name: no name, apt: {upgrade: dist}}\n",
    );
    let explained = explain(&dir, &[]).stdout_text();
    for expect in [
        "#   note: no rule covers `deb`: ",
        "no rule of `manage-packages` covers `https://example.org/x.deb`, which `name` names",
        "  group: {profiles: [{manage-users: [one, two]}]}\n",
        "  apt: {profiles: [manage-packages]}\n",
    ] {
        assert!(explained.contains(expect), "{expect}: {explained}");
    }
}

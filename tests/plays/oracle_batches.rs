//! Plays for several hosts of this machine, with `order`, `serial` and `max_fail_percentage`: which hosts run, in which order, and
//! whether later plays do, by ansible-playbook and by modbox.

use crate::support::{Modbox, TestDir, oracle};

/// The hosts, all of them this machine.
const HOSTS: &str = "[web]\nb ansible_connection=local\na ansible_connection=local\nd ansible_connection=local\nc ansible_connection=local\n";

/// Keywords of a play, and the hosts that fail.
const CASES: [(&str, &str); 14] = [
    ("", ""),
    ("order: sorted", ""),
    ("order: reverse_sorted", "d"),
    ("order: reverse_inventory", ""),
    ("order: upwards", ""),
    ("serial: 1", "a"),
    ("serial: 2", "b"),
    ("serial: 2", "b a"),
    ("serial: [1, '50%']", "a d"),
    ("serial: [1, '50%']", "a"),
    ("serial: 1, order: sorted", "c"),
    ("serial: 4, max_fail_percentage: 10", "c"),
    ("serial: 4, max_fail_percentage: 60", "a b"),
    ("any_errors_fatal: true", "c"),
];

/// Writes a play for these hosts, and one that follows.
fn play(dir: &TestDir, (keywords, failing): (&str, &str)) -> std::path::PathBuf {
    let keywords: String = keywords.split(", ").filter(|one| !one.is_empty()).map(|one| format!("  {one}\n")).collect();
    let keywords = keywords.replace("serial: [1\n  '50%']", "serial: [1, '50%']");
    let failing: Vec<&str> = failing.split_whitespace().collect();
    let text = format!(
        "- hosts: web\n  gather_facts: false\n{keywords}  tasks:\n  - debug: {{msg: first}}\n  - fail: {{msg: no}}\n    when: inventory_hostname in {failing:?}\n\
         - hosts: web\n  gather_facts: false\n  tasks:\n  - debug: {{msg: second}}\n"
    );
    dir.write("play.yml", text)
}

/// Returns the hosts of the first play in the order in which they began, those of the second one, and whether the run failed.
fn outcome(shown: &str, has_failed: bool) -> (Vec<String>, Vec<String>, bool) {
    let mut hosts = [Vec::new(), Vec::new()];
    let lines: Vec<&str> = shown.lines().collect();
    for pair in lines.windows(2) {
        let host = pair[0].strip_prefix("ok: [").and_then(|rest| rest.split_once(']')).map(|(host, _)| host.to_owned());
        let which = ["\"msg\": \"first\"", "\"msg\": \"second\""].iter().position(|text| pair[1].trim() == *text);
        if let (Some(host), Some(which)) = (host, which) {
            hosts[which].push(host);
        }
    }
    let [first, mut second] = hosts;
    second.sort();
    (first, second, has_failed)
}

#[test]
fn hosts_run_in_the_order_and_the_batches_of_ansible() {
    let Some(version) = oracle::newest() else { return };
    let dir = TestDir::new();
    let hosts = dir.write("hosts", HOSTS);
    for case in CASES {
        let file = play(&dir, case);
        // With one process at a time, hosts are done in their order.
        let mut ansible = oracle::ansible_of(version, &dir, "playbook");
        let output = ansible.args(["-f", "1", "-i"]).arg(&hosts).arg(&file).output().unwrap();
        let ansible = outcome(&String::from_utf8_lossy(&output.stdout), !output.status.success());
        let ran = Modbox::new(&dir).args(["play", "-i"]).arg(&hosts).arg(&file).run();
        let modbox = outcome(&ran.stdout_text(), !ran.status.success());
        if case.0.starts_with("any_errors_fatal") || case.0.contains("max_fail_percentage: 10") {
            // Ansible's hosts of a batch have begun together before one of them fails.
            assert_eq!((&modbox.1, modbox.2), (&ansible.1, ansible.2), "{case:?}");
            continue;
        }
        assert_eq!(modbox, ansible, "{case:?}: {ran}");
    }
}

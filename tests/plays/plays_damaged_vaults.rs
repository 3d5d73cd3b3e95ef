//! Damaged texts of Ansible Vault in all places of a play: the error names the file and the reason, and shows nothing of the text.

use crate::support::{Modbox, RunOutput, TestDir};

/// Encrypted by `ansible-vault` of ansible-core 2.21 with the password `pw`.
const VAULT: &str = "\
$ANSIBLE_VAULT;1.1;AES256\n\
33356534623336303735636438363332386461656130363030333832646162343363373062343537\n\
3932313339333036626131383236383462376633376361360a626661343063336135363561616237\n\
32333930313563653536326662323639666566313931616433326562363834326133636330353764\n\
6233613137376332380a323834313536373638663534333163336365663737626665366238656630\n\
3834\n";

/// Where an encrypted text can be, with the play that reads it from there.
const PLACES: [(&str, &str); 8] = [
    ("damaged", "  vars_files: [damaged]\n  tasks: []\n"),
    ("damaged", "  tasks:\n  - include_vars: damaged\n"),
    ("damaged", "  tasks:\n  - include_tasks: damaged\n"),
    ("damaged", "  tasks:\n  - template: {src: damaged, dest: /tmp/x}\n"),
    ("damaged", "  tasks:\n  - copy: {src: damaged, dest: /tmp/x}\n"),
    ("damaged", "  tasks:\n  - debug: {msg: \"{{ lookup('file', 'damaged') }}\"}\n"),
    ("roles/r/vars/main.yml", "  roles: [r]\n"),
    ("play.yml", "  tasks:\n  - debug: {msg: \"{{ inline }}\"}\n  vars:\n"),
];

/// Damages the text in ways that have reasons of their own.
fn damaged() -> [(String, &'static str); 7] {
    [
        (VAULT.replace(";1.1;", ";2.0;"), "unknown version of the vault"),
        (VAULT.replace("AES256", "AES128"), "unknown cipher of the vault"),
        (VAULT.replace(";1.1;AES256", ""), "the header of the vault is damaged"),
        (VAULT.replace("33356534", "3335653g"), "its lines are not hexadecimal digits"),
        (VAULT.replace("\n3834\n", "\n383\n"), "its lines are not hexadecimal digits"),
        (VAULT.lines().take(2).collect::<Vec<_>>().join("\n") + "\n", "it lacks the salt, the HMAC or the data"),
        (VAULT.replace("\n3834\n", "\n3835\n"), "no vault secrets were found that could decrypt"),
    ]
}

#[track_caller]
fn check(ran: &RunOutput, file: &str, reason: &str) {
    // A value fails the task that uses it; a file that every run comes to is refused.
    let status = if ran.stdout_text().contains("PLAY RECAP") { 1 } else { 2 };
    let said = ran.stderr_text();
    assert!(said.contains(file) && said.contains(reason), "`{file}` or `{reason}` is missing: {ran}");
    let shown = said + &ran.stdout_text();
    assert!(!shown.contains("attack") && !shown.contains("3932313339"), "{ran}");
    assert!(ran.status.code() == Some(status) && (status == 2 || file == "play.yml"), "{ran}");
}

#[test]
fn damaged_vaults_are_named_with_the_reason() {
    let dir = TestDir::new();
    dir.write("password", "pw\n");
    dir.write("roles/r/tasks/main.yml", "[]\n");
    let modbox = || Modbox::new(&dir).args(["play", "--vault-password-file", "password", "play.yml"]);
    for (text, reason) in damaged() {
        for (file, play) in PLACES {
            let inline = format!("    inline: !vault |\n      {}\n", text.trim_end().replace('\n', "\n      "));
            let more = if file == "play.yml" { inline.as_str() } else { "" };
            if file != "play.yml" {
                dir.write(file, &text);
            }
            dir.write("play.yml", format!("- hosts: localhost\n  gather_facts: false\n{play}{more}"));
            check(&modbox().run(), file, reason);
        }
        dir.write("play.yml", "- hosts: localhost\n  gather_facts: false\n  tasks: []\n");
        dir.write("roles/r/vars/main.yml", "{}\n");
        check(&modbox().args(["-e", "@damaged"]).run(), "damaged", reason);
        check(&modbox().args(["-i", "damaged"]).run(), "damaged", reason);
    }
}

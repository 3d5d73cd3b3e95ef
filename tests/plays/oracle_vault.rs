//! Ansible Vault: texts that ansible-core encrypts, damaged ones, and plays with them by both programs.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use modbox_vault::{Secret, Vault, Zeroizing};
use serde_json::Value;

use crate::support::sample::{Random, cases};
use crate::support::{Modbox, RunOutput, TestDir, fixture, oracle};

/// A text that ansible-core encrypted.
struct Text {
    text: Vec<u8>,
    plain: Vec<u8>,
    id: Option<String>,
    password: Vec<u8>,
}

impl Text {
    fn decrypt(&self, text: &[u8], password: &[u8]) -> Result<Vec<u8>, modbox_vault::VaultError> {
        let secret = Secret::new(self.id.as_deref(), Zeroizing::new(password.to_vec()));
        Vault::new(vec![secret], false).decrypt(text).map(|plain| plain.to_vec())
    }
}

fn texts() -> Vec<Text> {
    let output = Command::new(oracle::python()).arg(fixture("oracle/vault.py")).output().unwrap();
    let found: Vec<Value> = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    let bytes = |value: &Value| {
        let text = value.as_str().unwrap();
        (0..text.len() / 2).map(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap()).collect()
    };
    let text = |found: &Value| Text {
        text: found["text"].as_str().unwrap().into(),
        plain: bytes(&found["plain"]),
        id: found["id"].as_str().map(str::to_owned),
        password: bytes(&found["password"]),
    };
    found.iter().map(text).collect()
}

/// Damages a text in one place.
fn damage(text: &[u8], random: &mut Random) -> Vec<u8> {
    let mut damaged = text.to_vec();
    // Half of the damage is in the header and the first lines, of which long texts have few.
    let at = if random.below(2) == 0 { random.below(200.min(damaged.len())) } else { random.below(damaged.len()) };
    match random.below(6) {
        0 => damaged[at] ^= 1 << random.below(8),
        1 => drop(damaged.remove(at)),
        2 => damaged.insert(at, *random.pick(b"0af\n;$ \xff")),
        3 => damaged.truncate(at),
        4 => damaged[at] = *random.pick(b"0123456789abcdef\n"),
        _ => {
            let other = random.below(damaged.len());
            damaged.swap(at, other);
        }
    }
    damaged
}

#[test]
fn texts_of_ansible_core_are_decrypted_and_damaged_ones_are_not() {
    let texts = texts();
    assert_eq!(texts.len(), 40);
    for text in &texts {
        assert_eq!(text.decrypt(&text.text, &text.password), Ok(text.plain.clone()));
        assert!(text.decrypt(&text.text, b"another").is_err());
    }
    let mut random = Random::new(0x7a17);
    let mut decrypted = 0;
    let count = cases(600, 10_000);
    for number in 0..count {
        let text = &texts[number % texts.len()];
        let damaged = damage(&text.text, &mut random);
        // What is not authenticated may change: the ID, the case of digits, ends of lines.
        if let Ok(plain) = text.decrypt(&damaged, &text.password) {
            assert_eq!(plain, text.plain, "another plain text of {:?}", String::from_utf8_lossy(&damaged));
            decrypted += 1;
        }
    }
    assert!(decrypted * 4 < count, "{decrypted} of {count} damaged texts were decrypted");
}

/// A secret that must not be shown.
const SECRET: &str = "S3cret-of-the-vault";

const PLAY: &str = "
- hosts: localhost
  gather_facts: false
  vars_files: [secret.yml]
  tasks:
    - debug: {msg: \"{{ inline }} {{ of_file | upper }} {{ of_group }}\"}
    - template: {src: t.j2, dest: \"{{ playbook_dir }}/out/template\"}
    - copy: {src: c, dest: \"{{ playbook_dir }}/out/copy\"}
    - copy: {src: c, dest: \"{{ playbook_dir }}/out/encrypted\", decrypt: false}
    - copy: {content: \"{{ inline }} {{ later }} {{ lookup('unvault', 'c') }} {{ lookup('file', 'c') }} {{ cli }}\", dest: \"{{ playbook_dir }}/out/content\"}
    - include_tasks: tasks.yml
    - copy: {content: \"{{ inline | type_debug }} {{ inline ~ '' == template }}\", dest: \"{{ playbook_dir }}/out/data\"}
      vars: {template: \"{{ '{{ 1 + 1 }}' ~ '' }}\", inline: \"{{ braces }}\"}
  vars:
";

/// Encrypts files with the password `pw`.
fn encrypt(files: &[PathBuf]) {
    let script = "
import sys
from ansible.parsing.vault import VaultLib, VaultSecret
secret = VaultSecret(b'pw')
for name in sys.argv[1:]:
    text = open(name, 'rb').read()
    open(name, 'wb').write(VaultLib([('default', secret)]).encrypt(text, secret))
";
    let made = Command::new(oracle::python()).args(["-c", script]).args(files).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
}

/// Makes a folder with a play and what it has in vaults.
fn prepared() -> TestDir {
    let dir = TestDir::new();
    dir.write("password", "pw\n");
    dir.write("play/secret.yml", format!("of_file: {SECRET}-1\nlater: '{{{{ of_file }}}}-2'\n"));
    dir.write("play/group_vars/all.yml", format!("of_group: {SECRET}-3\n"));
    dir.write("play/t.j2", "{{ of_file }} {{ 1 + 1 }}\n");
    dir.write("play/c", format!("{SECRET}-4"));
    dir.write("play/tasks.yml", "- copy: {content: '{{ of_group }}', dest: '{{ playbook_dir }}/out/tasks'}\n");
    dir.write("play/extra.yml", format!("cli: {SECRET}-5\n"));
    dir.write("inline", format!("{SECRET}-6"));
    dir.write("braces", "{{ 1 + 1 }}");
    dir.mkdir("play/out");
    let names = ["secret.yml", "group_vars/all.yml", "t.j2", "c", "tasks.yml", "extra.yml"];
    let files = names.iter().map(|name| dir.join("play").join(name)).chain([dir.join("inline"), dir.join("braces")]);
    encrypt(&files.collect::<Vec<_>>());
    let value = |name: &str| fs::read_to_string(dir.join(name)).unwrap().trim_end().replace('\n', "\n      ");
    let vars = ["inline", "braces"].map(|name| format!("    {name}: !vault |\n      {}\n", value(name))).concat();
    dir.write("play/play.yml", format!("{PLAY}{vars}"));
    dir
}

fn modbox(dir: &TestDir, args: &[&str]) -> RunOutput {
    let play = Modbox::new(dir).args(["play", "-e", "@play/extra.yml"]).arg("--allow-write").arg(dir.join("play/out"));
    let play = play.arg("--interpreter").arg(format!("python={}", oracle::python().display()));
    play.args(["--diff", "-v"]).args(args).arg("play/play.yml").run()
}

/// Returns the files that a play has written, and removes them.
fn written(dir: &TestDir) -> Vec<(String, String)> {
    let mut files: Vec<_> = fs::read_dir(dir.join("play/out")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let name = |path: &std::path::Path| path.file_name().unwrap().to_string_lossy().into_owned();
    let found = files.iter().map(|path| (name(path), fs::read_to_string(path).unwrap())).collect();
    files.iter().for_each(|path| fs::remove_file(path).unwrap());
    found
}

#[test]
fn plays_with_vaults_do_what_ansibles_do_and_show_no_secret() {
    let dir = prepared();
    let password = dir.join("password");
    let mut playbook = oracle::ansible(&dir, "playbook");
    playbook.args(["-e", "@play/extra.yml", "--vault-password-file"]).arg(&password).arg("play/play.yml");
    let ran = playbook.current_dir(dir.path()).output().unwrap();
    assert!(ran.status.success(), "{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    let expect = written(&dir);
    assert_eq!(expect.len(), 6, "{expect:?}");
    let given = password.display().to_string();
    for switches in [["--vault-password-file", &*given], ["--vault-id", "password"], ["--vault-id", "dev@password"]] {
        let ran = modbox(&dir, &switches).exits_with(0);
        assert_eq!(written(&dir), expect, "{ran}");
        for shown in [ran.stdout_text(), ran.stderr_text()] {
            assert!(!shown.contains(SECRET), "{shown}");
        }
    }
    let by_variable = Modbox::new(&dir).env("ANSIBLE_VAULT_PASSWORD_FILE", "password");
    let by_variable = by_variable.args(["play", "--list-tasks", "-e", "@play/extra.yml", "play/play.yml"]).run();
    assert!(by_variable.exits_with(0).stdout_text().contains("template"));
}

#[test]
fn what_cannot_be_decrypted_is_told_before_the_first_task() {
    let dir = prepared();
    let run = |args: &[&str]| {
        let args = [&["play", "play/play.yml"], args].concat();
        Modbox::new(&dir).args(args).run()
    };
    let absent = run(&["--syntax-check"]).exits_with(2).stderr_text();
    let expect = "Attempting to decrypt but no vault secrets found. Give the password by `--vault-password-file`";
    assert!(absent.contains(expect) && absent.contains("play.yml:"), "{absent}");
    dir.write("wrong", "wrong");
    let wrong = run(&["--vault-password-file", "wrong", "--syntax-check"]).exits_with(2).stderr_text();
    assert!(wrong.contains("Decryption failed (no vault secrets were found that could decrypt)."), "{wrong}");
    let check = |args: &[&str], expect: &str| {
        let told = run(args).exits_with(2).stderr_text();
        assert!(told.contains(expect), "{expect}: {told}");
    };
    check(&["--vault-password-file", "none"], "failed to read the vault password from");
    check(&["--vault-password-file", "play"], "it is a directory");
    dir.write("empty", " \n");
    check(&["--vault-id", "dev@empty"], "is empty");
    dir.write_executable("program", "#!/bin/sh\necho pw\n");
    check(&["--vault-password-file", "program"], "it is a program, which modbox does not start");
    check(&["--ask-vault-pass"], "there is no terminal");
}

#[test]
fn mistakes_in_encrypted_files_show_none_of_their_lines() {
    let dir = prepared();
    let wrong = format!("key:{SECRET}\nother: [\n");
    for name in ["play/secret.yml", "play/tasks.yml", "play/extra.yml"] {
        dir.write(name, &wrong);
        encrypt(&[dir.join(name)]);
    }
    let tasks = "  tasks:\n  - include_vars: secret.yml\n    ignore_errors: true\n  - include_tasks: tasks.yml\n";
    dir.write("play/play.yml", format!("- hosts: localhost\n  gather_facts: false\n{tasks}"));
    let run = |args: &[&str]| {
        let ran = Modbox::new(&dir).args(["play", "--vault-password-file", "password"]).args(args).arg("play/play.yml");
        let ran = ran.run();
        let all = format!("{}{}", ran.stdout_text(), ran.stderr_text());
        assert!(all.contains("a mistake in its YAML, which is not shown") && !all.contains(SECRET), "{all}");
    };
    run(&[]);
    run(&["-e", "@play/extra.yml"]);
}

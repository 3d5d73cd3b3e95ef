//! Secrets of a play that follows ansible-core 2.22: what ansible-playbook 2.22 prints of it, and what modbox prints.

use std::path::Path;
use std::process::Output;

use crate::support::{Modbox, TestDir, oracle};

/// A play whose tasks run no module. Each text of 2.22's that differs is in [`comparable`].
const PLAY: &str = r#"
- hosts: localhost
  gather_facts: false
  vars:
    one: Q7x9
    tok: "{{ (one ~ 'kWz4') | register_secret }}"
  tasks:
  - name: "named {{ tok }}"
    debug: {msg: "a {{ tok }} b {{ one }}"}
  - debug: {msg: "{{ ('x ' ~ tok) | mask_secrets }} {{ tok | ansible.builtin.mask_secrets('-') }} {{ 0 | mask_secrets }}"}
  - debug: {msg: "{{ '$REDACTED$ ' ~ tok | mask_secrets(mask_placeholder='***') }}"}
  - debug: {msg: "{{ 5 | register_secret }}"}
    ignore_errors: true
  - debug: {msg: "{{ ' ' | register_secret }}"}
    ignore_errors: true
  - debug: {msg: "{{ 5 | register_secret(validation_action='ignore') }}"}
  - debug: {msg: "{{ 5 | register_secret(validation_action='other') }}"}
  - debug: {msg: "{{ 'yy88' | register_secret('warn') }}"}
    ignore_errors: true
  - debug: {msg: "{{ 5 | mask_secrets }}"}
    ignore_errors: true
  - debug: {msg: "{{ 'yy88' | mask_secrets(mask_placeholder=3) }}"}
  - debug: {msg: "{{ tok | mask_secrets(mask_placeholder=3) }}"}
    ignore_errors: true
  - debug: {msg: "{{ nope | mask_secrets }}"}
    ignore_errors: true
  - set_fact: {kept: "{{ ' GZfact\n' | register_secret }}", keys: {GZfact: 1, "x GZfact": [12, GZfact, true]}}
  - debug: {var: kept}
  - debug: {var: keys}
  - assert: {that: ["kept is search('GZ' ~ 'fact')"]}
  - name: fails of GZfact
    fail: {msg: "GZfact failed"}
    ignore_errors: true
  - debug: {msg: "{{ item }}"}
    loop: [a, GZfact, [GZfact]]
    loop_control: {label: "label {{ item }}"}
  - debug: {msg: "{{ lookup('unvault', 'read.txt') }}"}
  - debug: {msg: "{{ 'un' ~ 'read-first' }}"}
  - debug: {msg: used}
    become: true
    vars: {ansible_become_password: become-me, ansible_password: not-me}
  - debug: {msg: "become-me not-me"}
"#;

/// Returns the lines of both streams that releases of Ansible and modbox have in common: without the stars of banners, whose
/// number depends on the unmasked name in 2.22.
fn comparable(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let lines = text.lines().map(|line| line.trim_end_matches('*').trim_end());
        lines.collect::<Vec<_>>().join("\n")
    };
    (text(&output.stdout), text(&output.stderr))
}

fn by_modbox(dir: &TestDir, play: &Path) -> (String, String) {
    let ran = Modbox::new(dir).args(["play", "--contract", "2.22"]).arg(play).run().exits_with(0);
    comparable(&Output { status: ran.status, stdout: ran.stdout.clone(), stderr: ran.stderr.clone() })
}

#[test]
fn plays_mask_their_secrets_as_the_next_release_does() {
    let Some(version) = oracle::next() else { return };
    let dir = TestDir::new();
    dir.write("files/read.txt", "unread-first\n");
    let play = dir.write("play.yml", PLAY);
    let mut ansible = oracle::ansible_of(version, &dir, "playbook");
    let output = ansible.args(["-i", "localhost,", "-c", "local"]).arg(&play).output().expect("Ansible starts");
    assert!(output.status.success(), "{output:?}");
    let (expect, ours) = (comparable(&output), by_modbox(&dir, &play));
    assert_eq!(ours.0, expect.0);
    assert_eq!(ours.1, expect.1);
}

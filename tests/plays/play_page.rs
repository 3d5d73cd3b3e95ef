//! The page of `modbox play --output html` in a real browser: Chromium from Debian's packages.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::support::{Modbox, TestDir, browser};

/// Text that would be a script if any place of the page took it for markup.
const HOSTILE: &str = "</summary></td></title></style><script>top.hostile=1</script>&<img src=x onerror=top.hostile=1>";

/// A module whose result has markup, control characters and a difference.
const MODULE: &str = "#!/bin/sh\n# WANT_JSON\n\
    printf '{\"changed\": true, \"msg\": \"HOSTILE\\\\u001b[2J\\\\u202etxt\", \"HOSTILE\": 1, \"diff\": {\"before\": \"a\\\\n  b\\\\n\", \
    \"after\": \"a\\\\n    HOSTILE\\\\n\"}}'\n";

/// A module with ten million bytes of output.
const BIG: &str =
    "#!/bin/sh\n# WANT_JSON\nprintf '{\"stdout\": \"'; head -c 10000000 /dev/zero | tr '\\0' x; printf '\"}'\n";

/// A module that reads a file that nothing grants.
const READER: &str =
    "#!/bin/sh\n# WANT_JSON\nread line < /etc/shadow && echo '{}' || echo '{\"failed\": true, \"msg\": \"no\"}'\n";

const TASKS: &str = "
- name: HOSTILE
  markup:
- name: A loop
  fail: {msg: '{{ item }}'}
  loop: [one, two, three]
  when: item != 'two'
  ignore_errors: true
- big:
- name: Secrets
  secret:
  no_log: true
- name: Denied
  reader:
  ignore_errors: true
- block:
  - name: Rescued
    fail: {msg: why}
  rescue:
  - debug: {msg: rescued}
- name: Skipped
  debug: {msg: no}
  when: false
";

/// Returns the page of a play of 59 runs of tasks: fifty of a role, eight others and a handler.
fn page(dir: &TestDir) -> String {
    let escaped = HOSTILE.replace('"', "");
    dir.write("library/markup.sh", MODULE.replace("HOSTILE", &escaped));
    dir.write("library/big.sh", BIG);
    dir.write("library/reader.sh", READER);
    dir.write("library/secret.sh", "#!/bin/sh\n# WANT_JSON\necho '{\"msg\": \"SECRET\"}'\n");
    let mut role = String::new();
    for number in 0..50 {
        let _ = writeln!(
            role,
            "- name: Step {number}\n  debug: {{msg: step}}\n  changed_when: {}\n  notify: again",
            number == 7
        );
    }
    dir.write("roles/steps/tasks/main.yml", role);
    dir.write("roles/steps/handlers/main.yml", "- name: again\n  debug: {msg: handled}\n");
    let tasks = TASKS.replace("HOSTILE", &format!("'{escaped}'")).replace('\n', "\n  ");
    let text = format!("- hosts: all\n  gather_facts: false\n  roles: [steps]\n  tasks:{}\n", tasks.trim_end());
    dir.write("play.yml", text);
    let ran = Modbox::new(dir)
        .args(["play", "--diff", "--max-output", "16M", "--output", "html", "play.yml"])
        .run()
        .exits_with(0);
    ran.stdout_text()
}

/// Returns what `script` says of the page in a window of this width.
fn seen(width: u32, script: &str) -> Value {
    let dir = TestDir::new();
    let page = page(&dir);
    assert!(page.len() < 1 << 20, "ten million bytes of a result are not on the page: {}", page.len());
    assert!(!page.contains("SECRET"), "a result under no_log is not on the page");
    browser::seen(&dir, &page, &format!("width={width}"), script)
}

#[test]
fn tasks_are_filtered_and_opened_and_show_what_happened() {
    let script = "
        const row = (name) => Array.from(page.querySelectorAll('#runs tbody')).find((body) => body.textContent.includes(name));
        const status = (name) => row(name).querySelector('.status').textContent;
        const details = (name, label) => Array.from(row(name).querySelectorAll(`dt.${label}`), (dt) => dt.nextElementSibling.innerText);
        const seen = {shown: shown().length, last: shown()[50], statuses: ['Step 7', 'A loop', 'Denied', 'Rescued', 'Skipped'].map(status)};
        seen.items = details('A loop', 'item');
        seen.denied = details('Denied', 'denied').length;
        seen.closed = visible(row('A loop').querySelector('dl'));
        row('A loop').querySelector('.run td').click(); seen.open = visible(row('A loop').querySelector('dl'));
        seen.secret = details('Secrets', 'result')[0].includes('no_log');
        seen.handlers = Array.from(page.querySelectorAll('.run'), (run) => run.cells[2].textContent).filter((text) => text.includes('handler'));
        const input = page.getElementById('denied'); input.checked = true; input.dispatchEvent(new Event('input', {bubbles: true}));
        seen.filtered = shown();
        return seen;";
    let expect = json!({
        "shown": 59, "last": HOSTILE,
        "statuses": ["changed", "ignored", "denied", "failed", "skipped"],
        "items": ["failed one: Task failed: Action failed: one", "skipped two", "failed three: Task failed: Action failed: three"],
        "denied": 1, "closed": false, "open": true, "secret": true, "handlers": ["debug, handler"], "filtered": ["Denied"],
    });
    assert_eq!(seen(1200, script), expect);
}

#[test]
fn a_play_runs_no_script_and_adds_no_element() {
    let script = "
        const body = page.querySelectorAll('#runs tbody')[50];
        body.querySelector('summary').click();
        const dd = (label) => body.querySelector(`dt.${label}`).nextElementSibling;
        return {hostile: window.hostile === undefined, scripts: page.querySelectorAll('script').length,
            images: page.querySelectorAll('img').length, name: body.querySelector('summary').textContent,
            control: dd('result').innerText.includes('\\\\u001b[2J'), added: dd('diff').querySelector('.added + br + .added, .added:last-of-type').textContent,
            indented: getComputedStyle(dd('diff')).whiteSpace.includes('pre')};";
    let expect = json!({
        "hostile": true, "scripts": 1, "images": 0, "name": HOSTILE, "control": true, "added": format!("+    {HOSTILE}"),
        "indented": true,
    });
    assert_eq!(seen(1200, script), expect);
}

#[test]
fn a_narrow_window_shows_statuses_and_whole_details() {
    let script = "
        const body = page.querySelectorAll('#runs tbody')[50];
        body.querySelector('summary').click();
        const within = (element) => { const box = element.getBoundingClientRect(); return box.left >= 0 && box.right <= 420; };
        return {action: visible(body.querySelector('.run').cells[2]), name: within(body.querySelector('summary')),
            details: Array.from(body.querySelectorAll('dd')).every(within)};";
    assert_eq!(seen(420, script), json!({"action": false, "name": true, "details": true}));
}

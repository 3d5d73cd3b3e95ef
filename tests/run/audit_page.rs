//! The page of `modbox audit --html` in a real browser: Chromium from Debian's packages.

use serde_json::{Value, json};

use crate::support::{Modbox, TestDir, browser};

/// Text that would be a script if any place of the page took it for markup.
const HOSTILE: &str =
    "</summary></td></title></style><script>top.hostile=1</script>\"'><img src=x onerror=top.hostile=1>";

/// Returns what `script` says of the page of a log.
fn seen(dir: &TestDir, log: &str, frame: &str, script: &str) -> Value {
    dir.write("log", log);
    let page = Modbox::new(dir).args(["audit", "--html", "log"]).run().exits_with(0).stdout_text();
    browser::seen(dir, &page, &format!("{frame} width=1200"), script)
}

fn line(time: &str, name: &str, status: &str, us: u64, note: &str) -> String {
    let denial =
        json!({"capability": "read", "subject": "/etc/x", "operation": "open", "allow": "--allow-read /etc/x"});
    let denials = if status == "denied" { json!([denial]) } else { json!([]) };
    let entry = json!({
        "time": time, "duration_us": us, "status": status, "exit": 0, "module": {"name": name}, "notes": [note],
        "denials": denials,
    });
    entry.to_string() + "\n"
}

fn log() -> String {
    line("2026-11-24T08:00:00Z", "ping", "ok", 900, "first")
        + &line("2026-11-24T09:00:00Z", "copy", "denied", 20_000, "second")
        + &line("2026-11-24T10:00:00Z", "apt", "failed", 3_000_000, "third")
}

#[test]
fn runs_are_sorted_filtered_and_opened() {
    let script = "
        const enter = (id, change) => {
            const input = page.getElementById(id); change(input); input.dispatchEvent(new Event('input', {bubbles: true}));
        };
        const seen = {start: shown(), form: visible(page.getElementById('filters'))};
        const buttons = page.querySelectorAll('#runs thead button');
        buttons[6].click(); seen.duration = shown();
        buttons[6].click(); seen.slowest = shown();
        buttons[1].click(); seen.module = shown();
        enter('text', (input) => input.value = 'SECOND copy'); seen.text = shown();
        enter('text', (input) => input.value = '');
        enter('status', (input) => input.value = 'failed'); seen.status = shown();
        enter('status', (input) => input.value = '');
        enter('denied', (input) => input.checked = true); seen.denied = shown();
        seen.count = page.getElementById('count').textContent;
        const row = page.querySelector('tbody.has-denials');
        seen.closed = visible(row.querySelector('dl'));
        row.querySelector('.run td').click(); seen.open = visible(row.querySelector('dl'));
        seen.details = row.querySelector('dd').textContent;
        return seen;";
    let seen = seen(&TestDir::new(), &log(), "", script);
    assert_eq!(
        seen,
        json!({
            "start": ["apt", "copy", "ping"], "form": true, "duration": ["ping", "copy", "apt"],
            "slowest": ["apt", "copy", "ping"], "module": ["apt", "copy", "ping"], "text": ["copy"], "status": ["apt"],
            "denied": ["copy"], "count": "1 of 3 shown", "closed": false, "open": true,
            "details": "reading `/etc/x` was denied; allow it with `--allow-read /etc/x`",
        })
    );
}

#[test]
fn the_page_works_without_its_script() {
    let script = "
        const row = page.querySelector('tbody.has-denials');
        const seen = {start: shown(), form: visible(page.getElementById('filters')), closed: visible(row.querySelector('dl'))};
        row.querySelector('summary').click();
        seen.open = visible(row.querySelector('dl'));
        return seen;";
    let seen = seen(&TestDir::new(), &log(), "sandbox=allow-same-origin", script);
    assert_eq!(seen, json!({"start": ["apt", "copy", "ping"], "form": false, "closed": false, "open": true}));
}

#[test]
fn a_log_runs_no_script_and_adds_no_element() {
    let script = "
        page.querySelector('#runs thead button').click();
        const input = page.getElementById('status'); input.value = input.options[1].value;
        input.dispatchEvent(new Event('input', {bubbles: true}));
        const count = (what) => page.querySelectorAll(what).length;
        return {hostile: window.hostile === undefined, scripts: count('script'), images: count('img'),
            shown: shown().length, same: shown()[0]};";
    let seen = seen(&TestDir::new(), &line("2026-11-24T08:00:00Z", HOSTILE, HOSTILE, 1, HOSTILE), "", script);
    assert_eq!(seen, json!({"hostile": true, "scripts": 1, "images": 0, "shown": 1, "same": HOSTILE}));
}

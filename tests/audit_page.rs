//! The page of `modbox audit --html` in a real browser: Chromium from Debian's packages.
//!
//! A second page shows the first in a frame, uses it as a reader would, and says what it saw.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::{Modbox, TestDir, debian};

/// Text that would be a script if any place of the page took it for markup.
const HOSTILE: &str =
    "</summary></td></title></style><script>top.hostile=1</script>\"'><img src=x onerror=top.hostile=1>";

/// Returns what `script` says of the page of a log, in which `page` is the document of the page. `frame` has the
/// attributes of the frame.
fn seen(dir: &TestDir, log: &str, frame: &str, script: &str) -> Value {
    dir.write("log", log);
    let page = Modbox::new(dir).args(["audit", "--html", "log"]).run().exits_with(0).stdout_text();
    dir.write("page.html", page);
    let wrapper = format!(
        "<body><pre></pre><script>function look() {{
            const page = document.querySelector('iframe').contentDocument;
            const visible = (element) => element.getClientRects().length > 0;
            const shown = () => Array.from(page.querySelectorAll('#runs summary')).filter(visible).map((s) => s.textContent);
            let seen; try {{ seen = (() => {{ {script} }})(); }} catch (error) {{ seen = String(error); }}
            document.querySelector('pre').textContent = btoa(JSON.stringify(seen));
        }}</script><iframe {frame} width=1200 height=900 src=page.html onload=look()></iframe>"
    );
    let wrapper = dir.write("wrapper.html", wrapper);
    let output = browse(dir, &wrapper);
    let text = output.split_once("<pre>").and_then(|(_, rest)| rest.split_once("</pre>")).map(|(text, _)| text);
    let code = "import base64, sys; sys.stdout.buffer.write(base64.b64decode(sys.argv[1]))";
    let decoded =
        Command::new("python3").args(["-c", code, text.unwrap_or_else(|| panic!("{output}"))]).output().unwrap();
    serde_json::from_slice(&decoded.stdout).unwrap_or_else(|error| panic!("{error}: {output}"))
}

/// Returns the document of a page after its scripts.
fn browse(dir: &TestDir, page: &Path) -> String {
    let root = debian::unpacked("debian-chromium", &["chromium"])
        .expect("Debian's packages")
        .expect("a network, the first time");
    let libraries = format!("{0}:{0}/pulseaudio", root.join("usr/lib/x86_64-linux-gnu").display());
    let output = Command::new("timeout")
        .arg("120")
        .arg(root.join("usr/lib/chromium/chromium"))
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--dump-dom"])
        // The frame is of another origin otherwise, since all files are.
        .args(["--allow-file-access-from-files", "--disable-web-security"])
        .arg(format!("--user-data-dir={}", dir.mkdir("browser").display()))
        .arg(format!("file://{}", page.display()))
        .env("LD_LIBRARY_PATH", libraries)
        .env("HOME", dir.path())
        .output()
        .unwrap();
    fs::remove_dir_all(dir.join("browser")).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
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

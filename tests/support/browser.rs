//! A real browser that looks at pages: Chromium from Debian's packages.
//!
//! A second page shows the first in a frame, uses it as a reader would, and says what it saw.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::{TestDir, debian};

/// Returns what `script` says of a page, in which `page` is its document, and the functions `visible` and `shown` tell which
/// elements, and which rows of the table `runs`, can be seen. `frame` has the attributes of the frame.
///
/// # Panics
///
/// The browser is missing, or prints nothing.
pub fn seen(dir: &TestDir, page: &str, frame: &str, script: &str) -> Value {
    dir.write("page.html", page);
    let wrapper = format!(
        "<body><pre></pre><script>function look() {{
            const page = document.querySelector('iframe').contentDocument;
            const visible = (element) => element.getClientRects().length > 0;
            const shown = () => Array.from(page.querySelectorAll('#runs summary')).filter(visible).map((s) => s.textContent);
            let seen; try {{ seen = (() => {{ {script} }})(); }} catch (error) {{ seen = String(error); }}
            document.querySelector('pre').textContent = btoa(unescape(encodeURIComponent(JSON.stringify(seen))));
        }}</script><iframe {frame} height=900 src=page.html onload=look()></iframe>"
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

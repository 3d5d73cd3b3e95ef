//! `modbox doc` on a terminal: its width, bold names, and a pager for what does not fit.

use std::process::Command;

use crate::support::{TestDir, fixture};

/// Runs `modbox doc` on a terminal of some size, with a pager that marks its input. Returns what the terminal got.
fn on_terminal(dir: &TestDir, rows: u32, columns: u32, before: &str, options: &str) -> String {
    let program = env!("CARGO_BIN_EXE_modbox");
    let module = fixture("cli/sessions/modules/greet.py").display().to_string();
    let line = format!("stty rows {rows} cols {columns}; {before} '{program}' doc '{module}' {options}");
    let mut script = Command::new("script");
    script.args(["-qec", &line, "/dev/null"]).current_dir(dir.path());
    script.env_clear().env("HOME", dir.path()).env("TERM", "xterm").env("PATH", "/usr/local/bin:/usr/bin:/bin");
    let output = script.stdin(std::process::Stdio::null()).output().expect("`script` is part of every Debian");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().replace('\r', "")
}

#[test]
fn a_long_manual_goes_through_the_pager() {
    let dir = TestDir::new();
    let pager = "MODBOX_PAGER='sed s/^/paged:/'";
    let bold = "\u{1b}[1mOPTIONS\u{1b}[0m";
    let paged = on_terminal(&dir, 10, 80, pager, "");
    assert!(paged.lines().all(|line| line.starts_with("paged:")), "{paged}");
    assert!(paged.contains(bold) && paged.contains("\u{1b}[1mpath\u{1b}[0m  (path, required"), "{paged}");
    for (rows, before, options) in [
        // It fits.
        (100, pager, ""),
        (10, pager, "--no-pager"),
        (10, "MODBOX_PAGER= PAGER=false", ""),
        (10, "PAGER=cat", ""),
    ] {
        let plain = on_terminal(&dir, rows, 80, before, options);
        assert_eq!(plain, paged.replace("paged:", ""), "{rows} {before} {options}");
    }
    // The user's own pager is asked if there is none for modbox.
    assert!(on_terminal(&dir, 10, 80, "PAGER='sed s/^/paged:/'", "").starts_with("paged:"));
}

#[test]
fn running_text_has_the_width_of_the_terminal() {
    let dir = TestDir::new();
    let widest = |columns| {
        let shown = on_terminal(&dir, 100, columns, "NO_COLOR=1", "");
        shown.lines().filter(|line| line.starts_with("  Writes")).map(str::len).max().unwrap()
    };
    assert!(widest(40) <= 40 && widest(100) > 40, "{} {}", widest(40), widest(100));
}

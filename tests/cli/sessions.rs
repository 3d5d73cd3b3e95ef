//! Golden tests of the command line: each `cli/*.txt` is a shell session with its expected output.
//!
//! `$ ` starts a command for `sh` (`> ` continues it). It runs in a directory that holds only `home`, `tmp` and the
//! files of `cli/modules` (texts of wasm modules are converted to binaries). The expected output follows: `1| ` lines
//! of stdout, `2| ` lines of stderr (`1\ ` and `2\ ` when the last one has no line end), and `exit N` when the exit
//! status is not 0. Empty lines and lines with `#` are ignored. `BLESS=1 cargo test …` writes the actual output into
//! the files: read the difference before you commit it. Text that differs from run to run is replaced; see `unstable`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::{fs, thread};

use regex::Regex;
use similar::TextDiff;

use crate::support::{Modbox, TestDir, fixture, prefixed, repository, small_module};

/// Sessions mostly wait for processes, so a few more than there are cores.
const WORKERS: usize = 4;

/// How many runs share a pipe.
const RUNS: usize = 100;

#[test]
fn sessions_go_as_recorded() {
    let pending = Mutex::new(sessions());
    assert!(!pending.lock().unwrap().is_empty(), "there are no sessions");
    let differences = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                loop {
                    // A separate statement, so that the lock is not held while the session runs.
                    let next = pending.lock().unwrap().pop();
                    let Some(path) = next else { break };
                    differences.lock().unwrap().extend(replay(&path));
                }
            });
        }
    });
    let differences = differences.into_inner().unwrap();
    assert!(differences.is_empty(), "{}\nBLESS=1 accepts what was seen", differences.join("\n"));
}

#[test]
fn every_command_has_its_help_in_a_session() {
    let recorded: String = sessions().iter().map(|path| fs::read_to_string(path).unwrap()).collect();
    for command in crate::house::tidy::subcommands() {
        let line = format!("$ modbox {command} --help\n");
        assert!(recorded.contains(&line), "no session with `{}`", line.trim_end());
    }
}

#[test]
fn runs_that_share_a_pipe_write_whole_lines() {
    let dir = TestDir::new();
    let module = small_module(&dir, "small.wasm");
    Modbox::run_module(&dir, &module).run().exits_with(0);
    for module in [&*module, Path::new("missing.wasm")] {
        let ran = Modbox::run_module(&dir, module).behind(|run| many(&run)).run().exits_with(0);
        let text = ran.stdout_text() + &ran.stderr_text();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), RUNS, "{text}");
        assert!(lines.iter().all(|line| *line == lines[0]), "{text}");
    }
}

/// Starts a command that often, with the same streams.
fn many(run: &Command) -> Command {
    let mut shell = Command::new("/bin/sh");
    let script = format!("n=0; while [ $n -lt {RUNS} ]; do \"$@\" & n=$((n + 1)); done; wait");
    shell.args(["-c", &script, "sh"]);
    prefixed(shell, run)
}

fn sessions() -> Vec<PathBuf> {
    let entries = fs::read_dir(fixture("cli/sessions")).unwrap().map(|entry| entry.unwrap().path());
    let mut sessions: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|e| e == "txt")).collect();
    sessions.sort();
    sessions
}

/// Runs a session and returns how it differs from what was recorded.
#[expect(clippy::print_stderr, reason = "shows what was written")]
fn replay(path: &Path) -> Option<String> {
    let recorded = fs::read_to_string(path).unwrap();
    let seen = run_session(path, &recorded);
    if seen == recorded {
        return None;
    }
    let name = path.strip_prefix(repository()).unwrap().display().to_string();
    if std::env::var_os("BLESS").is_some() {
        fs::write(path, seen).unwrap();
        eprintln!("wrote {name}");
        return None;
    }
    Some(TextDiff::from_lines(&recorded, &seen).unified_diff().header(&name, "seen").to_string())
}

/// Runs the commands of a session and returns it with what they print now.
fn run_session(path: &Path, recorded: &str) -> String {
    let dir = TestDir::new();
    lay_out_modules(&dir);
    let unstable = unstable(&dir);
    let mut seen = String::new();
    let mut lines = recorded.lines().enumerate().peekable();
    while let Some((number, line)) = lines.next() {
        let expected = ["1| ", "2| ", "1\\ ", "2\\ ", "exit "].iter().any(|mark| line.starts_with(mark));
        if expected || ["1|", "2|", "1\\", "2\\"].contains(&line) {
            continue;
        }
        seen.push_str(line);
        seen.push('\n');
        if let Some(first) = line.strip_prefix("$ ") {
            let mut command = first.to_owned();
            while let Some((_, more)) = lines.next_if(|(_, line)| line.starts_with("> ")) {
                seen.push_str(more);
                seen.push('\n');
                command.push('\n');
                command.push_str(&more[2..]);
            }
            seen.push_str(&run_command(&dir, &command, &unstable));
        } else {
            let prose = line.is_empty() || line.starts_with('#');
            assert!(prose, "{}:{}: neither command nor output: {line}", path.display(), number + 1);
        }
    }
    seen
}

fn run_command(dir: &TestDir, command: &str, unstable: &[(Regex, &str)]) -> String {
    let binaries = Path::new(env!("CARGO_BIN_EXE_modbox")).parent().unwrap();
    let ran = Modbox::of(Path::new("/bin/sh"), dir)
        .env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", binaries.display()))
        .args(["-c", command])
        .run();
    let mut text = String::new();
    for (stream, output) in [('1', ran.stdout_text()), ('2', ran.stderr_text())] {
        let stable = unstable.iter().fold(output, |text, (regex, name)| regex.replace_all(&text, *name).into_owned());
        for line in stable.split_inclusive('\n') {
            let mark = if line.ends_with('\n') { '|' } else { '\\' };
            text.push_str(format!("{stream}{mark} {line}").trim_end());
            text.push('\n');
        }
    }
    match ran.status.code() {
        Some(0) => {}
        Some(code) => text.push_str(&format!("exit {code}\n")),
        None => panic!("a signal ended {ran}"),
    }
    text
}

/// What differs from run to run, and what is recorded in its place.
fn unstable(dir: &TestDir) -> Vec<(Regex, &'static str)> {
    let literal = |text: &Path| regex::escape(text.to_str().expect("tests lie in a directory with a UTF-8 name"));
    [
        (literal(dir.path()), "%dir"),
        (format!(r"/modbox-{}([/`])", rustix::process::geteuid().as_raw()), "/modbox-%uid${1}"),
        (r"ansible-tmp-[0-9a-f][0-9a-f.-]*".to_owned(), "ansible-tmp-%unique"),
        (regex::escape(env!("CARGO_PKG_VERSION")), "%version"),
        (r#"("[a-z]+_(us|bytes)": )[0-9]+"#.to_owned(), "${1}%n"),
        (r"[0-9]+\.[0-9] ms".to_owned(), "%n ms"),
        ("landlock-[0-9]+".to_owned(), "landlock-%n"),
        ("(control group of a native module: ).*".to_owned(), "${1}%groups"),
        (r#"("native_control_groups": )\[[^\]]*\]"#.to_owned(), "${1}[%groups]"),
        (r"[0-9]+ KiB memory".to_owned(), "%n KiB memory"),
        // Some machines have one.
        (r"ansible-core \([^)]*\)".to_owned(), "ansible-core (%core)"),
    ]
    .into_iter()
    .map(|(pattern, name)| (Regex::new(&pattern).unwrap(), name))
    .collect()
}

/// Gives a session the files of `cli/modules`; `NAME.wat` arrives as `NAME.wasm`.
fn lay_out_modules(dir: &TestDir) {
    for entry in fs::read_dir(fixture("cli/sessions/modules")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        match name.strip_suffix(".wat") {
            Some(stem) => {
                let wasm = wat::parse_file(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
                dir.write(&format!("{stem}.wasm"), wasm)
            }
            None => dir.write_executable(name, fs::read(&path).unwrap()),
        };
    }
}

//! Runs the commands in README and in the book as a reader would type them.
//!
//! Each page is one session: one shell on a terminal runs its `console` blocks in order, from a fresh state, so that a page shows
//! what a reader sees, without colours. A line with `$ ` is a command, and `> ` continues it. The lines below are its expected output: `...` stands for any text in a line, and
//! alone for any number of lines. A command without expected output must succeed. A block with `title="NAME"` is a file
//! of the session. A block after `<!-- not run: REASON -->` is skipped. A session starts in a folder with `library/`,
//! which holds a few modules. With `<!-- session: clone -->` it starts in a clone of the repository instead, and `<!--
//! session: ansible-core -->` adds ansible-core to `PATH`.
//!
//! `BLESS=1 cargo test …` writes the actual output into the pages: read the difference before you commit it, and
//! restore `...` for text that differs from machine to machine.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;
use std::{fs, thread};

use regex::Regex;

use crate::markdown::{Document, pages};
use crate::{Modbox, TestDir, copy_executable, fixture, module, oracle, repository, temporary, tracked};

/// Modules in the `library/` of a session.
const LIBRARY: [&str; 6] = ["command", "copy", "lineinfile", "ping", "setup", "stat"];

/// Number of sessions that run at the same time.
const WORKERS: usize = 3;

/// Time in which a session ends, with what it builds.
const SESSION: Duration = Duration::from_secs(900);

/// The byte that the shell prints after the output of a command, and after its exit status.
const END: char = '\u{1e}';

/// Initial state of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Surroundings {
    /// A folder with modules in `library/`.
    Library,
    /// A clone of the repository.
    Clone,
    /// As `Library`, with ansible-core in `PATH`.
    Ansible,
}

/// A command of a page, with its expected output.
#[derive(Debug)]
struct Step {
    /// The line number of the command's last line, counted from one.
    line: usize,
    command: String,
    shown: Vec<String>,
    /// Files that the page shows before the command.
    files: Vec<(String, String)>,
}

/// Returns README and the pages of the book.
pub fn console_documents() -> Vec<Document> {
    [Document::read("README.md")].into_iter().chain(pages()).collect()
}

fn surroundings(document: &Document) -> Surroundings {
    let marked = |name: &str| document.text.contains(&format!("<!-- session: {name} -->"));
    match (document.path == "README.md" || marked("clone"), marked("ansible-core")) {
        (true, _) => Surroundings::Clone,
        (_, true) => Surroundings::Ansible,
        _ => Surroundings::Library,
    }
}

/// Runs the sessions of all documents with this initial state, and asserts that the output is as shown.
#[track_caller]
pub fn check_sessions(wanted: Surroundings) {
    let documents: Vec<Document> =
        console_documents().into_iter().filter(|page| surroundings(page) == wanted).collect();
    let pending = Mutex::new(documents);
    let differences = Mutex::new(Vec::new());
    // Sessions in a clone wait for each other. README's is the last one, so that it finds its module built.
    let workers = if wanted == Surroundings::Clone { 1 } else { WORKERS };
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let next = pending.lock().unwrap().pop();
                    let Some(document) = next else { break };
                    let found = replay(&document);
                    differences.lock().unwrap().extend(found);
                }
            });
        }
    });
    let differences = differences.into_inner().unwrap();
    assert!(differences.is_empty(), "{}\nBLESS=1 accepts what was seen", differences.join("\n"));
}

/// Runs the session of a page. Returns the differences from the page.
fn replay(document: &Document) -> Vec<String> {
    let steps = steps(document);
    if steps.is_empty() {
        return Vec::new();
    }
    let seen = run_session(surroundings(document), &steps);
    let mut differences = Vec::new();
    let mut lines: Vec<String> = document.text.lines().map(str::to_owned).collect();
    // Start at the end, so that line numbers stay valid.
    for (step, (output, status)) in steps.iter().zip(seen).rev() {
        let shown: Vec<&str> = step.shown.iter().map(String::as_str).collect();
        let printed: Vec<&str> = output.lines().map(str::trim_end).collect();
        let as_shown = if shown.is_empty() { status == "0" } else { matches(&shown, &printed) };
        if !as_shown {
            let place = format!("{}:{}", document.path, step.line);
            differences.push(format!("{place}: `{}` (exit status {status})\n{output}", step.command));
            lines.splice(step.line..step.line + shown.len(), printed.into_iter().map(str::to_owned));
        }
    }
    if std::env::var_os("BLESS").is_some() && !differences.is_empty() {
        fs::write(repository().join(&document.path), lines.join("\n") + "\n").unwrap();
        return Vec::new();
    }
    differences.reverse();
    differences
}

/// Returns the commands of a page, in order.
fn steps(document: &Document) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut files = Vec::new();
    for block in document.blocks() {
        if let Some(title) = block.title {
            files.push((title, block.lines.join("\n") + "\n"));
        } else if block.language == "console" && block.not_run.is_none() {
            for (index, line) in block.lines.into_iter().enumerate() {
                let number = block.start + index + 1;
                let last = steps.last_mut();
                if let Some(command) = line.strip_prefix("$ ") {
                    let files = std::mem::take(&mut files);
                    steps.push(Step { line: number, command: command.to_owned(), shown: Vec::new(), files });
                } else if let (Some(more), Some(last)) = (line.strip_prefix("> "), last) {
                    last.command += &format!("\n{more}");
                    last.line = number;
                } else {
                    let last = steps.last_mut().unwrap_or_else(|| panic!("{}:{number}: no command", document.path));
                    last.shown.push(line);
                }
            }
        }
    }
    steps
}

/// Runs commands in one shell. Returns the output and exit status of each.
fn run_session(surroundings: Surroundings, steps: &[Step]) -> Vec<(String, String)> {
    let dir = TestDir::new();
    let (place, _clone) = match surroundings {
        Surroundings::Clone => {
            let clone = clone_of_repository();
            (clone.path.clone(), Some(clone))
        }
        Surroundings::Library | Surroundings::Ansible => {
            for name in LIBRARY {
                copy_executable(&module(name), &dir.mkdir("demo/library").join(format!("{name}.wasm")));
            }
            (dir.join("demo"), None)
        }
    };
    // Lines as they were written, and a terminal that is high enough for every page.
    let mut script = format!("stty -opost -echo cols 80 rows 10000 < /dev/tty\ncd {}\n", place.display());
    for (index, step) in steps.iter().enumerate() {
        for (name, text) in &step.files {
            let kept = dir.write(&format!("files/{index}/{name}"), text);
            writeln!(script, "mkdir -p \"$(dirname {name})\" && cp {} {name}", kept.display()).unwrap();
        }
        let command = &step.command;
        writeln!(script, "{{\n{command}\n}} < /dev/null\nstatus=$?; printf '\\036%s\\036' $status").unwrap();
        writeln!(script, "(exit $status)").unwrap();
    }
    let seconds = SESSION.as_secs().to_string();
    let mut shell = Modbox::of(Path::new("python3"), &dir).with_toolchain();
    shell =
        shell.arg(fixture("plays/terminal.py")).args([&seconds, "[]", "/bin/sh", "-c", &script]).patience(SESSION * 2);
    for (name, value) in [("TERM", "dumb"), ("NO_COLOR", "1"), ("PAGER", "cat")] {
        shell = shell.env(name, value);
    }
    let mut path = vec![shims(&dir)];
    if surroundings == Surroundings::Ansible {
        path.push(oracle::python().parent().expect("it lies in a folder").to_owned());
    }
    path.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
    shell = shell.env("PATH", std::env::join_paths(path).unwrap());
    if surroundings == Surroundings::Clone {
        // Projects that sessions create and remove reuse earlier builds.
        shell = shell.env("CARGO_TARGET_DIR", documents_folder().join("target"));
        // Quiet, since a first build prints more than a second one.
        shell = shell.env("CARGO_TERM_QUIET", "true");
    }
    // Each step's output, and its exit status, end with this byte.
    let shown = shell.run().stdout_text();
    let mut parts = shown.split(END);
    let mut next = || parts.next().map(str::to_owned);
    let mut of_step = || (next().unwrap_or_default(), next().unwrap_or_else(|| "not run".to_owned()));
    steps.iter().map(|_| of_step()).collect()
}

/// Creates a folder with `modbox`, and a `cargo` that runs the existing modbox binary for `cargo run --release --`. The binary's own
/// folder may have programs with names of the system's.
fn shims(dir: &TestDir) -> PathBuf {
    let modbox = crate::modbox();
    let modbox = modbox.display();
    // Call cargo by its path, since `cargo` is this script in the session.
    let cargo = std::env::var("CARGO").expect("cargo runs the tests");
    let text = format!(
        "#!/bin/sh\nif [ \"$1 $2 $3\" = 'run --release --' ]; then shift 3; exec {modbox} \"$@\"; fi\nexec {cargo} \"$@\"\n"
    );
    let written = dir.write_executable("cargo-shim", text);
    let shims = dir.mkdir("shims");
    copy_executable(&written, &shims.join("cargo"));
    std::os::unix::fs::symlink(crate::modbox(), shims.join("modbox")).unwrap();
    shims
}

/// Returns the folder with the clone and its builds.
fn documents_folder() -> PathBuf {
    temporary().join("documents")
}

/// The clone in which sessions start, locked for one session.
struct CloneOfRepository {
    path: PathBuf,
    _lock: fs::File,
}

/// Updates the clone to the current files of the repository, and keeps what cargo has built in it.
fn clone_of_repository() -> CloneOfRepository {
    let root = documents_folder();
    fs::create_dir_all(&root).unwrap();
    let lock = fs::File::create(root.join("lock")).unwrap();
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let path = root.join("modbox");
    remove_others(&path, Path::new(""));
    for name in tracked() {
        let (from, to) = (repository().join(name), path.join(name));
        let bytes = fs::read(&from).unwrap();
        if !fs::read(&to).is_ok_and(|there| there == bytes) {
            fs::create_dir_all(to.parent().expect("it lies in a folder")).unwrap();
            fs::copy(&from, &to).unwrap();
        }
    }
    CloneOfRepository { path, _lock: lock }
}

/// Removes files that sessions have left, except build output.
fn remove_others(root: &Path, below: &Path) {
    for entry in fs::read_dir(root.join(below)).into_iter().flatten().flatten() {
        let name = below.join(entry.file_name());
        let known = tracked().iter().any(|path| Path::new(path).starts_with(&name));
        let is_dir = entry.file_type().unwrap().is_dir();
        match (known, is_dir) {
            (true, true) => remove_others(root, &name),
            (true, false) => {}
            (false, true) if entry.file_name() == "target" => drop(fs::remove_dir_all(root.join(&name).join("demo"))),
            (false, true) => fs::remove_dir_all(root.join(&name)).unwrap(),
            (false, false) => fs::remove_file(root.join(&name)).unwrap(),
        }
    }
}

/// Returns whether the lines match: `...` stands for any text in a line, and alone for any number of lines.
pub fn matches(shown: &[&str], seen: &[&str]) -> bool {
    match shown.split_first() {
        None => seen.is_empty(),
        Some((&"...", rest)) => (0..=seen.len()).any(|skipped| matches(rest, &seen[skipped..])),
        Some((line, rest)) => {
            let Some((first, others)) = seen.split_first() else { return false };
            let pattern: Vec<String> = line.trim_end().split("...").map(regex::escape).collect();
            let pattern = Regex::new(&format!("^{}$", pattern.join(".*"))).unwrap();
            pattern.is_match(first) && matches(rest, others)
        }
    }
}

//! `cargo bench -p modbox --bench previews`: what a preview and a transaction cost over a direct run, as root and as an
//! ordinary user, for a guest and for a native module. And what a commit of 100 files takes, beside a C program that
//! copies and renames as many.
//!
//! Every round makes each run once, in turn, so that whatever else the machine does falls on all of them. Times depend on
//! the machine; no test looks at them. The static build takes part when it is there. So does bubblewrap, which makes a
//! temporary overlay as well, but shows and commits nothing.

#![expect(clippy::disallowed_methods, reason = "a benchmark starts processes")]
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use modbox_test_support as support;

#[path = "builds.rs"]
mod builds;

use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use support::{TestDir, debian, module, repository};

/// Enough for a stable median of things that take milliseconds.
const ROUNDS: usize = 60;

/// Number of the ordinary user.
const USER: u32 = 12_345;

/// How old a file of the cache must be.
const SETTLED: Duration = Duration::from_secs(3);

/// A native module that writes files: what it does is in `work`.
const NATIVE: &str = "#!/bin/sh\n# WANT_JSON\nWORK\necho '{\"changed\": true}'\n";

/// Writes one file of a directory.
const WRITE_ONE: &str = "echo $$ > DIR/file-1";

/// Writes all files of a directory.
const WRITE_ALL: &str = "for file in DIR/*; do echo $$ > $file; done";

/// Bubblewrap's switches for the same job: the machine's files, and an overlay that is thrown away.
const ROOM: &str = "--unshare-all --die-with-parent --new-session --ro-bind / / --dev /dev --proc /proc";

/// One job, with what it grants.
struct Case {
    name: &'static str,
    module: PathBuf,
    words: Vec<String>,
    /// Command for a shell that does the same.
    shell: Option<(String, PathBuf)>,
}

/// Medians of the ways to make one run, in milliseconds.
struct Medians {
    direct: f64,
    preview: f64,
    transaction: f64,
}

fn main() {
    // `cargo test --benches` and the like only want to know that it builds.
    if !std::env::args().any(|arg| arg == "--bench") {
        return;
    }
    let dir = TestDir::new();
    let is_root = rustix::process::geteuid().is_root();
    let users: Vec<(&str, Option<u32>)> = match is_root {
        true => vec![("root", None), ("user", Some(USER))],
        false => vec![("user", None)],
    };
    let bubblewrap = bubblewrap();
    for (build, program) in builds::builds(&dir) {
        for (user, number) in &users {
            let place = dir.mkdir(&format!("{build}-{user}").replace([' ', ','], ""));
            let machine = Machine { dir: &place, program: &program, user: *number };
            println!("{build}, {user} (median ms of {ROUNDS} rounds)");
            println!(
                "{:<34}{:>8}{:>10}{:>8}{:>13}{:>14}",
                "", "direct", "preview", "over", "transaction", "over preview"
            );
            for case in cases(&machine) {
                show(&machine, &case, bubblewrap.as_deref());
            }
            commit(&machine);
        }
    }
}

/// A place for runs of one user by one build.
struct Machine<'a> {
    dir: &'a Path,
    program: &'a Path,
    user: Option<u32>,
}

impl Machine<'_> {
    /// Makes a directory with files of 4 KiB.
    fn directory(&self, name: &str, files: usize) -> PathBuf {
        let path = self.dir.join(name);
        std::fs::create_dir_all(&path).expect("the disk has room");
        for number in 1..=files {
            let text = format!("{name} {number}\n").repeat(4096);
            std::fs::write(path.join(format!("file-{number}")), &text[..4096]).expect("the disk has room");
        }
        self.own(&path);
        path
    }

    fn module(&self, name: &str, work: &str, directory: &Path) -> PathBuf {
        let path = self.dir.join(name);
        let text = NATIVE.replace("WORK", work).replace("DIR", &directory.display().to_string());
        std::fs::write(&path, text).expect("the disk has room");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("it is ours");
        path
    }

    /// Gives a directory and what is in it to the user.
    fn own(&self, path: &Path) {
        let Some(user) = self.user else { return };
        let entries = std::fs::read_dir(path).expect("it is a directory").flatten().map(|entry| entry.path());
        for path in entries.chain([path.to_owned(), self.dir.to_owned()]) {
            std::os::unix::fs::lchown(path, Some(user), Some(user)).expect("root gives files away");
        }
    }

    /// Prepares a program with nothing in its environment but what it needs.
    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env_clear().env("PATH", "/usr/bin:/bin").env("HOME", self.dir).env("TMPDIR", self.dir);
        command.current_dir(self.dir);
        if let Some(user) = self.user {
            command.uid(user).gid(user);
        }
        command
    }

    fn modbox(&self, case: &Case, mode: &[&str]) -> Duration {
        let mut command = self.command(self.program);
        command.arg("run").arg(&case.module).args(mode).args(&case.words);
        timed(command).0
    }
}

/// Runs a command to its end. Returns its time and its output.
fn timed(mut command: Command) -> (Duration, String) {
    command.stdin(Stdio::null());
    let started = Instant::now();
    let output = command.output().expect("it starts");
    let elapsed = started.elapsed();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{command:?}: {}{}", text(&output.stdout), text(&output.stderr));
    (elapsed, text(&output.stdout))
}

fn cases(machine: &Machine<'_>) -> Vec<Case> {
    let allow = |path: &Path| vec!["--allow-write".to_owned(), path.display().to_string()];
    let native = |name: &'static str, files: usize| {
        let directory = machine.directory(name, files);
        let module = machine.module(&format!("{name}.sh"), WRITE_ONE, &directory);
        let work = WRITE_ONE.replace("DIR", &directory.display().to_string());
        (directory, module, work)
    };
    let names = machine.directory("names", 1);
    let file = names.join("file-1");
    let line = vec![format!("path={}", file.display()), "regexp=^[0-9]+$".to_owned()];
    let (directory, module_of_one, _) = native("one", 1);
    let name =
        Case { name: "native, one name", module: module_of_one, words: allow(&directory.join("file-1")), shell: None };
    let guest = Case { name: "guest, one name", module: module("lineinfile"), words: line, shell: None };
    let trees = [("native, directory of 20", "few", 20), ("native, directory of 2,000", "many", 2000)];
    let trees = trees.map(|(name, directory, files)| {
        let (directory, module, work) = native(directory, files);
        Case { name, module, words: allow(&directory), shell: Some((work, directory)) }
    });
    [guest, name].into_iter().chain(trees).collect()
}

fn show(machine: &Machine<'_>, case: &Case, bubblewrap: Option<&Path>) {
    let (medians, over) = compare(machine, case, bubblewrap);
    let Medians { direct, preview, transaction } = medians;
    println!(
        "{:<34}{direct:>8.2}{preview:>10.2}{:>8.2}{transaction:>13.2}{:>14.2}",
        case.name,
        preview - direct,
        transaction - preview
    );
    if let Some(over) = over {
        println!("{:<34}{:>8}{:>10}{over:>8.2}", "  bubblewrap over a plain shell", "", "");
    }
}

/// Makes each run in turn. Also returns what bubblewrap takes over a shell without it.
fn compare(machine: &Machine<'_>, case: &Case, bubblewrap: Option<&Path>) -> (Medians, Option<f64>) {
    let mut number = 0;
    // A line is new in each run, so that there is something to change.
    let mut run = |mode: &[&str]| {
        number += 1;
        let line = format!("line={number}");
        let is_guest = case.module.extension().is_some_and(|extension| extension == "wasm");
        let words = case.words.iter().cloned().chain(is_guest.then_some(line)).collect();
        let case = Case { name: case.name, module: case.module.clone(), words, shell: None };
        machine.modbox(&case, mode)
    };
    let peers = case.shell.as_ref().zip(bubblewrap);
    let mut times: [Vec<Duration>; 5] = Default::default();
    // The first rounds fill caches. Files that were just written are not trusted by their times alone.
    run(&[]);
    std::thread::sleep(SETTLED);
    run(&[]);
    for _ in 0..ROUNDS {
        times[0].push(run(&[]));
        times[1].push(run(&["--preview"]));
        times[2].push(run(&["--transaction"]));
        if let Some(((work, directory), bubblewrap)) = peers {
            let mut shell = machine.command(Path::new("/bin/sh"));
            shell.args(["-c", work]);
            times[3].push(timed(shell).0);
            let mut wrapped = machine.command(bubblewrap);
            wrapped.args(ROOM.split(' ')).arg("--overlay-src").arg(directory).arg("--tmp-overlay").arg(directory);
            wrapped.args(["/bin/sh", "-c", work]);
            times[4].push(timed(wrapped).0);
        }
    }
    let [direct, preview, transaction, shell, wrapped] = times.map(|mut times| median(&mut times));
    let over = peers.map(|_| wrapped - shell);
    (Medians { direct, preview, transaction }, over)
}

/// Compares the commit of 100 files with a C program that copies and renames them.
fn commit(machine: &Machine<'_>) {
    const FILES: usize = 100;
    let directory = machine.directory("all", FILES);
    let (from, to) = (machine.directory("from", FILES), machine.directory("to", FILES));
    let words = vec!["--allow-write".to_owned(), directory.display().to_string()];
    let module = machine.module("all.sh", WRITE_ALL, &directory);
    let case = Case { name: "all", module, words, shell: None };
    let program = compile_c(machine.dir);
    let mut times: [Vec<Duration>; 3] = Default::default();
    for round in 0..=ROUNDS {
        let preview = machine.modbox(&case, &["--preview"]);
        let transaction = machine.modbox(&case, &["--transaction"]);
        let mut copy = machine.command(&program);
        copy.arg(&from).arg(&to);
        let micros = timed(copy).1.trim().parse().expect("it prints a number");
        if round > 0 {
            let new = [preview, transaction, Duration::from_micros(micros)];
            times.iter_mut().zip(new).for_each(|(times, new)| times.push(new));
        }
    }
    let [preview, transaction, copy] = times.map(|mut times| median(&mut times));
    let commit = transaction - preview;
    println!(
        "commit of {FILES} files {commit:.2} ms (transaction {transaction:.2} - preview {preview:.2}), C program {copy:.2} ms, \
         ratio {:.2}\n",
        commit / copy
    );
}

/// In milliseconds; 0 for none.
fn median(times: &mut [Duration]) -> f64 {
    times.sort();
    times.get(times.len() / 2).map_or(0.0, |time| time.as_secs_f64() * 1e3)
}

/// This machine's bubblewrap, or else one out of its package, if it can make temporary overlays.
fn bubblewrap() -> Option<PathBuf> {
    let own = PathBuf::from("/usr/bin/bwrap");
    let found = match own.exists() {
        true => Some(own),
        false => debian::unpacked("debian-bubblewrap", &["bubblewrap"])
            .and_then(Result::ok)
            .map(|root| root.join("usr/bin/bwrap")),
    };
    let help = |program: &PathBuf| Command::new(program).arg("--help").output();
    let overlays = |program: &PathBuf| {
        help(program).is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains("--tmp-overlay"))
    };
    let found = found.filter(overlays);
    if found.is_none() {
        println!("bubblewrap is skipped: there is none that has `--tmp-overlay`");
    }
    found
}

fn compile_c(dir: &Path) -> PathBuf {
    let (output, source) = (dir.join("copy"), repository().join("tests/bench/copy.c"));
    let status = Command::new("cc").args(["-O2", "-static", "-o"]).arg(&output).arg(source).status();
    assert!(status.expect("cc starts").success());
    output
}

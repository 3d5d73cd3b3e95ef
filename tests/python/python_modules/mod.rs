//! ansible-core's own modules return the same results and leave the same files in the real Ansible and in modbox.
//!
//! Each task of the table in `tasks/` runs twice, in two folders with the same content: in a play, and by `modbox run`,
//! confined to the grants in the table. The test compares the registered results, without times and temporary names,
//! and the content of the folders afterwards. A grant that a task does not need is an error.

mod collections;
mod machine;
mod received;
mod table;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::os::unix::fs::{FileTypeExt, MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use modbox_contract::{Dict, Value as PythonValue, decode, encode};
use serde_json::Value;

use self::received::Interpreter;
use self::table::{Group, Names, Table, Task};
use crate::python::python_closure::package;
use crate::support::server::Server;
use crate::support::{Modbox, TestDir, debian, oracle};

/// Number of concurrent runs and plays, on two processors.
const RUNS: usize = 4;
const PLAYS: usize = 2;

/// Minimum number of modules that show all their possible endings.
const MODULES: usize = 40;

/// An ordinary run takes one of so many groups.
const SAMPLE: usize = 8;

/// The variable with the names of the groups to run, separated by commas; without it, all groups run.
const ONLY: &str = "MODBOX_TASKS";

/// Fills a folder.
fn begin(folder: &Path) {
    fs::create_dir_all(folder.join("folder/inside")).unwrap();
    fs::create_dir_all(folder.join("folder2/deep")).unwrap();
    for (name, text) in [
        ("file", "some text\n"),
        ("lines", "aaa\nbbb\nccc\n"),
        ("folder/inside/a", "a"),
        ("folder2/one.txt", "1"),
        ("folder2/deep/two.txt", "2"),
        ("folder2/three.log", "3"),
        ("key.asc", include_str!("key.asc")),
        ("fstab", "/dev/none /no/such ext4 defaults 0 0\n"),
    ] {
        fs::write(folder.join(name), text).unwrap();
    }
    symlink("file", folder.join("link")).unwrap();
}

/// Returns the content of a folder: modes, sizes, targets and texts by name.
fn holds(folder: &Path) -> BTreeMap<String, String> {
    let (mut found, mut pending) = (BTreeMap::new(), vec![folder.to_owned()]);
    while let Some(next) = pending.pop() {
        for path in fs::read_dir(&next).unwrap().map(|entry| entry.unwrap().path()) {
            let metadata = path.symlink_metadata().unwrap();
            let name = path.strip_prefix(folder).unwrap().display().to_string();
            // What an overlay needs for itself, and logs, which have times in them and which nothing needs.
            if name.contains(".machine/work") || name.contains("/log/") {
                continue;
            }
            // A random one.
            let name = name.split_once("/tmp-").map_or_else(|| name.clone(), |(before, _)| format!("{before}/tmp-"));
            // There are times in it, and whether a clone has links to what it is of depends on mounts.
            let of_git = [".git/", ".svn/"].iter().any(|part| name.contains(part));
            let is_random = path.file_name().unwrap().to_string_lossy().contains("random");
            let text = match (metadata.is_dir(), metadata.is_symlink()) {
                (true, _) => {
                    pending.push(path);
                    String::new()
                }
                (_, true) => fs::read_link(&path).unwrap().display().to_string(),
                _ if of_git || is_random => String::new(),
                // How an overlay says that a file is gone.
                _ if metadata.file_type().is_char_device() => "gone".to_owned(),
                // Not of archives, with times in them.
                _ => String::from_utf8(fs::read(&path).unwrap()).unwrap_or_default(),
            };
            let text = text.replace(&folder.display().to_string(), "@");
            let links = if of_git { 1 } else { metadata.nlink() };
            // How many folders are in it is the overlays' own affair.
            if !name.ends_with(".machine") {
                found.insert(name, format!("{:o} {links} {text}", metadata.mode()));
            }
        }
    }
    found
}

/// Returns a result without values that differ from run to run.
fn comparable(result: &Dict, folder: &Path) -> BTreeMap<String, String> {
    const TIMES: [&str; 9] = ["start", "end", "delta", "elapsed", "atime", "mtime", "ctime", "inode", "version"];
    fn without_times(value: &PythonValue) -> PythonValue {
        match value {
            PythonValue::Dict(dict) => {
                let kept = dict.iter().filter(|(key, _)| !TIMES.contains(&key.as_str()));
                let mut kept: Vec<_> = kept.map(|(key, value)| (key.clone(), without_times(value))).collect();
                // Fingerprints by hash, in no order.
                if kept.iter().any(|(key, _)| key == "sha256") {
                    kept.sort_by(|(one, _), (other, _)| one.cmp(other));
                }
                PythonValue::Dict(kept.into_iter().collect())
            }
            PythonValue::List(list) => PythonValue::List(list.iter().map(without_times).collect()),
            other => other.clone(),
        }
    }
    // What cuts long paths leaves the end of one.
    let end: PathBuf = folder.components().rev().take(2).collect::<Vec<_>>().into_iter().rev().collect();
    let without_paths =
        |text: String| text.replace(folder.to_str().unwrap(), "@").replace(&format!("{}/", end.display()), "@/");
    let shown = |key: &str, value: &PythonValue| match key {
        // Ansible hides the traceback.
        "exception" => "an exception".to_owned(),
        "path" | "src" if encode(value).contains("tmp-") => "a random path".to_owned(),
        // In no order.
        "ansible_facts" | "current" => {
            without_paths(serde_json::from_str::<Value>(&encode(value)).unwrap().to_string())
        }
        // The wrapper's own frames.
        "module_stderr" => encode(value).rsplit("\\n").nth(1).unwrap_or_default().to_owned(),
        _ => without_paths(encode(&without_times(value))),
    };
    let result = without_advice(result);
    let kept = result.iter().filter(|(key, _)| *key != "invocation" && !TIMES.contains(&key.as_str()));
    kept.map(|(key, value)| (key.clone(), shown(key, value))).collect()
}

/// Returns a result without the warnings by which modbox names denials and mistakes.
fn without_advice(result: &Dict) -> Dict {
    let mut result = result.clone();
    if let Some(PythonValue::List(warnings)) = result.get_mut("warnings") {
        warnings.retain(|warning| !warning.as_str().is_some_and(|text| text.starts_with("modbox: ")));
        if warnings.is_empty() {
            result.shift_remove("warnings");
        }
    }
    result
}

/// Everything that runs need: folders of modules and programs, the interpreter and a server.
struct Place {
    dir: TestDir,
    python: PathBuf,
    /// The folder with collections.
    collections: Option<PathBuf>,
    modules: PathBuf,
    own: PathBuf,
    server: Server,
    /// The folder of programs that the machine may lack.
    programs: Option<PathBuf>,
}

impl Place {
    /// Returns a place for ansible-core's own modules.
    fn new() -> Self {
        let server = Server::http(|_, _| "HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nserved".to_owned());
        Self::with(oracle::python(), None, server, debian::programs())
    }

    /// Returns a place for modules of collections.
    fn of_collections() -> Self {
        let server = Server::http(|head, _| collections::answer(head));
        let (python, folder) = (oracle::python_for_collections(), oracle::collections());
        Self::with(python, Some(folder), server, debian::programs_of_collections())
    }

    fn with(python: PathBuf, collections: Option<PathBuf>, server: Server, programs: Option<PathBuf>) -> Self {
        let dir = TestDir::new();
        let (modules, own) = (package(&python).join("modules"), silent(&dir));
        Self { dir, python, collections, modules, own, server, programs }
    }

    /// Returns what arguments call the place, its server and its interpreter.
    fn names<'a>(&'a self, folder: &'a Path) -> Names<'a> {
        let environment = self.python.ancestors().nth(2).expect("it lies in an environment");
        Names { folder, server: self.server.address, environment }
    }

    /// Runs a task, without one of its grants if one is named.
    fn run(
        &self,
        group: &Group,
        task: &Task,
        folder: &Path,
        form: &str,
        without: Option<usize>,
    ) -> BTreeMap<String, String> {
        let names = self.names(folder);
        let file = self.modules.join(format!("{}.py", task.module));
        let path = if file.exists() { &file } else { &self.own };
        let modbox = Modbox::run_module(&self.dir, path).arg("--interpreter").arg(&self.python);
        let modbox = modbox.args(["--ansiballz", form]).args(task.check.then_some("--check"));
        let modbox = modbox.args(task.switches(&names, without)).json_args(&task.args(&names));
        let machine = machine::prefix(group, &beside(folder), self.programs.as_deref(), without.map(|_| folder));
        let ran = modbox.behind(|command| machine::within(&machine, command)).run();
        let result = decode(&ran.stdout_text()).unwrap_or_else(|error| panic!("{error}: {ran}"));
        comparable(result.as_dict().unwrap(), folder)
    }

    /// Runs a group's tasks, and returns the differences from the play.
    fn compare(&self, group: &Group, folder: &Path, theirs: &[BTreeMap<String, String>]) -> String {
        let mut wrong = String::new();
        for (number, (task, theirs)) in group.tasks.iter().zip(theirs).enumerate() {
            let form = ["cached", "zip"][number % 5 / 4];
            for (number, grant) in task.allow.iter().enumerate() {
                if self.run(group, task, folder, form, Some(number)) == *theirs {
                    wrong += &format!("{task}\n  does not need `{grant}`\n");
                }
            }
            let ours = self.run(group, task, folder, form, None);
            let keys: BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
            for key in keys.into_iter().filter(|key| ours.get(*key) != theirs.get(*key)) {
                if !task.differs.contains_key(key) {
                    wrong += &format!("{task}\n  {key}: {:?}\n  not: {:?}\n", ours.get(key), theirs.get(key));
                    if key == "failed" || key == "changed" {
                        wrong += &format!("  said: {:?}\n", ours.get("msg"));
                    }
                }
            }
        }
        wrong
    }
}

/// Writes a module that ends without a result, which no module of a release does. Returns its path.
fn silent(dir: &TestDir) -> PathBuf {
    let text =
        "#!/usr/bin/python\nfrom ansible.module_utils.basic import AnsibleModule\nAnsibleModule(argument_spec={})\n";
    dir.write("library/assert_nothing.py", text)
}

/// Returns the folder with a group's changes to the machine's directories.
fn beside(folder: &Path) -> PathBuf {
    folder.with_extension("machine")
}

/// Runs the tasks of some groups with Ansible. Returns the registered results of each group.
fn play(place: &Place, groups: &[&Group], side: &Path, interpreter: Option<&Interpreter<'_>>) -> Vec<Vec<PythonValue>> {
    let dir = TestDir::new();
    silent(&dir);
    let of_group = |group: &&Group| {
        let folder = side.join(&group.name);
        group.tasks.iter().map(|task| task.in_play(&place.names(&folder))).collect::<Vec<_>>()
    };
    let tasks: Vec<_> = groups.iter().flat_map(of_group).collect();
    let machine = match groups {
        [group] => machine::prefix(group, &beside(&side.join(&group.name)), place.programs.as_deref(), None),
        _ => Vec::new(),
    };
    let mut playbook = match interpreter {
        None => oracle::forking_playbook_in(&place.python, &dir),
        Some(_) => oracle::ansible_by(&place.python, &dir, "playbook"),
    };
    // A third fewer processes. A module that has to make the folder itself warns of it.
    playbook.env("ANSIBLE_PIPELINING", "True");
    dir.mkdir("home/remote-tmp");
    if let Some(collections) = &place.collections {
        playbook.env("ANSIBLE_COLLECTIONS_PATH", collections);
    }
    let mut options = Vec::new();
    if let Some(Interpreter { path, config }) = interpreter {
        playbook.env("MODBOX_INTERPRETER", &place.python).env("XDG_CONFIG_HOME", config.join(&groups[0].name));
        options = vec!["-e".to_owned(), format!("ansible_python_interpreter={}", path.display())];
    }
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    let registered = oracle::play_by(machine::within(&machine, playbook), &dir, &tasks, &options);
    let registered = decode(&registered).unwrap();
    let mut registered = registered.as_list().unwrap().iter().cloned();
    groups.iter().map(|group| registered.by_ref().take(group.tasks.len()).collect()).collect()
}

/// Runs the plays of all groups, some of them concurrently.
fn plays(place: &Place, groups: &[Group], side: &Path, interpreter: Option<&Interpreter<'_>>) -> Vec<Vec<PythonValue>> {
    let all: Vec<&Group> = groups.iter().collect();
    // A group that changes the machine has one of its own.
    let parts: Vec<&[&Group]> = all.chunk_by(|one, other| !one.has_machine() && !other.has_machine()).collect();
    let most = |part: &[&Group]| if interpreter.is_some() { 1 } else { part.len().div_ceil(PLAYS) };
    let parts: Vec<&[&Group]> = parts.iter().flat_map(|part| part.chunks(most(part))).collect();
    let (next, done) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    let work = || {
        while let Some((number, part)) = {
            let number = next.fetch_add(1, Ordering::Relaxed);
            parts.get(number).map(|part| (number, part))
        } {
            let registered = play(place, part, side, interpreter);
            done.lock().unwrap().insert(number, registered);
        }
    };
    std::thread::scope(|scope| (0..PLAYS).for_each(|_| drop(scope.spawn(work))));
    done.into_inner().unwrap().into_values().flatten().collect()
}

fn is_true(result: &Dict, key: &str) -> bool {
    result.get(key).is_some_and(|value| encode(value) == "true")
}

#[test]
fn ansibles_modules_do_the_same_and_say_the_same() {
    let place = Place::new();
    let mut table = Table::read("tasks");
    let all = leave_out(&mut table, &place);
    let before = table.groups.len();
    received::take_sample(&mut table, SAMPLE);
    let all = all && table.groups.len() == before;
    let (theirs, ours) = (place.dir.mkdir("ansible-side"), place.dir.mkdir("modbox--side"));
    for group in &table.groups {
        begin(&theirs.join(&group.name));
        begin(&ours.join(&group.name));
    }
    let registered = plays(&place, &table.groups, &theirs, None);

    let (next, wrong, mut seen) = (AtomicUsize::new(0), Mutex::new(String::new()), BTreeSet::new());
    let work = || {
        while let Some((group, results)) = {
            let number = next.fetch_add(1, Ordering::Relaxed);
            table.groups.get(number).zip(registered.get(number))
        } {
            let folder = theirs.join(&group.name);
            let theirs: Vec<_> = results.iter().map(|result| comparable(result.as_dict().unwrap(), &folder)).collect();
            let found = place.compare(group, &ours.join(&group.name), &theirs);
            wrong.lock().unwrap().push_str(&found);
        }
    };
    std::thread::scope(|scope| (0..RUNS).for_each(|_| drop(scope.spawn(work))));
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{wrong}");
    let (ours, theirs) = (holds(&ours), holds(&theirs));
    let names: BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
    let differ = names.into_iter().filter(|name| ours.get(*name) != theirs.get(*name));
    let differ: Vec<_> = differ.map(|name| (name, ours.get(name), theirs.get(name))).collect();
    assert!(differ.is_empty(), "{differ:#?}");

    for (task, result) in table.groups.iter().flat_map(|group| &group.tasks).zip(registered.iter().flatten()) {
        let result = result.as_dict().unwrap();
        seen.insert((task.module.as_str(), task.ending(is_true(result, "failed"), is_true(result, "changed"))));
    }
    assert_eq!(table.shown_all_the_same(&seen), [], "the table says that they cannot be shown");
    if all {
        assert_eq!(table.unshown(&seen), [], "neither in the table nor among what it lacks");
        let mut whole = table.whole(&seen);
        // It is not Ansible's.
        whole.remove("assert_nothing");
        assert!(whole.len() >= MODULES, "{}: {whole:?}", whole.len());
    }
    place.dir.assert_nothing_left();
}

/// Removes groups that were not asked for, and, with a note, those that cannot run here. Returns whether all groups
/// remain.
fn leave_out(table: &mut Table, place: &Place) -> bool {
    let before = table.groups.len();
    if let Ok(only) = std::env::var(ONLY) {
        table.groups.retain(|group| only.split(',').any(|name| name == group.name));
    }
    if place.programs.is_none() && table.groups.iter().any(|group| group.programs) {
        let _ =
            writeln!(std::io::stderr(), "tasks that need packages of Debian's are not tested: there is no `apt-get`");
        table.groups.retain(|group| !group.programs);
    }
    let filters = |group: &Group| {
        let machine = machine::prefix(group, &beside(place.dir.path()), place.programs.as_deref(), None);
        machine::within(&machine, Command::new("iptables")).arg("--list-rules").output().unwrap().status.success()
    };
    if table.groups.iter().any(|group| group.name == "iptables" && !filters(group)) {
        let _ =
            writeln!(std::io::stderr(), "`iptables` is not tested: this kernel does not filter packets by nftables");
        table.groups.retain(|group| group.name != "iptables");
    }
    table.groups.len() == before
}

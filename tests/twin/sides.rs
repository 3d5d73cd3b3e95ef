//! The two sides: Linux, by the native guest in a mount namespace in which only the trees are writable, and modbox, by the
//! component in a batch in which each case is a job with grants of its own.

use std::collections::HashMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::geteuid;
use serde_json::{Value, json};

use crate::support::{
    Modbox, RunOutput, TestDir, copy_executable, copy_program, fixture, guest, native_guest, temporary,
};
use crate::twin::case::{Case, Setting};
use crate::twin::grants;
use crate::twin::snapshot::{Snapshot, snapshot};
use crate::twin::tree::{self, Remover};

/// Time limit of one side for one round.
const PATIENCE: Duration = Duration::from_secs(300);

/// What one side did with a case.
#[derive(Debug)]
pub(crate) struct Performed {
    /// For each call that was begun, the outcome and the traits, with commas between them.
    pub(crate) calls: Vec<(String, String)>,
    /// How it ended, if that was before the last call.
    pub(crate) end: String,
    /// What was left.
    pub(crate) tree: Snapshot,
}

/// What both sides did.
#[derive(Debug)]
pub(crate) struct Pair {
    pub(crate) linux: Performed,
    pub(crate) modbox: Performed,
}

/// Programs and folders of both sides.
pub(crate) struct Sides {
    dir: TestDir,
    /// Removes trees while others are made.
    remover: Remover,
    /// Below `/tmp`, with the programs, and elsewhere.
    places: [tempfile::TempDir; 2],
}

impl Sides {
    /// Builds the guest for both sides. The error says why this machine cannot have the side of Linux.
    pub(crate) fn new() -> Result<Self, String> {
        let place = |below: &Path| {
            let permissions = Permissions::from_mode(0o755);
            let place = tempfile::Builder::new().prefix("modbox-twin-").permissions(permissions).tempdir_in(below);
            let place = place.unwrap_or_else(|error| panic!("{}: {error}", below.display()));
            fs::create_dir(place.path().join("t")).expect("a new folder can be written to");
            place
        };
        let sides = Self {
            dir: TestDir::new(),
            remover: Remover::new(),
            places: [place(Path::new("/tmp")), place(&elsewhere())],
        };
        copy_program(&sides.program("modbox"));
        copy_executable(&native_guest("twin"), &sides.program("twin"));
        copy_executable(&guest("twin"), &sides.program("twin.wasm"));
        copy_executable(&fixture("twin/linux.sh"), &sides.program("linux.sh"));
        for setting in Setting::all() {
            let home = sides.home(setting);
            if !home.exists() {
                fs::create_dir_all(home.join("tmp")).expect("a new folder can be written to");
                for path in [home.join("tmp"), home] {
                    std::os::unix::fs::lchown(path, setting.user, setting.user).expect("root can give files away");
                }
            }
        }
        sides.can_mount()?;
        Ok(sides)
    }

    pub(crate) fn perform(&self, setting: Setting, cases: &[Case]) -> Vec<Pair> {
        let (mut linux, mut modbox) = (HashMap::new(), HashMap::new());
        let run = self.linux(setting, cases);
        collect(&run.stderr_text(), &mut linux);
        let linux_trees = self.take_trees(setting, cases);
        let reports = self.batch(setting, cases);
        let ends: HashMap<usize, String> = reports
            .iter()
            .filter_map(|report| {
                collect(report["stderr"].as_str().unwrap_or_default(), &mut modbox);
                Some((usize::try_from(report["id"].as_u64()?).ok()?, end(report)))
            })
            .collect();
        let trees = self.take_trees(setting, cases);
        let mut performed = Vec::new();
        for (index, (linux_tree, modbox_tree)) in linux_trees.into_iter().zip(trees).enumerate() {
            let side = |calls: Option<Vec<(String, String)>>, end: String, tree| Performed {
                calls: calls.unwrap_or_default(),
                end,
                tree,
            };
            performed.push(Pair {
                linux: side(linux.remove(&index), "ended".to_owned(), linux_tree),
                modbox: side(modbox.remove(&index), ends.get(&index).cloned().unwrap_or_default(), modbox_tree),
            });
        }
        performed
    }

    fn program(&self, name: &str) -> PathBuf {
        self.places[0].path().join(name)
    }

    /// The folder for the home, the cache and the temporary files of a user.
    fn home(&self, setting: Setting) -> PathBuf {
        self.program(&format!("home-{}", setting.user.unwrap_or_default()))
    }

    /// The folder with the trees.
    fn trees(&self, setting: Setting) -> PathBuf {
        self.places[usize::from(!setting.below_tmp)].path().join("t")
    }

    fn here(&self, setting: Setting, index: usize) -> PathBuf {
        self.trees(setting).join(index.to_string())
    }

    fn make_trees(&self, setting: Setting, cases: &[Case]) {
        for (index, case) in cases.iter().enumerate() {
            tree::make(case, &self.here(setting, index));
        }
    }

    fn take_trees(&self, setting: Setting, cases: &[Case]) -> Vec<Snapshot> {
        let take = |index| {
            let here = self.here(setting, index);
            snapshot(&here)
        };
        let taken = (0..cases.len()).map(take).collect();
        self.remover.remove(&self.trees(setting));
        taken
    }

    fn linux(&self, setting: Setting, cases: &[Case]) -> RunOutput {
        self.make_trees(setting, cases);
        let mut mounts = String::new();
        let mut list = Vec::new();
        for (index, case) in cases.iter().enumerate() {
            let here = self.here(setting, index);
            let calls: Vec<_> = case.calls.iter().map(|call| call.line(&here)).collect();
            list.push(json!({"number": index, "grants": grants::for_linux(case, &here), "calls": calls}));
            mounts.push_str(&grants::mounts(case, &here));
        }
        let args = self.program("cases.json");
        fs::write(&args, json!({"cases": list}).to_string()).expect("the cases can be written");
        fs::write(self.program("mounts"), mounts).expect("the list of mounts can be written");
        let ran = self.confined(setting, &[self.program("twin"), args]).run();
        ran.exits_with(0)
    }

    /// Prepares a program in the mount namespace, by the setting's user.
    fn confined(&self, setting: Setting, words: &[PathBuf]) -> Modbox {
        let is_root = geteuid().is_root();
        let unshare = Modbox::of(Path::new("unshare"), &self.dir).patience(PATIENCE);
        let unshare = unshare.arg(if is_root { "-m" } else { "-rm" }).arg("sh").arg(self.program("linux.sh"));
        let unshare =
            unshare.arg(self.trees(setting)).arg(self.program("mounts")).arg(format!("{:03o}", setting.umask));
        let unshare = match setting.user {
            Some(user) => unshare.args(by_user(user)),
            // Back to the user who is root in the namespace for the mounts.
            None if !is_root => {
                let (user, group) = (geteuid().as_raw(), rustix::process::getegid().as_raw());
                unshare.args(["unshare", &format!("--map-user={user}"), &format!("--map-group={group}")])
            }
            None => unshare,
        };
        unshare.args(words)
    }

    fn can_mount(&self) -> Result<(), String> {
        fs::write(self.program("mounts"), "").expect("the list of mounts can be written");
        let ran = self.confined(Setting::of(0), &["true".into()]).run();
        if ran.status.code() == Some(0) {
            return Ok(());
        }
        Err(format!("the side of Linux needs mount namespaces: {}", ran.stderr_text().trim()))
    }

    fn batch(&self, setting: Setting, cases: &[Case]) -> Vec<Value> {
        self.make_trees(setting, cases);
        let mut lines = String::new();
        for (index, case) in cases.iter().enumerate() {
            let here = self.here(setting, index);
            let calls: Vec<_> = case.calls.iter().map(|call| call.line(&here)).collect();
            let mut args = json!({"cases": [{"number": index, "calls": calls}]});
            grants::add_arguments(case, &here, &mut args);
            let policy = json!({"allow": grants::for_modbox(case, &here)});
            let job = json!({"id": index, "module": self.program("twin.wasm"), "args": args, "policy": policy});
            lines.push_str(&format!("{job}\n"));
        }
        let home = self.home(setting);
        let script = format!("umask {:03o}; cd \"$HOME\"; exec \"$@\"", setting.umask);
        let shell = Modbox::of(Path::new("sh"), &self.dir).patience(PATIENCE).args(["-c", &script, "sh"]);
        let shell = shell.env("HOME", &home).env("TMPDIR", home.join("tmp")).env("XDG_CACHE_HOME", home.join("cache"));
        let shell = shell.env("XDG_CONFIG_HOME", home.join("config"));
        let shell = match setting.user {
            Some(user) => shell.args(by_user(user)),
            None => shell,
        };
        let ran = shell
            .arg(self.program("modbox"))
            .args(["batch", "--timeout", "60s"])
            .args(grants::designations())
            .stdin(lines)
            .run();
        let reports: Vec<Value> =
            ran.stdout_text().lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        assert_eq!(reports.len(), cases.len(), "every job has a report: {ran}");
        reports
    }
}

/// Returns the words that start a program by another user.
fn by_user(user: u32) -> [String; 4] {
    ["setpriv".to_owned(), format!("--reuid={user}"), format!("--regid={user}"), "--clear-groups".to_owned()]
}

/// Returns a folder that other users can reach and that is not below `/tmp`. In memory if there is one, since most of the time
/// of the test goes into making and removing trees.
fn elsewhere() -> PathBuf {
    let usable = |path: &&Path| {
        let is_separate = path.canonicalize().is_ok_and(|path| !path.starts_with("/tmp"));
        is_separate && tempfile::tempdir_in(path).is_ok()
    };
    let usual = ["/dev/shm", "/var/tmp"].map(Path::new);
    usual.iter().copied().find(|path| usable(path)).map_or_else(temporary, Path::to_owned)
}

/// Returns how a job ended that did not come to its last call.
fn end(report: &Value) -> String {
    match report["status"].as_str() {
        Some("ok") => "ended".to_owned(),
        Some("limit") => format!("limit-{}", report["limit"]["kind"].as_str().unwrap_or_default()),
        status => status.unwrap_or_default().to_owned(),
    }
}

/// Collects the outcomes of calls, by the numbers of their cases.
fn collect(text: &str, outcomes: &mut HashMap<usize, Vec<(String, String)>>) {
    for line in text.lines() {
        let mut parts = line.split('\t');
        let numbers = parts.next().and_then(|numbers| numbers.strip_prefix('=')?.split_once('.'));
        let (Some((case, _)), Some(outcome), Some(traits)) = (numbers, parts.next(), parts.next()) else { continue };
        if let Ok(case) = case.parse() {
            outcomes.entry(case).or_default().push((outcome.to_owned(), traits.to_owned()));
        }
    }
}

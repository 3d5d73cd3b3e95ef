//! The releases of ansible-core that tests run, the Pythons that they need, and which release is the oracle on this machine.
//!
//! modbox follows the newest final release. Where no Python of this machine is new enough for it, as on plain Debian 12, the
//! oracle is an older one, and the tests say so on standard error.

use std::cell::Cell;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::Command;
use std::sync::LazyLock;
use std::time::Duration;

use crate::install::tool;
use crate::oracle::clean;

/// A release that is still widely used.
pub const EARLIER: &str = "2.14.18";

/// The last release before collections.
pub const LEGACY: &str = "2.9.27";

/// The release that takes the place of the newest one on machines without a Python for it, and for [`Settled`].
pub const SETTLED: &str = "2.19.14";

/// The newest final release.
const NEWEST: &str = "2.21.5";

/// The next release, which is not final: a difference to it is a warning.
const NEXT: &str = "2.22.0rc1";

/// A release with the Pythons that it runs on: from the first to before the second.
struct Release {
    version: &'static str,
    pythons: (&'static str, &'static str),
}

/// All releases: those whose contracts modbox supports, and those that run its collections.
const RELEASES: [Release; 8] = [
    Release { version: LEGACY, pythons: ("3, 11", "3, 12") },
    Release { version: EARLIER, pythons: ("3, 11", "3, 12") },
    Release { version: "2.16.19", pythons: ("3, 11", "3, 12") },
    Release { version: "2.17.14", pythons: ("3, 11", "3, 12") },
    Release { version: "2.18.19", pythons: ("3, 11", "3, 12") },
    Release { version: SETTLED, pythons: ANY },
    Release { version: NEWEST, pythons: ("3, 12", "4,") },
    Release { version: NEXT, pythons: ("3, 13", "4,") },
];

/// The Pythons for everything else.
const ANY: (&str, &str) = ("3, 11", "4,");

/// Names of Python, in the order in which they are tried.
const PYTHONS: [&str; 6] = ["python3", "/usr/bin/python3", "python3.12", "python3.13", "python3.14", "python3.11"];

thread_local! {
    static IS_SETTLED: Cell<bool> = const { Cell::new(false) };
}

/// Returns the release whose behaviour modbox follows: the newest final one, where this machine has a Python for it; within
/// [`Settled`], the release that it names.
pub fn version() -> &'static str {
    if IS_SETTLED.get() { SETTLED } else { present() }
}

/// Returns the newest release that this machine has a Python for. Says once which one that is.
fn present() -> &'static str {
    static PRESENT: LazyLock<&str> = LazyLock::new(|| {
        let version = newest().unwrap_or(SETTLED);
        let _ = writeln!(std::io::stderr(), "the oracle is ansible-core {version}");
        version
    });
    *PRESENT
}

/// Compares with [`SETTLED`] in this thread, as long as it lives: for what modbox does as that release does, and not yet as
/// the newest one. Each use says what that is.
#[derive(Debug)]
pub struct Settled(());

impl Settled {
    /// Makes [`SETTLED`] the oracle.
    #[must_use]
    pub fn hold() -> Self {
        IS_SETTLED.set(true);
        Self(())
    }
}

impl Drop for Settled {
    fn drop(&mut self) {
        IS_SETTLED.set(false);
    }
}

/// Says whether an environment has all packages that modules and templates need.
pub(crate) fn is_oracle(version: &str) -> bool {
    [present(), SETTLED].contains(&version)
}

/// Returns the newest final release; `None` on machines without a Python for it, with a message.
pub fn newest() -> Option<&'static str> {
    found(NEWEST)
}

/// Returns the next release; `None` on machines without a Python for it, with a message.
pub fn next() -> Option<&'static str> {
    found(NEXT)
}

/// Returns whether a release can be tested here; if not, a message says why.
pub fn is_testable(version: &str) -> bool {
    let special = [NEWEST, NEXT].into_iter().find(|special| *special == version);
    special.is_none_or(|special| found(special).is_some())
}

/// Checks the behaviour of the next release, where this machine has a Python for it. A failure is only said on standard
/// error: until the release is final, it may change.
pub fn warn_about_next(check: impl FnOnce(&'static str) + std::panic::UnwindSafe) {
    let Some(version) = next() else { return };
    if let Err(failure) = std::panic::catch_unwind(|| check(version)) {
        let text = failure.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| failure.downcast_ref::<&str>().copied()).unwrap_or("it panicked");
        let _ = writeln!(std::io::stderr(), "warning: ansible-core {version} differs: {text}");
    }
}

fn found(version: &'static str) -> Option<&'static str> {
    let found = system_python(&[&package(version)]);
    if let Err(why) = &found {
        let _ = writeln!(std::io::stderr(), "ansible-core {version} is not tested: {why}");
    }
    found.is_ok().then_some(version)
}

/// Returns whether tests know a release.
pub(crate) fn is_known(version: &str) -> bool {
    RELEASES.iter().any(|release| release.version == version)
}

/// Returns the package of a release in Python's package index.
pub(crate) fn package(version: &str) -> String {
    // Before collections, everything was in one package.
    format!("{}=={version}", if version == LEGACY { "ansible" } else { "ansible-core" })
}

/// Returns the first Python of this machine that runs the release among the packages.
pub(crate) fn system_python(packages: &[&str]) -> Result<PathBuf, String> {
    let is_wanted = |release: &&Release| packages.contains(&package(release.version).as_str());
    let (oldest, before) = RELEASES.iter().find(is_wanted).map_or(ANY, |release| release.pythons);
    let mut tried = Vec::new();
    for name in PYTHONS.iter().map(PathBuf::from).chain(pyenv()) {
        let mut command = Command::new(name);
        let check = format!(
            "import sys, venv; assert ({oldest}) <= sys.version_info < ({before}), sys.version; print(sys.executable)"
        );
        match tool(clean(command.args(["-c", &check])), Duration::from_secs(30)) {
            Ok(path) => return Ok(PathBuf::from(path.trim())),
            Err(error) => tried.push(error),
        }
    }
    Err(tried.join("\n"))
}

/// Returns the versions that pyenv has, oldest first: it starts by name only those that were chosen.
fn pyenv() -> Vec<PathBuf> {
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let versions = std::fs::read_dir(home.join(".pyenv/versions")).into_iter().flatten().flatten();
    let numbers = |path: &PathBuf| -> Vec<u32> {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.split('.').filter_map(|number| number.parse().ok()).collect()
    };
    let mut found: Vec<PathBuf> = versions.map(|version| version.path()).collect();
    found.sort_by_key(numbers);
    found.into_iter().map(|folder| folder.join("bin/python3")).collect()
}

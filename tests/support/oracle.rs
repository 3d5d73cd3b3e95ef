//! The real ansible-core, in a Python environment below the target directory.
//!
//! The tests run it; they never link or copy it. The environment also holds a C compiler for WebAssembly, because that
//! comes from Python's package index, too.

use std::ffi::OsStr;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::time::Duration;

use crate::install::{Prepared, holding, once, tool};
pub use crate::oracle_plays::{play, play_by, play_on, play_to_text};
use crate::{TestDir, fixture, temporary};

/// The release whose behaviour modbox follows.
pub const VERSION: &str = "2.19.14";

/// Packages of its environment. Ansible's modules need the last two. What templates and YAML mean depends on Jinja and
/// PyYAML, so these are pinned too: PyYAML 6.0.4 comes with libyaml 0.2.6, which accepts `[?]` and gives other places.
const PACKAGES: [&str; 7] = [
    "ansible-core==2.19.14",
    "PyYAML==6.0.3",
    "Jinja2==3.1.6",
    "MarkupSafe==3.0.4",
    "ziglang==0.17.1",
    "pexpect==4.9.0",
    "python-debian==1.1.1",
];

/// Older releases: those whose contracts modbox supports, and those that run its collections. With their packages.
const OLDER: [(&str, &str); 5] = [
    (EARLIER, "ansible-core==2.14.18"),
    (LEGACY, "ansible==2.9.27"),
    ("2.16.19", "ansible-core==2.16.19"),
    ("2.17.14", "ansible-core==2.17.14"),
    ("2.18.19", "ansible-core==2.18.19"),
];

/// The newest release, and the package. It needs Python 3.12.
const NEWEST: (&str, &str) = ("2.21.5", "ansible-core==2.21.5");

/// The release that comes next, and the package: its secrets are compared with it. It needs Python 3.13.
const NEXT: (&str, &str) = ("2.22.0rc1", "ansible-core==2.22.0rc1");

/// A release that is still widely used.
pub const EARLIER: &str = "2.14.18";

/// The last release before collections.
pub const LEGACY: &str = "2.9.27";

/// The package with modules of collections: `ansible` is `ansible-core` and a hundred collections.
const COLLECTIONS: &str = "ansible==12.3.0";

/// Script that downloads that package as one file, and extracts only the collections whose modules are compared, without
/// their tests and documents: the whole package has 80 000 files.
const TAKE_MODULES: &str = r"
import pathlib, re, subprocess, sys, zipfile
folder, package = sys.argv[1:]
pip = [sys.executable, '-m', 'pip', '--quiet', '--no-input', '--disable-pip-version-check']
subprocess.run([*pip, 'download', '--no-deps', '--only-binary=:all:', '--dest', folder, package], check=True)
wheel = next(pathlib.Path(folder).glob('*.whl'))
collections = r'ansible_collections/(ansible/posix|community/(crypto|general))/'
parts = r'MANIFEST\.json|meta/runtime\.yml|plugins/(action|doc_fragments|modules|module_utils|plugin_utils)/'
wanted = re.compile(f'{collections}({parts})')
with zipfile.ZipFile(wheel) as packed:
    packed.extractall(folder, [name for name in packed.namelist() if wanted.match(name)])
wheel.unlink()
";

/// Packages that the modules of these collections need, besides [`PACKAGES`]. passlib does not work with bcrypt 5.
const OF_COLLECTIONS: [&str; 8] = [
    "Django==5.2.19",
    "bcrypt==4.0.1",
    "cryptography==50.0.2",
    "lxml==6.1.3",
    "paramiko==5.1.0",
    "passlib==1.7.4",
    "psutil==7.2.2",
    "pycdlib==1.22.0",
];

/// What the checks of `ansible-test sanity` import, in the versions that ansible-core 2.21 names for them. All are Python alone.
const SANITY: [&str; 2] = ["antsibull-docs-parser==1.0.0", "voluptuous==0.16.0"];

const LINT: &str = "ansible-lint==26.10.1";

/// Script that extracts the integration targets from the archive of ansible-core's sources.
const TAKE_TARGETS: &str = r"
import pathlib, sys, tarfile
folder, archive = sys.argv[1:]
with tarfile.open(archive) as packed:
    for member in packed:
        path = pathlib.PurePosixPath(member.name)
        if path.parts[1:4] == ('test', 'integration', 'targets'):
            member.name = '/'.join(path.parts[3:])
            packed.extract(member, folder, filter='tar')
";

/// Time limit for downloading a hundred megabytes over a slow line.
const INSTALL: Duration = Duration::from_secs(600);

const REMEDY: &str = "\
the tests compare modbox with ansible-core, which they install with pip into the target directory; that needs \
python3 (3.11 or newer), pip (on Debian: `apt-get install python3-venv`, as root) and, the first time, a package index";

/// Returns the interpreter of the environment. Installs the environment if needed.
pub fn python() -> PathBuf {
    static PYTHON: LazyLock<Prepared> = LazyLock::new(|| {
        let dir = holding(&format!("oracle-{VERSION}"), &PACKAGES.join("\n"), |dir| {
            install(dir, &PACKAGES, "import ansible, ziglang, pexpect, debian")
                .map_err(|error| format!("{error}\n{REMEDY}"))
        });
        Ok(dir?.join("venv/bin/python"))
    });
    PYTHON.clone().unwrap_or_else(|error| panic!("{error}"))
}

/// Returns the interpreter of an environment with the packages that modules of [`collections`] need.
pub fn python_for_collections() -> PathBuf {
    static PYTHON: LazyLock<Prepared> = LazyLock::new(|| {
        let mut packages = [&PACKAGES[..], &OF_COLLECTIONS].concat();
        packages.retain(|package| !package.starts_with("ziglang"));
        let dir = holding(&format!("oracle-for-collections-{VERSION}"), &packages.join("\n"), |dir| {
            install(dir, &packages, "import ansible, cryptography, django, lxml, paramiko, passlib, psutil, pycdlib")
                .map_err(|error| format!("{error}\n{REMEDY}"))
        });
        Ok(dir?.join("venv/bin/python"))
    });
    PYTHON.clone().unwrap_or_else(|error| panic!("{error}"))
}

/// Returns the interpreter of an environment with an older release.
pub fn python_of(version: &str) -> PathBuf {
    static LOCK: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _one_at_a_time = LOCK.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if version == VERSION {
        return python();
    }
    let (_, package) =
        OLDER.iter().chain([&NEWEST, &NEXT]).find(|(older, _)| *older == version).expect("the release is known");
    let remedy = "ansible-core before 2.15 runs on Python 3.11 and not on newer ones: have a `python3.11` in PATH";
    let make = |dir: &Path| install(dir, &[package], "import ansible").map_err(|error| format!("{error}\n{remedy}"));
    let dir = once(&format!("oracle-{version}"), make);
    dir.unwrap_or_else(|error| panic!("{error}")).join("venv/bin/python")
}

/// Returns the newest release; `None` on machines without a Python for it, with a message.
pub fn newest() -> Option<&'static str> {
    with_python(NEWEST)
}

/// Returns the release that comes next; `None` on machines without a Python for it, with a message.
pub fn next() -> Option<&'static str> {
    with_python(NEXT)
}

/// Returns whether a release can be tested here; if not, a message says why.
pub fn is_testable(version: &str) -> bool {
    let special = [NEWEST, NEXT].into_iter().find(|(special, _)| *special == version);
    special.is_none_or(|special| with_python(special).is_some())
}

fn with_python((version, package): (&'static str, &str)) -> Option<&'static str> {
    let found = system_python(&[package]);
    if let Err(why) = &found {
        let _ = writeln!(std::io::stderr(), "ansible-core {version} is not tested: {why}");
    }
    found.is_ok().then_some(version)
}

/// Returns the folder that holds `ansible_collections`, with the collections whose modules are compared.
pub fn collections() -> PathBuf {
    let python = python();
    let take = |dir: &Path| {
        std::fs::create_dir_all(dir).map_err(|error| error.to_string())?;
        let mut command = Command::new(&python);
        tool(clean(command.args(["-c", TAKE_MODULES]).arg(dir).arg(COLLECTIONS)), INSTALL)
            .map(drop)
            .map_err(|error| format!("{error}\n{REMEDY}"))
    };
    once("oracle-three-collections-12.3.0", take).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns the archive of ansible-core's sources, which has its tests in it.
pub fn sources() -> PathBuf {
    let python = python();
    let take = |dir: &Path| {
        let mut command = Command::new(&python);
        command.args(["-m", "pip", "download", "--quiet", "--no-input", "--disable-pip-version-check", "--no-deps"]);
        command.args(["--no-binary=ansible-core", PACKAGES[0], "--dest"]).arg(dir);
        tool(clean(&mut command), INSTALL).map(drop).map_err(|error| format!("{error}\n{REMEDY}"))
    };
    let dir = once(&format!("oracle-sources-{VERSION}"), take).unwrap_or_else(|error| panic!("{error}"));
    dir.join(format!("ansible_core-{VERSION}.tar.gz"))
}

/// Returns the folder of ansible-core's own integration targets, each of which is a role or has a script.
pub fn targets() -> PathBuf {
    let (python, archive) = (python(), sources());
    let take = |dir: &Path| {
        let mut command = Command::new(&python);
        tool(clean(command.args(["-c", TAKE_TARGETS]).arg(dir).arg(&archive)), INSTALL)
            .map(drop)
            .map_err(|error| format!("{error}\n{REMEDY}"))
    };
    let dir = once(&format!("oracle-targets-{VERSION}"), take).unwrap_or_else(|error| panic!("{error}"));
    dir.join("targets")
}

/// Returns the folder that [`LEGACY`] is imported from.
pub fn legacy() -> PathBuf {
    packages_of(&python_of(LEGACY))
}

/// Returns the interpreter of an environment with [`VERSION`] and Mitogen, which takes the place of Ansible's strategy.
pub fn python_with_mitogen() -> PathBuf {
    let packages: Vec<&str> = PACKAGES[..4].iter().copied().chain(["mitogen==0.3.54"]).collect();
    let make =
        |dir: &Path| install(dir, &packages, "import ansible, mitogen").map_err(|error| format!("{error}\n{REMEDY}"));
    let dir = holding("oracle-mitogen", &packages.join("\n"), make);
    dir.unwrap_or_else(|error| panic!("{error}")).join("venv/bin/python")
}

/// Returns the folder of what the checks of `ansible-test sanity` import, for the environments of all releases.
pub fn sanity_packages() -> PathBuf {
    let python = python();
    let take = |dir: &Path| {
        let mut pip = pip_of(&python);
        pip.args(["install", "--quiet", "--no-input", "--disable-pip-version-check", "--no-deps", "--target"]).arg(dir);
        tool(clean(pip.args(SANITY)), INSTALL).map(drop).map_err(|error| format!("{error}\n{REMEDY}"))
    };
    once("oracle-sanity", take).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns the program ansible-lint, in an environment of its own.
pub fn ansible_lint() -> PathBuf {
    let make = |dir: &Path| install(dir, &[LINT], "import ansiblelint").map_err(|error| format!("{error}\n{REMEDY}"));
    let dir = holding("oracle-lint", LINT, make);
    dir.unwrap_or_else(|error| panic!("{error}")).join("venv/bin/ansible-lint")
}

/// Returns the folder of the packages of an environment.
pub fn packages_of(python: &Path) -> PathBuf {
    let library = python.ancestors().nth(2).expect("it lies in an environment").join("lib");
    let versions = std::fs::read_dir(library).expect("an environment has a library").flatten();
    let folders = versions.map(|version| version.path().join("site-packages"));
    folders.filter(|folder| folder.join("ansible").is_dir()).min().expect("it is installed")
}

/// Creates a Python environment with packages, and runs the statement `check` in it.
pub(crate) fn install(dir: &Path, packages: &[&str], check: &str) -> Result<(), String> {
    let venv = dir.join("venv");
    // Without pip, since Debian's python3 does not include it. The loop below finds one.
    let mut make = Command::new(system_python(packages)?);
    tool(clean(make.args(["-m", "venv", "--without-pip"]).arg(&venv)), INSTALL)?;
    let python = venv.join("bin/python");
    let mut errors = Vec::new();
    for pip in [own_pip, system_pip, debian_pip] {
        let installed = pip(dir, &python, packages).and_then(|mut command| {
            command.args(["install", "--quiet", "--no-input", "--disable-pip-version-check"]).args(packages);
            tool(clean(&mut command), INSTALL)
        });
        match installed {
            Ok(_) => return tool(Command::new(&python).args(["-c", check]), INSTALL).map(drop),
            Err(error) => errors.push(error),
        }
    }
    Err(errors.join("\n"))
}

/// Names of Python, in the order in which they are tried.
const PYTHONS: [&str; 5] = ["python3", "/usr/bin/python3", "python3.13", "python3.12", "python3.11"];

/// Returns the versions that pyenv has, newest first: it starts by name only those that were chosen.
fn pyenv() -> Vec<PathBuf> {
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let versions = std::fs::read_dir(home.join(".pyenv/versions")).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = versions.map(|version| version.path().join("bin/python3")).collect();
    found.sort();
    found.reverse();
    found
}

/// Returns the first `python3` that is new enough for a release of ansible-core, and not too new for an older one.
fn system_python(packages: &[&str]) -> Result<PathBuf, String> {
    let mut tried = Vec::new();
    let newest = if OLDER.iter().any(|(_, older)| packages == [*older]) { "(3, 12)" } else { "(4,)" };
    let oldest = match packages {
        [package] if *package == NEXT.1 => "(3, 13)",
        [package] if *package == NEWEST.1 => "(3, 12)",
        _ => "(3, 11)",
    };
    for name in PYTHONS.iter().map(PathBuf::from).chain(pyenv()) {
        let mut command = Command::new(name);
        let check = format!(
            "import sys, venv; assert {oldest} <= sys.version_info < {newest}, sys.version; print(sys.executable)"
        );
        match tool(clean(command.args(["-c", &check])), Duration::from_secs(30)) {
            Ok(path) => return Ok(PathBuf::from(path.trim())),
            Err(error) => tried.push(error),
        }
    }
    Err(tried.join("\n"))
}

/// Returns the pip that is bundled with Python.
fn own_pip(_: &Path, python: &Path, _: &[&str]) -> Result<Command, String> {
    tool(clean(Command::new(python).args(["-m", "ensurepip"])), INSTALL)?;
    Ok(pip_of(python))
}

/// Returns the system's pip, set to install into the environment.
fn system_pip(_: &Path, python: &Path, packages: &[&str]) -> Result<Command, String> {
    let mut pip = Command::new(system_python(packages)?);
    pip.args(["-m", "pip", "--python"]).arg(python);
    Ok(pip)
}

/// Returns Debian's pip, unpacked from its package, which does not need root.
fn debian_pip(dir: &Path, python: &Path, _: &[&str]) -> Result<Command, String> {
    let script = "apt-get download -q python3-pip-whl && dpkg-deb -x python3-pip-whl_*.deb unpacked && \
                  cp unpacked/usr/share/python-wheels/pip-*.whl .";
    tool(clean(Command::new("sh").args(["-ec", script]).current_dir(dir)), INSTALL)?;
    let find = "import glob; print(glob.glob('pip-*.whl')[0])";
    let wheel = tool(Command::new(python).args(["-c", find]).current_dir(dir), INSTALL)?;
    let mut pip = pip_of(python);
    pip.env("PYTHONPATH", dir.join(wheel.trim()));
    Ok(pip)
}

fn pip_of(python: &Path) -> Command {
    let mut pip = Command::new(python);
    pip.args(["-m", "pip"]);
    pip
}

/// Removes variables that would make Python use packages outside the environment.
fn clean(command: &mut Command) -> &mut Command {
    ["PYTHONHOME", "PYTHONSTARTUP", "PYTHONUSERBASE", "VIRTUAL_ENV", "PIP_TARGET", "PIP_PREFIX", "PIP_USER"]
        .into_iter()
        .fold(command, |command, name| command.env_remove(name))
}

/// Prepares `ansible` or `ansible-playbook` (`adhoc`, `playbook`) in a test's directory, untouched by the user's
/// configuration.
pub fn ansible(dir: &TestDir, command: &str) -> Command {
    ansible_of(VERSION, dir, command)
}

/// Prepares a program of a release like [`ansible`].
pub fn ansible_of(version: &str, dir: &TestDir, command: &str) -> Command {
    ansible_by(&python_of(version), dir, command)
}

/// Prepares a program of the environment of an interpreter like [`ansible`].
pub fn ansible_by(python: &Path, dir: &TestDir, command: &str) -> Command {
    started(python, dir, &["-m".as_ref(), "ansible".as_ref(), command.as_ref()])
}

/// Prepares `ansible-playbook` like [`ansible_by`], but faster for plays of many tasks: the imports of modules are
/// loaded once for all tasks.
pub fn forking_playbook_in(python: &Path, dir: &TestDir) -> Command {
    let script = fixture("oracle/forking_python.py");
    started(python, dir, &[script.as_os_str(), "-m".as_ref(), "ansible".as_ref(), "playbook".as_ref()])
}

/// Prepares a Python command that runs Ansible.
fn started(python: &Path, dir: &TestDir, args: &[&OsStr]) -> Command {
    // Without this file, Ansible would search for another one; it accepts only this extension.
    let config = dir.write("home/ansible.cfg", "");
    let mut ansible = Command::new(python);
    ansible
        .args(args)
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("LC_ALL", "C.UTF-8")
        .env("HOME", dir.join("home"))
        .env("XDG_CONFIG_HOME", dir.join("home/.config"))
        .env("XDG_CACHE_HOME", temporary().join("cache"))
        .env("TMPDIR", dir.join("tmp"))
        .env("ANSIBLE_CONFIG", config)
        .env("ANSIBLE_HOME", dir.join("home/.ansible"))
        .env("ANSIBLE_LOCAL_TEMP", dir.join("home/local-tmp"))
        .env("ANSIBLE_REMOTE_TEMP", dir.join("home/remote-tmp"))
        .env("ANSIBLE_ASYNC_DIR", dir.join("home/async"))
        .env("ANSIBLE_PYTHON_INTERPRETER", python)
        .env("ANSIBLE_NOCOLOR", "1")
        .env("ANSIBLE_LOCALHOST_WARNING", "false")
        .env("ANSIBLE_INVENTORY_UNPARSED_WARNING", "false")
        .env("ANSIBLE_DEPRECATION_WARNINGS", "false")
        .current_dir(dir.path())
        .stdin(Stdio::null());
    ansible
}

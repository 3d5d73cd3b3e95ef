//! The real ansible-core, in a Python environment below the target directory.
//!
//! The tests run it; they never link or copy it. The environment also holds a C compiler for WebAssembly, because that
//! comes from Python's package index, too.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::install::{holding, once, tool};
pub use crate::oracle_plays::{play, play_by, play_on, play_to_text};
pub use crate::oracle_release::{
    EARLIER, LEGACY, SETTLED, Settled, is_testable, newest, next, version, warn_about_next,
};
use crate::oracle_release::{is_known, is_oracle, package, system_python};
use crate::{TestDir, fixture, temporary};

/// Packages of the oracle's environment besides ansible-core. Ansible's modules need the last two. What templates and YAML mean
/// depends on Jinja and PyYAML, so these are pinned too: PyYAML 6.0.4 comes with libyaml 0.2.6, which accepts `[?]` and gives
/// other places.
pub(crate) const PACKAGES: [&str; 6] = [
    "PyYAML==6.0.3",
    "Jinja2==3.1.6",
    "MarkupSafe==3.0.4",
    "ziglang==0.17.1",
    "pexpect==4.9.0",
    "python-debian==1.1.1",
];

/// The package with modules of collections: `ansible` is `ansible-core` and a hundred collections.
pub(crate) const COLLECTIONS: &str = "ansible==12.3.0";

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

/// The SDK of the Model Context Protocol, with clients of both generations.
const MCP: &str = "mcp==2.3.0";

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
pub(crate) const INSTALL: Duration = Duration::from_secs(600);

pub(crate) const REMEDY: &str = "\
the tests compare modbox with ansible-core, which they install with pip into the target directory; that needs \
python3 (3.11 or newer; 3.11 itself for releases before 2.19, as `python3.11` in PATH), pip (on Debian: `apt-get install python3-venv`, as root) and, the first time, a package index";

/// Returns the interpreter of the environment of the oracle. Installs the environment if needed.
pub fn python() -> PathBuf {
    python_of(version())
}

/// Returns the interpreter of an environment with the packages that modules of [`collections`] need.
pub fn python_for_collections() -> PathBuf {
    let core = package(version());
    let mut packages = [&[core.as_str()], &PACKAGES[..], &OF_COLLECTIONS].concat();
    packages.retain(|package| !package.starts_with("ziglang"));
    let dir = holding(&format!("oracle-for-collections-{}", version()), &packages.join("\n"), |dir| {
        install(dir, &packages, "import ansible, cryptography, django, lxml, paramiko, passlib, psutil, pycdlib")
            .map_err(|error| format!("{error}\n{REMEDY}"))
    });
    dir.unwrap_or_else(|error| panic!("{error}")).join("venv/bin/python")
}

/// Returns the interpreter of an environment with a release. That of the oracle, and of the one that takes its place, also have
/// all that modules and templates need.
pub fn python_of(version: &str) -> PathBuf {
    static LOCK: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _one_at_a_time = LOCK.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    assert!(is_known(version), "no test knows ansible-core {version}");
    let core = package(version);
    let is_whole = is_oracle(version);
    let besides = if is_whole { &PACKAGES[..] } else { &[] };
    let packages = [&[core.as_str()], besides].concat();
    let check = if is_whole { "import ansible, ziglang, pexpect, debian" } else { "import ansible" };
    let dir = holding(&format!("oracle-{version}"), &packages.join("\n"), |dir| {
        install(dir, &packages, check).map_err(|error| format!("{error}\n{REMEDY}"))
    });
    dir.unwrap_or_else(|error| panic!("{error}")).join("venv/bin/python")
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
        command.args(["--no-binary=ansible-core", &package(version()), "--dest"]).arg(dir);
        tool(clean(&mut command), INSTALL).map(drop).map_err(|error| format!("{error}\n{REMEDY}"))
    };
    let dir = once(&format!("oracle-sources-{}", version()), take).unwrap_or_else(|error| panic!("{error}"));
    dir.join(format!("ansible_core-{}.tar.gz", version()))
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
    let dir = once(&format!("oracle-targets-{}", version()), take).unwrap_or_else(|error| panic!("{error}"));
    dir.join("targets")
}

/// Returns the folder that [`LEGACY`] is imported from.
pub fn legacy() -> PathBuf {
    packages_of(&python_of(LEGACY))
}

/// Returns the interpreter of an environment with [`SETTLED`] and Mitogen, which takes the place of Ansible's strategy.
pub fn python_with_mitogen() -> PathBuf {
    let core = package(SETTLED);
    let packages = [&[core.as_str()], &PACKAGES[..3], &["mitogen==0.3.54"]].concat();
    let make =
        |dir: &Path| install(dir, &packages, "import ansible, mitogen").map_err(|error| format!("{error}\n{REMEDY}"));
    let dir = holding("oracle-mitogen", &packages.join("\n"), make);
    dir.unwrap_or_else(|error| panic!("{error}")).join("venv/bin/python")
}

/// Returns the interpreter of an environment with the SDK of the Model Context Protocol.
pub fn python_with_mcp() -> PathBuf {
    let make = |dir: &Path| install(dir, &[MCP], "import mcp").map_err(|error| format!("{error}\n{REMEDY}"));
    let dir = holding("oracle-mcp", MCP, make);
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
pub(crate) fn clean(command: &mut Command) -> &mut Command {
    ["PYTHONHOME", "PYTHONSTARTUP", "PYTHONUSERBASE", "VIRTUAL_ENV", "PIP_TARGET", "PIP_PREFIX", "PIP_USER"]
        .into_iter()
        .fold(command, |command, name| command.env_remove(name))
}

/// Prepares `ansible` or `ansible-playbook` (`adhoc`, `playbook`) in a test's directory, untouched by the user's
/// configuration.
pub fn ansible(dir: &TestDir, command: &str) -> Command {
    ansible_of(version(), dir, command)
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

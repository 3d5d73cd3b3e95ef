//! Collections with filters, tests and lookups, and a Python environment that has what these need.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::install::{holding, once, tool};
use crate::oracle::{COLLECTIONS, INSTALL, PACKAGES, REMEDY, clean, install, python};
use crate::oracle_release::{package, version};

/// Script that downloads the package of collections as one file, and extracts the plugins of two of them that are not modules.
const TAKE_PLUGINS: &str = r"
import pathlib, re, subprocess, sys, zipfile
folder, package = sys.argv[1:]
pip = [sys.executable, '-m', 'pip', '--quiet', '--no-input', '--disable-pip-version-check']
subprocess.run([*pip, 'download', '--no-deps', '--only-binary=:all:', '--dest', folder, package], check=True)
wheel = next(pathlib.Path(folder).glob('*.whl'))
parts = 'doc_fragments|filter|lookup|module_utils|plugin_utils|sub_plugins|test'
wanted = re.compile(
    fr'ansible_collections/(ansible/utils|community/general)/(MANIFEST\.json|meta/runtime\.yml|plugins/({parts})/)')
with zipfile.ZipFile(wheel) as packed:
    packed.extractall(folder, [name for name in packed.namelist() if wanted.match(name)])
wheel.unlink()
";

/// Packages that these plugins need, besides those of the oracle. All are Python alone.
const OF_PLUGINS: [&str; 3] = ["jmespath==1.1.0", "netaddr==1.3.0", "xmltodict==1.0.4"];

/// Returns the folder that holds `ansible_collections`, with filters, tests and lookups of `ansible.utils` and
/// `community.general`.
#[must_use]
pub fn collections_with_plugins() -> PathBuf {
    let python = python();
    let take = |dir: &Path| {
        let mut command = Command::new(&python);
        tool(clean(command.args(["-c", TAKE_PLUGINS]).arg(dir).arg(COLLECTIONS)), INSTALL)
            .map(drop)
            .map_err(|error| format!("{error}\n{REMEDY}"))
    };
    once("oracle-plugins-12.3.0", take).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns the interpreter of an environment with the packages that plugins of [`collections_with_plugins`] need.
#[must_use]
pub fn python_for_plugins() -> PathBuf {
    let core = package(version());
    let mut packages = [&[core.as_str()], &PACKAGES[..], &OF_PLUGINS].concat();
    packages.retain(|package| !package.starts_with("ziglang"));
    let dir = holding(&format!("oracle-for-plugins-{}", version()), &packages.join("\n"), |dir| {
        install(dir, &packages, "import ansible, jmespath, netaddr, xmltodict")
            .map_err(|error| format!("{error}\n{REMEDY}"))
    });
    dir.unwrap_or_else(|error| panic!("{error}")).join("venv/bin/python")
}

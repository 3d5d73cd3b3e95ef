//! The files of modbox that an interpreter is made from: those of `guest-sdk/python-host`, and the interfaces that its
//! world imports.

/// Path of the build script.
pub(super) const BUILD: &str = "build.py";

/// Folder of the interfaces.
pub(super) const WIT: &str = "interfaces";

/// Lists files below `guest-sdk/python-host`.
macro_rules! python_host {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../../../guest-sdk/python-host/", $name)))),*]
    };
}

const PYTHON_HOST: &[(&str, &str)] = python_host![
    "build.py",
    "component.py",
    "modbox_python/__init__.py",
    "modbox_python/access.py",
    "modbox_python/attributes.py",
    "modbox_python/changes.py",
    "modbox_python/commands.py",
    "modbox_python/controller.py",
    "modbox_python/errors.py",
    "modbox_python/file_systems.py",
    "modbox_python/host.py",
    "modbox_python/identity.py",
    "modbox_python/listing.py",
    "modbox_python/moving.py",
    "modbox_python/names.py",
    "modbox_python/open_files.py",
    "modbox_python/opening.py",
    "modbox_python/paths.py",
    "modbox_python/pipes.py",
    "modbox_python/pools.py",
    "modbox_python/preload.py",
    "modbox_python/removal.py",
    "modbox_python/sockets.py",
    "modbox_python/start.py",
    "modbox_python/store.py",
    "modbox_python/system.py",
    "modbox_python/threads.py",
    "modbox_python/tls_authorities.py",
    "modbox_python/tls_connection.py",
    "modbox_python/tls_context.py",
    "modbox_python/tls_errors.py",
    "modbox_python/unsupported.py",
    "modbox_python/whole_writes.py",
    "plugins/native.py",
    "plugins/paths.py",
    "plugins/sandboxed.py",
    "plugins/values.py",
    "plugins/variables.py",
    "plugins/worker.py",
    "plugins_component.py",
    "standins/_ssl.py",
    "standins/ctypes.py",
    "standins/fcntl.py",
    "standins/grp.py",
    "standins/mmap.py",
    "standins/pwd.py",
    "standins/resource.py",
    "standins/syslog.py",
    "standins/termios.py",
    "world.wit",
];

const INTERFACES: &[(&str, &str)] = &[
    ("interfaces/cli.wit", include_str!("../../wit/cli.wit")),
    ("interfaces/clocks.wit", include_str!("../../wit/clocks.wit")),
    ("interfaces/filesystem.wit", include_str!("../../wit/filesystem.wit")),
    ("interfaces/io.wit", include_str!("../../wit/io.wit")),
    ("interfaces/host/file-changes.wit", include_str!("../../../../guest-sdk/host/wit/file-changes.wit")),
    ("interfaces/host/file-systems.wit", include_str!("../../../../guest-sdk/host/wit/file-systems.wit")),
    ("interfaces/host/files.wit", include_str!("../../../../guest-sdk/host/wit/files.wit")),
    ("interfaces/host/plugins.wit", include_str!("../../../../guest-sdk/host/wit/plugins.wit")),
    ("interfaces/host/process.wit", include_str!("../../../../guest-sdk/host/wit/process.wit")),
    ("interfaces/host/system-log.wit", include_str!("../../../../guest-sdk/host/wit/system-log.wit")),
    ("interfaces/host/tls.wit", include_str!("../../../../guest-sdk/host/wit/tls.wit")),
];

/// Returns the files, with their paths in the folder of a build.
pub(super) fn files() -> impl Iterator<Item = (&'static str, &'static str)> {
    PYTHON_HOST.iter().chain(INTERFACES).copied()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use super::*;

    fn collect(root: &Path, folder: &Path, found: &mut BTreeSet<String>) {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let (path, name) = (entry.path(), entry.file_name());
            if !path.is_dir() {
                found.insert(path.strip_prefix(root).unwrap().to_str().unwrap().to_owned());
            } else if name != "tests" && name != "__pycache__" {
                collect(root, &path, found);
            }
        }
    }

    #[test]
    fn every_file_of_the_folder_is_carried() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../guest-sdk/python-host");
        let mut there = BTreeSet::new();
        collect(&root, &root, &mut there);
        let carried: BTreeSet<String> = PYTHON_HOST.iter().map(|(name, _)| (*name).to_owned()).collect();
        assert_eq!(carried, there);
        assert_eq!(carried.len(), PYTHON_HOST.len(), "each once");
    }
}

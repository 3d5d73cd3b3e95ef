//! The files in which docker and podman keep logins, in the order in which they are asked.

use std::ffi::OsString;
use std::path::PathBuf;

use modbox_registry::credentials::CredentialFiles;

use crate::cli::process::environment::Environment;

/// Returns the files, and the folders of docker's helpers.
pub(super) fn files(environment: &Environment) -> CredentialFiles {
    let variable = |name: &str| environment.variable(name).filter(|value| !value.is_empty());
    let path = |name: &str| variable(name).map(|value| environment.absolute(value.as_ref()));
    let below = |name: &str, rest: &str| path(name).map(|folder| folder.join(rest));
    let docker = below("DOCKER_CONFIG", "config.json").or_else(|| below("HOME", ".docker/config.json"));
    let podman =
        below("XDG_CONFIG_HOME", "containers/auth.json").or_else(|| below("HOME", ".config/containers/auth.json"));
    let files = [
        path("MODBOX_REGISTRY_AUTH_FILE"),
        path("REGISTRY_AUTH_FILE"),
        below("XDG_RUNTIME_DIR", "containers/auth.json"),
        podman,
        docker,
    ];
    let folders = |path: &OsString| std::env::split_paths(path).filter(|folder| folder.is_absolute()).collect();
    let helper_path: Vec<PathBuf> = environment.variable("PATH").map(folders).unwrap_or_default();
    CredentialFiles { files: files.into_iter().flatten().collect(), helper_path }
}

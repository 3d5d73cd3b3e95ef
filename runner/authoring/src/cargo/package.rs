//! Determines the package in a directory, and which of its binaries is the module.
//!
//! Cargo answers, by `cargo metadata`: it handles `src/main.rs`, `src/bin/`, `[[bin]]`, workspaces and target
//! directories, and a second parser of manifests would handle them differently.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::cargo::toolchain::Toolchain;
use crate::context::AuthoringContext;
use crate::error::BuildError;
use crate::process::{self, Stderr};
use crate::sdk;

/// Package in a directory, as cargo describes it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Package {
    /// Name of the module, which is the binary's.
    pub(crate) binary: String,
    pub(crate) manifest: PathBuf,
    pub(crate) workspace_root: PathBuf,
    /// Versions of the carried SDK that its manifest accepts, if it names that.
    pub(crate) sdk: Option<String>,
    /// Names of all packages of the workspace.
    pub(crate) members: Vec<String>,
    /// Whether each dependency by a path is a member of the workspace or the carried SDK.
    pub(crate) is_whole: bool,
    /// Names and directories of the dependencies by a path that lie outside the workspace's directory.
    pub(crate) outside: Vec<(String, PathBuf)>,
    /// Directory of cargo's output.
    pub(crate) made: Vec<PathBuf>,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<PackageMetadata>,
    workspace_root: PathBuf,
    target_directory: PathBuf,
    /// Since 1.91 cargo reports it separately from the target directory.
    build_directory: Option<PathBuf>,
}

#[derive(Deserialize)]
struct PackageMetadata {
    name: String,
    manifest_path: PathBuf,
    targets: Vec<TargetMetadata>,
    default_run: Option<String>,
    #[serde(default)]
    dependencies: Vec<DependencyMetadata>,
}

#[derive(Deserialize)]
struct DependencyMetadata {
    name: String,
    req: String,
    path: Option<PathBuf>,
}

impl DependencyMetadata {
    fn is_carried_sdk(&self) -> bool {
        let by_link = |path: &PathBuf| path.iter().any(|part| part == sdk::LINK);
        self.name == "modbox-sdk" && self.path.as_ref().is_some_and(by_link)
    }
}

#[derive(Deserialize)]
struct TargetMetadata {
    name: String,
    kind: Vec<String>,
}

/// Asks cargo about the package in the project's directory.
pub(crate) fn read(
    cx: &AuthoringContext<'_>,
    toolchain: &Toolchain,
    binary: Option<&str>,
) -> Result<Package, BuildError> {
    let dir = &toolchain.dir;
    let manifest = dir.join("Cargo.toml");
    let mut args = ["metadata", "--no-deps", "--format-version=1", "--manifest-path"].map(OsString::from).to_vec();
    args.push(manifest.clone().into());
    // Captured, because the build would print the same warnings again.
    let tool = toolchain.tool(&toolchain.cargo, &args, Stderr::Captured);
    let (ended, answer) = process::output(&cx.cleanup, &tool)
        .map_err(|source| BuildError::Run { program: toolchain.cargo.clone(), source })?;
    if !ended.status.success() {
        return Err(BuildError::Manifest { dir: dir.clone(), detail: ended.stderr });
    }
    choose(dir, &manifest, &answer, binary)
}

fn choose(dir: &Path, manifest: &Path, answer: &str, binary: Option<&str>) -> Result<Package, BuildError> {
    let metadata: Metadata =
        serde_json::from_str(answer).map_err(|source| BuildError::Answer { dir: dir.to_owned(), source })?;
    let Some(package) = metadata.packages.iter().find(|package| package.manifest_path == manifest) else {
        let members = metadata.packages.into_iter().map(|package| package.name).collect();
        return Err(BuildError::NoPackage { dir: dir.to_owned(), members });
    };
    let root = &metadata.workspace_root;
    let is_member = |path: &Path| metadata.packages.iter().any(|member| member.manifest_path.parent() == Some(path));
    let is_known = |path: &Path| path.starts_with(root.join(sdk::LINK)) || is_member(path);
    let dependencies = metadata.packages.iter().flat_map(|member| &member.dependencies);
    let by_path = dependencies.filter_map(|dependency| Some((dependency.name.clone(), dependency.path.clone()?)));
    let by_path: Vec<(String, PathBuf)> = by_path.collect();
    let is_whole = by_path.iter().all(|(_, path)| is_known(path));
    let outside = by_path.into_iter().filter(|(_, path)| !path.starts_with(root)).collect();
    let mut made = vec![metadata.target_directory];
    made.extend(metadata.build_directory);
    Ok(Package {
        binary: choose_binary(dir, package, binary)?,
        manifest: manifest.to_owned(),
        workspace_root: metadata.workspace_root,
        sdk: package.dependencies.iter().find(|dependency| dependency.is_carried_sdk()).map(|sdk| sdk.req.clone()),
        members: metadata.packages.iter().map(|member| member.name.clone()).collect(),
        is_whole,
        outside,
        made,
    })
}

fn choose_binary(dir: &Path, package: &PackageMetadata, chosen: Option<&str>) -> Result<String, BuildError> {
    let is_binary = |target: &&TargetMetadata| target.kind.iter().any(|kind| kind == "bin");
    let mut binaries: Vec<String> =
        package.targets.iter().filter(is_binary).map(|target| target.name.clone()).collect();
    let dir = dir.to_owned();
    // `default-run` is the author's choice among several binaries.
    match chosen.or(package.default_run.as_deref()) {
        _ if binaries.is_empty() => {
            let is_library = |target: &TargetMetadata| target.kind.iter().any(|kind| kind.ends_with("lib"));
            let library = package.targets.iter().any(is_library);
            Err(BuildError::NoBinary { dir, package: package.name.clone(), library })
        }
        Some(name) if binaries.iter().any(|binary| binary == name) => Ok(name.to_owned()),
        Some(name) => Err(BuildError::UnknownBinary { dir, binary: name.to_owned(), binaries }),
        None if binaries.len() == 1 => Ok(binaries.remove(0)),
        None => Err(BuildError::SeveralBinaries { dir, binaries }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(targets: &str, default_run: &str) -> String {
        format!(
            r#"{{"packages":[{{"name":"p","manifest_path":"/w/p/Cargo.toml","targets":[{targets}],"default_run":{default_run}}}],
            "workspace_root":"/w","target_directory":"/w/target","unknown":1}}"#
        )
    }

    const HELLO: &str = r#"{"name":"hello","kind":["bin"]}"#;
    const OTHER: &str = r#"{"name":"other","kind":["bin"]}"#;
    const LIBRARY: &str = r#"{"name":"p","kind":["cdylib"]}"#;
    const TEST: &str = r#"{"name":"t","kind":["test"]}"#;

    #[track_caller]
    fn check(targets: &[&str], default_run: &str, chosen: Option<&str>, expected: Result<&str, &str>) {
        let answer = answer(&targets.join(","), default_run);
        let found = choose(Path::new("/w/p"), Path::new("/w/p/Cargo.toml"), &answer, chosen);
        let found = found.map(|package| package.binary).map_err(|err| err.to_string());
        assert_eq!(found.as_deref().map_err(String::as_str), expected);
    }

    #[test]
    fn the_only_binary_is_the_module() {
        check(&[LIBRARY, HELLO, TEST], "null", None, Ok("hello"));
    }

    #[test]
    fn one_of_several_must_be_chosen() {
        let expected = "failed to build `/w/p`: it has several binaries; choose one with `--bin`: `hello`, `other`";
        check(&[HELLO, OTHER], "null", None, Err(expected));
        check(&[HELLO, OTHER], "null", Some("other"), Ok("other"));
        check(&[HELLO, OTHER], "\"hello\"", None, Ok("hello"));
    }

    #[test]
    fn fails_with_the_binaries_there_are() {
        let expected = "failed to build `/w/p`: unknown binary `hallo`; expected one of `hello`";
        check(&[HELLO], "null", Some("hallo"), Err(expected));
    }

    #[test]
    fn fails_without_a_binary() {
        let expected = "failed to build `/w/p`: the package `p` has no binary, only a library; \
                        a module is a program, so add a `src/main.rs`";
        check(&[LIBRARY], "null", None, Err(expected));
    }

    #[test]
    fn fails_on_a_workspace_without_a_package() {
        let found = choose(Path::new("/w"), Path::new("/w/Cargo.toml"), &answer(HELLO, "null"), None);
        let expected = "failed to build `/w`: it is a workspace without a package; build one of its members: `p`";
        assert_eq!(found.unwrap_err().to_string(), expected);
    }
}

//! Builds a component from a guest crate, at a stable path. Projects in other languages go to [`languages`].
//!
//! Cargo builds the crate, as the author would do by hand and with the author's authority: build scripts and procedural
//! macros run unconfined, so only build what you would `cargo build`. This module ensures that the target is installed,
//! that every crate is built with the same profile, and that the result is in `DIR/target/modbox/NAME.wasm`, whatever
//! workspace the crate belongs to and wherever cargo's own target directory is. Every Rust project already ignores
//! `target`, and asking cargo for its directory would take longer than a run.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::cargo::messages::Built;
use crate::cargo::package::{self, Package};
use crate::cargo::toolchain::{LEAST_VERSION, TARGET, Toolchain, gist};
use crate::cargo::{dep_info, local_paths, shared_output};
use crate::context::AuthoringContext;
use crate::error::BuildError;
use crate::module::{BuildOptions, BuiltModule};
use crate::output::OutputDir;
use crate::process::{self, Stderr};
use crate::stamp::{Inputs, Stamp};
use crate::{bounded_file, languages, sdk};

/// Profile of modules, whatever the crate's own manifest says: small, because modules are copied to hosts and compiled
/// there; and without unwinding, which a component cannot use.
const PROFILE: &[&str] = &[
    "profile.modbox.inherits=\"release\"",
    "profile.modbox.opt-level=\"s\"",
    "profile.modbox.lto=true",
    "profile.modbox.codegen-units=1",
    "profile.modbox.panic=\"abort\"",
    "profile.modbox.strip=true",
    "profile.modbox.debug=false",
    "profile.modbox.incremental=false",
];

/// Builds the guest crate, or the project in another language, in a directory, and returns the path of the component.
///
/// Says first what it will run. Always starts cargo, which does nothing when nothing has changed. Its diagnostics and
/// progress go to standard error.
/// A missing `wasm32-wasip2` target is added with rustup.
///
/// # Errors
///
/// Fails when the directory has no package with a binary, when Rust or the target is missing and cannot be added, when
/// cargo fails, and when the result is not a component or cannot be moved into place.
pub fn build(cx: &mut AuthoringContext<'_>, dir: &Path, options: &BuildOptions) -> Result<BuiltModule, BuildError> {
    let dir = package_dir(cx, dir)?;
    if let Some(language) = languages::of(&dir) {
        return languages::build(cx, &dir, language, options);
    }
    let mut toolchain = Toolchain::find(cx, &dir)?;
    let uses_carried_sdk = sdk::provide(cx, &dir)? || sdk::contains(cx, &dir);
    cx.say(&format!(
        "building `{}` with `{}`: build scripts and macros of the project and its dependencies run unconfined",
        dir.display(),
        toolchain.cargo.display()
    ));
    let mut package = package::read(cx, &toolchain, options.binary.as_deref())?;
    let mut shares_output = false;
    if uses_carried_sdk && let Some(folder) = shared_output::claim(cx.cache_dir.as_deref(), &toolchain.env, &package) {
        toolchain.env.insert(shared_output::VARIABLE.into(), folder.clone().into());
        package.made.push(folder);
        shares_output = true;
    }
    if let Some(required) = package.sdk.as_deref().filter(|_| uses_carried_sdk) {
        sdk::check_requirement(&dir, required)?;
    }
    let libraries = toolchain.ensure_target(cx, if uses_carried_sdk { sdk::LEAST_RUST } else { LEAST_VERSION })?;
    local_paths::hide(cx, &mut toolchain, &package, &libraries, shares_output);
    let place = OutputDir::open(cx, &dir)?;
    let started = place.now()?;
    let built = run_cargo(cx, &toolchain, &package)?;
    let no_artifact = || BuildError::NoArtifact { dir: dir.clone(), binary: package.binary.clone() };
    let program = built.program.clone().ok_or_else(no_artifact)?;
    let (component, state) = place.install(&cx.cleanup, &program, &package.binary)?;
    let stamp = inputs(&package, &dir, &program, &built).and_then(|inputs| {
        Stamp::new(stamped_recipe(&package.binary), package.binary.clone(), state, started, &inputs)
    });
    place.write_stamp(&cx.cleanup, options.binary.as_deref(), stamp.as_ref())?;
    Ok(BuiltModule { component, name: package.binary, fresh: built.fresh })
}

/// Returns the component of an earlier build if nothing has changed since, without starting any program.
///
/// `None` means that it was not built yet, that something changed, or that this is unknown. [`build`] then decides.
#[must_use]
pub fn find_fresh(cx: &AuthoringContext<'_>, dir: &Path, options: &BuildOptions) -> Option<BuiltModule> {
    let dir = cx.resolve(dir).canonicalize().ok()?;
    if let Some(language) = languages::of(&dir) {
        return languages::find_fresh(&dir, language);
    }
    let stamp = Stamp::read(&OutputDir::stamp_path(&dir, options.binary.as_deref()))?;
    let component = OutputDir::component_path(&dir, &stamp.binary);
    let holds = stamp.holds(&component, &stamped_recipe(&stamp.binary));
    holds.then_some(BuiltModule { component, name: stamp.binary, fresh: true })
}

/// Returns the component of a guest crate, and builds it only when something has changed.
///
/// # Errors
///
/// Fails as [`build`] does.
pub fn build_if_stale(
    cx: &mut AuthoringContext<'_>,
    dir: &Path,
    options: &BuildOptions,
) -> Result<BuiltModule, BuildError> {
    match find_fresh(cx, dir, options) {
        Some(module) => Ok(module),
        None => build(cx, dir, options),
    }
}

fn package_dir(cx: &AuthoringContext<'_>, dir: &Path) -> Result<PathBuf, BuildError> {
    let shown = dir.to_owned();
    let dir = match cx.resolve(dir).canonicalize() {
        Ok(dir) if dir.is_dir() => dir,
        _ => return Err(BuildError::NotADirectory { dir: shown }),
    };
    let is_project = languages::PROJECT_FILES.iter().any(|name| dir.join(name).is_file());
    if is_project {
        Ok(dir)
    } else {
        Err(BuildError::NoManifest { dir: shown, project_files: &languages::PROJECT_FILES })
    }
}

/// Returns cargo's arguments, without those for the path of the package.
fn recipe(binary: &str) -> Vec<String> {
    let mut args = vec!["build".to_owned(), "--message-format=json-render-diagnostics".to_owned()];
    args.extend([format!("--target={TARGET}"), "--profile=modbox".to_owned(), format!("--bin={binary}")]);
    args.extend(PROFILE.iter().map(|setting| format!("--config={setting}")));
    args
}

/// Returns what makes components of another version of modbox stale.
fn stamped_recipe(binary: &str) -> Vec<String> {
    let mut recipe = recipe(binary);
    recipe.push(local_paths::RECIPE.to_owned());
    recipe
}

fn run_cargo(cx: &AuthoringContext<'_>, toolchain: &Toolchain, package: &Package) -> Result<Built, BuildError> {
    let mut args: Vec<OsString> = recipe(&package.binary).into_iter().map(OsString::from).collect();
    args.extend(["--manifest-path".into(), package.manifest.clone().into()]);
    let mut built = Built::default();
    let tool = toolchain.tool(&toolchain.cargo, &args, Stderr::Inherited);
    let ended = process::run(&cx.cleanup, &tool, &mut |line| built.take_line(line, &package.binary, &package.manifest))
        .map_err(|source| BuildError::Run { program: toolchain.cargo.clone(), source })?;
    if ended.status.success() {
        return Ok(built);
    }
    let dir = toolchain.dir.clone();
    Err(match missing_crates(cx, toolchain, package) {
        Some(detail) => BuildError::Dependencies { dir, detail },
        None => BuildError::Cargo { dir, status: ended.status },
    })
}

/// Returns cargo's message if crates that the package depends on are not on this machine.
fn missing_crates(cx: &AuthoringContext<'_>, toolchain: &Toolchain, package: &Package) -> Option<String> {
    let mut args =
        ["metadata", "--offline", "--format-version=1", "--filter-platform", TARGET].map(OsString::from).to_vec();
    args.extend(["--manifest-path".into(), package.manifest.clone().into()]);
    let tool = toolchain.tool(&toolchain.cargo, &args, Stderr::Captured);
    let (ended, _) = process::output(&cx.cleanup, &tool).ok()?;
    let is_download = ended.stderr.contains("--offline");
    (!ended.status.success() && is_download).then(|| gist(&ended.stderr))
}

/// Returns the files that decide about the component, or `None` when cargo does not list them.
fn inputs(package: &Package, dir: &Path, program: &Path, built: &Built) -> Option<Inputs> {
    let dep_info = bounded_file::read_bounded(&program.with_extension("d")).ok()?;
    let mut sources = dep_info::inputs(&dep_info);
    // Generated files of build scripts are not inputs: the files that the scripts read are.
    sources.retain(|source| !package.made.iter().any(|made| source.starts_with(made)));
    sources.extend(built.manifests.iter().cloned());
    let mut inputs = Inputs { sources, optional: Vec::new(), written: vec![package.workspace_root.join("Cargo.lock")] };
    inputs.optional.push(dir.join("build.rs"));
    let up_to_root = dir.ancestors().take_while(|ancestor| ancestor.starts_with(&package.workspace_root));
    for folder in up_to_root.chain([dir, &package.workspace_root]) {
        let settings = ["Cargo.toml", "rust-toolchain.toml", "rust-toolchain", ".cargo/config.toml", ".cargo/config"];
        inputs.optional.extend(settings.map(|name| folder.join(name)));
    }
    Some(inputs)
}

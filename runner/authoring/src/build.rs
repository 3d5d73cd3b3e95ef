//! Turns a guest crate into a component, in a place that stays the same. Projects in other languages go to [`languages`].
//!
//! Cargo does the building, as the author would by hand and with the author's authority: build scripts and procedural
//! macros run unconfined, so only build what you would `cargo build`. What this adds is that the target is
//! there, that every crate is built by the same profile, and that the result is found again: in
//! `DIR/target/modbox/NAME.wasm`, whatever workspace the crate belongs to and wherever cargo's own target directory is.
//! `target` is what every Rust project already ignores, and asking cargo for its directory would cost more than a run.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::context::AuthoringContext;
use crate::error::BuildError;
use crate::messages::Built;
use crate::module::{BuildOptions, BuiltModule};
use crate::output::{self, OutputDir};
use crate::package::{self, Package};
use crate::process::{self, Stderr};
use crate::stamp::{Inputs, Stamp};
use crate::toolchain::{TARGET, Toolchain};
use crate::{dep_info, languages};

/// How modules are built, whatever the crate's own manifest says: small, because they travel to hosts and are
/// compiled there; and without unwinding, which a component cannot use.
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

/// Builds the guest crate, or the project in another language, in a directory, and says where the component is.
///
/// Cargo is always asked, and does nothing when it finds nothing to do. Its diagnostics and its progress go to
/// standard error. A missing `wasm32-wasip2` target is added with rustup.
///
/// # Errors
///
/// Fails when the directory holds no package with a binary, when Rust or the target is missing and
/// cannot be added, when cargo fails, and when the result is no component or cannot be put into place.
pub fn build(cx: &mut AuthoringContext<'_>, dir: &Path, options: &BuildOptions) -> Result<BuiltModule, BuildError> {
    let dir = package_dir(cx, dir)?;
    if let Some(language) = languages::of(&dir) {
        return languages::build(cx, &dir, language, options);
    }
    let toolchain = Toolchain::find(cx, &dir)?;
    let package = package::read(cx, &toolchain, options.binary.as_deref())?;
    toolchain.ensure_target(cx)?;
    let place = OutputDir::open(cx, &dir)?;
    let started = place.now()?;
    let built = run_cargo(cx, &toolchain, &package)?;
    let no_artifact = || BuildError::NoArtifact { dir: dir.clone(), binary: package.binary.clone() };
    let program = built.program.clone().ok_or_else(no_artifact)?;
    let (component, state) = place.install(&cx.cleanup, &program, &package.binary)?;
    let stamp = inputs(&package, &dir, &program, &built)
        .and_then(|inputs| Stamp::new(recipe(&package.binary), package.binary.clone(), state, started, &inputs));
    place.write_stamp(&cx.cleanup, options.binary.as_deref(), stamp.as_ref())?;
    Ok(BuiltModule { component, name: package.binary, fresh: built.fresh })
}

/// Returns the component that was built before, if nothing has changed since, without starting any program.
///
/// Nothing means: not built yet, or something changed, or it cannot be told. [`build`] then knows.
#[must_use]
pub fn find_fresh(cx: &AuthoringContext<'_>, dir: &Path, options: &BuildOptions) -> Option<BuiltModule> {
    let dir = cx.resolve(dir).canonicalize().ok()?;
    if let Some(language) = languages::of(&dir) {
        return languages::find_fresh(&dir, language);
    }
    let stamp = Stamp::read(&OutputDir::stamp_path(&dir, options.binary.as_deref()))?;
    let component = OutputDir::component_path(&dir, &stamp.binary);
    let holds = stamp.holds(&component, &recipe(&stamp.binary));
    holds.then_some(BuiltModule { component, name: stamp.binary, fresh: true })
}

/// Returns the component of a guest crate, building it only when something has changed.
///
/// # Errors
///
/// As [`build`].
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

/// Returns cargo's arguments, without those that say where the package is.
fn recipe(binary: &str) -> Vec<String> {
    let mut args = vec!["build".to_owned(), "--message-format=json-render-diagnostics".to_owned()];
    args.extend([format!("--target={TARGET}"), "--profile=modbox".to_owned(), format!("--bin={binary}")]);
    args.extend(PROFILE.iter().map(|setting| format!("--config={setting}")));
    args
}

fn run_cargo(cx: &AuthoringContext<'_>, toolchain: &Toolchain, package: &Package) -> Result<Built, BuildError> {
    let mut args: Vec<OsString> = recipe(&package.binary).into_iter().map(OsString::from).collect();
    args.extend(["--manifest-path".into(), package.manifest.clone().into()]);
    let mut built = Built::default();
    let tool = toolchain.tool(&toolchain.cargo, &args, Stderr::Inherited);
    let ended = process::run(&cx.cleanup, &tool, &mut |line| built.take_line(line, &package.binary, &package.manifest))
        .map_err(|source| BuildError::Run { program: toolchain.cargo.clone(), source })?;
    if ended.status.success() {
        Ok(built)
    } else {
        Err(BuildError::Cargo { dir: toolchain.dir.clone(), status: ended.status })
    }
}

/// Returns what decides about the component, or nothing when cargo does not say.
fn inputs(package: &Package, dir: &Path, program: &Path, built: &Built) -> Option<Inputs> {
    let dep_info = output::read_bounded(&program.with_extension("d")).ok()?;
    let mut sources = dep_info::inputs(&dep_info);
    // What build scripts generated is no input of its own: what they read is.
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

//! Modules in other languages than Rust: detects the language of a project and builds a component.
//!
//! A language is one file and one line in [`ALL`]: a name, the file that identifies a project, and the function that
//! runs its tools. All languages share the rest. A project may have a `module.json` with the content of [`Metadata`],
//! which is added to the component, so that `doc`, `validate`, designation and the audit log handle the module like one
//! in Rust. The component is at the same path as those of crates, and is built again when a file of the project
//! changes. As with cargo, the author's own tools run here, with the author's authority.

mod c;
mod go;
mod javascript;
mod job;
mod python;
mod realloc;
pub(crate) mod sources;
mod wit;

use std::fs;
use std::path::{Path, PathBuf};

use modbox_argument_spec::{Metadata, SECTION_NAME};
use wasm_encoder::{CustomSection, Section};

pub(crate) use self::job::Language;
use self::job::{Job, MAX_COMPONENT};
use crate::bounded_file;
use crate::context::AuthoringContext;
use crate::error::BuildError;
use crate::module::{BuildOptions, BuiltModule};
use crate::output::OutputDir;
use crate::stamp::{Inputs, Stamp};

/// Name of the file with the metadata of a project's module.
const METADATA: &str = "module.json";

/// Key of the metadata that asks the runner to check arguments by the spec. No helper of these languages does that.
const VALIDATE: &str = "validate_arguments";

/// Version of the way in which modules are built. Increase it with each change, so that components from before are
/// built again.
const REVISION: u32 = 3;

static ALL: [&Language; 4] = [&c::C, &go::GO, &python::PYTHON, &javascript::JAVASCRIPT];

/// Files that identify a directory as a module project, in any language.
pub const PROJECT_FILES: [&str; 5] =
    ["Cargo.toml", c::C.marker, go::GO.marker, python::PYTHON.marker, javascript::JAVASCRIPT.marker];

/// Returns the language of a project, or `None` for a Rust package.
pub(crate) fn of(dir: &Path) -> Option<&'static Language> {
    let has = |name: &str| dir.join(name).is_file();
    if has("Cargo.toml") { None } else { ALL.into_iter().find(|language| has(language.marker)) }
}

pub(crate) fn all() -> impl Iterator<Item = &'static Language> {
    ALL.into_iter()
}

/// Builds the component of a project.
pub(crate) fn build(
    cx: &mut AuthoringContext<'_>,
    dir: &Path,
    language: &'static Language,
    options: &BuildOptions,
) -> Result<BuiltModule, BuildError> {
    let described = describe(dir)?;
    let name = described.as_ref().map_or_else(|| name_of(dir), |(metadata, _)| Ok(metadata.name.clone()))?;
    check_name(dir, &name, options)?;
    let place = OutputDir::open(cx, dir)?;
    let made = OutputDir::component_path(dir, ".made");
    let doomed = made.clone();
    let guard = cx.cleanup.register(move || drop(fs::remove_file(doomed)));
    let started = place.now()?;
    cx.say(&format!(
        "building `{name}`, which is written in {}, in `{}`: its tools, and code of the project that they run, are unconfined",
        language.name,
        dir.display()
    ));
    let mut job = Job { cx, language, dir: dir.to_owned(), made: made.clone() };
    let built =
        (language.build)(&mut job).and_then(|()| complete(&made, described.as_ref().map(|(_, text)| text.as_str())));
    let removed = fs::remove_file(&made);
    guard.disarm();
    let bytes = built?;
    removed.map_err(|source| BuildError::File { verb: "remove", path: made, source })?;
    let (component, state) = place.install_bytes(&cx.cleanup, &bytes, &name)?;
    let stamp = sources::list(dir).and_then(|sources| {
        let recipe = recipe(language, &sources);
        let inputs =
            Inputs { sources, optional: vec![dir.join("Cargo.toml"), dir.join(METADATA)], written: Vec::new() };
        Stamp::new(recipe, name.clone(), state, started, &inputs)
    });
    place.write_stamp(&cx.cleanup, None, stamp.as_ref())?;
    Ok(BuiltModule { component, name, fresh: false })
}

/// Returns the component of an earlier build, if nothing has changed since.
pub(crate) fn find_fresh(dir: &Path, language: &'static Language) -> Option<BuiltModule> {
    let stamp = Stamp::read(&OutputDir::stamp_path(dir, None))?;
    let component = OutputDir::component_path(dir, &stamp.binary);
    let holds = stamp.holds(&component, &recipe(language, &sources::list(dir)?));
    holds.then_some(BuiltModule { component, name: stamp.binary, fresh: true })
}

/// Returns what a component depends on in addition to the contents of files: the list of files.
fn recipe(language: &Language, sources: &[PathBuf]) -> Vec<String> {
    let names = sources.iter().map(|path| path.display().to_string());
    [language.name.to_owned(), format!("revision {REVISION}")].into_iter().chain(names).collect()
}

/// Reads the metadata of the project's module.
fn describe(dir: &Path) -> Result<Option<(Metadata, String)>, BuildError> {
    let path = dir.join(METADATA);
    if !path.is_file() {
        return Ok(None);
    }
    let text = bounded_file::read_bounded(&path).map_err(|source| BuildError::File {
        verb: "read",
        path: path.clone(),
        source,
    })?;
    let metadata =
        Metadata::from_json(&text).map_err(|source| BuildError::Description { path, source: Box::new(source) })?;
    let text = with_validation(&text).unwrap_or(text);
    Ok(Some((metadata, text)))
}

/// Adds the wish for a check of arguments to metadata that says nothing about it.
fn with_validation(metadata: &str) -> Option<String> {
    let entries: serde_json::Map<String, serde_json::Value> = serde_json::from_str(metadata).ok()?;
    if entries.contains_key(VALIDATE) || !entries.contains_key("argument_spec") {
        return None;
    }
    // The rest stays as the author wrote it, in its order.
    let open = metadata.trim_end().strip_suffix('}')?;
    Some(format!("{}, \"{VALIDATE}\": true}}", open.trim_end()))
}

fn name_of(dir: &Path) -> Result<String, BuildError> {
    let name = dir.file_name().and_then(|name| name.to_str());
    name.map(str::to_owned).ok_or_else(|| BuildError::Nameless { dir: dir.to_owned(), name: String::new() })
}

/// Refuses names that cannot be file names, and the choice of a binary where the language has none.
fn check_name(dir: &Path, name: &str, options: &BuildOptions) -> Result<(), BuildError> {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | '.');
    if name.is_empty() || name.len() > 64 || name.starts_with('.') || !name.chars().all(fits) {
        return Err(BuildError::Nameless { dir: dir.to_owned(), name: name.to_owned() });
    }
    match &options.binary {
        Some(chosen) if chosen != name => Err(BuildError::UnknownBinary {
            dir: dir.to_owned(),
            binary: chosen.clone(),
            binaries: vec![name.to_owned()],
        }),
        _ => Ok(()),
    }
}

/// Reads the output of a tool, and adds the project's metadata.
fn complete(made: &Path, metadata: Option<&str>) -> Result<Vec<u8>, BuildError> {
    let failed = |source| BuildError::File { verb: "read", path: made.to_owned(), source };
    let mut bytes = bounded_file::read_all(made, MAX_COMPONENT).map_err(failed)?;
    if !bytes.starts_with(b"\0asm") {
        return Err(BuildError::NotWasm { path: made.to_owned() });
    }
    if let Some(metadata) = metadata {
        append_metadata(&mut bytes, metadata);
    }
    Ok(bytes)
}

/// Adds the section with the module's metadata. Custom sections have the same format in core modules and in components.
fn append_metadata(bytes: &mut Vec<u8>, metadata: &str) {
    CustomSection { name: SECTION_NAME.into(), data: metadata.as_bytes().into() }.append_to(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_runner_is_asked_to_check_arguments() {
        let asks = |metadata: &str| {
            let text = with_validation(metadata).unwrap_or_else(|| metadata.to_owned());
            Metadata::from_json(&text).unwrap().validate_arguments
        };
        assert!(asks(r#"{"name": "m", "argument_spec": {}}"#));
        assert!(!asks(r#"{"name": "m", "argument_spec": {}, "validate_arguments": false}"#));
        assert!(!asks(r#"{"name": "m"}"#), "without a spec, every argument is allowed");
    }

    #[test]
    fn metadata_is_found_again() {
        let mut bytes = b"\0asm\x01\0\0\0".to_vec();
        append_metadata(&mut bytes, &"x".repeat(300));
        let sections = wasmparser::Parser::new(0).parse_all(&bytes).filter_map(|payload| match payload.unwrap() {
            wasmparser::Payload::CustomSection(section) => Some((section.name().to_owned(), section.data().len())),
            _ => None,
        });
        assert_eq!(sections.collect::<Vec<_>>(), [(SECTION_NAME.to_owned(), 300)]);
    }
}

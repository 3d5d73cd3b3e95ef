//! Makes a module project that builds, runs and has tests from the start.
//!
//! The files are those of a template, with the name filled in. A project appears completely or not at all: it is
//! written beside its place and then moved there, so that an error or a signal leaves nothing half-written.

mod language;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

pub use self::language::ProjectLanguage;
use crate::context::AuthoringContext;
use crate::error::NewError;
use crate::temporary_folder::TemporaryFolder;
use crate::{name, sdk};

/// Options of a new project.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewOptions {
    /// Language of the module.
    pub language: ProjectLanguage,
    /// Directory of the SDK that a project in Rust uses. `None` is the SDK that modbox carries.
    pub sdk: Option<PathBuf>,
}

/// Makes a module project in a new directory below `parent`, and returns its path.
///
/// # Errors
///
/// Fails when the name is invalid, when something other than an empty directory exists at the path, when the SDK is not
/// at the given path or the language has none, and when a file cannot be written.
pub fn new_project(
    cx: &mut AuthoringContext<'_>,
    parent: &Path,
    name: &str,
    options: &NewOptions,
) -> Result<PathBuf, NewError> {
    name::check(name)?;
    let is_rust = options.language == ProjectLanguage::Rust;
    if !is_rust && options.sdk.is_some() {
        return Err(NewError::SdkOfOther);
    }
    let sdk = sdk_dependency(cx, options.sdk.as_deref())?;
    let parent = cx.resolve(parent).canonicalize().map_err(failed("find", parent))?;
    let target = parent.join(name);
    // The mode that `mkdir` would give.
    let draft = TemporaryFolder::create(&cx.cleanup, &parent, ".modbox-new-", 0o777)
        .map_err(failed("create a directory in", &parent))?;
    write_files(draft.path(), &options.language.files(name, &sdk))?;
    if is_rust && options.sdk.is_none() {
        let lock = draft.path().join("Cargo.lock");
        fs::write(&lock, sdk::lock_file()).map_err(failed("write", &lock))?;
        sdk::provide(cx, draft.path())?;
    }
    put(draft, &target)?;
    Ok(target)
}

fn write_files(draft: &Path, files: &[(&str, String)]) -> Result<(), NewError> {
    for (file, text) in files {
        let path = draft.join(file);
        let folder = path.parent().unwrap_or(draft);
        fs::create_dir_all(folder).map_err(failed("make", folder))?;
        fs::write(&path, text).map_err(failed("write", &path))?;
    }
    Ok(())
}

/// Moves the draft into place. The rename succeeds only if the target does not exist or is an empty directory.
fn put(draft: TemporaryFolder, target: &Path) -> Result<(), NewError> {
    draft.publish(target).map_err(|err| match err.kind() {
        io::ErrorKind::AlreadyExists | io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::NotADirectory => {
            NewError::Exists { path: target.to_owned() }
        }
        _ => failed("make", target)(err),
    })
}

/// Returns the value of `modbox-sdk =` in the manifest.
fn sdk_dependency(cx: &AuthoringContext<'_>, chosen: Option<&Path>) -> Result<String, NewError> {
    let found = |path: &Path| path.canonicalize().ok().filter(|path| path.join("Cargo.toml").is_file());
    let path = match chosen {
        Some(chosen) => {
            let missing = || NewError::Sdk { path: chosen.to_owned() };
            found(&cx.resolve(chosen)).ok_or_else(missing)?
        }
        None => return Ok(format!("{{ path = \"{}/guest-sdk\", version = \"{}\" }}", sdk::LINK, sdk::VERSION)),
    };
    let text = path.to_str().ok_or_else(|| NewError::NotUtf8 { path: path.clone() })?;
    Ok(format!("{{ path = {} }}", toml_string(text)))
}

/// Returns a TOML basic string.
fn toml_string(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => quoted.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

fn failed(verb: &'static str, path: &Path) -> impl FnOnce(io::Error) -> NewError {
    let path = path.to_owned();
    move |source| NewError::File { verb, path, source }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use modbox_cleanup::Cleanup;

    use super::*;

    fn context(parent: &Path) -> AuthoringContext<'static> {
        AuthoringContext {
            cwd: parent.to_owned(),
            env: BTreeMap::new(),
            cache_dir: Some(parent.join(".cache")),
            cleanup: Cleanup::default(),
            progress: Box::leak(Box::new(|_: &str| ())),
        }
    }

    fn new_in(parent: &Path, name: &str, sdk: Option<&str>) -> Result<PathBuf, NewError> {
        new_project(
            &mut context(parent),
            Path::new("."),
            name,
            &NewOptions { sdk: sdk.map(PathBuf::from), ..NewOptions::default() },
        )
    }

    fn entries(dir: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.retain(|name| name != ".cache");
        names.sort();
        names
    }

    #[test]
    fn no_file_keeps_a_gap() {
        let parent = tempfile::tempdir().unwrap();
        let project = new_in(parent.path(), "motd", None).unwrap();
        assert_eq!(entries(parent.path()), ["motd"]);
        assert_eq!(
            entries(&project),
            [".gitignore", ".modbox-sdk", "Cargo.lock", "Cargo.toml", "README.md", "cases", "src"]
        );
        let manifest = io::read_to_string(fs::File::open(project.join("Cargo.toml")).unwrap()).unwrap();
        assert!(manifest.contains("name = \"motd\"") && !manifest.contains("{{"), "{manifest}");
    }

    #[test]
    fn a_project_in_another_language_has_its_helper_and_no_sdk() {
        let parent = tempfile::tempdir().unwrap();
        let mut cx = context(parent.path());
        let mut options = NewOptions { language: ProjectLanguage::Python, sdk: None };
        let project = new_project(&mut cx, Path::new("."), "motd", &options).unwrap();
        assert_eq!(entries(&project), [".gitignore", "README.md", "cases", "main.py", "modbox.py", "module.json"]);
        options.sdk = Some("sdk".into());
        let refused = new_project(&mut cx, Path::new("."), "other", &options);
        assert!(matches!(refused, Err(NewError::SdkOfOther)));
        assert_eq!(entries(parent.path()), ["motd"]);
    }

    #[test]
    fn takes_an_empty_directory_and_nothing_else() {
        let parent = tempfile::tempdir().unwrap();
        fs::create_dir(parent.path().join("empty")).unwrap();
        new_in(parent.path(), "empty", None).unwrap();
        fs::write(parent.path().join("file"), "").unwrap();
        for name in ["empty", "file"] {
            assert!(matches!(new_in(parent.path(), name, None), Err(NewError::Exists { .. })), "{name}");
        }
        assert_eq!(entries(parent.path()), ["empty", "file"]);
    }

    #[test]
    fn fails_without_a_trace() {
        let parent = tempfile::tempdir().unwrap();
        assert!(matches!(new_in(parent.path(), "../motd", None), Err(NewError::Name { .. })));
        assert!(matches!(new_in(parent.path(), "motd", Some("nowhere")), Err(NewError::Sdk { .. })));
        assert!(matches!(new_in(&parent.path().join("nowhere"), "motd", None), Err(NewError::File { .. })));
        assert!(entries(parent.path()).is_empty());
    }

    #[test]
    fn the_sdk_may_lie_at_an_odd_path() {
        let parent = tempfile::tempdir().unwrap();
        let sdk = parent.path().join("a \"b\" \\c");
        fs::create_dir(&sdk).unwrap();
        fs::write(sdk.join("Cargo.toml"), "").unwrap();
        let project = new_in(parent.path(), "motd", sdk.to_str()).unwrap();
        let manifest = io::read_to_string(fs::File::open(project.join("Cargo.toml")).unwrap()).unwrap();
        let root = parent.path().canonicalize().unwrap();
        let expected = format!("modbox-sdk = {{ path = \"{}/a \\\"b\\\" \\\\c\" }}\n", root.display());
        assert!(manifest.contains(&expected), "{manifest}");
    }
}

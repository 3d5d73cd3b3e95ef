//! Tells which tools for building modules this machine has, for `modbox doctor`.
//!
//! A build has the last word: it runs the same tools in the directory of a project. Here they run in the root directory,
//! so that nothing of the working directory decides what starts, and each has only a few seconds. Nothing is installed.

use std::collections::BTreeMap;
use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::cargo::toolchain::{TARGET, Toolchain, has_standard_library};
use crate::context::AuthoringContext;
use crate::error::BuildError;
use crate::languages;
use crate::sdk::LEAST_RUST;
use crate::tool_search::{Inspection, MissingTools, PATIENCE};

/// Variables that keep rustup and Go from installing another version of themselves.
const NO_INSTALLATION: [(&str, &str); 2] = [("RUSTUP_AUTO_INSTALL", "0"), ("GOTOOLCHAIN", "local")];

/// Tools for the modules of one language.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LanguageTools {
    /// Name of the language.
    pub language: &'static str,
    /// What was found, or what is missing.
    pub found: Result<String, MissingTools>,
}

/// Looks for the tools of each language. Takes only absolute folders of `PATH`.
#[must_use]
pub fn inspect_tools(cx: &AuthoringContext<'_>) -> Vec<LanguageTools> {
    let cx = AuthoringContext {
        cwd: PathBuf::from("/"),
        env: without_surroundings(&cx.env),
        cache_dir: cx.cache_dir.clone(),
        cleanup: cx.cleanup.clone(),
        progress: &mut |_| (),
    };
    let rust = LanguageTools { language: "Rust", found: rust(&cx) };
    let others = languages::all()
        .map(|language| LanguageTools { language: language.name(), found: language.inspect(&Inspection::new(&cx)) });
    [rust].into_iter().chain(others).collect()
}

/// Returns the environment without what would start programs of the working directory, or install programs.
fn without_surroundings(env: &BTreeMap<OsString, OsString>) -> BTreeMap<OsString, OsString> {
    let mut env = env.clone();
    if let Some(path) = env.get_mut(OsStr::new("PATH")) {
        let absolute: Vec<PathBuf> = env::split_paths(path).filter(|folder| folder.is_absolute()).collect();
        *path = env::join_paths(absolute).unwrap_or_default();
    }
    env.extend(NO_INSTALLATION.map(|(name, value)| (name.into(), value.into())));
    env
}

fn rust(cx: &AuthoringContext<'_>) -> Result<String, MissingTools> {
    let said = |error: BuildError| {
        let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}")).unwrap_or_default();
        MissingTools { problem: format!("{error}{cause}"), remedy: String::new() }
    };
    let toolchain = Toolchain::find(cx, Path::new("/")).map_err(said)?.with_patience(PATIENCE);
    let (version, libraries) = toolchain.target_libraries(cx, LEAST_RUST).map_err(said)?;
    if has_standard_library(&libraries) {
        return Ok(format!("rustc {version} with `{TARGET}`"));
    }
    let remedy = match toolchain.has_rustup() {
        true => format!("a build adds it; or run `rustup target add {TARGET}`"),
        false => format!("install Rust from https://rustup.rs, and run `rustup target add {TARGET}`"),
    };
    Err(MissingTools { problem: format!("rustc {version} without the target `{TARGET}`"), remedy })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::time::{Duration, Instant};

    use modbox_cleanup::Cleanup;

    use super::*;

    fn tools(dir: &Path, path: &str, scripts: &[(&str, &str)]) -> Vec<LanguageTools> {
        for (name, text) in scripts {
            let program = dir.join(name);
            fs::write(&program, format!("#!/bin/sh\n{text}\n")).unwrap();
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        }
        inspect_tools(&AuthoringContext {
            cwd: dir.to_owned(),
            env: [("PATH".into(), path.into()), ("HOME".into(), "/nowhere".into())].into_iter().collect(),
            cache_dir: None,
            cleanup: Cleanup::default(),
            progress: &mut |_| (),
        })
    }

    #[track_caller]
    fn found<'a>(tools: &'a [LanguageTools], language: &str) -> &'a Result<String, MissingTools> {
        &tools.iter().find(|tools| tools.language == language).unwrap().found
    }

    #[test]
    fn tools_are_named_with_their_versions() {
        let dir = tempfile::tempdir().unwrap();
        let libraries = dir.path().join("libraries");
        fs::create_dir(&libraries).unwrap();
        let rustc = format!("case $1 in -vV) echo 'release: 1.99.0';; *) echo '{}';; esac", libraries.display());
        let scripts = [("cargo", ""), ("rustc", rustc.as_str()), ("go", "echo go version go1.19.8 linux/amd64")];
        let path = dir.path().display().to_string();
        let without = tools(dir.path(), &path, &scripts);
        let missing = found(&without, "Rust").as_ref().unwrap_err();
        assert_eq!(missing.problem, "rustc 1.99.0 without the target `wasm32-wasip2`");
        assert!(missing.remedy.contains("https://rustup.rs"), "{missing:?}");
        assert!(found(&without, "Go").as_ref().unwrap_err().problem.contains("1.19.8"));
        for name in ["libstd-1.rlib", "libcore-1.rlib"] {
            fs::write(libraries.join(name), "").unwrap();
        }
        let with = tools(dir.path(), &path, &[("go", "echo go version go1.22.0 linux/amd64")]);
        assert_eq!(found(&with, "Rust").as_deref(), Ok("rustc 1.99.0 with `wasm32-wasip2`"));
        assert!(found(&with, "Go").as_ref().unwrap().starts_with("Go 1.22.0"));
        assert!(found(&with, "JavaScript").as_ref().unwrap_err().remedy.contains("install node"));
    }

    #[test]
    fn programs_of_the_working_directory_do_not_start() {
        let dir = tempfile::tempdir().unwrap();
        let script = format!("touch {}/started", dir.path().display());
        let scripts = ["cargo", "rustc", "go", "python3", "zig"].map(|name| (name, script.as_str()));
        let tools = tools(dir.path(), ".:bin:", &scripts);
        assert!(tools.iter().all(|tools| tools.found.is_err()), "{tools:?}");
        assert!(!dir.path().join("started").exists());
    }

    #[test]
    fn a_tool_that_does_not_answer_is_killed() {
        let dir = tempfile::tempdir().unwrap();
        let started = Instant::now();
        let path = format!("{}:/usr/bin:/bin", dir.path().display());
        let tools = tools(dir.path(), &path, &[("cargo", ""), ("rustc", "trap '' TERM; sleep 60")]);
        assert!(found(&tools, "Rust").as_ref().unwrap_err().problem.contains("no answer within"), "{tools:?}");
        assert!(started.elapsed() < Duration::from_secs(30));
    }
}

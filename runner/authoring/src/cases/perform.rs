//! Runs the cases of a project, one after the other.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use thiserror::Error;

use super::case::Case;
use super::compare;
use super::requests::ExpectedRequest;
use crate::bounded_file::read_all;
use crate::context::AuthoringContext;
use crate::environment;
use crate::process::{self, Stderr, Tool};
use crate::temporary_folder::TemporaryFolder;

/// Maximum size of a case's file.
const MAX_CASE: u64 = 4 << 20;

/// A case that was run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaseOutcome {
    /// Name of the case's file, without the extension.
    pub name: String,
    /// Differences from the expectations; none if the case passed.
    pub differences: Vec<String>,
}

/// Failure to run the cases of a project.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CaseError {
    /// The folder has no cases.
    #[error("failed to find a case in `{}`: write one as `NAME.yaml`, with `args` and `expect`", folder.display())]
    NoCases {
        /// Folder that was searched.
        folder: PathBuf,
    },
    /// The file of a case is invalid.
    #[error("failed to read the case `{}`: {reason}", path.display())]
    Invalid {
        /// Path of the file.
        path: PathBuf,
        /// The mistake.
        reason: String,
    },
    /// A file could not be read or written, or a process not be started.
    #[error("failed to {verb} `{}`", path.display())]
    File {
        /// Verb of the operation.
        verb: &'static str,
        /// Path of the file or program.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
}

/// Runs each case in the folder `cases` against a component, with `modbox`, the path of this program, and passes the
/// outcomes to `on_outcome` as they come.
///
/// # Errors
///
/// Fails when the folder has no cases, a case is invalid, or a process or file is not available.
pub fn run_cases(
    cx: &AuthoringContext<'_>,
    modbox: &Path,
    cases: &Path,
    component: &Path,
    on_outcome: &mut dyn FnMut(CaseOutcome),
) -> Result<(), CaseError> {
    let folder = cx.resolve(cases);
    let files = list(&folder);
    if files.is_empty() {
        return Err(CaseError::NoCases { folder });
    }
    // All are read first, so that a mistake in the last one shows at once.
    let cases: Vec<Case> = files.iter().map(|path| read(path)).collect::<Result<_, _>>()?;
    for (path, case) in files.iter().zip(&cases) {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let differences = perform(cx, modbox, component, case)?;
        on_outcome(CaseOutcome { name, differences });
    }
    Ok(())
}

fn list(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_case = |path: &PathBuf| {
        let extension = path.extension().and_then(|extension| extension.to_str());
        matches!(extension, Some("yaml" | "yml" | "json")) && path.is_file()
    };
    let mut files: Vec<PathBuf> = entries.filter(is_case).collect();
    files.sort();
    files
}

fn read(path: &Path) -> Result<Case, CaseError> {
    let bytes = read_all(path, MAX_CASE).map_err(failed("read", path))?;
    let invalid = |reason| CaseError::Invalid { path: path.to_owned(), reason };
    let text = String::from_utf8(bytes).map_err(|_| invalid("it is not UTF-8".to_owned()))?;
    Case::parse(&text).map_err(invalid)
}

/// Runs one case in a temporary folder. Returns its differences.
fn perform(cx: &AuthoringContext<'_>, modbox: &Path, component: &Path, case: &Case) -> Result<Vec<String>, CaseError> {
    let parent = Path::new(cx.var("TMPDIR").unwrap_or_else(|| OsStr::new("/tmp")));
    let made = TemporaryFolder::create(&cx.cleanup, parent, "modbox-test-", 0o700);
    let root = made.map_err(failed("make a folder in", parent))?;
    let canonical = root.path().canonicalize().map_err(failed("find", root.path()))?;
    let (work, control) = (canonical.join("work"), canonical.join("control"));
    for folder in [&work, &control] {
        fs::create_dir(folder).map_err(failed("make", folder))?;
    }
    for (name, text) in &case.files {
        let path = work.join(name);
        let folder = path.parent().unwrap_or(&work);
        fs::create_dir_all(folder).map_err(failed("make", folder))?;
        fs::write(&path, text).map_err(failed("write", &path))?;
    }
    let [arguments, policy, answers] = ["args.json", "policy.json", "http.json"].map(|name| control.join(name));
    let stub: Value = case.http.iter().flatten().map(ExpectedRequest::stub).collect();
    for (path, value) in [(&arguments, json!(case.args)), (&policy, json!({"allow": case.allow})), (&answers, stub)] {
        fs::write(path, value.to_string()).map_err(failed("write", path))?;
    }
    let mut from_file = OsString::from("@");
    from_file.push(&arguments);
    let mut args: Vec<OsString> = vec!["run".into(), component.into(), "--output".into(), "report".into()];
    args.extend(["--policy".into(), policy.into(), "--args".into(), from_file]);
    args.extend(
        [(case.check, "--check"), (case.diff, "--diff")].iter().filter(|(on, _)| *on).map(|(_, word)| word.into()),
    );
    if case.http.is_some() {
        args.extend(["--http-stub".into(), answers.into()]);
    }
    let mut env = environment::for_children(&cx.env);
    env.insert("XDG_CONFIG_HOME".into(), control.into());
    let tool = Tool { program: modbox, args: &args, dir: &work, env: &env, stderr: Stderr::Captured };
    let (ended, text) = process::output(&cx.cleanup, &tool).map_err(failed("run", modbox))?;
    // Paths below the folder are compared as the case names them.
    let text = text.replace(&format!("{}/", work.display()), "");
    let found = match serde_json::from_str::<Value>(&text) {
        Ok(report) => compare::differences(case, &report, &work),
        Err(_) => vec![format!("modbox ended without a report: {}", ended.stderr)],
    };
    Ok(found)
}

fn failed(verb: &'static str, path: &Path) -> impl FnOnce(io::Error) -> CaseError {
    let path = path.to_owned();
    move |source| CaseError::File { verb, path, source }
}

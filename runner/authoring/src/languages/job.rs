//! Types for the file of each language: a language, and one build of a project in it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::context::AuthoringContext;
use crate::environment;
use crate::error::BuildError;
use crate::process::{self, Stderr, Tool};
use crate::program_search::find_program;
use crate::temporary_folder::TemporaryFolder;
use crate::tool_search::{Inspection, MissingTools};

/// Maximum size of a tool's output: several times the size of an interpreter.
pub(super) const MAX_COMPONENT: u64 = 1 << 30;

/// Maximum characters of a command in a message.
const MAX_SHOWN: usize = 300;

/// Language of modules.
pub(crate) struct Language {
    /// Name of the language.
    pub(super) name: &'static str,
    /// File that identifies a project in it.
    pub(super) marker: &'static str,
    /// Function that builds a project.
    pub(super) build: fn(&mut Job<'_, '_>) -> Result<(), BuildError>,
    /// Function that looks for its tools.
    pub(super) inspect: fn(&Inspection<'_, '_>) -> Option<Result<String, String>>,
    /// Remedy when its tools are not installed.
    pub(super) remedy: &'static str,
}

impl Language {
    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    /// Looks for its tools.
    pub(crate) fn inspect(&self, inspection: &Inspection<'_, '_>) -> Result<String, MissingTools> {
        match (self.inspect)(inspection) {
            Some(Ok(found)) => Ok(found),
            Some(Err(problem)) => Err(MissingTools { problem, remedy: self.remedy.to_owned() }),
            None => Err(MissingTools { problem: "not found".to_owned(), remedy: self.remedy.to_owned() }),
        }
    }
}

/// Build of a project, with its output directory.
pub(super) struct Job<'a, 'b> {
    pub(super) cx: &'a mut AuthoringContext<'b>,
    pub(super) language: &'static Language,
    pub(super) dir: PathBuf,
    /// Directory for the output of the tools.
    pub(super) made: PathBuf,
}

impl Job<'_, '_> {
    /// Finds one of the author's programs.
    pub(super) fn find(&self, name: &str) -> Option<PathBuf> {
        find_program(self.cx, Path::new(name))
    }

    /// Returns the error that the language's tools are not installed.
    pub(super) fn missing(&self) -> BuildError {
        BuildError::ToolchainMissing { language: self.language.name, remedy: self.language.remedy }
    }

    /// Returns the standard output of a tool that exits successfully with these arguments.
    pub(super) fn answer(&self, program: &Path, args: &[&str]) -> Option<String> {
        let args: Vec<OsString> = args.iter().map(OsString::from).collect();
        let env = environment::for_children(&self.cx.env);
        let tool = Tool { program, args: &args, dir: &self.dir, env: &env, stderr: Stderr::Captured };
        let (ended, text) = process::output(&self.cx.cleanup, &tool).ok()?;
        ended.status.success().then_some(text)
    }

    /// Returns whether a tool exits successfully with these arguments.
    pub(super) fn asks(&self, program: &Path, args: &[&str]) -> bool {
        self.answer(program, args).is_some()
    }

    /// Says which tool runs, and runs it in the project; its messages go to standard error.
    pub(super) fn run(
        &mut self,
        program: &Path,
        args: &[OsString],
        more_env: &[(&str, &str)],
    ) -> Result<(), BuildError> {
        let mut env = environment::for_children(&self.cx.env);
        env.extend(more_env.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))));
        let failed = |source| BuildError::Run { program: program.to_owned(), source };
        let _temporary = TemporaryFolder::for_tool(&self.cx.cleanup, &mut env).map_err(failed)?;
        self.cx.say(&format!("running `{}`", command_line(program, args)));
        let tool = Tool { program, args, dir: &self.dir, env: &env, stderr: Stderr::Inherited };
        let ended = process::run(&self.cx.cleanup, &tool, &mut |_| ()).map_err(failed)?;
        if ended.status.success() {
            return Ok(());
        }
        Err(BuildError::Tool { dir: self.dir.clone(), program: program.to_owned(), status: ended.status })
    }
}

/// Returns a command in one line, cut to a readable length.
fn command_line(program: &Path, args: &[OsString]) -> String {
    let words = [program.as_os_str()].into_iter().chain(args.iter().map(OsString::as_os_str));
    let line = words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{} …", &line[..end]),
        None => line,
    }
}

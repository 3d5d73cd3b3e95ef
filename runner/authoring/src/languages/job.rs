//! A language, and one build of a project in it: what every language's file works with.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::context::AuthoringContext;
use crate::environment;
use crate::error::BuildError;
use crate::process::{self, Stderr, Tool};
use crate::toolchain::find_program;

/// The longest component that a tool may make: some times what an interpreter takes.
pub(super) const MAX_COMPONENT: u64 = 1 << 30;

/// A language that modules can be written in.
pub(crate) struct Language {
    /// Its name.
    pub(super) name: &'static str,
    /// The file that a project in it has.
    pub(super) marker: &'static str,
    /// What makes a component of a project.
    pub(super) build: fn(&mut Job<'_, '_>) -> Result<(), BuildError>,
    /// What to do where its tools are missing.
    pub(super) remedy: &'static str,
}

/// One build: a project, and where its component goes.
pub(super) struct Job<'a, 'b> {
    pub(super) cx: &'a mut AuthoringContext<'b>,
    pub(super) language: &'static Language,
    pub(super) dir: PathBuf,
    /// Where the tools put what they make.
    pub(super) made: PathBuf,
}

impl Job<'_, '_> {
    /// Finds one of the author's programs.
    pub(super) fn find(&self, name: &str) -> Option<PathBuf> {
        find_program(self.cx, Path::new(name))
    }

    /// Says that the language's tools are not there.
    pub(super) fn missing(&self) -> BuildError {
        BuildError::ToolchainMissing { language: self.language.name, remedy: self.language.remedy }
    }

    /// Returns whether a tool answers a question with yes.
    pub(super) fn asks(&self, program: &Path, args: &[&str]) -> bool {
        let args: Vec<OsString> = args.iter().map(OsString::from).collect();
        let env = environment::for_children(&self.cx.env);
        let tool = Tool { program, args: &args, dir: &self.dir, env: &env, stderr: Stderr::Captured };
        process::run(&self.cx.cleanup, &tool, &mut |_| ()).is_ok_and(|ended| ended.status.success())
    }

    /// Runs a tool in the project, whose messages go to standard error.
    pub(super) fn run(&self, program: &Path, args: &[OsString], more_env: &[(&str, &str)]) -> Result<(), BuildError> {
        let mut env = environment::for_children(&self.cx.env);
        env.extend(more_env.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))));
        let tool = Tool { program, args, dir: &self.dir, env: &env, stderr: Stderr::Inherited };
        let ended = process::run(&self.cx.cleanup, &tool, &mut |_| ());
        let ended = ended.map_err(|source| BuildError::Run { program: program.to_owned(), source })?;
        if ended.status.success() {
            return Ok(());
        }
        Err(BuildError::Tool { dir: self.dir.clone(), program: program.to_owned(), status: ended.status })
    }
}

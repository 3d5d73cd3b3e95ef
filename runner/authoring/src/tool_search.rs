//! The search for the tools of one language, which a language of `languages` makes for `inspection`.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::context::AuthoringContext;
use crate::environment;
use crate::process::{self, Stderr, Tool};
use crate::program_search::find_program;

/// Time for one answer of a tool. They all answer at once, unless they wait for a network.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

/// A language whose modules cannot be built here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingTools {
    /// What is missing.
    pub problem: String,
    /// What to do about it; empty if the problem says it.
    pub remedy: String,
}

/// What a language needs to look for its tools.
pub(crate) struct Inspection<'a, 'b> {
    cx: &'a AuthoringContext<'b>,
}

impl<'a, 'b> Inspection<'a, 'b> {
    /// Searches with the author's environment.
    pub(crate) fn new(cx: &'a AuthoringContext<'b>) -> Self {
        Self { cx }
    }

    /// Returns a variable of the author's environment.
    pub(crate) fn var(&self, name: &str) -> Option<&OsStr> {
        self.cx.var(name)
    }

    /// Finds one of the author's programs.
    pub(crate) fn find(&self, name: &str) -> Option<PathBuf> {
        find_program(self.cx, Path::new(name))
    }

    /// Returns the standard output of a tool that exits successfully with these arguments within a few seconds.
    pub(crate) fn answer(&self, program: &Path, args: &[&str]) -> Option<String> {
        let args: Vec<OsString> = args.iter().map(OsString::from).collect();
        let env = environment::for_children(&self.cx.env);
        let tool = Tool { program, args: &args, dir: Path::new("/"), env: &env, stderr: Stderr::Captured };
        let (ended, text) = process::output_within(&self.cx.cleanup, &tool, PATIENCE).ok()?;
        ended.status.success().then_some(text)
    }
}

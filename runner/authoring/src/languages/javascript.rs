//! JavaScript: `main.js` and the files that it imports, with an interpreter, in a component by componentize-js. Its `run.run` is
//! called. The interpreter has no files of its own, so the world has WASI's.

use std::fs;

use crate::error::BuildError;
use crate::languages::job::{Job, Language};
use crate::languages::wit;

/// The package that makes components; it is looked for as node looks for packages of the project.
const PACKAGE: &str = "node_modules/@bytecodealliance/componentize-js";

/// What has the package make one.
const SCRIPT: &str = include_str!("componentize.mjs");

pub(crate) const JAVASCRIPT: Language = Language {
    name: "JavaScript",
    marker: "main.js",
    build,
    remedy: "install node (nodejs.org, or your distribution's package), and run `npm install @bytecodealliance/componentize-js` in the \
             project",
};

fn build(job: &mut Job<'_, '_>) -> Result<(), BuildError> {
    let node = job.find("node").ok_or_else(|| job.missing())?;
    if !job.dir.ancestors().any(|dir| dir.join(PACKAGE).is_dir()) {
        return Err(job.missing());
    }
    let wit = wit::write(job, wit::Imports::Files)?;
    // In the project, so that node finds what is installed there.
    let script = job.made.with_file_name("componentize.mjs");
    fs::write(&script, SCRIPT).map_err(|source| BuildError::File { verb: "write", path: script.clone(), source })?;
    job.run(&node, &[script.into(), "main.js".into(), wit.into(), job.made.clone().into()], &[])
}

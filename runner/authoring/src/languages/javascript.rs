//! JavaScript: `main.js` and the files that it imports, made into a component with an interpreter by componentize-js.
//! The component calls its `run.run`. The interpreter itself has no access to files, so the world includes WASI's.

use std::fs;

use crate::error::BuildError;
use crate::languages::job::{Job, Language};
use crate::languages::wit;

/// Package that makes components; it is looked up as node looks up packages of the project.
const PACKAGE: &str = "node_modules/@bytecodealliance/componentize-js";

/// Script that calls the package.
const SCRIPT: &str = include_str!("componentize.mjs");

pub(crate) const JAVASCRIPT: Language = Language {
    name: "JavaScript",
    marker: "main.js",
    build,
    inspect: |tools| {
        Some(Ok(format!("`{}`; each project has its own `componentize-js`", tools.find("node")?.display())))
    },
    remedy: "install node (nodejs.org, or your distribution's package), and run `npm install @bytecodealliance/componentize-js` in the \
             project",
};

fn build(job: &mut Job<'_, '_>) -> Result<(), BuildError> {
    let node = job.find("node").ok_or_else(|| job.missing())?;
    if !job.dir.ancestors().any(|dir| dir.join(PACKAGE).is_dir()) {
        return Err(job.missing());
    }
    let wit = wit::write(job, wit::Imports::Files)?;
    // Written to the project, so that node finds the packages that are installed there.
    let script = job.made.with_file_name("componentize.mjs");
    fs::write(&script, SCRIPT).map_err(|source| BuildError::File { verb: "write", path: script.clone(), source })?;
    job.run(&node, &[script.into(), "main.js".into(), wit.into(), job.made.clone().into()], &[])
}

//! Python: `main.py` and its imports, made into a component with an interpreter by componentize-py. The component calls
//! its class `Run`.

use std::ffi::OsString;

use crate::error::BuildError;
use crate::languages::job::{Job, Language};
use crate::languages::wit;

pub(crate) const PYTHON: Language = Language {
    name: "Python",
    marker: "main.py",
    build,
    inspect: |tools| Some(Ok(format!("`{}`", tools.find("componentize-py")?.display()))),
    remedy: "run `pip install componentize-py`, and add `componentize-py` to PATH",
};

fn build(job: &mut Job<'_, '_>) -> Result<(), BuildError> {
    let componentize = job.find("componentize-py").ok_or_else(|| job.missing())?;
    let wit = wit::write(job, wit::Imports::None)?;
    let mut args: Vec<OsString> = vec!["-q".into(), "-d".into(), wit.into()];
    args.extend(["-w", "module", "componentize", "main", "-o"].map(OsString::from));
    args.push(job.made.clone().into());
    job.run(&componentize, &args, &[])
}

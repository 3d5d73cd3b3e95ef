//! The command without its working directory. A client starts modbox where the agent works, so the agent can put files there:
//! `./library/stat` would run as `stat`, with its grants. So relative paths of switches are made absolute, those of variables
//! are dropped, and everything else is done from `/`.

use std::path::{Path, PathBuf};

use crate::cli::args::{LookupArgs, McpArgs};
use crate::cli::context::Context;
use crate::cli::exit::{Failure, OrExit};
use crate::cli::process::environment::Environment;

/// Variables with lists of folders, of which only absolute ones count.
const FOLDERS: [&str; 3] = ["ANSIBLE_COLLECTIONS_PATH", "ANSIBLE_COLLECTIONS_PATHS", "PATH"];

/// What the command goes on with.
pub(crate) struct Standpoint {
    pub(crate) context: Context,
    pub(crate) policy: Vec<PathBuf>,
    pub(crate) lookup: LookupArgs,
}

impl Standpoint {
    /// Leaves the working directory.
    ///
    /// # Errors
    ///
    /// The kernel refuses to change it.
    pub(crate) fn leave_directory(context: &Context, args: &McpArgs) -> Result<Self, Failure> {
        let environment = &context.environment;
        let absolute = |paths: &[PathBuf]| paths.iter().map(|path| environment.absolute(path)).collect::<Vec<_>>();
        let interpreter = |(name, path): &(String, String)| {
            // A plain name is looked up in `PATH`.
            let path = match path.contains('/') {
                true => environment.absolute(Path::new(path)).to_string_lossy().into_owned(),
                false => path.clone(),
            };
            (name.clone(), path)
        };
        let lookup = LookupArgs {
            module_path: absolute(&args.module_path),
            collections_path: absolute(&args.collections_path),
            interpreter: args.interpreter.iter().map(interpreter).collect(),
            ..LookupArgs::default()
        };
        let policy = absolute(&args.policy);
        rustix::process::chdir("/").or_internal()?;
        let context = Context {
            environment: without_directory(environment.clone()),
            cleanup: context.cleanup.clone(),
            signals: context.signals.clone(),
            workers: context.workers.clone(),
        };
        Ok(Self { context, policy, lookup })
    }
}

/// Returns an environment in which nothing depends on the working directory.
fn without_directory(mut environment: Environment) -> Environment {
    environment.cwd = PathBuf::from("/");
    environment.library.retain(|folder| folder.is_absolute());
    environment.module_utils.retain(|folder| folder.is_absolute());
    for (name, value) in &mut environment.variables {
        if FOLDERS.iter().any(|folders| name == folders) {
            let kept = std::env::split_paths(value).filter(|folder| folder.is_absolute() || folder.starts_with("~"));
            // What was split at colons has none.
            *value = std::env::join_paths(kept.collect::<Vec<_>>()).unwrap_or_default();
        }
    }
    environment
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_folders_of_variables_count_for_nothing() {
        let folders = |list: &[&str]| list.iter().map(PathBuf::from).collect::<Vec<_>>();
        let environment = without_directory(Environment {
            cwd: "/home/agent".into(),
            library: folders(&["mine", "/srv/library", "./x"]),
            module_utils: folders(&["utils", "/srv/utils"]),
            variables: vec![
                ("PATH".into(), "bin:/usr/bin:.".into()),
                ("ANSIBLE_COLLECTIONS_PATH".into(), "collections:~/c:/c".into()),
                ("OTHER".into(), "a:b".into()),
            ],
            ..Environment::empty(Path::new("/tmp"))
        });
        assert_eq!(environment.cwd, Path::new("/"));
        assert_eq!(
            (environment.library.clone(), environment.module_utils.clone()),
            (folders(&["/srv/library"]), folders(&["/srv/utils"]))
        );
        let value = |name| environment.variable(name).unwrap().to_str().unwrap().to_owned();
        assert_eq!([value("PATH"), value("ANSIBLE_COLLECTIONS_PATH"), value("OTHER")], ["/usr/bin", "~/c:/c", "a:b"]);
    }
}

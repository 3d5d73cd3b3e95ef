//! The folders of transactions and of saved previews: below the state folder of root or of the user.

use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::cli::process::environment::Environment;

/// State folder of root, whose home can be missing while the machine starts.
const OF_ROOT: &str = "/var/lib";

/// State folder of a user, below the home folder.
const BELOW_HOME: &str = ".local/state";

/// Place of transactions below it.
const TRANSACTIONS: &str = "modbox/transactions";

/// Place of saved previews below it.
const PLANS: &str = "modbox/plans";

/// Returns the folder of transactions: below `XDG_STATE_HOME`, else below `/var/lib` for root and below
/// `~/.local/state` for other users.
///
/// # Errors
///
/// The home folder is not known.
pub(crate) fn transactions(environment: &Environment) -> anyhow::Result<PathBuf> {
    below_state(environment, TRANSACTIONS)
}

/// Returns the folder of saved previews, the plan store, next to the folder of transactions.
///
/// # Errors
///
/// The home folder is not known.
pub(crate) fn plans(environment: &Environment) -> anyhow::Result<PathBuf> {
    below_state(environment, PLANS)
}

fn below_state(environment: &Environment, place: &str) -> anyhow::Result<PathBuf> {
    let named = |name: &str| environment.variable(name).filter(|value| !value.is_empty());
    // The base directory specification: a path that is not absolute is ignored.
    let state = named("XDG_STATE_HOME").map(Path::new).filter(|path| path.is_absolute());
    let folder = match state {
        Some(state) => state.to_owned(),
        None if rustix::process::geteuid().is_root() => OF_ROOT.into(),
        None => {
            let home =
                named("HOME").context("failed to find the folder of modbox's state: set `HOME` or `XDG_STATE_HOME`")?;
            environment.absolute(&Path::new(home).join(BELOW_HOME))
        }
    };
    Ok(folder.join(place))
}

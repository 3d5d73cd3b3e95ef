//! The release of ansible-core that modbox follows where none is named: that of the installed one.

use modbox_contract::Release;
use modbox_run::installed_core;

use crate::cli::named::find::Lookup;
use crate::cli::process::environment::Environment;

/// Returns the release of the ansible-core that Python modules are combined with; the newest final release if none is found.
/// Starts no program.
pub(crate) fn installed(environment: &Environment, lookup: &Lookup) -> Release {
    let core = installed_core(&lookup.python, lookup.interpreter(), &environment.cwd);
    core.map_or_else(Release::default, |(_, version)| Release::of_version(&version))
}

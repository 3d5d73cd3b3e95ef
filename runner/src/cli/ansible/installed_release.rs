//! The release of ansible-core that modbox follows where none is named: that of the installed one.

use modbox_contract::Release;
use modbox_run::PythonSurvey;

use crate::cli::named::find::Lookup;
use crate::cli::process::environment::Environment;

/// Returns the release of the ansible-core that Python modules are combined with; the newest final release if none is found.
/// Starts no program.
pub(crate) fn installed(environment: &Environment, lookup: &Lookup) -> Release {
    let survey = PythonSurvey::of(&lookup.python, lookup.interpreter(), &environment.cwd);
    survey.core.map_or_else(Release::default, |(_, version)| Release::of_version(&version))
}

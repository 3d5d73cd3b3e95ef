//! The release of ansible-core that a play follows, where releases differ.

use modbox_contract::Release;

use crate::cli::environment::Environment;
use crate::cli::find::Lookup;
use modbox_run::PythonSurvey;

/// Returns the release that a play follows: the chosen one, else that of the installed ansible-core, else the newest final one.
pub(crate) fn release(chosen: Option<Release>, environment: &Environment, lookup: &Lookup) -> Release {
    chosen.unwrap_or_else(|| {
        let survey = PythonSurvey::of(&lookup.python, lookup.interpreter(), &environment.cwd);
        survey.core.map_or(Release::V2_21, |(_, version)| Release::of_version(&version))
    })
}

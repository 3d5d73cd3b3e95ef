//! The variables that a module in a room has without a grant: the usual ones, and the home of its user.

use std::ffi::OsString;
use std::path::Path;

use crate::host::context::NativeContext;
use crate::rooms::room::USUAL_VARIABLES;

/// The variable that names the home of a user.
const HOME: &str = "HOME";

/// The home of a user who has none.
const NO_HOME: &str = "/";

/// Returns these variables, without those that are granted.
pub(crate) fn usual(cx: &NativeContext) -> Vec<(OsString, OsString)> {
    let is_wanted = |name: &str| {
        cx.room_variables.is_none_or(|names| names.contains(&name))
            && cx.confine.as_ref().is_none_or(|confine| confine.has_usual(name))
            && !cx.environment.iter().any(|(given, _)| given == name)
    };
    let home = cx.confine.as_ref().and_then(|confine| confine.home.as_deref());
    let home = home.unwrap_or_else(|| Path::new(NO_HOME));
    let usual = USUAL_VARIABLES.iter().map(|(name, value)| (*name, OsString::from(value)));
    let all = usual.chain([(HOME, home.as_os_str().to_owned())]);
    all.filter(|(name, _)| is_wanted(name)).map(|(name, value)| (name.into(), value)).collect()
}

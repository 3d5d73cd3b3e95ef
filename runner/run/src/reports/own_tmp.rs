//! The warning that a successful result names a file in the `/tmp` of the module's own: it is gone when the run has ended, and a caller
//! of a module such as Ansible's `tempfile` goes on with it.

use std::path::Path;

use modbox_contract::Value;
use modbox_policy::{Access, Policy};

use crate::reports::report::{ADVICE_PREFIX, Report, Status};

/// The directories that each module has for itself; the second one is a guest's.
const OWN: [&str; 2] = ["/tmp", "/args"];

/// Keys in which results of Ansible's modules have what was made.
const MADE: [&str; 2] = ["path", "dest"];

/// Warns in the result of a run that has changed something. `policy` is what it was granted.
pub(crate) fn warn(report: &mut Report, policy: &Policy) {
    if report.status != Status::Changed {
        return;
    }
    let result = report.result.as_dict();
    let named = MADE.into_iter().filter_map(|key| result.get(key).and_then(Value::as_str));
    let lost = named.into_iter().find(|path| is_lost(Path::new(path), policy)).map(str::to_owned);
    if let Some(path) = lost {
        report.result.warn(&format!(
            "{ADVICE_PREFIX}`{path}` was made in a directory of the module's own and is gone with it; name one that the module may \
             write, or allow it with `--allow-write /tmp`"
        ));
    }
}

fn is_lost(path: &Path, policy: &Policy) -> bool {
    let is_own = OWN.iter().any(|own| path.starts_with(own) && path != Path::new(own));
    is_own && !policy.covers(path, Access::Read) && path.symlink_metadata().is_err()
}

//! The warning that a module has changed something, and left files in the `/tmp` of its own: they are gone when the run has ended. A
//! command may have been run to make them, and a caller of a module such as Ansible's `tempfile` goes on with what it names.

use std::path::Path;

use modbox_contract::Value;
use modbox_policy::{Access, Policy};
use modbox_vocabulary::quoting;

use crate::reports::report::{ADVICE_PREFIX, Report, Status};

/// The directories that each module has for itself; the second one is a guest's.
const OWN: [&str; 2] = ["/tmp", "/args"];

/// Keys in which results of Ansible's modules have what was made.
const MADE: [&str; 2] = ["path", "dest"];

/// Names that a warning has; a person reads no more.
const MAX_NAMED: usize = 3;

/// Warns in the result of a run that has changed something. `policy` is what it was granted, and `left` is what the module left in
/// its own `/tmp`.
pub(crate) fn warn(report: &mut Report, policy: &Policy, left: Vec<String>) {
    if report.status != Status::Changed {
        return;
    }
    let result = report.result.as_dict();
    let named = MADE.into_iter().filter_map(|key| result.get(key).and_then(Value::as_str));
    let named = named.into_iter().find(|path| is_lost(Path::new(path), policy)).map(str::to_owned);
    // A guest without a working directory has its `/tmp` under another name, too.
    let is_left = |path: &String| left.iter().any(|other| Path::new(other).file_name() == Path::new(path).file_name());
    let named = named.filter(|path| !is_left(path));
    let lost: Vec<String> = named.into_iter().chain(left).collect();
    if let Some(warning) = warning(&lost) {
        report.result.warn(&warning);
    }
}

fn warning(lost: &[String]) -> Option<String> {
    let first = lost.first()?;
    let names: Vec<String> = lost.iter().take(MAX_NAMED).map(|path| format!("`{path}`")).collect();
    let (more, were) = match (lost.len(), lost.len().saturating_sub(MAX_NAMED)) {
        (1, _) => (String::new(), "was"),
        (_, 0) => (String::new(), "were"),
        (_, more) => (format!(" and {more} more"), "were"),
    };
    Some(format!(
        "{ADVICE_PREFIX}{}{more} {were} made in a `/tmp` of the module's own and {} gone with it; to keep such a file, name one in a \
         directory that the module may write, or allow it with `--allow-write {}`",
        names.join(", "),
        if lost.len() == 1 { "is" } else { "are" },
        quoting::quote(first),
    ))
}

fn is_lost(path: &Path, policy: &Policy) -> bool {
    let is_own = OWN.iter().any(|own| path.starts_with(own) && path != Path::new(own));
    is_own && !policy.covers(path, Access::Read) && path.symlink_metadata().is_err()
}

//! What the user of the run may do with a file, as `access(2)` says it.
//!
//! The host asks the kernel. It refuses writing also where no grant allows it, so then mode and owner tell. Where these do
//! not, there is no answer: of another user's file whose group may do something else than all others, since a component does
//! not know the groups of its user.

use std::io::ErrorKind;
use std::path::Path;

use modbox_sdk::files::{self, Attributes};
use modbox_sdk::fs::real_path;

/// The keys of Ansible's `stat`, and the permission of all others that each stands for.
const PERMISSIONS: [(&str, u32); 3] = [("readable", 0o4), ("writeable", 0o2), ("executable", 0o1)];

/// Returns what is known of the permissions at a path, whose links are followed.
pub(crate) fn known(path: &Path) -> Vec<(&'static str, bool)> {
    // The user owns the file with the arguments.
    let user = std::env::args_os().nth(1).and_then(|path| files::stat(path, true).ok());
    let Some(uid) = user.map(|found| found.uid) else { return Vec::new() };
    let real = real_path(path);
    let found = match real.as_ref().map_err(|error| error.kind().into()).and_then(|real| files::stat(real, false)) {
        Ok(found) => Some(found),
        // A link to nothing, or in a circle.
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::InvalidInput) => None,
        Err(_) => return Vec::new(),
    };
    let may = |bit| match (&found, &real) {
        (Some(found), Ok(real)) => asked(real, bit).or_else(|| may(uid, found, bit)),
        _ => Some(false),
    };
    PERMISSIONS.into_iter().filter_map(|(key, bit)| Some((key, may(bit)?))).collect()
}

/// Returns the kernel's answer, unless the want of a grant may be the reason of it.
fn asked(real: &Path, bit: u32) -> Option<bool> {
    let allowed = files::allows(real, bit == 4, bit == 2, bit == 1)?;
    (allowed || bit != 2).then_some(allowed)
}

fn may(uid: u32, found: &Attributes, bit: u32) -> Option<bool> {
    let [owner, group, others] = [6, 3, 0].map(|shift| found.mode >> shift & bit != 0);
    match uid {
        // Root may do all, but executes only what is executable.
        0 => Some(bit != 1 || found.directory || owner || group || others),
        _ if uid == found.uid => Some(owner),
        _ => (group == others).then_some(others),
    }
}

//! Settings of apt for modules that refresh its lists in their own process.
//!
//! As root, apt gives the files that it fetches to another user and takes that user's rights. A confined module can do neither, so
//! it stays root in its room, which holds it.

use std::borrow::Cow;
use std::ffi::OsString;
use std::path::Path;

use modbox_policy::{Access, Policy};
use modbox_vocabulary::{InputFile, Invocation};

/// The variable that names a file with settings (apt.conf(5)).
const VARIABLE: &str = "APT_CONFIG";

/// The directory of the lists of packages.
const LISTS: &str = "/var/lib/apt/lists";

const NAME: &str = "apt.conf";

/// Readable by the user of the module alone.
const MODE: u32 = 0o600;

const SETTINGS: &[u8] = b"APT::Sandbox::User \"root\";\n";

/// Adds the settings to the files and the variables of a module that may refresh the lists. `directory` is that of the module's
/// files.
pub(crate) fn add(
    invocation: &mut Cow<'_, Invocation>,
    environment: &mut Vec<(OsString, OsString)>,
    policy: &Policy,
    directory: &Path,
) {
    let refreshes = policy.paths().iter().any(|grant| grant.access == Access::Write && grant.guest == LISTS);
    if refreshes && !environment.iter().any(|(name, _)| name == VARIABLE) {
        invocation.to_mut().files.push(InputFile { name: NAME.to_owned(), contents: SETTINGS.into(), mode: MODE });
        environment.push((VARIABLE.into(), directory.join(NAME).into_os_string()));
    }
}

//! Which home of a user a room has as an empty directory.
//!
//! Nothing of a home is shown without a grant. With the directory, the refusal of a write below it names the file, and not the
//! directory that is missing; and programs that change to their home start.

use std::path::Path;

use modbox_policy::{PathGrant, Shape, normalize};

use crate::rooms::base;

/// Directories in which a room makes no home: those of the kernel.
const OF_KERNEL: [&str; 3] = ["/proc", "/dev", "/sys"];

/// The directory that a room may share with others, which would get the home's mount point.
const TMP: &str = "/tmp";

/// Returns whether a room with these grants and links gets a directory for a home of the machine. What a grant or the base shows is
/// there already, or is the machine's own, in which nothing must be made; and below a link it would stand in place of the link.
pub(crate) fn is_shown<'a>(
    home: &Path,
    shares_tmp: bool,
    grants: &[PathGrant],
    mut links: impl Iterator<Item = &'a Path>,
) -> bool {
    let is_around = |grant: &PathGrant| grant.shape == Shape::Directory && home.starts_with(&grant.guest);
    let mut others = base::paths().chain(OF_KERNEL).chain(shares_tmp.then_some(TMP));
    home.is_absolute()
        && normalize(home) == home
        && !others.any(|other| home.starts_with(other))
        && !grants.iter().any(is_around)
        && !links.any(|link| home.starts_with(link))
        && home.is_dir()
}

//! The places of modbox's own: state, scratch, cache, audit. A grant that holds one cannot have a layer.
//!
//! What modbox writes there during a run would be told as a change of another process, and a commit would write what
//! recovery reads. This file compares paths only.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Returns an own place that is a granted path, in it, or around it.
///
/// `granted` has no links. An own place need not exist.
pub(crate) fn overlap<'a>(granted: &Path, own: &'a [PathBuf]) -> Option<&'a Path> {
    let is_overlap = |place: &&PathBuf| {
        let place = without_links(place);
        place.starts_with(granted) || granted.starts_with(&place)
    };
    own.iter().find(is_overlap).map(PathBuf::as_path)
}

/// Returns a path without links, as far as it exists.
fn without_links(path: &Path) -> PathBuf {
    let mut rest: Vec<&OsStr> = Vec::new();
    for ancestor in path.ancestors() {
        if let Ok(found) = ancestor.canonicalize() {
            return rest.iter().rev().fold(found, |path, name| path.join(name));
        }
        rest.extend(ancestor.file_name());
    }
    path.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlaps_are_found_also_through_links_and_before_a_place_exists() {
        let directory = tempfile::tempdir().unwrap();
        let base = directory.path().canonicalize().unwrap();
        std::fs::create_dir_all(base.join("state/modbox")).unwrap();
        std::os::unix::fs::symlink(base.join("state"), base.join("link")).unwrap();
        let own = |path: &str| vec![base.join(path)];
        let cases = [
            ("state", "state/modbox", true),
            ("state", "link/modbox", true),
            ("state", "link/later/transactions", true),
            ("state/modbox/run", "state/modbox", true),
            ("state/modbox", "state/modbox", true),
            ("state", "state-of-another", false),
            ("state/modbox", "state/audit.log", false),
            ("absent", "absent/audit.log", true),
        ];
        for (granted, place, expected) in cases {
            let own = own(place);
            assert_eq!(overlap(&base.join(granted), &own).is_some(), expected, "{granted} {place}");
        }
    }
}

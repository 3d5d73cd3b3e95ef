//! The names of a path, for code that follows it name by name.

use std::ffi::OsString;
use std::path::{Component, Path};

/// Returns the names of a path with the last one first, so that the next one to follow is popped from the end. `..` is a name;
/// `/` at the beginning and `.` are left out.
#[must_use]
pub fn names_from_last(path: &Path) -> Vec<OsString> {
    let names = path.components().rev().filter_map(|component| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    });
    names.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_name_is_at_the_end() {
        assert_eq!(names_from_last(Path::new("/a/./b/../c/")), ["c", "..", "b", "a"]);
        assert_eq!(names_from_last(Path::new("/")), [""; 0]);
    }
}

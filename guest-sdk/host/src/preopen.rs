//! Finds the directory for a path, among the directories that a component was started with.

/// Returns the innermost directory that contains a path, and the rest of the path, which is `.` for the directory
/// itself.
///
/// Paths are compared as in wasi-libc (`__wasilibc_find_relpath`): a guest starts in `/`, so `/` and `./` at the start
/// of a path are ignored, and a directory with the name `.` is `/`.
pub(crate) fn innermost<'d, 'p, D>(directories: &'d [(D, String)], path: &'p str) -> Option<(&'d D, &'p str)> {
    let around = directories.iter().filter_map(|(directory, name)| Some((directory, within(name, path)?)));
    let (directory, rest) = around.min_by_key(|(_, rest)| rest.len())?;
    Some((directory, if rest.is_empty() { "." } else { rest }))
}

/// Returns the rest of a path inside a directory, or `None`.
fn within<'p>(directory: &str, path: &'p str) -> Option<&'p str> {
    let (directory, path) = (bare(directory).trim_end_matches('/'), bare(path));
    let rest = path.strip_prefix(directory)?;
    let apart = directory.is_empty() || rest.is_empty() || rest.starts_with('/');
    apart.then(|| rest.trim_start_matches('/'))
}

/// Removes `/` and `./` from the start of a path.
fn bare(mut path: &str) -> &str {
    loop {
        path = match (path.strip_prefix('/'), path.strip_prefix("./")) {
            (Some(rest), _) | (_, Some(rest)) => rest,
            _ if path == "." => "",
            _ => return path,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::{innermost, within};

    #[test]
    fn a_path_is_in_a_directory_by_whole_names() {
        for (directory, path, rest) in [
            ("/", "/a/b", Some("a/b")),
            (".", "./a", Some("a")),
            ("", "a", Some("a")),
            ("/a", "/a", Some("")),
            ("/a/", "/a//b", Some("b")),
            ("./a", "a/b", Some("b")),
            ("/a", "/ab", None),
            ("/a/b", "/a", None),
            ("/a", "/", None),
            ("/", "/", Some("")),
            ("/.a", "/.a/b", Some("b")),
            ("/srv", "/srv/args.json", Some("args.json")),
            ("/srv", "/srvers", None),
        ] {
            assert_eq!(within(directory, path), rest, "{path} in {directory}");
        }
    }

    #[test]
    fn the_innermost_directory_is_taken_in_whatever_order_they_are() {
        let mut directories = ["/", "/a", "/a/b"].map(|name| (name, name.to_owned()));
        for _ in 0..2 {
            assert_eq!(innermost(&directories, "/a"), Some((&"/a", ".")));
            assert_eq!(innermost(&directories, "/a/b/c"), Some((&"/a/b", "c")));
            assert_eq!(innermost(&directories, "c"), Some((&"/", "c")));
            directories.reverse();
        }
    }
}

//! Which of the directories that a component was started with a path lies in.

/// Returns the rest of a path that lies in a directory, if it does; `.` for the directory itself.
///
/// Paths are compared as wasi-libc does it (`__wasilibc_find_relpath`): a guest starts in `/`, so what a path begins
/// with of `/` and `./` says nothing, and a directory called `.` is `/`.
///
/// ```
/// use modbox_wasi::within;
///
/// assert_eq!(within("/srv", "/srv/args.json"), Some("args.json"));
/// assert_eq!(within(".", "args.json"), Some("args.json"));
/// assert_eq!(within("/srv", "/srvers"), None);
/// ```
#[must_use]
pub fn within<'a>(directory: &str, path: &'a str) -> Option<&'a str> {
    let (directory, path) = (bare(directory).trim_end_matches('/'), bare(path));
    let rest = path.strip_prefix(directory)?;
    let apart = directory.is_empty() || rest.is_empty() || rest.starts_with('/');
    let rest = rest.trim_start_matches('/');
    apart.then_some(if rest.is_empty() { "." } else { rest })
}

/// Takes off what a path begins with when it is said from the root.
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
    use super::within;

    #[test]
    fn a_path_is_in_a_directory_by_whole_names() {
        for (directory, path, rest) in [
            ("/", "/a/b", Some("a/b")),
            (".", "./a", Some("a")),
            ("", "a", Some("a")),
            ("/a", "/a", Some(".")),
            ("/a/", "/a//b", Some("b")),
            ("./a", "a/b", Some("b")),
            ("/a", "/ab", None),
            ("/a/b", "/a", None),
            ("/a", "/", None),
            ("/", "/", Some(".")),
            ("/.a", "/.a/b", Some("b")),
        ] {
            assert_eq!(within(directory, path), rest, "{path} in {directory}");
        }
    }
}

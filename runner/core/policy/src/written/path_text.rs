//! How a grant of a path is written: `PATH`, or `PATH::GUEST` for another path in the module.
//!
//! Two colons may be in the name of a file. They separate only where a slash follows, at the last such place, since a path in the
//! module is absolute. So a path below a directory whose name ends in two colons cannot be written; the option of
//! such a path grants that directory.

use std::path::Path;

use modbox_vocabulary::quoting::quote;

use crate::access::Access;

const SEPARATOR: &[u8] = b"::/";

/// Splits a written grant into the path on the machine and the one in the module, if it names one.
#[must_use]
pub fn split_grant(written: &[u8]) -> (&[u8], Option<&[u8]>) {
    match written.windows(SEPARATOR.len()).rposition(|window| window == SEPARATOR) {
        Some(at) => (&written[..at], Some(&written[at + 2..])),
        None => (written, None),
    }
}

/// Returns the path on the machine of a written grant.
#[must_use]
pub fn granted_host(written: &str) -> &str {
    std::str::from_utf8(split_grant(written.as_bytes()).0).unwrap_or(written)
}

/// Returns the option of the command line that grants a path, quoted for a shell.
#[must_use]
pub fn path_option(access: Access, path: &Path) -> String {
    let is_plain = |path: &&Path| !path.to_string_lossy().contains("::/");
    let written = path.ancestors().find(is_plain).unwrap_or(path).to_string_lossy();
    format!("--allow-{} {}", access.as_str(), quote(&written))
}

/// Returns the option that grants a path at another one in the module.
#[must_use]
pub fn mapped_path_option(access: Access, host: &Path, guest: &str) -> String {
    if host == Path::new(guest) {
        return path_option(access, host);
    }
    format!("--allow-{} {}", access.as_str(), quote(&format!("{}::{guest}", host.to_string_lossy())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colons_separate_before_a_slash_alone() {
        for (written, host, guest) in [
            ("/srv/a", "/srv/a", None),
            ("/srv/a::/b", "/srv/a", Some("/b")),
            ("a::/b", "a", Some("/b")),
            ("/srv/a::b", "/srv/a::b", None),
            ("/srv/a::", "/srv/a::", None),
            ("/srv/a::b::/c", "/srv/a::b", Some("/c")),
            ("::/c", "", Some("/c")),
        ] {
            let (found, place) = split_grant(written.as_bytes());
            assert_eq!((found, place), (host.as_bytes(), guest.map(str::as_bytes)), "{written}");
            assert_eq!(granted_host(written), host);
        }
    }

    #[test]
    fn an_option_grants_the_path_or_what_is_around_it() {
        for path in ["/srv/a", "/srv/a::b", "/srv/a::", "/srv/a::/b", "/srv/a::/b/c", "/srv/::/x", "/srv/it's a::b"] {
            let option = path_option(Access::Read, Path::new(path));
            let words = modbox_vocabulary::quoting::split(&option).unwrap();
            let (host, guest) = split_grant(words[1].as_bytes());
            assert!(guest.is_none(), "{option}");
            assert!(Path::new(path).starts_with(std::str::from_utf8(host).unwrap()), "{option}");
        }
        assert_eq!(path_option(Access::Write, Path::new("/srv/a::/b/c")), "--allow-write /srv/a::");
        assert_eq!(mapped_path_option(Access::Read, Path::new("/a"), "/a"), "--allow-read /a");
        assert_eq!(mapped_path_option(Access::Read, Path::new("/a::b"), "/c"), "--allow-read /a::b::/c");
    }
}

//! Checks that a project asks for the version of the SDK that this program carries. Pure.

use std::path::Path;

use super::carried::VERSION;
use super::error::SdkError;

/// Accepts a requirement of a manifest, or returns the error that names both versions. Judges the form that `modbox new`
/// writes, `^MAJOR.MINOR.PATCH`, and leaves the others to cargo.
pub(crate) fn check(dir: &Path, required: &str) -> Result<(), SdkError> {
    let wanted = required.strip_prefix('^').and_then(numbers);
    match (wanted, numbers(VERSION)) {
        (Some(wanted), Some(carried)) if !fits(wanted, carried) => {
            Err(SdkError::Version { dir: dir.to_owned(), required: required.to_owned() })
        }
        _ => Ok(()),
    }
}

/// Returns whether a version has the first non-zero number of another one, and is not older.
fn fits(wanted: [u32; 3], carried: [u32; 3]) -> bool {
    let first = wanted.iter().position(|number| *number != 0).unwrap_or(wanted.len() - 1);
    carried[..=first] == wanted[..=first] && carried >= wanted
}

fn numbers(version: &str) -> Option<[u32; 3]> {
    let mut numbers = version.split('.').map(str::parse);
    let parsed = [numbers.next()?.ok()?, numbers.next()?.ok()?, numbers.next()?.ok()?];
    numbers.next().is_none().then_some(parsed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_versions_are_refused_with_both_numbers() {
        for fits in ["*", &format!("^{VERSION}"), &format!("={VERSION}"), "not a version"] {
            check(Path::new("/p"), fits).unwrap();
        }
        let message = check(Path::new("/p"), "^999.1.0").unwrap_err().to_string();
        assert!(message.contains("`/p`: it needs modbox-sdk `^999.1.0`, and this modbox has "), "{message}");
    }

    #[test]
    fn a_newer_compatible_version_fits() {
        for (wanted, carried, expect) in [
            ([0, 1, 0], [0, 1, 3], true),
            ([0, 1, 3], [0, 1, 0], false),
            ([0, 1, 0], [0, 2, 0], false),
            ([1, 2, 0], [1, 3, 0], true),
            ([1, 2, 0], [2, 0, 0], false),
            ([0, 0, 1], [0, 0, 2], false),
        ] {
            assert_eq!(fits(wanted, carried), expect, "{wanted:?} {carried:?}");
        }
    }
}

//! Which Python modules do the same in the sandbox as natively: `proven.tsv`, of those in which the twin test of tasks
//! (`tests/twin_sandbox.rs`) finds nothing.
//!
//! A module is not known by its name: another one may bear it. Its identity is a digest of all sources that run, its own and
//! those of its imports, with their dotted names. So a module that differs in one byte, also in a utility, or that does not lie
//! in the folder of ansible-core or of its collection, is another one, which is not proven.

use modbox_kinds::ansiballz::Payload;
use sha2::{Digest, Sha256};

/// Packages that each payload makes for itself.
pub(super) const GENERATED: [&str; 2] = ["ansible/__init__.py", "ansible/module_utils/__init__.py"];

/// The list: a module, the release of ansible-core, and the identity.
const LIST: &str = include_str!("proven.tsv");

/// Returns the SHA-256, in hex, of the paths and sources of a module and its imports. What a payload generates for itself does
/// not count, as ansible-core's own payloads have other bytes there.
pub(super) fn identity(payload: &Payload) -> String {
    let mut hash = Sha256::new();
    let sources =
        payload.files.iter().filter(|(path, source)| !GENERATED.contains(&path.as_str()) && !source.is_empty());
    for (path, source) in sources {
        for part in [path.as_bytes(), source] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns whether a module with an identity is proven.
pub(super) fn is_proven(identity: &str) -> bool {
    let rows = LIST.lines().filter(|line| !line.starts_with('#'));
    rows.filter_map(|line| line.rsplit('\t').next()).any(|listed| listed == identity)
}

#[cfg(test)]
mod tests {
    use modbox_kinds::ansiballz::DottedName;

    use super::*;

    fn identity_of(files: &[(&str, &str)]) -> String {
        let file = |(path, source): &(&str, &str)| ((*path).to_owned(), source.as_bytes().into());
        let files = files.iter().map(file).collect();
        identity(&Payload { module: DottedName::parse("ansible.modules.stat"), has_loader: false, files })
    }

    #[test]
    fn every_source_that_runs_is_part_of_the_identity() {
        let (module, utility) = (("ansible/modules/stat.py", "1"), ("ansible/module_utils/basic.py", "2"));
        let whole = identity_of(&[module, utility]);
        assert_eq!(
            whole,
            identity_of(&[module, utility, (GENERATED[0], "__version__ = 1"), ("ansible/modules/__init__.py", "")])
        );
        for other in [
            &[module][..],
            &[module, ("ansible/module_utils/basic.py", "3")],
            &[("ansible/modules/file.py", "1"), utility],
            &[("ansible/modules/stat.py", "12"), ("ansible/module_utils/basic.py", "")],
        ] {
            assert_ne!(whole, identity_of(other), "{other:?}");
        }
    }

    #[test]
    fn the_list_has_a_module_a_release_and_an_identity_in_each_row() {
        let rows: Vec<Vec<&str>> =
            LIST.lines().filter(|line| !line.starts_with('#')).map(|line| line.split('\t').collect()).collect();
        for row in &rows {
            assert!(row.len() == 3 && row[2].len() == 64 && is_proven(row[2]), "{row:?}");
        }
        assert!(rows.is_sorted() && !rows.is_empty(), "{rows:?}");
        assert!(!is_proven("") && !is_proven("ansible.modules.stat"));
    }
}

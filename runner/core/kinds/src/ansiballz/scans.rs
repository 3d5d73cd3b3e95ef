//! Scans of sources that were made before in this process: most modules import the same utilities, and a scan takes longer than
//! all else of putting a module together.
//!
//! A source is known by a digest of its bytes and its name, so a file that changes is scanned again.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use sha2::{Digest, Sha256};

use crate::ansiballz::imports::{self, Scan, SourceError};
use crate::ansiballz::name::DottedName;

/// How many scans are kept. All utilities of ansible-core and of the collections of the package `ansible` are about 2,500.
const MAX_SCANS: usize = 4096;

type Key = [u8; 32];

static SCANS: LazyLock<Mutex<HashMap<Key, Arc<Scan>>>> = LazyLock::new(Mutex::default);

/// Returns what [`imports::scan`] finds in a source.
///
/// # Errors
///
/// A source that is not valid Python 3.
pub(super) fn scan(source: &[u8], name: &DottedName, is_package: bool) -> Result<Arc<Scan>, SourceError> {
    let key = key(source, name, is_package);
    if let Some(known) = SCANS.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
        return Ok(Arc::clone(known));
    }
    let scan = Arc::new(imports::scan(source, name, is_package)?);
    let mut scans = SCANS.lock().unwrap_or_else(PoisonError::into_inner);
    if scans.len() >= MAX_SCANS {
        scans.clear();
    }
    scans.insert(key, Arc::clone(&scan));
    Ok(scan)
}

fn key(source: &[u8], name: &DottedName, is_package: bool) -> Key {
    let mut hash = Sha256::new();
    hash.update(name.to_string());
    hash.update([0, u8::from(is_package)]);
    hash.update(source);
    hash.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scan_is_that_of_its_source_and_its_name() {
        let scan_of = |source: &str, name: &str, is_package| {
            let name = DottedName::parse(name);
            let kept = scan(source.as_bytes(), &name, is_package).unwrap();
            assert_eq!(kept, scan(source.as_bytes(), &name, is_package).unwrap());
            assert_eq!(*kept, imports::scan(source.as_bytes(), &name, is_package).unwrap());
            kept
        };
        let relative = "from .b import c\n";
        let sources = [
            (relative, "ansible.module_utils.a", false),
            (relative, "ansible.module_utils.a", true),
            (relative, "ansible.module_utils.d.a", false),
            ("from .e import c\n", "ansible.module_utils.a", false),
        ];
        let scans: Vec<_> = sources.map(|(source, name, is_package)| scan_of(source, name, is_package)).into();
        for (index, one) in scans.iter().enumerate() {
            assert!(!one.imports.is_empty());
            assert!(scans[index + 1..].iter().all(|other| other != one), "{:?}", sources[index]);
        }
        assert!(scan(b"def", &DottedName::parse("a"), false).is_err());
    }
}

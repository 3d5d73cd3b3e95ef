//! Bundles of modules: tar archives from another machine.

use std::fs::File;
use std::io::{Seek as _, Write as _};

use modbox_registry::bundle::{Bundle, save};
use modbox_registry::module_store::ModuleStore;

/// Largest module, in bytes.
const MAX_MODULE: u64 = 1 << 20;

/// Length of a header, and what the length of content is rounded up to.
const BLOCK: usize = 512;

/// Reads an archive whose headers are given right checksums, and loads it into a store. What was loaded is saved and read again.
pub fn run(data: &[u8]) -> bool {
    let Ok(bundle) = Bundle::read(file(&with_checksums(data))) else { return false };
    let folder = tempfile::tempdir().expect("a folder can be made");
    let store = ModuleStore::at(folder.path().join("store"));
    let Ok((modules, _)) = bundle.load(&store, MAX_MODULE, &|_, _| true) else { return false };
    let mut saved = Vec::new();
    save(&store, &modules, &mut saved).expect("what was loaded can be saved");
    let (other, again) = (ModuleStore::at(folder.path().join("other")), Bundle::read(file(&saved)));
    let loaded = again.expect("what was saved can be read").load(&other, MAX_MODULE, &|_, _| true);
    assert_eq!(loaded.expect("what was saved can be loaded").0.len(), modules.len());
    true
}

fn file(bytes: &[u8]) -> File {
    let mut file = tempfile::tempfile().expect("a file can be made");
    file.write_all(bytes).and_then(|()| file.rewind()).expect("the file can be written");
    file
}

/// Returns an archive with the checksum of each header (POSIX.1-2017, `pax`, "ustar Interchange Format").
fn with_checksums(data: &[u8]) -> Vec<u8> {
    let (mut tar, mut at) = (data.to_vec(), 0);
    // A block of zeros ends an archive.
    while let Some(header) = tar.get_mut(at..at + BLOCK).filter(|header| header.iter().any(|byte| *byte != 0)) {
        header[148..156].fill(b' ');
        let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        let size = str::from_utf8(&header[124..135]).ok().and_then(|digits| usize::from_str_radix(digits, 8).ok());
        at += BLOCK + size.unwrap_or(0).next_multiple_of(BLOCK);
    }
    tar
}

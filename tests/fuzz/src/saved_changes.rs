//! Saved changes, which `modbox apply` makes.

use std::io::Write as _;
use std::path::Path;

use modbox_overlay::commit::saved::SavedChanges;
use sha2::{Digest as _, Sha256};

/// First line of a file.
const FIRST: &[u8] = b"modbox saved changes, version 1\n";

/// Reads a manifest with contents behind it, in a file whose digest is right. Without the digest, no file is read.
pub fn run(data: &[u8]) -> bool {
    let mut bytes = [FIRST, data].concat();
    assert!(read(&bytes).is_none());
    let seal = Sha256::digest(&bytes);
    bytes.extend_from_slice(&seal);
    let Some(saved) = read(&bytes) else { return false };
    let manifest = data.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let manifest: serde_json::Value = serde_json::from_slice(manifest).expect("a manifest that was read is JSON");
    assert_eq!(saved.hidden().len(), manifest["hidden"].as_array().map_or(0, Vec::len));
    true
}

fn read(bytes: &[u8]) -> Option<SavedChanges> {
    let mut file = tempfile::tempfile().expect("a file can be made");
    file.write_all(bytes).expect("the file can be written");
    SavedChanges::read(Path::new("saved"), file).ok()
}

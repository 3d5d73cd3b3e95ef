//! The book builds, without a warning.

use std::fs;

use crate::support::{TestDir, build_book};

#[test]
fn the_book_builds() {
    let dir = TestDir::new();
    build_book(&dir.join("site"));
    let index = fs::read_to_string(dir.join("site/index.html")).unwrap();
    assert!(index.contains("modbox"), "{index}");
}

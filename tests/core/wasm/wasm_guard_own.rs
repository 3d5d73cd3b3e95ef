//! The guest's private directory, `/tmp`, by all paths that lead to it.

use serde_json::json;

use crate::core::wasm::wasm_guard::drive;
use crate::support::TestDir;

#[test]
fn it_is_one_directory_before_and_after_something_is_made_in_it() {
    let dir = TestDir::new();
    let seen = drive(
        &dir,
        &[],
        &json!([
            ["identity", "/tmp"],
            ["stat", "/tmp"],
            ["lstat", "/tmp/."],
            ["stat", "/tmp/sub"],
            ["identity", "/tmp"],
            ["mkdir", "/tmp/sub"],
            ["identity", "/tmp"],
            ["identity", "/tmp/sub/.."],
            ["identity", "/tmp/sub"],
            ["identity", "/args"],
            ["stat", "/tmp"],
            ["list", "/tmp"],
        ]),
    );
    assert_eq!(
        [&*seen[1], &*seen[2], &*seen[3], &*seen[10], &*seen[11]],
        ["dir 0", "dir 0", "NotFound", "dir 0", "[sub/]"]
    );
    for same in [4, 6, 7] {
        assert_eq!(seen[0], seen[same], "{same}: {seen:?}");
    }
    assert_ne!(seen[0], seen[8]);
    assert_ne!(seen[0], seen[9]);
}

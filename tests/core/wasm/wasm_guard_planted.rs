//! Links that another user has planted in a granted folder that all may write.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, lchown, symlink};

use serde_json::json;

use crate::core::wasm::wasm_guard::drive;
use crate::support::TestDir;

#[test]
fn a_planted_link_is_not_followed_at_the_end_of_a_path() {
    if !rustix::process::geteuid().is_root() {
        return; // Only root can give a link to another user.
    }
    let dir = TestDir::new();
    dir.write("granted/kept/file", "secret");
    let granted = dir.join("granted");
    for (folder, mode) in [("shared", 0o1777), ("own", 0o755)] {
        let folder = dir.mkdir(&format!("granted/{folder}"));
        fs::set_permissions(&folder, Permissions::from_mode(mode)).unwrap();
        for (name, target, user) in
            [("planted", "../kept/file", 4321), ("mine", "../kept/file", 0), ("planted-folder", "../kept", 4321)]
        {
            symlink(target, folder.join(name)).unwrap();
            lchown(folder.join(name), Some(user), Some(user)).unwrap();
        }
    }
    let ops = json!([
        ["read", granted.join("shared/planted")],
        ["write", granted.join("shared/planted"), "changed"],
        ["read", granted.join("shared/mine")],
        ["read", granted.join("shared/planted-folder/file")],
        ["read", granted.join("own/planted")],
    ]);
    let seen = drive(&dir, &[("--allow-write", &granted)], &ops);
    assert_eq!(seen, ["PermissionDenied", "PermissionDenied", "secret", "secret", "secret"]);
    // The kernel says the same where it has the rule.
    if fs::read_to_string("/proc/sys/fs/protected_symlinks").is_ok_and(|set| set.trim() == "1") {
        fs::read(granted.join("shared/planted")).unwrap_err();
        fs::read(granted.join("shared/planted-folder/file")).unwrap();
    }
}

//! The link `.modbox-sdk` in a project, through which its manifest names the SDK.
//!
//! The link leads into a folder of the user, so it differs between machines and is not part of the project's sources.
//! Each build makes it if it is missing or leads elsewhere.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::error::SdkError;
use super::unpack;
use crate::bounded_file::read_all;
use crate::context::AuthoringContext;

/// Name of the link.
pub(crate) const LINK: &str = ".modbox-sdk";

/// Maximum size of a manifest that is searched for the link's name.
const MAX_MANIFEST: u64 = 1 << 20;

/// Unpacks the SDK and makes the link, if the manifest of the project or of a folder above it names the link. A folder
/// of that name is the author's own copy and stays. Returns whether the project uses the carried SDK.
pub(crate) fn provide(cx: &mut AuthoringContext<'_>, dir: &Path) -> Result<bool, SdkError> {
    let Some(folder) = dir.ancestors().find(|folder| names_link(&folder.join("Cargo.toml"))) else {
        return Ok(false);
    };
    let link = folder.join(LINK);
    if fs::symlink_metadata(&link).is_ok_and(|metadata| !metadata.is_symlink()) {
        return Ok(false);
    }
    let sdk = unpack::ensure(cx)?;
    if !fs::read_link(&link).is_ok_and(|target| target == sdk) {
        replace(&link, &sdk).map_err(SdkError::file("make the link", &link))?;
    }
    Ok(true)
}

fn names_link(manifest: &Path) -> bool {
    let named = format!("{LINK}/");
    read_all(manifest, MAX_MANIFEST).is_ok_and(|text| String::from_utf8_lossy(&text).contains(&named))
}

/// Makes a link under another name, and renames it, so that a build at the same time finds the old one or the new one.
fn replace(link: &Path, target: &Path) -> io::Result<()> {
    let draft: PathBuf = link.with_file_name(format!("{LINK}-{}", std::process::id()));
    symlink(target, &draft)?;
    fs::rename(&draft, link).inspect_err(|_| drop(fs::remove_file(&draft)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use modbox_cleanup::Cleanup;

    use super::*;

    fn provide_in(root: &Path) -> Result<bool, SdkError> {
        let mut cx = AuthoringContext {
            cwd: root.to_owned(),
            env: BTreeMap::new(),
            cache_dir: Some(root.join("cache")),
            cleanup: Cleanup::default(),
            progress: &mut |_| (),
        };
        provide(&mut cx, &root.join("ws/member"))
    }

    #[test]
    fn the_link_is_made_where_a_manifest_names_it() {
        let root = tempfile::tempdir().unwrap();
        let link = root.path().join("ws").join(LINK);
        fs::create_dir_all(root.path().join("ws/member")).unwrap();
        fs::write(root.path().join("ws/member/Cargo.toml"), "modbox-sdk.workspace = true\n").unwrap();
        assert!(!provide_in(root.path()).unwrap());
        fs::write(root.path().join("ws/Cargo.toml"), "modbox-sdk = { path = \".modbox-sdk/guest-sdk\" }\n").unwrap();
        for stale in [None, Some("/nowhere"), Some("member")] {
            if let Some(target) = stale {
                fs::remove_file(&link).unwrap();
                symlink(target, &link).unwrap();
            }
            assert!(provide_in(root.path()).unwrap());
            assert!(link.join("guest-sdk/Cargo.toml").is_file(), "{stale:?}");
        }
        assert_eq!(fs::read_dir(root.path().join("ws")).unwrap().count(), 3, "no other link stays");
    }

    #[test]
    fn a_copy_of_the_author_stays() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("ws/member").join(LINK)).unwrap();
        fs::write(root.path().join("ws/member/Cargo.toml"), "path = \".modbox-sdk/guest-sdk\"\n").unwrap();
        assert!(!provide_in(root.path()).unwrap());
        assert!(!root.path().join("cache").exists());
    }
}

//! The folders in which plugins of collections are searched, and which of them came with the play.
//!
//! Folders that the operator names and those that are installed are shown whole to every process of plugins. Those of the play
//! are a part of its tree, which the process is shown anyway, as far as it belongs to the play.

use std::path::{Path, PathBuf};

use modbox_policy::normalize;
use modbox_run::CollectionFolder;

use crate::cli::play::ansible_settings::AnsibleSettings;
use crate::cli::play::files::sources::{Place, left_out};
use crate::cli::play::files::tree::PlayTree;
use crate::cli::printing::output;

/// The setting that names such folders.
const SETTING: &str = "COLLECTIONS_PATHS";

/// The folder in each of them that has the collections.
const PACKAGE: &str = "ansible_collections";

/// Returns the folders with `ansible_collections`: first those beside the plays, as in Ansible, then those that are `searched` for
/// every play. One in the folder of a play that a link leads out of it is left out, with a note.
pub(crate) fn collection_folders(
    tree: &PlayTree,
    plays: &[PathBuf],
    searched: &[String],
    ansible: &AnsibleSettings,
) -> Vec<CollectionFolder> {
    let is_named = |folder: &Path| searched.iter().any(|named| normalize(Path::new(named)) == *folder);
    let mut found: Vec<CollectionFolder> = Vec::new();
    for play in plays {
        let folder = normalize(&play.join("collections"));
        let is_of_play = !is_named(&folder) || ansible.is_of_play(SETTING, &folder);
        let package = folder.join(PACKAGE);
        // Those that are searched for every play were looked at when the tree was opened.
        if let (Some(Place::Outside), Ok(real), false) =
            (tree.place_of(&package), package.canonicalize(), is_named(&folder))
        {
            output::print_note(&left_out(&package, &real));
        }
        found.push(CollectionFolder { path: folder, is_of_play });
    }
    for folder in searched {
        let folder = normalize(Path::new(folder));
        let is_of_play = ansible.is_of_play(SETTING, &folder);
        found.push(CollectionFolder { path: folder, is_of_play });
    }
    found.into_iter().filter_map(|folder| placed(tree, folder)).collect()
}

/// Returns the folders beside the plays that have collections, where Ansible looks before all others. One that a link leads out of the
/// play is left out.
pub(crate) fn folders_beside(tree: &PlayTree, plays: &[PathBuf]) -> Vec<PathBuf> {
    let folders = plays.iter().map(|play| normalize(&play.join("collections")));
    let present = folders.filter(|folder| folder.join(PACKAGE).is_dir());
    let placed = present.filter_map(|path| placed(tree, CollectionFolder { path, is_of_play: true }));
    placed.map(|folder| folder.path).collect()
}

/// Returns a folder as the process finds it: without the links of the play. `None` if a link leads it out of the play.
fn placed(tree: &PlayTree, folder: CollectionFolder) -> Option<CollectionFolder> {
    match tree.place_of(&folder.path.join(PACKAGE)) {
        Some(Place::Outside) => None,
        Some(Place::Within(package)) => {
            let path = package.parent().filter(|_| package.ends_with(PACKAGE))?.to_owned();
            Some(CollectionFolder { path, is_of_play: true })
        }
        Some(Place::Named) | None => Some(folder),
    }
}

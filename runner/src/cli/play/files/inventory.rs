//! The inventory of a play: what `-i` and `ANSIBLE_INVENTORY` name, read before anything runs.
//!
//! The operator names the files, so they and the variables beside them may be read; nothing else beside them.

use std::path::{Path, PathBuf};

use modbox_tasks::inventory::read::read;
use modbox_tasks::inventory::sources::GivenInventory;

use crate::cli::play::ansible_settings::AnsibleSettings;
use crate::cli::play::extent::Extent;
use crate::cli::play::files::tree::PlayTree;
use crate::cli::process::environment::Environment;

/// What is named as an inventory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum InventorySource {
    /// A file or a folder.
    Path(PathBuf),
    /// Names of hosts with commas.
    Hosts(String),
}

/// Returns what the operator names: by `-i`, and else by the setting.
pub(crate) fn sources(
    environment: &Environment,
    given: &[String],
    settings: &mut AnsibleSettings,
) -> Vec<InventorySource> {
    let source = |text: &str| {
        let path = environment.absolute(Path::new(text));
        let is_list = text.contains(',') && !path.exists();
        if is_list { InventorySource::Hosts(text.to_owned()) } else { InventorySource::Path(path) }
    };
    if !given.is_empty() {
        return given.iter().map(|text| source(text)).collect();
    }
    let paths = settings.paths("DEFAULT_HOST_LIST", "-i").unwrap_or_default();
    paths.into_iter().map(InventorySource::Path).collect()
}

/// Returns the only host of a list, which is this one.
pub(crate) fn only_host(sources: &[InventorySource]) -> Option<&str> {
    let [InventorySource::Hosts(names)] = sources else { return None };
    let mut names = names.split(',').map(str::trim).filter(|name| !name.is_empty());
    names.next().filter(|_| names.next().is_none())
}

/// Reads the inventory; `None` if the operator names none. `merges`: mappings that several places give to one variable become one.
///
/// # Errors
///
/// A file cannot be read, is not an inventory, or is a program.
pub(crate) fn load(
    tree: &PlayTree,
    sources: &[InventorySource],
    merges: bool,
) -> anyhow::Result<Option<GivenInventory>> {
    if sources.is_empty() {
        return Ok(None);
    }
    let text = |source: &InventorySource| match source {
        InventorySource::Path(path) => path.display().to_string(),
        InventorySource::Hosts(names) => names.clone(),
    };
    Ok(Some(read(tree, &sources.iter().map(text).collect::<Vec<_>>(), merges)?))
}

/// Lets a play's tree have the files of an inventory, and the variables beside them.
pub(crate) fn open(tree: &mut PlayTree, sources: &[InventorySource]) {
    for source in sources {
        let InventorySource::Path(path) = source else { continue };
        if path.is_dir() {
            tree.add(path, Extent::Sources);
            continue;
        }
        tree.add_file(path);
        for folder in ["group_vars", "host_vars"] {
            path.parent().into_iter().for_each(|parent| tree.add(&parent.join(folder), Extent::Sources));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_name_in_a_list_is_this_host() {
        let hosts = |names: &str| InventorySource::Hosts(names.to_owned());
        assert_eq!(only_host(&[hosts("web1,")]), Some("web1"));
        assert_eq!(only_host(&[hosts("a,b")]), None);
        assert_eq!(only_host(&[hosts("a,"), hosts("b,")]), None);
        assert_eq!(only_host(&[InventorySource::Path("a".into())]), None);
    }
}

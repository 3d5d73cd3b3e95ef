//! The name of a module by the folder that it lies in: `ansible.builtin.copy`, `community.general.ini_file`.

use std::path::{Component, Path};

/// Returns the qualified name of a module at an absolute path, or `None` if it is neither in a collection nor in
/// ansible-core. Folders below `modules` are not part of the name.
pub(crate) fn qualified_name(module: &Path) -> Option<String> {
    let parts: Vec<&str> = module
        .parent()?
        .components()
        .filter_map(|component| match component {
            Component::Normal(part) => part.to_str(),
            _ => None,
        })
        .collect();
    // Ansible once wrote a `_` before the names of deprecated modules.
    let name = module.file_stem()?.to_str()?.trim_start_matches('_');
    let in_collection = parts.windows(5).rev().find_map(|window| match window {
        ["ansible_collections", namespace, collection, "plugins", "modules"] => Some((*namespace, *collection)),
        _ => None,
    });
    let in_core = || parts.windows(2).any(|window| window == ["ansible", "modules"]).then_some(("ansible", "builtin"));
    let (namespace, collection) = in_collection.or_else(in_core)?;
    Some(format!("{namespace}.{collection}.{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, expect: Option<&str>) {
        assert_eq!(qualified_name(Path::new(path)).as_deref(), expect, "{path}");
    }

    #[test]
    fn folders_give_the_name() {
        check("/x/ansible/modules/copy.py", Some("ansible.builtin.copy"));
        check("/x/ansible/modules/files/_copy.py", Some("ansible.builtin.copy"));
        check("/x/ansible_collections/n/c/plugins/modules/sub/m.py", Some("n.c.m"));
        check("/ansible/modules/ansible_collections/n/c/plugins/modules/m.py", Some("n.c.m"));
        check("/x/library/copy.py", None);
        check("/x/modules/copy.py", None);
        check("/x/ansible_collections/n/c/plugins/action/m.py", None);
        check("/", None);
    }
}

//! Folders of roles, collections, plugins and variables in the folder of a play: where a link in such a path leads.
//!
//! The folder of a play may come from another person, with links in it. A path that a setting or a convention names there is that
//! person's word, so that a link in it opens nothing but what is open already.

use std::path::{Path, PathBuf};

use modbox_policy::{Access, path_option};

use crate::cli::play::files::tree_root::Root;

/// Where the path of a folder leads.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Where its name says: it is not in the folder of a play, or no link of the play is in the path, or the link leads to a
    /// folder that is granted, installed, or beside the play's `ansible.cfg`.
    Named,
    /// By a link to this folder of the same play.
    Within(PathBuf),
    /// By a link to a folder that is not the play's.
    Outside,
}

/// Returns where a normalized path leads. `real` is the path without links, `config` the folder of a play's `ansible.cfg`.
pub(super) fn place(roots: &[Root], config: Option<&Root>, path: &Path, real: &Path) -> Place {
    let below = |root: &&Root| path.strip_prefix(&root.path).or_else(|_| path.strip_prefix(&root.real)).ok();
    let of_play = || roots.iter().filter(|root| root.is_of_play() && below(root).is_some());
    let is_linked = |root: &Root| below(&root).is_some_and(|rest| root.real.join(rest) != real);
    let is_open = |root: &Root| !root.is_of_play() && real.starts_with(&root.real);
    if !of_play().chain(config).any(is_linked) || roots.iter().any(is_open) {
        return Place::Named;
    }
    let within = |root: &Root| Some(root.path.join(real.strip_prefix(&root.real).ok()?));
    if let Some(found) = of_play().find_map(within) {
        return Place::Within(found);
    }
    let belongs = |root: &&Root| {
        let rest = real.strip_prefix(&root.real).ok().filter(|_| below(root).is_some());
        rest.is_some_and(|rest| !rest.as_os_str().is_empty() && root.extent.left_out(rest).is_none())
    };
    if config.filter(belongs).is_some() { Place::Named } else { Place::Outside }
}

/// Says that a folder is left out since a link leads it to `real`, and what to do.
pub(crate) fn left_out(path: &Path, real: &Path) -> String {
    let (shown, target) = (path.display(), real.display());
    let remedy = match real.parent().filter(|_| real.ends_with("ansible_collections")) {
        Some(folder) => {
            format!("name the folder of the collections with `ANSIBLE_COLLECTIONS_PATH={}`", folder.display())
        }
        None => format!("allow it with `{}`", path_option(Access::Read, real)),
    };
    format!("`{shown}` is left out: a link leads it to `{target}`, which is not the play's; {remedy}")
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::cli::play::extent::Extent;

    #[test]
    fn a_link_of_a_play_leads_out_of_it_or_stays_within() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().canonicalize().unwrap();
        for folder in ["play/own", "granted/roles", "other/roles", "top/.hidden", "top/roles"] {
            fs::create_dir_all(path.join(folder)).unwrap();
        }
        let at = |name: &str| path.join(name);
        symlink("play", at("named")).unwrap();
        symlink("other", at("linked")).unwrap();
        for (target, link) in [
            ("own", "play/within"),
            ("../other/roles", "play/out"),
            ("../granted/roles", "play/granted"),
            (".", "play/all"),
            ("../other/roles", "top/out"),
            (".hidden", "top/hidden"),
            ("roles", "top/inner"),
        ] {
            symlink(target, at(link)).unwrap();
        }
        let root = |path: &str, real: &str, extent| Root::open(at(path), at(real), extent).unwrap();
        let roots = [root("named", "play", Extent::Project), root("granted", "granted", Extent::Granted)];
        let mut config = None;
        let found = |config: &Option<Root>, path: &str| {
            place(&roots, config.as_ref(), &at(path), &at(path).canonicalize().unwrap())
        };
        for named in ["named/own", "play/own", "named/granted", "play/granted", "other/roles", "linked/roles", "named"]
        {
            assert_eq!(found(&config, named), Place::Named, "{named}");
        }
        for outside in ["named/out", "play/out"] {
            assert_eq!(found(&config, outside), Place::Outside, "{outside}");
        }
        assert_eq!(found(&config, "named/within"), Place::Within(at("named/own")));
        assert_eq!(found(&config, "play/all"), Place::Within(at("named")));
        // The folder of the settings may be one around the play.
        assert_eq!(found(&config, "top/out"), Place::Named);
        config = Some(root("top", "top", Extent::Project));
        for (path, expect) in [("top/out", Place::Outside), ("top/hidden", Place::Outside), ("top/inner", Place::Named)]
        {
            assert_eq!(found(&config, path), expect, "{path}");
        }
    }
}

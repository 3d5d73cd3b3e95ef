//! Puts layers into the places of what a policy grants, so that the run works on them under the granted paths.

use std::convert::Infallible;
use std::path::{Path, PathBuf};

use modbox_policy::{Policy, SingleFiles, StandIn};

use crate::execution::replaced_paths::ReplacedPaths;

/// A layer with the path by which the run reaches it.
#[derive(Debug)]
pub(crate) struct PlacedLayer {
    /// The granted path.
    pub(crate) granted: PathBuf,
    /// Whether it is a directory.
    pub(crate) is_tree: bool,
    /// The layer.
    pub(crate) place: PathBuf,
}

/// Makes a policy grant layers instead of the machine's files. Paths that it grants for reading inside a directory with a
/// layer lead into the layer, too, so that a module reads there what it has written.
pub(crate) fn apply(policy: &mut Policy, layers: &[PlacedLayer], scratch: &Path) -> ReplacedPaths {
    let mut replaced = ReplacedPaths::new(scratch);
    layers.iter().for_each(|layer| replaced.add(&layer.place, &layer.granted));
    let trees: Vec<&PlacedLayer> = layers.iter().filter(|layer| layer.is_tree).collect();
    let inside = |path: &Path| {
        trees.iter().find_map(|tree| {
            let rest = path.strip_prefix(&tree.granted).ok()?;
            // Joined with an empty path, the place would end with a slash.
            Some(if rest.as_os_str().is_empty() { tree.place.clone() } else { tree.place.join(rest) })
        })
    };
    let replacing: Result<(), Infallible> = policy.replace_hosts(|grant| Ok(inside(&grant.host)));
    let Ok(()) = replacing;
    let stand_ins = layers.iter().map(|layer| StandIn { host: layer.granted.clone(), place: layer.place.clone() });
    policy.set_single_files(SingleFiles::StandIns(stand_ins.collect()));
    replaced
}

#[cfg(test)]
mod tests {
    use modbox_policy::{Access, PathGrant, Shape};
    use modbox_vocabulary::GrantSource;

    use super::*;

    #[test]
    fn grants_lead_into_the_layers() {
        let mut policy = Policy::default();
        for (host, guest, shape, access) in [
            ("/srv", "/srv", Shape::Directory, Access::Write),
            ("/srv/read", "/data", Shape::Directory, Access::Read),
            ("/etc", "/etc", Shape::Directory, Access::Read),
            ("/etc/motd", "/etc/motd", Shape::Name, Access::Write),
        ] {
            policy
                .allow_path(PathGrant {
                    host: host.into(),
                    shape,
                    guest: guest.to_owned(),
                    access,
                    source: GrantSource::named(""),
                })
                .unwrap();
        }
        let layer =
            |granted: &str, is_tree, place: &str| PlacedLayer { granted: granted.into(), is_tree, place: place.into() };
        let layers = [layer("/srv", true, "/run/0"), layer("/etc/motd", false, "/run/1/copy/motd")];
        apply(&mut policy, &layers, Path::new("/run"));
        let hosts: Vec<&Path> = policy.paths().iter().map(|grant| grant.host.as_path()).collect();
        assert_eq!(hosts, ["/run/0", "/run/0/read", "/etc", "/etc/motd"].map(Path::new));
        assert_eq!(policy.single_files().place(Path::new("/etc/motd")), Path::new("/run/1/copy/motd"));
    }
}

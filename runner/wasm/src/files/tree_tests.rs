//! Results of walks, by examples and as a property of all paths.

use proptest::prelude::*;

use super::*;

/// Grants `/srv`, and in it `/srv/app` and the file `/srv/conf/main` again; and the single file `/etc/motd`.
fn tree() -> Tree {
    let mut tree = Tree::new();
    for (path, kind) in [
        ("/args", Kind::Virtual),
        ("/args/args.json", Kind::Memory(0)),
        ("/tmp", Kind::Mount(0)),
        ("/srv", Kind::Mount(1)),
        ("/srv/app", Kind::Mount(2)),
        ("/srv/conf/main", Kind::Name(0)),
        ("/etc/motd", Kind::Name(1)),
    ] {
        tree.insert(path, kind).unwrap();
    }
    tree
}

fn at(tree: &Tree, path: &str) -> NodeId {
    tree.find(path).unwrap()
}

#[test]
fn a_walk_from_the_root() {
    let tree = tree();
    let node = |path: &str, dir| Place::Node { id: at(&tree, path), dir };
    let inside = |mount: &str, rest: &'static str| (at(&tree, mount), rest);
    for (path, expect) in [
        (".", node("/", true)),
        ("etc", node("/etc", false)),
        ("etc/", node("/etc", true)),
        ("etc/motd", node("/etc/motd", false)),
        ("etc/motd/", node("/etc/motd", true)),
        ("etc/../etc/./motd", node("/etc/motd", false)),
        ("srv", node("/srv", false)),
        ("srv/x/..", node("/srv", true)),
        ("srv/../etc/motd", node("/etc/motd", false)),
        ("srv/app", node("/srv/app", false)),
        ("srv/conf/main", node("/srv/conf/main", false)),
        ("..", Place::Outside),
        ("srv/../..", Place::Outside),
        ("etc/motd/x", Place::Below { parent: at(&tree, "/etc/motd") }),
        ("etc/motd/..", Place::Below { parent: at(&tree, "/etc/motd") }),
        ("etc/x/y", Place::Below { parent: at(&tree, "/etc") }),
        ("etc/x", Place::Beside { near: EntryName { dir: at(&tree, "/etc"), name: "x" }, dir: false }),
        ("etc/x/", Place::Beside { near: EntryName { dir: at(&tree, "/etc"), name: "x" }, dir: true }),
    ] {
        assert_eq!(tree.walk(ROOT, path), expect, "{path}");
    }
    for (path, (mount, rest)) in [
        ("srv/x", inside("/srv", "x")),
        ("srv//x/../y/", inside("/srv", "x/../y/")),
        ("etc/../srv/./x", inside("/srv", "./x")),
        ("srv/app/../x", inside("/srv", "app/../x")),
        ("srv/app/x", inside("/srv/app", "x")),
        ("srv/conf", inside("/srv", "conf")),
        ("srv/conf/other", inside("/srv", "conf/other")),
    ] {
        let place = tree.walk(ROOT, path);
        assert!(
            matches!(place, Place::Inside { mount: m, rest: r, .. } if m == mount && r == rest),
            "{path}: {place:?}"
        );
    }
}

#[test]
fn a_walk_from_a_directory_of_a_mount() {
    let tree = tree();
    let srv = at(&tree, "/srv");
    assert_eq!(tree.walk_inside(srv, "", "x/y"), Place::Same { near: None });
    assert_eq!(tree.walk_inside(srv, "", "app"), Place::Node { id: at(&tree, "/srv/app"), dir: false });
    assert_eq!(tree.walk_inside(srv, "/conf", "main"), Place::Node { id: at(&tree, "/srv/conf/main"), dir: false });
    let near = Some(EntryName { dir: at(&tree, "/srv/conf"), name: "tmp" });
    assert_eq!(tree.walk_inside(srv, "/conf", "tmp"), Place::Same { near });
    assert_eq!(tree.walk_inside(srv, "/conf", "../app"), Place::Outside);
    assert_eq!(tree.walk_inside(srv, "", "."), Place::Same { near: None });
}

#[test]
fn a_path_can_hold_only_one_node() {
    let mut tree = tree();
    assert_eq!(tree.insert("/srv/app", Kind::Name(9)), None);
    assert_eq!(tree.insert("/etc/motd/x", Kind::Mount(9)), None);
    assert!(tree.insert("/etc/motd2", Kind::Name(9)).is_some());
}

#[test]
fn the_innermost_node_is_found() {
    let tree = tree();
    for (path, node, rest) in [
        ("/", "/", ""),
        ("/srv/app/x/y", "/srv/app", "x/y"),
        ("/srv/conf/x", "/srv", "conf/x"),
        ("/srv/apple", "/srv", "apple"),
        ("/etc/motd", "/etc/motd", ""),
        ("/etc/passwd", "/etc", "passwd"),
    ] {
        assert_eq!(tree.innermost(path), (at(&tree, node), rest), "{path}");
    }
}

#[test]
fn paths_are_joined_lexically() {
    for (dir, path, expect) in [
        ("/", "", "/"),
        ("/a", "b", "/a/b"),
        ("/a/b", "../c/./d", "/a/c/d"),
        ("/a", "../../..", "/"),
        ("/", "a//b/", "/a/b"),
    ] {
        assert_eq!(join(dir, path), expect);
    }
}

proptest! {
    /// For every path: a walk ends, stays below its start, and passes on the end of the path to a mount.
    #[test]
    fn no_walk_leaves_where_it_starts(words in prop::collection::vec("(\\.\\.|\\.||srv|app|conf|main|etc|motd|x|args|args\\.json)", 0..9)) {
        let tree = tree();
        let path = words.join("/");
        for start in ["/", "/etc", "/srv", "/srv/app", "/srv/conf"] {
            let id = at(&tree, start);
            let place = match start {
                "/" | "/etc" => tree.walk(id, &path),
                "/srv/conf" => tree.walk_inside(at(&tree, "/srv"), "/conf", &path),
                _ => tree.walk_inside(id, "", &path),
            };
            let below = |node: NodeId| tree.node(node).path.starts_with(start);
            match place {
                Place::Node { id, .. } => prop_assert!(below(id), "{} {}", start, path),
                Place::Inside { mount, rest, .. } => {
                    prop_assert!(below(mount) && (path.ends_with(rest) || rest == "."));
                    prop_assert!(matches!(tree.node(mount).kind, Kind::Mount(_)));
                    let mut depth = 0_i32;
                    for word in rest.split('/') {
                        depth += match word { ".." => -1, "" | "." => 0, _ => 1 };
                        prop_assert!(depth >= 0, "{} leaves its mount", rest);
                    }
                }
                Place::Same { .. } => prop_assert!(start.starts_with("/srv")),
                Place::Beside { near, .. } => prop_assert!(below(near.dir)),
                Place::Below { parent } => prop_assert!(below(parent)),
                Place::Outside => prop_assert!(path.contains("..")),
            }
        }
    }
}

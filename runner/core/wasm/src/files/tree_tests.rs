//! Places of paths by their letters.

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
fn a_descent_from_the_root() {
    let tree = tree();
    let id = |path: &str| at(&tree, path);
    let mount = |path: &str, rest: &'static str, node| Descent::Mount { id: id(path), rest, node };
    for (path, expect) in [
        (".", Descent::Node(ROOT)),
        ("etc", Descent::Node(id("/etc"))),
        ("etc/", Descent::Node(id("/etc"))),
        ("etc/motd", Descent::Node(id("/etc/motd"))),
        ("etc/./motd", Descent::Node(id("/etc/motd"))),
        // The walk says that a file is not a directory.
        ("etc/motd/", Descent::Walk),
        ("etc/motd/x", Descent::Walk),
        ("etc/x/y", Descent::Walk),
        ("etc/x", Descent::Beside { dir: id("/etc"), name: "x" }),
        ("etc/x/", Descent::Walk),
        // Letters do not tell where `..` leads.
        ("..", Descent::Walk),
        ("etc/../etc/motd", Descent::Walk),
        ("srv", mount("/srv", "", None)),
        ("srv/app", mount("/srv/app", "", None)),
        ("srv/app/x", mount("/srv/app", "x", Some(id("/srv/app")))),
        ("srv/x", mount("/srv", "x", Some(id("/srv")))),
        ("srv//x/y/", mount("/srv", "x/y/", None)),
        ("./srv/./x", mount("/srv", "./x", Some(id("/srv")))),
        ("srv/conf/main", Descent::Node(id("/srv/conf/main"))),
        ("srv/conf/other", mount("/srv", "conf/other", Some(id("/srv/conf")))),
        ("srv/conf/other/x", mount("/srv", "conf/other/x", None)),
        ("srv/conf", Descent::Walk),
    ] {
        assert_eq!(tree.descend(ROOT, path), expect, "{path}");
    }
}

#[test]
fn a_descent_from_a_directory_of_a_mount() {
    let tree = tree();
    let (srv, conf) = (at(&tree, "/srv"), at(&tree, "/srv/conf"));
    for (start, path, expect) in [
        (srv, ".", Descent::Start { node: None }),
        (srv, "x", Descent::Start { node: Some(srv) }),
        (srv, "x/y", Descent::Start { node: None }),
        (srv, "app", Descent::Mount { id: at(&tree, "/srv/app"), rest: "", node: None }),
        (conf, "main", Descent::Node(at(&tree, "/srv/conf/main"))),
        (conf, "tmp", Descent::Start { node: Some(conf) }),
        (conf, "../app", Descent::Walk),
    ] {
        assert_eq!(tree.descend(start, path), expect, "{path}");
    }
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

//! The house rule for rooms: those of a folder lie on floors, and each imports only from the floors below.
//!
//! A room is a file or a folder, in the folder of its crate or in another room. An import between two files is an arrow between the
//! two rooms that part them. It climbs if the room that it leads to stands on the one that it comes from. Files of a crate may
//! be without a circle (`imports.rs`) while its rooms are not. Then no room can be read, tested or moved without the
//! other ones.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::house::imports::{Imports, Module, circles, crates, describe, imports, module};

/// The arrows that still climb, by the folders of their rooms. The list may only become shorter.
const CLIMBS: &[(&str, &[(&str, &str)])] = &[
    (
        "runner/core/native/src",
        &[
            ("calls", "copies"),
            ("calls", "host"),
            ("calls", "outside"),
            ("host", "copies"),
            ("host", "outside"),
            ("host", "watching"),
            ("inside", "copies"),
            ("inside", "host"),
            ("inside", "outside"),
            ("inside", "watching"),
            ("protocol", "host"),
        ],
    ),
];

#[test]
fn no_room_imports_from_one_that_stands_on_it() {
    let mut found = Vec::new();
    let mut known: BTreeMap<&str, &[(&str, &str)]> = CLIMBS.iter().copied().collect();
    for (home, modules) in crates() {
        for (folder, arrows) in arrows(&home.join("src"), &modules) {
            let listed = known.remove(&*folder).unwrap_or_default();
            found.extend(climbs(&folder, arrows, listed));
        }
    }
    found.extend(
        known.keys().map(|folder| format!("{folder} has no rooms that import each other; take it from the list")),
    );
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// Returns the arrows between the rooms of each folder.
fn arrows(src: &Path, modules: &[Module]) -> BTreeMap<String, Imports> {
    let names: BTreeMap<&str, &[String]> = modules.iter().map(|file| (&*file.path, &*file.name)).collect();
    let mut folders: BTreeMap<String, Imports> = BTreeMap::new();
    for (from, imported) in imports(modules) {
        for (to, items) in imported {
            let (one, other) = (names[&*from], names[&*to]);
            let shared = one.iter().zip(other).take_while(|(one, other)| one == other).count();
            // A folder's own file declares its rooms, and a room may take what is declared there.
            let (Some(room), Some(target)) = (one.get(shared), other.get(shared)) else { continue };
            let folder = one[..shared].iter().fold(src.to_owned(), |folder, part| folder.join(part));
            let rooms = folders.entry(folder.display().to_string()).or_default().entry(room.clone()).or_default();
            let lines = items.iter().map(|item| format!("{from} takes {item}"));
            rooms.entry(target.clone()).or_default().extend(lines);
        }
    }
    folders
}

/// Returns what is wrong with a folder: arrows that climb and are not listed, and listed ones that do not climb.
fn climbs(folder: &str, mut arrows: Imports, listed: &[(&str, &str)]) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut gone = Vec::new();
    for (from, to) in listed {
        match arrows.get_mut(*from).and_then(|targets| targets.remove(*to)) {
            Some(items) => gone.push((*from, *to, items)),
            None => wrong.push(format!("{folder}: {from} does not import from {to}; take it from the list")),
        }
    }
    wrong.extend(circles(&arrows).iter().map(|circle| format!("{folder} has climbs in {}", describe(circle, &arrows))));
    for (from, to, items) in gone {
        let mut with: Imports = arrows.clone();
        with.entry(from.to_owned()).or_default().insert(to.to_owned(), items);
        if wrong.is_empty() && circles(&with).is_empty() {
            wrong.push(format!("{folder}: the import of {to} by {from} does not climb; take it from the list"));
        }
    }
    wrong
}

#[test]
fn climbs_are_found_between_rooms_without_a_circle_of_files() {
    let files = [
        module("src/lib.rs", &[], "mod a;\nmod b;\n"),
        module("src/a/mod.rs", &["a"], "mod up;\nmod down;\n"),
        module("src/a/up.rs", &["a", "up"], "use crate::b::B;\nuse crate::a::down::D;"),
        module("src/a/down.rs", &["a", "down"], ""),
        module("src/b.rs", &["b"], "use crate::a::down::{C, D};"),
    ];
    assert!(circles(&imports(&files)).is_empty());
    let folders = arrows(Path::new("src"), &files);
    assert_eq!(folders.keys().collect::<Vec<_>>(), ["src", "src/a"]);
    let rooms = &folders["src"];
    assert_eq!(rooms["b"]["a"], BTreeSet::from(["src/b.rs takes C", "src/b.rs takes D"].map(str::to_owned)));
    let found = |listed: &[(&str, &str)]| climbs("src", rooms.clone(), listed).concat();
    assert!(found(&[]).contains("src/b.rs takes C"), "{}", found(&[]));
    assert_eq!(found(&[("b", "a")]), "");
    assert!(found(&[("b", "a"), ("a", "c")]).contains("a does not import from c"));
    assert!(climbs("src/a", folders["src/a"].clone(), &[]).is_empty());
    assert!(climbs("src/a", folders["src/a"].clone(), &[("up", "down")]).concat().contains("does not climb"));
}

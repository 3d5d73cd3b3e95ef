//! The house rule for rooms: those of a folder lie on floors, and each imports only from the floors below.
//!
//! A room is a file or a folder, in the folder of its crate or in another room. An import between two files is an arrow between the
//! two rooms that part them. It climbs if the room that it leads to stands on the one that it comes from. Files of a crate may
//! be without a circle (`imports.rs`) while its rooms are not. Then no room can be read, tested or moved without the
//! other ones.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::house::imports::{Imports, Module, circles, crates, describe, imports, module};

#[test]
fn no_room_imports_from_one_that_stands_on_it() {
    let mut found = Vec::new();
    let mut folders = 0;
    for (home, modules) in crates() {
        for (folder, arrows) in arrows(&home.join("src"), &modules) {
            folders += 1;
            found.extend(climbs(&folder, &arrows));
        }
    }
    assert!(folders > 50, "only {folders} folders with rooms were found");
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

/// Returns the climbs of a folder: the sets of its rooms that import each other, directly or by way of others.
fn climbs(folder: &str, arrows: &Imports) -> Vec<String> {
    circles(arrows).iter().map(|circle| format!("{folder} has climbs in {}", describe(circle, arrows))).collect()
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
    let found = climbs("src", rooms).concat();
    assert!(found.contains("src/a/up.rs takes B") && found.contains("src/b.rs takes C"), "{found}");
    assert!(climbs("src/a", &folders["src/a"]).is_empty());
}

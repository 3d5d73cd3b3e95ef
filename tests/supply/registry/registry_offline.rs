//! `offline: true` in a policy file: no registry is asked, whichever command would ask.

use std::fs;

use crate::supply::registry::registry_place::Place;

/// Writes the user's policy file.
fn user_policy(place: &Place, text: &str) -> String {
    place.dir.write("home/.config/modbox/policy.yaml", text).display().to_string()
}

#[test]
fn no_command_asks_a_registry() {
    let place = Place::new();
    let module = place.module("one");
    place.push(&module, "a:1");
    place.pull("a:1").exits_with(0);
    let reference = place.reference("a:1");
    let policy = user_policy(&place, "# The air gap.\n\noffline: true\n");
    place.registry.clear_requests();
    place.runs("a:1", "one");
    let rule = format!("`{policy}:3` says `offline: true`");
    for words in [
        &["pull", &reference][..],
        &["update"],
        &["update", "--dry-run", &reference],
        &["install", &reference],
        &["push", module.to_str().unwrap(), &reference],
    ] {
        let ran = place.modbox(words).run().exits_with(3);
        ran.says(&rule).says("so that no registry is asked; `modbox load` brings modules in a file");
    }
    fs::remove_dir_all(place.store("")).unwrap();
    for words in [&["run", &reference][..], &["inspect", &reference], &["save", "all.tar"], &["doc", &reference]] {
        place.modbox(words).run().exits_with(3).says("is not in the store, and").says(&rule);
    }
    let job = place.modbox(&["batch"]).stdin(format!("{{\"module\": \"{reference}\"}}")).run().json();
    assert!(job["result"]["msg"].as_str().unwrap().contains(&rule), "{job}");
    assert_eq!(place.requests(), [""; 0]);
}

#[test]
fn no_file_takes_it_back() {
    let place = Place::new();
    place.push_word("one", "a:1");
    let reference = place.reference("a:1");
    let named = place.dir.write("named.yaml", "designated: read\noffline: true\n").display().to_string();
    user_policy(&place, "offline: false\n");
    place.modbox(&["pull", &reference]).run().exits_with(0);
    let rule = format!("`{named}:2` says `offline: true`");
    place.modbox(&["pull", "--policy", &named, &reference]).run().exits_with(3).says(&rule);
    fs::remove_dir_all(place.store("")).unwrap();
    place.run("a:1").args(["--policy", &named]).run().exits_with(3).says(&rule);
    let shown = place.modbox(&["policy", "show", "--json", "--policy", &named]).run().exits_with(0).json();
    assert_eq!(shown["offline"]["value"], true, "{shown}");
    assert_eq!(shown["offline"]["source"], format!("policy file {named}:2"));
    let shown = place.modbox(&["policy", "show", "--policy", &named]).run().exits_with(0).stdout_text();
    assert!(shown.contains(&format!("\noffline: true (policy file {named}:2)\n")), "{shown}");
    let shown = place.modbox(&["policy", "show", "--json"]).run().exits_with(0).json();
    assert_eq!((&shown["offline"]["value"], &shown["offline"]["source"]), (&false.into(), &"default".into()));
    place.dir.write("wrong.yaml", "offline: maybe\n");
    let checked = place.modbox(&["policy", "check", "wrong.yaml"]).run().exits_with(2).stdout_text();
    assert!(checked.contains("wrong.yaml:1:10: error: `maybe` is neither `true` nor `false`"), "{checked}");
}

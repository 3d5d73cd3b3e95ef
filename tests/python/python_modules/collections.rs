//! Modules of community.general, ansible.posix and community.crypto through `modbox-python`: observed, then confined to
//! what the observation suggests, they do and say what they do with Python.
//!
//! The tasks are the table in `collections/`, with the same keys as in `tasks/`.

use std::collections::BTreeSet;

use super::received::{compare, take_sample};
use super::table::Table;
use super::{Place, is_true, leave_out};

/// Part of the groups that is a sample.
const SAMPLE: usize = 50;

/// Minimum number of modules in the table, and of those among them that succeed.
const MODULES: usize = 80;
const SUCCESSFUL: usize = 50;

/// What the modules' names begin with.
const COLLECTIONS: [&str; 3] = ["community.general.", "ansible.posix.", "community.crypto."];

/// Modules that do something else in a confined run, with the reason.
const OTHERWISE: [(&str, &str); 3] = [
    ("ansible.posix.at", "the files that it makes have the time in their names; the suggestion names those of one run"),
    ("community.general.capabilities", "no confined module gives a program rights of the kernel"),
    ("community.general.dconf", "a confined module has a home of its own, in which the settings of a user are lost"),
];

/// Returns what a server answers to a request.
pub(super) fn answer(head: &str) -> String {
    let path = head.split(' ').nth(1).unwrap_or_default();
    let text = match path.split('/').nth(1).unwrap_or_default() {
        "acme" => r#"{"newNonce": "x", "newAccount": "x", "newOrder": "x", "revokeCert": "x", "keyChange": "x"}"#,
        "ip" => r#"{"ip": "192.0.2.1"}"#,
        "jira" => r#"{"key": "A-1"}"#,
        "keycloak" | "realms" => r#"{"realm": "master"}"#,
        "nginx" => {
            "Active connections: 1 \nserver accepts handled requests\n 2 2 3 \nReading: 0 Writing: 1 Waiting: 0 \n"
        }
        _ => r#"{"success": true}"#,
    };
    format!("HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n{text}")
}

#[test]
fn modules_of_collections_do_the_same_as_observation_suggests() {
    let mut table = Table::read("collections");
    let modules = |table: &Table| -> BTreeSet<String> {
        let tasks = table.groups.iter().flat_map(|group| &group.tasks).map(|task| task.module.clone());
        tasks.filter(|module| COLLECTIONS.iter().any(|name| module.starts_with(name))).collect()
    };
    let named = modules(&table);
    let successful: BTreeSet<&String> = named.iter().filter(|module| !table.missing.contains_key(*module)).collect();
    assert!(named.len() >= MODULES, "{}: {named:?}", named.len());
    assert!(successful.len() >= SUCCESSFUL, "{}: {successful:?}", successful.len());

    let place = Place::of_collections();
    let all = leave_out(&mut table, &place);
    let before = table.groups.len();
    take_sample(&mut table, SAMPLE);
    let all = all && table.groups.len() == before;
    let results = compare(&place, &table.groups, &OTHERWISE);
    let tasks = table.groups.iter().flat_map(|group| &group.tasks).zip(results.iter().flatten());
    let succeeds = tasks.filter(|(task, result)| {
        let result = result.as_dict().unwrap();
        !task.check && !is_true(result, "failed") && !is_true(result, "skipped")
    });
    let succeeded: BTreeSet<&str> = succeeds.map(|(task, _)| task.module.as_str()).collect();
    let unexpected: Vec<_> = table.missing.keys().filter(|module| succeeded.contains(module.as_str())).collect();
    assert!(unexpected.is_empty(), "the table says that they cannot succeed: {unexpected:?}");
    if all {
        let failed: Vec<_> = successful.iter().filter(|module| !succeeded.contains(module.as_str())).collect();
        assert!(failed.is_empty(), "they fail, and the table does not say so: {failed:?}");
    }
    place.dir.assert_nothing_left();
}

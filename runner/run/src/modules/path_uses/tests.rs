//! Tests of the rows: conditions, aliases, bare names and backups.

use modbox_contract::decode;

use super::*;

fn args(json: &str) -> Dict {
    decode(json).unwrap().as_dict().unwrap().clone()
}

#[track_caller]
fn check(module: &str, option: &str, arguments: &str, expect: PathUse) {
    let table = ModuleTable::of(module).unwrap();
    assert_eq!(table.uses(None, &args(arguments), &[]).of(option), Some(expect), "{module} {option} {arguments}");
}

#[test]
fn other_options_decide() {
    for (arguments, expect) in [
        (r#"{"state": "directory"}"#, PathUse::Folder),
        (r#"{"recurse": "yes"}"#, PathUse::Folder),
        (r#"{"recurse": "no"}"#, PathUse::Write),
        (r#"{"state": "link"}"#, PathUse::Entry),
        (r#"{"state": "absent"}"#, PathUse::Remove),
        (r#"{"state": null}"#, PathUse::Write),
        (r#"{"follow": false}"#, PathUse::Replace),
        ("{}", PathUse::Write),
    ] {
        check("ansible.builtin.file", "path", arguments, expect);
    }
}

#[test]
fn what_a_link_says_is_passed_on_if_it_is_relative() {
    for (arguments, expect) in [
        (r#"{"state": "link", "src": "../a"}"#, PathUse::None),
        (r#"{"state": "link", "src": "a"}"#, PathUse::None),
        (r#"{"state": "link", "src": "/a"}"#, PathUse::Target),
        (r#"{"state": "link", "src": "~/a"}"#, PathUse::Target),
        (r#"{"state": "hard", "src": "../a"}"#, PathUse::Read),
    ] {
        check("ansible.builtin.file", "src", arguments, expect);
    }
}

#[test]
fn aliases_and_items_have_the_use_of_their_option() {
    let json = r#"{"name": "x", "argument_spec": {"path": {"type": "path", "aliases": ["dest"]}}}"#;
    let metadata = Metadata::from_json(json).unwrap();
    let table = ModuleTable::of("ansible.builtin.lineinfile").unwrap();
    let arguments = args(r#"{"dest": "/x", "backup": "yes"}"#);
    let uses = table.uses(Some(&metadata), &arguments, &["other"]);
    for (name, expect) in [
        ("path", Some(PathUse::Write)),
        ("dest", Some(PathUse::Write)),
        ("dest[3]", Some(PathUse::Write)),
        ("other", None),
    ] {
        assert_eq!(uses.of(name), expect, "{name}");
    }
    // The operator may name it by an alias.
    assert_eq!(table.uses(Some(&metadata), &arguments, &["dest"]).of("path"), None);
    assert_eq!(table.besides(Some(&metadata), &arguments), [("backup", "/x")]);
    assert_eq!(table.besides(Some(&metadata), &args(r#"{"dest": "/x", "backup": "no"}"#)), []);
}

#[test]
fn bare_names_are_relative_to_the_modules_folder() {
    let uses = ModuleTable::of("ansible.builtin.cron").unwrap().uses(None, &Dict::new(), &[]);
    for (given, expect) in
        [("job", Some("/etc/cron.d/job")), ("/x/job", None), ("a/job", None), ("~", None), ("", None)]
    {
        assert_eq!(uses.meant("cron_file", given).as_deref(), expect, "{given}");
    }
    assert_eq!(uses.meant("other", "job"), None);
}

#[test]
fn rows_are_shown_in_words() {
    let shown = |module: &str, option: &str| {
        let table = ModuleTable::of(module).unwrap();
        table.rows().find(|(name, _)| *name == option).map(|(_, row)| row.to_string()).unwrap()
    };
    assert_eq!(shown("ansible.builtin.cron", "cron_file"), "write; a name is one in /etc/cron.d");
    assert_eq!(shown("ansible.builtin.lineinfile", "backup"), "makes a file beside `path`");
    assert_eq!(shown("ansible.builtin.copy", "dest"), "write if follow is true, else replace");
}

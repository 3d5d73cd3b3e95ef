//! Filters, tests and lookups of `ansible.utils` and `community.general`: the same plays by ansible-playbook and by
//! `modbox play`.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::json;

use super::oracle_plugins::{check_with, modbox, results, write_play, write_play_with};
use crate::support::{Modbox, TestDir, fixture, oracle_collections};

pub(super) const OF_UTILS: &[&str] = &[
    "'192.168.0.1/24' | ansible.utils.ipaddr",
    "'192.168.0.1/24' | ansible.utils.ipaddr('address')",
    "'192.168.0.1/24' | ansible.utils.ipaddr('network/prefix')",
    "'192.168.0.1/24' | ansible.utils.ipaddr('netmask')",
    "'192.168.0.1/24' | ansible.utils.ipaddr('-2') ",
    "'192.168.0.1/24' | ansible.utils.ipaddr('range_usable')",
    "'192.168.0.1/24' | ipaddr('broadcast')",
    "['10.0.0.1', 'nothing', '2001:db8::1', '192.168.0.0/16'] | ansible.utils.ipaddr",
    "['10.0.0.1', '8.8.8.8', '2001:db8::1'] | ansible.utils.ipaddr('private')",
    "['10.0.0.1', '8.8.8.8', '2001:db8::1'] | ansible.utils.ipv4",
    "['10.0.0.1', '8.8.8.8', '2001:db8::1'] | ansible.utils.ipv6",
    "'nothing' | ansible.utils.ipaddr",
    "'192.168.0.1' | ansible.utils.ipaddr('no_such_query')",
    "'2001:db8::1' | ansible.utils.ipwrap",
    "'192.168.0.0/16' | ansible.utils.ipsubnet(20, 0)",
    "'192.168.0.0/16' | ansible.utils.ipsubnet(20)",
    "'192.168.1.5' | ansible.utils.ipmath(5)",
    "'192.168.1.5' | ansible.utils.ip4_hex",
    "'192.168.1.5' | ansible.utils.ip4_hex(':')",
    "'10.0.0.0/8' | ansible.utils.nthhost(305)",
    "'192.168.122.1/24' | ansible.utils.next_nth_usable(2)",
    "'192.168.122.10/24' | ansible.utils.previous_nth_usable(2)",
    "'192.168.0.0/24' | ansible.utils.network_in_usable('192.168.0.1')",
    "'192.168.0.0/24' | ansible.utils.network_in_network('192.168.0.255')",
    "['192.168.0.34', '10.3.0.3'] | ansible.utils.reduce_on_network('192.168.0.0/24')",
    "['192.168.0.0/17', '192.168.128.0/17', '192.168.128.1'] | ansible.utils.cidr_merge",
    "'1a1b1c1d1e1f' | ansible.utils.hwaddr",
    "'1a1b1c1d1e1f' | ansible.utils.hwaddr('cisco')",
    "'fdcf:1894:23b5:d38c:0000:0000:0000:0000' | ansible.utils.slaac('c2:31:b3:83:bf:2b')",
    "'192.168.0.0/24' | ansible.utils.usable_range",
    "'1234:4321:abcd:dcba::17' | ansible.utils.ipv6form('expand')",
    "'1.1.1.1' | ansible.utils.ipcut(-1)",
    "'10.1.1.1' is ansible.utils.in_network('10.0.0.0/8')",
    "'11.1.1.1' is ansible.utils.in_network('10.0.0.0/8')",
    "'10.1.1.1' is ansible.utils.in_any_network(['10.0.0.0/8', '192.168.1.0/24'])",
    "'10.1.1.1/32' is ansible.utils.subnet_of('10.0.0.0/8')",
    "'10.0.0.0/8' is ansible.utils.supernet_of('10.1.1.0/24')",
    "'::1' is ansible.utils.loopback",
    "'10.1.1.1' is ansible.utils.private",
    "'8.8.8.8' is ansible.utils.public",
    "'02:16:3e:e4:16:f3' is ansible.utils.mac",
    "'string' is ansible.utils.ip",
    "['10.0.0.1', 'x'] | select('ansible.utils.ip_address')",
    "data | ansible.utils.get_path('a.b[1].c')",
    "data | ansible.utils.get_path('a.b', wantlist=true)",
    "data | ansible.utils.get_path('a.none')",
    "data | ansible.utils.get_path('a.none') | default('other')",
    "data | ansible.utils.to_paths",
    "data | ansible.utils.to_paths(prepend='p', wantlist=true)",
    "[1, 2, 3, 2] | ansible.utils.index_of('eq', 2)",
    "['sw1', 'fw1', 'fw2'] | ansible.utils.index_of('match', 'fw')",
    "data.a.b | ansible.utils.index_of('eq', 3, 'c')",
    "[1] | ansible.utils.index_of('no_such_test', 2)",
    "data | ansible.utils.keep_keys(target=['c'])",
    "data | ansible.utils.remove_keys(target=['c'])",
    "data | ansible.utils.replace_keys(target=[{'before': 'c', 'after': 'd'}])",
    "{'a': [1, 2]} | ansible.utils.fact_diff({'a': [1, 3]})",
    "['a', 'b'] | ansible.utils.param_list_compare(['!b'])",
    "'<a><b>1</b></a>' | ansible.utils.from_xml",
    "{'a': {'b': '1'}} | ansible.utils.to_xml",
    "[{'data': [{'n': 1, 'x': 2}], 'match_key': 'n', 'name': 'one'}] | ansible.utils.consolidate",
    "lookup('ansible.utils.get_path', data, 'a.b[0].c')",
    "lookup('ansible.utils.index_of', [1, 2, 3], 'eq', 2)",
    "lookup('ansible.utils.to_paths', data)",
    "query('ansible.utils.get_path', data, 'a.b')",
];

const OF_GENERAL: &[&str] = &[
    "[1, 2, 3] | community.general.accumulate",
    "['a', 'b', 'a'] | community.general.counter",
    "'a text' | community.general.crc32",
    "[[1, 2], [3, 4]] | community.general.dict",
    "'v' | community.general.dict_kv('k')",
    "'a,b\n1,2\n' | community.general.from_csv",
    "'a;b\n1;2\n' | community.general.from_csv(delimiter=';', fieldnames=['x', 'y'])",
    "'a,b\n1\n' | community.general.from_csv(strict=true, dialect='none')",
    "'[s]\nk = v\n' | community.general.from_ini",
    "{'s': {'k': 'v', 'n': 1}} | community.general.to_ini",
    "[{'n': 'a', 'v': 1}, {'n': 'b'}] | community.general.groupby_as_dict('n')",
    "[{'n': 'a'}, {'v': 'b'}] | community.general.groupby_as_dict('n')",
    "data | community.general.json_query('a.b[*].c')",
    "data | json_query('a.b[?c > `1`]')",
    "data | community.general.json_query('a.[')",
    "data.a.b | community.general.keep_keys(target=['c'])",
    "data.a.b | community.general.remove_keys(target=['c'])",
    "data.a.b | community.general.replace_keys(target=[{'before': 'c', 'after': 'd'}])",
    "[1, 2] | community.general.lists_union([2, 3], [4])",
    "[1, 2] | community.general.lists_intersect([2, 3])",
    "[1, 2] | community.general.lists_difference([2, 3])",
    "[1, 2] | community.general.lists_symmetric_difference([2, 3])",
    "[[{'n': 1, 'a': 1}], [{'n': 1, 'b': 2}]] | community.general.lists_mergeby('n')",
    "[{'n': 1, 'a': {'x': 1}}] | community.general.lists_mergeby([{'n': 1, 'a': {'y': 2}}], 'n', recursive=true)",
    "'52:54:00' | community.general.random_mac(seed='x')",
    "'52:54' | community.general.random_mac(seed=inventory_hostname)",
    "'no mac' | community.general.random_mac",
    "'1 hour 30 minutes' | replace(' ', '') | community.general.to_minutes",
    "'2days 4hours' | community.general.to_seconds",
    "'1y' | community.general.to_days(year=360)",
    "'nothing' | community.general.to_hours",
    "'e\u{301}' | community.general.unicode_normalize",
    "'e' | community.general.unicode_normalize(form='none')",
    "['1.10', '1.9', '1.2b1'] | community.general.version_sort",
    "'1,2' | community.general.reveal_ansible_type",
    "{'a': [1, none, 1.5]} | community.general.reveal_ansible_type",
    "{'a': [1, {'b': 'c'}]} | community.general.to_yaml",
    "{'a': [1, {'b': 'c'}]} | community.general.to_nice_yaml(indent=4)",
    "['a'] | community.general.hashids_encode",
    "'x' | community.general.jc('ls')",
    "'example.org' is community.general.fqdn_valid",
    "{'a': 1} is community.general.ansible_type('dict[str, int]')",
    "'community.general.no' is community.general.a_module",
    "lookup('community.general.cartesian', [1, 2], ['a', 'b'])",
    "lookup('community.general.collection_version', 'community.general')",
    "lookup('community.general.collection_version', 'no.collection')",
    "query('community.general.dependent', {'a': [1, 2]}, {'b': '[item.a * 10]'})",
    "query('community.general.dependent', {'a': 'data.a.b'}, {'b': 'item.a.c + 1'})",
    "query('community.general.dependent', {'a': [1]}, {'b': 'nothing'})",
    "lookup('community.general.flattened', [[1, [2]], 3])",
    "lookup('community.general.merge_variables', 'of_[ab]')",
    "lookup('community.general.merge_variables', 'of_', pattern_type='prefix', initial_value=[0])",
    "lookup('community.general.random_string', length=4, override_all='x')",
    "lookup('community.general.random_string', length=0)",
    "lookup('community.general.binary_file', 'own.txt')",
    "lookup('community.general.binary_file', 'none.txt', not_exist='empty')",
    "query('community.general.filetree', 'tree') | map(attribute='path') | sort",
    "lookup('community.general.dig', 'example.org')",
    "lookup('community.general.redis', 'key')",
    "lookup('community.general.passwordstore', 'no/such')",
    "lookup('community.general.hiera', 'key')",
    "lookup('community.general.lmdb_kv', 'key')",
    "lookup('dig', 'example.org', errors='ignore') is none",
];

fn check(expressions: &[&str]) {
    let dir = TestDir::new();
    let collections = oracle_collections::collections_with_plugins();
    dir.write("files/own.txt", "a text\n");
    dir.write("files/tree/a/b.txt", "b");
    dir.write("files/tree/c.txt", "c");
    let vars = json!({
        "data": {"a": {"b": [{"c": 1}, {"c": "{{ 1 + 2 }}"}]}}, "of_a": [1, {"x": "{{ data.a.b[0].c }}"}], "of_b": [2],
    });
    let expressions: Vec<String> = expressions.iter().map(|text| (*text).to_owned()).collect();
    write_play_with(&dir, "play.yml", &expressions, &vars);
    let variables = [("ANSIBLE_COLLECTIONS_PATH", &*collections)];
    check_with(&dir, "play.yml", expressions.len(), &oracle_collections::python_for_plugins(), &variables);
    dir.assert_nothing_left();
}

#[test]
fn plugins_of_ansible_utils_do_what_they_do_under_ansible() {
    check(OF_UTILS);
}

#[test]
fn plugins_of_community_general_do_what_they_do_under_ansible() {
    check(OF_GENERAL);
}

#[test]
fn a_link_in_the_place_of_collections_shows_no_other_folder() {
    let (dir, outside) = (TestDir::new(), TestDir::new());
    dir.write("play/filter_plugins/hostile.py", fs::read(fixture("oracle/plugins/hostile.py")).unwrap());
    let twice =
        "class FilterModule(object):\n    def filters(self):\n        return {'twice': lambda value: value * 2}\n";
    for dir in [&outside, &dir] {
        dir.write("play/kept/ansible_collections/a/b/plugins/filter/all.py", twice);
        dir.write("play/kept/ansible_collections/secret", "do-not-read\n");
    }
    let kept = outside.join("play/kept");
    for (target, link) in [
        (kept.join("ansible_collections"), "play/collections/ansible_collections"),
        (kept.clone(), "play/more/ansible_collections"),
        (kept.clone(), "beside/ansible_collections"),
    ] {
        fs::create_dir_all(dir.join(link).parent().unwrap()).unwrap();
        symlink(target, dir.join(link)).unwrap();
    }
    dir.write("ansible.cfg", "[defaults]\ncollections_path = play/more:beside\n");
    let path = |path: &str| dir.join(path).display().to_string();
    let package = "ansible_collections/ansible_collections/secret";
    let attempts = [
        format!("'{}' | read", path("play/collections/ansible_collections/secret")),
        format!("'{}' | read", path(&format!("play/more/{package}"))),
        format!("'{}' | read", path(&format!("beside/{package}"))),
        format!("lookup('file', '{}')", path(&format!("play/more/{package}"))),
        format!("lookup('file', '{}')", path(&format!("beside/{package}"))),
    ];
    write_play(&dir, "play/play.yml", &attempts);
    let run = || modbox(&dir, &dir.join("play/play.yml"));
    let ran = run().run().exits_with(0);
    let found = results(&ran.stdout_text());
    assert_eq!(found.len(), attempts.len(), "{ran}");
    for (attempt, result) in &found {
        let is_refused = result.contains("No such file") || result.contains("the play's folders");
        assert!(is_refused && !result.contains("do-not-read"), "{attempt}: {result}");
    }
    let kept = kept.display().to_string();
    for says in [
        format!("{}` is left out: a link leads it to", path("play/collections/ansible_collections")),
        format!("with `ANSIBLE_COLLECTIONS_PATH={kept}`"),
        format!("{}` is left out: a link leads it to `{kept}`", path("play/more/ansible_collections")),
        format!("{}` is left out: a link leads it to `{kept}`", path("beside/ansible_collections")),
    ] {
        assert!(ran.stderr_text().contains(&says), "{says}: {ran}");
    }

    // The remedy helps, and a link to another folder of the play is one of its own.
    write_play(&dir, "play/play.yml", &["2 | a.b.twice".to_owned()]);
    let ran = run().env("ANSIBLE_COLLECTIONS_PATH", &kept).run().exits_with(0);
    assert!(ran.stdout_text().contains("\"msg\": 4"), "{ran}");
    fs::remove_file(dir.join("play/collections/ansible_collections")).unwrap();
    symlink("../kept/ansible_collections", dir.join("play/collections/ansible_collections")).unwrap();
    let ran = run().run().exits_with(0);
    assert!(ran.stdout_text().contains("\"msg\": 4"), "{ran}");
}

#[test]
fn a_collection_that_a_task_installs_is_found_by_what_later_tasks_include() {
    let dir = TestDir::new();
    let plugins =
        "class FilterModule(object):\n    def filters(self):\n        return {'twice': lambda value: value * 2}\n";
    dir.write("files/b/plugins/filter/all.py", plugins);
    // So that the folder of the play is shown in parts.
    dir.write(".hidden", "");
    dir.write("collections/ansible_collections/c/d/meta/runtime.yml", "{}");
    let use_it = json!([{"name": "use", "debug": {"msg": "{{ 2 | a.b.twice }}"}, "ignore_errors": true}]);
    dir.write("tasks.yml", use_it.to_string());
    let place = "{{ playbook_dir }}/collections/ansible_collections/a/";
    let tasks = json!([
        {"name": "before", "include_tasks": "tasks.yml"},
        {"name": "folder", "file": {"path": place, "state": "directory"}},
        {"name": "install", "copy": {"src": "b", "dest": place}},
        {"name": "after", "include_tasks": "tasks.yml"},
    ]);
    dir.write("play.yml", json!([{"hosts": "localhost", "gather_facts": false, "tasks": tasks}]).to_string());
    let python = oracle_collections::python_for_plugins();
    let play = dir.join("play.yml");
    let by_ansible = Modbox::of(&python.with_file_name("ansible-playbook"), &dir)
        .args(["-i", "localhost,", "-c", "local"])
        .arg(&play)
        .run();
    let run = |removed: &str| {
        fs::remove_dir_all(dir.join(removed)).unwrap();
        let grants = ["--allow-write".into(), dir.join("collections").into_os_string()];
        modbox(&dir, &play).args(grants).run()
    };
    let by_modbox = run("collections/ansible_collections/a");
    // Ansible looks only into folders that were there when it began.
    let with_new_folder = run("collections/ansible_collections");
    for ran in [by_ansible, by_modbox, with_new_folder] {
        let shown = ran.exits_with(0).stdout_text();
        let uses: Vec<String> =
            results(&shown).into_iter().filter(|(name, _)| name == "use").map(|found| found.1).collect();
        let [before, after] = &uses[..] else { panic!("{shown}") };
        assert!(before.starts_with("fatal: ") && after.contains("\"msg\": 4"), "{shown}");
    }
}

/// Authors link their collection, or the folders of its plugins, into a folder of collections.
#[test]
fn collections_that_are_linked_into_a_named_folder_are_used() {
    let dir = TestDir::new();
    let filter = |name: &str| {
        format!(
            "class FilterModule(object):\n    def filters(self):\n        return {{'{name}': lambda value: '{name}'}}\n"
        )
    };
    dir.write("src/whole/plugins/filter/f.py", filter("whole"));
    dir.write("src/plugins/filter/f.py", filter("parts"));
    dir.write("src/roles/r/tasks/main.yml", "- debug: {msg: \"{{ 1 | a.whole.whole }} {{ 1 | a.parts.parts }}\"}\n");
    dir.mkdir("named/ansible_collections/a/parts");
    for (target, link) in [("whole", "whole"), ("plugins", "parts/plugins"), ("roles", "parts/roles")] {
        let link = dir.join("named/ansible_collections/a").join(link);
        symlink(dir.join("src").join(target), link).unwrap();
    }
    let roles = dir.join("named/ansible_collections/a/parts/roles").display().to_string();
    let of_role = |role: &str| format!("- hosts: localhost\n  gather_facts: false\n  roles: [{role}]\n");
    dir.write("play/play.yml", of_role("r") + &of_role("a.parts.r"));
    let play = modbox(&dir, &dir.join("play/play.yml")).env("ANSIBLE_COLLECTIONS_PATH", dir.join("named"));
    let shown = play.args(["--roles-path", &roles]).run().exits_with(0).stdout_text();
    assert_eq!(shown.matches("\"msg\": \"whole parts\"").count(), 2, "{shown}");
}

//! Lookups that are Python plugins: the same plays by ansible-playbook and by `modbox play`.

use std::fs;
use std::net::TcpListener;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::oracle_plugins::{by_modbox, check, modbox, results, write_play};
use crate::support::{TestDir, fixture};

/// Expressions of the lookup in `oracle/plugins/lookups.py`.
const EXPRESSIONS: &[&str] = &[
    "lookup('own')",
    "lookup('own', 'show', 1, 'a', [lazy])",
    "lookup('own', 'show', level='7')",
    "lookup('own', 'options', need='a,b')",
    "lookup('own', 'options', level='x')",
    "query('own', 'same', 1, 2)",
    "q('own', 'same', 1, 2)",
    "lookup('own', 'same')",
    "query('own', 'same')",
    "lookup('own', 'same', 1)",
    "lookup('own', 'same', 'a', 'b')",
    "lookup('own', 'same', 'a', 2)",
    "lookup('own', 'same', 'a', wantlist=true)",
    "lookup('own', 'same', [1, 2])",
    "lookup('own', 'tuple')",
    "lookup('own', 'text')",
    "lookup('own', 'iterator')",
    "lookup('own', 'made')",
    "lookup('own', 'object')",
    "lookup('own', 'template')",
    "lookup('own', 'rendered', '{{ own_text }}', '{{ lazy }}')",
    "lookup('own', 'rendered', '{{ nothing }}')",
    "lookup('own', 'untrusted', lookup('own', 'template'))",
    "lookup('own', 'variable', 'own_text')",
    "lookup('own', 'variable', 'own_lazy', 'lazy')",
    "lookup('own', 'variable', 'bad')",
    "lookup('own', 'has', 'own_text', 'none', 'inventory_hostname', 'hostvars')",
    "query('own', 'names')",
    "lookup('own', 'host', 'inventory_hostname')",
    "lookup('own', 'fail', 'lookup')",
    "lookup('own', 'fail', 'ansible')",
    "lookup('own', 'fail', 'key')",
    "lookup('own', 'fail', 'empty')",
    "[lookup('own', 'fail', 'empty', errors='ignore')]",
    "[lookup('own', 'fail', 'ansible', errors='ignore')]",
    "query('own', 'fail', 'ansible', errors='ignore')",
    "lookup('own', 'fail', 'ansible', errors='strict')",
    "lookup('own', 'count', [nothing, 1])",
    "lookup('own', 'show', nothing)",
    "lookup('own', 'show', [nothing])",
    "lookup('own', 'same', [nothing])",
    "lookup('own', 'show', nothing) | default('other')",
    "lookup('ansible.legacy.own', 'same', 1)",
    "lookup('ansible.builtin.own', 'same', 1)",
    "lookup('none', 1)",
    "lookup('a.b.none', 1)",
    "lookup('own', 'find', 'own.txt', 'none.txt')",
    "lookup('own', 'read', 'own.txt')",
    "lookup('own', 'load', 'own.yml')",
    "lookup('items', [1, 2])",
    "lookup('ansible.builtin.items', [1, 2])",
];

#[test]
fn a_lookup_beside_a_play_does_what_it_does_under_ansible() {
    let dir = TestDir::new();
    dir.write("lookup_plugins/own.py", fs::read(fixture("oracle/plugins/lookups.py")).unwrap());
    dir.write("filter_plugins/own.py", fs::read(fixture("oracle/plugins/filters.py")).unwrap());
    dir.write("files/own.txt", "a text\n");
    dir.write("files/own.yml", "a: [1, '{{ 1 + 1 }}']\n");
    let own_items = "from ansible.plugins.lookup import LookupBase\n\n\nclass LookupModule(LookupBase):\n    def run(self, terms, \
                     variables=None, **kwargs):\n        return ['own items', terms]\n";
    dir.write("lookup_plugins/items.py", own_items);
    let expressions: Vec<String> = EXPRESSIONS.iter().map(|text| (*text).to_owned()).collect();
    write_play(&dir, "play.yml", &expressions);
    check(&dir, "play.yml", expressions.len());
    dir.assert_nothing_left();
}

#[test]
fn loops_and_collections_find_the_lookups_that_they_find_under_ansible() {
    let dir = TestDir::new();
    let lookup = |says: &str| {
        format!(
            "from ansible.plugins.lookup import LookupBase\n\n\nclass LookupModule(LookupBase):\n    def run(self, terms, \
             variables=None, **kwargs):\n        return [['{says}', term] for term in terms]\n"
        )
    };
    dir.write("lookup_plugins/beside.py", lookup("play"));
    dir.write("roles/r/lookup_plugins/beside.py", lookup("role"));
    dir.write("roles/r/lookup_plugins/of_role.py", lookup("role"));
    let of_role = json!([
        {"name": "role", "debug": {"msg": "{{ item }}"}, "with_of_role": [1, "{{ 1 + 1 }}"]},
        {"name": "both", "debug": {"msg": "{{ lookup('beside', 1) }}"}},
    ]);
    dir.write("roles/r/tasks/main.yml", of_role.to_string());
    let collection = |path: &str| format!("collections/ansible_collections/a/b/{path}");
    dir.write(&collection("plugins/lookup/twice.py"), lookup("collection"));
    dir.write(&collection("meta/runtime.yml"), "plugin_routing: {lookup: {moved: {redirect: a.b.twice}}}\n");
    let tasks = json!([
        {"name": "with", "debug": {"msg": "{{ item }}"}, "with_beside": ["a", [1], "{{ [2, 3] }}"]},
        {"name": "text", "debug": {"msg": "{{ item }}"}, "with_beside": "a"},
        {"name": "list", "debug": {"msg": "{{ item }}"}, "with_beside": "{{ [1, 2] }}"},
        {"name": "full", "debug": {"msg": "{{ item }}"}, "with_a.b.twice": ["a", "b"]},
        {"name": "moved", "debug": {"msg": "{{ item }}"}, "with_a.b.moved": ["a"]},
        {"name": "query", "debug": {"msg": "{{ query('a.b.twice', 1, 2) }}"}},
        {"name": "short", "debug": {"msg": "{{ lookup('twice', 1) }}"}, "ignore_errors": true},
    ]);
    let play = json!([{"hosts": "localhost", "gather_facts": false, "pre_tasks": tasks, "roles": ["r"]}]);
    dir.write("play.yml", play.to_string());
    check(&dir, "play.yml", 9);

    // A file that cannot be loaded is named before anything runs.
    dir.write("lookup_plugins/broken.py", "import no_such_module_of_this_test\n");
    let task = json!([{"debug": {"msg": "{{ lookup('broken') }}"}}]);
    dir.write("broken.yml", json!([{"hosts": "localhost", "gather_facts": false, "tasks": task}]).to_string());
    let broken = by_modbox(&dir, &dir.join("broken.yml")).exits_with(2).stderr_text();
    let says = "which cannot be used: ModuleNotFoundError: No module named 'no_such_module_of_this_test'";
    assert!(broken.contains(says), "{broken}");
}

#[test]
fn folders_of_settings_come_after_roles_as_under_ansible() {
    let dir = TestDir::new();
    let filter = |says: &str, names: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| format!("'{name}': lambda value: '{says}'")).collect();
        format!("class FilterModule(object):\n    def filters(self):\n        return {{{}}}\n", names.join(", "))
    };
    let test =
        "class TestModule(object):\n    def tests(self):\n        return {'own_three': lambda value: value == 3}\n";
    let lookup = |says: &str| {
        format!(
            "from ansible.plugins.lookup import LookupBase\n\n\nclass LookupModule(LookupBase):\n    def run(self, terms, \
             variables=None, **kwargs):\n        return ['{says}']\n"
        )
    };
    dir.write("more/filters/a.py", filter("setting", &["both", "of_role", "upper", "own_only"]));
    dir.write("more/filters/deeper/b.py", filter("deeper", &["own_deeper", "own_only"]));
    dir.write("more/filters/deeper/deepest/c.py", filter("deepest", &["own_deepest"]));
    dir.write("more/tests/t.py", test);
    dir.write("more/lookups/own.py", lookup("setting"));
    dir.write("more/lookups/in_role.py", lookup("setting"));
    dir.write("filter_plugins/own.py", filter("play", &["both"]));
    dir.write("roles/r/filter_plugins/own.py", filter("role", &["of_role"]));
    dir.write("roles/r/lookup_plugins/in_role.py", lookup("role"));
    dir.write("roles/r/tasks/main.yml", "- {name: in role, debug: {msg: \"{{ 1 | of_role }}\"}}\n");
    let settings =
        "[defaults]\nfilter_plugins = more/filters\ntest_plugins = more/tests\nlookup_plugins = more/lookups\n";
    dir.write("ansible.cfg", settings);
    let expressions = [
        "1 | both",
        "1 | of_role",
        "'a' | upper",
        "'a' | ansible.builtin.upper",
        "1 | own_only",
        "1 | own_deeper",
        "1 | own_deepest | default('none')",
        "3 is own_three",
        "lookup('own')",
        "lookup('in_role')",
    ];
    let show =
        |text: &&str| json!({"name": text, "debug": {"msg": format!("{{{{ {text} }}}}")}, "ignore_errors": true});
    let tasks: Vec<_> = expressions.iter().map(show).collect();
    let play = json!([{"hosts": "localhost", "gather_facts": false, "tasks": tasks, "roles": ["r"]}]);
    dir.write("play.yml", play.to_string());
    check(&dir, "play.yml", expressions.len() + 1);

    // The file that came with a play names no folders outside of it.
    let outside = TestDir::new();
    outside.write("a.py", filter("outside", &["outside"]));
    dir.write("ansible.cfg", format!("[defaults]\nfilter_plugins = {}\n", outside.path().display()));
    let task = json!([{"debug": {"msg": "{{ 1 | outside }}"}}]);
    dir.write("outside.yml", json!([{"hosts": "localhost", "gather_facts": false, "tasks": task}]).to_string());
    let refused = by_modbox(&dir, &dir.join("outside.yml")).exits_with(2).stderr_text();
    let says = format!("use `ANSIBLE_FILTER_PLUGINS={}`", outside.path().display());
    assert!(refused.contains(&says) && refused.contains("No filter named 'outside'"), "{refused}");
}

/// A lookup that does what its first term says, and gives its own name with the result.
fn acting(name: &str) -> String {
    format!(
        "import os\nimport socket\n\nfrom ansible.plugins.lookup import LookupBase\n\n\nclass LookupModule(LookupBase):\n    \
         def run(self, terms, variables=None, **kwargs):\n        return ['{name}', getattr(self, terms[0])(*terms[1:])]\n\n    \
         def read(self, path):\n        return open(path).read()\n\n    def write(self, path):\n        \
         return open(path, 'w').write('{name}')\n\n    def env(self, name):\n        return os.environ.get(name, 'unset')\n\n    \
         def connect(self, port):\n        socket.create_connection(('127.0.0.1', port))\n        return 'connected'\n"
    )
}

#[test]
fn a_rule_for_a_plugin_grants_that_one_and_no_other() {
    let dir = TestDir::new();
    let collection = |path: &str| format!("installed/ansible_collections/a/b/{path}");
    for name in ["granted", "other", "evil", "writes"] {
        dir.write(&collection(&format!("plugins/lookup/{name}.py")), acting(name));
    }
    dir.write(&collection("meta/runtime.yml"), "plugin_routing: {lookup: {moved: {redirect: a.b.granted}}}\n");
    // Collections of the play have names with rules, too, and modules that a granted plugin imports.
    let of_play = |path: &str| format!("play/collections/ansible_collections/{path}");
    dir.write(&of_play("e/f/plugins/lookup/both.py"), acting("forged"));
    dir.write("installed/ansible_collections/e/f/plugins/lookup/both.py", acting("installed"));
    dir.write(&of_play("c/d/plugins/lookup/mine.py"), acting("mine"));
    dir.write(&of_play("c/d/plugins/plugin_utils/helper.py"), "");
    let own = acting("own");
    dir.write("play/lookup_plugins/own.py", &own);
    let importing = format!("import ansible_collections.c.d.plugins.plugin_utils.helper\n{}", acting("importing"));
    dir.write("play/lookup_plugins/importing.py", &importing);
    dir.write("play/lookup_plugins/unknown.py", acting("unknown"));
    // What the shared process says of a name must not run other code with a grant.
    let forge = "import __main__\n\nfind = __main__.Plugins.find\n\n\ndef forged(self, message):\n    \
                 return {'name': 'a.b.granted'} if message['name'] == 'a.b.evil' else find(self, message)\n\n\n\
                 __main__.Plugins.find = forged\n\n\nclass FilterModule(object):\n    def filters(self):\n        \
                 return {'forge': forged}\n";
    dir.write("play/filter_plugins/forge.py", forge);
    let secret = dir.write("outside/secret", "a secret\n").display().to_string();
    let made = dir.join("outside/made").display().to_string();
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    let digest =
        |text: &str| -> String { Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect() };
    let (digest, of_importing) = (digest(&own), digest(&importing));
    let outside = dir.join("outside").display().to_string();
    let policy = json!({
        "allow": {"env": ["EVERY=module"]},
        "modules": {
            "a.b.granted": {"allow": {"read": [outside], "env": ["GIVEN=yes"], "net": [format!("127.0.0.1:{port}")]}},
            "a.b.writes": {"allow": {"write": [outside]}},
            "unknown": {"allow": {"read": [outside]}},
            "e.f.both": {"allow": {"read": [outside]}},
            "c.d.mine": {"allow": {"read": [outside]}},
            format!("sha256:{of_importing}"): {"allow": {"read": [outside]}},
            format!("sha256:{digest}"): {"allow": {"read": [outside]}},
        },
    });
    dir.write("policy.yaml", policy.to_string());
    let absent = "No such file or directory";
    let attempts: Vec<(String, &str)> = vec![
        (format!("query('a.b.granted', 'read', '{secret}')"), "a secret"),
        (format!("query('a.b.granted', 'write', '{secret}')"), "Read-only file system"),
        ("query('a.b.granted', 'env', 'GIVEN')".to_owned(), "yes"),
        ("query('a.b.granted', 'env', 'EVERY')".to_owned(), "unset"),
        (format!("query('a.b.granted', 'connect', {port})"), "connected"),
        (format!("query('a.b.moved', 'read', '{secret}')"), "a secret"),
        (format!("query('a.b.other', 'read', '{secret}')"), absent),
        ("query('a.b.other', 'env', 'GIVEN')".to_owned(), "unset"),
        (format!("query('a.b.other', 'connect', {port})"), "Permission denied"),
        (format!("query('a.b.writes', 'write', '{made}')"), "writes"),
        (format!("query('own', 'read', '{secret}')"), "a secret"),
        (format!("query('unknown', 'read', '{secret}')"), absent),
        (format!("query('a.b.evil', 'read', '{secret}')"), "\"granted\""),
        (format!("query('e.f.both', 'read', '{secret}')"), "\"installed\",\n        \"a secret"),
        (format!("query('c.d.mine', 'read', '{secret}')"), "'c.d.mine' was not found"),
        (format!("query('importing', 'read', '{secret}')"), "'importing' was not found"),
    ];
    let all: Vec<String> = attempts.iter().map(|(text, _)| text.clone()).collect();
    write_play(&dir, "play/play.yml", &all);
    let run = |options: &[&str]| {
        let run = modbox(&dir, &dir.join("play/play.yml")).arg("--policy").arg(dir.join("policy.yaml")).args(options);
        run.env("ANSIBLE_COLLECTIONS_PATH", dir.join("installed")).run()
    };
    let ran = run(&["--allow-all"]).exits_with(0);
    let found = results(&ran.stdout_text());
    assert_eq!(found.len(), all.len(), "{ran}");
    for ((attempt, expect), found) in attempts.iter().zip(&found) {
        assert!(found.1.contains(expect), "{attempt}: {}", found.1);
    }
    for says in ["only a collection that came with the play has it", "No module named 'ansible_collections.c'"] {
        assert!(ran.stderr_text().contains(says), "{ran}");
    }
    assert_eq!(fs::read_to_string(&made).unwrap(), "writes");
    let lines = run(&["--output", "jsonl"]).exits_with(0).stdout_text();
    let event: Value = lines.lines().next().map(|line| serde_json::from_str(line).unwrap()).unwrap();
    let listed = |name: &str| {
        let plugins = event["plugins"].as_array().unwrap();
        plugins.iter().find(|plugin| plugin["names"] == json!([name])).cloned().unwrap_or_default()
    };
    assert_eq!(event["event"], "plugins");
    assert_eq!(
        (&listed("own")["granted"], &listed("own")["digest"]),
        (&json!(true), &json!(format!("sha256:{digest}")))
    );
    assert_eq!((&listed("unknown")["granted"], &listed("unknown")["kind"]), (&json!(false), &json!("lookup")));
    assert_eq!((&listed("a.b.granted")["granted"], &listed("a.b.granted")["file"]), (&json!(true), &json!(null)));
    let explained = run(&["--explain"]).stdout_text();
    assert!(explained.contains("# Python lookup own (") && explained.contains(&digest), "{explained}");
    assert!(explained.contains("), granted more by a rule\n"), "{explained}");
    fs::remove_file(&made).unwrap();
    for reads in ["--explain", "--syntax-check"] {
        let only_read = run(&[reads]);
        assert!(!only_read.stdout_text().contains("a secret") && !dir.join("outside/made").exists(), "{only_read}");
    }
}

/// A plugin that runs while another one asks for a variable has the same process, and the same time.
#[test]
fn plugins_that_call_each_other_by_variables_end_at_their_limits() {
    let dir = TestDir::new();
    dir.write("filter_plugins/own.py", fs::read(fixture("oracle/plugins/filters.py")).unwrap());
    dir.write("filter_plugins/hostile.py", fs::read(fixture("oracle/plugins/hostile.py")).unwrap());
    let vars = json!({"again": "{{ 'again' | variable }}", "dies": "{{ 1 | leave }}", "ten": "{{ 9 | good }}"});
    let show = |text: &str| json!({"name": text, "debug": {"msg": format!("{{{{ {text} }}}}")}, "ignore_errors": true});
    let tasks = ["'again' | variable", "'dies' | variable", "'ten' | variable", "1 | ask_much", "'ten' | variable"];
    let tasks = tasks.map(show);
    let play = json!([{"hosts": "localhost", "gather_facts": false, "vars": vars, "tasks": tasks}]);
    dir.write("play.yml", play.to_string());
    let ran = by_modbox(&dir, &dir.join("play.yml")).exits_with(0);
    let found = results(&ran.stdout_text());
    let expect = ["Recursive loop detected", "its process", "\"msg\": 10", "\"msg\": [", "\"msg\": 10"];
    for (found, expect) in found.iter().zip(expect) {
        assert!(found.1.contains(expect), "{}: {}", found.0, found.1);
    }
    assert_eq!(found.len(), expect.len(), "{ran}");
}

/// A process that could not load all of its files again is not used.
#[test]
fn a_process_that_lacks_a_file_is_not_used() {
    let dir = TestDir::new();
    let flag = dir.write("files/flag", "yes\n").display().to_string();
    dir.write("filter_plugins/hostile.py", fs::read(fixture("oracle/plugins/hostile.py")).unwrap());
    dir.write(
        "filter_plugins/flagged.py",
        format!(
            "if open({flag:?}).read() != 'yes\\n':\n    raise ValueError('no flag')\n\n\nclass FilterModule(object):\n    \
             def filters(self):\n        return {{'flagged': lambda value: value}}\n"
        ),
    );
    let show = |text: &str| json!({"name": text, "debug": {"msg": format!("{{{{ {text} }}}}")}, "ignore_errors": true});
    let set = |text: &str| json!({"name": "set", "copy": {"content": text, "dest": flag}});
    let tasks = [
        show("1 | flagged"),
        set("no\n"),
        show("1 | leave"),
        show("1 | good"),
        show("1 | good"),
        set("yes\n"),
        show("1 | good"),
        show("1 | flagged"),
    ];
    dir.write("play.yml", json!([{"hosts": "localhost", "gather_facts": false, "tasks": tasks}]).to_string());
    let ran = modbox(&dir, &dir.join("play.yml")).arg("--allow-write").arg(dir.join("files")).run().exits_with(0);
    let found: Vec<_> = results(&ran.stdout_text()).into_iter().filter(|(name, _)| name != "set").collect();
    let again = "filter_plugins/flagged.py` again: ValueError: no flag";
    let expect = ["\"msg\": 1", "its process ended with status 3", again, again, "\"msg\": 2", "\"msg\": 1"];
    assert_eq!(found.len(), expect.len(), "{ran}");
    for (found, expect) in found.iter().zip(expect) {
        assert!(found.1.contains(expect), "{}: {}", found.0, found.1);
    }
}

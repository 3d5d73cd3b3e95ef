//! Filters and tests that are Python plugins: the same plays by ansible-playbook and by `modbox play`.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::sample::{Random, cases};
use crate::support::{Modbox, RunOutput, TestDir, fixture, oracle};

/// Time limit for a play. One plugin runs until its limit of 30 seconds.
pub(super) const PATIENCE: Duration = Duration::from_secs(300);

/// Expressions of the plugins in `oracle/plugins`.
pub(super) const EXPRESSIONS: &[&str] = &[
    "1 | show(2, a=3, b=[1])",
    "1 | show(*[1, 2], **{'k': 1})",
    "lazy | show",
    "[(1, 2), {'a': (1,)}, 1.5, none, true, 'ä', 12345678901234567890123] | show",
    "{1: 'a', 2: {'b': 1}} | show",
    "'2020-01-02' | to_datetime('%Y-%m-%d') | show",
    "(('2020-01-02' | to_datetime('%Y-%m-%d')) - ('2020-01-01' | to_datetime('%Y-%m-%d'))) | same | show",
    "lazy | append",
    "lazy",
    "[1, 'a', lazy, {'a': 1}, 1.5, true] | map('types')",
    "nothing | show",
    "[nothing] | show",
    "{'a': nothing} | show",
    "bad | show",
    "nothing | default('a') | show",
    "'a' | upper",
    "'a' | ansible.builtin.upper",
    "'a' | ansible.legacy.upper",
    "['a'] | map('upper')",
    "[1, 2] | map('show', 3)",
    "[1] | map('fail')",
    "['value'] | map('fail')",
    "'a' | environment",
    "3 is three",
    "4 is three",
    "4 is not three",
    "4 is divisible",
    "4 is divisible(by=3)",
    "1 is text",
    "1 is fails",
    "nothing is three",
    "[3, 4] | select('three')",
    "[{'a': 3}, {'a': 4}] | selectattr('a', 'three')",
    "[1] | select('fails')",
    "1 | one(2)",
    "1 | fail_by(true)",
    "1 | fail_by(false)",
    "'undefined' | fail | default('other')",
    "'own_text' | variable",
    "'own_lazy' | variable",
    "'own_chain' | variable",
    "'bad' | variable",
    "'bad' | variable | count",
    "'none' | variable",
    "'none' | variable | default('other')",
    "'inventory_hostname' | variable",
    "1 | variables",
    "1 | names",
    "'a' | upper_by_context",
    "'a' | evaluation",
    "[nothing, 2] | count",
    "[nothing, 2] | first_of",
    "[2, nothing] | first_of",
    "[nothing] | first_of | default('other')",
    "[nothing, 2] | items_of",
    "[nothing, 2] | lazily",
    "[2, nothing] | has(2)",
    "[nothing, 2] | has(2)",
    "[nothing, 2] | same | last",
    "{'a': nothing} | count",
    "{'a': [nothing]} | same",
    "bad | count",
    "bad | first_of",
    "bad | first_of | default('other')",
    "omit | types",
    "omit | show",
    "omit | without",
    "[1, omit] | same",
    "[1, omit] | count",
];

/// What `make` of `oracle/plugins` makes.
pub(super) const MADE: [&str; 24] = [
    "set",
    "frozenset",
    "generator",
    "tuple",
    "object",
    "keys",
    "range",
    "ordered",
    "template",
    "date",
    "time",
    "datetime",
    "infinity",
    "big",
    "numbers",
    "named",
    "complex",
    "nested",
    "function",
    "sets",
    "default",
    "map",
    "none",
    "utc",
];

/// Those of [`MADE`] that stay what they are when another plugin gets them: a set becomes a list.
const MADE_PLAIN: [&str; 10] =
    ["generator", "tuple", "keys", "template", "date", "time", "datetime", "infinity", "big", "nested"];

/// How `fail` of `oracle/plugins` fails.
pub(super) const FAILURES: [&str; 6] = ["filter", "value", "key", "undefined", "ansible", "empty"];

/// Writes a play that shows expressions, each in a task of that name whose failure is ignored.
pub(super) fn write_play(dir: &TestDir, path: &str, expressions: &[String]) {
    let vars = json!({
        "lazy": [1, "{{ 1 + 1 }}"], "bad": ["{{ nothing }}"], "own_text": "a text", "own_lazy": ["{{ own_text }}"],
        "own_chain": "{{ 'own_lazy' | variable | first }}", "own_level": 4,
    });
    write_play_with(dir, path, expressions, &vars);
}

/// Like [`write_play`], with variables of the play.
pub(super) fn write_play_with(dir: &TestDir, path: &str, expressions: &[String], vars: &Value) {
    let show = |text: &String| {
        let expression = text.strip_prefix(NESTED).unwrap_or(text);
        json!({"name": text, "debug": {"msg": format!("{{{{ {expression} }}}}")}, "ignore_errors": true})
    };
    let tasks: Vec<Value> = expressions.iter().map(show).collect();
    dir.write(path, json!([{"hosts": "localhost", "gather_facts": false, "vars": vars, "tasks": tasks}]).to_string());
}

/// Returns the results of tasks in the output of either program, each with the name of its task.
pub(super) fn results(output: &str) -> Vec<(String, String)> {
    let task = |text: &str| {
        let name = text.split("] ***").next().unwrap_or_default().to_owned();
        let is_result = |line: &&str| line.starts_with("ok: [") || line.starts_with("fatal: [");
        let lines = text.lines().skip_while(|line| !is_result(line));
        let lines: Vec<&str> = lines.take_while(|line| !line.is_empty() && *line != "...ignoring").collect();
        (name, lines.join("\n"))
    };
    output.split("\nTASK [").skip(1).map(task).collect()
}

pub(super) fn modbox(dir: &TestDir, play: &Path) -> Modbox {
    modbox_by(dir, play, &oracle::python())
}

pub(super) fn modbox_by(dir: &TestDir, play: &Path, python: &Path) -> Modbox {
    let python = format!("python={}", python.display());
    Modbox::new(dir).arg("play").arg(play).args(["--interpreter", &python]).patience(PATIENCE)
}

pub(super) fn by_modbox(dir: &TestDir, play: &Path) -> RunOutput {
    modbox(dir, play).run()
}

/// Names of types that only Ansible's own templates have, each with the one that plugins know.
const OWN_TYPES: [(&str, &str); 6] = [
    ("_AnsibleLazyTemplateDict", "dict"),
    ("_AnsibleLazyTemplateList", "list"),
    ("_AnsibleLazyAccessTuple", "tuple"),
    ("_AnsibleTaggedInt", "int"),
    ("_AnsibleTaggedFloat", "float"),
    ("_AnsibleTaggedStr", "str"),
];

/// How the name of an expression begins several parts of which may fail: then either program may come to another one first.
pub(super) const NESTED: &str = "(nested) ";

/// Says whether a task has the same result by both programs.
pub(super) fn is_same(expect: &(String, String), found: &(String, String)) -> bool {
    let plain = |text: &str| OWN_TYPES.iter().fold(text.to_owned(), |text, (own, plain)| text.replace(own, plain));
    let fail = [&expect.1, &found.1].iter().all(|result| result.starts_with("fatal: "));
    expect.0 == found.0 && (plain(&expect.1) == plain(&found.1) || (fail && expect.0.starts_with(NESTED)))
}

/// Runs a play by both programs, and compares what its tasks show.
#[track_caller]
pub(super) fn check(dir: &TestDir, play: &str, count: usize) {
    check_by(dir, play, count, &oracle::python());
}

/// Like [`check`], with the ansible-core of a Python environment.
#[track_caller]
pub(super) fn check_by(dir: &TestDir, play: &str, count: usize, python: &Path) {
    check_with(dir, play, count, python, &[]);
}

/// Like [`check_by`], with variables of the environment.
#[track_caller]
pub(super) fn check_with(dir: &TestDir, play: &str, count: usize, python: &Path, variables: &[(&str, &Path)]) {
    let with = |run: Modbox| variables.iter().fold(run, |run, (name, value)| run.env(name, value));
    let play = dir.join(play);
    let program = python.with_file_name("ansible-playbook");
    let options = ["-i", "localhost,", "-c", "local"];
    let by_ansible = with(Modbox::of(&program, dir).args(options).arg(&play).patience(PATIENCE)).run().exits_with(0);
    let by_modbox = with(modbox_by(dir, &play, python)).run().exits_with(0);
    let (expect, found) = (results(&by_ansible.stdout_text()), results(&by_modbox.stdout_text()));
    assert_eq!(expect.len(), count, "{by_ansible}");
    let differing: Vec<_> = expect.iter().zip(&found).filter(|(expect, found)| !is_same(expect, found)).collect();
    assert!(differing.is_empty(), "{} of {count} differ, expected and found: {differing:#?}", differing.len());
    assert_eq!(found.len(), count, "{by_modbox}");
}

pub(super) fn write_plugins(dir: &TestDir) {
    for (file, at) in [("filters.py", "filter_plugins/own.py"), ("tests.py", "test_plugins/own.py")] {
        dir.write(at, fs::read(fixture(&format!("oracle/plugins/{file}"))).unwrap());
    }
}

#[test]
fn plugins_beside_a_play_do_what_they_do_under_ansible() {
    let dir = TestDir::new();
    write_plugins(&dir);
    let mut expressions: Vec<String> = EXPRESSIONS.iter().map(|text| (*text).to_owned()).collect();
    expressions.extend(MADE.map(|what| format!("'{what}' | make")));
    expressions.extend(FAILURES.map(|kind| format!("'{kind}' | fail")));
    write_play(&dir, "play.yml", &expressions);
    check(&dir, "play.yml", expressions.len());
    dir.assert_nothing_left();
}

/// Returns the text of a random value.
fn value(random: &mut Random, depth: usize) -> String {
    let texts = ["''", "'a b'", "'ä\u{1f600}'", "\"it's\"", "'\t'", "'1'", "'~'", "'{'", "'null'"];
    let numbers =
        ["0", "-1", "7.25", "1e300", "9223372036854775807", "9223372036854775808", "123456789012345678901234567890"];
    match random.below(if depth == 0 { 4 } else { 7 }) {
        0 => (*random.pick(&texts)).to_owned(),
        1 => (*random.pick(&numbers)).to_owned(),
        2 => (*random.pick(&["true", "false"])).to_owned(),
        3 => "none".to_owned(),
        kind => {
            let items: Vec<String> = (0..random.below(4)).map(|_| value(random, depth - 1)).collect();
            let pairs = |key: &dyn Fn(usize) -> String| {
                let pairs = items.iter().enumerate().map(|(index, item)| format!("{}: {item}", key(index)));
                format!("{{{}}}", pairs.collect::<Vec<_>>().join(", "))
            };
            let is_marked = random.below(3) == 0;
            match kind {
                4 => format!("[{}]", items.join(", ")),
                5 => format!("({})", items.iter().map(|item| format!("{item},")).collect::<String>()),
                _ if random.below(2) == 0 => pairs(&|index| index.to_string()),
                _ => pairs(&|index| if is_marked && index == 0 { "'~'".to_owned() } else { format!("'k{index}'") }),
            }
        }
    }
}

#[test]
fn random_values_reach_a_plugin_and_come_back_as_under_ansible() {
    let dir = TestDir::new();
    write_plugins(&dir);
    let mut random = Random::new(0x9106);
    let texts = (0..cases(60, 600)).map(|_| format!("[{}]", value(&mut random, 3)));
    let expressions: Vec<String> =
        texts.flat_map(|text| [format!("{text} | show"), format!("{text} | same | show")]).collect();
    write_play(&dir, "play.yml", &expressions);
    check(&dir, "play.yml", expressions.len());
}

/// Returns the text of a random argument: a value, or a variable that holds or is something undefined.
fn argument(random: &mut Random) -> String {
    match random.below(6) {
        0 => (*random.pick(&["lazy", "own_level", "own_lazy", "own_text", "[lazy, 1]", "{'a': own_lazy}"])).to_owned(),
        1 => (*random.pick(&["nothing", "bad", "[nothing, 2]", "[2, nothing]", "{'a': nothing}", "omit"])).to_owned(),
        _ => value(random, 2),
    }
}

/// Returns the text of a random call of a filter, a test or a lookup of the play, whose arguments are such calls, too.
pub(super) fn call(random: &mut Random, depth: usize) -> String {
    let inner = if depth == 0 { argument(random) } else { call(random, depth - 1) };
    let other = argument(random);
    match random.below(12) {
        0 => format!("({inner}) | show({other}, k={})", argument(random)),
        1 => format!(
            "({inner}) | {}",
            random.pick(&["show", "same", "types", "count", "first_of", "items_of", "lazily", "one"])
        ),
        2 => format!("({inner}) | has({other})"),
        3 => format!("[{inner}, {other}] | map('{}') | list", random.pick(&["same", "show", "count", "types"])),
        4 => format!("({inner}) | {} | default({other})", random.pick(&["first_of", "same", "count"])),
        5 => format!(
            "({inner}) is {}",
            random.pick(&["three", "not three", "divisible", "divisible(by=3)", "text", "fails"])
        ),
        6 => format!("[{inner}, {other}, 3] | select('three') | list"),
        7 => format!("lookup('own', '{}', {inner}, {other})", random.pick(&["show", "same", "count"])),
        8 => format!("query('own', '{}', {inner})", random.pick(&["show", "same", "count"])),
        // It changes its argument, which under Ansible is the variable itself.
        9 => format!("({}) | append", value(random, 2)),
        10 => format!("('{}' | make, {inner}) | show", random.pick(&MADE_PLAIN)),
        _ => format!("(({inner}) if ({other}) is three else ({other} | same))"),
    }
}

#[test]
fn random_calls_of_plugins_do_what_they_do_under_ansible() {
    let dir = TestDir::new();
    write_plugins(&dir);
    dir.write("lookup_plugins/own.py", fs::read(fixture("oracle/plugins/lookups.py")).unwrap());
    let mut random = Random::new(0xca11);
    let mut expressions: Vec<String> = (0..cases(120, 2000)).map(|_| call(&mut random, 0)).collect();
    expressions.extend((0..cases(80, 2000)).map(|_| format!("{NESTED}{}", call(&mut random, 2))));
    write_play(&dir, "play.yml", &expressions);
    check(&dir, "play.yml", expressions.len());
}

/// A filter that gives its own name in each of several names.
fn naming(names: &[&str], says: &str) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("'{name}': lambda value: '{says}'")).collect();
    format!("class FilterModule(object):\n    def filters(self):\n        return {{{}}}\n", names.join(", "))
}

#[test]
fn names_mean_the_plugins_that_they_mean_under_ansible() {
    let dir = TestDir::new();
    dir.write("filter_plugins/a.py", naming(&["both", "twice"], "a"));
    dir.write("filter_plugins/z.py", naming(&["both", "twice"], "z"));
    dir.write("filter_plugins/broken.py", "import no_such_module_of_this_test\n");
    for role in ["first", "second"] {
        dir.write(&format!("roles/{role}/filter_plugins/own.py"), naming(&["shared", "both", role], role));
        let shown = "{{ 1 | shared }} {{ 1 | both }} {{ 1 | second }}";
        dir.write(
            &format!("roles/{role}/tasks/main.yml"),
            format!("- {{name: {role}, debug: {{msg: \"{shown}\"}}}}\n"),
        );
    }
    let collection = |path: &str| format!("collections/ansible_collections/a/b/{path}");
    dir.write(
        &collection("plugins/filter/many.py"),
        "from ansible_collections.a.b.plugins.plugin_utils.helper import double\n\n\nclass FilterModule(object):\n    \
         def filters(self):\n        return {'double': double, 'fails': lambda value: 1 // 0}\n",
    );
    dir.write(&collection("plugins/plugin_utils/helper.py"), "def double(value):\n    return value * 2\n");
    dir.write(
        &collection("plugins/test/even.py"),
        "class TestModule(object):\n    def tests(self):\n        return {'even': lambda value: value % 2 == 0}\n",
    );
    dir.write(&collection("meta/runtime.yml"), "plugin_routing: {filter: {twice: {redirect: a.b.double}}}\n");
    let expressions = [
        "2 | a.b.double",
        "[1, 2] | map('a.b.twice')",
        "[1, 2] | select('a.b.even')",
        "2 | a.b.fails",
        "2 | twice",
        "1 | shared ~ (1 | both)",
    ];
    let show =
        |text: &&str| json!({"name": text, "debug": {"msg": format!("{{{{ {text} }}}}")}, "ignore_errors": true});
    let tasks: Vec<Value> = expressions.iter().map(show).collect();
    let play = json!([{"hosts": "localhost", "gather_facts": false, "pre_tasks": tasks, "roles": ["first", "second"]}]);
    dir.write("play.yml", play.to_string());
    check(&dir, "play.yml", expressions.len() + 2);

    // The file of a plugin that cannot be loaded is named with the reason, before anything runs.
    dir.write("filter_plugins/broken.py", "import no_such_module_of_this_test\nNAMES = ['broken']\n");
    let task = json!([{"debug": {"msg": "{{ 1 | broken }}"}}]);
    dir.write("broken.yml", json!([{"hosts": "localhost", "gather_facts": false, "tasks": task}]).to_string());
    let broken = by_modbox(&dir, &dir.join("broken.yml")).exits_with(2).stderr_text();
    let says = "which cannot be used: ModuleNotFoundError: No module named 'no_such_module_of_this_test'";
    assert!(broken.contains(says), "{broken}");
}

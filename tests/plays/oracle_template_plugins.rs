//! Python plugins of `modbox template`.

use super::oracle_plugins::PATIENCE;
use crate::support::{Modbox, TestDir, oracle};

/// The plugins that `modbox template` has: beside the template and in the current folder, of a setting, and of collections.
#[test]
fn the_command_template_has_the_plugins_of_plays() {
    let dir = TestDir::new();
    let filter = |name: &str, made: &str| {
        format!(
            "class FilterModule(object):\n    def filters(self):\n        return {{'{name}': lambda value: {made}}}\n"
        )
    };
    dir.write("filter_plugins/own.py", filter("own", "'own %s' % value"));
    dir.write("beside/filter_plugins/near.py", filter("near", "'near %s' % value"));
    dir.write("beside/t.j2", "{{ 1 | near }}, {{ 2 | own }}\n");
    dir.write("more/set.py", filter("set", "{'made': value}"));
    dir.write("collections/ansible_collections/a/b/plugins/filter/c.py", filter("c", "value * 2"));
    let python = format!("python={}", oracle::python().display());
    let template = |args: &[&str]| {
        let run = Modbox::new(&dir).arg("template").args(args).args(["--interpreter", &python]).patience(PATIENCE);
        run.env("ANSIBLE_FILTER_PLUGINS", "more").run()
    };
    let says = |args: &[&str], expect: &str| assert_eq!(template(args).exits_with(0).stdout_text(), expect, "{args:?}");
    says(&["{{ 1 | own }} {{ [2] | map('own') | first }}"], "own 1 own 2\n");
    says(&["@beside/t.j2"], "near 1, own 2\n");
    says(&["--expression", "x | set", "-e", "x=3"], "{\"made\": \"3\"}\n");
    says(&["--expression", "4 | a.b.c"], "8\n");
    dir.write("elsewhere/ansible_collections/a/d/plugins/filter/c.py", filter("c", "value * 3"));
    says(&["--expression", "4 | a.d.c", "--collections-path", "elsewhere"], "12\n");
    let lines = "{\"expression\": \"5 | own\"}\n";
    let answers = Modbox::new(&dir).args(["template", "--jsonl", "--interpreter", &python]).stdin(lines).run();
    assert!(answers.exits_with(0).stdout_text().contains("own 5"));
    let unknown = template(&["{{ 1 | nothing }}"]).exits_with(1).stderr_text();
    assert!(unknown.contains("No filter named 'nothing'"), "{unknown}");
}

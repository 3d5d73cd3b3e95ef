//! Actions of plugins in Python: refused before the first task by the file that has them, unless modbox does the same without the plugin.

use crate::support::{Modbox, RunOutput, TestDir};

/// A plugin that does something of its own.
const PLUGIN: &str = "from ansible.plugins.action import ActionBase\n\n\nclass ActionModule(ActionBase):\n    pass\n";

/// A module that shows its argument `src`, and what the file of that name has in it.
const SHOWS_SOURCE: &str = "#!/bin/sh\n# WANT_JSON\nsrc=$(sed 's/.*\"src\": *\"\\([^\"]*\\)\".*/\\1/' \"$1\")\n\
    printf '{\"changed\": false, \"msg\": \"%s has %s\"}' \"$src\" \"$(cat \"$src\")\"\n";

fn play(dir: &TestDir, task: &str) {
    dir.write("play.yml", format!("- hosts: localhost\n  gather_facts: false\n  tasks:\n    - {task}\n"));
}

fn run(dir: &TestDir, options: &[&str]) -> RunOutput {
    let collections = dir.join("collections");
    Modbox::new(dir).args(["play", "play.yml"]).args(options).env("ANSIBLE_COLLECTIONS_PATH", collections).run()
}

#[track_caller]
fn refused(dir: &TestDir, task: &str, name: &str, file: &str) {
    play(dir, task);
    for options in [&["--syntax-check"][..], &[]] {
        let says = run(dir, options).exits_with(2).stderr_text();
        let expect = format!("`{name}` is done by a plugin in Python (`{}`)", dir.join(file).display());
        assert!(says.contains(&expect) && says.contains("write it as a module in `library`"), "{task}: {says}");
    }
    assert!(!dir.join("made").exists(), "{task}");
}

#[test]
fn a_plugin_of_a_play_or_a_role_is_refused_also_where_a_module_has_its_name() {
    let dir = TestDir::new();
    let made = dir.join("made").display().to_string();
    dir.write("action_plugins/copy.py", PLUGIN);
    dir.write("action_plugins/own.py", PLUGIN);
    dir.write("library/own", SHOWS_SOURCE);
    dir.write("action_plugins/usual.py", "from ansible.plugins.action.normal import ActionModule\n");
    dir.write("library/usual", SHOWS_SOURCE);
    let copy = format!("copy: {{content: text, dest: {made}}}");
    refused(&dir, &copy, "copy", "action_plugins/copy.py");
    refused(&dir, &format!("ansible.legacy.{copy}"), "ansible.legacy.copy", "action_plugins/copy.py");
    refused(&dir, "own: {src: x}", "own", "action_plugins/own.py");
    dir.write("roles/r/action_plugins/debug.py", PLUGIN);
    dir.write("roles/r/tasks/main.yml", "- debug: {msg: text}\n");
    refused(&dir, "import_role: {name: r}", "debug", "roles/r/action_plugins/debug.py");
    // The action of ansible-core itself.
    for task in ["ansible.builtin.debug: {msg: text}", &format!("ansible.builtin.{copy}")] {
        play(&dir, task);
        run(&dir, &["--syntax-check"]).exits_with(0);
    }
}

#[test]
fn a_plugin_of_a_collection_is_refused_unless_it_only_finds_files() {
    let dir = TestDir::new();
    let of = |collection: &str, path: &str| format!("collections/ansible_collections/{collection}/plugins/{path}");
    for (collection, name) in [("a/b", "act"), ("kubernetes/core", "k8s")] {
        dir.write(&of(collection, &format!("modules/{name}.py")), SHOWS_SOURCE);
        dir.write(&of(collection, &format!("action/{name}.py")), PLUGIN);
    }
    dir.write(&of("a/b", "modules/plain.py"), SHOWS_SOURCE);
    let file = of("a/b", "action/act.py");
    refused(&dir, "a.b.act: {src: x}", "a.b.act", &file);
    refused(&dir, "{act: {src: x}, collections: [a.b]}", "act", &file);
    let file = of("kubernetes/core", "action/k8s.py");
    refused(&dir, "kubernetes.core.k8s: {src: x}", "kubernetes.core.k8s", &file);
    for task in ["a.b.plain: {src: x}", "kubernetes.core.k8s: {name: x}"] {
        play(&dir, task);
        run(&dir, &["--syntax-check"]).exits_with(0);
    }
    // A name that only the run knows.
    play(&dir, "{action: \"{{ which }} src=x\", vars: {which: a.b.act}}");
    let failed = run(&dir, &[]).exits_with(3);
    assert!(failed.stdout_text().contains("Cannot resolve 'a.b.act' to an action or module"), "{failed}");
}

#[test]
fn a_plugin_that_a_collection_names_for_an_action_is_refused() {
    let dir = TestDir::new();
    let of = |collection: &str, path: &str| format!("collections/ansible_collections/{collection}/{path}");
    for name in ["moved", "named", "ios_facts", "led", "endless"] {
        dir.write(&of("a/b", &format!("plugins/modules/{name}.py")), SHOWS_SOURCE);
    }
    dir.write(&of("c/d", "plugins/modules/led.py"), SHOWS_SOURCE);
    for path in ["a/b/plugins/action/ios.py", "a/b/plugins/action/one.py", "c/d/plugins/action/act.py"] {
        dir.write(&format!("collections/ansible_collections/{path}"), PLUGIN);
    }
    dir.write(
        &of("a/b", "meta/runtime.yml"),
        "plugin_routing:\n  action: {moved: {redirect: c.d.old}, endless: {redirect: a.b.endless}}\n  modules: {named: {action_plugin: a.b.one}, \
         led: {redirect: c.d.led}}\n",
    );
    dir.write(
        &of("c/d", "meta/runtime.yml"),
        "plugin_routing: {action: {old: {redirect: c.d.act}}, modules: {led: {action_plugin: a.b.one}}}",
    );
    refused(&dir, "a.b.moved: {src: x}", "a.b.moved", &of("c/d", "plugins/action/act.py"));
    for name in ["a.b.named", "a.b.led", "c.d.led"] {
        refused(&dir, &format!("{name}: {{src: x}}"), name, &of("a/b", "plugins/action/one.py"));
    }
    refused(&dir, "a.b.endless: {src: x}", "a.b.endless", &of("a/b", "meta/runtime.yml"));
    refused(&dir, "a.b.ios_facts: {src: x}", "a.b.ios_facts", &of("a/b", "plugins/action/ios.py"));
}

#[test]
fn a_collection_whose_list_of_redirects_is_not_yaml_has_no_modules() {
    let dir = TestDir::new();
    let of = |path: &str| format!("collections/ansible_collections/a/b/{path}");
    dir.write(&of("plugins/modules/act.py"), SHOWS_SOURCE);
    dir.write(&of("meta/runtime.yml"), "plugin_routing: [1\n");
    play(&dir, "a.b.act: {src: x}");
    let file = dir.join(&of("meta/runtime.yml")).display().to_string();
    run(&dir, &[]).exits_with(2).says("`a.b.act`").says(&file).says("at line 1, column 17");
}

#[test]
fn patches_and_trees_to_synchronize_are_found_beside_the_play() {
    let dir = TestDir::new();
    for name in ["patch", "synchronize"] {
        dir.write(&format!("collections/ansible_collections/ansible/posix/plugins/modules/{name}.py"), SHOWS_SOURCE);
        dir.write(&format!("collections/ansible_collections/ansible/posix/plugins/action/{name}.py"), PLUGIN);
    }
    dir.write("files/a.patch", "a patch");
    let shown = |task: &str| {
        play(&dir, task);
        run(&dir, &["--allow-all"]).stdout_text()
    };
    let text = shown("ansible.posix.patch: {src: a.patch, dest: /x}\n      register: r\n    - debug: {var: r.msg}");
    assert!(text.contains("a.patch has a patch") && !text.contains("\"a.patch has"), "{text}");
    let here = dir.join("files/a.patch").display().to_string();
    let text =
        shown("ansible.posix.synchronize: {src: a.patch, dest: /x}\n      register: r\n    - debug: {var: r.msg}");
    assert!(text.contains(&format!("\"{here} has a patch")), "{text}");
    let text = shown("ansible.posix.synchronize: {src: a.patch}");
    assert!(text.contains("synchronize requires both src and dest parameters are set"), "{text}");
    let text = shown("ansible.posix.patch: {dest: /x}");
    assert!(text.contains("src is required"), "{text}");
}

//! Tests of playbooks as a whole, from files to the text of the callback.

use std::collections::HashMap;
use std::sync::Arc;

use modbox_python_json::{Dict, Value};

use super::*;
use crate::action_host::ModuleCall;
use crate::error::LoadErrors;
use crate::load::context::Loader;
use crate::load::playbook;
use crate::report::callback::{Callback, TextOptions};
use crate::run::playbooks::fake_host::FakeHost;
use crate::run_options::UserInfo;

/// A run: its text, its end, and the modules that ran.
struct Run {
    text: String,
    end: RunEnd,
    calls: Vec<ModuleCall>,
}

fn files(play: &str, others: &[(&str, &str)]) -> HashMap<String, String> {
    let others = others.iter().map(|(path, text)| (format!("/p/{path}"), (*text).to_owned()));
    others.chain([("/p/play.yml".to_owned(), play.to_owned())]).collect()
}

fn load(play: &str, others: &[(&str, &str)]) -> Result<Playbook, LoadErrors> {
    let (host, engine, settings) = (files(play, others), Engine::default(), LoadSettings::default());
    let host = FakeHost { files: host, ..FakeHost::default() };
    playbook::read(&Loader::new(&host, &engine, &host, &settings), "/p/play.yml")
}

fn run_with(play: &str, others: &[(&str, &str)], options: &RunOptions) -> Run {
    let (engine, settings) = (Engine::default(), LoadSettings::default());
    let mut host = FakeHost { files: files(play, others), ..FakeHost::default() };
    let playbook = load(play, others).unwrap_or_else(|errors| panic!("{errors}"));
    let mut text = String::new();
    let mut callback = Callback::new(TextOptions::default(), |_, part: &str| text.push_str(part));
    let end = run(std::slice::from_ref(&playbook), &engine, &mut host, &mut callback, options, &settings);
    drop(callback);
    Run { text, end, calls: host.calls }
}

fn play(tasks: &str) -> String {
    format!("- hosts: localhost\n  gather_facts: false\n  tasks:\n{tasks}")
}

/// Runs tasks, and compares the counters: ok, changed, failed, skipped, rescued, ignored.
#[track_caller]
fn check(tasks: &str, expect: [u64; 6]) {
    let run = run_with(&play(tasks), &[], &RunOptions::default());
    let (_, counters) = run.end.counters.first().cloned().unwrap_or_default();
    let Counters { ok, changed, failed, skipped, rescued, ignored, .. } = counters;
    assert_eq!([ok, changed, failed, skipped, rescued, ignored], expect, "{}", run.text);
}

#[test]
fn hosts_of_an_inventory_run_one_after_the_other() {
    use modbox_inventory::{Origin, read_ini};

    let mut given = crate::inventory::sources::GivenInventory::default();
    let text = "a ansible_connection=local v=1\nb ansible_connection=local\nfar\n";
    read_ini(&mut given.inventory, text, &Origin::file("/p/hosts")).unwrap();
    given.inventory.reconcile();
    let options = RunOptions { inventory: Some(Arc::new(given)), ..RunOptions::default() };
    let tasks = "  - set_fact: {s: '{{ inventory_hostname }}'}\n    run_once: true\n  - fake: {x: '{{ s }}', y: '{{ \
                     hostvars.a.v }}'}\n  - fail:\n    when: inventory_hostname == 'a'\n";
    let text = format!(
        "{}- hosts: all\n  gather_facts: false\n  tasks: [{{fake: {{x: last}}}}]\n",
        play(tasks).replace("localhost", "all")
    );
    let run = run_with(&text, &[], &options);
    let hosts: Vec<&str> = run.end.counters.iter().map(|(host, _)| host.as_str()).collect();
    assert!(hosts == ["a", "b", "far"] && run.end.failed && run.end.unreachable, "{}", run.text);
    let seen: Vec<Option<&str>> = run.calls.iter().map(|call| call.args.get("x").and_then(Value::as_str)).collect();
    assert_eq!(seen, [Some("a"), Some("a"), Some("last")], "{}", run.text);
    assert!(run.calls.iter().take(2).all(|call| call.args.get("y") == Some(&Value::Int(1))), "{}", run.text);
    assert!(run.text.contains("far: hosts elsewhere are unreachable"), "{}", run.text);
}

fn with_inventory(text: &str) -> RunOptions {
    let mut given = crate::inventory::sources::GivenInventory::default();
    modbox_inventory::read_ini(&mut given.inventory, text, &modbox_inventory::Origin::file("/p/hosts")).unwrap();
    given.inventory.reconcile();
    RunOptions { inventory: Some(Arc::new(given)), ..RunOptions::default() }
}

#[test]
fn a_play_without_connections_runs_for_hosts_elsewhere() {
    let options = with_inventory("far1\nfar2\n");
    let tasks = "  - fail:\n    when: inventory_hostname == 'far1'\n  - fake: {x: '{{ inventory_hostname }}', y: '{{ \
                     ansible_connection }}', z: '{{ ansible_play_hosts }}', f: '{{ ansible_failed_hosts }}'}\n    \
                     delegate_to: localhost\n";
    let run = run_with(&play(tasks).replace("hosts: localhost", "hosts: all"), &[], &options);
    let failed: Vec<u64> = run.end.counters.iter().map(|(_, counters)| counters.failed).collect();
    assert_eq!(failed, [1, 0], "{}", run.text);
    let [call] = run.calls.as_slice() else { panic!("{}", run.text) };
    let expect = r#"{"x": "far2", "y": "ssh", "z": ["far2"], "f": ["far1"]}"#;
    assert_eq!(modbox_python_json::encode_dict(&call.args), expect);
}

#[test]
fn nothing_of_a_play_for_hosts_elsewhere_runs_here() {
    let check = |task: &str| {
        let tasks = format!("  - debug:\n{task}");
        let others = [("more.yml", "- fake:\n")];
        let run = run_with(&play(&tasks).replace("localhost", "all"), &others, &with_inventory("far\n"));
        assert!(run.calls.is_empty() && !run.end.failed && run.end.unreachable, "{}", run.text);
        let counted: Vec<_> =
            run.end.counters.iter().map(|(host, counters)| (host.as_str(), counters.unreachable)).collect();
        assert_eq!(counted, [("far", 1)], "{}", run.text);
        assert!(run.text.contains("far: hosts elsewhere are unreachable"), "{}", run.text);
    };
    check("  - fake:\n");
    check("  - fake:\n    delegate_to: '{{ inventory_hostname }}'\n");
    check("  - include_tasks: more.yml\n");
    check("  - block:\n    - debug:\n    always:\n    - fake:\n");
    check("  - meta: reset_connection\n");
    check("  handlers:\n  - name: h\n    fake:\n");
}

#[test]
fn delegated_tasks_see_the_variables_of_the_other_host() {
    let options = with_inventory("a ansible_connection=local\nb ansible_connection=local x=3\n");
    let tasks = "  - fake: {x: '{{ ansible_delegated_vars[item].x | default(0) }}', n: '{{ \
                     ansible_delegated_vars[item].inventory_hostname }}'}\n    delegate_to: '{{ item }}'\n    loop: [b, a]\n    \
                     when: ansible_delegated_vars is defined\n  - fake: {d: '{{ ansible_delegated_vars is defined }}'}\n";
    let run = run_with(&play(tasks).replace("hosts: localhost", "hosts: a"), &[], &options);
    let seen: Vec<String> = run.calls.iter().map(|call| modbox_python_json::encode_dict(&call.args)).collect();
    assert_eq!(seen, [r#"{"x": 3, "n": "a"}"#, r#"{"x": 0, "n": "a"}"#, r#"{"d": false}"#], "{}", run.text);
}

#[test]
fn of_handlers_of_one_name_the_first_of_the_last_list_runs() {
    let tasks = "  - debug:\n    changed_when: true\n    notify: [twice, topic, role]\n";
    let handlers = "  handlers:\n  - {name: twice, debug: {msg: one}}\n  - {name: twice, debug: {msg: two}}\n  - {name: l, \
                        listen: topic, debug: {msg: three}}\n  - {name: l, listen: topic, debug: {msg: four}}\n";
    let text = play(tasks) + handlers + "  roles: [r]\n";
    let of_role = "- {name: twice, debug: {msg: five}}\n- {name: role, debug: {msg: six}}\n";
    let files = [("roles/r/handlers/main.yml", of_role), ("roles/r/tasks/main.yml", "- debug:\n")];
    let run = run_with(&text, &files, &RunOptions::default());
    let ran = ["one", "two", "three", "four", "five", "six"].map(|word| run.text.contains(&format!("\"{word}\"")));
    assert_eq!(ran, [true, false, true, false, false, true], "{}", run.text);
}

#[test]
fn an_include_whose_import_is_missing_can_be_rescued() {
    let tasks = "  - block:\n    - include_tasks: more.yml\n    rescue:\n    - debug:\n";
    let run = run_with(&play(tasks), &[("more.yml", "- import_tasks: gone.yml\n")], &RunOptions::default());
    assert!(!run.end.failed && run.end.error.is_none(), "{}", run.text);
    assert!(run.text.contains("Could not find or access '/p/gone.yml'"), "{}", run.text);
}

#[test]
fn an_error_in_an_included_file_comes_with_its_lines() {
    let others = [("more.yml", "- name: wrong\n  include_tasks:\n")];
    let run = run_with(&play("  - include_tasks: more.yml\n"), &others, &RunOptions::default());
    assert!(matches!(run.end.error, Some(RunError::Load(_))), "{}", run.text);
    assert!(run.text.contains("PLAY RECAP "), "{}", run.text);
    let expect = "[ERROR]: No file specified for include_tasks; name one with `file`\nOrigin: /p/more.yml:1:3\n\n1 - name: wrong\n";
    assert!(run.text.contains(expect), "{}", run.text);
}

#[test]
fn a_limit_that_means_no_host_is_an_error() {
    let options = RunOptions { limit: Some("typo".to_owned()), ..RunOptions::default() };
    let run = run_with(&play("  - debug:\n"), &[], &options);
    assert!(run.end.error.is_some() && run.text.contains("no hosts to target"), "{}", run.text);
}

#[test]
fn results_are_counted_as_ansible_does() {
    check("  - debug:\n", [1, 0, 0, 0, 0, 0]);
    check("  - fake: {result: {changed: true}}\n", [1, 1, 0, 0, 0, 0]);
    check("  - fake: {result: {rc: 1}}\n  - debug:\n", [0, 0, 1, 0, 0, 0]);
    check("  - fail:\n    ignore_errors: true\n  - debug:\n", [2, 0, 0, 0, 0, 1]);
    check("  - debug:\n    when: false\n", [0, 0, 0, 1, 0, 0]);
    check("  - block:\n    - fail:\n    rescue:\n    - debug:\n", [1, 0, 0, 0, 1, 0]);
    check("  - debug:\n    loop: [1, 2]\n    when: item > 5\n", [0, 0, 0, 1, 0, 0]);
    check("  - debug:\n    loop: []\n", [0, 0, 0, 1, 0, 0]);
    check("  - fake: {result: {rc: 1}}\n    failed_when: false\n", [1, 0, 0, 0, 0, 0]);
    check("  - debug:\n    changed_when: [true, 1 == 1]\n", [1, 1, 0, 0, 0, 0]);
    check("  - debug: {verbosity: 2}\n", [0, 0, 0, 1, 0, 0]);
}

#[test]
fn results_facts_and_items_are_never_templates() {
    let hostile = "{{ lookup('pipe', 'id') }}{% for x in y %}";
    let tasks = format!(
        "  - fake:\n      result:\n        out: !unsafe \"{hostile}\"\n        ansible_facts: {{fact: !unsafe \"{hostile}\"}}\n    \
             register: r\n  - set_fact: {{copied: '{{{{ r.out }}}}'}}\n  - fake: {{a: '{{{{ copied }}}}', b: '{{{{ fact }}}}'}}\n  \
             - fake: {{a: '{{{{ item }}}}'}}\n    loop: ['{{{{ r.out }}}}', '{{{{ hostvars.localhost.copied }}}}']\n"
    );
    let run = run_with(&play(&tasks), &[], &RunOptions::default());
    assert!(!run.end.failed, "{}", run.text);
    let values: Vec<&Value> = run.calls.iter().skip(1).flat_map(|call| call.args.values()).collect();
    assert_eq!(values.len(), 4);
    assert!(values.iter().all(|value| value.as_str() == Some(hostile)), "{values:?}");
    let provenance: Vec<bool> =
        run.calls.iter().skip(1).flat_map(|call| call.provenance.iter().map(|(_, p)| p.has_results())).collect();
    assert_eq!(provenance, [true; 4], "arguments know that they are made of results");
}

#[test]
fn variables_hide_each_other_in_ansibles_order() {
    let check = |given: &[(&str, &str)], vars: &str, expect: &str| {
        let text = format!("- hosts: localhost\n  gather_facts: false\n  vars: {{{vars}}}\n  roles: [{{role: r}}]\n");
        let run = run_with(&text, given, &RunOptions::default());
        let seen = run.calls.first().and_then(|call| call.args.get("x")).and_then(Value::as_str);
        assert_eq!(seen, Some(expect), "{}", run.text);
    };
    let tasks = ("roles/r/tasks/main.yml", "- fake: {x: '{{ v }}'}\n");
    let defaults = ("roles/r/defaults/main.yml", "v: defaults\n");
    check(&[tasks, defaults], "", "defaults");
    check(&[tasks, defaults, ("group_vars/all.yml", "v: group\n")], "", "group");
    check(&[tasks, defaults, ("group_vars/all.yml", "v: group\n")], "v: play", "play");
    check(&[tasks, defaults, ("roles/r/vars/main.yml", "v: role\n")], "v: play", "role");
    let task_vars = ("roles/r/tasks/main.yml", "- fake: {x: '{{ v }}'}\n  vars: {v: task}\n");
    check(&[task_vars, ("roles/r/vars/main.yml", "v: role\n")], "v: play", "task");
    let set = ("roles/r/tasks/main.yml", "- set_fact: {v: set}\n- fake: {x: '{{ v }}'}\n  vars: {v: task}\n");
    check(&[set], "", "set");
}

#[test]
fn errors_of_a_file_are_all_reported_with_their_places() {
    let check = |tasks: &str, expect: &[&str]| {
        let errors = load(&play(tasks), &[]).err().map(|errors| errors.to_string()).unwrap_or_default();
        for part in expect {
            assert!(errors.contains(part), "{part}: {errors}");
        }
    };
    let two = "  - debug:\n    whn: true\n  - nope_module:\n  - fake:\n    connection: ssh\n";
    check(two, &["play.yml:5:5: unknown", "play.yml:6:5: failed to find the action", "play.yml:8:17"]);
    check("  - debug:\n    register: a-b\n", &["Invalid variable name 'a-b'"]);
    check(
        "  - debug:\n    register: [a]\n",
        &["expected the name of a variable, or a mapping of names and expressions"],
    );
    check("  - debug:\n    register: {a: _task.result, b-c: 1}\n", &["Invalid variable name 'b-c'"]);
    check("  - block: []\n    rescue: [{debug: {}}]\n    foo: 1\n", &["unknown keyword `foo` of a block"]);
    check("  - import_role: {name: ../../etc}\n", &["failed to find the role `../../etc`"]);
    check("  - {when: true}\n", &["names no module"]);
    check("  - meta: explode\n", &["Invalid options for meta: explode"]);
    check("  - import_tasks: play2.yml\n    loop: [1]\n", &["use `include_tasks`"]);
    check("  - debug:\n    with_nothing: [1]\n", &["unknown keyword `with_nothing`"]);
    check("  - debug:\n  strategy: debug\n", &["`strategy: debug` is not supported"]);
}

#[test]
fn a_user_that_cannot_be_become_is_refused_before_anything_runs() {
    let user = UserInfo { name: "ann".to_owned(), is_root: false };
    let options = RunOptions { user, ..RunOptions::default() };
    let tasks = "  - fake: {}\n  - fake: {}\n    name: install\n    become: true\n";
    let run = run_with(&play(tasks), &[], &options);
    assert!(run.calls.is_empty() && run.end.failed, "{}", run.text);
    assert!(run.text.contains("`install` (/p/play.yml:5:5)"), "{}", run.text);
    let run = run_with(&play(tasks), &[], &RunOptions::default());
    assert_eq!(run.calls.len(), 2);
}

#[test]
fn switches_of_a_task_reach_its_module() {
    let tasks = "  - fake: {}\n  - fake: {}\n    check_mode: false\n  - fake: {}\n    become: true\n    \
                     become_user: web\n    environment: {A: 1}\n    timeout: 5\n    no_log: true\n";
    let options = RunOptions { check: true, ..RunOptions::default() };
    let run = run_with(&play(tasks), &[], &options);
    let options: Vec<_> = run.calls.iter().map(|call| &call.options).collect();
    assert_eq!(options.iter().map(|options| options.modes.check).collect::<Vec<_>>(), [true, false, true]);
    let last = options[2];
    assert_eq!((last.become_user.as_deref(), last.timeout, last.modes.no_log), (Some("web"), Some(5), true));
    assert_eq!(last.environment, [("A".to_owned(), "1".to_owned())]);
}

#[test]
fn an_include_that_includes_itself_ends() {
    let others = [("loop.yml", "- include_tasks: loop.yml\n")];
    let run = run_with(&play("  - include_tasks: loop.yml\n"), &others, &RunOptions::default());
    assert!(run.end.failed && run.text.contains("levels deep"), "{}", run.text);
    let errors = load(&play("  - import_tasks: imp.yml\n"), &[("imp.yml", "- import_tasks: imp.yml\n")]);
    assert!(errors.err().is_some_and(|errors| errors.to_string().contains("levels deep")));
}

#[test]
fn secret_results_are_registered_and_not_shown() {
    let tasks = "  - fake: {result: {failed: true, msg: s3cret, warnings: [s3cret]}}\n    no_log: true\n    \
                     ignore_errors: true\n    register: r\n  - fake: {a: '{{ r.msg }}'}\n  - debug: {msg: s3cret}\n    \
                     no_log: true\n    loop: [s3cret]\n";
    let options = RunOptions { verbosity: 4, ..RunOptions::default() };
    let run = run_with(&play(tasks), &[], &options);
    assert!(!run.end.failed && !run.text.contains("s3cret"), "{}", run.text);
    assert!(run.text.contains("[ERROR]: Task failed: the output has been hidden"), "{}", run.text);
    assert_eq!(run.calls[1].args.get("a"), Some(&Value::from("s3cret")));
}

#[test]
fn each_host_has_its_own_files_of_variables() {
    let options = with_inventory("a ansible_connection=local name_of_file=x\nb ansible_connection=local\n");
    let text = play("  - fake: {v: '{{ v }}'}\n").replace(
        "hosts: localhost",
        "hosts: all\n  vars_files: [['{{ name_of_file | default(\"none\") }}.yml', y.yml]]",
    );
    let run = run_with(&text, &[("x.yml", "v: 1\n"), ("y.yml", "v: 2\n")], &options);
    let seen: Vec<String> = run.calls.iter().map(|call| modbox_python_json::encode_dict(&call.args)).collect();
    assert_eq!(seen, [r#"{"v": 1}"#, r#"{"v": 2}"#], "{}", run.text);
}

#[test]
fn filters_on_wrong_values_fail_with_ansibles_words() {
    let cases = [
        ("'yo' | log", "log() can only be used on numbers"),
        ("9 | log('b')", "log() can only be used on numbers"),
        ("'yo' | pow(4)", "pow() can only be used on numbers"),
        ("'yo' | ansible.builtin.root", "root() can only be used on numbers"),
        ("-4 | root", "root() can only be used on numbers"),
        ("-4 | root(4)", "root() can only be used on numbers"),
        ("[1] | combine(foo='bar')", "'recursive' and 'list_merge' are the only valid keyword arguments"),
    ];
    for (expression, expect) in cases {
        let tasks = format!("  - fake: {{a: \"{{{{ {expression} }}}}\"}}\n");
        let run = run_with(&play(&tasks), &[], &RunOptions::default());
        assert!(run.end.failed && run.text.contains(expect), "{expression}: {}", run.text);
    }
}

#[test]
fn other_words_fail_the_task_also_where_the_keyword_makes_no_difference() {
    let cases = [("delegate_facts", "bool"), ("ignore_unreachable", "bool"), ("port", "int"), ("throttle", "int")];
    for (keyword, kind) in cases.into_iter().chain([("run_once", "bool"), ("diff", "bool")]) {
        let run = run_with(&play(&format!("  - fake: {{}}\n    {keyword}: perhaps\n")), &[], &RunOptions::default());
        let expect = format!("The value 'perhaps' could not be converted to '{kind}'.");
        assert!(run.end.failed && run.calls.is_empty() && run.text.contains(&expect), "{keyword}: {}", run.text);
    }
}

#[test]
fn blocks_around_handlers_have_no_blocks_in_them() {
    let check = |handlers: &str, expect: &str| {
        let errors = load(&(play("  - debug:\n") + "  handlers:\n" + handlers), &[]);
        let errors = errors.err().map(|errors| errors.to_string()).unwrap_or_default();
        assert!(errors.contains(expect) && errors.is_empty() == expect.is_empty(), "{errors}");
    };
    check("  - block: [{name: a, debug: {}}]\n    always: [{debug: {}}]\n", "");
    check("  - block: [{name: a, debug: {}}]\n    rescue: [{unknown: {}}]\n", "play.yml:7:15: failed to find");
    check(
        "  - block: [{name: a, debug: {}}]\n    rescue: [{block: [{debug: {}}]}]\n",
        "play.yml:7:14: Using a block as",
    );
    check("  - block: [{block: [{name: a, debug: {}}]}]\n", "play.yml:6:13: Using a block as a handler");
    check("  - block: [{name: a, debug: {}}]\n    rescue:\n    when: true\n", "");
}

#[test]
fn an_expression_of_register_that_fails_fails_the_task() {
    let tasks = "  - fake: {result: {rc: 0}}\n    register: {code: _task.result.rc, absent: _task.loop_result}\n    \
                     ignore_errors: true\n  - fake: {a: '{{ code }}', b: '{{ absent | default(1) }}'}\n  - debug: {msg: '{{ absent }}'}\n";
    let run = run_with(&play(tasks), &[], &RunOptions::default());
    let why = "The _task.loop_result property is unavailable: The current task is not a loop.";
    let failed = "Task failed due to errors in 1 out of 2 register projections.";
    assert!(run.text.contains(failed) && run.text.contains(why), "{}", run.text);
    assert_eq!(run.calls[1].args.get("a"), Some(&Value::Int(0)));
    assert_eq!(run.calls[1].args.get("b"), Some(&Value::Int(1)));
    let undefined = "The variable 'absent' is undefined because its register expression failed: ";
    assert!(run.text.contains(&format!("{undefined}{why}")), "{}", run.text);
}

#[test]
fn a_play_without_the_spec_that_it_asks_for_is_refused() {
    let wrong = |name: &str, value: &str, files: &[(&str, &str)], expect: &str| {
        let play =
            format!("- hosts: localhost\n  gather_facts: false\n{name}  validate_argspec: {value}\n  tasks: []\n");
        let run = run_with(&play, files, &RunOptions::default());
        assert!(run.text.contains(expect), "{expect}: {}", run.text);
    };
    let named = "  name: n\n";
    wrong(named, "true", &[], "A playbook meta file is required. Considered:\n  - /p/play.meta.yml");
    wrong("", "true", &[], "A play name is required when validate_argspec is True.");
    let other = [("play.meta.yml", "argument_specs: {other: {options: {}}}\n")];
    wrong(named, "true", &other, "No argument spec named 'n' in /p/play.meta.yml.");
    wrong(named, "absent", &other, "No argument spec named 'absent' in");
    for (value, expect) in [("false", false), ("''", false), ("other", true)] {
        let play = format!("- hosts: localhost\n  gather_facts: false\n  validate_argspec: {value}\n  tasks: []\n");
        let run = run_with(&play, &other, &RunOptions::default());
        assert_eq!(run.text.contains("arg spec other"), expect, "{value}: {}", run.text);
    }
}

#[test]
fn attempts_and_pauses_wait() {
    let tasks = "  - fake: {result: {rc: 1}}\n    retries: 2\n    delay: 3\n    ignore_errors: true\n    register: r\n  \
                     - fake: {a: '{{ r.attempts }}'}\n";
    let run = run_with(&play(tasks), &[], &RunOptions::default());
    assert_eq!(run.calls.len(), 4);
    assert_eq!(run.calls[3].args.get("a"), Some(&Value::Int(2)));
    assert!(run.text.contains("FAILED - RETRYING: [localhost]: fake (1 retries left)."), "{}", run.text);
    assert_eq!(Dict::len(&run.calls[0].args), 1);
}

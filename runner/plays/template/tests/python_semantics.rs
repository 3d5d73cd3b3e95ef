//! Details of Python and of ansible-core's lazy containers that templates can see.

use std::sync::Arc;

use modbox_jinja::values::repr;
use modbox_template::{Engine, Layer, Scope};
use modbox_yaml::load_play_file;

const VARIABLES: &str = r#"{"nope2": "{{ nope }}", "s": "a", "l": [1, 2], "l2": ["{{ nope }}", 1],
    "d": {"k": "{{ nope }}", "a": "x"}, "n": null, "a": 5, "loop1": "{{ loop1 }}"}"#;

#[track_caller]
fn check(text: &str, expect: &str) {
    let variables = load_play_file(VARIABLES, "variables").unwrap().root;
    let scope: Scope = Layer::of_source(&variables).map(Arc::new).into_iter().collect();
    let quoted = format!("'{}'", text.replace('\'', "''"));
    let source = load_play_file(&quoted, "play.yml").unwrap().root;
    match Engine::default().evaluate(&source, &scope) {
        Ok(made) => assert_eq!(repr(&made.value).unwrap(), expect, "{text}"),
        Err(error) => assert!(expect.starts_with('!') && error.message().contains(&expect[1..]), "{text}: {error}"),
    }
}

#[test]
fn ranges_are_those_of_python() {
    check(
        "{{ 'a' in range(3) }}{{ [] not in range(3) }}{{ 2.0 in range(3) }}{{ nope in range(0) }}",
        "'FalseTrueTrueFalse'",
    );
    check("{{ nope in range(3) }}", "!'nope' is undefined");
    check("{{ range(3) | trim }} {{ range(0, 4, 2) | replace('r', 'R') }}", "'range(0, 3) Range(0, 4, 2)'");
    check("{{ 'a%%' % range(3) }} {{ range(3) | type_debug }}", "'a% range'");
    check("{{ range(3) | list }}{{ range(3) | join }}", "'[0, 1, 2]012'");
}

#[test]
fn comparisons_use_only_the_items_that_decide() {
    check("{{ d == {'k': 1, 'b': 2} }}", "!'nope' is undefined");
    check("{{ d != {'n': 0, 'b': 2} }}{{ [1, nope] == [2, 3] }}{{ l2 == [1] }}", "'TrueFalseFalse'");
    check("{{ [1, nope] == [1, 3] }}", "!'nope' is undefined");
    check("{{ l2 == l2 }}{{ 1 in [1, nope] }}{{ {'a': [1, {'b': 2}]} == {'a': [1, {'b': 2.0}]} }}", "'TrueTrueTrue'");
    check("{{ s in l2 }}", "!'nope' is undefined");
    check("{{ 'k' in d }}{{ d is contains('k') }}{{ d is contains('z') }}", "'TrueTrueFalse'");
}

#[test]
fn tests_that_compare_read_all_items() {
    for text in ["d is eq(1)", "l2 is ne([])", "1 is gt(l2)", "l2 | bool", "(1, nope) | bool", "{(1, nope): 2}"] {
        check(&format!("{{{{ {text} }}}}"), "!'nope' is undefined");
    }
    check("{{ [[nope]] is eq(1) }}{{ l is eq([1, 2]) }}", "'FalseTrue'");
}

#[test]
fn undefined_values_wait_where_nothing_uses_them() {
    check("{{ 'No' % nope }}{{ '100%%' % nope }}", "'No100%'");
    check("{{ '%s' % nope }}", "!'nope' is undefined");
    check("{{ d.copy() is defined }}{{ l2.copy()[1] }}{{ d.copy().a }}", "'True1x'");
    check("{% set x = l.copy() %}{{ x.append(3) }}{{ x }}{{ l }}", "'[1, 2, 3][1, 2]'");
    check(
        "{{ query('vars', 'zz', 's')[1] }}{{ query('vars', 'zz') | length }}{{ lookup('vars', 'zz') is defined }}",
        "'a1False'",
    );
    check("{{ lookup('vars', 'zz', default=n) }}", "!No variable named 'zz' was found.");
    check("{{ l2[::-1] | first }}{{ [] | first | default('-') }}{{ (l2 | first) is defined }}", "'1-False'");
    check("{{ [loop1] | length }}", "1");
    check("{{ loop1 }}", "!Recursive loop detected");
}

#[test]
fn names_that_a_scope_sets_later_are_undefined_before() {
    check("{% for i in l %}{{ a }}{% endfor %}{% set a = 1 %}", "!'a' is undefined");
    check("{% for i in l %}{% with w = 1 %}{{ a | default('-') }}{% endwith %}{% set a = i %}{% endfor %}", "'--'");
    check("{{ a }}{% for i in l %}{{ a }}{% endfor %}{% set a = 1 %}{{ a }}", "'5551'");
    check("{% for i in l %}{{ a }}{% endfor %}{% if true %}{% set a = 1 %}{% endif %}{{ a }}", "'551'");
    check("{% set a = a + 1 %}{{ a }}", "6");
    check("{% macro m() %}{{ a }}{% endmacro %}{% set a = 7 %}{{ m() }}", "7");
}

#[test]
fn statements_follow_python() {
    check("{% for i in d %}{{ d.update({'q': 1}) }}{% endfor %}", "!dictionary changed size during iteration");
    check("{% for i in d %}{{ d.update({'a': 1}) }}{{ i }}{% endfor %}", "'ka'");
    check(
        "{% macro m() %}{{ kwargs.keys() | list }}{% endmacro %}{% call m(r=1, **{'z': 2}) %}{% endcall %}",
        "['r', 'caller', 'z']",
    );
    check("{{ a is defined + 2 }} {{ nope is not defined - 1 }}", "'3 0'");
    check("{{ +a }}{{ -+-1.5 }}", "'51.5'");
    check("{{ +s }}", "!bad operand type for unary +: 'str'");
    check("{{ (l * 200)[:3] }}{{ {(1, 2): 'x'}[1, 2] }}", "'[1, 2, 1]x'");
    let branches: String = (0..1000).map(|number| format!("{{% elif a == {number} %}}{number}")).collect();
    check(&format!("{{% if n %}}{branches}{{% else %}}-{{% endif %}}"), "'5'");
}

#[test]
fn blocks_see_what_they_are_made_for() {
    check("{% for i in l %}{% block b scoped %}{{ i }}{% endblock %}{% endfor %}", "'12'");
    check("{% for i in l %}{% block b %}{{ i is defined }}{% endblock %}{% endfor %}", "'FalseFalse'");
    check("{% autoescape n %}{% set zz = 1 %}{{ zz }}{% endautoescape %}{{ zz is defined }}", "'1False'");
    check("{% autoescape nope - 1 %}{% endautoescape %}", "!'nope' is undefined");
    check("{% block b required %} {% endblock %}", "!Required block 'b' not found");
    check(
        "{% macro m() %}{% set caller = 1 %}{{ caller }}{% endmacro %}{{ m(caller=2) }}",
        "!macro 'm' takes no keyword",
    );
}

#[test]
fn what_is_captured_within_autoescape_is_text() {
    check("{% autoescape true %}{% filter length %}{% endfilter %}{% endautoescape %}", "4");
    check(
        "{% autoescape true %}{% set x %}{{ l }}{% endset %}{% endautoescape %}{% set y %}{{ l }}{% endset %}{{ y }}",
        "[1, 2]",
    );
    check("{% autoescape s %}{% set x %}{{ l }}{% endset %}{{ x }}{% endautoescape %}", "'[1, 2]'");
    check("{% macro m() %}{{ l }}{% endmacro %}{% autoescape true %}{{ m() }}{% endautoescape %}", "'[1, 2]'");
    check("{% macro m() %}{{ l }}{% endmacro %}{% autoescape false %}{{ m() }}{% endautoescape %}", "[1, 2]");
    check("{% autoescape nope %}x{% endautoescape %}", "!'nope' is undefined");
    check("{% autoescape nope %}{{ 1 }}{% endautoescape %}", "1");
}

#[test]
fn an_if_without_else_has_no_items() {
    check("{{ ('' if false) | last | d(3) }}{{ 1 in ('' if false) }}{{ '<%s>' % ('' if false) }}", "'3False<>'");
}

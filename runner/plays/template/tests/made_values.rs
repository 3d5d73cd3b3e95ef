//! What a template keeps in a loop is bounded, whichever operation makes it; what it only passes on is not counted.

use std::sync::Arc;

use modbox_python_json::Value as Json;
use modbox_template::{Config, Engine, PluginCall, PluginFailure, PluginKind, PythonPlugins, Scope};
use modbox_yaml::load_play_file;

/// Evaluates a template that keeps the value of an expression a number of times: in a list, and the last dict.
fn keep(count: usize, first: &str, expression: &str) -> Result<String, String> {
    keep_by(&Engine::default(), count, first, expression)
}

fn keep_by(engine: &Engine, count: usize, first: &str, expression: &str) -> Result<String, String> {
    let text = format!(
        "{{% set t = {first} %}}{{% set ns = namespace(l=[], d={{'a': {{}}}}) %}}{{% for i in range({count}) %}}\
         {{% set v = {expression} %}}{{% set ns.d = v if v is mapping else ns.d %}}{{% set _ = ns.l.append(v) %}}\
         {{% endfor %}}{{{{ ns.l | length }}}}"
    );
    let quoted = format!("'{}'", text.replace('\'', "''"));
    let source = load_play_file(&quoted, "play.yml").unwrap().root;
    let made = engine.evaluate(&source, &Scope::new()).map_err(|error| error.to_string())?;
    Ok(made.value.to_string())
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the choice of cases is the caller's")]
fn what_is_made_in_a_loop_is_bounded() {
    let text = "'x ' * 500000";
    let cases = [
        (text, "t | upper"),
        (text, "t | b64encode"),
        (text, "[t] | map('upper') | list"),
        (text, "t.upper()"),
        (text, "t.split()"),
        (text, "t[1:]"),
        (text, "t ~ i"),
        ("range(500000) | list", "t[1:]"),
        ("range(500000) | list", "t.copy()"),
        ("range(500000) | list", "[t] | zip_longest(t)"),
        ("'[[' ~ '1,' * 500000 ~ '1]]'", "t | from_json"),
        ("dict(range(50000) | zip(range(50000)))", "t | combine({(0 - i): i})"),
        ("dict(range(50000) | zip(range(50000)))", "{'a': t} | combine({'a': {(0 - i): i}}, recursive=true)"),
        ("[1] * 5000", "ns.d | combine({'a': t, 'i': i}, list_merge='append')"),
    ];
    let check = |(first, expression): (&str, &str)| {
        let error = keep(100_000, first, expression).unwrap_err();
        // On a slow machine, the processor time may end first.
        let is_bounded =
            ["the template makes too", "the template runs for too long"].iter().any(|end| error.contains(end));
        assert!(is_bounded, "{expression}: {error}");
    };
    // They take seconds each, and the processors have nothing else to do meanwhile. An ordinary run takes every second one.
    let step = if std::env::var_os("MODBOX_WHOLE").is_some() { 1 } else { 2 };
    let cases: Vec<_> = cases.into_iter().step_by(step).collect();
    let (one, other) = cases.split_at(cases.len() / 2);
    std::thread::scope(|scope| {
        scope.spawn(|| one.iter().copied().for_each(check));
        other.iter().copied().for_each(check);
    });
}

#[test]
fn what_is_passed_on_is_not_counted() {
    let text = "'x ' * 500000";
    for expression in ["t | default('a')", "ns.d.get('b', t)", "t if i is defined else i", "[t, 1] | first"] {
        assert_eq!(keep(2000, text, expression), Ok("2000".to_owned()), "{expression}");
    }
}

#[test]
fn selections_of_long_lists_do_not_recurse() {
    assert_eq!(keep(1, "range(300000) | list", "t | combinations(300000) | length"), Ok("1".to_owned()));
    assert!(keep(1, "range(300000) | list", "t | zip(*([t] * 100))").is_err());
}

#[test]
fn keys_that_are_numbers_are_found_fast() {
    assert_eq!(keep(1500, "{}", "ns.d | combine({i: i})"), Ok("1500".to_owned()));
}

/// A filter in Python that makes a list with a long text of any value.
#[derive(Debug)]
struct Listing;

impl PythonPlugins for Listing {
    fn hides(&self, _: PluginKind, name: &str) -> bool {
        name == "listing"
    }

    fn has(&self, _: PluginKind, _: &str) -> bool {
        false
    }

    fn accepts_undefined(&self, _: PluginKind, _: &str) -> bool {
        false
    }

    fn call(&self, _: &PluginCall<'_>) -> Result<Json, PluginFailure> {
        Ok(Json::List(vec![Json::Str("a".repeat(8 << 20))]))
    }
}

#[test]
fn results_of_plugins_in_python_are_counted() {
    let engine = Engine::new(Config { plugins: Arc::new(Listing), ..Config::default() });
    for expression in ["t | listing", "[t] | map('listing') | first"] {
        assert_eq!(keep_by(&engine, 10, "1", expression), Ok("10".to_owned()), "{expression}");
        let error = keep_by(&engine, 1000, "1", expression).unwrap_err();
        assert!(error.contains("the template makes too many values"), "{expression}: {error}");
    }
}

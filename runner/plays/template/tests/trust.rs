//! Data is never rendered: hostile text in values, keys, names and results, through every path that a play has.
//!
//! Each hostile text calls a lookup that acts. The lookups here fail the test when they are called with its term.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use modbox_template::{
    Config, Engine, Layer, LookupCall, LookupError, Lookups, Origin, Scope, Slot, TemplateFiles, TemplateOptions, Value,
};
use modbox_yaml::{Source, load_play_file, template_file};

const CANARY: &str = "canary";

/// Templates of a play that read the variables `hostile`, `map` and `list`.
const TEMPLATES: [&str; 30] = [
    "{{ hostile }}",
    "x{{ hostile }}y",
    "{{ map }}",
    "{{ list }}",
    "{{ map.k }}{{ map['k'] }}{{ list[0] }}",
    "{% set v = hostile %}{{ v }}{{ v }}",
    "{% set v %}{{ hostile }}{% endset %}{{ v }}",
    "{% for i in list %}{{ i }}{% endfor %}",
    "{% for k, v in map | dictsort %}{{ k }}={{ v }}{% endfor %}",
    "{% for k in map %}{{ k }}={{ map[k] }}{% endfor %}",
    "{% macro m(x, y=hostile) %}{{ x }}{{ y }}{{ caller() }}{% endmacro %}{% call m(hostile) %}{{ hostile }}{% endcall %}",
    "{% macro m() %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(hostile, k=hostile) }}",
    "{% filter upper %}{{ hostile }}{% endfilter %}",
    "{% with v = hostile %}{{ v ~ v }}{% endwith %}",
    "{{ hostile | default('x') }}",
    "{{ nope | default(hostile) }}",
    "{{ hostile ~ '' }}{{ hostile + hostile }}{{ hostile * 2 }}",
    "{{ '{' ~ '{ lookup(\"pipe\", \"canary\") }}' }}",
    "{{ list | map('default', hostile) | list }}",
    "{{ list | join(hostile) }}{{ hostile | list | join }}",
    "{{ [hostile, {hostile: hostile}] }}",
    "{{ lookup('items', hostile) }}",
    "{{ query('items', list, hostile) }}",
    "{{ query('dict', map) }}",
    "{{ query('together', list, list) }}",
    "{{ query('nested', list, list) }}",
    "{{ hostile | replace('a', hostile) }}",
    "{{ inner }}",
    "{{ deep.inner.x }}",
    "{{ namespace(x=hostile).x }}{{ dict(a=hostile) }}{{ cycler(hostile).next() }}",
];

/// Conditions and names, where a hostile text is an error at most.
const CONDITIONS: [&str; 9] = [
    "hostile == map.k",
    "hostile",
    "{{ hostile }}",
    "{{ map.k }}",
    "{{ hostile }} == 1",
    "lookup('vars', hostile) is defined",
    "hostile in map",
    "'{{ hostile }}' == hostile",
    "{{ hostile | default(true) }}",
];

struct Canary(AtomicUsize);

impl Lookups for Canary {
    fn lookup(&self, call: &LookupCall<'_>) -> Result<Vec<Value>, LookupError> {
        if call.terms.iter().any(|term| term.as_str().is_some_and(|term| term.contains(CANARY))) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
        Ok(call.terms.clone())
    }
}

struct NoFiles;

impl TemplateFiles for NoFiles {
    fn template(&self, name: &str) -> Result<Option<Source>, String> {
        assert!(name.contains(CANARY), "only hostile names are looked for, not {name}");
        Ok(None)
    }
}

/// Numbers that are the same in each run: xorshift.
struct Random(u64);

impl Random {
    fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        let length = u64::try_from(items.len()).unwrap();
        &items[usize::try_from(self.0 % length).unwrap()]
    }

    fn hostile(&mut self) -> String {
        const CALLS: [&str; 4] = [
            "lookup('pipe', 'canary')",
            "query('env', 'canary') | join",
            "q('file', 'canary')[0]",
            "lookup('template', 'canary', errors='ignore')",
        ];
        let call = *self.pick(&CALLS);
        let core = match *self.pick(&[0, 1, 2, 3, 4, 5]) {
            0 => format!("{{{{ {call} }}}}"),
            1 => format!("{{% set x = {call} %}}{{{{ x }}}}"),
            2 => format!("{{% if {call} %}}a{{% endif %}}"),
            3 => format!("#jinja2: variable_start_string: '[[', variable_end_string: ']]'\n[[ {call} ]]"),
            4 => format!("{{{{- {call} -}}}}"),
            _ => format!("{{% include {call} %}}"),
        };
        let around = ["", "a", "{{", "}}", "{%", "!unsafe ", "{# ", "\n", "'", "\"", "\\", "}} {{ "];
        let (before, after) = (*self.pick(&around), *self.pick(&around));
        if core.starts_with('#') && *self.pick(&[true, false]) { core } else { format!("{before}{core}{after}") }
    }
}

fn scope(hostile: &str) -> Scope {
    let text = "inner: '{{ hostile }}'\ndeep: {inner: {x: '{{ map }}'}}\n";
    let play = Layer::of_source(&load_play_file(text, "vars.yml").unwrap().root).unwrap();
    let mut facts = Layer::default();
    let origin = || Origin::Result("task".into());
    facts.insert("hostile", Slot::value(Value::from(hostile), origin()));
    facts.insert("map", Slot::value(Value::from_pairs([("k", hostile), (hostile, "k")]), origin()));
    facts.insert("list", Slot::value(Value::from(vec![hostile.to_owned(); 2]), origin()));
    facts.insert(hostile, Slot::value(Value::from(1), origin()));
    [Arc::new(play), Arc::new(facts)].into_iter().collect()
}

fn play(text: &str) -> Source {
    let quoted = format!("'{}'", text.replace('\'', "''"));
    load_play_file(&quoted, "play.yml").unwrap().root
}

#[test]
fn hostile_data_is_never_rendered() {
    let canary = Arc::new(Canary(AtomicUsize::new(0)));
    let engine = Engine::new(Config { lookups: canary.clone(), ..Config::default() });
    let (templates, conditions) = (TEMPLATES.map(play), CONDITIONS.map(play));
    let mut random = Random(0x5eed_5eed);
    for _ in 0..400 {
        let hostile = random.hostile();
        let scope = scope(&hostile);
        for template in &templates {
            let made = engine.evaluate(template, &scope);
            let made = made.unwrap_or_else(|error| panic!("{hostile:?} in {template:?}: {error}"));
            // What a template made is data, too, when it is a variable.
            let mut again = Layer::default();
            again.insert("again", Slot::value(made.value.clone(), Origin::LoopItem));
            let again = scope.with(Arc::new(again));
            let copied = engine.evaluate(&play("{{ again }}"), &again).unwrap();
            assert_eq!(copied.value, made.value);
        }
        for condition in &conditions {
            // An error is right for most of them.
            let _ = engine.condition(condition, &scope);
            let _ = engine.expression(condition, &scope);
        }
        for lookup in ["items", "list", "dict", "nested", "together", "indexed_items", "flattened", "sequence"] {
            let _ = engine.loop_items(lookup, &play("{{ map }}"), &scope);
            let _ = engine.loop_items(lookup, &play("{{ hostile }}"), &scope);
        }
        let file = template_file("{{ hostile }}{% include hostile ignore missing %}", "page.j2");
        let options = TemplateOptions::default();
        engine.render_file(&file, &scope, &options, Arc::new(NoFiles)).unwrap();
    }
    assert_eq!(canary.0.load(Ordering::Relaxed), 0, "a hostile text was rendered");
}

#[test]
fn the_canary_sings_when_a_play_calls_it() {
    let canary = Arc::new(Canary(AtomicUsize::new(0)));
    let engine = Engine::new(Config { lookups: canary.clone(), ..Config::default() });
    engine.evaluate(&play("{{ lookup('pipe', 'canary') }}"), &Scope::new()).unwrap();
    assert_eq!(canary.0.load(Ordering::Relaxed), 1);
}

#[test]
fn text_is_kept_as_it_is() {
    let mut random = Random(0xbeef);
    for _ in 0..2000 {
        let hostile = random.hostile();
        let made = Engine::default().evaluate(&play("{{ hostile }}"), &scope(&hostile)).unwrap();
        assert_eq!(made.value.as_str(), Some(&*hostile));
        assert!(made.provenance.has_results());
    }
}

//! Evaluates templates, expressions and conditions, as a filter: JSON lines in, JSON lines out.
//!
//! The tests compare the answers with those of ansible-core. A line is `{"kind", "text", "variables"}`: `kind` is
//! `template`, `expression` or `condition`, and `text` and `variables` are YAML. The answer is `{"value"}` with Python's
//! `repr` of the result, `{"error"}` with the message, or `{"broken"}` when the line cannot be used.

use std::error::Error;
use std::io::{self, BufRead as _, Write as _};
use std::sync::Arc;

use modbox_jinja::values::repr;
use modbox_python_json::{Dict, Value as Json, decode};
use modbox_template::{Engine, Layer, Scope, TemplateError, Value};
use modbox_yaml::load_play_file;

fn main() -> Result<(), Box<dyn Error>> {
    let engine = Engine::default();
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let answer = answer(&engine, &line?);
        writeln!(out, "{}", modbox_python_json::encode(&answer))?;
    }
    Ok(())
}

fn answer(engine: &Engine, line: &str) -> Json {
    let (name, text) = match evaluate(engine, line) {
        Ok(Ok(value)) => ("value", repr(&value).unwrap_or_else(|error| error.to_string())),
        Ok(Err(error)) => ("error", error.message()),
        Err(error) => ("broken", error.to_string()),
    };
    Json::from([(name, text)])
}

fn evaluate(engine: &Engine, line: &str) -> Result<Result<Value, TemplateError>, Box<dyn Error>> {
    let case = decode(line)?;
    let case = case.as_dict().ok_or("a case is an object")?;
    let variables = load_play_file(text(case, "variables")?, "variables")?.root;
    let source = load_play_file(text(case, "text")?, "text")?.root;
    let scope: Scope = Layer::of_source(&variables).map(Arc::new).into_iter().collect();
    Ok(match text(case, "kind")? {
        "condition" => engine.condition(&source, &scope).map(|found| Value::from(found.value)),
        "expression" => engine.expression(&source, &scope).map(|found| found.value),
        _ => engine.evaluate(&source, &scope).map(|found| found.value),
    })
}

fn text<'c>(case: &'c Dict, key: &str) -> Result<&'c str, Box<dyn Error>> {
    case.get(key).and_then(Json::as_str).ok_or_else(|| format!("`{key}` must be text").into())
}

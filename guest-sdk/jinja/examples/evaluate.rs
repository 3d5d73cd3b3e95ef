//! Evaluates expressions, one JSON object a line, one answer a line, so that the filters can be compared with Ansible's.
//!
//! A question is `{"expression": "v | upper", "variables": {"v": "a"}}`, or has a `template`. An answer is `{"value": …}` with the type of
//! every value, or `{"error": "…"}`. This is not Ansible's template engine: it has no lazy variables.

use std::error::Error;
use std::io::{self, BufRead, Write};
use std::path::Path;
use std::sync::Arc;

use minijinja::{Environment, UndefinedBehavior};
use modbox_jinja::values::{Offset, ValueError, View, entries, from_json, items, text, view};
use modbox_jinja::{Delimiters, FileQuestion, Host, HostError, changeable_locals};
use modbox_python_json::{Dict, Value, decode, encode};

/// This machine, in UTC.
#[derive(Debug)]
struct Machine;

impl Host for Machine {
    fn offset(&self, _seconds: i64) -> Result<Offset, HostError> {
        Ok(Offset { seconds: 0, name: Some("UTC".to_owned()) })
    }

    fn random(&self) -> Result<u64, HostError> {
        Ok(4)
    }

    fn home(&self, user: Option<&str>) -> Result<Option<String>, HostError> {
        Ok(match user {
            None => std::env::var("HOME").ok(),
            Some(_) => None,
        })
    }

    fn variable(&self, name: &str) -> Result<Option<String>, HostError> {
        Ok(std::env::var(name).ok())
    }

    fn current_directory(&self) -> Result<String, HostError> {
        let directory = std::env::current_dir().map_err(|error| HostError::Failed(error.to_string()))?;
        Ok(directory.display().to_string())
    }

    fn real_path(&self, path: &str) -> Result<String, HostError> {
        let found = std::fs::canonicalize(path).map_err(|error| HostError::Failed(error.to_string()))?;
        Ok(found.display().to_string())
    }

    fn file(&self, path: &str, question: FileQuestion) -> Result<bool, HostError> {
        let path = Path::new(path);
        Ok(match question {
            FileQuestion::Directory => path.is_dir(),
            FileQuestion::File => path.is_file(),
            FileQuestion::Link => path.is_symlink(),
            FileQuestion::Exists => path.exists(),
            FileQuestion::LinkExists => path.symlink_metadata().is_ok(),
            FileQuestion::Mount => path == Path::new("/") || path == Path::new("/proc"),
        })
    }

    fn same_file(&self, first: &str, second: &str) -> Result<bool, HostError> {
        Ok(self.real_path(first)? == self.real_path(second)?)
    }
}

fn tagged(value: &minijinja::Value) -> Result<Value, ValueError> {
    let pair = |kind: &str, value: Value| Value::from([("t", Value::from(kind)), ("v", value)]);
    Ok(match view(value) {
        View::Undefined => return Err(ValueError::Undefined),
        View::None => pair("none", Value::Null),
        View::Bool(truth) => pair("bool", Value::Bool(truth)),
        View::Int(_) | View::Long(_) => pair("int", Value::from(text(value)?)),
        View::Float(_) => pair("float", Value::from(text(value)?)),
        View::Str(text) => pair("str", Value::from(text)),
        View::Surrogates(text) => pair("str", Value::Surrogates(text.clone())),
        View::List | View::Tuple => {
            pair("list", Value::List(items(value)?.iter().map(tagged).collect::<Result<_, _>>()?))
        }
        View::Dict => {
            let all = entries(value).unwrap_or_default();
            let all = all.iter().map(|(key, value)| Ok(Value::List(vec![tagged(key)?, tagged(value)?])));
            pair("dict", Value::List(all.collect::<Result<_, ValueError>>()?))
        }
        View::Date(_) | View::DateTime(_) => pair("date", Value::from(text(value)?)),
        other => pair("other", Value::from(format!("{other:?}"))),
    })
}

fn evaluate(environment: &Environment<'_>, question: &Dict) -> Result<Value, Box<dyn Error>> {
    if let Some(template) = question.get("template").and_then(Value::as_str) {
        let template = changeable_locals(template, &Delimiters::default());
        let variables = question.get("variables").cloned().unwrap_or_default();
        let rendered = environment.render_str(&template, from_json(&variables))?;
        return Ok(tagged(&minijinja::Value::from(rendered))?);
    }
    let expression = question.get("expression").and_then(Value::as_str).ok_or("no expression")?;
    let variables = question.get("variables").cloned().unwrap_or_default();
    let value = environment.compile_expression(expression)?.eval(from_json(&variables))?;
    Ok(tagged(&value)?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Chainable);
    environment.set_formatter(|out, _, value| {
        let text = match view(value) {
            View::None => String::new(),
            View::Tuple => text(&minijinja::Value::from(items(value)?))?,
            _ => text(value)?,
        };
        Ok(out.write_str(&text)?)
    });
    let host: Arc<dyn Host> = Arc::new(Machine);
    modbox_jinja::add(&mut environment, &host);
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let Value::Dict(question) = decode(&line?)? else { return Err("a question must be an object".into()) };
        let answer = match evaluate(&environment, &question) {
            Ok(value) => Value::from([("value", value)]),
            Err(error) => Value::from([("error", error.to_string())]),
        };
        writeln!(out, "{}", encode(&answer))?;
    }
    Ok(())
}

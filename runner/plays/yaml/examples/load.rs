//! Reads texts as YAML, one question in JSON a line, and writes one typed answer in JSON a line.
//!
//! `tests/oracle/yaml/compare.py` compares the crate with ansible-core through it. A question is `{"text": …}`, or
//! `{"key_values": …, "free_form": …}` for arguments as one text. An answer is `{"value": …, "warnings": […]}` or
//! `{"error": …, "line": …, "column": …, "snippet": …}`. Each node is `[type, value, line, column]`, so that nothing is
//! lost that JSON cannot tell apart.

use std::error::Error;
use std::io::{self, BufRead, Write};

use modbox_python_json::{Dict, Value, decode, encode, repr};
use modbox_yaml::{Document, Node, Source, Warning, YamlError, load_play_file, template_file};

fn main() -> Result<(), Box<dyn Error>> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    for line in io::stdin().lock().lines() {
        writeln!(out, "{}", encode(&answer(&decode(&line?)?)))?;
    }
    Ok(out.flush()?)
}

fn answer(question: &Value) -> Value {
    let asked = |name: &str| question.as_dict().and_then(|entries| entries.get(name));
    let text = |name: &str| asked(name).and_then(Value::as_str);
    let read = if let Some(arguments) = text("key_values") {
        let free_form = asked("free_form").and_then(Value::as_bool) == Some(true);
        let root = template_file(arguments, "x").key_values(free_form);
        root.map(|root| Document { root, warnings: Vec::new() })
    } else {
        load_play_file(text("text").unwrap_or_default(), "x")
    };
    match read {
        Ok(document) => read_answer(&document),
        Err(error) => error_answer(&error),
    }
}

fn read_answer(Document { root, warnings }: &Document) -> Value {
    let warning = |warning: &Warning| {
        let position = warning.position();
        list([warning.to_string().into(), i64::from(position.line).into(), i64::from(position.column).into()])
    };
    dict([("value", node(root)), ("warnings", Value::List(warnings.iter().map(warning).collect()))])
}

fn error_answer(error: &YamlError) -> Value {
    dict([
        ("error", error.to_string().into()),
        ("line", i64::from(error.position().line).into()),
        ("column", i64::from(error.position().column).into()),
        ("snippet", error.snippet().unwrap_or_default().into()),
    ])
}

fn node(source: &Source) -> Value {
    let (kind, value) = match source.node() {
        Node::Scalar(value) => (value.type_name(), repr(value).into()),
        Node::Date(text) => ("date", text.to_string().into()),
        Node::Binary(bytes) => ("bytes", bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>().into()),
        Node::Text(text) => ("str", text.to_string().into()),
        Node::Unsafe(text) => ("unsafe", text.to_string().into()),
        Node::Vault(text) => ("vault", text.to_string().into()),
        Node::List(items) => ("list", Value::List(items.iter().map(node).collect())),
        Node::Map(map) => {
            let entries = map.iter().map(|(_, entry)| list([node(&entry.key), node(&entry.value)]));
            ("dict", Value::List(entries.collect()))
        }
    };
    let position = source.position();
    list([kind.into(), value, i64::from(position.line).into(), i64::from(position.column).into()])
}

fn list<const N: usize>(items: [Value; N]) -> Value {
    Value::List(items.into())
}

fn dict<const N: usize>(entries: [(&str, Value); N]) -> Value {
    Value::Dict(entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect::<Dict>())
}

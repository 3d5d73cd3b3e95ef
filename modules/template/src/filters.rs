//! Ansible's filters that need only their input, and Jinja's filters whose result contains Python's text of a value.

use minijinja::value::{Kwargs, Rest};
use minijinja::{Environment, Error, ErrorKind, Value as Inner};
use modbox_python_re::{Flags, Pattern, Subject, Template};
use modbox_sdk::{Dict, Value, json};

use crate::values::{inner, nice_json, outer, text};

type Result<T> = std::result::Result<T, Error>;

/// Adds all filters.
pub(crate) fn add(environment: &mut Environment<'_>) {
    environment.add_filter("to_json", |value: Inner| json::encode(&outer(&value)));
    environment.add_filter("to_nice_json", |value: Inner, options: Kwargs| -> Result<String> {
        let indent = options.get::<Option<usize>>("indent")?.unwrap_or(4).min(16);
        options.assert_all_used()?;
        Ok(nice_json(&outer(&value), indent))
    });
    environment.add_filter("from_json", |input: String| -> Result<Inner> {
        json::decode(&input).map(|value| inner(&value)).map_err(|error| bad(error.to_string()))
    });
    environment.add_filter("string", |value: Inner| text(&value));
    environment.add_filter("join", join);
    environment.add_filter("indent", indent);
    environment.add_filter("bool", truth);
    environment.add_filter("ternary", |value: Inner, yes: Inner, no: Inner| if value.is_true() { yes } else { no });
    environment.add_filter("mandatory", mandatory);
    environment.add_filter("combine", combine);
    environment.add_filter("dict2items", dict_to_items);
    environment.add_filter("items2dict", items_to_dict);
    environment.add_filter("basename", |path: String| path.rsplit('/').next().unwrap_or_default().to_owned());
    environment.add_filter("dirname", |path: String| dirname(&path).to_owned());
    environment.add_filter("quote", |value: Inner| quote(&text(&value)));
    environment.add_filter("regex_replace", regex_replace);
    environment.add_filter("regex_search", regex_search);
}

fn bad(message: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    Error::new(ErrorKind::InvalidOperation, message)
}

fn join(value: Inner, between: Option<Inner>) -> Result<String> {
    let between = between.as_ref().map(text).unwrap_or_default();
    let items: Vec<String> = value.try_iter()?.map(|item| json::str(&outer(&item))).collect();
    Ok(items.join(&between))
}

/// Jinja's `indent`, which keeps the newline at the end.
fn indent(input: String, width: Option<usize>, first: Option<bool>, options: Kwargs) -> Result<String> {
    let width = options.get::<Option<usize>>("width")?.or(width).unwrap_or(4).min(1000);
    let first = options.get::<Option<bool>>("first")?.or(first).unwrap_or_default();
    let blank = options.get::<Option<bool>>("blank")?.unwrap_or_default();
    options.assert_all_used()?;
    let margin = " ".repeat(width);
    let line = |(index, line): (usize, &str)| {
        let moved = if index == 0 { first } else { blank || !line.is_empty() };
        if moved { format!("{margin}{line}") } else { line.to_owned() }
    };
    Ok(input.split('\n').enumerate().map(line).collect::<Vec<_>>().join("\n"))
}

fn truth(value: Inner) -> bool {
    let known = matches!(text(&value).to_lowercase().as_str(), "true" | "yes" | "on" | "1" | "y" | "t" | "1.0");
    known && !value.is_undefined()
}

fn mandatory(value: Inner, message: Option<String>) -> Result<Inner> {
    if !value.is_undefined() {
        return Ok(value);
    }
    let message = message.unwrap_or_else(|| "Mandatory variable not defined.".to_owned());
    Err(Error::new(ErrorKind::UndefinedError, message))
}

fn combine(first: Inner, others: Rest<Inner>, options: Kwargs) -> Result<Inner> {
    let recursive = options.get::<Option<bool>>("recursive")?.unwrap_or_default();
    options.assert_all_used()?;
    let mut out = Dict::new();
    for value in std::iter::once(&first).chain(others.iter()) {
        let Value::Dict(entries) = outer(value) else { return Err(bad("combine expects dictionaries")) };
        merge(&mut out, entries, recursive);
    }
    Ok(inner(&Value::Dict(out)))
}

fn merge(into: &mut Dict, from: Dict, recursive: bool) {
    for (key, value) in from {
        match (into.get_mut(&key), value) {
            (Some(Value::Dict(old)), Value::Dict(new)) if recursive => merge(old, new, true),
            (_, value) => {
                into.insert(key, value);
            }
        }
    }
}

fn dict_to_items(value: Inner) -> Result<Inner> {
    let Value::Dict(entries) = outer(&value) else { return Err(bad("dict2items requires a dictionary")) };
    let item = |(key, value): (String, Value)| Value::from([("key", Value::from(key)), ("value", value)]);
    Ok(inner(&Value::List(entries.into_iter().map(item).collect())))
}

fn items_to_dict(value: Inner) -> Result<Inner> {
    let bad_items = || bad("items2dict requires a list of dictionaries with `key` and `value`");
    let mut out = Dict::new();
    for item in value.try_iter()? {
        let (key, value) = (item.get_attr("key")?, item.get_attr("value")?);
        if key.is_undefined() || value.is_undefined() {
            return Err(bad_items());
        }
        out.insert(text(&key), outer(&value));
    }
    Ok(inner(&Value::Dict(out)))
}

fn dirname(path: &str) -> &str {
    match path.rfind('/') {
        Some(0) => "/",
        Some(at) => path[..at].trim_end_matches('/'),
        None => "",
    }
}

/// Quotes a word for a shell as Python's `shlex.quote` does.
fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "@%+=:,./-_".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\"'\"'"))
}

fn pattern(pattern: &str, options: &Kwargs) -> Result<Pattern> {
    let flags = Flags {
        ignore_case: options.get::<Option<bool>>("ignorecase")?.unwrap_or_default(),
        multi_line: options.get::<Option<bool>>("multiline")?.unwrap_or_default(),
        ..Flags::default()
    };
    options.assert_all_used()?;
    Pattern::new(pattern, Subject::Text, flags).map_err(|error| bad(error.to_string()))
}

fn regex_replace(value: Inner, regex: String, replacement: Option<String>, options: Kwargs) -> Result<String> {
    let pattern = pattern(&regex, &options)?;
    let replaced = pattern.replace_all(&replacement.unwrap_or_default(), text(&value).as_bytes());
    let (bytes, _) = replaced.map_err(|error| bad(error.to_string()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn regex_search(value: Inner, regex: String, groups: Rest<Inner>, options: Kwargs) -> Result<Inner> {
    let pattern = pattern(&regex, &options)?;
    let templates = groups
        .iter()
        .map(|group| Template::new(&text(group), &pattern).map_err(|error| bad(error.to_string())))
        .collect::<Result<Vec<_>>>()?;
    let found = pattern.search(text(&value).as_bytes()).map_err(|error| bad(error.to_string()))?;
    let Some(found) = found else { return Ok(Inner::from(())) };
    let lossy = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if templates.is_empty() {
        return Ok(Inner::from(lossy(found.group(0).unwrap_or_default())));
    }
    Ok(Inner::from(templates.iter().map(|template| Inner::from(lossy(&template.expand(&found)))).collect::<Vec<_>>()))
}

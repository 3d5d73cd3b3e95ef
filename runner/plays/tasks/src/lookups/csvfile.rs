//! `csvfile`: a value of a file with separated columns, by the value of another column.

use modbox_jinja::values::{self, View};
use modbox_template::{LookupError, Value};
use modbox_yaml::key_values;

use super::call::Call;
use super::csv;
use super::encoding::Encoding;
use super::options::{Options, failed};

/// The options that a term may have in its text.
const OPTIONS: [&str; 6] = ["col", "keycol", "default", "delimiter", "file", "encoding"];

pub(super) fn run(call: &Call<'_>) -> Result<Vec<Value>, LookupError> {
    let terms = call.texts()?;
    if terms.is_empty() {
        return Err(failed("Search key is required but was not found"));
    }
    let mut options = call.options.clone();
    let mut found = Vec::new();
    for term in terms {
        let key = key(term, &mut options)?;
        match value(call, &options, &key)? {
            Some(value) => found.push(Value::from(value)),
            None => found.extend(default(&options)),
        }
    }
    Ok(found)
}

/// Returns the key of a term, and sets the options that follow it. They stay for the next terms, as in Ansible.
fn key(term: &str, options: &mut Options) -> Result<String, LookupError> {
    let mut key = None;
    for (name, value) in key_values(term, false).map_err(|error| failed(error.to_string()))? {
        match name.as_str() {
            "_raw_params" => key = Some(value),
            name if OPTIONS.contains(&name) => options.set(name, Value::from(value)),
            name => return Err(failed(format!("'{name}' is not a valid option"))),
        }
    }
    key.ok_or_else(|| failed("Search key is required but was not found"))
}

/// Returns the results for a key that is not in the file.
fn default(options: &Options) -> Vec<Value> {
    let Some(value) = options.value("default").filter(|value| !value.is_none()) else { return Vec::new() };
    match values::view(value) {
        View::List => values::items(value).unwrap_or_default(),
        _ => vec![value.clone()],
    }
}

fn value(call: &Call<'_>, options: &Options, key: &str) -> Result<Option<String>, LookupError> {
    let delimiter = options.text("delimiter")?.unwrap_or_else(|| "TAB".to_owned());
    let delimiter = if delimiter == "TAB" { "\t".to_owned() } else { delimiter };
    let mut characters = delimiter.chars();
    let (Some(delimiter), None) = (characters.next(), characters.next()) else {
        return Err(failed("\"delimiter\" must be a 1-character string"));
    };
    let name = options.text("file")?.unwrap_or_else(|| "ansible.csv".to_owned());
    let missing = || failed(format!("Unable to find '{name}' in expected paths: No such file or directory"));
    let path = call.find("files", &name)?.ok_or_else(missing)?;
    let encoding = options.text("encoding")?.unwrap_or_else(|| "utf-8".to_owned());
    let codec = Encoding::of_name(&encoding).ok_or_else(|| failed(format!("unknown encoding: {encoding}")))?;
    let text = codec.decode(&call.content(&path)?);
    let text = text.ok_or_else(|| failed(format!("'{encoding}' codec can't decode the file `{path}`")))?;
    // Python opens the file with universal line ends.
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let (key_column, column) = (options.integer("keycol", 0)?, options.integer("col", 1)?);
    for row in csv::rows(&text, delimiter).filter(|row| !row.is_empty()) {
        if item(&row, key_column)? == key {
            return item(&row, column).map(|value| Some(value.to_owned()));
        }
    }
    Ok(None)
}

/// Returns an item of a row. As in Python, a negative index counts from the end.
fn item(row: &[String], index: i64) -> Result<&str, LookupError> {
    let from_end = || row.len().checked_sub(usize::try_from(index.unsigned_abs()).ok()?);
    let index = if index < 0 { from_end() } else { usize::try_from(index).ok() };
    index.and_then(|index| row.get(index)).map(String::as_str).ok_or_else(|| failed("list index out of range"))
}

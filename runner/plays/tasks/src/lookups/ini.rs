//! `ini`: values of INI files and of Java's property files.

use modbox_python_re::{Flags, Pattern, Subject};
use modbox_template::{LookupError, Value};

use super::call::Call;
use super::encoding::Encoding;
use super::ini_interpolation::interpolated;
use super::options::{Options, failed};
use crate::ini_file::{DEFAULT_SECTION, IniError, IniFile, Section};

/// The options that a term may have in its text, in Ansible's order.
const OPTIONS: [&str; 9] =
    ["type", "file", "section", "re", "encoding", "default", "case_sensitive", "allow_no_value", "interpolation"];

/// The section of a file of properties.
const PROPERTIES: &str = "java_properties";

pub(super) fn run(call: &Call<'_>) -> Result<Vec<Value>, LookupError> {
    let mut options = call.options.clone();
    let allow_none = options.flag("allow_none", false)?;
    let mut file = IniFile {
        allow_no_value: options.flag("allow_no_value", allow_none)?,
        case_sensitive: options.flag("case_sensitive", false)?,
        ..IniFile::default()
    };
    let interpolates = options.flag("interpolation", true)?;
    let mut found = Vec::new();
    for term in call.texts()? {
        let key = key(term, &mut options)?;
        let lookup = read(call, &options, &mut file)?;
        found.extend(lookup.values(&file, &key, interpolates, &options)?);
    }
    Ok(found)
}

/// Returns the key of a term, and sets the options that follow it. They stay for the next terms, as in Ansible.
fn key(term: &str, options: &mut Options) -> Result<String, LookupError> {
    if !term.contains('=') && !term.trim().contains(' ') {
        return Ok(term.to_owned());
    }
    let mut key = None;
    let parts = parts(term);
    for part in &parts {
        let Some((name, value)) = part.split_once('=') else {
            key.get_or_insert_with(|| part.clone());
            continue;
        };
        if value.contains('=') {
            return Err(failed(format!("Could not use '{part}' from {parts:?}.")));
        }
        if !OPTIONS.contains(&name) {
            return Err(failed(format!("'{name}' is not a valid option.")));
        }
        options.set(name, Value::from(value));
    }
    key.ok_or_else(|| {
        failed(format!("No key to look up was provided as first term within string inline options: {term}"))
    })
}

/// Splits a term at white space. A word without an option belongs to the value before it.
fn parts(term: &str) -> Vec<String> {
    let mut parts: Vec<(&str, String)> = Vec::new();
    let mut current = "key";
    for word in term.split_whitespace() {
        if let Some(option) = OPTIONS.iter().rev().find(|option| word.contains(&format!("{option}="))) {
            current = option;
        }
        match parts.iter_mut().find(|(name, _)| *name == current) {
            Some((_, value)) => {
                value.push(' ');
                value.push_str(word);
            }
            None => parts.push((current, word.to_owned())),
        }
    }
    parts.into_iter().map(|(_, value)| value).collect()
}

/// What is looked for in a file.
struct Request {
    section: String,
    is_pattern: bool,
    name: String,
}

fn read(call: &Call<'_>, options: &Options, file: &mut IniFile) -> Result<Request, LookupError> {
    let name = options.text("file")?.unwrap_or_else(|| "ansible.ini".to_owned());
    let path =
        call.find("files", &name)?.ok_or_else(|| failed(format!("Unable to find '{name}' in expected paths")))?;
    let encoding = options.text("encoding")?.unwrap_or_else(|| "utf-8".to_owned());
    let codec = Encoding::of_name(&encoding).ok_or_else(|| failed(format!("unknown encoding: {encoding}")))?;
    let text = codec.decode(&call.content(&path)?);
    let text = text.ok_or_else(|| failed(format!("'{encoding}' codec can't decode the file `{path}`")))?;
    let kind = options.text("type")?.unwrap_or_else(|| "ini".to_owned());
    let (text, section) = match kind.as_str() {
        "ini" => (text, options.text("section")?.unwrap_or_else(|| "global".to_owned())),
        "properties" => (format!("[{PROPERTIES}]\n{text}"), PROPERTIES.to_owned()),
        _ => {
            return Err(failed(format!("Invalid value \"{kind}\" for configuration option \"type\": ini, properties")));
        }
    };
    file.read(&text).map_err(|error| match error {
        IniError::DuplicateOption { .. } => failed(format!("Duplicate option in '{name}': {error}.")),
        error => failed(format!("failed to read `{path}`: {error}")),
    })?;
    Ok(Request { section, is_pattern: options.flag("re", false)?, name })
}

impl Request {
    fn values(
        &self,
        file: &IniFile,
        key: &str,
        interpolates: bool,
        options: &Options,
    ) -> Result<Vec<Value>, LookupError> {
        let own = match file.sections.get(&self.section) {
            Some(section) => section.clone(),
            None if self.section == DEFAULT_SECTION => Section::new(),
            None => return Err(failed(format!("No section '{}' in '{}'.", self.section, self.name))),
        };
        let mut all = file.defaults.clone();
        all.extend(own);
        let finish = |option: &str, value: &str| {
            let value = if interpolates { interpolated(file, &all, option, value) } else { Ok(value.to_owned()) };
            value.map(Value::from).map_err(failed)
        };
        if self.is_pattern {
            return matching(&all, key, interpolates, finish);
        }
        let option = file.option_name(key);
        match all.get(&option) {
            Some(Some(value)) => Ok(vec![finish(&option, value)?]),
            Some(None) => Ok(Vec::new()),
            None => Ok(vec![options.value("default").cloned().unwrap_or_else(|| Value::from(""))]),
        }
    }
}

/// Returns the values of all options whose names begin with a match of a pattern.
fn matching(
    all: &Section,
    pattern: &str,
    interpolates: bool,
    finish: impl Fn(&str, &str) -> Result<Value, LookupError>,
) -> Result<Vec<Value>, LookupError> {
    let regex = Pattern::new(pattern, Subject::Text, Flags::default());
    let regex = regex.map_err(|error| failed(format!("invalid pattern `{pattern}`: {error}")))?;
    let mut found = Vec::new();
    for (option, value) in all {
        let matched = regex.search(option.as_bytes()).map_err(|error| failed(error.to_string()))?;
        if matched.is_some_and(|matched| matched.span(0).is_some_and(|(start, _)| start == 0)) {
            found.push(match value {
                Some(value) => finish(option, value)?,
                None if interpolates => Value::from(""),
                None => Value::from(()),
            });
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_are_split_as_ansible_does() {
        let check = |term: &str, expect: &[&str]| assert_eq!(parts(term), expect, "{term}");
        check("user section=a b file=c.ini", &["user", "section=a b", "file=c.ini"]);
        check("two words", &["two words"]);
        check("file=x user", &["file=x user"]);
    }

    #[test]
    fn options_in_terms_must_be_known() {
        let mut options = Options::default();
        assert_eq!(key("user section=a", &mut options), Ok("user".to_owned()));
        assert_eq!(options.text("section"), Ok(Some("a".to_owned())));
        assert!(key("user foo=a", &mut options).is_err());
        assert!(key("section=a", &mut options).is_err());
        assert!(key("user section=a=b", &mut options).is_err());
    }
}

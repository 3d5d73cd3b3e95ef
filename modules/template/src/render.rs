//! Renders a template with variables, as Ansible does.

use std::path::{Component, Path, PathBuf};

use std::sync::Arc;

use minijinja::value::ValueKind;
use minijinja::{AutoEscape, Environment, Error, ErrorKind, UndefinedBehavior, Value as Inner};
use modbox_jinja::values::{self, entries, items};
use modbox_jinja::{Delimiters, Host, NoHost, changeable_locals};
use modbox_sdk::{Failure, Value};

use crate::header::Syntax;

/// The longest template.
pub(crate) const MAX_TEMPLATE_BYTES: u64 = 16 * 1024 * 1024;

/// The most values in one that is shown.
const MAX_LISTED: usize = 1_000_000;

/// A newline in a value, while the newlines of the template are replaced.
const VALUE_NEWLINE: char = '\u{10FFFE}';

/// Renders a template. Included templates are in `folder`.
///
/// # Errors
///
/// The template is wrong, or a variable is undefined. The message is Ansible's, if it has one.
pub(crate) fn render(
    template: &str,
    variables: &Value,
    syntax: &Syntax,
    folder: Option<PathBuf>,
) -> Result<String, Failure> {
    // Ansible leaves a text alone that has nothing of a template in it, with its line ends.
    if [&syntax.block.0, &syntax.variable.0, &syntax.comment.0]
        .into_iter()
        .all(|start| !template.contains(start.as_str()))
    {
        return Ok(template.to_owned());
    }
    let mut environment = Environment::new();
    environment.set_syntax(syntax.config()?);
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    let plain = syntax.newline == "\n";
    environment.set_formatter(move |out, _, value| {
        let text = text(value)?;
        let written =
            if plain { out.write_str(&text) } else { out.write_str(&text.replace('\n', &VALUE_NEWLINE.to_string())) };
        written.map_err(Error::from)
    });
    if let Some(folder) = folder {
        let syntax = syntax.clone();
        environment.set_loader(move |name| {
            let source = load(&folder, name)?;
            Ok(source.map(|source| changeable_locals(&source, &delimiters(&syntax)).into_owned()))
        });
    }
    let host: Arc<dyn Host> = Arc::new(NoHost);
    modbox_jinja::add(&mut environment, &host);
    let source = template.replace("\r\n", "\n").replace('\r', "\n");
    let source = changeable_locals(&source, &delimiters(syntax));
    let rendered = environment.render_named_str("template", &source, values::from_json(variables));
    let rendered = rendered.map_err(|error| failure(&error, &source))?;
    let rendered = if plain { rendered } else { rendered.replace('\n', &syntax.newline).replace(VALUE_NEWLINE, "\n") };
    // Ansible's rule: the file ends with at least as many newlines as the template. A `\r` ends its count of those that are
    // there.
    let ending = |text: &str| text.len() - text.trim_end_matches('\n').len();
    let missing = ending(&source).saturating_sub(ending(&rendered));
    Ok(rendered + &syntax.newline.repeat(missing))
}

fn delimiters(syntax: &Syntax) -> Delimiters<'_> {
    fn pair(of: &(String, String)) -> (&str, &str) {
        (&of.0, &of.1)
    }
    Delimiters { block: pair(&syntax.block), variable: pair(&syntax.variable), comment: pair(&syntax.comment) }
}

/// Returns the text of Python's `str`, and an empty text for `None`, as in Ansible's templates.
fn text(value: &Inner) -> Result<String, Error> {
    Ok(match value.kind() {
        // The engine refuses undefined values earlier, so this is the value of an `if` without `else`.
        ValueKind::None | ValueKind::Undefined => String::new(),
        _ => values::text(&listed(value, &mut { MAX_LISTED })?)?,
    })
}

/// Returns a value with lists in the place of tuples, also of those in it, as ansible-core 2.19 shows it (`finalize_value`).
/// `left` values may still be looked at.
fn listed(value: &Inner, left: &mut usize) -> Result<Inner, Error> {
    *left = left.checked_sub(1).ok_or_else(|| {
        Error::new(ErrorKind::InvalidOperation, format!("a value has more than {MAX_LISTED} values in it"))
    })?;
    Ok(match value.kind() {
        ValueKind::Seq => {
            let items = items(value)?.iter().map(|item| listed(item, left)).collect::<Result<Vec<_>, _>>()?;
            Inner::from(items)
        }
        ValueKind::Map => match entries(value) {
            Some(entries) => {
                let entries = entries.into_iter().map(|(key, item)| Ok((key, listed(&item, left)?)));
                Inner::from_pairs(entries.collect::<Result<Vec<_>, Error>>()?)
            }
            None => value.clone(),
        },
        _ => value.clone(),
    })
}

/// Loads a template from the folder, or a folder in it.
fn load(folder: &Path, name: &str) -> Result<Option<String>, Error> {
    let relative = Path::new(name);
    if !relative.components().all(|part| matches!(part, Component::Normal(_))) {
        return Ok(None);
    }
    let unreadable = |why: String| Error::new(ErrorKind::InvalidOperation, format!("failed to read `{name}`: {why}"));
    let bytes = match modbox_sdk::fs::read(folder.join(relative), MAX_TEMPLATE_BYTES) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Error::new(ErrorKind::InvalidOperation, error.to_string())),
    };
    let source = String::from_utf8(bytes).map_err(|error| unreadable(error.to_string()))?;
    Ok(Some(source.replace("\r\n", "\n")))
}

/// Returns the expression of an error. For a filter or test, that is what stands before it.
fn operand(source: &str, range: std::ops::Range<usize>) -> &str {
    let before = source.get(..range.start).unwrap_or_default().trim_end();
    let before = before.strip_suffix(" not").unwrap_or(before);
    let Some(before) = before.strip_suffix('|').or_else(|| before.strip_suffix(" is")) else {
        return source.get(range).unwrap_or_default().trim();
    };
    let before = before.trim_end();
    let start = before.rfind(|c: char| !c.is_alphanumeric() && c != '_' && c != '.').map_or(0, |at| at + 1);
    before.get(start..).unwrap_or_default()
}

fn failure(error: &Error, source: &str) -> Failure {
    if error.kind() == ErrorKind::UndefinedError && error.detail().is_none_or(|detail| !detail.contains("Mandatory")) {
        let expression = error.range().map_or("", |range| operand(source, range));
        let is_name = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_');
        if is_name(expression) {
            return Failure::new(format!("'{expression}' is undefined"));
        }
        if let Some((_, attribute)) = expression.rsplit_once('.').filter(|(_, attribute)| is_name(attribute)) {
            return Failure::new(format!("object of type 'dict' has no attribute '{attribute}'"));
        }
    }
    if error.kind() == ErrorKind::UnknownFilter {
        let name = error.detail().and_then(|detail| detail.split(' ').nth(1)).unwrap_or_default();
        return Failure::new(format!("Syntax error in template: No filter named '{name}'."));
    }
    let line = error.line().map_or_else(String::new, |line| format!(" in line {line} of the template"));
    let detail = error.detail().map_or_else(|| error.kind().to_string(), str::to_owned);
    Failure::new(format!("{detail}{line}")).with("error_kind", error.kind().to_string())
}

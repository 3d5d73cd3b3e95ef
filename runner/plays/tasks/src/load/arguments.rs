//! The arguments of an action in all the forms that Ansible takes: mappings, `key=value` texts, free form and `args`.

use modbox_yaml::{Node, Source};

use crate::error::{LoadError, Problem};
use crate::load::values;
use crate::model::task::{Args, Argument, short_name};

/// Actions whose text is a command: `key=value` is an argument only for the keys that they have.
const FREE_FORM: [&str; 6] = ["command", "raw", "script", "shell", "win_command", "win_shell"];

/// Says whether an action takes a command as its text.
#[must_use]
pub fn is_free_form(action: &str) -> bool {
    let action = action.strip_prefix("ansible.windows.").unwrap_or_else(|| short_name(action));
    FREE_FORM.contains(&action)
}

/// Reads the arguments that are the value of the action's own key.
///
/// # Errors
///
/// The value or `args` has another form than a mapping or text.
pub fn new_style(action: &str, value: &Source, additional: Option<&Source>) -> Result<Args, LoadError> {
    let own = match value.node() {
        Node::Map(_) => of_map(value),
        Node::Text(_) | Node::Unsafe(_) => of_text(value, is_free_form(action))?,
        Node::Vault(_) => Args { raw: Some(value.clone()), ..Args::default() },
        _ if value.is_null() => Args::default(),
        _ => return Err(values::wrong_type(value, action, "a mapping or text")),
    };
    merged(action, own, additional)
}

/// Reads the value of `action` or `local_action`: the name of the action, and its arguments.
///
/// # Errors
///
/// The value has no name of an action, or another form than a mapping or text.
pub fn old_style(value: &Source, additional: Option<&Source>) -> Result<(Source, Args), LoadError> {
    let (name, mut own) = match value.node() {
        Node::Text(_) => split(value)?,
        Node::Map(map) => {
            let module = map.get("module").ok_or_else(|| LoadError::new(value.position(), Problem::NoAction))?;
            let (name, from_text) = split(module)?;
            let mut own = of_map(value);
            own.named.shift_remove("module");
            own.raw = from_text.raw.or(own.raw);
            own.named.extend(from_text.named);
            (name, own)
        }
        _ => return Err(values::wrong_type(value, "action", "text or a mapping")),
    };
    if let Some(nested) = own.named.shift_remove("args") {
        let nested = match nested.value.node() {
            Node::Text(_) => of_text(&nested.value, false)?,
            _ => of_map(&nested.value),
        };
        own.named.extend(nested.named);
    }
    let action = name.as_text().map_or_else(String::new, |text| text.to_string());
    Ok((name, merged(&action, own, additional)?))
}

/// Adds the keyword `args` below the arguments that an action has.
fn merged(action: &str, own: Args, additional: Option<&Source>) -> Result<Args, LoadError> {
    let mut args = match additional {
        None => Args::default(),
        Some(source) => match source.node() {
            Node::Map(_) => of_map(source),
            Node::Text(text) if text.trim_start().starts_with("{{") => {
                Args { whole: Some(source.clone()), ..Args::default() }
            }
            _ if source.is_null() => Args::default(),
            _ => return Err(values::wrong_type(source, "args", "a mapping or a template")),
        },
    };
    args.raw = own.raw.or(args.raw);
    args.named.extend(own.named);
    if !is_free_form(action)
        && let Some((name, argument)) = args.named.iter().find(|(name, _)| name.starts_with("_ansible_"))
    {
        let problem = Problem::Other(format!(
            "unknown option `{name}` of `{action}`: names that start with `_ansible_` are for Ansible's own use"
        ));
        return Err(LoadError::new(argument.key.position(), problem));
    }
    Ok(args)
}

/// Returns the arguments that a mapping is.
fn of_map(source: &Source) -> Args {
    let mut args = Args::default();
    let Some(map) = source.as_map() else { return args };
    for (key, entry) in map.iter() {
        let name = values::key_text(key);
        if name == "_raw_params" {
            args.raw = Some(entry.value.clone());
        } else {
            let argument = Argument { key: entry.key.clone(), value: entry.value.clone() };
            args.named.insert(name.into(), argument);
        }
    }
    args
}

/// Returns the arguments of a text of `key=value`, or the command that a text of free form is.
fn of_text(source: &Source, free_form: bool) -> Result<Args, LoadError> {
    source
        .key_values(free_form)
        .map(|pairs| of_map(&pairs))
        .map_err(|error| LoadError::new(&error.position().clone(), Problem::Yaml(error)))
}

/// Splits the name of an action from the text of its arguments.
fn split(source: &Source) -> Result<(Source, Args), LoadError> {
    let text = source.as_text().ok_or_else(|| values::wrong_type(source, "action", "text"))?;
    let start = text.len() - text.trim_start().len();
    let end = name_end(text, start);
    let name = source.text_of(start..end).filter(|_| start < end);
    let name = name.ok_or_else(|| LoadError::new(source.position(), Problem::NoAction))?;
    let rest = end + (text[end..].len() - text[end..].trim_start().len());
    let args = match source.text_of(rest..text.len()).filter(|_| rest < text.len()) {
        Some(rest) => of_text(&rest, is_free_form(&text[start..end]))?,
        None => Args::default(),
    };
    Ok((name, args))
}

/// Returns where the name of an action ends: at the first space that is not in a template.
fn name_end(text: &str, start: usize) -> usize {
    let mut depth = 0_usize;
    let bytes = text.as_bytes();
    for (at, c) in text[start..].char_indices().map(|(at, c)| (at + start, c)) {
        match (c, bytes.get(at + 1)) {
            ('{', Some(b'{')) => depth += 1,
            ('}', Some(b'}')) => depth = depth.saturating_sub(1),
            (c, _) if c.is_whitespace() && depth == 0 => return at,
            _ => {}
        }
    }
    text.len()
}

//! Filters for YAML. The writer is in `crate::yaml`; the host reads.

use minijinja::Value;

use crate::call::{Call, given, int_argument, str_argument};
use crate::failure::{Outcome, failure};
use crate::made::Made;
use crate::values::{View, is_true, text, view};
use crate::yaml::{Style, dump};

/// Writes YAML.
pub(super) fn to_yaml(call: &mut Call<'_, '_, '_>) -> Outcome {
    // Ansible accepts and ignores more positional arguments.
    call.positional.truncate(1);
    write(call, Style::default())
}

/// Writes YAML on several lines.
pub(super) fn to_nice_yaml(call: &mut Call<'_, '_, '_>) -> Outcome {
    let style = Style { flow: Some(false), indent: 4, ..Style::default() };
    if call.positional.len() > 1 {
        let indent = call.positional[1].clone();
        call.positional.truncate(1);
        call.named.push(("indent".to_owned(), indent));
    }
    write(call, style)
}

fn write(call: &mut Call<'_, '_, '_>, mut style: Style) -> Outcome {
    let named = std::mem::take(&mut call.named);
    for (name, value) in named {
        let number = |value: &Value| if value.is_none() { Ok(0) } else { int_argument(value) };
        match name.as_str() {
            "indent" => style.indent = usize::try_from(number(&value)?).unwrap_or(0),
            "width" => style.width = width(&value)?,
            "default_flow_style" => style.flow = if value.is_none() { None } else { Some(is_true(&value)) },
            "sort_keys" => style.sort_keys = is_true(&value),
            "explicit_start" => style.explicit_start = is_true(&value),
            "explicit_end" => style.explicit_end = is_true(&value),
            "default_style" => style.scalar = scalar_style(&value)?,
            "canonical" => style.canonical = is_true(&value),
            "encoding" | "tags" | "version" if !is_true(&value) => {}
            "line_break" if matches!(value.as_str(), None | Some("\n")) => {}
            "a" => call.positional.push(value),
            _ => return Err(failure(format!("to_yaml() does not support the option '{name}'"))),
        }
    }
    let ([value], []) = call.bind(["a"], [])?;
    dump(&value, &style).map(Value::from)
}

fn width(value: &Value) -> Outcome<i64> {
    match view(value) {
        View::None => Ok(80),
        View::Float(number) if number.is_infinite() => Err(failure("cannot convert float infinity to integer")),
        _ => int_argument(value),
    }
}

fn scalar_style(value: &Value) -> Outcome<Option<char>> {
    let style = given(Some(value.clone())).as_ref().map_or(Ok(String::new()), text)?;
    match style.as_str() {
        "" => Ok(None),
        "'" | "\"" | "|" | ">" => Ok(style.chars().next()),
        _ => Err(failure(format!("unknown style of scalars: {style}"))),
    }
}

fn documents(call: &mut Call<'_, '_, '_>, value: &Value) -> Outcome<Vec<Value>> {
    let text = str_argument("the YAML text", value)?;
    Made::add_parsed(call.state, &text)?;
    Ok(call.host.yaml(&text)?)
}

/// Reads a YAML document. What is not text stays as it is.
pub(super) fn from_yaml(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([value], []) = call.bind(["data"], [])?;
    if !matches!(view(&value), View::Str(_)) {
        return Ok(value);
    }
    let mut documents = documents(call, &value)?;
    if documents.len() > 1 {
        return Err(failure("expected a single document in the stream, but found another document"));
    }
    Ok(documents.pop().unwrap_or_else(|| Value::from(())))
}

/// Reads all documents of a YAML text.
pub(super) fn from_yaml_all(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([value], []) = call.bind(["data"], [])?;
    match view(&value) {
        View::None => Ok(Value::from(Vec::<Value>::new())),
        View::Str(_) => Ok(Value::from(documents(call, &value)?)),
        _ => Ok(value),
    }
}

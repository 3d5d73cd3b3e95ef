//! Filters for JSON.

use minijinja::Value;
use modbox_python_json::{Value as Json, decode};

use super::json_writer::{Options, write};
use crate::call::{Call, flag, given, int_argument, str_argument};
use crate::failure::{Outcome, failure};
use crate::made::Made;
use crate::text::pad;
use crate::values::{View, from_json as value_of, is_true, items, text, type_name, view};

/// Names of options that only change how a value is checked, or that Ansible ignores.
const IGNORED: [&str; 6] = ["vault_to_text", "preprocess_unsafe", "profile", "check_circular", "default", "cls"];

/// Writes JSON on one line.
pub(super) fn to_json(call: &mut Call<'_, '_, '_>) -> Outcome {
    let (value, options) = read_options(call, None, false)?;
    write(&value, &options).map(Value::from)
}

/// Writes JSON on several lines with sorted keys.
pub(super) fn to_nice_json(call: &mut Call<'_, '_, '_>) -> Outcome {
    call.named.retain(|(name, _)| name != "separators");
    let (value, mut options) = read_options(call, Some(Value::from(4)), true)?;
    options.separators = (",".to_owned(), ": ".to_owned());
    write(&value, &options).map(Value::from)
}

/// Writes JSON that can stand in HTML.
pub(super) fn tojson(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([value], [indent]) = call.bind(["value"], ["indent"])?;
    let options = with_indent(Options { sort_keys: true, ..Options::default() }, given(indent).as_ref())?;
    let json = write(&value, &options)?;
    let json = json.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026").replace('\'', "\\u0027");
    Ok(Value::from_safe_string(json))
}

fn read_options(call: &mut Call<'_, '_, '_>, indent: Option<Value>, sort_keys: bool) -> Outcome<(Value, Options)> {
    let profile = call.named.iter().find(|(name, _)| name == "profile").map(|(_, profile)| profile.clone());
    if let Some(profile) = profile.filter(|profile| !profile.is_none() && profile.as_str() != Some("tagless")) {
        return Err(failure(format!("Unknown JSON profile {}", text(&profile)?)));
    }
    call.named.retain(|(name, _)| !IGNORED.contains(&name.as_str()));
    let nice = indent.is_some();
    if !nice && call.positional.len() > 1 {
        call.positional.truncate(1);
    }
    let ([value], [given_indent, sort, separators, ascii, skip, nan]) =
        call.bind(["a"], ["indent", "sort_keys", "separators", "ensure_ascii", "skipkeys", "allow_nan"])?;
    let options = Options {
        sort_keys: sort.as_ref().map_or(sort_keys, is_true),
        ensure_ascii: ascii.as_ref().is_none_or(is_true),
        skip_keys: flag(skip.as_ref()),
        allow_nan: nan.as_ref().is_none_or(is_true),
        ..Options::default()
    };
    let indent = if given_indent.is_some() { given_indent } else { indent };
    let mut options = with_indent(options, given(indent).as_ref())?;
    if let Some(separators) = given(separators) {
        let parts = items(&separators)?;
        let [first, second] = parts.as_slice() else { return Err(failure("separators must have two items")) };
        let part = |value| str_argument("a separator", value).map(std::borrow::Cow::into_owned);
        options.separators = (part(first)?, part(second)?);
    }
    Ok((value, options))
}

/// Sets the indentation, a number of blanks or a text. It also removes the blank at the ends of lines.
fn with_indent(mut options: Options, indent: Option<&Value>) -> Outcome<Options> {
    let Some(indent) = indent else { return Ok(options) };
    options.indent = Some(match view(indent) {
        View::Str(indent) => indent.to_owned(),
        _ => pad::repeat(" ", int_argument(indent)?.min(100_000))?,
    });
    ",".clone_into(&mut options.separators.0);
    Ok(options)
}

/// Reads JSON.
pub(super) fn from_json(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([value], [_profile]) = call.bind(["a"], ["profile"])?;
    let View::Str(json) = view(&value) else {
        let wrong = type_name(&value);
        return Err(failure(format!("the JSON object must be str, bytes or bytearray, not {wrong}")));
    };
    let decoded = decode(json).map_err(|error| failure(error.to_string()))?;
    check_markers(&decoded)?;
    Made::add_parsed(call.state, json)?;
    Ok(value_of(&decoded))
}

/// Refuses the keys with which Ansible marks secrets, and text that is not UTF-8.
fn check_markers(value: &Json) -> Outcome<()> {
    match value {
        Json::Surrogates(_) => {
            Err(failure("Refusing to deserialize an invalid UTF8 string value: surrogates not allowed"))
        }
        Json::List(items) => items.iter().try_for_each(check_markers),
        Json::Dict(entries) => {
            if let Some(marker) = ["__ansible_unsafe", "__ansible_vault"].iter().find(|key| entries.contains_key(**key))
            {
                return Err(failure(format!("'{marker}' is not supported in this context")));
            }
            entries.values().try_for_each(check_markers)
        }
        _ => Ok(()),
    }
}

//! Filters for regular expressions.

use std::sync::Arc;

use minijinja::Value;
use modbox_python_json::Value as Json;
use modbox_python_re::{Flags, Match, Pattern, Subject};

use super::encoding::bytes_of;
use crate::call::{Call, flag, int_argument, str_argument};
use crate::failure::{Outcome, failure, wrong_type};
use crate::values::{View, from_json, text, view};

/// Compiles a pattern.
pub(crate) fn pattern(pattern: &Value, ignore_case: bool, multi_line: bool) -> Outcome<Arc<Pattern>> {
    let flags = Flags { ignore_case, multi_line, ..Flags::default() };
    let pattern = str_argument("a regular expression", pattern)?;
    Pattern::cached(&pattern, Subject::Text, flags).map_err(|error| failure(error.to_string()))
}

fn found(bytes: Option<&[u8]>) -> Value {
    bytes.map_or_else(|| Value::from(()), |bytes| from_json(&Json::from_os_bytes(bytes)))
}

/// Replaces matches.
pub(super) fn replace(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([], [value, regex, replacement, ignore_case, multi_line, count, mandatory]) =
        call.bind([], ["value", "pattern", "replacement", "ignorecase", "multiline", "count", "mandatory_count"])?;
    let empty = || Value::from("");
    let (value, regex) = (value.unwrap_or_else(empty), regex.unwrap_or_else(empty));
    let replacement = replacement.unwrap_or_else(empty);
    let compiled = pattern(&regex, flag(ignore_case.as_ref()), flag(multi_line.as_ref()))?;
    let count = count.as_ref().map_or(Ok(0), int_argument)?;
    let template = str_argument("the replacement", &replacement)?;
    let contents = bytes_of(&value)?;
    // A negative count replaces nothing.
    let (bytes, matches) = if count < 0 {
        (contents, 0)
    } else {
        let most = usize::try_from(count).ok().filter(|count| *count > 0);
        compiled.replace(&template, &contents, most).map_err(|error| failure(error.to_string()))?
    };
    if let Some(wanted) = mandatory.filter(crate::values::is_true) {
        let matches = Value::from(matches);
        if !crate::values::equal(&wanted, &matches)? {
            let (regex, wanted) = (text(&regex)?, text(&wanted)?);
            return Err(failure(format!("'{regex}' should match {wanted} times, but matches {matches} times")));
        }
    }
    Ok(found(Some(&bytes)))
}

/// Returns the first match, or groups of it.
pub(super) fn search(call: &mut Call<'_, '_, '_>) -> Outcome {
    let value = call.input()?;
    let rest = call.positional.get(1..).unwrap_or_default();
    let by_name = call.named.iter().find(|(name, _)| name == "regex").map(|(_, regex)| regex.clone());
    let (regex, groups) = match (rest.split_first(), by_name) {
        (Some((regex, groups)), None) => (regex.clone(), groups),
        (None, Some(regex)) => (regex, rest),
        (Some(_), Some(_)) => return Err(failure("regex_search() got multiple values for argument 'regex'")),
        (None, None) => return Err(failure("regex_search() missing 1 required positional argument: 'regex'")),
    };
    let option = |wanted: &str| flag(call.named.iter().find(|(name, _)| name == wanted).map(|(_, value)| value));
    let groups = groups.iter().map(group).collect::<Outcome<Vec<_>>>()?;
    let compiled = pattern(&regex, option("ignorecase"), option("multiline"))?;
    let matched = compiled.search(&bytes_of(&value)?).map_err(|error| failure(error.to_string()))?;
    let Some(matched) = matched else { return Ok(Value::from(())) };
    if groups.is_empty() {
        return Ok(found(matched.group(0)));
    }
    let group = |group: &Group| {
        let number = match group {
            Group::Number(number) => Some(*number),
            Group::Name(name) => compiled.index_of(name),
        };
        number.filter(|number| *number <= compiled.groups()).map(|number| found(matched.group(number)))
    };
    let values = groups.iter().map(group).collect::<Option<Vec<_>>>();
    values.map(Value::from).ok_or_else(|| failure("no such group"))
}

/// A group that is named as `\1` or `\g<name>`.
enum Group {
    Number(usize),
    Name(String),
}

fn group(value: &Value) -> Outcome<Group> {
    let View::Str(text) = view(value) else { return Err(wrong_type("a group", "str", value)) };
    if let Some(rest) = text.strip_prefix("\\g") {
        let name = rest.strip_prefix('<').and_then(|rest| {
            let word = rest.find(char::is_whitespace).map_or(rest, |end| &rest[..end]);
            word.rfind('>').map(|end| &word[..end])
        });
        let name = name.filter(|name| !name.is_empty()).ok_or_else(|| failure("Unknown argument"))?;
        return Ok(Group::Name(name.to_owned()));
    }
    let digits = text.strip_prefix('\\').ok_or_else(|| failure("Unknown argument"))?;
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    digits[..end].parse().map(Group::Number).map_err(|_| failure("Unknown argument"))
}

/// Returns all matches.
pub(super) fn find_all(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([value, regex], [multi_line, ignore_case]) = call.bind(["value", "regex"], ["multiline", "ignorecase"])?;
    let compiled = pattern(&regex, flag(ignore_case.as_ref()), flag(multi_line.as_ref()))?;
    let all = compiled.find_all(&bytes_of(&value)?).map_err(|error| failure(error.to_string()))?;
    let text_of = |matched: &Match, number: usize| found(Some(matched.group(number).unwrap_or_default()));
    let item = |matched: &Match| match compiled.groups() {
        0 => text_of(matched, 0),
        1 => text_of(matched, 1),
        groups => {
            let groups: Vec<Value> = (1..=groups).map(|number| text_of(matched, number)).collect();
            Value::from(minijinja::value::Tuple::from(groups))
        }
    };
    Ok(Value::from(all.iter().map(item).collect::<Vec<_>>()))
}

/// Escapes the special characters of regular expressions.
pub(super) fn escape(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([value], [kind]) = call.bind(["string"], ["re_type"])?;
    let kind = kind.map_or_else(|| Ok("python".to_owned()), |kind| text(&kind))?;
    let special = match kind.as_str() {
        "python" => "()[]{}?*+-|^$\\.&~# \t\n\r\u{b}\u{c}",
        "posix_basic" => "].[^$*\\",
        "posix_extended" => return Err(failure(format!("Regex type ({kind}) not yet implemented"))),
        _ => return Err(failure(format!("Invalid regex type ({kind})"))),
    };
    let mut out = String::new();
    for c in text(&value)?.chars() {
        if special.contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    Ok(Value::from(out))
}

//! Tests of text: case, and regular expressions.

use minijinja::Value;

use crate::call::{Call, flag};
use crate::failure::{Outcome, failure};
use crate::filters::bytes_of;
use crate::filters::regex::pattern;
use crate::text::case;
use crate::values::text;

/// Is the text in lower case?
pub(super) fn lower(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([value], []) = call.bind(["value"], [])?;
    Ok(Value::from(case::is_lower(&text(&value)?)))
}

/// Is the text in upper case?
pub(super) fn upper(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([value], []) = call.bind(["value"], [])?;
    Ok(Value::from(case::is_upper(&text(&value)?)))
}

fn matches(call: &Call<'_, '_, '_>, how: Option<&str>) -> Outcome {
    let (value, regex, ignore_case, multi_line, how) = if let Some(how) = how {
        let ([value], [regex, ignore_case, multi_line]) =
            call.bind(["value"], ["pattern", "ignorecase", "multiline"])?;
        (value, regex, ignore_case, multi_line, how.to_owned())
    } else {
        let ([value], [regex, ignore_case, multi_line, how]) =
            call.bind(["value"], ["pattern", "ignorecase", "multiline", "match_type"])?;
        let how = how.as_ref().map_or_else(|| Ok("search".to_owned()), text)?;
        (value, regex, ignore_case, multi_line, how)
    };
    let regex = regex.unwrap_or_else(|| Value::from(""));
    let pattern = pattern(&regex, flag(ignore_case.as_ref()), flag(multi_line.as_ref()))?;
    let contents = bytes_of(&value)?;
    let found = match how.as_str() {
        "search" | "findall" => pattern.search(&contents).map(|found| found.is_some()),
        "match" => pattern.matches_start(&contents, false),
        "fullmatch" => pattern.matches_start(&contents, true),
        _ => return Err(failure(format!("unknown match_type `{how}`; expected `search`, `match` or `fullmatch`"))),
    };
    found.map(Value::from).map_err(|error| failure(error.to_string()))
}

/// Does a regular expression match at the start?
pub(super) fn match_start(call: &mut Call<'_, '_, '_>) -> Outcome {
    matches(call, Some("match"))
}

/// Does a regular expression match anywhere?
pub(super) fn search(call: &mut Call<'_, '_, '_>) -> Outcome {
    matches(call, Some("search"))
}

/// Does a regular expression match, in a way that an argument says?
pub(super) fn regex(call: &mut Call<'_, '_, '_>) -> Outcome {
    matches(call, None)
}

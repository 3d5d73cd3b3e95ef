//! The filter `comment`.

use minijinja::Value;

use crate::call::{Call, int_argument, str_argument};
use crate::failure::{Outcome, failure, wrong_type};
use crate::text::pad;
use crate::values::{View, is_true, parse_int, text, view, whole_number};

/// Styles, each with the text before, at the start of lines, and after.
const STYLES: [(&str, [&str; 3]); 5] = [
    ("plain", ["", "# ", ""]),
    ("erlang", ["", "% ", ""]),
    ("c", ["", "// ", ""]),
    ("cblock", ["/*", " * ", " */"]),
    ("xml", ["<!--", " - ", "-->"]),
];

const NAMES: [&str; 8] =
    ["newline", "beginning", "prefix", "prefix_count", "decoration", "postfix", "postfix_count", "end"];

/// Makes a comment of text.
pub(super) fn comment(call: &mut Call<'_, '_, '_>) -> Outcome {
    let known: Vec<_> = call.named.iter().filter(|(name, _)| NAMES.contains(&name.as_str())).cloned().collect();
    // Ansible accepts and ignores any other name.
    call.named.retain(|(name, _)| name == "style" || name == "text");
    let ([input], [style]) = call.bind(["text"], ["style"])?;
    let style = style.as_ref().map_or_else(|| Ok("plain".to_owned()), text)?;
    let Some((_, [beginning, decoration, end])) = STYLES.iter().find(|(name, _)| *name == style) else {
        let styles = STYLES.map(|(name, _)| name).join(", ");
        return Err(failure(format!("Invalid style '{style}'. Available styles: {styles}")));
    };
    let View::Str(body) = view(&input) else { return Err(wrong_type("the text of a comment", "str", &input)) };
    let option = |name: &str, default: &str| -> Outcome<Value> {
        Ok(known
            .iter()
            .find(|(known, _)| known == name)
            .map_or_else(|| Value::from(default), |(_, value)| value.clone()))
    };
    let decoration = option("decoration", decoration)?;
    let decoration = str_argument("decoration", &decoration)?;
    let margin = decoration.trim_end_matches(crate::values::is_python_space);
    let newline = option("newline", "\n")?;
    let newline = str_argument("newline", &newline)?;
    let beginning = option("beginning", beginning)?;
    let end = option("end", end)?;
    let (prefix, postfix) = (option("prefix", margin)?, option("postfix", margin)?);
    let prefix_count = count(&option("prefix_count", "1")?, true)?;
    let postfix_count = count(&option("postfix_count", "1")?, known.iter().all(|(name, _)| name != "postfix_count"))?;
    let mut out = String::new();
    if is_true(&beginning) {
        out += &format!("{}{newline}", text(&beginning)?);
    }
    if is_true(&prefix) {
        let prefix = text(&prefix)?;
        let line = if prefix == *newline { newline.to_string() } else { format!("{prefix}{newline}") };
        out += &pad::repeat(&line, prefix_count)?;
    }
    out += &decorated(body, &newline, &decoration, margin)?;
    // As in Python, where the separator also stands before the first line.
    out += &pad::repeat(&format!("{newline}{}", str_argument("postfix", &postfix)?), postfix_count)?;
    if is_true(&end) {
        out += &format!("{newline}{}", text(&end)?);
    }
    Ok(Value::from(out))
}

fn decorated(body: &str, newline: &str, decoration: &str, margin: &str) -> Outcome<String> {
    use crate::text::split::replace;
    let lines = replace(body, newline, &format!("{newline}{decoration}"), -1)?;
    replace(&format!("{decoration}{lines}"), &format!("{decoration}{newline}"), &format!("{margin}{newline}"), -1)
}

/// Returns a count, which may also be text where Ansible converts it.
fn count(value: &Value, converts: bool) -> Outcome<i64> {
    match view(value) {
        View::Str(digits) if converts => {
            let number = parse_int(digits, 10).ok_or_else(|| failure("invalid literal for int() with base 10"))?;
            int_argument(&number)
        }
        View::Float(number) if converts => {
            whole_number(number).as_ref().map_or_else(|| Err(failure("cannot convert float to integer")), int_argument)
        }
        _ => int_argument(value),
    }
}

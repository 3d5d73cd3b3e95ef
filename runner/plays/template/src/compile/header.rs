//! The line `#jinja2: …` at the start of a template, which sets options of the syntax.

use crate::options::TemplateOptions;

const PREFIX: &str = "#jinja2:";

/// Returns the rest of a template, and the options with those of its header.
///
/// # Errors
///
/// The header cannot be read; the error is the cause in words.
pub(crate) fn options_of<'a>(text: &'a str, given: &TemplateOptions) -> Result<(&'a str, TemplateOptions), String> {
    let Some(rest) = text.strip_prefix(PREFIX) else { return Ok((text, given.clone())) };
    let (line, template) = rest.split_once('\n').ok_or("Missing newline after '#jinja2:' override.")?;
    let mut options = given.clone();
    for pair in line.split(',') {
        if pair.trim().is_empty() {
            return Err("Empty '#jinja2:' override pair not allowed.".to_owned());
        }
        let (key, value) = pair
            .split_once(':')
            .ok_or_else(|| format!("Missing key-value separator `:` in '#jinja2:' override pair '{pair}'."))?;
        let value = line_of(value).ok_or_else(|| format!("the value of `{}` must be on one line", key.trim()))?;
        set(&mut options, key.trim(), value.trim())?;
    }
    Ok((template, options))
}

/// Returns the line that has the value. For Python a carriage return ends a line; other lines may be empty or comments, and
/// only the first may be indented (`ast.literal_eval`).
fn line_of(value: &str) -> Option<&str> {
    let is_empty = |line: &str| line.trim().is_empty() || line.trim_start().starts_with('#');
    let mut lines = value.split('\r').enumerate().filter(|(_, line)| !is_empty(line));
    let Some((index, line)) = lines.next() else { return Some("") };
    let is_indented = index > 0 && line.starts_with([' ', '\t']);
    (lines.next().is_none() && !is_indented).then_some(line)
}

fn set(options: &mut TemplateOptions, key: &str, value: &str) -> Result<(), String> {
    let text = || text_of(value).ok_or_else(|| format!("the value of `{key}` must be a text in quotes, not {value}"));
    let truth = || match value {
        "True" => Ok(true),
        "False" => Ok(false),
        _ => Err(format!("the value of `{key}` must be True or False, not {value}")),
    };
    match key {
        "block_start_string" => options.block_start = text()?,
        "block_end_string" => options.block_end = text()?,
        "variable_start_string" => options.variable_start = text()?,
        "variable_end_string" => options.variable_end = text()?,
        "comment_start_string" => options.comment_start = text()?,
        "comment_end_string" => options.comment_end = text()?,
        "line_statement_prefix" => options.line_statement_prefix = optional(value, key)?,
        "line_comment_prefix" => options.line_comment_prefix = optional(value, key)?,
        "trim_blocks" => options.trim_blocks = truth()?,
        "lstrip_blocks" => options.lstrip_blocks = truth()?,
        "keep_trailing_newline" => options.keep_trailing_newline = truth()?,
        "newline_sequence" => {
            options.newline_sequence = match text()?.as_str() {
                "\n" => "\n",
                "\r\n" => "\r\n",
                "\r" => "\r",
                other => return Err(format!("invalid `newline_sequence` {other:?}")),
            }
        }
        _ => return Err(format!("Invalid '#jinja2:' override key '{key}'.")),
    }
    Ok(())
}

fn optional(value: &str, key: &str) -> Result<Option<String>, String> {
    match (value, text_of(value)) {
        ("None", _) => Ok(None),
        (_, Some(text)) => Ok(Some(text)),
        _ => Err(format!("the value of `{key}` must be a text in quotes or None, not {value}")),
    }
}

fn text_of(value: &str) -> Option<String> {
    super::lex::value_of(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_options() {
        let text = "#jinja2: trim_blocks: False, variable_start_string: '[%', newline_sequence: '\\r\\n'\nrest\n";
        let (rest, options) = options_of(text, &TemplateOptions::default()).unwrap();
        assert_eq!(rest, "rest\n");
        assert_eq!((options.trim_blocks, &*options.variable_start, options.newline_sequence), (false, "[%", "\r\n"));
    }

    #[test]
    fn a_carriage_return_ends_a_line_of_a_value() {
        for text in ["trim_blocks:\rTrue", "trim_blocks\r: True\r", "block_start_string: '[%'\r # x"] {
            assert!(options_of(&format!("#jinja2: {text}\n"), &TemplateOptions::default()).is_ok(), "{text:?}");
        }
        for text in ["trim_blocks:\r True", "block_start_string: '['\r'%'", "block_start_string: '[\r%'"] {
            assert!(options_of(&format!("#jinja2: {text}\n"), &TemplateOptions::default()).is_err(), "{text:?}");
        }
    }

    #[test]
    fn refuses_what_it_does_not_know() {
        for text in ["#jinja2: x", "#jinja2: x\n", "#jinja2: foo: 1\n", "#jinja2: trim_blocks: 1\n", "#jinja2:\n"] {
            assert!(options_of(text, &TemplateOptions::default()).is_err(), "{text:?}");
        }
    }
}

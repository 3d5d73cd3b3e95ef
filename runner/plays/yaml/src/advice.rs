//! What was probably meant: the mistakes that people make in YAML, seen in the line of a syntax error.
//!
//! The parser says where it could not go on, which for a missing quote is often behind the mistake. These rules look at
//! the whole line. They only choose a better sentence; they never change what is read.

/// What to write instead, and where.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Advice {
    /// What to do.
    pub(crate) text: String,
    /// The column of the mistake, from 1, if it is not where the parser stopped.
    pub(crate) column: Option<u32>,
}

/// Returns advice for a line in which the parser stopped with a problem.
pub(crate) fn advice(line: &str, column: u32, problem: &str) -> Option<Advice> {
    let value = value_of(line);
    tab(line)
        .or_else(|| unquoted_template(line, value))
        .or_else(|| by_problem(line, value, column, problem))
        .or_else(|| unquoted_colon(line, value))
        .or_else(|| trailing_text(line, value))
}

/// Returns the byte offset of the value: behind the dashes of sequences and one key.
fn value_of(line: &str) -> usize {
    let mut at = line.len() - line.trim_start().len();
    while let Some(rest) = line[at..].strip_prefix("- ") {
        at = line.len() - rest.trim_start().len();
    }
    let key = line[at..].find(": ").filter(|end| is_plain_key(&line[at..at + end]));
    key.map_or(at, |end| line.len() - line[at + end + 1..].trim_start().len())
}

fn is_plain_key(key: &str) -> bool {
    key.chars().all(|character| character.is_alphanumeric() || matches!(character, '_' | '-' | '.' | ' '))
}

fn column_of(line: &str, offset: usize) -> Option<u32> {
    u32::try_from(line[..offset].chars().count()).ok()?.checked_add(1)
}

fn tab(line: &str) -> Option<Advice> {
    let offset = line.find('\t')?;
    Some(Advice { text: "replace the tab by spaces".to_owned(), column: column_of(line, offset) })
}

fn unquoted_template(line: &str, value: usize) -> Option<Advice> {
    let rest = line[value..].trim_end();
    if !rest.starts_with("{{") && !rest.starts_with("{%") {
        return None;
    }
    let quote = if rest.contains('"') { '\'' } else { '"' };
    let text = if rest.contains(quote) {
        "put the whole value into quotes, since it begins with a template".to_owned()
    } else {
        format!("quote the template: `{quote}{}{quote}`", shortened(rest))
    };
    Some(Advice { text, column: column_of(line, value) })
}

fn by_problem(line: &str, value: usize, column: u32, problem: &str) -> Option<Advice> {
    let here = line.chars().nth(usize::try_from(column).ok()?.checked_sub(1)?);
    let text = match problem {
        "found unexpected end of stream" | "found unexpected document indicator" => {
            "close the quote that is open here".to_owned()
        }
        "found unknown escape character" => "write `\\\\` for a backslash, or use single quotes".to_owned(),
        "found character that cannot start any token" => {
            format!("quote a value that begins with `{}`", here?)
        }
        "could not find expected ':'" => return missing_colon(line),
        "did not find expected alphabetic or numeric character" => {
            "quote a value that begins with `*` or `&`".to_owned()
        }
        "did not find expected ',' or ']'" | "did not find expected ',' or '}'" => {
            "close the bracket, put commas between the items, or quote a text that begins with a bracket".to_owned()
        }
        "did not find expected '-' indicator" => "indent all items of the list alike".to_owned(),
        "did not find expected key" if !line[value..].starts_with(['"', '\'']) => {
            "indent all keys of a mapping alike".to_owned()
        }
        _ => return None,
    };
    Some(Advice { text, column: None })
}

/// Finds `key:value` without a space, in a line where a key is needed.
fn missing_colon(line: &str) -> Option<Advice> {
    let text = line.trim();
    let colon = text.find(':').filter(|end| *end > 0 && is_plain_key(&text[..*end]));
    let text = match colon {
        Some(end) if text[end + 1..].starts_with(|next: char| !next.is_whitespace()) => {
            format!("put a space after the colon: `{}: {}`", &text[..end], shortened(&text[end + 1..]))
        }
        Some(_) => return None,
        None => "write `key: value`, or indent the line if it continues the text above".to_owned(),
    };
    Some(Advice { text, column: None })
}

/// Finds a colon and a space in a value without quotes.
fn unquoted_colon(line: &str, value: usize) -> Option<Advice> {
    let rest = line[value..].trim_end();
    if rest.starts_with(['"', '\'']) && rest.len() > 1 && rest.ends_with(&rest[..1]) {
        return None;
    }
    let colon = rest.find(": ").or_else(|| rest.len().checked_sub(1).filter(|_| rest.ends_with(':')))?;
    let text = "put the whole value into quotes, since it has a colon and a space in it".to_owned();
    Some(Advice { text, column: column_of(line, value + colon) })
}

/// Finds text behind a value in quotes.
fn trailing_text(line: &str, value: usize) -> Option<Advice> {
    let rest = line[value..].trim_end();
    let quote = rest.chars().next().filter(|first| matches!(first, '"' | '\''))?;
    if rest.ends_with(quote) && rest.matches(quote).count() < 3 {
        return None;
    }
    let other = if quote == '"' { '\'' } else { '"' };
    let text = if rest.contains(other) {
        "a value that begins with a quote ends with it: put the whole value into quotes".to_owned()
    } else {
        format!("a value that begins with a quote ends with it: `{other}{}{other}`", shortened(rest))
    };
    Some(Advice { text, column: column_of(line, value) })
}

/// Returns the first characters of a text.
fn shortened(text: &str) -> String {
    const SHOWN: usize = 60;
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, problem: &str, wanted: &str, column: Option<u32>) {
        let given = advice(line, 1, problem);
        assert_eq!(given.as_ref().map(|advice| &*advice.text), Some(wanted), "{line}");
        assert_eq!(given.and_then(|advice| advice.column), column, "{line}");
    }

    #[test]
    fn common_mistakes_have_advice() {
        check("\tkey: value", "", "replace the tab by spaces", Some(1));
        check("  x: {{ a }}", "", "quote the template: `\"{{ a }}\"`", Some(6));
        check("- x: {{ a[\"b\"] }}", "", "quote the template: `'{{ a[\"b\"] }}'`", Some(6));
        check("key:value", "could not find expected ':'", "put a space after the colon: `key: value`", None);
        check(
            "key: echo a: b",
            "",
            "put the whole value into quotes, since it has a colon and a space in it",
            Some(12),
        );
        check("x: \"a\" and b", "", "a value that begins with a quote ends with it: `'\"a\" and b'`", Some(4));
        check("x: @a", "found character that cannot start any token", "quote a value that begins with `x`", None);
    }

    #[test]
    fn a_line_without_a_known_mistake_has_none() {
        for line in ["", "- a", "key: value", "key: \"a: b\"", "é: 'x'"] {
            assert_eq!(advice(line, 1, ""), None, "{line}");
        }
    }
}

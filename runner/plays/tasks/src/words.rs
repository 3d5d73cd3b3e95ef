//! Words of a command line, as Python's `shlex.split` finds them.

/// Returns the first word of a command line, without quotes; `None` if there is none, or a quote does not end.
///
/// As with `shlex.split`, the rest of the line must be well-formed, too.
#[must_use]
pub(crate) fn first_word(line: &str) -> Option<String> {
    let mut first = None;
    let mut word: Option<String> = None;
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match character {
            ' ' | '\t' | '\r' | '\n' => {
                if let Some(word) = word.take() {
                    first.get_or_insert(word);
                }
            }
            '\\' => word.get_or_insert_default().push(characters.next()?),
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match characters.next()? {
                        '\'' => break,
                        inside => word.push(inside),
                    }
                }
            }
            '"' => double_quoted(&mut characters, word.get_or_insert_default())?,
            other => word.get_or_insert_default().push(other),
        }
    }
    first.or(word)
}

/// Adds what is between double quotes. A backslash counts only before a quote or another backslash.
fn double_quoted(characters: &mut std::str::Chars<'_>, word: &mut String) -> Option<()> {
    loop {
        match characters.next()? {
            '"' => return Some(()),
            '\\' => match characters.next()? {
                escaped @ ('"' | '\\') => word.push(escaped),
                other => word.extend(['\\', other]),
            },
            inside => word.push(inside),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_shlex() {
        let check = |line: &str, expect: Option<&str>| assert_eq!(first_word(line).as_deref(), expect, "{line:?}");
        check("a b", Some("a"));
        check("  'a b'c d", Some("a bc"));
        check(r#""a \"b\" \c" d"#, Some(r#"a "b" \c"#));
        check(r"a\ b c", Some("a b"));
        check("''", Some(""));
        check("", None);
        check("a 'b", None);
        check("a \\", None);
    }
}

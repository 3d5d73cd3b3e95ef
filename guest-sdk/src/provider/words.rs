//! The arguments of a provider: words of the form `name='value'`, quoted for a shell, or `name=value` as a person types.

/// Reads a word: splits it at the first `=`, and removes the quotes of the value.
///
/// # Errors
///
/// A word without `=`, or with an open quote; the error says what is wrong.
pub(super) fn read(word: &str) -> Result<(&str, String), String> {
    let (name, value) = word.split_once('=').ok_or_else(|| format!("the argument `{word}` has no `=`"))?;
    Ok((name, unquote(value).ok_or_else(|| format!("the argument `{name}` has an open quote"))?))
}

/// Removes the quotes of a shell. A text without quotes at its beginning is as a person typed it, and stays.
fn unquote(text: &str) -> Option<String> {
    if !text.starts_with(['\'', '"']) {
        return Some(text.to_owned());
    }
    let mut value = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\'' => until(&mut chars, '\'', &mut value)?,
            '"' => double_quoted(&mut chars, &mut value)?,
            '\\' => value.push(chars.next()?),
            other => value.push(other),
        }
    }
    Some(value)
}

fn until(chars: &mut impl Iterator<Item = char>, end: char, value: &mut String) -> Option<()> {
    loop {
        match chars.next()? {
            c if c == end => return Some(()),
            other => value.push(other),
        }
    }
}

fn double_quoted(chars: &mut impl Iterator<Item = char>, value: &mut String) -> Option<()> {
    loop {
        match chars.next()? {
            '"' => return Some(()),
            '\\' => match chars.next()? {
                escaped @ ('"' | '\\' | '$' | '`') => value.push(escaped),
                other => value.extend(['\\', other]),
            },
            other => value.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(word: &str, expect: Result<(&str, &str), &str>) {
        match (read(word), expect) {
            (Ok((name, value)), Ok(expect)) => assert_eq!((name, value.as_str()), expect),
            (Err(error), Err(expect)) => assert!(error.contains(expect), "{error}"),
            (got, _) => panic!("{word:?}: {got:?}"),
        }
    }

    #[test]
    fn words_are_split_once_and_unquoted() {
        check("a='b'", Ok(("a", "b")));
        check("a=''", Ok(("a", "")));
        check("a=", Ok(("a", "")));
        check("a='b=c'", Ok(("a", "b=c")));
        check(r"a='it'\''s'", Ok(("a", "it's")));
        check(r"a=''\'''", Ok(("a", "'")));
        check("a='$(x) \"y\" \\ \n'", Ok(("a", "$(x) \"y\" \\ \n")));
        check(r#"a="b\"c\d""#, Ok(("a", "b\"c\\d")));
        check("a=it's", Ok(("a", "it's")));
        check("ral_action=find", Ok(("ral_action", "find")));
        check("a", Err("has no `=`"));
        check("a='b", Err("has an open quote"));
        check(r"a='b'\", Err("has an open quote"));
        check("a=\"b", Err("has an open quote"));
    }
}

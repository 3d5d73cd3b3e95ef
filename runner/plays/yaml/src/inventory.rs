//! Lines of an inventory in INI format, which the operator wrote: words, and values that are Python literals.
//!
//! Which lines are groups and hosts is not known here. Every part is derived from its line, so it is as trusted.

use modbox_argument_spec::parse_literal;
use modbox_python_json::Value;

use crate::error::{Problem, YamlError};
use crate::key::Key;
use crate::limits::{MAX_NODES, MAX_TEXT};
use crate::position::Position;
use crate::source::{Entry, Map, Node, Source};

/// Takes the lines of an inventory in INI format, without white space around them.
///
/// # Errors
///
/// The text is longer than [`MAX_TEXT`], or has more than [`MAX_NODES`] lines.
pub fn inventory_lines(text: &str, file: &str) -> Result<Vec<Source>, YamlError> {
    let start = Position::start_of(file);
    if text.len() > MAX_TEXT {
        return Err(YamlError::new(&start, Problem::TooLong));
    }
    let mut lines = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        if lines.len() >= MAX_NODES {
            return Err(YamlError::new(&start, Problem::TooManyNodes));
        }
        let trimmed = line.trim();
        let before = line.len() - line.trim_start().len();
        let column = line[..before].chars().count().try_into().unwrap_or(u32::MAX - 1) + 1;
        let position = Position { file: start.file.clone(), line: number, column };
        lines.push(Source::new(Node::Text(trimmed.into()), position));
    }
    Ok(lines)
}

impl Source {
    /// Splits text into words as Python's `shlex.split` does with comments: quotes and backslashes are removed, and
    /// `#` ends the line.
    ///
    /// # Errors
    ///
    /// This is not text, a quote does not end, or a backslash is the last character.
    pub fn shell_words(&self) -> Result<Vec<Self>, YamlError> {
        let (Node::Text(text) | Node::Unsafe(text)) = self.node() else {
            let problem = Problem::Unexpected { expected: "text with words", found: self.kind() };
            return Err(YamlError::new(self.position(), problem));
        };
        let unbalanced = || YamlError::new(self.position(), Problem::Unbalanced(text.chars().take(60).collect()));
        let words = words(text).ok_or_else(unbalanced)?;
        Ok(words.into_iter().map(|word| self.with_text(word.into())).collect())
    }

    /// Returns the value of text that is a Python literal, such as `1`, `True` or `['a']`, and the text itself otherwise.
    /// Texts within the literal are as trusted as this one.
    #[must_use]
    pub fn python_literal(&self) -> Self {
        let (Node::Text(text) | Node::Unsafe(text)) = self.node() else { return self.clone() };
        match parse_literal(text) {
            Some(value) => self.part(value),
            None => self.clone(),
        }
    }

    fn part(&self, value: Value) -> Self {
        let node = match value {
            Value::Str(text) => return self.with_text(text.into()),
            Value::List(items) => Node::List(items.into_iter().map(|item| self.part(item)).collect()),
            Value::Dict(entries) => {
                let mut map = Map::default();
                for (name, value) in entries {
                    let key = self.with_text(name.into());
                    let found = key.as_text().cloned().map_or(Key::Null, Key::Text);
                    map.insert(found, Entry { key, value: self.part(value) });
                }
                Node::Map(map)
            }
            scalar => Node::Scalar(scalar),
        };
        Self::new(node, self.position().clone())
    }
}

/// Splits a text into words; `None` if a quote or a backslash is open at the end.
fn words(text: &str) -> Option<Vec<String>> {
    let (mut words, mut word) = (Vec::new(), None::<String>);
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            ' ' | '\t' | '\r' | '\n' => words.extend(word.take()),
            '#' => {
                characters.by_ref().find(|character| *character == '\n');
                words.extend(word.take());
            }
            '\\' => word.get_or_insert_default().push(characters.next()?),
            '\'' | '"' => quoted(character, &mut characters, word.get_or_insert_default())?,
            plain => word.get_or_insert_default().push(plain),
        }
    }
    words.extend(word);
    Some(words)
}

/// Adds what is between quotes. A backslash counts only between double quotes, before a quote or another backslash.
fn quoted(quote: char, characters: &mut std::str::Chars<'_>, word: &mut String) -> Option<()> {
    loop {
        match characters.next()? {
            end if end == quote => return Some(()),
            '\\' if quote == '"' => match characters.next()? {
                escaped @ ('"' | '\\') => word.push(escaped),
                other => word.extend(['\\', other]),
            },
            inside => word.push(inside),
        }
    }
}

#[cfg(test)]
mod tests {
    use modbox_python_json::encode;

    use super::*;
    use crate::load::load_play_file;

    fn line(text: &str) -> Source {
        inventory_lines(text, "hosts").unwrap().remove(0)
    }

    #[test]
    fn lines_have_their_places() {
        let lines = inventory_lines("a\n\n  b c \n", "hosts").unwrap();
        let shown: Vec<String> =
            lines.iter().map(|line| format!("{} {}", line.position(), line.as_text().unwrap())).collect();
        assert_eq!(shown, ["hosts:1:1 a", "hosts:2:1 ", "hosts:3:3 b c"]);
    }

    #[test]
    fn words_are_those_of_a_shell_with_comments() {
        let check = |text: &str, expect: &[&str]| {
            let words = line(text).shell_words().unwrap();
            let words: Vec<&str> = words.iter().map(|word| &**word.as_text().unwrap()).collect();
            assert_eq!(words, expect, "{text}");
        };
        check("h a=1 b='x y' # c", &["h", "a=1", "b=x y"]);
        check(r#"h a="{{ b }} \"c\" \d" e\ f"#, &["h", r#"a={{ b }} "c" \d"#, "e f"]);
        check("h a=b#c d", &["h", "a=b"]);
        for text in ["h a='b", "h a=\"b", "h \\"] {
            assert!(line(text).shell_words().is_err(), "{text}");
        }
    }

    #[test]
    fn literals_are_values_and_their_texts_stay_templates() {
        let check = |text: &str, expect: &str| {
            assert_eq!(encode(&line(text).python_literal().to_data().unwrap()), expect, "{text}");
        };
        check("1", "1");
        check("True", "true");
        check("true", "\"true\"");
        check("['a', (1, 2.5)]", r#"["a", [1, 2.5]]"#);
        check("{'a': None}", r#"{"a": null}"#);
        check("0644", "\"0644\"");
        check("a b", "\"a b\"");
        let nested = line("['{{ x }}']").python_literal();
        assert!(nested.as_list().unwrap()[0].as_text().is_some(), "the operator wrote it");
        let data = load_play_file("!unsafe \"['{{ x }}']\"", "x").unwrap().root.python_literal();
        assert!(data.as_list().unwrap()[0].as_text().is_none(), "data stays data");
    }
}

//! Reading CSV as Python's `csv` module does in its dialect `excel`.

/// The quote around fields.
const QUOTE: char = '"';

/// Returns the rows of a text. An empty line is a row without fields.
pub(super) fn rows(text: &str, delimiter: char) -> Rows<'_> {
    Rows { rest: text, delimiter }
}

/// The rows of a text.
#[derive(Debug)]
pub(super) struct Rows<'a> {
    rest: &'a str,
    delimiter: char,
}

/// Where in a field the reader is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Start,
    Plain,
    Quoted,
    /// Behind a quote in a quoted field: its end, or the first half of a doubled quote.
    QuoteInQuoted,
}

impl Iterator for Rows<'_> {
    type Item = Vec<String>;

    fn next(&mut self) -> Option<Vec<String>> {
        if self.rest.is_empty() {
            return None;
        }
        let (mut row, mut field, mut state) = (Vec::new(), String::new(), State::Start);
        let mut characters = self.rest.char_indices();
        for (at, character) in characters.by_ref() {
            match (state, character) {
                (State::Quoted, QUOTE) => state = State::QuoteInQuoted,
                (State::Quoted, _) => field.push(character),
                (State::QuoteInQuoted, QUOTE) => {
                    field.push(QUOTE);
                    state = State::Quoted;
                }
                (_, '\n') => {
                    self.rest = &self.rest[at + 1..];
                    if state != State::Start || !row.is_empty() {
                        row.push(field);
                    }
                    return Some(row);
                }
                (State::Start, QUOTE) => state = State::Quoted,
                (_, _) if character == self.delimiter => {
                    row.push(std::mem::take(&mut field));
                    state = State::Start;
                }
                _ => {
                    field.push(character);
                    state = State::Plain;
                }
            }
        }
        self.rest = "";
        row.push(field);
        Some(row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_those_of_python() {
        let check = |text: &str, expect: &[&[&str]]| {
            let found: Vec<Vec<String>> = rows(text, ',').collect();
            assert_eq!(found, expect, "{text:?}");
        };
        check("a,b\nc,d\n", &[&["a", "b"], &["c", "d"]]);
        check("a,\"b,c\"\n", &[&["a", "b,c"]]);
        check("\"a \"\"b\"\"\",c", &[&["a \"b\"", "c"]]);
        check("\"a\nb\",c\n", &[&["a\nb", "c"]]);
        check("a,b\"c\n", &[&["a", "b\"c"]]);
        check("\"a\"b,c\n", &[&["ab", "c"]]);
        check("a\n\nb", &[&["a"], &[], &["b"]]);
        check("a,\n,\n", &[&["a", ""], &["", ""]]);
        check("\"open,x", &[&["open,x"]]);
        check("", &[]);
    }
}

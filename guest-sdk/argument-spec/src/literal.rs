//! Python literals, as far as a dict written as text can hold values that JSON has too.
//!
//! Ansible hands a string starting with `{` that is not JSON to `ast.literal_eval`. Sets, bytes and
//! complex numbers are refused here: no JSON value carries them. Tuples become lists, keys become strings.

use modbox_python_json::{Dict, Value, str};

/// How deep a literal may nest: enough for arguments, and little enough for a small stack.
const MAX_DEPTH: usize = 100;

/// Returns the value of a literal that takes up the whole text.
pub(crate) fn parse_literal(text: &str) -> Option<Value> {
    let mut reader = Reader { rest: text, depth: 0 };
    let value = reader.value()?;
    reader.skip_space();
    reader.rest.is_empty().then_some(value)
}

struct Reader<'a> {
    rest: &'a str,
    depth: usize,
}

impl Reader<'_> {
    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\n', '\r', '\u{c}']);
    }

    fn take(&mut self, token: char) -> bool {
        self.skip_space();
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn value(&mut self) -> Option<Value> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return None;
        }
        self.skip_space();
        let value = match self.rest.chars().next()? {
            '{' => self.dict(),
            '[' => self.sequence('[', ']').map(|(items, _)| Value::List(items)),
            '(' => self.parenthesised(),
            '\'' | '"' | 'r' | 'R' | 'u' | 'U' => self.strings(),
            '+' | '-' | '.' | '0'..='9' => self.number(),
            _ => self.constant(),
        };
        self.depth -= 1;
        value
    }

    fn dict(&mut self) -> Option<Value> {
        self.take('{');
        let mut entries = Dict::new();
        loop {
            if self.take('}') {
                return Some(Value::Dict(entries));
            }
            let key = self.value()?;
            if !self.take(':') || matches!(key, Value::List(_) | Value::Dict(_)) {
                return None;
            }
            let value = self.value()?;
            entries.insert(str(&key), value);
            if !self.take(',') {
                return self.take('}').then_some(Value::Dict(entries));
            }
        }
    }

    /// The items, and whether a comma followed the last one.
    fn sequence(&mut self, open: char, close: char) -> Option<(Vec<Value>, bool)> {
        self.take(open);
        let mut items = Vec::new();
        loop {
            if self.take(close) {
                let comma = !items.is_empty();
                return Some((items, comma));
            }
            items.push(self.value()?);
            if !self.take(',') {
                return self.take(close).then_some((items, false));
            }
        }
    }

    /// `(1)` is 1; `(1,)` and `()` are tuples.
    fn parenthesised(&mut self) -> Option<Value> {
        let (mut items, comma) = self.sequence('(', ')')?;
        if items.len() == 1 && !comma { items.pop() } else { Some(Value::List(items)) }
    }

    fn constant(&mut self) -> Option<Value> {
        let constants = [("None", Value::Null), ("True", Value::Bool(true)), ("False", Value::Bool(false))];
        let (word, value) = constants.into_iter().find(|(word, _)| self.rest.starts_with(word))?;
        self.rest = &self.rest[word.len()..];
        let ends = !self.rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
        ends.then_some(value)
    }

    /// One string, or several next to each other.
    fn strings(&mut self) -> Option<Value> {
        let mut text = String::new();
        loop {
            self.string(&mut text)?;
            self.skip_space();
            if !self.rest.starts_with(['\'', '"']) {
                return Some(Value::Str(text));
            }
        }
    }

    fn string(&mut self, out: &mut String) -> Option<()> {
        let raw = self.rest.starts_with(['r', 'R']);
        self.rest = self.rest.strip_prefix(['r', 'R', 'u', 'U']).unwrap_or(self.rest);
        let quote = self.rest.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
        self.rest = &self.rest[1..];
        let triple: String = [quote, quote].iter().collect();
        if let Some(inner) = self.rest.strip_prefix(triple.as_str()).filter(|_| !raw) {
            let end = inner.find(&format!("{quote}{quote}{quote}"))?;
            out.push_str(&inner[..end]);
            self.rest = &inner[end + 3..];
            return Some(());
        }
        loop {
            let mut chars = self.rest.chars();
            let c = chars.next()?;
            self.rest = chars.as_str();
            match c {
                '\n' => return None,
                '\\' if raw => {
                    out.push('\\');
                    out.push(self.next_char()?);
                }
                '\\' => self.escape(out)?,
                _ if c == quote => return Some(()),
                _ => out.push(c),
            }
        }
    }

    fn next_char(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }

    fn escape(&mut self, out: &mut String) -> Option<()> {
        let c = self.next_char()?;
        let plain = match c {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'a' => '\u{7}',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'v' => '\u{b}',
            '\\' | '\'' | '"' => c,
            'x' => return self.code(2, out),
            'u' => return self.code(4, out),
            'U' => return self.code(8, out),
            '0'..='7' => {
                let digits = self.rest.bytes().take(2).take_while(|byte| matches!(byte, b'0'..=b'7')).count();
                let octal = format!("{c}{}", &self.rest[..digits]);
                self.rest = &self.rest[digits..];
                out.push(char::from_u32(u32::from_str_radix(&octal, 8).ok()?)?);
                return Some(());
            }
            '\n' => return Some(()),
            _ => {
                out.push('\\');
                c
            }
        };
        out.push(plain);
        Some(())
    }

    fn code(&mut self, digits: usize, out: &mut String) -> Option<()> {
        let hex = self.rest.get(..digits)?;
        out.push(char::from_u32(u32::from_str_radix(hex, 16).ok()?)?);
        self.rest = &self.rest[digits..];
        Some(())
    }

    fn number(&mut self) -> Option<Value> {
        let signs = self.rest.len() - self.rest.trim_start_matches(['+', '-']).len();
        let sign = if self.rest[..signs].matches('-').count() % 2 == 1 { "-" } else { "" };
        let body = &self.rest[signs..];
        let mut end = 0;
        for (at, c) in body.char_indices() {
            let exponent_sign = matches!(c, '+' | '-') && body[..at].ends_with(['e', 'E']);
            if !(c.is_ascii_alphanumeric() || matches!(c, '.' | '_') || exponent_sign) {
                break;
            }
            end = at + c.len_utf8();
        }
        self.rest = &body[end..];
        number(sign, &body[..end])
    }
}

fn number(sign: &str, text: &str) -> Option<Value> {
    if text.ends_with('_') || text.contains("__") || text.starts_with('_') {
        return None;
    }
    let digits = text.replace('_', "");
    for (prefix, radix) in [("0x", 16), ("0X", 16), ("0o", 8), ("0O", 8), ("0b", 2), ("0B", 2)] {
        if let Some(digits) = digits.strip_prefix(prefix) {
            let number = i64::from_str_radix(&format!("{sign}{digits}"), radix).ok()?;
            return Some(Value::Int(number));
        }
    }
    if digits.bytes().all(|byte| byte.is_ascii_digit()) {
        let leading_zero = digits.starts_with('0') && digits.bytes().any(|byte| byte != b'0');
        return if leading_zero { None } else { Value::int_from_decimal(&format!("{sign}{digits}")) };
    }
    let starts_well = digits.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    starts_well.then(|| format!("{sign}{digits}").parse().ok().map(Value::Float))?
}

#[cfg(test)]
mod tests {
    use super::*;
    use modbox_python_json::encode;

    #[track_caller]
    fn check(text: &str, expect: Option<&str>) {
        assert_eq!(parse_literal(text).map(|value| encode(&value)).as_deref(), expect, "for {text}");
    }

    #[test]
    fn reads_literals() {
        check(
            "{'a': 1, \"b\": [True, None, 1.5, -2, (1,), (3)],}",
            Some(r#"{"a": 1, "b": [true, null, 1.5, -2, [1], 3]}"#),
        );
        check("{'a': 'x' \"y\\n\\x41\\'\", 1: r'\\n'}", Some(r#"{"a": "xy\nA'", "1": "\\n"}"#));
        check("{'a':0x10,'b':1_0, 'c': '''it's'''}", Some(r#"{"a": 16, "b": 10, "c": "it's"}"#));
    }

    #[test]
    fn refuses_what_is_no_literal() {
        for text in
            ["{a: 1}", "{1,2}", "{'a'}", "{'a': f()}", "{'a': 1} x", "{'a': 010}", "{[1]: 2}", "{'a': Truex}", "{"]
        {
            check(text, None);
        }
        check(&"[".repeat(10_000), None);
    }
}

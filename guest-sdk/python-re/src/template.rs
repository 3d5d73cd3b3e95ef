//! The templates of Python's `re.Match.expand`: `\1`, `\g<1>`, `\g<name>`, and escapes.

use crate::class::Subject;
use crate::pattern::{Match, Pattern, PatternError};

/// A template that replaces the matches of one pattern.
#[derive(Debug, Clone)]
pub struct Template {
    parts: Vec<TemplatePart>,
}

#[derive(Debug, Clone)]
enum TemplatePart {
    Literal(Vec<u8>),
    Group(usize),
}

impl Template {
    /// Reads a template. Python does this before it searches.
    ///
    /// # Errors
    ///
    /// The pattern lacks a group, or an escape is unknown. The message is Python's.
    pub fn new(template: &str, pattern: &Pattern) -> Result<Self, PatternError> {
        let mut reader = Reader { bytes: template.as_bytes(), at: 0, pattern, parts: Vec::new() };
        while let Some(byte) = reader.next() {
            if byte == b'\\' {
                reader.escape()?;
            } else {
                reader.literal(&[byte]);
            }
        }
        Ok(Self { parts: reader.parts })
    }

    /// Fills the template from a match. Groups that did not take part are empty.
    #[must_use]
    pub fn expand(&self, matched: &Match) -> Vec<u8> {
        let mut out = Vec::new();
        for part in &self.parts {
            match part {
                TemplatePart::Literal(bytes) => out.extend_from_slice(bytes),
                TemplatePart::Group(number) => out.extend_from_slice(matched.group(*number).unwrap_or_default()),
            }
        }
        out
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    pattern: &'a Pattern,
    parts: Vec<TemplatePart>,
}

impl Reader<'_> {
    fn next(&mut self) -> Option<u8> {
        let byte = self.bytes.get(self.at).copied()?;
        self.at += 1;
        Some(byte)
    }

    fn literal(&mut self, bytes: &[u8]) {
        match self.parts.last_mut() {
            Some(TemplatePart::Literal(literal)) => literal.extend_from_slice(bytes),
            _ => self.parts.push(TemplatePart::Literal(bytes.to_vec())),
        }
    }

    fn escape(&mut self) -> Result<(), PatternError> {
        let Some(escape) = self.next() else { return Err(bad("bad escape (end of pattern)", self.at - 1)) };
        match escape {
            b'g' => self.named()?,
            b'0' => {
                self.at -= 1;
                let length = octal_digits(&self.bytes[self.at..], 3);
                self.octal(length)?;
            }
            b'1'..=b'9' => self.numbered()?,
            _ => match simple(escape) {
                Some(byte) => self.literal(&[byte]),
                None if escape.is_ascii_alphabetic() => {
                    return Err(bad(&format!("bad escape \\{}", char::from(escape)), self.at - 2));
                }
                None => self.literal(&[b'\\', escape]),
            },
        }
        Ok(())
    }

    /// Reads `\1` to `\99`, or three octal digits, after the first digit.
    fn numbered(&mut self) -> Result<(), PatternError> {
        self.at -= 1;
        let rest = &self.bytes[self.at..];
        if octal_digits(rest, 3) == 3 {
            return self.octal(3);
        }
        let length = rest.iter().take(2).take_while(|byte| byte.is_ascii_digit()).count();
        let number = rest[..length].iter().fold(0, |number, digit| number * 10 + usize::from(digit - b'0'));
        self.group(number, self.at)?;
        self.at += length;
        Ok(())
    }

    /// Reads `\g<name>` after the `g`.
    fn named(&mut self) -> Result<(), PatternError> {
        if self.bytes.get(self.at) != Some(&b'<') {
            return Err(bad("missing <", self.at));
        }
        let start = self.at + 1;
        let length = self.bytes[start..].iter().position(|byte| *byte == b'>');
        let length = length.ok_or_else(|| bad("missing >, unterminated name", start))?;
        if length == 0 {
            return Err(bad("missing group name", start));
        }
        let name = String::from_utf8_lossy(&self.bytes[start..start + length]).into_owned();
        let number = match name.parse::<usize>() {
            Ok(number) => number,
            Err(_) => {
                self.pattern.index_of(&name).ok_or_else(|| bad(&format!("unknown group name '{name}'"), start))?
            }
        };
        self.group(number, start)?;
        self.at = start + length + 1;
        Ok(())
    }

    fn group(&mut self, number: usize, at: usize) -> Result<(), PatternError> {
        if number > self.pattern.groups() {
            return Err(bad(&format!("invalid group reference {number}"), at));
        }
        self.parts.push(TemplatePart::Group(number));
        Ok(())
    }

    fn octal(&mut self, length: usize) -> Result<(), PatternError> {
        let digits = &self.bytes[self.at..self.at + length];
        let number = digits.iter().fold(0_u32, |number, digit| number * 8 + u32::from(digit - b'0'));
        let byte = u8::try_from(number).map_err(|_| {
            let digits = String::from_utf8_lossy(digits);
            bad(&format!("octal escape value \\{digits} outside of range 0-0o377"), self.at - 1)
        })?;
        self.at += length;
        match self.pattern.subject() {
            Subject::Bytes => self.literal(&[byte]),
            Subject::Text => self.literal(char::from(byte).encode_utf8(&mut [0; 2]).as_bytes()),
        }
        Ok(())
    }
}

fn simple(escape: u8) -> Option<u8> {
    Some(match escape {
        b'a' => 7,
        b'b' => 8,
        b'f' => 12,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'v' => 11,
        b'\\' => b'\\',
        _ => return None,
    })
}

fn octal_digits(bytes: &[u8], most: usize) -> usize {
    bytes.iter().take(most).take_while(|byte| matches!(byte, b'0'..=b'7')).count()
}

fn bad(why: &str, at: usize) -> PatternError {
    PatternError::new(format!("{why} at position {at}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Flags;

    #[track_caller]
    fn check(template: &str, expect: &str) {
        let pattern = Pattern::new(r"(?P<key>\w+)=(\w+)(x)?", Subject::Bytes, Flags::default()).unwrap();
        let matched = pattern.search(b"foo=bar\n").unwrap().unwrap();
        let got = Template::new(template, &pattern)
            .map_or_else(|error| error.to_string(), |template| String::from_utf8(template.expand(&matched)).unwrap());
        assert_eq!(got, expect, "for {template}");
    }

    #[test]
    fn fills_groups() {
        check(r"\2=\1", "bar=foo");
        check(r"\g<key>\g<2>0\3.", "foobar0.");
        check(r"\g<0>\t\\\.\101\0", "foo=bar\t\\\\.A\0");
    }

    #[test]
    fn names_mistakes() {
        check(r"a\4", "invalid group reference 4 at position 2");
        check(r"\g<no>", "unknown group name 'no' at position 3");
        check(r"\q", "bad escape \\q at position 0");
        check(r"\777", "octal escape value \\777 outside of range 0-0o377 at position 0");
    }
}

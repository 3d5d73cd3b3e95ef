//! Translates Python's pattern syntax to the engine's. For bytes, each character stands for one.
//!
//! Everything that the two could read differently is written out: literals and classes become classes of characters,
//! anchors become look-around, names become numbers. Simple mistakes in a pattern are reported in Python's words; the
//! engine reports the others.

use std::fmt::Write as _;

use crate::class::{CharSet, Subject};
use crate::flags::Flags;
use crate::repeat::{self, Last};

/// A pattern for the engine, and the numbers of the named groups.
pub(crate) struct Translated {
    pub(crate) text: String,
    pub(crate) names: Vec<(String, usize)>,
    pub(crate) groups: usize,
    /// The flags of the whole pattern.
    pub(crate) flags: Flags,
}

/// Translates a pattern.
///
/// # Errors
///
/// The pattern is wrong.
pub(crate) fn translate(pattern: &str, subject: Subject, flags: Flags) -> Result<Translated, String> {
    let pattern: Vec<char> = match subject {
        Subject::Bytes => pattern.bytes().map(char::from).collect(),
        Subject::Text => pattern.chars().collect(),
    };
    let mut translator = Translator {
        pattern: &pattern,
        subject,
        at: 0,
        out: String::new(),
        groups: 0,
        names: Vec::new(),
        flags,
        global: flags,
        open: Vec::new(),
        last: Last::Nothing,
    };
    while translator.at < pattern.len() {
        translator.item()?;
    }
    if let Some((_, at)) = translator.open.last() {
        return Err(format!("missing ), unterminated subpattern at position {at}"));
    }
    let Translator { out, names, groups, global, .. } = translator;
    Ok(Translated { text: out, names, groups, flags: global })
}

struct Translator<'a> {
    pattern: &'a [char],
    subject: Subject,
    at: usize,
    out: String,
    groups: usize,
    names: Vec<(String, usize)>,
    flags: Flags,
    global: Flags,
    /// For each open `(`: the flags to restore at its `)`, and its position.
    open: Vec<(Flags, usize)>,
    last: Last,
}

impl Translator<'_> {
    fn peek(&self) -> Option<char> {
        self.pattern.get(self.at).copied()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += 1;
        Some(c)
    }

    fn take(&mut self, text: &str) -> bool {
        let found = text.chars().enumerate().all(|(index, c)| self.pattern.get(self.at + index) == Some(&c));
        if found {
            self.at += text.len(); // Callers pass only ASCII.
        }
        found
    }

    fn error<T>(&self, why: &str) -> Result<T, String> {
        Err(format!("{why} at position {}", self.at))
    }

    fn item(&mut self) -> Result<(), String> {
        let Some(c) = self.next() else { return Ok(()) };
        let before = std::mem::replace(&mut self.last, Last::Item);
        match c {
            '(' => return self.group(before),
            ')' => match self.open.pop() {
                Some((flags, _)) => {
                    self.flags = flags;
                    self.out.push(')');
                }
                None => return self.error("unbalanced parenthesis"),
            },
            '|' => {
                self.last = Last::Nothing;
                self.out.push('|');
            }
            '*' | '+' | '?' => return self.quantifier(&c.to_string(), before, self.at - 1),
            '{' => return self.counted(before),
            '[' => return self.class(),
            '.' => {
                let without = (!self.flags.dot_all).then_some('\n');
                CharSet::all_but(self.subject, without).write(&mut self.out);
            }
            '^' => self.anchor(if self.flags.multi_line { "(?m:^)" } else { r"\A" }),
            '$' => self.anchor(if self.flags.multi_line { "(?m:$)" } else { r"(?=\n?\z)" }),
            '\\' => return self.escape(),
            '#' if self.flags.verbose => {
                self.last = before;
                while self.next().is_some_and(|c| c != '\n') {}
            }
            ' ' | '\t'..='\r' if self.flags.verbose => self.last = before,
            _ => self.literal(c),
        }
        Ok(())
    }

    fn literal(&mut self, c: char) {
        if self.flags.ignore_case {
            let mut set = CharSet::default();
            set.add(c);
            set.ignoring_case(self.subject).write(&mut self.out);
        } else {
            write!(self.out, "\\x{{{:x}}}", u32::from(c)).expect("a String takes every write");
        }
    }

    fn set_of_escape(&self, escape: char) -> Option<CharSet> {
        CharSet::of_escape(self.subject, self.flags.ascii, escape)
    }

    fn anchor(&mut self, text: &str) {
        self.last = Last::Nothing;
        self.out.push_str(text);
    }

    /// Writes a quantifier that begins at a position of the pattern.
    fn quantifier(&mut self, text: &str, before: Last, at: usize) -> Result<(), String> {
        self.last = before.repeated(at)?;
        self.out.push_str(text);
        if let Some(mode @ ('?' | '+')) = self.peek() {
            self.at += 1;
            self.out.push(mode);
        }
        Ok(())
    }

    /// Reads `{2}`, `{2,}`, `{,2}` or `{2,3}`. Anything else is a literal brace.
    fn counted(&mut self, before: Last) -> Result<(), String> {
        let at = self.at - 1;
        let Some((text, length)) = repeat::counted(&self.pattern[self.at..], self.at)? else {
            self.literal('{');
            return Ok(());
        };
        self.at += length;
        self.quantifier(&text, before, at)
    }

    fn group(&mut self, before: Last) -> Result<(), String> {
        let outer = (self.flags, self.at - 1);
        if !self.take("?") {
            self.groups += 1;
            self.out.push('(');
        } else if self.take("#") {
            self.last = before;
            while self.next().ok_or("missing ), unterminated comment")? != ')' {}
            return Ok(());
        } else if self.take("P<") {
            let name = self.name('>')?;
            self.groups += 1;
            self.names.push((name, self.groups));
            self.out.push('(');
        } else if self.take("P=") {
            let name = self.name(')')?;
            return self.back_reference(&name);
        } else if let Some(kind) = [":", "=", "!", "<=", "<!", ">"].into_iter().find(|kind| self.take(kind)) {
            write!(self.out, "(?{kind}").expect("a String takes every write");
        } else if self.take("(") {
            let name = self.name(')')?;
            let number = self.group_number(&name)?;
            write!(self.out, "(?({number})").expect("a String takes every write");
        } else {
            self.last = before;
            return self.flag_group();
        }
        self.last = Last::Nothing;
        self.open.push(outer);
        Ok(())
    }

    /// Reads `(?i)`, which applies to the whole pattern, or `(?i-s:…)`.
    fn flag_group(&mut self) -> Result<(), String> {
        let start = self.at - 2;
        let outer = (self.flags, start);
        let mut on = true;
        loop {
            let flag = match self.next() {
                Some('-') => {
                    on = false;
                    continue;
                }
                Some(':') => break,
                Some(')') if start == 0 => {
                    self.global = self.flags;
                    return Ok(());
                }
                Some(')') => return self.error("global flags not at the start of the expression"),
                Some('i') => &mut self.flags.ignore_case,
                Some('m') => &mut self.flags.multi_line,
                Some('s') => &mut self.flags.dot_all,
                Some('x') => &mut self.flags.verbose,
                Some('a') => &mut self.flags.ascii,
                Some('u') if self.subject == Subject::Text => continue,
                _ => return self.error("unknown extension or flag"),
            };
            *flag = on;
        }
        self.last = Last::Nothing;
        self.out.push_str("(?:");
        self.open.push(outer);
        Ok(())
    }

    fn name(&mut self, end: char) -> Result<String, String> {
        let length = self.pattern[self.at..].iter().position(|c| *c == end);
        let Some(length) = length else { return self.error("missing end of group name") };
        let name: String = self.pattern[self.at..self.at + length].iter().collect();
        let letter = |c: char| {
            c == '_' || if self.subject == Subject::Text { c.is_alphanumeric() } else { c.is_ascii_alphanumeric() }
        };
        let fine = !name.is_empty() && name.chars().all(letter);
        if !fine || (end == '>' && name.starts_with(|c: char| c.is_ascii_digit())) {
            return self.error(&format!("bad character in group name '{name}'"));
        }
        self.at += length + 1;
        Ok(name)
    }

    fn group_number(&self, name: &str) -> Result<usize, String> {
        let number = match name.parse() {
            Ok(number) => Some(number),
            Err(_) => self.names.iter().find(|(known, _)| known == name).map(|(_, number)| *number),
        };
        match number {
            Some(number) if (1..=self.groups).contains(&number) => Ok(number),
            Some(number) => self.error(&format!("invalid group reference {number}")),
            None => self.error(&format!("unknown group name '{name}'")),
        }
    }

    fn back_reference(&mut self, name: &str) -> Result<(), String> {
        let number = self.group_number(name)?;
        write!(self.out, "(?:\\{number})").expect("a String takes every write");
        Ok(())
    }

    fn escape(&mut self) -> Result<(), String> {
        let Some(escape) = self.next() else { return self.error("bad escape (end of pattern)") };
        if let Some(set) = self.set_of_escape(escape) {
            set.write(&mut self.out);
            return Ok(());
        }
        match escape {
            'A' => self.anchor(r"\A"),
            'Z' => self.anchor(r"\z"),
            'b' | 'B' => self.word_boundary(escape == 'b'),
            '1'..='9' => {
                let start = self.at - 1;
                let octal = self.pattern[start..].iter().take(3).take_while(|c| matches!(c, '0'..='7')).count();
                if octal == 3 {
                    self.at = start;
                    let c = self.octal()?;
                    self.literal(c);
                    return Ok(());
                }
                self.at += usize::from(self.peek().is_some_and(|c| c.is_ascii_digit()));
                let name: String = self.pattern[start..self.at].iter().collect();
                return self.back_reference(&name);
            }
            _ => {
                let c = self.escaped(escape)?;
                self.literal(c);
            }
        }
        Ok(())
    }

    fn word_boundary(&mut self, wanted: bool) {
        let mut word = String::new();
        self.set_of_escape('w').expect("a known escape").write(&mut word);
        let text = if wanted {
            format!("(?:(?<={word})(?!{word})|(?<!{word})(?={word}))")
        } else {
            format!("(?:(?<={word})(?={word})|(?<!{word})(?!{word}))")
        };
        self.anchor(&text);
    }

    fn octal(&mut self) -> Result<char, String> {
        let digits = self.digits(8, 3);
        match u32::from_str_radix(&digits, 8).ok().filter(|number| *number <= 0o377).and_then(char::from_u32) {
            Some(c) => Ok(c),
            None => self.error(&format!("octal escape value \\{digits} outside of range 0-0o377")),
        }
    }

    /// Reads digits, up to a number of them.
    fn digits(&mut self, radix: u32, most: usize) -> String {
        let rest = &self.pattern[self.at..];
        let digits: String = rest.iter().take(most).take_while(|c| c.is_digit(radix)).collect();
        self.at += digits.len();
        digits
    }

    /// Returns the character of an escape, inside and outside a class.
    fn escaped(&mut self, escape: char) -> Result<char, String> {
        Ok(match escape {
            'a' => '\x07',
            'f' => '\x0c',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\x0b',
            '0'..='7' => {
                self.at -= 1;
                self.octal()?
            }
            'x' => self.numbered(escape, 2)?,
            'u' if self.subject == Subject::Text => self.numbered(escape, 4)?,
            'U' if self.subject == Subject::Text => self.numbered(escape, 8)?,
            _ if escape.is_ascii_alphanumeric() => return self.error(&format!("bad escape \\{escape}")),
            _ => escape,
        })
    }

    fn numbered(&mut self, escape: char, length: usize) -> Result<char, String> {
        let digits = self.digits(16, length);
        if digits.len() < length {
            return self.error(&format!("incomplete escape \\{escape}{digits}"));
        }
        match u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32) {
            Some(c) => Ok(c),
            None => self.error(&format!("bad escape \\{escape}{digits}")),
        }
    }

    fn class(&mut self) -> Result<(), String> {
        let inverted = self.take("^");
        let mut set = CharSet::default();
        let mut first = true;
        loop {
            let Some(c) = self.next() else { return self.error("unterminated character set") };
            if c == ']' && !first {
                break;
            }
            first = false;
            let Some(low) = self.class_member(c, &mut set)? else { continue };
            let is_range = self.peek() == Some('-') && self.pattern.get(self.at + 1).is_some_and(|c| *c != ']');
            if !is_range {
                set.add(low);
                continue;
            }
            self.at += 1;
            let Some(c) = self.next() else { return self.error("unterminated character set") };
            match self.class_member(c, &mut set)? {
                Some(high) if high >= low => set.add_range(low, high),
                _ => return self.error("bad character range"),
            }
        }
        let set = if self.flags.ignore_case { set.ignoring_case(self.subject) } else { set };
        (if inverted { set.inverted(self.subject) } else { set }).write(&mut self.out);
        Ok(())
    }

    /// Reads one character of a class. An escape such as `\d` is added to the set as a whole.
    fn class_member(&mut self, c: char, set: &mut CharSet) -> Result<Option<char>, String> {
        if c != '\\' {
            return Ok(Some(c));
        }
        let Some(escape) = self.next() else { return self.error("unterminated character set") };
        if let Some(escaped) = self.set_of_escape(escape) {
            set.add_all(&escaped);
            return Ok(None);
        }
        if escape == 'b' { Ok(Some('\x08')) } else { self.escaped(escape).map(Some) }
    }
}

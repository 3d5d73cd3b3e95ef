//! From Python's pattern syntax, on bytes, to the engine's, on characters that stand for bytes.
//!
//! Everything that the two could read differently is spelled out: literals and classes become classes of
//! characters, anchors become look-around, names become numbers. What is wrong with a pattern is said in
//! Python's words where that is easy; the rest the engine refuses.

use std::fmt::Write as _;

use crate::class::ByteSet;

/// A pattern for the engine, and the numbers of the named groups.
pub(crate) struct Translated {
    pub(crate) text: String,
    pub(crate) names: Vec<(String, usize)>,
}

/// The flags in force.
#[derive(Clone, Copy, Default)]
struct Flags {
    ignore_case: bool,
    multi_line: bool,
    dot_all: bool,
    verbose: bool,
}

/// Translates a pattern.
///
/// # Errors
///
/// What is wrong with it.
pub(crate) fn translate(pattern: &[u8]) -> Result<Translated, String> {
    let mut translator = Translator {
        pattern,
        at: 0,
        out: String::new(),
        groups: 0,
        names: Vec::new(),
        flags: Flags::default(),
        open: Vec::new(),
    };
    while translator.at < pattern.len() {
        translator.item()?;
    }
    if !translator.open.is_empty() {
        return Err("missing ), unterminated subpattern".to_owned());
    }
    Ok(Translated { text: translator.out, names: translator.names })
}

struct Translator<'a> {
    pattern: &'a [u8],
    at: usize,
    out: String,
    groups: usize,
    names: Vec<(String, usize)>,
    flags: Flags,
    /// The flags to go back to at each `)`.
    open: Vec<Flags>,
}

impl Translator<'_> {
    fn peek(&self) -> Option<u8> {
        self.pattern.get(self.at).copied()
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    fn take(&mut self, text: &str) -> bool {
        let found = self.pattern[self.at..].starts_with(text.as_bytes());
        if found {
            self.at += text.len();
        }
        found
    }

    fn error<T>(&self, why: &str) -> Result<T, String> {
        Err(format!("{why} at position {}", self.at))
    }

    fn item(&mut self) -> Result<(), String> {
        let Some(byte) = self.next() else { return Ok(()) };
        match byte {
            b'(' => return self.group(),
            b')' => match self.open.pop() {
                Some(flags) => {
                    self.flags = flags;
                    self.out.push(')');
                }
                None => return self.error("unbalanced parenthesis"),
            },
            b'|' => self.out.push('|'),
            b'*' | b'+' | b'?' => self.quantifier(&char::from(byte).to_string()),
            b'{' => return self.counted(),
            b'[' => return self.class(),
            b'.' => {
                let dot_all = self.flags.dot_all;
                ByteSet::of(|byte| dot_all || byte != b'\n').write(&mut self.out);
            }
            b'^' => self.out.push_str(if self.flags.multi_line { "(?m:^)" } else { r"\A" }),
            b'$' => self.out.push_str(if self.flags.multi_line { "(?m:$)" } else { r"(?=\n?\z)" }),
            b'\\' => return self.escape(),
            b'#' if self.flags.verbose => while self.next().is_some_and(|byte| byte != b'\n') {},
            b' ' | 9..=13 if self.flags.verbose => {}
            _ => self.literal(byte),
        }
        Ok(())
    }

    fn literal(&mut self, byte: u8) {
        if self.flags.ignore_case && byte.is_ascii_alphabetic() {
            let mut set = ByteSet::EMPTY;
            set.add(byte);
            set.ignoring_case().write(&mut self.out);
        } else {
            write!(self.out, "\\x{{{byte:x}}}").expect("a String takes every write");
        }
    }

    fn quantifier(&mut self, text: &str) {
        self.out.push_str(text);
        if let Some(mode @ (b'?' | b'+')) = self.peek() {
            self.at += 1;
            self.out.push(char::from(mode));
        }
    }

    /// `{2}`, `{2,}`, `{,2}`, `{2,3}`; anything else is a brace.
    fn counted(&mut self) -> Result<(), String> {
        let rest = &self.pattern[self.at..];
        let end = rest.iter().position(|byte| *byte == b'}');
        let inside = end.and_then(|end| str::from_utf8(&rest[..end]).ok()).unwrap_or_default();
        let (low, high) = inside.split_once(',').map_or((inside, None), |(low, high)| (low, Some(high)));
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number(low) || !high.is_none_or(is_number) || (low.is_empty() && high.is_none()) {
            self.literal(b'{');
            return Ok(());
        }
        let low = if low.is_empty() { "0" } else { low };
        let text = high.map_or_else(|| format!("{{{low}}}"), |high| format!("{{{low},{high}}}"));
        let reversed = high.and_then(|high| Some(high.parse::<u32>().ok()? < low.parse::<u32>().ok()?));
        if reversed == Some(true) {
            return self.error("min repeat greater than max repeat");
        }
        self.at += inside.len() + 1;
        self.quantifier(&text);
        Ok(())
    }

    fn group(&mut self) -> Result<(), String> {
        let outer = self.flags;
        if !self.take("?") {
            self.groups += 1;
            self.out.push('(');
        } else if self.take("#") {
            while self.next().ok_or("missing ), unterminated comment")? != b')' {}
            return Ok(());
        } else if self.take("P<") {
            let name = self.name(b'>')?;
            self.groups += 1;
            self.names.push((name, self.groups));
            self.out.push('(');
        } else if self.take("P=") {
            let name = self.name(b')')?;
            return self.back_reference(&name);
        } else if let Some(kind) = [":", "=", "!", "<=", "<!", ">"].into_iter().find(|kind| self.take(kind)) {
            write!(self.out, "(?{kind}").expect("a String takes every write");
        } else if self.take("(") {
            let name = self.name(b')')?;
            let number = self.group_number(&name)?;
            write!(self.out, "(?({number})").expect("a String takes every write");
        } else {
            return self.flag_group();
        }
        self.open.push(outer);
        Ok(())
    }

    /// `(?i)`, which holds for the whole pattern, or `(?i-s:…)`.
    fn flag_group(&mut self) -> Result<(), String> {
        let start = self.at - 2;
        let outer = self.flags;
        let mut on = true;
        loop {
            let flag = match self.next() {
                Some(b'-') => {
                    on = false;
                    continue;
                }
                Some(b':') => break,
                Some(b')') if start == 0 => return Ok(()),
                Some(b')') => return self.error("global flags not at the start of the expression"),
                Some(b'i') => &mut self.flags.ignore_case,
                Some(b'm') => &mut self.flags.multi_line,
                Some(b's') => &mut self.flags.dot_all,
                Some(b'x') => &mut self.flags.verbose,
                Some(b'a') => continue,
                _ => return self.error("unknown extension or flag"),
            };
            *flag = on;
        }
        self.out.push_str("(?:");
        self.open.push(outer);
        Ok(())
    }

    fn name(&mut self, end: u8) -> Result<String, String> {
        let length = self.pattern[self.at..].iter().position(|byte| *byte == end);
        let Some(length) = length else { return self.error("missing end of group name") };
        let name = String::from_utf8_lossy(&self.pattern[self.at..self.at + length]).into_owned();
        let fine = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if !fine || (end == b'>' && name.starts_with(|c: char| c.is_ascii_digit())) {
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
        if let Some(set) = ByteSet::of_escape(escape) {
            set.write(&mut self.out);
            return Ok(());
        }
        match escape {
            b'A' => self.out.push_str(r"\A"),
            b'Z' => self.out.push_str(r"\z"),
            b'b' | b'B' => self.word_boundary(escape == b'b'),
            b'1'..=b'9' => {
                let start = self.at - 1;
                let octal = self.pattern[start..].iter().take(3).take_while(|byte| matches!(byte, b'0'..=b'7')).count();
                if octal == 3 {
                    self.at = start;
                    let byte = self.octal();
                    self.literal(byte);
                    return Ok(());
                }
                self.at += usize::from(self.peek().is_some_and(|byte| byte.is_ascii_digit()));
                let name = String::from_utf8_lossy(&self.pattern[start..self.at]).into_owned();
                return self.back_reference(&name);
            }
            _ => {
                let byte = self.escaped_byte(escape)?;
                self.literal(byte);
            }
        }
        Ok(())
    }

    fn word_boundary(&mut self, wanted: bool) {
        let mut word = String::new();
        ByteSet::of_escape(b'w').expect("a known escape").write(&mut word);
        let text = if wanted {
            format!("(?:(?<={word})(?!{word})|(?<!{word})(?={word}))")
        } else {
            format!("(?:(?<={word})(?={word})|(?<!{word})(?!{word}))")
        };
        self.out.push_str(&text);
    }

    fn octal(&mut self) -> u8 {
        let mut byte = 0_u8;
        for _ in 0..3 {
            let Some(digit @ b'0'..=b'7') = self.peek() else { break };
            byte = byte.wrapping_mul(8).wrapping_add(digit - b'0');
            self.at += 1;
        }
        byte
    }

    /// The byte that an escape stands for, inside a class and outside.
    fn escaped_byte(&mut self, escape: u8) -> Result<u8, String> {
        Ok(match escape {
            b'a' => 7,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'v' => 11,
            b'0'..=b'7' => {
                self.at -= 1;
                self.octal()
            }
            b'x' => {
                let digits = self.pattern.get(self.at..self.at + 2).and_then(|digits| str::from_utf8(digits).ok());
                let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
                let Some(byte) = byte else { return self.error("incomplete escape \\x") };
                self.at += 2;
                byte
            }
            _ if escape.is_ascii_alphanumeric() => return self.error(&format!("bad escape \\{}", char::from(escape))),
            _ => escape,
        })
    }

    fn class(&mut self) -> Result<(), String> {
        let inverted = self.take("^");
        let mut set = ByteSet::EMPTY;
        let mut first = true;
        loop {
            let Some(byte) = self.next() else { return self.error("unterminated character set") };
            if byte == b']' && !first {
                break;
            }
            first = false;
            let Some(low) = self.class_member(byte, &mut set)? else { continue };
            let is_range = self.peek() == Some(b'-') && self.pattern.get(self.at + 1).is_some_and(|byte| *byte != b']');
            if !is_range {
                set.add(low);
                continue;
            }
            self.at += 1;
            let Some(byte) = self.next() else { return self.error("unterminated character set") };
            match self.class_member(byte, &mut set)? {
                Some(high) if high >= low => (low..=high).for_each(|byte| set.add(byte)),
                _ => return self.error("bad character range"),
            }
        }
        let set = if self.flags.ignore_case { set.ignoring_case() } else { set };
        (if inverted { set.inverted() } else { set }).write(&mut self.out);
        Ok(())
    }

    /// One byte of a class; an escape such as `\d` goes into the set as a whole.
    fn class_member(&mut self, byte: u8, set: &mut ByteSet) -> Result<Option<u8>, String> {
        if byte != b'\\' {
            return Ok(Some(byte));
        }
        let Some(escape) = self.next() else { return self.error("unterminated character set") };
        if let Some(escaped) = ByteSet::of_escape(escape) {
            set.add_all(&escaped);
            return Ok(None);
        }
        if escape == b'b' { Ok(Some(8)) } else { self.escaped_byte(escape).map(Some) }
    }
}

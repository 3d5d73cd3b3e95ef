//! Sets of characters, for the classes of a pattern. For bytes, a character is the byte with that number.

use std::fmt::Write as _;

/// The kind of text that a pattern is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Subject {
    /// Bytes: classes such as `\w` and case are those of ASCII.
    Bytes,
    /// Text: classes and case are Unicode's.
    Text,
}

impl Subject {
    pub(crate) fn last(self) -> u32 {
        match self {
            Self::Bytes => 0xFF,
            Self::Text => 0x10_FFFF,
        }
    }

    /// Returns the other case of a character, if that is one character.
    pub(crate) fn other_cases(self, c: char) -> Vec<char> {
        let one = |mut cases: Box<dyn Iterator<Item = char>>| match (cases.next(), cases.next()) {
            (Some(case), None) => Some(case),
            _ => None,
        };
        match self {
            Self::Bytes if !c.is_ascii() => Vec::new(),
            Self::Bytes => vec![c.to_ascii_lowercase(), c.to_ascii_uppercase()],
            Self::Text => {
                [one(Box::new(c.to_lowercase())), one(Box::new(c.to_uppercase()))].into_iter().flatten().collect()
            }
        }
    }
}

/// A set of characters: ranges, sorted and separate after [`CharSet::tidy`].
#[derive(Debug, Clone, Default)]
pub(crate) struct CharSet(Vec<(u32, u32)>);

impl CharSet {
    fn of(subject: Subject, holds: impl Fn(char) -> bool) -> Self {
        let mut set = Self::default();
        for number in 0..=subject.last() {
            if char::from_u32(number).is_some_and(&holds) {
                match set.0.last_mut() {
                    Some((_, end)) if *end + 1 == number => *end = number,
                    _ => set.0.push((number, number)),
                }
            }
        }
        set
    }

    /// Returns the class of an escape such as `\d`.
    pub(crate) fn of_escape(subject: Subject, ascii: bool, escape: char) -> Option<Self> {
        let narrow = ascii || subject == Subject::Bytes;
        let set = match (escape.to_ascii_lowercase(), narrow) {
            ('d', true) => Self::of(Subject::Bytes, |c| c.is_ascii_digit()),
            ('s', true) => Self::of(Subject::Bytes, |c| matches!(c, ' ' | '\t'..='\r')),
            ('w', true) => Self::of(Subject::Bytes, |c| c.is_ascii_alphanumeric() || c == '_'),
            ('d', false) => Self::of(subject, is_decimal),
            // `str.isspace` includes the four separators of ASCII.
            ('s', false) => Self::of(subject, |c| c.is_whitespace() || matches!(c, '\x1c'..='\x1f')),
            ('w', false) => Self::of(subject, |c| c.is_alphanumeric() || c == '_'),
            _ => return None,
        };
        Some(if escape.is_ascii_uppercase() { set.inverted(subject) } else { set })
    }

    /// Returns all characters except one.
    pub(crate) fn all_but(subject: Subject, without: Option<char>) -> Self {
        let mut set = Self::default();
        if let Some(c) = without {
            set.add(c);
        }
        set.inverted(subject)
    }

    pub(crate) fn add(&mut self, c: char) {
        self.add_range(c, c);
    }

    pub(crate) fn add_range(&mut self, low: char, high: char) {
        self.0.push((u32::from(low), u32::from(high)));
    }

    pub(crate) fn add_all(&mut self, other: &Self) {
        self.0.extend_from_slice(&other.0);
    }

    fn tidy(&self) -> Vec<(u32, u32)> {
        let mut ranges = self.0.clone();
        ranges.sort_unstable();
        let mut tidy: Vec<(u32, u32)> = Vec::with_capacity(ranges.len());
        for (low, high) in ranges {
            match tidy.last_mut() {
                Some((_, end)) if low <= end.saturating_add(1) => *end = high.max(*end),
                _ => tidy.push((low, high)),
            }
        }
        tidy
    }

    pub(crate) fn inverted(&self, subject: Subject) -> Self {
        let mut out = Self::default();
        let mut next = 0;
        for (low, high) in self.tidy() {
            if low > next {
                out.0.push((next, low - 1));
            }
            next = high + 1;
        }
        if next <= subject.last() {
            out.0.push((next, subject.last()));
        }
        out
    }

    /// Returns the set with both cases of every letter in it.
    pub(crate) fn ignoring_case(&self, subject: Subject) -> Self {
        let mut out = self.clone();
        for (low, high) in self.tidy() {
            for c in (low..=high).filter_map(char::from_u32) {
                subject.other_cases(c).into_iter().for_each(|case| out.add(case));
            }
        }
        out
    }

    /// Writes the set in the engine's syntax.
    pub(crate) fn write(&self, out: &mut String) {
        const SURROGATES: (u32, u32) = (0xD800, 0xDFFF);
        let ranges = self.tidy();
        if ranges.is_empty() {
            out.push_str("(?!)");
            return;
        }
        out.push('[');
        for (low, high) in ranges {
            // Ranges may contain the surrogates, but not begin or end at one.
            let low = if (SURROGATES.0..=SURROGATES.1).contains(&low) { SURROGATES.1 + 1 } else { low };
            let high = if (SURROGATES.0..=SURROGATES.1).contains(&high) { SURROGATES.0 - 1 } else { high };
            write!(out, "\\x{{{low:x}}}-\\x{{{high:x}}}").expect("a String takes every write");
        }
        out.push(']');
    }
}

/// Returns whether Python's `\d` matches: the decimal digits are runs of ten that start at a zero.
fn is_decimal(c: char) -> bool {
    /// The zeros of Unicode 16's general category Nd outside the mathematical digits.
    const ZEROS: [u32; 71] = [
        0x30, 0x660, 0x6F0, 0x7C0, 0x966, 0x9E6, 0xA66, 0xAE6, 0xB66, 0xBE6, 0xC66, 0xCE6, 0xD66, 0xDE6, 0xE50, 0xED0,
        0xF20, 0x1040, 0x1090, 0x17E0, 0x1810, 0x1946, 0x19D0, 0x1A80, 0x1A90, 0x1B50, 0x1BB0, 0x1C40, 0x1C50, 0xA620,
        0xA8D0, 0xA900, 0xA9D0, 0xA9F0, 0xAA50, 0xABF0, 0xFF10, 0x104A0, 0x10D30, 0x10D40, 0x11066, 0x110F0, 0x11136,
        0x111D0, 0x112F0, 0x11450, 0x114D0, 0x11650, 0x116C0, 0x116D0, 0x116DA, 0x11730, 0x118E0, 0x11950, 0x11BF0,
        0x11C50, 0x11D50, 0x11DA0, 0x11F50, 0x16130, 0x16A60, 0x16AC0, 0x16B50, 0x16D70, 0x1CCF0, 0x1E140, 0x1E2F0,
        0x1E4F0, 0x1E5F1, 0x1E950, 0x1FBF0,
    ];
    let number = u32::from(c);
    (0x1D7CE..=0x1D7FF).contains(&number) || ZEROS.iter().any(|zero| (*zero..zero + 10).contains(&number))
}

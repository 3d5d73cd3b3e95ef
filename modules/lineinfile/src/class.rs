//! Sets of bytes: what a character class of a bytes pattern matches.

use std::fmt::Write as _;

/// A set of bytes.
#[derive(Clone, Copy)]
pub(crate) struct ByteSet([bool; 256]);

impl ByteSet {
    pub(crate) const EMPTY: Self = Self([false; 256]);

    pub(crate) fn of(holds: impl Fn(u8) -> bool) -> Self {
        let mut set = Self::EMPTY;
        (0..=u8::MAX).filter(|byte| holds(*byte)).for_each(|byte| set.add(byte));
        set
    }

    /// The class of an escape such as `\d`: ASCII, as in Python's bytes patterns.
    pub(crate) fn of_escape(escape: u8) -> Option<Self> {
        let set = match escape.to_ascii_lowercase() {
            b'd' => Self::of(|byte| byte.is_ascii_digit()),
            b's' => Self::of(|byte| matches!(byte, b' ' | 9..=13)),
            b'w' => Self::of(|byte| byte.is_ascii_alphanumeric() || byte == b'_'),
            _ => return None,
        };
        Some(if escape.is_ascii_uppercase() { set.inverted() } else { set })
    }

    pub(crate) fn add(&mut self, byte: u8) {
        self.0[usize::from(byte)] = true;
    }

    pub(crate) fn add_all(&mut self, other: &Self) {
        (0..=u8::MAX).filter(|byte| other.has(*byte)).for_each(|byte| self.add(byte));
    }

    fn has(&self, byte: u8) -> bool {
        self.0[usize::from(byte)]
    }

    pub(crate) fn inverted(&self) -> Self {
        Self(self.0.map(|held| !held))
    }

    /// With both cases of every ASCII letter that is in it.
    pub(crate) fn ignoring_case(&self) -> Self {
        Self::of(|byte| self.has(byte.to_ascii_lowercase()) || self.has(byte.to_ascii_uppercase()) || self.has(byte))
    }

    /// Writes the set in the engine's syntax, where each byte is the character of that number.
    pub(crate) fn write(&self, out: &mut String) {
        let mut ranges = Vec::new();
        let mut byte = 0_u16;
        while byte < 256 {
            let start = byte;
            while byte < 256 && self.0[usize::from(byte)] {
                byte += 1;
            }
            if byte > start {
                ranges.push((start, byte - 1));
            }
            byte += 1;
        }
        if ranges.is_empty() {
            out.push_str("(?!)");
            return;
        }
        out.push('[');
        for (start, end) in ranges {
            write!(out, "\\x{{{start:x}}}-\\x{{{end:x}}}").expect("a String takes every write");
        }
        out.push(']');
    }
}

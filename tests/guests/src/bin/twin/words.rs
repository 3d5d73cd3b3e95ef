//! The text form of calls: words with a space between them. In a word, `%XX` is a byte, and `%` alone the empty word.

use std::fmt::Write;

/// A call: its name and its arguments.
#[derive(Debug)]
pub(crate) struct Call {
    /// The name.
    pub(crate) name: String,
    args: Vec<Vec<u8>>,
}

impl Call {
    /// Reads a call from its line.
    pub(crate) fn parse(line: &str) -> Self {
        let mut words = line.split(' ');
        let name = words.next().unwrap_or_default().to_owned();
        Self { name, args: words.map(bytes).collect() }
    }

    /// Returns an argument as bytes.
    pub(crate) fn bytes(&self, index: usize) -> &[u8] {
        self.args.get(index).map_or(&[], Vec::as_slice)
    }

    /// Returns an argument as text.
    pub(crate) fn text(&self, index: usize) -> &str {
        str::from_utf8(self.bytes(index)).expect("it is text")
    }

    /// Returns an argument as a number.
    pub(crate) fn number(&self, index: usize) -> i64 {
        self.text(index).parse().expect("it is a number")
    }

    /// Returns an argument as an octal number.
    pub(crate) fn mode(&self, index: usize) -> u32 {
        u32::from_str_radix(self.text(index), 8).expect("it is an octal number")
    }
}

pub(crate) fn bytes(word: &str) -> Vec<u8> {
    let mut left = word.bytes();
    let mut bytes = Vec::new();
    while let Some(byte) = left.next() {
        match (byte, left.len()) {
            (b'%', 0) => {}
            (b'%', _) => bytes.push(hex(left.next()) << 4 | hex(left.next())),
            _ => bytes.push(byte),
        }
    }
    bytes
}

fn hex(digit: Option<u8>) -> u8 {
    digit.and_then(|digit| char::from(digit).to_digit(16)).and_then(|digit| digit.try_into().ok()).expect("a hex digit")
}

/// Returns bytes as a word, with `,` and `:` escaped, too, so that words can stand in lists.
pub(crate) fn word(bytes: &[u8]) -> String {
    let mut word = String::new();
    for &byte in bytes {
        if byte.is_ascii_alphanumeric() || b"/._-".contains(&byte) {
            word.push(char::from(byte));
        } else {
            let _ = write!(word, "%{byte:02x}");
        }
    }
    if word.is_empty() { "%".to_owned() } else { word }
}

/// Returns what is said of file contents: the length, and the bytes or their hash.
pub(crate) fn contents(bytes: &[u8]) -> String {
    let shown = if bytes.len() <= 12 { word(bytes) } else { format!("{:016x}", hash(bytes)) };
    format!("length={} bytes={shown}", bytes.len())
}

/// FNV-1a.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

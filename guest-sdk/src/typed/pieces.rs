//! Joins JSON text at compile time, from parts that a macro writes and parts that types declare.

/// A part of a text.
#[derive(Debug, Clone, Copy)]
pub enum Piece {
    /// JSON text.
    Text(&'static str),
    /// Text that becomes a JSON string.
    Quoted(&'static str),
    /// A whole number.
    Number(i128),
    /// Other pieces.
    Of(&'static [Piece]),
    /// Other pieces with commas between them.
    List(&'static [Piece]),
    /// Other pieces that only document the module: it runs without them.
    Doc(&'static [Piece]),
}

/// Which pieces are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// All pieces, for hosts.
    Everything,
    /// The pieces that a module reads at each start.
    Spec,
}

/// Returns the number of bytes of the joined pieces.
#[must_use]
pub const fn length(pieces: &[Piece], extent: Extent) -> usize {
    let (mut sum, mut at) = (0, 0);
    while at < pieces.len() {
        sum += match pieces[at] {
            Piece::Text(text) => text.len(),
            Piece::Quoted(text) => quoted_length(text),
            Piece::Number(number) => digits(number) + (number < 0) as usize,
            Piece::Of(pieces) => length(pieces, extent),
            Piece::List(pieces) => length(pieces, extent) + 2 * pieces.len().saturating_sub(1),
            Piece::Doc(pieces) if matches!(extent, Extent::Everything) => length(pieces, extent),
            Piece::Doc(_) => 0,
        };
        at += 1;
    }
    sum
}

/// Returns the bytes of the joined pieces, of which there are `N`.
///
/// # Panics
///
/// There are more than `N`.
#[must_use]
pub const fn join<const N: usize>(pieces: &[Piece], extent: Extent) -> [u8; N] {
    put([0; N], 0, pieces, extent).0
}

const fn put<const N: usize>(mut bytes: [u8; N], mut end: usize, pieces: &[Piece], extent: Extent) -> ([u8; N], usize) {
    let mut at = 0;
    while at < pieces.len() {
        match pieces[at] {
            Piece::Text(text) => {
                let mut from = 0;
                while from < text.len() {
                    bytes[end] = text.as_bytes()[from];
                    (from, end) = (from + 1, end + 1);
                }
            }
            Piece::Quoted(text) => (bytes, end) = put_quoted(bytes, end, text),
            Piece::Number(number) => (bytes, end) = put_number(bytes, end, number),
            Piece::Of(pieces) => (bytes, end) = put(bytes, end, pieces, extent),
            Piece::Doc(pieces) if matches!(extent, Extent::Everything) => {
                (bytes, end) = put(bytes, end, pieces, extent);
            }
            Piece::Doc(_) => {}
            Piece::List(pieces) => {
                let mut item = 0;
                while item < pieces.len() {
                    if item > 0 {
                        (bytes[end], bytes[end + 1]) = (b',', b' ');
                        end += 2;
                    }
                    (bytes, end) = put(bytes, end, &[pieces[item]], extent);
                    item += 1;
                }
            }
        }
        at += 1;
    }
    (bytes, end)
}

const fn put_quoted<const N: usize>(mut bytes: [u8; N], mut end: usize, text: &str) -> ([u8; N], usize) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    bytes[end] = b'"';
    end += 1;
    let mut from = 0;
    while from < text.len() {
        let byte = text.as_bytes()[from];
        match escaped_length(byte) {
            1 => bytes[end] = byte,
            2 => {
                bytes[end] = b'\\';
                bytes[end + 1] = byte;
            }
            _ => {
                let escape = [b'\\', b'u', b'0', b'0', HEX[(byte >> 4) as usize], HEX[(byte & 15) as usize]];
                let mut digit = 0;
                while digit < escape.len() {
                    bytes[end + digit] = escape[digit];
                    digit += 1;
                }
            }
        }
        end += escaped_length(byte);
        from += 1;
    }
    bytes[end] = b'"';
    (bytes, end + 1)
}

const fn put_number<const N: usize>(mut bytes: [u8; N], mut end: usize, number: i128) -> ([u8; N], usize) {
    if number < 0 {
        bytes[end] = b'-';
        end += 1;
    }
    let (mut left, mut digit) = (number.unsigned_abs(), digits(number));
    let after = end + digit;
    while digit > 0 {
        digit -= 1;
        bytes[end + digit] = b"0123456789"[(left % 10) as usize];
        left /= 10;
    }
    (bytes, after)
}

/// Returns the number of decimal digits.
const fn digits(number: i128) -> usize {
    let (mut left, mut count) = (number.unsigned_abs() / 10, 1);
    while left > 0 {
        left /= 10;
        count += 1;
    }
    count
}

const fn quoted_length(text: &str) -> usize {
    let (mut sum, mut at) = (2, 0);
    while at < text.len() {
        sum += escaped_length(text.as_bytes()[at]);
        at += 1;
    }
    sum
}

const fn escaped_length(byte: u8) -> usize {
    match byte {
        b'"' | b'\\' => 2,
        0..=0x1f | 0x7f => 6,
        _ => 1,
    }
}

/// Returns the first of several texts. For `module!`.
///
/// # Panics
///
/// There is no text.
#[must_use]
pub const fn first(texts: &[&'static str]) -> &'static str {
    texts[0]
}

/// Compares two texts at compile time.
pub(super) const fn same(left: &str, right: &str) -> bool {
    let (left, right) = (left.as_bytes(), right.as_bytes());
    let mut at = 0;
    while at < left.len() && at < right.len() && left[at] == right[at] {
        at += 1;
    }
    left.len() == right.len() && at == left.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_become_json() {
        const INNER: &[Piece] = &[Piece::Quoted("a\"\\\n\u{7f}é"), Piece::Text(", ")];
        const LIST: Piece = Piece::List(&[Piece::Quoted(""), Piece::Text("1")]);
        const DOC: Piece = Piece::Doc(&[Piece::Text(", "), Piece::Quoted("b")]);
        const PIECES: &[Piece] = &[Piece::Text("["), Piece::Of(INNER), LIST, DOC, Piece::Text("]")];
        const BYTES: [u8; length(PIECES, Extent::Everything)] = join(PIECES, Extent::Everything);
        assert_eq!(str::from_utf8(&BYTES), Ok(r#"["a\"\\\u000a\u007fé", "", 1, "b"]"#));
        const SPEC: [u8; length(PIECES, Extent::Spec)] = join(PIECES, Extent::Spec);
        assert_eq!(str::from_utf8(&SPEC), Ok(r#"["a\"\\\u000a\u007fé", "", 1]"#));
        const NUMBERS: &[Piece] =
            &[Piece::Number(0), Piece::Number(-10), Piece::Number(u64::MAX as i128), Piece::Number(i64::MIN as i128)];
        const LISTED: &[Piece] = &[Piece::List(NUMBERS)];
        const DIGITS: [u8; length(LISTED, Extent::Spec)] = join(LISTED, Extent::Spec);
        assert_eq!(str::from_utf8(&DIGITS), Ok("0, -10, 18446744073709551615, -9223372036854775808"));
        assert!(same("ab", "ab") && !same("ab", "a") && !same("a", "ab") && !same("aa", "ab"));
    }
}

//! The escapes of a delimiter, as in Python's bytes literals.

use modbox_sdk::Failure;

/// Replaces escapes. An unknown escape stays.
///
/// # Errors
///
/// The text ends with a backslash, or `\x` lacks two digits.
pub(crate) fn unescape(text: &str) -> Result<Vec<u8>, Failure> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        at += 1;
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        let escape = *bytes.get(at).ok_or_else(|| Failure::new("the delimiter ends with a single backslash"))?;
        at += 1;
        match escape {
            b'\n' => {}
            b'\\' | b'\'' | b'"' => out.push(escape),
            b'a' => out.push(7),
            b'b' => out.push(8),
            b'f' => out.push(12),
            b'n' => out.push(b'\n'),
            b'r' => out.push(b'\r'),
            b't' => out.push(b'\t'),
            b'v' => out.push(11),
            b'x' => {
                let digits = bytes.get(at..at + 2).and_then(|digits| str::from_utf8(digits).ok());
                let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
                out.push(
                    byte.ok_or_else(|| Failure::new(format!("the delimiter has an invalid \\x escape at {}", at - 2)))?,
                );
                at += 2;
            }
            b'0'..=b'7' => {
                at -= 1;
                let length = bytes[at..].iter().take(3).take_while(|byte| matches!(byte, b'0'..=b'7')).count();
                let digits = &bytes[at..at + length];
                out.push(digits.iter().fold(0_u8, |number, digit| number.wrapping_mul(8).wrapping_add(digit - b'0')));
                at += length;
            }
            other => out.extend([b'\\', other]),
        }
    }
    Ok(out)
}

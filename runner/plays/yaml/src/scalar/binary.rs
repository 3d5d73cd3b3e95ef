//! `!!binary`: base64 as Python's `binascii.a2b_base64` takes it, which skips every other character.

/// Returns the bytes; `None` if the text is not ASCII or its padding is wrong.
pub(crate) fn decode_base64(text: &str) -> Option<Vec<u8>> {
    if !text.is_ascii() {
        return None;
    }
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut filled, mut padding) = (0_u32, 0_u32, 0_u32);
    for byte in text.bytes() {
        if byte == b'=' {
            padding += u32::from(filled >= 2);
            if filled >= 2 && filled + padding >= 4 {
                return Some(bytes);
            }
            continue;
        }
        let Some(value) = value_of(byte) else { continue };
        padding = 0;
        bits = bits << 6 | u32::from(value);
        filled = (filled + 1) % 4;
        if filled != 1 {
            let [.., last] = (bits >> (2 * ((4 - filled) % 4))).to_be_bytes();
            bytes.push(last);
        }
    }
    (filled == 0).then_some(bytes)
}

fn value_of(byte: u8) -> Option<u8> {
    match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, wanted: Option<&[u8]>) {
        assert_eq!(decode_base64(text).as_deref(), wanted, "{text}");
    }

    #[test]
    fn base64_is_read_as_python_reads_it() {
        check("", Some(b""));
        check("aGVsbG8=", Some(b"hello"));
        check("aGVs\n bG8=\n", Some(b"hello"));
        check("aGVsbA==", Some(b"hell"));
        check("aGVs", Some(b"hel"));
        check("a!G*Vs", Some(b"hel"));
        check("aGVsbG8", None);
        check("a", None);
        check("aGVsbG8=x", Some(b"hello"));
        check("=", Some(b""));
        check("é", None);
    }
}

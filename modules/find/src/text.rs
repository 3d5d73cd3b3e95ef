//! How much of a file's text Python reads before it meets bytes that are not of the encoding.

use modbox_sdk::text_encoding::{TextEncoding, WrongByte};

/// The number of bytes that Python decodes at once.
const CHUNK: usize = 8192;

/// Returns how many bytes Python decodes before it meets bytes that are not of the encoding; `None` if all are.
pub(crate) fn decoded_before_error(bytes: &[u8], encoding: TextEncoding) -> Option<usize> {
    let WrongByte { valid, length } = encoding.wrong_byte(bytes)?;
    // The first bytes of a character at the end of a chunk wait for the next chunk.
    let end = valid + length;
    Some((end - 1) / CHUNK * CHUNK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_before_a_wrong_chunk_is_decoded() {
        let decoded = |bytes: &[u8]| decoded_before_error(bytes, TextEncoding::Utf8);
        assert_eq!(decoded("é".as_bytes()), None);
        assert_eq!(decoded(b"ok\xff"), Some(0));
        let late = [&[b'a'; CHUNK][..], b"\xff"].concat();
        assert_eq!(decoded(&late), Some(CHUNK));
        assert_eq!(decoded_before_error("é".as_bytes(), TextEncoding::Ascii), Some(0));
        assert_eq!(decoded_before_error(b"\xff", TextEncoding::Latin1), None);
    }
}

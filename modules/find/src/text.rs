//! The text of files, as Python's `open` reads it: UTF-8 with `\n` at the end of each line.

/// The number of bytes that Python decodes at once.
const CHUNK: usize = 8192;

/// Returns a text in which `\r\n` and `\r` are `\n`.
pub(crate) fn with_plain_newlines(bytes: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(bytes.len());
    let mut after_return = false;
    for &byte in bytes {
        match byte {
            b'\n' if after_return => {}
            b'\r' | b'\n' => text.push(b'\n'),
            other => text.push(other),
        }
        after_return = byte == b'\r';
    }
    text
}

/// Returns how many bytes Python decodes before it meets bytes that are not UTF-8; `None` if all are.
pub(crate) fn decoded_before_error(bytes: &[u8]) -> Option<usize> {
    let error = str::from_utf8(bytes).err()?;
    // The first bytes of a character at the end of a chunk wait for the next chunk.
    let end = error.valid_up_to() + error.error_len().unwrap_or(1);
    Some((end - 1) / CHUNK * CHUNK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_as_in_python() {
        assert_eq!(with_plain_newlines(b"a\r\nb\rc\n\r\r\n"), b"a\nb\nc\n\n\n");
    }

    #[test]
    fn text_before_a_wrong_chunk_is_decoded() {
        assert_eq!(decoded_before_error("é".as_bytes()), None);
        assert_eq!(decoded_before_error(b"ok\xff"), Some(0));
        let late = [&[b'a'; CHUNK][..], b"\xff"].concat();
        assert_eq!(decoded_before_error(&late), Some(CHUNK));
    }
}

//! Fields of SSH's binary formats.
//!
//! Source: RFC 4251, section 5.

/// Splits off a `string`: four bytes of length, then the bytes.
pub(crate) fn string(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = number(bytes)?;
    rest.split_at_checked(usize::try_from(length).ok()?)
}

/// Splits off a `uint32`.
pub(crate) fn number(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (number, rest) = bytes.split_first_chunk()?;
    Some((u32::from_be_bytes(*number), rest))
}

/// Splits off a `uint64`.
pub(crate) fn long_number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (number, rest) = bytes.split_first_chunk()?;
    Some((u64::from_be_bytes(*number), rest))
}

/// Appends a `string`.
pub(crate) fn push_string(bytes: &mut Vec<u8>, string: &[u8]) {
    bytes.extend(u32::try_from(string.len()).unwrap_or(u32::MAX).to_be_bytes());
    bytes.extend(string);
}

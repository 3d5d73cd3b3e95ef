//! Encodings of text files by Python's names.

/// An encoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// `utf-8`
    Utf8,
    /// `utf-8-sig`: UTF-8 with a byte order mark.
    Utf8Sig,
    /// `ascii`
    Ascii,
    /// `latin-1`
    Latin1,
    /// `utf-16`, which has a byte order mark.
    Utf16,
    /// `utf-16-le`
    Utf16Le,
    /// `utf-16-be`
    Utf16Be,
    /// An encoding of one platform or region, such as `windows-1252` or `koi8-r`.
    Regional(&'static encoding_rs::Encoding),
}

impl Encoding {
    /// Returns the encoding of a name. `None` if it is unknown or not supported.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        let plain: String = name.to_lowercase().chars().map(|c| if matches!(c, '-' | ' ') { '_' } else { c }).collect();
        Some(match plain.as_str() {
            "utf_8" | "utf8" | "u8" | "utf" | "cp65001" => Self::Utf8,
            "utf_8_sig" | "utf8_sig" => Self::Utf8Sig,
            "ascii" | "us_ascii" | "646" => Self::Ascii,
            "latin_1" | "latin1" | "latin" | "l1" | "iso_8859_1" | "iso8859_1" | "8859" | "cp819" => Self::Latin1,
            "utf_16" | "utf16" | "u16" => Self::Utf16,
            "utf_16_le" | "utf_16le" => Self::Utf16Le,
            "utf_16_be" | "utf_16be" => Self::Utf16Be,
            other => Self::Regional(regional(other)?),
        })
    }

    /// Decodes bytes. `None` if they are not text in this encoding.
    #[must_use]
    pub fn decode(self, bytes: &[u8]) -> Option<String> {
        let utf8 = |bytes: &[u8]| std::str::from_utf8(bytes).ok().map(str::to_owned);
        match self {
            Self::Utf8 => utf8(bytes),
            Self::Utf8Sig => utf8(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)),
            Self::Ascii => bytes.is_ascii().then(|| utf8(bytes)).flatten(),
            Self::Latin1 => Some(bytes.iter().copied().map(char::from).collect()),
            Self::Utf16 => match bytes {
                [0xfe, 0xff, rest @ ..] => utf16(rest, u16::from_be_bytes),
                [0xff, 0xfe, rest @ ..] | rest => utf16(rest, u16::from_le_bytes),
            },
            Self::Utf16Le => utf16(bytes, u16::from_le_bytes),
            Self::Utf16Be => utf16(bytes, u16::from_be_bytes),
            Self::Regional(encoding) => {
                let text = encoding.decode_without_bom_handling_and_without_replacement(bytes)?;
                (!text.chars().any(is_control)).then(|| text.into_owned())
            }
        }
    }

    /// Encodes text. An error is the first character that the encoding lacks.
    ///
    /// # Errors
    ///
    /// The encoding lacks a character.
    pub fn encode(self, text: &str) -> Result<Vec<u8>, char> {
        let units = |order: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(order).collect::<Vec<u8>>();
        match self {
            Self::Utf8 => Ok(text.as_bytes().to_vec()),
            Self::Utf8Sig => Ok([b"\xef\xbb\xbf", text.as_bytes()].concat()),
            Self::Ascii => text.chars().map(|c| u8::try_from(c).ok().filter(u8::is_ascii).ok_or(c)).collect(),
            Self::Latin1 => text.chars().map(|c| u8::try_from(c).map_err(|_| c)).collect(),
            Self::Utf16 => Ok([vec![0xff, 0xfe], units(u16::to_le_bytes)].concat()),
            Self::Utf16Le => Ok(units(u16::to_le_bytes)),
            Self::Utf16Be => Ok(units(u16::to_be_bytes)),
            Self::Regional(encoding) => encode_regional(encoding, text),
        }
    }
}

/// Returns the encoding of one of Python's names, with underscores. Browsers read some names as similar encodings, which
/// do not count.
fn regional(name: &str) -> Option<&'static encoding_rs::Encoding> {
    let label = name.replace('_', "-");
    let label = match label.strip_prefix("cp").unwrap_or(&label) {
        page if page.len() == 4 && page.starts_with("125") => format!("windows-{page}"),
        _ => label,
    };
    let label = label.strip_prefix("iso8859-").map_or_else(|| label.clone(), |part| format!("iso-8859-{part}"));
    let found = encoding_rs::Encoding::for_label(label.as_bytes())?;
    found.name().replace('_', "-").eq_ignore_ascii_case(&label).then_some(found)
}

/// Says whether a character stands in browsers' tables for a byte that Python's tables do not have.
fn is_control(c: char) -> bool {
    ('\u{80}'..='\u{9f}').contains(&c)
}

fn encode_regional(encoding: &'static encoding_rs::Encoding, text: &str) -> Result<Vec<u8>, char> {
    if let Some(c) = text.chars().find(|c| is_control(*c)) {
        return Err(c);
    }
    let mut encoder = encoding.new_encoder();
    // No encoding takes more than four bytes for a character, and a few for its end.
    let mut bytes = vec![0; text.len().saturating_mul(4).saturating_add(16)];
    let (result, _, written) = encoder.encode_from_utf8_without_replacement(text, &mut bytes, true);
    bytes.truncate(written);
    match result {
        encoding_rs::EncoderResult::InputEmpty => Ok(bytes),
        encoding_rs::EncoderResult::Unmappable(c) => Err(c),
        encoding_rs::EncoderResult::OutputFull => Err(char::REPLACEMENT_CHARACTER),
    }
}

fn utf16(bytes: &[u8], order: fn([u8; 2]) -> u16) -> Option<String> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    let units: Vec<u16> = pairs.iter().copied().map(order).collect();
    rest.is_empty().then(|| String::from_utf16(&units).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodings_are_those_of_python() {
        let check = |name: &str, text: &str, bytes: &[u8]| {
            let encoding = Encoding::of_name(name).unwrap();
            assert_eq!(encoding.encode(text).as_deref(), Ok(bytes), "{name}");
            assert_eq!(encoding.decode(bytes).as_deref(), Some(text), "{name}");
        };
        check("UTF-8", "é", b"\xc3\xa9");
        check("utf-8-sig", "é", b"\xef\xbb\xbf\xc3\xa9");
        check("Latin-1", "é", b"\xe9");
        check("iso-8859-1", "é", b"\xe9");
        check("utf-16", "é", b"\xff\xfe\xe9\0");
        check("utf-16-be", "é", b"\0\xe9");
        check("windows-1252", "€é", b"\x80\xe9");
        check("cp1252", "“", b"\x93");
        check("iso8859_15", "€", b"\xa4");
        check("koi8-r", "ж", b"\xd6");
        check("shift_jis", "あ", b"\x82\xa0");
        assert_eq!(Encoding::of_name("cp1251").unwrap().encode("a✓"), Err('✓'));
        assert_eq!(Encoding::of_name("cp1252").unwrap().decode(b"\x81"), None);
        assert_eq!(Encoding::of_name("iso-8859-9"), None, "browsers read it as windows-1254");
        assert_eq!(Encoding::Ascii.encode("aé"), Err('é'));
        assert_eq!(Encoding::Latin1.encode("€"), Err('€'));
        assert_eq!(Encoding::Utf8.decode(b"\xff"), None);
        assert_eq!(Encoding::Utf16.decode(b"\xff\xfea"), None);
        assert_eq!(Encoding::of_name("klingon"), None);
    }
}

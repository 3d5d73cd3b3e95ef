//! The encodings of text files. Inside the module, text is UTF-8, and other bytes are kept as they are.

use modbox_sdk::Failure;

#[derive(Clone, Copy)]
pub(crate) enum Encoding {
    Utf8,
    Latin1,
}

impl Encoding {
    /// Returns the encoding with a name, in any of Python's spellings.
    ///
    /// # Errors
    ///
    /// The name is unknown.
    pub(crate) fn named(name: &str) -> Result<Self, Failure> {
        match name.to_ascii_lowercase().replace(['-', '_', ' '], "").as_str() {
            // Bytes outside ASCII are kept, as with UTF-8.
            "utf8" | "ascii" | "usascii" => Ok(Self::Utf8),
            "latin1" | "iso88591" | "l1" | "latin" => Ok(Self::Latin1),
            _ => Err(Failure::new(format!("unknown encoding: {name}; expected one of utf-8, latin-1, ascii"))),
        }
    }

    pub(crate) fn decode(self, bytes: &[u8]) -> Vec<u8> {
        match self {
            Self::Utf8 => bytes.to_vec(),
            Self::Latin1 => bytes.iter().map(|byte| char::from(*byte)).collect::<String>().into_bytes(),
        }
    }

    pub(crate) fn encode(self, text: &[u8]) -> Result<Vec<u8>, Failure> {
        match self {
            Self::Utf8 => Ok(text.to_vec()),
            Self::Latin1 => {
                let bad = || Failure::new("the new text has characters that the encoding lacks");
                let text = str::from_utf8(text).map_err(|_| bad())?;
                text.chars().map(|c| u8::try_from(u32::from(c)).map_err(|_| bad())).collect()
            }
        }
    }
}

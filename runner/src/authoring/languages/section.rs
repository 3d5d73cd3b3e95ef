//! A custom section at the end of a WebAssembly file: its number, its length, its name, what it holds. The same for modules and
//! components (WebAssembly core specification 2.0, 5.5.3; component model, binary format).

use modbox_argument_spec::SECTION_NAME;

/// Adds the section that says what a module is.
pub(super) fn append(bytes: &mut Vec<u8>, contents: &[u8]) {
    let mut section = number(SECTION_NAME.len());
    section.extend_from_slice(SECTION_NAME.as_bytes());
    section.extend_from_slice(contents);
    bytes.push(0);
    bytes.extend(number(section.len()));
    bytes.extend(section);
}

/// A number as WebAssembly writes it: seven bits a byte, the lowest first.
pub(super) fn number(mut value: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let low = u8::try_from(value & 0x7f).unwrap_or_default();
        value >>= 7;
        if value == 0 {
            bytes.push(low);
            return bytes;
        }
        bytes.push(low | 0x80);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_seven_bits_a_byte() {
        assert_eq!(number(0), [0]);
        assert_eq!(number(127), [0x7f]);
        assert_eq!(number(624_485), [0xe5, 0x8e, 0x26]);
    }

    #[test]
    fn a_section_is_found_again() {
        let mut bytes = b"\0asm\x01\0\0\0".to_vec();
        append(&mut bytes, &[b'x'; 300]);
        let sections = wasmparser::Parser::new(0).parse_all(&bytes).filter_map(|payload| match payload.unwrap() {
            wasmparser::Payload::CustomSection(section) => Some((section.name().to_owned(), section.data().len())),
            _ => None,
        });
        assert_eq!(sections.collect::<Vec<_>>(), [(SECTION_NAME.to_owned(), 300)]);
    }
}

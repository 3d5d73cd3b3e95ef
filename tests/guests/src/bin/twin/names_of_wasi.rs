//! Names of files as bytes, in the form in which the guard shows them: a byte that is not UTF-8 is the character
//! U+10F700 + byte, and the characters U+10F700 to U+10F7FF of real names are escaped byte by byte.

const FIRST: u32 = 0x10_F700;
const LAST: u32 = FIRST + 0xFF;

/// Returns a path as a call takes it.
pub(crate) fn encoded(path: &[u8]) -> Vec<u8> {
    let mut text = String::new();
    for chunk in path.utf8_chunks() {
        for char in chunk.valid().chars() {
            if (FIRST..=LAST).contains(&u32::from(char)) {
                let mut bytes = [0; 4];
                char.encode_utf8(&mut bytes);
                text.extend(bytes.map(escape));
            } else {
                text.push(char);
            }
        }
        text.extend(chunk.invalid().iter().copied().map(escape));
    }
    text.into_bytes()
}

fn escape(byte: u8) -> char {
    char::from_u32(FIRST + u32::from(byte)).expect("all of them are characters")
}

/// Returns the bytes of a name that a call has returned.
pub(crate) fn decoded(name: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for chunk in name.utf8_chunks() {
        for char in chunk.valid().chars() {
            match u32::from(char).checked_sub(FIRST).and_then(|byte| u8::try_from(byte).ok()) {
                Some(byte) => bytes.push(byte),
                None => bytes.extend(char.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        bytes.extend(chunk.invalid());
    }
    bytes
}

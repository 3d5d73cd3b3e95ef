//! The parts of tags: handles such as `!!`, and what follows them.

use super::error::{Scanned, SyntaxError};
use super::mark::Mark;
use super::reader::Reader;

/// Where a tag is written: in a node, or in a `%TAG` directive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Node,
    Directive,
}

impl Place {
    fn doing(self) -> &'static str {
        match self {
            Self::Node => "while parsing a tag",
            Self::Directive => "while parsing a %TAG directive",
        }
    }
}

/// Reads a handle: `!`, `!!`, `!name!`; or `!name`, which is the start of a tag without a handle.
pub(super) fn scan_handle(reader: &mut Reader<'_>, place: Place, start: Mark) -> Scanned<String> {
    if !reader.is('!') {
        return SyntaxError::within("while scanning a tag", start, "did not find expected '!'", reader.mark());
    }
    reader.take();
    let mut handle = format!("!{}", reader.take_word());
    if reader.is('!') {
        reader.take();
        handle.push('!');
    } else if place == Place::Directive && handle != "!" {
        return SyntaxError::within(place.doing(), start, "did not find expected '!'", reader.mark());
    }
    Ok(handle)
}

/// Reads the rest of a tag behind its head, which is what [`scan_handle`] took for a handle. `is_uri` allows all
/// characters of URIs, which end a tag elsewhere.
pub(super) fn scan_uri(
    reader: &mut Reader<'_>,
    place: Place,
    is_uri: bool,
    head: Option<&str>,
    start: Mark,
) -> Scanned<String> {
    let mut uri = head.and_then(|head| head.get(1..)).unwrap_or_default().to_owned();
    let mut is_empty = head.is_none();
    while let Some(next) = reader.peek().filter(|next| is_tag_character(*next, is_uri)) {
        if next == '%' {
            uri.push(scan_octets(reader, place, start)?);
        } else {
            uri.push(next);
            reader.take();
        }
        is_empty = false;
    }
    if is_empty {
        return SyntaxError::within(place.doing(), start, "did not find expected tag URI", reader.mark());
    }
    Ok(uri)
}

fn is_tag_character(character: char, is_uri: bool) -> bool {
    character.is_ascii_alphanumeric()
        || "_-;/?:@&=+$.%!~*'()".contains(character)
        || is_uri && matches!(character, ',' | '[' | ']')
}

/// Reads a character that is written as octets: `%C3%A9`.
fn scan_octets(reader: &mut Reader<'_>, place: Place, start: Mark) -> Scanned<char> {
    let (mut octets, mut width) = (Vec::with_capacity(4), 1);
    while octets.len() < width {
        let digit = |at| reader.peek_behind(at).and_then(|digit| digit.to_digit(16));
        let octet = digit(1).zip(digit(2)).filter(|_| reader.is('%'));
        let Some(octet) = octet.and_then(|(high, low)| u8::try_from(high << 4 | low).ok()) else {
            return SyntaxError::within(place.doing(), start, "did not find URI escaped octet", reader.mark());
        };
        if octets.is_empty() {
            width = width_of(octet);
        }
        octets.push(octet);
        reader.skip(3);
    }
    match str::from_utf8(&octets).ok().and_then(|text| text.chars().next()) {
        Some(character) => Ok(character),
        None => SyntaxError::within(place.doing(), start, "found an incorrect UTF-8 octet", reader.mark()),
    }
}

/// Returns the number of octets of a character by its first one; 1 for an octet that begins none.
fn width_of(octet: u8) -> usize {
    match octet {
        0xc0..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf7 => 4,
        _ => 1,
    }
}

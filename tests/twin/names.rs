//! Names and paths of the random cases: long ones, ones with spaces, ones that are not UTF-8.

use crate::support::sample::Random;
use crate::twin::case::HERE;

/// Names that meet often, so that calls hit what others made.
const USUAL: [&[u8]; 5] = [b"a", b"b", b"c", b"d", b"e"];

pub(crate) fn name(random: &mut Random) -> Vec<u8> {
    if random.below(10) < 7 {
        return random.pick(&USUAL).to_vec();
    }
    match random.below(12) {
        0 => b"with space".to_vec(),
        1 => "\u{e9}t\u{e9}".into(),
        2 => b"caf\xe9".to_vec(),
        3 => b"\xff\xfe".to_vec(),
        4 => b"n".repeat(255),
        5 => [&b"n".repeat(200), b"\xe9".repeat(55).as_slice()].concat(),
        6 => b"\xff".repeat(255),
        // What the guard shows for the byte 0xe9, as a real name.
        7 => "\u{10F7E9}".into(),
        8 => b".hidden".to_vec(),
        9 => b"-x".to_vec(),
        10 => b"line\nend".to_vec(),
        _ => "\u{1F600}\u{10F6FF}".into(),
    }
}

/// Returns a path in another spelling, which mostly leads to the same place.
pub(crate) fn respelled(path: &[u8], random: &mut Random) -> Vec<u8> {
    let (parent, last) = match path.iter().rposition(|&byte| byte == b'/') {
        Some(at) => (&path[..at], &path[at + 1..]),
        None => (path, &b""[..]),
    };
    let other = name(random);
    match random.below(10) {
        0 | 1 => [path, b"/"].concat(),
        2 => [path, b"/."].concat(),
        3 => [parent, b"//", last].concat(),
        4 => [parent, b"/./", last].concat(),
        5 => [parent, b"/", &other, b"/../", last].concat(),
        6 => [path, b"/.."].concat(),
        7 => [path, b"//"].concat(),
        // Out of the grant and back.
        8 if path.starts_with(&[HERE]) => [&[HERE], b"/in/..".as_slice(), &path[1..]].concat(),
        _ => [path, b"/../", last].concat(),
    }
}

//! Random words of each kind, beside an oracle that is written differently: it walks over the characters by hand-made automata,
//! where `forms` splits and compares.
//!
//! `MODBOX_SEED` chooses another sample. `MODBOX_WHOLE=1` tries ten million words of each kind.

mod oracle;

use modbox_policy::outside::Kind;

use self::oracle::is_of_kind;
use crate::support::sample::{Random, cases};

/// Pieces from which words are made: near every border of a kind.
const PIECES: [&str; 66] = [
    "a",
    "b",
    "Z",
    "0",
    "1",
    "9",
    "00",
    "10",
    "65535",
    "65536",
    "999",
    "1000",
    "4294967294",
    "4294967295",
    "-",
    "--",
    "+",
    "++",
    "^",
    "~",
    ".",
    "..",
    "/",
    "//",
    ":",
    "=",
    ",",
    "_",
    "@",
    "\\",
    "*",
    "?",
    "!",
    "$",
    " ",
    "\t",
    "\n",
    "\r",
    "\0",
    "\u{7f}",
    "\u{85}",
    "é",
    "\u{2028}",
    "\u{202e}",
    ".deb",
    ".RPM",
    "nginx",
    "net",
    "ipv4",
    "tcp",
    "udp",
    "/tcp",
    "any",
    "10.0.0.1",
    "::1",
    "/8",
    "/129",
    "2030-01-31",
    "-02-",
    "/home",
    "/etc",
    "/var/lib",
    "/dev/",
    "Europe/",
    "|",
    "x",
];

fn word(random: &mut Random) -> String {
    let mut word = String::new();
    for _ in 0..=random.below(6) {
        word.push_str(random.pick::<&str>(&PIECES));
        // Sometimes many of one, for the borders of lengths.
        if random.below(400) == 0 {
            let piece = *random.pick::<&str>(&["a", "1", ",a", ".a", "/a", "é"]);
            word.push_str(&piece.repeat(random.below(300)));
        }
    }
    // Words of the kind are rare among random ones: begin or end as one.
    match random.below(8) {
        0 => format!("net.{word}"),
        1 => format!("net.x={word}"),
        2 => format!("/{word}"),
        3 => format!("{word}/tcp"),
        4 => format!("a{word}1"),
        _ => word,
    }
}

#[test]
fn kinds_agree_with_an_oracle_on_random_words() {
    let count = cases(20_000, 10_000_000);
    for (stream, kind) in (1..).zip(Kind::ALL) {
        let mut random = Random::new(stream);
        let mut accepted = 0;
        for number in 0..count {
            let word = word(&mut random);
            let is = kind.has_form(&word);
            assert_eq!(is, is_of_kind(kind, &word), "<{kind}> and {word:?}, word {number}");
            accepted += usize::from(is);
        }
        // Otherwise the sample proves nothing.
        assert!(accepted > count / 20_000, "<{kind}>: {accepted} of {count} words accepted");
    }
}

//! Makes a module's text safe for a terminal: it cannot move the cursor, change colours, reverse the writing direction,
//! or look like several lines where one is expected.
//!
//! All text that may come from a module, its file name, its arguments or its metadata goes through here, also when the
//! output is not a terminal. JSON output does not: it is ASCII, and its strings have these characters escaped.

use std::fmt::Write as _;

use modbox_agents::text::is_unseen;

/// Escapes control characters except line ends and tabs, for text of several lines. What joins letters or chooses their form stays.
pub(crate) fn clean(text: &str) -> String {
    escape(text, |c| is_control(c) && !matches!(c, '\n' | '\t'))
}

/// Escapes all control characters, including line ends and tabs, and all that is not seen, for names, paths and other text of one line:
/// two names must not look like one.
pub(crate) fn clean_line(text: &str) -> String {
    escape(text, |c| is_control(c) || is_unseen(c))
}

fn escape(text: &str, is_unsafe: impl Fn(char) -> bool) -> String {
    let mut cleaned = String::with_capacity(text.len());
    for c in text.chars() {
        match is_unsafe(c) {
            false => cleaned.push(c),
            true => drop(write!(cleaned, "{}", c.escape_unicode())),
        }
    }
    cleaned
}

/// Returns whether a terminal interprets a character or shows nothing for it.
pub(crate) fn is_control(c: char) -> bool {
    // C0, DEL and C1.
    c.is_control()
        // Directional marks, embeddings, overrides and isolates; U+206A to U+206F are deprecated format characters.
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{206f}')
        // Line and paragraph separators, which some terminals and every Python treat as line ends.
        || matches!(c, '\u{2028}' | '\u{2029}')
        // Spaces without width, and fillers.
        || matches!(c, '\u{ad}' | '\u{115f}' | '\u{1160}' | '\u{180e}' | '\u{200b}' | '\u{2060}'..='\u{2064}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}')
        // Annotations and tags: invisible text.
        || matches!(c, '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use modbox_python_json::{Value, encode};
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn terminals_see_no_control_sequences() {
        assert_eq!(clean("a\tb\n\u{1b}[31mred\r\u{202e}x\u{9b}"), "a\tb\n\\u{1b}[31mred\\u{d}\\u{202e}x\\u{9b}");
        assert_eq!(clean_line("name\ndigest: \u{2028}\t"), "name\\u{a}digest: \\u{2028}\\u{9}");
        assert_eq!(clean("naïve 名 👩\u{200d}🚀"), "naïve 名 👩\u{200d}🚀");
        assert_eq!(clean("a\u{200b}b\u{feff}\u{ad}\u{3164}"), "a\\u{200b}b\\u{feff}\\u{ad}\\u{3164}");
        assert_eq!(clean_line("pass\u{200d}wd\u{a0}"), "pass\\u{200d}wd\\u{a0}");
    }

    /// Generates text of any characters, with control characters more frequent than others.
    fn text() -> impl Strategy<Value = String> {
        let control = prop_oneof![
            0_u32..0x20,
            0x7f_u32..0xa0,
            0x2000_u32..0x2070,
            Just(0x61c),
            0xfff0_u32..0xffff,
            0xe0000_u32..0xe0100,
        ];
        let character = prop_oneof![any::<char>(), control.prop_filter_map("no character", char::from_u32)];
        proptest::collection::vec(character, 0..200).prop_map(String::from_iter)
    }

    proptest! {
        #[test]
        fn nothing_that_a_terminal_acts_upon_is_left(text in text()) {
            let cleaned = clean(&text);
            prop_assert!(!cleaned.chars().any(|c| is_control(c) && !matches!(c, '\n' | '\t')));
            prop_assert!(!clean_line(&text).chars().any(is_control));
            // Cleaning is idempotent.
            prop_assert_eq!(clean(&cleaned), cleaned.as_str());
        }

        #[test]
        fn json_is_ascii_without_control_characters(text in text()) {
            let json = encode(&Value::from(text));
            prop_assert!(json.chars().all(|c| matches!(c, ' '..='~')));
        }
    }
}

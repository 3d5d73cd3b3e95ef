//! Texts of modules that enter the context of a model: one line, bounded, and without characters that a person does not see
//! or that change how a text is read.

/// Returns a text in one line: words with one space between them, without hidden characters, at most `most` bytes long. A
/// longer text ends with `…`.
#[must_use]
pub fn in_one_line(text: &str, most: usize) -> String {
    let seen: String = text.chars().filter(|c| !is_hidden(*c)).map(|c| if is_space(c) { ' ' } else { c }).collect();
    let line = seen.split_whitespace().collect::<Vec<_>>().join(" ");
    cut(line, most)
}

/// Returns whether a text has characters that a person does not see, besides ordinary spaces.
#[must_use]
pub fn hides_something(text: &str) -> bool {
    text.chars().any(is_unseen)
}

/// Returns whether a person does not see a character, besides ordinary spaces.
#[must_use]
pub fn is_unseen(c: char) -> bool {
    is_hidden(c) || (c != ' ' && is_space(c))
}

/// Returns a text in one line, with all that is not seen written out, such as `\u{202e}`. Tabs stay.
#[must_use]
pub fn escaped(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        match is_hidden(c) || (is_space(c) && !matches!(c, ' ' | '\t')) {
            true => line.extend(c.escape_unicode()),
            false => line.push(c),
        }
    }
    line
}

/// Returns a text of at most `most` bytes; a longer one ends with `…`.
pub(crate) fn cut(mut text: String, most: usize) -> String {
    const MARK: &str = "…";
    if text.len() > most {
        let end = (0..=most.saturating_sub(MARK.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        text.truncate(end);
        text.push_str(MARK);
    }
    text
}

/// Returns whether a character separates words or lines.
fn is_space(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{1c}'..='\u{1f}')
}

/// Returns whether a character shows nothing, or changes how others are shown: control characters other than white space,
/// Unicode's format characters (category Cf: directions, zero-width characters, tags), variation selectors, fillers,
/// private use and unassigned ends of planes (Unicode 16, `DerivedGeneralCategory` and `Default_Ignorable_Code_Point`).
fn is_hidden(c: char) -> bool {
    if is_space(c) {
        return false;
    }
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{6dd}' | '\u{70f}' | '\u{8e2}' | '\u{2800}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}'
            | '\u{600}'..='\u{605}' | '\u{890}'..='\u{891}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{e000}'..='\u{f8ff}' | '\u{fdd0}'..='\u{fdef}' | '\u{fe00}'..='\u{fe0f}' | '\u{fff0}'..='\u{fffb}'
            | '\u{fffe}'..='\u{ffff}' | '\u{110bd}' | '\u{110cd}' | '\u{13430}'..='\u{1343f}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{10ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_one_line_that_shows_all_that_it_has() {
        let tag: String = "do".chars().map(|c| char::from_u32(0xe0000 + c as u32).unwrap()).collect();
        let hidden = format!("a\u{1b}[31m\u{202e}b\u{200b}\u{feff}{tag}\u{ad}c\u{fe0f}");
        assert!(hides_something(&hidden));
        assert_eq!(in_one_line(&hidden, 100), "a[31mbc");
        assert_eq!(in_one_line(" Two\r\n\tlines\u{2028}and\u{a0}more ", 100), "Two lines and more");
        assert!(hides_something("a\nb") && !hides_something("naïve 名 🚀"));
        assert_eq!(in_one_line("naïve 名 🚀", 100), "naïve 名 🚀");
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        for most in 3..12 {
            let line = in_one_line("名名名名名", most);
            assert!(line.len() <= most && line.ends_with('…'), "{most}: {line}");
        }
        assert_eq!(in_one_line("four", 4), "four");
    }
}

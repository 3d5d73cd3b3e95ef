//! Upper case, lower case and title case, and the questions about characters.

use crate::values::is_python_space;

/// Returns the title case of a character: `ß` becomes `Ss`, and a digraph its own form.
fn title_of(c: char) -> String {
    let digraph = match c {
        '\u{1c4}'..='\u{1c6}' => Some('\u{1c5}'),
        '\u{1c7}'..='\u{1c9}' => Some('\u{1c8}'),
        '\u{1ca}'..='\u{1cc}' => Some('\u{1cb}'),
        '\u{1f1}'..='\u{1f3}' => Some('\u{1f2}'),
        _ => None,
    };
    if let Some(digraph) = digraph {
        return digraph.to_string();
    }
    let mut upper = c.to_uppercase();
    let mut out: String = upper.next().into_iter().collect();
    out.extend(upper.flat_map(char::to_lowercase));
    out
}

/// `str.capitalize`
pub(crate) fn capitalize(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(title_of).unwrap_or_default() + &lower_rest(text, chars.as_str())
}

/// Returns the lower case of the end of a text, with the rest of the text as the context of a final sigma.
fn lower_rest(text: &str, rest: &str) -> String {
    let before = text.len() - rest.len();
    let first = text[..before].to_lowercase();
    text.to_lowercase().strip_prefix(&first).map_or_else(|| rest.to_lowercase(), str::to_owned)
}

/// Returns the lower case of a character at its place: a sigma at the end of a word has its own form.
fn lower_at(chars: &[char], at: usize) -> String {
    let cased = |at: Option<usize>| at.and_then(|at| chars.get(at)).is_some_and(|c| is_cased(*c));
    if chars[at] == 'Σ' && cased(at.checked_sub(1)) && !cased(at.checked_add(1)) {
        return "ς".to_owned();
    }
    chars[at].to_lowercase().collect()
}

/// `str.title`: a word starts after a character without case.
pub(crate) fn title(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let starts = |at: usize| at.checked_sub(1).is_none_or(|before| !is_cased(chars[before]));
    (0..chars.len()).map(|at| if starts(at) { title_of(chars[at]) } else { lower_at(&chars, at) }).collect()
}

/// `str.swapcase`
pub(crate) fn swapcase(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let swap = |at: usize| {
        if chars[at].is_uppercase() { lower_at(&chars, at) } else { chars[at].to_uppercase().collect() }
    };
    (0..chars.len()).map(swap).collect()
}

/// `str.casefold`, without the few characters whose folding differs from lower case, but for `ß` and the final sigma.
pub(crate) fn casefold(text: &str) -> String {
    text.to_lowercase().replace('ß', "ss").replace('ς', "σ")
}

fn is_cased(c: char) -> bool {
    c.is_uppercase() || c.is_lowercase() || matches!(c, '\u{1c5}' | '\u{1c8}' | '\u{1cb}' | '\u{1f2}')
}

/// Returns whether a text has a character with case, and all of those satisfy a condition.
fn all_cased(text: &str, fits: fn(char) -> bool) -> bool {
    let mut cased = text.chars().filter(|c| is_cased(*c)).peekable();
    cased.peek().is_some() && cased.all(fits)
}

/// `str.isupper`
pub(crate) fn is_upper(text: &str) -> bool {
    all_cased(text, char::is_uppercase)
}

/// `str.islower`
pub(crate) fn is_lower(text: &str) -> bool {
    all_cased(text, char::is_lowercase)
}

/// `str.istitle`
pub(crate) fn is_title(text: &str) -> bool {
    let (mut after_cased, mut found) = (false, false);
    for c in text.chars() {
        let fits = if c.is_uppercase() { !after_cased } else { !c.is_lowercase() || after_cased };
        if !fits {
            return false;
        }
        after_cased = is_cased(c);
        found |= after_cased;
    }
    found
}

/// Returns whether a text has characters and all of them satisfy a condition.
pub(crate) fn all(text: &str, fits: fn(char) -> bool) -> bool {
    !text.is_empty() && text.chars().all(fits)
}

/// `str.isalpha` of a character.
pub(crate) fn is_alpha(c: char) -> bool {
    c.is_alphabetic() && !c.is_numeric()
}

/// `str.isalnum` of a character.
pub(crate) fn is_alnum(c: char) -> bool {
    c.is_alphanumeric()
}

/// `str.isspace` of a character.
pub(crate) fn is_space(c: char) -> bool {
    is_python_space(c)
}

/// `str.isdecimal` of a character.
pub(crate) fn is_decimal(c: char) -> bool {
    c.is_ascii_digit() || crate::values::decimal_digit(c).is_some()
}

/// `str.isdigit` of a character: decimal digits and those above or below the line.
pub(crate) fn is_digit(c: char) -> bool {
    let raised = matches!(c, '\u{b2}' | '\u{b3}' | '\u{b9}' | '\u{2070}' | '\u{2074}'..='\u{2079}');
    is_decimal(c) || raised || matches!(c, '\u{2080}'..='\u{2089}' | '\u{2460}'..='\u{2468}')
}

/// `str.isidentifier`, by the rules for ASCII, and letters of other scripts.
pub(crate) fn is_identifier(text: &str) -> bool {
    let mut chars = text.chars();
    let first = chars.next().is_some_and(|c| c == '_' || c.is_alphabetic());
    first && chars.all(|c| c == '_' || c.is_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_are_python_s() {
        assert_eq!(title("they're bill's ßa"), "They'Re Bill'S Ssa");
        assert_eq!(capitalize("ÉCOLE x"), "École x");
        assert_eq!(capitalize(""), "");
        assert_eq!(swapcase("aBß"), "AbSS");
        assert!(is_title("A B1C") && !is_title("AB") && !is_title("1"));
        assert!(is_upper("A1") && !is_upper("1") && is_lower("a-"));
        assert!(all("²3", is_digit) && !all("²3", is_decimal) && !all("", is_digit));
    }
}

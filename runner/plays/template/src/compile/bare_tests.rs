//! Tests without arguments, followed by a sum.
//!
//! Jinja takes `x is defined + 1` for `(x is defined) + 1`. minijinja takes what follows the test for its argument, so
//! it gets `x is defined()+ 1`.

use std::borrow::Cow;

/// Closes tests that ` + ` or ` - ` follows. The length of the text stays.
pub(super) fn close(text: Cow<'_, str>) -> Cow<'_, str> {
    let mut at = 0;
    let mut places = Vec::new();
    while let Some(found) = text[at..].find(" is ") {
        at += found + 4;
        let rest = text[at..].trim_start();
        let rest = rest.strip_prefix("not ").map_or(rest, str::trim_start);
        let after = rest.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.');
        if after.len() < rest.len() && (after.starts_with(" + ") || after.starts_with(" - ")) {
            places.push(text.len() - after.len());
        }
    }
    if places.is_empty() {
        return text;
    }
    let mut closed = text.into_owned();
    for place in places {
        let sign = if closed[place..].starts_with(" + ") { "()+" } else { "()-" };
        closed.replace_range(place..place + 3, sign);
    }
    Cow::Owned(closed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closes_only_tests_that_a_sum_follows() {
        for (text, expect) in [
            ("{{ a is defined + 1 }}", "{{ a is defined()+1 }}"),
            ("{{ a is not x.y.odd - b }}", "{{ a is not x.y.odd()-b }}"),
            ("{{ a is defined -}}", "{{ a is defined -}}"),
            ("{{ a is defined and b + c }}", "{{ a is defined and b + c }}"),
            ("{{ a is gt 1 + 2 }}", "{{ a is gt 1 + 2 }}"),
            ("{{ a is odd + (b is even - 1) }}", "{{ a is odd()+(b is even()-1) }}"),
            ("plain", "plain"),
        ] {
            assert_eq!(close(Cow::Borrowed(text)), expect);
            assert_eq!(expect.len(), text.len());
        }
    }
}

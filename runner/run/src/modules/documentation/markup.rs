//! The markup in texts of documentation, as plain text: `C(x)` is `` `x` ``, and so on.

/// Returns a text without markup. The forms follow ansible-core 2.19, `ansible-doc`.
pub(super) fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.find('(') {
        let (before, inside) = (&rest[..open], &rest[open + 1..]);
        let word = before.len() - before.bytes().rev().take_while(u8::is_ascii_uppercase).count();
        let is_separate = !before[..word].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let shown =
            end_of(inside).filter(|_| is_separate).and_then(|end| Some((show(&before[word..], &inside[..end])?, end)));
        match shown {
            Some((shown, end)) => {
                plain.push_str(&before[..word]);
                plain.push_str(&shown);
                rest = &inside[end + 1..];
            }
            None => {
                plain.push_str(&rest[..=open]);
                rest = inside;
            }
        }
    }
    plain.push_str(rest);
    plain.replace("HORIZONTALLINE", "")
}

/// Returns where the closing parenthesis is; one after a backslash does not close.
fn end_of(inside: &str) -> Option<usize> {
    let bytes = inside.as_bytes();
    (0..bytes.len()).find(|at| bytes[*at] == b')' && (*at == 0 || bytes[*at - 1] != b'\\'))
}

fn show(word: &str, inside: &str) -> Option<String> {
    let text = inside.replace("\\)", ")").replace("\\\\", "\\");
    let halves = || text.split_once(',').map(|(text, rest)| (text.trim(), rest.trim()));
    Some(match word {
        "C" | "V" | "O" | "E" | "RV" => format!("`{text}`"),
        "B" | "I" | "M" | "U" => text,
        "P" => text.split('#').next().unwrap_or_default().to_owned(),
        "L" => halves().map(|(text, link)| format!("{text} <{link}>"))?,
        "R" => halves()?.0.to_owned(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_becomes_plain_text() {
        for (text, expect) in [
            ("Use C(a) or V(b), not O(c=d).", "Use `a` or `b`, not `c=d`."),
            ("B(never) I(ever) M(n.c.m) U(https://x)", "never ever n.c.m https://x"),
            ("L(Text, https://x) R(Text,ref) P(n.c.x#lookup)", "Text <https://x> Text n.c.x"),
            ("C(a(b\\)) f(x) XC(a) AC(b) (C(c)) C(", "`a(b)` f(x) XC(a) AC(b) (`c`) C("),
            ("L(text) E(HOME)HORIZONTALLINE", "L(text) `HOME`"),
        ] {
            assert_eq!(plain(text), expect);
        }
    }
}

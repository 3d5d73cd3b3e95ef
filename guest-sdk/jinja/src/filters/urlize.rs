//! The filter `urlize`: links for the URLs and addresses in text.

use std::sync::LazyLock;

use minijinja::Value;
use modbox_python_re::{Flags, Pattern, Subject};

use super::markup::escaped;
use crate::call::{Call, flag, given, int_argument, str_argument};
use crate::failure::{Outcome, failure};
use crate::values::{is_python_space, items, text};

/// Options of the links.
struct Links {
    limit: Option<usize>,
    /// Attributes behind the address.
    attributes: String,
    schemes: Vec<String>,
}

/// Makes links of the URLs in text.
pub(super) fn urlize(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([value], [limit, nofollow, target, rel, extra]) =
        call.bind(["value"], ["trim_url_limit", "nofollow", "target", "rel", "extra_schemes"])?;
    let limit = given(limit).as_ref().map(int_argument).transpose()?;
    let rel = given(rel).as_ref().map_or(Ok(String::new()), text)?;
    let mut rels: Vec<&str> = rel.split(is_python_space).filter(|word| !word.is_empty()).collect();
    if flag(nofollow.as_ref()) {
        rels.push("nofollow");
    }
    rels.push("noopener");
    rels.sort_unstable();
    rels.dedup();
    let mut attributes = format!(" rel=\"{}\"", escaped(&rels.join(" ")));
    if let Some(target) = given(target) {
        attributes.push_str(&format!(" target=\"{}\"", escaped(&text(&target)?)));
    }
    let schemes = given(extra).as_ref().map_or(Ok(Vec::new()), items)?;
    let schemes = schemes.iter().map(|scheme| str_argument("a scheme", scheme).map(std::borrow::Cow::into_owned));
    let schemes = schemes.collect::<Outcome<Vec<_>>>()?;
    if let Some(wrong) = schemes.iter().find(|scheme| !is_scheme(scheme)) {
        return Err(failure(format!("'{wrong}' is not a valid URI scheme prefix.")));
    }
    let links = Links { limit: limit.and_then(|limit| usize::try_from(limit).ok()), attributes, schemes };
    let escaped_text = escaped(&text(&value)?);
    let mut out = String::with_capacity(escaped_text.len());
    let mut rest = escaped_text.as_str();
    while let Some(first) = rest.chars().next() {
        let blank = is_python_space(first);
        let end = rest.find(|c| is_python_space(c) != blank).unwrap_or(rest.len());
        out.push_str(&if blank { rest[..end].to_owned() } else { links.word(&rest[..end]) });
        rest = &rest[end..];
    }
    Ok(Value::from(out))
}

fn is_scheme(text: &str) -> bool {
    let Some((name, rest)) = text.split_once(':') else { return false };
    let fits = |c: char| c.is_alphanumeric() || "_.+-".contains(c);
    name.chars().count() >= 2 && name.chars().all(fits) && matches!(rest, "" | "/" | "//")
}

impl Links {
    fn word(&self, word: &str) -> String {
        let (head, mut middle, mut tail) = punctuation(word);
        balance(&mut middle, &mut tail);
        let shown = |text: &str| match self.limit {
            Some(limit) if text.chars().count() > limit => {
                format!("{}...", text.chars().take(limit).collect::<String>())
            }
            _ => text.to_owned(),
        };
        let attributes = &self.attributes;
        let link = |target: String, middle: &str| format!("<a href=\"{target}\"{attributes}>{}</a>", shown(middle));
        let plain_scheme = middle.starts_with("https://") || middle.starts_with("http://");
        if is_http_address(&middle) {
            let target = if plain_scheme { middle.clone() } else { format!("https://{middle}") };
            middle = link(target, &middle);
        } else if let Some(address) = middle.strip_prefix("mailto:").filter(|address| is_email(address)) {
            middle = format!("<a href=\"{middle}\">{address}</a>");
        } else if middle.contains('@') && !middle.starts_with("www.") && !middle.contains(':') && is_email(&middle) {
            middle = format!("<a href=\"mailto:{middle}\">{middle}</a>");
        } else if self.schemes.iter().any(|scheme| middle != *scheme && middle.starts_with(scheme.as_str())) {
            middle = format!("<a href=\"{middle}\"{attributes}>{middle}</a>");
        }
        format!("{head}{middle}{tail}")
    }
}

/// Splits off punctuation before and after a word.
fn punctuation(word: &str) -> (String, String, String) {
    let mut middle = word;
    let strip =
        |text: &str, marks: [&str; 3]| marks.iter().find(|mark| text.starts_with(**mark)).map(|mark| mark.len());
    while let Some(length) = strip(middle, ["(", "<", "&lt;"]) {
        middle = &middle[length..];
    }
    let head = &word[..word.len() - middle.len()];
    let mut end = middle.len();
    let marks = [")", ">", ".", ",", "\n", "&gt;"];
    while let Some(mark) = marks.iter().find(|mark| middle[..end].ends_with(**mark)) {
        end -= mark.len();
    }
    (head.to_owned(), middle[..end].to_owned(), middle[end..].to_owned())
}

/// Moves closing brackets back to a word that opened them.
fn balance(middle: &mut String, tail: &mut String) {
    for (open, close) in [("(", ")"), ("<", ">"), ("&lt;", "&gt;")] {
        let missing = middle.matches(open).count();
        if missing <= middle.matches(close).count() {
            continue;
        }
        for _ in 0..missing.min(tail.matches(close).count()) {
            let Some(end) = tail.find(close).map(|at| at + close.len()) else { break };
            middle.push_str(&tail[..end]);
            tail.replace_range(..end, "");
        }
    }
}

fn is_email(text: &str) -> bool {
    let Some((name, domain)) = text.split_once('@') else { return false };
    let Some((before, last)) = domain.rsplit_once('.') else { return false };
    let blank = |text: &str| text.contains(is_python_space);
    let word = |c: char| c.is_alphanumeric() || c == '_';
    !name.is_empty()
        && !blank(name)
        && before.chars().next().is_some_and(word)
        && before.chars().skip(1).all(|c| word(c) || c == '.' || c == '-')
        && !last.is_empty()
        && last.chars().all(word)
}

/// An address of the web: with a scheme or `www.`, with one of the old top-level domains, or with a number for a host.
const ADDRESS: &str = concat!(
    r"(?i)\A(?:(?:https?://|www\.)(?:(?:[\w%-]+\.)+)?(?:[a-z]{2,63}|xn--[\w%]{2,59})",
    r"|(?:[\w%-]{2,63}\.)+(?:com|net|int|edu|gov|org|info|mil)",
    r"|https?://(?:[\d]{1,3}(?:\.[\d]{1,3}){3}|\[(?:[\da-f]{0,4}:){2}(?:[\da-f]{0,4}:?){1,6}\]))",
    r"(?::[\d]{1,5})?(?:[/?#]\S*)?\Z",
);

fn is_http_address(text: &str) -> bool {
    static PATTERN: LazyLock<Pattern> =
        LazyLock::new(|| Pattern::new(ADDRESS, Subject::Text, Flags::default()).expect("the expression is constant"));
    PATTERN.search(text.as_bytes()).is_ok_and(|found| found.is_some())
}

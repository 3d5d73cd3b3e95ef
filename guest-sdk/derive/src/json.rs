//! Converts Rust literals to JSON text.

use std::fmt::Write as _;

use syn::parse::ParseStream;
use syn::{Lit, LitStr, Result, Token, bracketed};

/// Returns the JSON text of a string.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => write!(out, "\\u{:04x}", u32::from(c)).expect("a String takes every write"),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Returns a JSON list of strings.
pub(crate) fn quoted_list<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> String {
    let items: Vec<String> = texts.into_iter().map(|text| quoted(text.as_ref())).collect();
    format!("[{}]", items.join(", "))
}

/// A literal as JSON, with its kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Json {
    pub(crate) text: String,
    pub(crate) kind: Kind,
    /// The text, if the literal is a string.
    pub(crate) string: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Number,
    Bool,
    List,
}

impl Json {
    /// Reads a literal: text, a number, a bool, or a list of those.
    pub(crate) fn parse(input: ParseStream<'_>) -> Result<Self> {
        if input.peek(syn::token::Bracket) {
            let inner;
            bracketed!(inner in input);
            let items = inner.parse_terminated(Self::parse, Token![,])?;
            let items: Vec<String> = items.into_iter().map(|item| item.text).collect();
            return Ok(Self { text: format!("[{}]", items.join(", ")), kind: Kind::List, string: None });
        }
        let minus = input.parse::<Option<Token![-]>>()?.map_or("", |_| "-");
        let expected = "expected a text, a number, `true`, `false` or a list of those";
        let literal: Lit = input.parse().map_err(|error| syn::Error::new(error.span(), expected))?;
        let number = |digits: &str| Self { text: format!("{minus}{digits}"), kind: Kind::Number, string: None };
        match &literal {
            Lit::Int(int) => Ok(number(int.base10_digits())),
            Lit::Float(float) => Ok(number(&with_fraction(float.base10_digits()))),
            Lit::Str(text) if minus.is_empty() => Ok(Self::of_text(text)),
            Lit::Bool(truth) if minus.is_empty() => {
                Ok(Self { text: truth.value.to_string(), kind: Kind::Bool, string: None })
            }
            _ => Err(syn::Error::new(literal.span(), expected)),
        }
    }

    fn of_text(text: &LitStr) -> Self {
        Self { text: quoted(&text.value()), kind: Kind::Text, string: Some(text.value()) }
    }
}

/// Returns the digits of a float with a fraction: `1.` is a float in Rust, and invalid in JSON.
fn with_fraction(digits: &str) -> String {
    if digits.ends_with('.') { format!("{digits}0") } else { digits.to_owned() }
}

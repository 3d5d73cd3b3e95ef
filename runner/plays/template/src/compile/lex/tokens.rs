//! The tokens of templates.

/// A piece of a template that has a meaning of its own.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::compile) struct Token<'t> {
    pub(in crate::compile) kind: TokenKind<'t>,
    /// The line that it begins in, from 1.
    pub(in crate::compile) line: u32,
    /// The byte of the text that it begins at.
    pub(in crate::compile) at: usize,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::compile) enum TokenKind<'t> {
    /// Text outside of tags.
    Text(&'t str),
    /// `{{`
    VariableBegin,
    /// `}}`
    VariableEnd,
    /// `{%`, or the prefix of a line that is a statement.
    BlockBegin,
    /// `%}`, or the end of such a line.
    BlockEnd,
    /// A name or a word of the language.
    Name(&'t str),
    /// A string literal, without its quotes.
    Literal(&'t str),
    /// An integer as it is written.
    Integer(&'t str),
    /// A number with a fraction or an exponent, as it is written.
    Float(&'t str),
    /// An operator or a mark, one of [`SYMBOLS`].
    Symbol(&'static str),
    /// The end of the text.
    End,
}

/// Operators and marks, longest first.
pub(super) const SYMBOLS: [&str; 26] = [
    "**", "//", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[", "]", "(", ")", "{", "}", ">", "<", "=", ".",
    ":", "|", ",", ";",
];

impl TokenKind<'_> {
    /// Returns what messages call the token: Jinja 3.1, `describe_token`.
    pub(in crate::compile) fn described(&self) -> &str {
        match self {
            Self::Text(_) => "template data / text",
            Self::VariableBegin => "begin of print statement",
            Self::VariableEnd => "end of print statement",
            Self::BlockBegin => "begin of statement block",
            Self::BlockEnd => "end of statement block",
            Self::Name(name) => name,
            Self::Literal(_) => "string",
            Self::Integer(_) => "integer",
            Self::Float(_) => "float",
            Self::Symbol(symbol) => symbol,
            Self::End => "end of template",
        }
    }
}

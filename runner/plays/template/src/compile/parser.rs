//! What the parts of the parser share: the tokens, and what was found so far.
//!
//! The parser reads Jinja 3.1 as ansible-core sets it up, and makes a [`Program`] of it at once. Expressions are in
//! `expressions.rs` and `postfix.rs`, statements in `statements.rs` and the files that it names. Its faults have Jinja's
//! words, since people look for these.

use super::lex::{Escapes, Lexer, Token, TokenKind};
use super::names::Mention;
use super::program::{Expr, Node, Program};
use super::specials::Specials;
use super::syntax::{Form, Syntax, SyntaxFailure};
use crate::limits::{MAX_NESTED, MAX_OPEN};

/// What the parser makes, or why there is none.
pub(super) type Parse<T> = Result<T, SyntaxFailure>;

/// An expression that was read.
#[derive(Debug)]
pub(super) struct Parsed {
    pub(super) tree: Expr,
    /// How many levels it has.
    pub(super) depth: u32,
}

impl Parsed {
    /// Makes an expression without parts.
    pub(super) fn leaf(tree: Expr) -> Self {
        Self { tree, depth: 1 }
    }
}

/// A text that is being parsed.
#[derive(Debug)]
pub(super) struct Parser<'t> {
    lexer: Lexer<'t>,
    pub(super) current: Token<'t>,
    /// The token behind the current one, if it was looked at.
    ahead: Option<Token<'t>>,
    pub(super) syntax: &'t Syntax,
    /// Where the text begins in its source, if it is a part of that.
    pub(super) start: Option<usize>,
    pub(super) program: Program,
    pub(super) escapes: Escapes,
    /// Whether literals with templates in them are rendered wherever they are.
    pub(super) renders_literals: bool,
    /// How many literals with templates in them there were.
    pub(super) literals: usize,
    /// Whether the current part may never be reached, so that Jinja looks for its filters only then.
    pub(super) is_optional: bool,
    /// Whether the current statement is in no other one but `if`.
    pub(super) is_top_level: bool,
    /// Whether the template certainly extends another one, which prints instead of it.
    pub(super) is_extended: bool,
    /// Whether the current statement is in a macro, a block, or a `set` block, which print for others.
    pub(super) is_kept: bool,
    /// Whether anything sets a name.
    pub(super) sets_names: bool,
    /// How many `for` blocks are open.
    pub(super) loops: u32,
    pub(super) specials: Specials,
    /// The tags that are open.
    pub(super) tags: Vec<&'t str>,
    /// The tags that may end each open block.
    pub(super) ends: Vec<&'static [&'static str]>,
    /// How many expressions, operations and statements are open.
    open: u32,
}

impl<'t> Parser<'t> {
    /// Begins a text, which begins at a byte of its source, and reads the first token.
    pub(super) fn new(text: &'t str, start: Option<usize>, syntax: &'t Syntax) -> Parse<Self> {
        let mut lexer = Lexer::new(text, syntax);
        let current = lexer.token()?;
        Ok(Self {
            lexer,
            current,
            ahead: None,
            syntax,
            start,
            program: Program::default(),
            escapes: Escapes::Processed,
            renders_literals: syntax.form == Form::Condition,
            literals: 0,
            is_optional: false,
            is_top_level: true,
            is_extended: false,
            is_kept: false,
            sets_names: false,
            loops: 0,
            specials: Specials::default(),
            tags: Vec::new(),
            ends: Vec::new(),
            open: 0,
        })
    }

    pub(super) fn finish(self, body: Vec<Node>) -> Program {
        Program { body, ..self.program }
    }

    /// Goes to the next token, and returns the one that was the current one.
    pub(super) fn next(&mut self) -> Parse<Token<'t>> {
        let next = match self.ahead.take() {
            Some(token) => token,
            None => self.lexer.token()?,
        };
        Ok(std::mem::replace(&mut self.current, next))
    }

    /// Returns the token behind the current one.
    pub(super) fn look(&mut self) -> Parse<TokenKind<'t>> {
        let token = match self.ahead {
            Some(token) => token,
            None => self.lexer.token()?,
        };
        self.ahead = Some(token);
        Ok(token.kind)
    }

    pub(super) fn is_symbol(&self, symbol: &str) -> bool {
        matches!(self.current.kind, TokenKind::Symbol(current) if current == symbol)
    }

    pub(super) fn is_word(&self, word: &str) -> bool {
        matches!(self.current.kind, TokenKind::Name(current) if current == word)
    }

    pub(super) fn skip_symbol(&mut self, symbol: &str) -> Parse<bool> {
        let is_there = self.is_symbol(symbol);
        if is_there {
            self.next()?;
        }
        Ok(is_there)
    }

    pub(super) fn skip_word(&mut self, word: &str) -> Parse<bool> {
        let is_there = self.is_word(word);
        if is_there {
            self.next()?;
        }
        Ok(is_there)
    }

    pub(super) fn expect_symbol(&mut self, symbol: &str) -> Parse<()> {
        if self.skip_symbol(symbol)? { Ok(()) } else { Err(self.expected(symbol)) }
    }

    pub(super) fn expect_word(&mut self, word: &str) -> Parse<()> {
        if self.skip_word(word)? { Ok(()) } else { Err(self.expected(word)) }
    }

    pub(super) fn expect(&mut self, kind: TokenKind<'_>) -> Parse<()> {
        if self.current.kind != kind {
            return Err(self.expected(kind.described()));
        }
        self.next().map(|_| ())
    }

    pub(super) fn expect_name(&mut self) -> Parse<&'t str> {
        let TokenKind::Name(name) = self.current.kind else { return Err(self.expected("name")) };
        self.next()?;
        Ok(name)
    }

    /// Says that another token is needed than the current one.
    fn expected(&self, expected: &str) -> SyntaxFailure {
        self.failure(match self.current.kind {
            TokenKind::End => format!("unexpected end of template, expected '{expected}'."),
            other => format!("expected token '{expected}', got '{}'", other.described()),
        })
    }

    /// Makes a failure at the current token.
    pub(super) fn failure(&self, message: impl Into<String>) -> SyntaxFailure {
        SyntaxFailure::new(message, self.current.line)
    }

    /// Opens an expression, an operation or a statement, which [`Parser::leave`] closes.
    ///
    /// # Errors
    ///
    /// Too many are open for the stack.
    pub(super) fn enter(&mut self) -> Parse<()> {
        if self.open >= MAX_OPEN {
            return Err(self.failure("the template nests too deeply"));
        }
        self.open += 1;
        Ok(())
    }

    pub(super) fn leave(&mut self) {
        self.open -= 1;
    }

    /// Makes an expression of parts, the deepest of which has a number of levels.
    ///
    /// # Errors
    ///
    /// The expression has too many levels to be run.
    pub(super) fn over(&self, depth: u32, tree: Expr) -> Parse<Parsed> {
        if depth >= MAX_NESTED {
            return Err(self.failure("the expression nests too deeply"));
        }
        Ok(Parsed { tree, depth: depth + 1 })
    }

    /// Says of the filters and tests that were named since a place that Jinja looks for them only when it reaches them.
    pub(super) fn make_optional(&mut self, since: usize) {
        for mention in &mut self.program.mentions[since..] {
            match mention {
                Mention::Filter { is_certain, .. } | Mention::Test { is_certain, .. } => *is_certain = false,
                Mention::Lookup { .. } => {}
            }
        }
    }
}

//! Statements that use other templates, and the blocks that these may replace.

use std::sync::Arc;

use super::lex::{TokenKind, is_blank};
use super::parser::{Parse, Parser};
use super::program::{Imported, Node, Target};
use super::syntax::SyntaxFailure;

impl Parser<'_> {
    pub(super) fn block(&mut self, line: u32) -> Parse<Node> {
        self.next()?;
        let name: Arc<str> = self.expect_name()?.into();
        let is_scoped = self.skip_word("scoped")?;
        let is_required = self.skip_word("required")?;
        if self.is_symbol("-") {
            return Err(self.failure(
                "Block names in Jinja have to be valid Python identifiers and may not contain hyphens, use an underscore \
                 instead.",
            ));
        }
        self.program.shares_names = true;
        // What a block reads is nothing that the macro around it reads.
        let specials = std::mem::take(&mut self.specials);
        let body = self.kept_scope(&["endblock"])?;
        self.specials = specials;
        if is_required && !body.iter().all(is_blank_text) {
            return Err(self.failure("Required blocks can only contain comments or whitespace"));
        }
        self.skip_word(&name)?;
        if self.program.blocks.insert(name.clone(), Arc::new(body)).is_some() {
            return Err(SyntaxFailure::new(format!("block '{name}' defined twice"), line));
        }
        Ok(Node::Block { line, name, is_scoped, is_required, is_top_level: self.is_top_level })
    }

    pub(super) fn extends(&mut self, line: u32) -> Parse<Node> {
        if !self.is_top_level {
            return Err(self.failure("cannot use extend from a non top-level scope"));
        }
        self.next()?;
        self.program.shares_names = true;
        let name = self.expression()?.tree;
        self.is_extended |= self.ends.is_empty();
        Ok(Node::Extends(line, name))
    }

    pub(super) fn include(&mut self, line: u32) -> Parse<Node> {
        self.next()?;
        self.program.shares_names = true;
        let name = self.expression()?.tree;
        let ignore_missing = self.is_word("ignore") && self.look()? == TokenKind::Name("missing");
        if ignore_missing {
            self.next()?;
            self.next()?;
        }
        let with_context = self.context()?.unwrap_or(true);
        Ok(Node::Include { line, name, ignore_missing, with_context })
    }

    pub(super) fn import(&mut self, line: u32) -> Parse<Node> {
        self.next()?;
        self.program.shares_names = true;
        let name = self.expression()?.tree;
        self.expect_word("as")?;
        let target = Target::Name(self.name_to_set()?.into());
        let with_context = self.context()?.unwrap_or(false);
        Ok(Node::Import { line, name, target, with_context })
    }

    pub(super) fn from(&mut self, line: u32) -> Parse<Node> {
        self.next()?;
        self.program.shares_names = true;
        let name = self.expression()?.tree;
        self.expect_word("import")?;
        let mut names = Vec::new();
        let with_context = loop {
            if let Some(with_context) = self.context()? {
                break with_context;
            }
            names.push(self.imported()?);
            if let Some(with_context) = self.context()? {
                break with_context;
            }
            if !self.skip_symbol(",")? {
                break false;
            }
        };
        Ok(Node::From { line, name, names, with_context })
    }

    fn imported(&mut self) -> Parse<Imported> {
        let line = self.current.line;
        let name: Arc<str> = self.name_to_set()?.into();
        if name.starts_with('_') {
            return Err(SyntaxFailure::new("names starting with an underline can not be imported", line));
        }
        let as_name = if self.skip_word("as")? { self.name_to_set()?.into() } else { name.clone() };
        Ok(Imported { name, as_name })
    }

    /// Reads `with context` or `without context`, if one is there.
    fn context(&mut self) -> Parse<Option<bool>> {
        let is_with = self.is_word("with");
        if !(is_with || self.is_word("without")) || self.look()? != TokenKind::Name("context") {
            return Ok(None);
        }
        self.next()?;
        self.next()?;
        Ok(Some(is_with))
    }
}

fn is_blank_text(node: &Node) -> bool {
    matches!(node, Node::Text(text) if text.as_str().is_some_and(|text| text.chars().all(is_blank)))
}

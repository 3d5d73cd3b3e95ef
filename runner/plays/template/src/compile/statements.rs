//! Templates and their statements. Macros are in `macros.rs`, what uses other templates in `others.rs`.

use std::sync::Arc;

use minijinja::Value;

use super::expressions::TupleEnd;
use super::lex::{Escapes, TokenKind};
use super::parser::{Parse, Parsed, Parser};
use super::program::{Branch, Expr, For, Node};
use super::syntax::SyntaxFailure;

/// The tags that end a block.
pub(super) type Ends = &'static [&'static str];

impl<'t> Parser<'t> {
    /// Reads a whole template.
    pub(super) fn template(&mut self) -> Parse<Vec<Node>> {
        self.nodes(&[])
    }

    /// Reads an expression that is the whole text.
    pub(super) fn whole_expression(&mut self) -> Parse<Vec<Node>> {
        let made = self.expression()?;
        match self.current.kind {
            TokenKind::End => Ok(vec![Node::Emit(1, made.tree)]),
            _ => Err(self.failure("chunk after expression")),
        }
    }

    /// Reads nodes up to a tag of some, which becomes the current token, or to the end of the text.
    fn nodes(&mut self, ends: Ends) -> Parse<Vec<Node>> {
        let mut nodes = Vec::new();
        loop {
            match self.current.kind {
                TokenKind::End => return Ok(nodes),
                TokenKind::Text(text) => {
                    nodes.push(Node::Text(self.text(text)));
                    self.next()?;
                }
                TokenKind::VariableBegin => nodes.push(self.emit()?),
                TokenKind::BlockBegin => {
                    self.next()?;
                    if ends.iter().any(|end| self.is_word(end)) {
                        return Ok(nodes);
                    }
                    self.statement(&mut nodes)?;
                    self.expect(TokenKind::BlockEnd)?;
                }
                other => return Err(self.failure(format!("unexpected '{}'", other.described()))),
            }
        }
    }

    fn text(&self, text: &str) -> Value {
        match self.syntax.options.newline_sequence {
            "\n" => Value::from(text),
            newline => Value::from(text.replace('\n', newline)),
        }
    }

    /// Makes the node of what is printed. A template that certainly extends another one prints nothing, and Jinja does not
    /// look for names in what it would print (3.1, `visit_Output`).
    fn printed(&mut self, line: u32, value: Expr, since: usize) -> Node {
        if self.is_extended && !self.is_kept {
            self.program.mentions.truncate(since);
        }
        Node::Emit(line, value)
    }

    fn emit(&mut self) -> Parse<Node> {
        if !self.syntax.options.process_escapes {
            self.escapes = Escapes::Kept;
        }
        let line = self.next()?.line;
        let since = self.program.mentions.len();
        let made = self.tuple(true, TupleEnd::Tag)?;
        self.escapes = Escapes::Processed;
        self.expect(TokenKind::VariableEnd)?;
        Ok(self.printed(line, made.tree, since))
    }

    /// Reads a statement, from its tag on.
    fn statement(&mut self, nodes: &mut Vec<Node>) -> Parse<()> {
        let TokenKind::Name(tag) = self.current.kind else { return Err(self.failure("tag name expected")) };
        let line = self.current.line;
        self.enter()?;
        self.tags.push(tag);
        let node = match tag {
            "for" => self.each(line)?,
            "if" => self.condition()?,
            "set" => self.set(line)?,
            "with" => self.with(line)?,
            "filter" => self.filter_block(line)?,
            "autoescape" => self.autoescape(line)?,
            "print" => {
                self.print(line, nodes)?;
                self.close_tag();
                return Ok(());
            }
            "macro" => self.macro_block()?,
            "call" => self.call_block(line)?,
            "block" => self.block(line)?,
            "extends" => self.extends(line)?,
            "include" => self.include(line)?,
            "import" => self.import(line)?,
            "from" => self.from(line)?,
            _ => {
                self.tags.pop();
                return Err(self.wrong_tag(Some(tag), &[]));
            }
        };
        self.close_tag();
        nodes.push(node);
        Ok(())
    }

    fn close_tag(&mut self) {
        self.tags.pop();
        self.leave();
    }

    /// Reads the end of a tag and the nodes behind it, up to a tag of some, which becomes the current token.
    pub(super) fn body(&mut self, ends: Ends) -> Parse<Vec<Node>> {
        self.skip_symbol(":")?;
        self.expect(TokenKind::BlockEnd)?;
        self.ends.push(ends);
        let nodes = self.nodes(ends)?;
        self.ends.pop();
        if self.current.kind == TokenKind::End { Err(self.wrong_tag(None, ends)) } else { Ok(nodes) }
    }

    /// Reads nodes that are a scope of their own, where filters are looked for at once.
    pub(super) fn scope(&mut self, ends: Ends) -> Parse<Vec<Node>> {
        self.program.has_choices = true;
        let outer = (self.is_optional, self.is_top_level);
        (self.is_optional, self.is_top_level) = (false, false);
        let nodes = self.body(ends)?;
        (self.is_optional, self.is_top_level) = outer;
        Ok(nodes)
    }

    /// Reads nodes that are a scope of their own and print for others, and the tag that ends them.
    pub(super) fn kept_scope(&mut self, ends: Ends) -> Parse<Vec<Node>> {
        let outer = std::mem::replace(&mut self.is_kept, true);
        let nodes = self.whole_scope(ends)?;
        self.is_kept = outer;
        Ok(nodes)
    }

    /// Reads an expression of a scope of its own, whose filters Jinja looks for at once.
    pub(super) fn certainly<T>(&mut self, read: impl FnOnce(&mut Self) -> Parse<T>) -> Parse<T> {
        let outer = std::mem::replace(&mut self.is_optional, false);
        let made = read(self)?;
        self.is_optional = outer;
        Ok(made)
    }

    /// Reads nodes that are a scope of their own, and the tag that ends them.
    pub(super) fn whole_scope(&mut self, ends: Ends) -> Parse<Vec<Node>> {
        let nodes = self.scope(ends)?;
        self.next()?;
        Ok(nodes)
    }

    /// Says that a tag is not known or not here, or that the text ends before one.
    fn wrong_tag(&self, tag: Option<&str>, expected: Ends) -> SyntaxFailure {
        let mut message = match tag {
            Some(tag) => format!("Encountered unknown tag '{tag}'."),
            None => "Unexpected end of template.".to_owned(),
        };
        let innermost = if expected.is_empty() { self.ends.last().copied().unwrap_or_default() } else { expected };
        if !innermost.is_empty() {
            let names: Vec<String> = innermost.iter().map(|name| format!("'{name}'")).collect();
            let names = names.join(" or ");
            let is_outer = tag.is_some_and(|tag| self.ends.iter().any(|ends| ends.contains(&tag)));
            message += &if is_outer {
                format!(
                    " You probably made a nesting mistake. Jinja is expecting this tag, but currently looking for {names}."
                )
            } else {
                format!(" Jinja was looking for the following tags: {names}.")
            };
        }
        if let Some(open) = self.tags.last() {
            message += &format!(" The innermost block that needs to be closed is '{open}'.");
        }
        self.failure(message)
    }

    fn each(&mut self, line: u32) -> Parse<Node> {
        self.next()?;
        self.loops += 1;
        let target = self.target(TupleEnd::Tag, false)?;
        self.expect_word("in")?;
        let iterable = self.tuple(false, TupleEnd::Tag)?;
        let filter = if self.skip_word("if")? { Some(self.certainly(Self::expression)?.tree) } else { None };
        let is_recursive = self.skip_word("recursive")?;
        let body = self.scope(&["endfor", "else"])?;
        let is_otherwise = self.is_word("else");
        self.next()?;
        let otherwise = if is_otherwise { self.whole_scope(&["endfor"])? } else { Vec::new() };
        self.loops -= 1;
        let each = For { target, iterable: iterable.tree, filter, is_recursive, body, otherwise };
        Ok(Node::For(line, Arc::new(each)))
    }

    fn condition(&mut self) -> Parse<Node> {
        let (mut branches, mut otherwise) = (Vec::new(), Vec::new());
        let outer = self.is_optional;
        self.program.has_choices = true;
        loop {
            // The tag `if` or `elif`.
            let line = self.next()?.line;
            let condition = self.tuple(false, TupleEnd::Tag)?.tree;
            self.is_optional = true;
            let then = self.body(&["elif", "else", "endif"])?;
            branches.push(Branch { line, condition, then });
            if !self.is_word("elif") {
                break;
            }
        }
        let is_otherwise = self.is_word("else");
        self.next()?;
        if is_otherwise {
            otherwise = self.body(&["endif"])?;
            self.next()?;
        }
        self.is_optional = outer;
        Ok(Node::If(branches, otherwise))
    }

    fn set(&mut self, line: u32) -> Parse<Node> {
        self.next()?;
        let target = self.target(TupleEnd::Tag, true)?;
        if self.skip_symbol("=")? {
            return Ok(Node::Set(line, target, self.tuple(true, TupleEnd::Tag)?.tree));
        }
        let mut filter = None;
        while self.skip_symbol("|")? {
            let input = filter.unwrap_or_else(|| Parsed::leaf(Expr::Captured));
            filter = Some(self.certainly(|parser| parser.filter(input))?);
        }
        let body = self.kept_scope(&["endset"])?;
        Ok(Node::Capture(line, target, filter.map(|filter| filter.tree), body))
    }

    fn with(&mut self, line: u32) -> Parse<Node> {
        self.next()?;
        let mut assignments = Vec::new();
        while self.current.kind != TokenKind::BlockEnd {
            if !assignments.is_empty() {
                self.expect_symbol(",")?;
            }
            // `loop` is a name like others here.
            let loops = std::mem::take(&mut self.loops);
            let target = self.target(TupleEnd::Tag, false)?;
            self.loops = loops;
            self.expect_symbol("=")?;
            assignments.push((target, self.expression()?.tree));
        }
        Ok(Node::With(line, assignments, self.whole_scope(&["endwith"])?))
    }

    fn filter_block(&mut self, line: u32) -> Parse<Node> {
        self.next()?;
        let mut filter = self.certainly(|parser| parser.filter(Parsed::leaf(Expr::Captured)))?;
        while self.skip_symbol("|")? {
            filter = self.certainly(|parser| parser.filter(filter))?;
        }
        Ok(Node::Filtered(line, filter.tree, self.whole_scope(&["endfilter"])?))
    }

    /// Reads a block that sets whether values are escaped. Ansible makes values of their own types, and escapes none.
    fn autoescape(&mut self, line: u32) -> Parse<Node> {
        self.next()?;
        let value = self.expression()?.tree;
        Ok(Node::Autoescape(line, value, self.whole_scope(&["endautoescape"])?))
    }

    fn print(&mut self, line: u32, nodes: &mut Vec<Node>) -> Parse<()> {
        self.next()?;
        let mut is_first = true;
        while self.current.kind != TokenKind::BlockEnd {
            if !std::mem::take(&mut is_first) {
                self.expect_symbol(",")?;
            }
            let since = self.program.mentions.len();
            let value = self.expression()?.tree;
            nodes.push(self.printed(line, value, since));
        }
        Ok(())
    }
}

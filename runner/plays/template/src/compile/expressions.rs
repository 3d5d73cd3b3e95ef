//! Expressions: operators by how strongly they bind, and what they are made of.
//!
//! Weakest first: `if`, `or`, `and`, `not`, comparisons, `+ -`, `~`, `* / // %`, `**`, signs. A sign binds before filters
//! and tests do, so `-x | abs` is the filter's. All operators group to the left, also `**`.

use std::borrow::Cow;

use minijinja::Value;

use super::lex::{Escapes, Token, TokenKind, float, has_common_escapes, integer, unescaped};
use super::parser::{Parse, Parsed, Parser};
use super::program::{Comparison, Embedded, Expr, Operator};
use super::syntax::SyntaxFailure;
use crate::text;

// How strongly operators bind.
const OR: u8 = 1;
const AND: u8 = 2;
const NOT: u8 = 3;
const COMPARE: u8 = 4;
const SUM: u8 = 5;
const CONCATENATION: u8 = 6;
const PRODUCT: u8 = 7;
const POWER: u8 = 8;

/// What ends a tuple. Words do not: Jinja 3.1 takes `in` of `for v, in l` for a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TupleEnd {
    /// The end of the tag.
    Tag,
    /// The parenthesis around it, which may be empty.
    Parenthesis,
}

enum Infix {
    And,
    Or,
    Binary(Operator),
    Comparison,
}

impl<'t> Parser<'t> {
    /// Reads an expression, which may be conditional.
    pub(super) fn expression(&mut self) -> Parse<Parsed> {
        self.enter()?;
        let since = self.program.mentions.len();
        let mut made = self.operation(OR)?;
        if self.is_word("if") {
            self.make_optional(since);
        }
        while self.skip_word("if")? {
            self.program.has_choices = true;
            let outer = std::mem::replace(&mut self.is_optional, true);
            let condition = self.operation(OR)?;
            let otherwise = if self.skip_word("else")? { Some(self.expression()?) } else { None };
            self.is_optional = outer;
            let depth = made.depth.max(condition.depth).max(otherwise.as_ref().map_or(0, |other| other.depth));
            let otherwise = otherwise.map(|other| Box::new(other.tree));
            made = self.over(depth, Expr::If(Box::new(condition.tree), Box::new(made.tree), otherwise))?;
        }
        self.leave();
        Ok(made)
    }

    /// Reads an expression that is not conditional, so that `if` may follow.
    pub(super) fn plain_expression(&mut self) -> Parse<Parsed> {
        self.operation(OR)
    }

    /// Reads operands with operators between them that bind at least so strongly.
    fn operation(&mut self, least: u8) -> Parse<Parsed> {
        self.enter()?;
        let mut left = self.operand(least)?;
        while let Some((infix, power)) = self.infix()?.filter(|(_, power)| *power >= least) {
            left = match infix {
                Infix::Comparison => self.comparisons(left)?,
                Infix::And | Infix::Or => {
                    self.next()?;
                    self.program.has_choices = true;
                    let right = self.operation(power + 1)?;
                    let depth = left.depth.max(right.depth);
                    let (left, right) = (Box::new(left.tree), Box::new(right.tree));
                    let is_and = matches!(infix, Infix::And);
                    self.over(depth, if is_and { Expr::And(left, right) } else { Expr::Or(left, right) })?
                }
                Infix::Binary(operator) => {
                    self.next()?;
                    let right = self.operation(power + 1)?;
                    let tree = Expr::Binary(operator, Box::new(left.tree), Box::new(right.tree));
                    self.over(left.depth.max(right.depth), tree)?
                }
            };
        }
        self.leave();
        Ok(left)
    }

    /// Returns the operator at the current token, and how strongly it binds.
    fn infix(&mut self) -> Parse<Option<(Infix, u8)>> {
        let binary = |operator, power| Some((Infix::Binary(operator), power));
        Ok(match self.current.kind {
            TokenKind::Name("or") => Some((Infix::Or, OR)),
            TokenKind::Name("and") => Some((Infix::And, AND)),
            TokenKind::Name(_) | TokenKind::Symbol("==" | "!=" | "<" | "<=" | ">" | ">=") => {
                self.comparison()?.map(|_| (Infix::Comparison, COMPARE))
            }
            TokenKind::Symbol("+") => binary(Operator::Add, SUM),
            TokenKind::Symbol("-") => binary(Operator::Subtract, SUM),
            TokenKind::Symbol("~") => binary(Operator::Concatenate, CONCATENATION),
            TokenKind::Symbol("*") => binary(Operator::Multiply, PRODUCT),
            TokenKind::Symbol("/") => binary(Operator::Divide, PRODUCT),
            TokenKind::Symbol("//") => binary(Operator::FloorDivide, PRODUCT),
            TokenKind::Symbol("%") => binary(Operator::Remainder, PRODUCT),
            TokenKind::Symbol("**") => binary(Operator::Power, POWER),
            _ => None,
        })
    }

    /// Returns the comparison at the current token.
    fn comparison(&mut self) -> Parse<Option<Comparison>> {
        let kind = self.current.kind;
        Ok(match kind {
            TokenKind::Symbol("==") => Some(Comparison::Equal),
            TokenKind::Symbol("!=") => Some(Comparison::NotEqual),
            TokenKind::Symbol("<") => Some(Comparison::Less),
            TokenKind::Symbol("<=") => Some(Comparison::LessOrEqual),
            TokenKind::Symbol(">") => Some(Comparison::Greater),
            TokenKind::Symbol(">=") => Some(Comparison::GreaterOrEqual),
            TokenKind::Name("in") => Some(Comparison::In),
            TokenKind::Name("not") if self.look()? == TokenKind::Name("in") => Some(Comparison::NotIn),
            _ => None,
        })
    }

    /// Reads a chain of comparisons behind its first operand.
    fn comparisons(&mut self, first: Parsed) -> Parse<Parsed> {
        let (mut depth, mut rest) = (first.depth, Vec::new());
        while let Some(comparison) = self.comparison()? {
            self.next()?;
            if comparison == Comparison::NotIn {
                self.next()?;
            }
            let right = self.operation(SUM)?;
            depth = depth.max(right.depth);
            rest.push((comparison, right.tree));
        }
        self.over(depth, Expr::Compare(Box::new(first.tree), rest))
    }

    fn operand(&mut self, least: u8) -> Parse<Parsed> {
        // Where only stronger operators may be, `not` is a name.
        if least <= NOT && self.skip_word("not")? {
            let operand = self.operation(NOT)?;
            return self.over(operand.depth, Expr::Not(Box::new(operand.tree)));
        }
        let made = self.signed()?;
        self.filters_and_tests(made)
    }

    /// Reads an operand with its signs, without filters and tests.
    fn signed(&mut self) -> Parse<Parsed> {
        let is_negative = self.is_symbol("-");
        if !is_negative && !self.is_symbol("+") {
            let made = self.primary()?;
            return self.postfix(made);
        }
        self.next()?;
        self.enter()?;
        let operand = self.signed()?;
        self.leave();
        let tree = Box::new(operand.tree);
        let tree = if is_negative { Expr::Negative(tree) } else { Expr::Positive(tree) };
        let made = self.over(operand.depth, tree)?;
        self.postfix(made)
    }

    /// Reads a name, a literal, or something in brackets.
    pub(super) fn primary(&mut self) -> Parse<Parsed> {
        let token = self.current;
        let failed = |message| SyntaxFailure::new(message, token.line);
        let constant = |value: Value| Ok(Parsed::leaf(Expr::Constant(value)));
        match token.kind {
            TokenKind::Name(name) => {
                self.next()?;
                match name {
                    "true" | "True" => constant(Value::from(true)),
                    "false" | "False" => constant(Value::from(false)),
                    "none" | "None" => constant(Value::from(())),
                    _ => {
                        self.specials.read(name);
                        Ok(Parsed::leaf(Expr::Name(name.into())))
                    }
                }
            }
            TokenKind::Literal(_) => self.literal(token),
            TokenKind::Integer(written) => {
                self.next()?;
                constant(integer(written).map_err(failed)?)
            }
            TokenKind::Float(written) => {
                self.next()?;
                constant(float(written).map_err(failed)?)
            }
            TokenKind::Symbol("(") => {
                self.next()?;
                let made = self.tuple(true, TupleEnd::Parenthesis)?;
                self.expect_symbol(")")?;
                Ok(made)
            }
            TokenKind::Symbol("[") => self.list(),
            TokenKind::Symbol("{") => self.dict(),
            other => Err(self.failure(format!("unexpected '{}'", other.described()))),
        }
    }

    /// Reads adjacent string literals.
    fn literal(&mut self, first: Token<'t>) -> Parse<Parsed> {
        let (mut value, mut count) = (String::new(), 0);
        while let TokenKind::Literal(raw) = self.current.kind {
            let raw = match self.syntax.options.newline_sequence {
                "\n" => Cow::Borrowed(raw),
                newline => Cow::Owned(raw.replace('\n', newline)),
            };
            match self.escapes {
                Escapes::Kept => value.push_str(&raw),
                Escapes::Processed => value.push_str(&unescaped(&raw).map_err(|cause| self.failure(cause))?),
            }
            count += 1;
            self.next()?;
        }
        if !text::is_template(&value) {
            return Ok(Parsed::leaf(Expr::Constant(Value::from(value))));
        }
        self.literals += 1;
        let TokenKind::Literal(raw) = first.kind else { return Err(self.failure("a literal was lost")) };
        let is_verbatim = raw == value;
        let start = self.start.filter(|_| count == 1 && (is_verbatim || has_common_escapes(raw)));
        let embedded = Embedded {
            value: Value::from(value),
            range: start.map(|start| start + first.at + 1).map(|start| start..start + raw.len()),
            is_escaped: !is_verbatim,
            is_rendered: self.renders_literals,
        };
        if embedded.is_rendered && embedded.range.is_none() {
            return Err(unusual_literal(first.line));
        }
        Ok(Parsed::leaf(Expr::Embedded(Box::new(embedded))))
    }

    /// Reads expressions with commas between them, which are a tuple, or one without, which is itself.
    pub(super) fn tuple(&mut self, has_conditions: bool, end: TupleEnd) -> Parse<Parsed> {
        let (mut items, mut depth, mut is_tuple) = (Vec::new(), 0, false);
        loop {
            if !items.is_empty() {
                self.expect_symbol(",")?;
            }
            if self.is_tuple_end() {
                break;
            }
            let item = if has_conditions { self.expression()? } else { self.plain_expression()? };
            depth = depth.max(item.depth);
            items.push(item.tree);
            if !self.is_symbol(",") {
                break;
            }
            is_tuple = true;
        }
        match (items.len(), is_tuple) {
            (1, false) => Ok(Parsed { tree: items.swap_remove(0), depth }),
            (0, _) if end != TupleEnd::Parenthesis => Err(self.expected_expression()),
            _ => self.over(depth, Expr::Tuple(items)),
        }
    }

    pub(super) fn is_tuple_end(&self) -> bool {
        matches!(self.current.kind, TokenKind::VariableEnd | TokenKind::BlockEnd | TokenKind::Symbol(")"))
    }

    pub(super) fn expected_expression(&self) -> SyntaxFailure {
        self.failure(format!("Expected an expression, got '{}'", self.current.kind.described()))
    }

    fn list(&mut self) -> Parse<Parsed> {
        self.next()?;
        let (mut items, mut depth) = (Vec::new(), 0);
        while !self.is_symbol("]") {
            if !items.is_empty() {
                self.expect_symbol(",")?;
            }
            if self.is_symbol("]") {
                break;
            }
            let item = self.expression()?;
            depth = depth.max(item.depth);
            items.push(item.tree);
        }
        self.expect_symbol("]")?;
        self.over(depth, Expr::List(items))
    }

    fn dict(&mut self) -> Parse<Parsed> {
        self.next()?;
        let (mut entries, mut depth) = (Vec::new(), 0);
        while !self.is_symbol("}") {
            if !entries.is_empty() {
                self.expect_symbol(",")?;
            }
            if self.is_symbol("}") {
                break;
            }
            let key = self.expression()?;
            self.expect_symbol(":")?;
            let value = self.expression()?;
            depth = depth.max(key.depth).max(value.depth);
            entries.push((key.tree, value.tree));
        }
        self.expect_symbol("}")?;
        self.over(depth, Expr::Dict(entries))
    }
}

/// Says that a literal that is to be rendered is not a part of the source.
pub(super) fn unusual_literal(line: u32) -> SyntaxFailure {
    let message = "a literal with a template in it has unusual escapes; write an expression instead";
    SyntaxFailure::new(message, line)
}

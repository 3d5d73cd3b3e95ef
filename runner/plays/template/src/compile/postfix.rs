//! What follows an operand: attributes, items, slices, calls, filters and tests.

use std::collections::HashSet;
use std::sync::Arc;

use minijinja::Value;

use super::expressions::unusual_literal;
use super::lex::{TokenKind, integer};
use super::names::Mention;
use super::parser::{Parse, Parsed, Parser};
use super::program::{Arguments, Call, Expr};
use super::syntax::{Form, SyntaxFailure};

/// The functions whose literal arguments are rendered when they have templates in them.
const LOOKUPS: [&str; 3] = ["lookup", "query", "q"];

/// Arguments that were read.
#[derive(Debug, Default)]
struct Given {
    arguments: Arguments,
    /// How many levels the deepest has.
    depth: u32,
}

impl<'t> Parser<'t> {
    /// Reads attributes, items and calls.
    pub(super) fn postfix(&mut self, mut made: Parsed) -> Parse<Parsed> {
        loop {
            made = match self.current.kind {
                TokenKind::Symbol(".") => self.attribute(made)?,
                TokenKind::Symbol("[") => self.subscript(made)?,
                TokenKind::Symbol("(") => self.call(made)?,
                _ => return Ok(made),
            };
        }
    }

    /// Reads filters and tests, and calls of what they give.
    pub(super) fn filters_and_tests(&mut self, mut made: Parsed) -> Parse<Parsed> {
        loop {
            made = match self.current.kind {
                TokenKind::Symbol("|") => {
                    self.next()?;
                    self.filter(made)?
                }
                TokenKind::Name("is") => self.test(made)?,
                TokenKind::Symbol("(") => self.call(made)?,
                _ => return Ok(made),
            };
        }
    }

    fn attribute(&mut self, object: Parsed) -> Parse<Parsed> {
        self.next()?;
        let (token, object_tree) = (self.next()?, Box::new(object.tree));
        let tree = match token.kind {
            TokenKind::Name(name) => Expr::Attribute(object_tree, name.into()),
            TokenKind::Integer(written) => {
                let index = integer(written).map_err(|message| SyntaxFailure::new(message, token.line))?;
                Expr::Item(object_tree, Box::new(Expr::Constant(index)))
            }
            _ => return Err(SyntaxFailure::new("expected name or number", token.line)),
        };
        self.over(object.depth, tree)
    }

    fn subscript(&mut self, object: Parsed) -> Parse<Parsed> {
        self.next()?;
        let (mut keys, mut depth) = (Vec::new(), object.depth);
        let mut slice = None;
        while !self.is_symbol("]") {
            if !keys.is_empty() || slice.is_some() {
                self.expect_symbol(",")?;
            }
            if slice.is_some() {
                return Err(self.failure("a slice must be the only subscript"));
            }
            let first = if self.is_symbol(":") { None } else { Some(self.expression()?) };
            depth = depth.max(first.as_ref().map_or(0, |first| first.depth));
            let first = first.map(|first| first.tree);
            match first {
                Some(key) if !self.is_symbol(":") => keys.push(key),
                _ if !keys.is_empty() => return Err(self.failure("a slice must be the only subscript")),
                start => slice = Some(self.slice(start, &mut depth)?),
            }
        }
        self.next()?;
        let object = object.tree;
        let tree = match slice {
            Some([start, stop, step]) => Expr::Slice(Box::new([object, start, stop, step])),
            None if keys.len() == 1 => Expr::Item(Box::new(object), Box::new(keys.swap_remove(0))),
            None => Expr::Item(Box::new(object), Box::new(Expr::Tuple(keys))),
        };
        self.over(depth, tree)
    }

    /// Reads the rest of a slice, from its first colon on.
    fn slice(&mut self, start: Option<Expr>, depth: &mut u32) -> Parse<[Expr; 3]> {
        let absent = || Expr::Constant(Value::from(()));
        let mut bounds = [start.unwrap_or_else(absent), absent(), absent()];
        for bound in &mut bounds[1..] {
            if !self.skip_symbol(":")? {
                break;
            }
            if ![":", "]", ","].iter().any(|mark| self.is_symbol(mark)) {
                let made = self.expression()?;
                *depth = made.depth.max(*depth);
                *bound = made.tree;
            }
        }
        Ok(bounds)
    }

    pub(super) fn call(&mut self, callee: Parsed) -> Parse<Parsed> {
        let is_lookup = matches!(&callee.tree, Expr::Name(name) if LOOKUPS.contains(&&**name));
        let given = self.arguments(is_lookup)?;
        let depth = callee.depth.max(given.depth);
        self.over(depth, Expr::Call(Box::new(Call { callee: callee.tree, arguments: given.arguments })))
    }

    /// Reads the arguments of a call. Those of a lookup are rendered, but for its name.
    fn arguments(&mut self, is_lookup: bool) -> Parse<Given> {
        let (line, since, literals) = (self.current.line, self.program.mentions.len(), self.literals);
        self.expect_symbol("(")?;
        let mut given = Given::default();
        let mut names = HashSet::new();
        let mut is_first = true;
        while !self.is_symbol(")") {
            if !is_first {
                self.expect_symbol(",")?;
                if self.is_symbol(")") {
                    break;
                }
            }
            let outer = self.renders_literals;
            self.renders_literals &= !(is_lookup && is_first);
            self.argument(&mut given, &mut names, line)?;
            self.renders_literals = outer;
            is_first = false;
        }
        self.expect_symbol(")")?;
        if is_lookup {
            self.mention_lookup(&given.arguments, since, line);
            if self.literals > literals && self.syntax.form != Form::Condition {
                render_terms(&mut given.arguments).map_err(|NotInSource| unusual_literal(line))?;
            }
        }
        Ok(given)
    }

    fn argument(&mut self, given: &mut Given, names: &mut HashSet<&'t str>, line: u32) -> Parse<()> {
        let check = |is_valid: bool| {
            let message = "invalid syntax for function call expression";
            if is_valid { Ok(()) } else { Err(SyntaxFailure::new(message, line)) }
        };
        let arguments = &mut given.arguments;
        let (no_more, no_more_named) = (arguments.more.is_none(), arguments.more_named.is_none());
        if self.skip_symbol("*")? {
            check(no_more && no_more_named)?;
            let made = self.expression()?;
            given.depth = given.depth.max(made.depth);
            arguments.more = Some(Box::new(made.tree));
        } else if self.skip_symbol("**")? {
            check(no_more_named)?;
            let made = self.expression()?;
            given.depth = given.depth.max(made.depth);
            arguments.more_named = Some(Box::new(made.tree));
        } else if let Some(name) = self.keyword()? {
            check(no_more_named)?;
            if !names.insert(name) {
                return Err(self.failure(format!("keyword argument repeated: {name}")));
            }
            let made = self.expression()?;
            given.depth = given.depth.max(made.depth);
            arguments.named.push((name.into(), made.tree));
        } else {
            check(no_more && no_more_named && arguments.named.is_empty())?;
            let made = self.expression()?;
            given.depth = given.depth.max(made.depth);
            arguments.positional.push(made.tree);
        }
        Ok(())
    }

    /// Reads the name of a keyword argument and its `=`, if there is one.
    fn keyword(&mut self) -> Parse<Option<&'t str>> {
        let TokenKind::Name(name) = self.current.kind else { return Ok(None) };
        if self.look()? != TokenKind::Symbol("=") {
            return Ok(None);
        }
        self.next()?;
        self.next()?;
        Ok(Some(name))
    }

    /// Notes the lookup that a call is of, if its name is a literal.
    fn mention_lookup(&mut self, arguments: &Arguments, since: usize, line: u32) {
        let name = match arguments.positional.first() {
            Some(Expr::Constant(value)) => value.as_str(),
            Some(Expr::Embedded(literal)) => literal.value.as_str(),
            _ => None,
        };
        if let Some(name) = name {
            self.program.mentions.insert(since, Mention::Lookup { name: name.into(), line });
        }
    }

    /// Reads a filter, from its name on.
    pub(super) fn filter(&mut self, input: Parsed) -> Parse<Parsed> {
        let line = self.current.line;
        let name = self.plugin_name()?;
        let given = if self.is_symbol("(") { self.arguments(false)? } else { Given::default() };
        self.program.mentions.push(Mention::Filter { name: name.clone(), line, is_certain: !self.is_optional });
        let depth = input.depth.max(given.depth);
        self.over(depth, Expr::Filter(name, Box::new(input.tree), given.arguments))
    }

    fn test(&mut self, input: Parsed) -> Parse<Parsed> {
        let line = self.next()?.line;
        let is_negated = self.skip_word("not")?;
        let name = self.plugin_name()?;
        let given = match self.current.kind {
            TokenKind::Symbol("(") => self.arguments(false)?,
            TokenKind::Name("else" | "or" | "and") => Given::default(),
            TokenKind::Name("is") => return Err(self.failure("You cannot chain multiple tests with is")),
            TokenKind::Name(_) | TokenKind::Literal(_) | TokenKind::Integer(_) | TokenKind::Float(_) => {
                self.operand_of_test()?
            }
            TokenKind::Symbol("[" | "{") => self.operand_of_test()?,
            _ => Given::default(),
        };
        self.program.mentions.push(Mention::Test { name: name.clone(), line, is_certain: !self.is_optional });
        let depth = input.depth.max(given.depth);
        let made = self.over(depth, Expr::Test(name, Box::new(input.tree), given.arguments))?;
        if is_negated { self.over(made.depth, Expr::Not(Box::new(made.tree))) } else { Ok(made) }
    }

    /// Reads the argument of a test without parentheses: an operand without a sign, filters or tests.
    fn operand_of_test(&mut self) -> Parse<Given> {
        let operand = self.primary()?;
        let operand = self.postfix(operand)?;
        let arguments = Arguments { positional: vec![operand.tree], ..Arguments::default() };
        Ok(Given { arguments, depth: operand.depth })
    }

    /// Reads the name of a filter or test, which may have dots.
    fn plugin_name(&mut self) -> Parse<Arc<str>> {
        let first = self.expect_name()?;
        if !self.is_symbol(".") {
            return Ok(first.into());
        }
        let mut name = first.to_owned();
        while self.skip_symbol(".")? {
            name.push('.');
            name.push_str(self.expect_name()?);
        }
        Ok(name.into())
    }
}

/// A literal that is to be rendered is not a part of the source.
struct NotInSource;

/// Has the literals in arguments of a lookup rendered, but not those in its name and in its options.
fn render_terms(arguments: &mut Arguments) -> Result<(), NotInSource> {
    arguments.positional.iter_mut().skip(1).try_for_each(render)?;
    arguments.more.iter_mut().chain(&mut arguments.more_named).try_for_each(|terms| render(terms))
}

/// Has the literals rendered that an expression passes on. Of those that an operator, a filter or a test uses, new text is
/// made, which is not a part of the source.
fn render(expression: &mut Expr) -> Result<(), NotInSource> {
    match expression {
        Expr::Embedded(literal) => {
            literal.is_rendered = true;
            literal.range.as_ref().map_or(Err(NotInSource), |_| Ok(()))
        }
        Expr::List(items) | Expr::Tuple(items) => items.iter_mut().try_for_each(render),
        Expr::Slice(parts) => parts.iter_mut().try_for_each(render),
        Expr::Dict(entries) => entries.iter_mut().try_for_each(|(key, value)| {
            render(key)?;
            render(value)
        }),
        Expr::Attribute(object, _) | Expr::Not(object) | Expr::Negative(object) | Expr::Positive(object) => {
            render(object)
        }
        Expr::Item(left, right) | Expr::And(left, right) | Expr::Or(left, right) => {
            render(left)?;
            render(right)
        }
        Expr::If(condition, then, otherwise) => {
            render(condition)?;
            render(then)?;
            otherwise.as_mut().map_or(Ok(()), |otherwise| render(otherwise))
        }
        Expr::Call(call) if matches!(&call.callee, Expr::Name(name) if LOOKUPS.contains(&&**name)) => Ok(()),
        Expr::Call(call) => {
            render(&mut call.callee)?;
            call.arguments.positional.iter_mut().try_for_each(render)?;
            let more = call.arguments.more.iter_mut().chain(&mut call.arguments.more_named);
            more.into_iter().try_for_each(|terms| render(terms))
        }
        Expr::Constant(_) | Expr::Captured | Expr::Name(_) => Ok(()),
        Expr::Binary(..) | Expr::Compare(..) | Expr::Filter(..) | Expr::Test(..) => Ok(()),
    }
}

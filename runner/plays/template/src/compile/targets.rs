//! What `set`, `for` and `with` assign to.

use super::expressions::TupleEnd;
use super::lex::TokenKind;
use super::parser::{Parse, Parser};
use super::program::Target;
use super::syntax::SyntaxFailure;

/// The words that are values, and not names.
const CONSTANTS: [&str; 6] = ["true", "false", "none", "True", "False", "None"];

impl<'t> Parser<'t> {
    /// Reads names with commas between them, up to what ends them. `set` takes attributes of namespaces, too.
    pub(super) fn target(&mut self, end: TupleEnd, has_attributes: bool) -> Parse<Target> {
        let (mut parts, mut is_tuple) = (Vec::new(), false);
        loop {
            if !parts.is_empty() {
                self.expect_symbol(",")?;
            }
            if self.is_tuple_end() {
                break;
            }
            parts.push(self.part_of_target(has_attributes)?);
            if !self.is_symbol(",") {
                break;
            }
            is_tuple = true;
        }
        match (parts.len(), is_tuple) {
            (1, false) => Ok(parts.swap_remove(0)),
            (0, _) if end != TupleEnd::Parenthesis => Err(self.expected_expression()),
            _ => Ok(Target::Tuple(parts)),
        }
    }

    fn part_of_target(&mut self, has_attributes: bool) -> Parse<Target> {
        match self.current.kind {
            TokenKind::Name(_) => {
                let name = self.name_to_set()?;
                if has_attributes && self.skip_symbol(".")? {
                    return Ok(Target::Attribute(name.into(), self.expect_name()?.into()));
                }
                if name == "loop" && self.loops > 0 {
                    return Err(self.failure("Can't assign to special loop variable in for-loop target"));
                }
                self.specials.set(name);
                Ok(Target::Name(name.into()))
            }
            TokenKind::Symbol("(") => {
                self.enter()?;
                self.next()?;
                let target = self.target(TupleEnd::Parenthesis, false)?;
                self.expect_symbol(")")?;
                self.leave();
                Ok(target)
            }
            TokenKind::Literal(_) | TokenKind::Integer(_) | TokenKind::Float(_) => Err(self.not_assignable("const")),
            TokenKind::Symbol("[") => Err(self.not_assignable("list")),
            TokenKind::Symbol("{") => Err(self.not_assignable("dict")),
            other => Err(self.failure(format!("unexpected '{}'", other.described()))),
        }
    }

    /// Reads a name that is given a value: of a variable, a macro or a parameter.
    pub(super) fn name_to_set(&mut self) -> Parse<&'t str> {
        let line = self.current.line;
        let name = self.expect_name()?;
        if CONSTANTS.contains(&name) {
            return Err(SyntaxFailure::new("can't assign to 'const'", line));
        }
        self.sets_names = true;
        Ok(name)
    }

    fn not_assignable(&self, what: &str) -> SyntaxFailure {
        self.failure(format!("can't assign to '{what}'"))
    }
}

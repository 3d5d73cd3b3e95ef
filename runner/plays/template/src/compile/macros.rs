//! Macros, and the bodies of call blocks, which are macros without a name.

use std::collections::HashSet;
use std::sync::Arc;

use super::parser::{Parse, Parser};
use super::program::{Expr, MacroDefinition, Node};
use super::statements::Ends;

/// Names with their defaults.
type Parameters = Vec<(Arc<str>, Option<Expr>)>;

impl Parser<'_> {
    pub(super) fn macro_block(&mut self) -> Parse<Node> {
        let line = self.next()?.line;
        let name = self.name_to_set()?.into();
        let parameters = self.parameters()?;
        self.definition(name, line, parameters, &["endmacro"]).map(Arc::new).map(Node::Macro)
    }

    pub(super) fn call_block(&mut self, line: u32) -> Parse<Node> {
        self.next()?;
        let parameters = if self.is_symbol("(") { self.parameters()? } else { Vec::new() };
        let Expr::Call(call) = self.expression()?.tree else { return Err(self.failure("expected call")) };
        if call.arguments.named.iter().any(|(name, _)| **name == *"caller") {
            return Err(self.failure("keyword argument repeated: caller"));
        }
        let definition = self.definition("caller".into(), line, parameters, &["endcall"])?;
        Ok(Node::CallBlock(line, *call, Arc::new(definition)))
    }

    /// Reads parameters in parentheses.
    fn parameters(&mut self) -> Parse<Parameters> {
        self.expect_symbol("(")?;
        let (mut parameters, mut names) = (Parameters::new(), HashSet::new());
        while !self.is_symbol(")") {
            if !parameters.is_empty() {
                self.expect_symbol(",")?;
            }
            let name = self.name_to_set()?;
            self.specials.set(name);
            if !names.insert(name) {
                return Err(self.failure(format!("duplicate argument '{name}' in the definition of a macro")));
            }
            let default = if self.skip_symbol("=")? { Some(self.certainly(Self::expression)?.tree) } else { None };
            if default.is_none() && parameters.last().is_some_and(|(_, default)| default.is_some()) {
                return Err(self.failure("non-default argument follows default argument"));
            }
            parameters.push((name.into(), default));
        }
        self.next()?;
        Ok(parameters)
    }

    fn definition(&mut self, name: Arc<str>, line: u32, parameters: Parameters, ends: Ends) -> Parse<MacroDefinition> {
        self.specials.begin();
        let body = self.kept_scope(ends)?;
        let reads = self.specials.end();
        let parameter = |name: &str| parameters.iter().find(|(known, _)| **known == *name);
        if reads.caller && parameter("caller").is_some_and(|(_, default)| default.is_none()) {
            return Err(self.failure(
                "When defining macros or call blocks the special \"caller\" argument must be omitted or be given a default.",
            ));
        }
        let takes_more = reads.varargs && parameter("varargs").is_none();
        let takes_keywords = reads.kwargs && parameter("kwargs").is_none();
        Ok(MacroDefinition { name, line, parameters, body, takes_more, takes_keywords, takes_caller: reads.caller })
    }
}

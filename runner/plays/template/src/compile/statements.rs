//! The translation of minijinja's statements.

use std::collections::HashSet;
use std::sync::Arc;

use indexmap::IndexMap;
use minijinja::Value;
use minijinja::machinery::ast::{self, Spanned, Stmt};

use super::literal::Escapes;
use super::mask::range_of;
use super::names::Mention;
use super::program::{Branch, Expr, For, Imported, MacroDefinition, Node, Program, Target};
use super::symbols::Symbols;
use super::syntax::{Form, Syntax, SyntaxFailure};

/// A text that is being translated.
pub(crate) struct Translation<'t> {
    pub(super) text: &'t str,
    /// Where the text begins in its source, if it is a part of that.
    pub(super) start: Option<usize>,
    /// The text that minijinja parsed. It has the same length.
    masked: &'t str,
    pub(super) syntax: &'t Syntax,
    pub(super) escapes: Escapes,
    /// Whether literals with templates in them are rendered.
    pub(super) renders_literals: bool,
    /// Whether the current part may never be reached, so that Jinja looks for its filters only then.
    pub(super) is_optional: bool,
    /// The names that the macro being translated reads.
    pub(super) names: Vec<Arc<str>>,
    pub(super) mentions: Vec<Mention>,
    pub(super) has_choices: bool,
    /// How many expressions are open.
    pub(super) nested: u32,
    blocks: IndexMap<Arc<str>, Arc<Vec<Node>>>,
    /// The names that the open scopes know.
    scopes: Vec<HashSet<Arc<str>>>,
    shares_names: bool,
}

type Translated<T> = Result<T, SyntaxFailure>;

impl<'t> Translation<'t> {
    pub(super) fn new(text: &'t str, start: Option<usize>, masked: &'t str, syntax: &'t Syntax) -> Self {
        Self {
            text,
            start,
            masked,
            syntax,
            escapes: Escapes::Processed,
            renders_literals: syntax.form == Form::Condition,
            is_optional: false,
            names: Vec::new(),
            mentions: Vec::new(),
            has_choices: false,
            nested: 0,
            blocks: IndexMap::new(),
            scopes: Vec::new(),
            shares_names: false,
        }
    }

    pub(super) fn finish(self, body: Vec<Node>) -> Program {
        let Self { blocks, mentions, has_choices, shares_names, .. } = self;
        Program { body, blocks, mentions, has_choices, shares_names }
    }

    pub(super) fn template(&mut self, tree: &Stmt<'_>) -> Translated<Vec<Node>> {
        match tree {
            Stmt::Template(template) => self.scoped(Symbols::of(&template.children), &template.children),
            other => Ok(vec![self.node(other)?]),
        }
    }

    /// Translates nodes of a scope. The names that it sets first are undefined at its beginning.
    fn scoped(&mut self, symbols: Symbols, statements: &[Stmt<'_>]) -> Translated<Vec<Node>> {
        let is_new = |name: &Arc<str>| !self.scopes.iter().any(|outer| outer.contains(name));
        let unset: Vec<Arc<str>> = symbols.set_first.into_iter().filter(is_new).collect();
        self.scopes.push(symbols.known);
        let nodes = self.nodes(statements);
        self.scopes.pop();
        let mut nodes = nodes?;
        if !unset.is_empty() {
            nodes.insert(0, Node::Unset(unset));
        }
        Ok(nodes)
    }

    fn nodes(&mut self, statements: &[Stmt<'_>]) -> Translated<Vec<Node>> {
        statements.iter().map(|statement| self.node(statement)).collect()
    }

    /// Translates nodes of a scope of their own, where filters are looked for at once.
    fn scope(&mut self, symbols: Symbols, statements: &[Stmt<'_>]) -> Translated<Vec<Node>> {
        self.has_choices = true;
        let outer = std::mem::replace(&mut self.is_optional, false);
        let nodes = self.scoped(symbols, statements);
        self.is_optional = outer;
        nodes
    }

    fn optional(&mut self, statements: &[Stmt<'_>]) -> Translated<Vec<Node>> {
        self.has_choices = true;
        let outer = std::mem::replace(&mut self.is_optional, true);
        let nodes = self.nodes(statements);
        self.is_optional = outer;
        nodes
    }

    fn node(&mut self, statement: &Stmt<'_>) -> Translated<Node> {
        self.shares_names |= matches!(
            statement,
            Stmt::Block(_) | Stmt::Extends(_) | Stmt::Include(_) | Stmt::Import(_) | Stmt::FromImport(_)
        );
        match statement {
            Stmt::Template(template) => self.nodes(&template.children).map(Node::Group),
            Stmt::EmitRaw(raw) => Ok(Node::Text(self.raw_text(raw.raw))),
            Stmt::EmitExpr(emit) => self.emit(emit),
            Stmt::Set(set) => {
                let value = self.expression(&set.expr)?;
                Ok(Node::Set(line(set), self.target(&set.target)?, value))
            }
            Stmt::SetBlock(set) => {
                let filter = set.filter.as_ref().map(|filter| self.expression(filter)).transpose()?;
                let body = self.scope(Symbols::of(&set.body), &set.body)?;
                Ok(Node::Capture(line(set), self.target(&set.target)?, filter, body))
            }
            Stmt::FilterBlock(block) => {
                let filter = self.expression(&block.filter)?;
                let mut symbols = Symbols::of(&block.body);
                symbols.read(&block.filter);
                Ok(Node::Filtered(line(block), filter, self.scope(symbols, &block.body)?))
            }
            Stmt::IfCond(condition) => Ok(Node::If(line(condition), self.branch(condition)?)),
            Stmt::ForLoop(each) => self.each(each),
            Stmt::WithBlock(with) => self.with(with),
            Stmt::AutoEscape(block) => self.scope(Symbols::of(&block.body), &block.body).map(Node::Group),
            Stmt::Macro(definition) => self.definition(definition).map(Arc::new).map(Node::Macro),
            Stmt::CallBlock(block) => {
                let definition = self.definition(&block.macro_decl)?;
                Ok(Node::CallBlock(line(block), self.call(&block.call)?, Arc::new(definition)))
            }
            Stmt::Block(block) => self.block(block),
            Stmt::Extends(extends) => Ok(Node::Extends(line(extends), self.expression(&extends.name)?)),
            Stmt::Include(include) => Ok(Node::Include {
                line: line(include),
                name: self.expression(&include.name)?,
                ignore_missing: include.ignore_missing,
                with_context: !self.statement_ends(include, "without context"),
            }),
            Stmt::Import(import) => Ok(Node::Import {
                line: line(import),
                name: self.expression(&import.expr)?,
                target: self.target(&import.name)?,
                with_context: self.statement_ends(import, "with context"),
            }),
            Stmt::FromImport(import) => self.from(import),
            Stmt::Do(tag) => Err(unknown_tag("do", line(tag))),
            Stmt::Continue(tag) => Err(unknown_tag("continue", line(tag))),
            Stmt::Break(tag) => Err(unknown_tag("break", line(tag))),
        }
    }

    /// Returns raw text, from the text that was not masked. Jinja keeps the line end after `{% raw %}`.
    fn raw_text(&self, raw: &str) -> Value {
        let Some(mut range) = range_of(raw, self.masked) else { return Value::from(raw) };
        let before = &self.text[..range.start];
        if let Some(tag) = before.strip_suffix('\n').filter(|tag| self.is_raw_tag(tag)) {
            range.start = tag.len();
        }
        let text = self.text.get(range).unwrap_or(raw);
        match self.syntax.options.newline_sequence {
            "\n" => Value::from(text),
            newline => Value::from(text.replace('\n', newline)),
        }
    }

    fn is_raw_tag(&self, before: &str) -> bool {
        let options = &self.syntax.options;
        let inner = before.strip_suffix(options.block_end.as_str()).map(str::trim_end);
        let inner = inner.and_then(|tag| tag.strip_suffix("raw")).map(str::trim_end);
        inner.is_some_and(|tag| tag.strip_suffix(['-', '+']).unwrap_or(tag).ends_with(options.block_start.as_str()))
    }

    fn emit(&mut self, emit: &Spanned<ast::EmitExpr<'_>>) -> Translated<Node> {
        let keeps = !self.syntax.options.process_escapes;
        let outer = std::mem::replace(&mut self.escapes, if keeps { Escapes::Kept } else { Escapes::Processed });
        let expression = self.expression(&emit.expr);
        self.escapes = outer;
        Ok(Node::Emit(line(emit), expression?))
    }

    fn branch(&mut self, condition: &ast::IfCond<'_>) -> Translated<Branch> {
        Ok(Branch {
            condition: self.expression(&condition.expr)?,
            then: self.optional(&condition.true_body)?,
            otherwise: self.optional(&condition.false_body)?,
        })
    }

    fn each(&mut self, each: &Spanned<ast::ForLoop<'_>>) -> Translated<Node> {
        let mut symbols = Symbols::default();
        symbols.parameter(&each.target);
        symbols.statements(&each.body);
        let node = For {
            iterable: self.expression(&each.iter)?,
            target: self.target(&each.target)?,
            filter: each.filter_expr.as_ref().map(|filter| self.expression(filter)).transpose()?,
            is_recursive: each.recursive,
            body: self.scope(symbols, &each.body)?,
            otherwise: self.scope(Symbols::of(&each.else_body), &each.else_body)?,
        };
        Ok(Node::For(line(each), Arc::new(node)))
    }

    fn with(&mut self, with: &Spanned<ast::WithBlock<'_>>) -> Translated<Node> {
        let (mut assignments, mut symbols) = (Vec::new(), Symbols::default());
        for (target, value) in &with.assignments {
            symbols.parameter(target);
            assignments.push((self.target(target)?, self.expression(value)?));
        }
        symbols.statements(&with.body);
        Ok(Node::With(line(with), assignments, self.scope(symbols, &with.body)?))
    }

    fn block(&mut self, block: &Spanned<ast::Block<'_>>) -> Translated<Node> {
        let name: Arc<str> = block.name.into();
        let body = self.scope(Symbols::of(&block.body), &block.body)?;
        self.blocks.insert(name.clone(), Arc::new(body));
        Ok(Node::Block(line(block), name))
    }

    fn from(&mut self, import: &Spanned<ast::FromImport<'_>>) -> Translated<Node> {
        let mut names = Vec::new();
        for (name, alias) in &import.names {
            let (Target::Name(name), Target::Name(as_name)) =
                (self.target(name)?, self.target(alias.as_ref().unwrap_or(name))?)
            else {
                return Err(failure("cannot import into an attribute", line(import)));
            };
            names.push(Imported { name, as_name });
        }
        let with_context = self.statement_ends(import, "with context");
        Ok(Node::From { line: line(import), name: self.expression(&import.expr)?, names, with_context })
    }

    /// Says whether a statement ends with words that minijinja skips.
    fn statement_ends<T>(&self, node: &Spanned<T>, words: &str) -> bool {
        let span = node.span();
        let text = self.text.get(span.start_offset as usize..span.end_offset as usize).unwrap_or_default();
        let mut found = text.split_ascii_whitespace().rev();
        words.rsplit(' ').all(|word| found.next() == Some(word))
            || (text.contains("ignore") && text.split_ascii_whitespace().collect::<Vec<_>>().join(" ").contains(words))
    }

    fn definition(&mut self, definition: &Spanned<ast::Macro<'_>>) -> Translated<MacroDefinition> {
        let outer = std::mem::take(&mut self.names);
        let required = definition.args.len().saturating_sub(definition.defaults.len());
        let mut parameters = Vec::new();
        for (index, parameter) in definition.args.iter().enumerate() {
            let Target::Name(name) = self.target(parameter)? else {
                return Err(failure("a parameter must be a name", line(definition)));
            };
            let default = index.checked_sub(required).and_then(|index| definition.defaults.get(index));
            parameters.push((name, default.map(|default| self.expression(default)).transpose()?));
        }
        let mut symbols = Symbols::default();
        definition.args.iter().for_each(|parameter| symbols.parameter(parameter));
        definition.defaults.iter().for_each(|default| symbols.read(default));
        symbols.statements(&definition.body);
        let body = self.scope(symbols, &definition.body)?;
        let names = std::mem::replace(&mut self.names, outer);
        let reads = |name: &str| names.iter().any(|read| **read == *name);
        let made = MacroDefinition {
            name: definition.name.into(),
            line: line(definition),
            parameters,
            body,
            takes_more: reads("varargs"),
            takes_keywords: reads("kwargs"),
            takes_caller: reads("caller"),
        };
        self.names.extend(names);
        Ok(made)
    }

    fn target(&mut self, target: &ast::Expr<'_>) -> Translated<Target> {
        match target {
            ast::Expr::Var(name) => Ok(Target::Name(name.id.into())),
            ast::Expr::List(list) => self.targets(&list.items),
            ast::Expr::Tuple(tuple) => self.targets(&tuple.items),
            ast::Expr::GetAttr(attribute) => match &attribute.expr {
                ast::Expr::Var(name) => Ok(Target::Attribute(name.id.into(), attribute.name.into())),
                _ => Err(failure("cannot assign to an attribute of an attribute", line(attribute))),
            },
            other => Err(failure("cannot assign to this expression", u32::from(other.span().start_line))),
        }
    }

    fn targets(&mut self, items: &[ast::Expr<'_>]) -> Translated<Target> {
        items.iter().map(|item| self.target(item)).collect::<Result<_, _>>().map(Target::Tuple)
    }

    pub(super) fn whole_expression(&mut self, tree: &ast::Expr<'_>) -> Translated<Expr> {
        self.expression(tree)
    }
}

fn line<T>(node: &Spanned<T>) -> u32 {
    node.span().start_line.into()
}

pub(super) fn failure(message: impl Into<String>, line: u32) -> SyntaxFailure {
    SyntaxFailure { message: message.into(), line }
}

/// Ansible has these tags only with extensions of Jinja that are off by default.
fn unknown_tag(name: &str, line: u32) -> SyntaxFailure {
    failure(format!("Encountered unknown tag '{name}'."), line)
}

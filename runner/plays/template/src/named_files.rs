//! The files that a text names literally: those of lookups, and templates that it includes, imports or extends. Nothing is
//! evaluated.

use minijinja::Value;
use modbox_jinja::PREFIXES;
use modbox_yaml::{Node as Yaml, Source};

use crate::compile::{Arguments, Branch, Call, Expr, For, Form, MacroDefinition, Node, Program, compile};
use crate::error::Kind;
use crate::lookups::{Meaning, meaning};
use crate::machine::Machine;
use crate::options::TemplateOptions;
use crate::text;

/// A file that a text names.
#[derive(Debug, Clone)]
pub struct NamedFile {
    /// The text that names it.
    pub source: Source,
    /// The line within the text, from 1.
    pub line: u32,
    /// Names of which one must exist.
    pub names: Vec<String>,
    /// What it is for.
    pub used_by: FileUse,
    /// Whether evaluating the text fails whatever its variables are, if the file does not exist.
    pub is_certain: bool,
}

/// What names a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileUse {
    /// A lookup, by its name in `ansible.builtin`.
    Lookup(String),
    /// `include`, `import`, `from` or `extends`.
    Template,
}

/// Lookups whose terms are names of files.
const OF_TERMS: [&str; 3] = ["file", "template", "unvault"];

/// Lookups that have the name of a file in their option `file`.
const OF_OPTION: [&str; 2] = ["csvfile", "ini"];

/// Adds the files that all texts in a node name.
pub(crate) fn named_files(machine: &Machine, source: &Source, kind: Kind, found: &mut Vec<NamedFile>) {
    let options = TemplateOptions::default();
    match source.node() {
        Yaml::List(items) => items.iter().for_each(|item| named_files(machine, item, kind, found)),
        Yaml::Map(map) => map.iter().for_each(|(_, entry)| named_files(machine, &entry.value, kind, found)),
        Yaml::Text(written) => {
            let form = match kind {
                Kind::Template if !text::is_template(written) => return,
                Kind::Condition if !text::is_all_template(written.trim()) => Form::Condition,
                Kind::Expression => Form::Expression,
                Kind::Template | Kind::Condition => Form::Template,
            };
            of_text(machine, source, (written, form), &options, found);
        }
        _ => {}
    }
}

/// Returns the files that a template file names, with Ansible's usual options.
pub(crate) fn of_file(machine: &Machine, file: &Source) -> Vec<NamedFile> {
    let options = TemplateOptions { process_escapes: true, ..TemplateOptions::default() };
    let mut found = Vec::new();
    if let Yaml::Text(written) = file.node() {
        of_text(machine, file, (written, Form::Template), &options, &mut found);
    }
    found
}

fn of_text(
    machine: &Machine,
    source: &Source,
    (written, form): (&str, Form),
    options: &TemplateOptions,
    found: &mut Vec<NamedFile>,
) {
    // Mistakes of the syntax are found by another check.
    let Ok(program) = compile(written, form, options) else { return };
    let mut search = Search { machine, source, line: 1, found };
    search.program(&program);
}

/// Whether a part is reached, and whether its failure counts.
#[derive(Debug, Clone, Copy)]
struct Reach {
    is_certain: bool,
    /// Whether a filter, a test or a call takes the value, so that parts of it may never be read.
    is_passed: bool,
}

impl Reach {
    const CERTAIN: Self = Self { is_certain: true, is_passed: false };
    const UNCERTAIN: Self = Self { is_certain: false, is_passed: true };

    /// Returns the reach of what a filter, a test or a call takes.
    fn passed(self, accepts_failures: bool) -> Self {
        Self { is_certain: self.is_certain && !accepts_failures, is_passed: true }
    }

    /// Returns the reach of a part of a collection.
    fn part(self) -> Self {
        if self.is_passed { Self::UNCERTAIN } else { self }
    }
}

struct Search<'a> {
    machine: &'a Machine,
    source: &'a Source,
    line: u32,
    found: &'a mut Vec<NamedFile>,
}

impl Search<'_> {
    fn program(&mut self, program: &Program) {
        self.nodes(&program.body, Reach::CERTAIN);
        // A template that extends this one may replace its blocks.
        program.blocks.values().for_each(|block| self.nodes(block, Reach::UNCERTAIN));
    }

    fn nodes(&mut self, nodes: &[Node], reach: Reach) {
        nodes.iter().for_each(|node| self.node(node, reach));
    }

    fn node(&mut self, node: &Node, reach: Reach) {
        match node {
            Node::Text(_) | Node::Unset(_) | Node::Block { .. } => {}
            Node::Emit(line, value) => self.at(*line).expression(value, reach),
            // What is set may never be read.
            Node::Set(line, _, value) => self.at(*line).expression(value, Reach::UNCERTAIN),
            Node::Capture(line, _, filter, body) => {
                self.at(*line).nodes(body, reach);
                filter.iter().for_each(|filter| self.expression(filter, Reach::UNCERTAIN));
            }
            Node::Filtered(line, filter, body) => {
                self.at(*line).nodes(body, reach);
                self.expression(filter, Reach::UNCERTAIN);
            }
            Node::If(branches, otherwise) => {
                let mut reach = reach.passed(false);
                for Branch { line, condition, then } in branches {
                    self.at(*line).expression(condition, reach);
                    self.nodes(then, Reach::UNCERTAIN);
                    reach = Reach::UNCERTAIN;
                }
                self.nodes(otherwise, Reach::UNCERTAIN);
            }
            Node::For(line, each) => self.at(*line).each(each, reach),
            Node::With(line, values, body) => {
                let search = self.at(*line);
                values.iter().for_each(|(_, value)| search.expression(value, Reach::UNCERTAIN));
                search.nodes(body, reach);
            }
            Node::Autoescape(line, value, body) => {
                let search = self.at(*line);
                search.expression(value, Reach::UNCERTAIN);
                search.nodes(body, reach);
            }
            Node::Macro(definition) => self.definition(definition),
            Node::CallBlock(line, call, definition) => {
                self.at(*line).call(call, Reach::UNCERTAIN);
                self.definition(definition);
            }
            Node::Extends(line, name)
            | Node::Import { line, name, .. }
            | Node::From { line, name, .. }
            | Node::Include { line, name, ignore_missing: false, .. } => self.at(*line).template(name, reach),
            Node::Include { line, name, ignore_missing: true, .. } => {
                self.at(*line).expression(name, Reach::UNCERTAIN);
            }
        }
    }

    fn at(&mut self, line: u32) -> &mut Self {
        self.line = line;
        self
    }

    fn each(&mut self, each: &For, reach: Reach) {
        self.expression(&each.iterable, reach.passed(false));
        each.filter.iter().for_each(|filter| self.expression(filter, Reach::UNCERTAIN));
        self.nodes(&each.body, Reach::UNCERTAIN);
        self.nodes(&each.otherwise, Reach::UNCERTAIN);
    }

    fn definition(&mut self, definition: &MacroDefinition) {
        let defaults = definition.parameters.iter().filter_map(|(_, default)| default.as_ref());
        defaults.for_each(|default| self.expression(default, Reach::UNCERTAIN));
        self.nodes(&definition.body, Reach::UNCERTAIN);
    }

    fn expression(&mut self, expression: &Expr, reach: Reach) {
        match expression {
            Expr::Constant(_) | Expr::Embedded(_) | Expr::Captured | Expr::Name(_) => {}
            Expr::Attribute(of, _) | Expr::Not(of) | Expr::Negative(of) | Expr::Positive(of) => {
                self.expression(of, reach.passed(false))
            }
            Expr::Item(of, item) => {
                self.expression(of, reach.passed(false));
                self.expression(item, reach.passed(false));
            }
            Expr::Slice(parts) => parts.iter().for_each(|part| self.expression(part, reach.passed(false))),
            Expr::And(first, second) | Expr::Or(first, second) => {
                self.expression(first, reach.passed(false));
                self.expression(second, Reach::UNCERTAIN);
            }
            Expr::Binary(_, left, right) => {
                self.expression(left, reach.passed(false));
                self.expression(right, reach.passed(false));
            }
            Expr::Compare(first, rest) => {
                self.expression(first, reach.passed(false));
                for (at, (_, other)) in rest.iter().enumerate() {
                    self.expression(other, if at == 0 { reach.passed(false) } else { Reach::UNCERTAIN });
                }
            }
            Expr::If(condition, then, otherwise) => {
                self.expression(condition, reach.passed(false));
                self.expression(then, Reach::UNCERTAIN);
                otherwise.iter().for_each(|otherwise| self.expression(otherwise, Reach::UNCERTAIN));
            }
            Expr::Filter(name, of, arguments) => {
                let accepts = self.machine.filter(name).is_none_or(|filter| filter.accepts_markers);
                self.expression(of, reach.passed(accepts));
                self.arguments(arguments, reach.passed(accepts));
            }
            Expr::Test(name, of, arguments) => {
                let accepts = self.machine.test(name).is_none_or(|test| test.accepts_markers);
                self.expression(of, reach.passed(accepts));
                self.arguments(arguments, reach.passed(accepts));
            }
            Expr::Call(call) => self.call(call, reach),
            Expr::List(items) | Expr::Tuple(items) => {
                items.iter().for_each(|item| self.expression(item, reach.part()));
            }
            Expr::Dict(entries) => {
                for (key, value) in entries {
                    self.expression(key, reach.part());
                    self.expression(value, reach.part());
                }
            }
        }
    }

    fn arguments(&mut self, arguments: &Arguments, reach: Reach) {
        let Arguments { positional, named, more, more_named } = arguments;
        let named = named.iter().map(|(_, value)| value);
        let more = more.iter().chain(more_named).map(|value| &**value);
        positional.iter().chain(named).chain(more).for_each(|value| self.expression(value, reach));
    }

    fn call(&mut self, call: &Call, reach: Reach) {
        self.lookup(call, reach);
        self.expression(&call.callee, reach.passed(false));
        // A macro may leave out its arguments.
        self.arguments(&call.arguments, Reach::UNCERTAIN);
    }

    /// Adds the files that a call of a lookup names.
    fn lookup(&mut self, call: &Call, reach: Reach) {
        let Expr::Name(callee) = &call.callee else { return };
        let Arguments { positional, named, more, more_named } = &call.arguments;
        let is_plain = more.is_none() && more_named.is_none();
        let Some((name, terms)) = positional.split_first().filter(|_| is_plain) else { return };
        // `errors` may make a warning or nothing of a failure.
        let is_spared = named.iter().any(|(option, _)| &**option == "errors");
        let (true, Some(name)) = (matches!(&**callee, "lookup" | "query" | "q"), constant_text(name)) else { return };
        let short = PREFIXES.iter().find_map(|prefix| name.strip_prefix(prefix).filter(|rest| !rest.contains('.')));
        let Some(short) = short.filter(|_| matches!(meaning(self.machine, name), Some(Meaning::Own(_)))) else {
            return;
        };
        let reach = if is_spared { Reach::UNCERTAIN } else { reach };
        if OF_TERMS.contains(&short) {
            for name in terms.iter().flat_map(constant_texts) {
                self.add(vec![name], FileUse::Lookup(short.to_owned()), reach);
            }
        } else if OF_OPTION.contains(&short) {
            let file = named.iter().find(|(option, _)| &**option == "file");
            for name in file.into_iter().filter_map(|(_, value)| constant_text(value)) {
                self.add(vec![name.to_owned()], FileUse::Lookup(short.to_owned()), reach);
            }
        }
    }

    /// Adds the templates that a statement names: one, or several of which the first that exists counts.
    fn template(&mut self, name: &Expr, reach: Reach) {
        let names: Vec<String> = constant_texts(name).collect();
        let is_whole = match name {
            Expr::List(items) | Expr::Tuple(items) => items.len() == names.len(),
            _ => true,
        };
        match names.is_empty() || !is_whole {
            true => self.expression(name, reach.passed(false)),
            false => self.add(names, FileUse::Template, reach),
        }
    }

    fn add(&mut self, names: Vec<String>, used_by: FileUse, reach: Reach) {
        let (source, line) = (self.source.clone(), self.line);
        self.found.push(NamedFile { source, line, names, used_by, is_certain: reach.is_certain });
    }
}

fn constant_text(expression: &Expr) -> Option<&str> {
    match expression {
        Expr::Constant(value) => value.as_str(),
        _ => None,
    }
}

/// Returns the texts that an expression is, or that are items of the list that it is.
fn constant_texts(expression: &Expr) -> Box<dyn Iterator<Item = String> + '_> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    match expression {
        Expr::Constant(value) if value.as_str().is_some() => Box::new(text(value).into_iter()),
        Expr::Constant(value) => Box::new(value.try_iter().into_iter().flatten().filter_map(move |item| text(&item))),
        Expr::List(items) | Expr::Tuple(items) => {
            Box::new(items.iter().filter_map(|item| constant_text(item).map(str::to_owned)))
        }
        _ => Box::new(std::iter::empty()),
    }
}

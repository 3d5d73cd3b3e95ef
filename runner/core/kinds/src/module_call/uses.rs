//! All that happens to a name in the body of a function or a module.
//!
//! A name has a known value if it is assigned by a statement of the body itself, and changed only by `NAME.update(…)`
//! and `NAME['KEY'] = …` statements of the body itself. An assignment in an `if` or a loop, an import, a parameter, a
//! call of another method that changes its object, and a call that gets the object as an argument make it unknown.

use ruff_python_ast::visitor::{Visitor, walk_expr, walk_stmt};
use ruff_python_ast::{Expr, ExprCall, Stmt};

/// Methods that change their object.
const CHANGING: [&str; 12] = [
    "update",
    "append",
    "extend",
    "setdefault",
    "pop",
    "insert",
    "remove",
    "clear",
    "sort",
    "reverse",
    "popitem",
    "__setitem__",
];

/// Functions that do not change their arguments.
const PURE: [&str; 17] = [
    "AnsibleModule",
    "dict",
    "list",
    "tuple",
    "set",
    "frozenset",
    "sorted",
    "len",
    "str",
    "isinstance",
    "enumerate",
    "zip",
    "any",
    "all",
    "min",
    "max",
    "join",
];

/// What happens to a name.
#[derive(Debug, Clone, Copy)]
pub(super) enum Use<'a> {
    /// It is assigned.
    Assigned(&'a Expr),
    /// It is updated with the arguments of a call.
    Updated(&'a ExprCall),
    /// One of its keys is set.
    KeySet(&'a str, &'a Expr),
    /// Something else, which is not followed.
    Unknown,
}

/// Returns the uses of a name in a body, with their offsets in the source, in order.
pub(super) fn of<'a>(name: &str, body: &'a [Stmt]) -> Vec<(usize, Use<'a>)> {
    let mut finder = UseFinder { name, depth: 0, uses: Vec::new() };
    finder.visit_body(body);
    finder.uses.sort_by_key(|(offset, _)| *offset);
    finder.uses
}

struct UseFinder<'a, 'n> {
    name: &'n str,
    depth: usize,
    uses: Vec<(usize, Use<'a>)>,
}

impl<'a> UseFinder<'a, '_> {
    fn is_name(&self, expr: &Expr) -> bool {
        matches!(expr, Expr::Name(name) if name.id.as_str() == self.name)
    }

    fn add(&mut self, offset: usize, found: Use<'a>) {
        // What depends on a condition is not known.
        self.uses.push((offset, if self.depth == 0 { found } else { Use::Unknown }));
    }

    /// Records an assignment; returns whether it was to the name or one of its keys.
    fn assigned(&mut self, offset: usize, target: &'a Expr, value: Option<&'a Expr>) -> bool {
        if self.is_name(target) {
            self.add(offset, value.map_or(Use::Unknown, Use::Assigned));
            return true;
        }
        let Expr::Subscript(subscript) = target else { return false };
        if !self.is_name(&subscript.value) {
            // A change below a key.
            let mut inner = &*subscript.value;
            while let Expr::Subscript(subscript) = inner {
                inner = &subscript.value;
            }
            if self.is_name(inner) {
                self.add(offset, Use::Unknown);
            }
            return false;
        }
        let found = match (&*subscript.slice, value) {
            (Expr::StringLiteral(key), Some(value)) => Use::KeySet(key.value.to_str(), value),
            _ => Use::Unknown,
        };
        self.add(offset, found);
        true
    }

    fn called(&mut self, call: &'a ExprCall, is_statement: bool) {
        let offset = call.arguments.range.start().to_usize();
        let mut is_pure = false;
        match &*call.func {
            Expr::Attribute(attribute) => {
                let mut inner = &*attribute.value;
                while let Expr::Subscript(subscript) = inner {
                    inner = &subscript.value;
                }
                let is_own = self.is_name(&attribute.value);
                if self.is_name(inner) && CHANGING.contains(&attribute.attr.as_str()) {
                    let is_update = is_statement && is_own && attribute.attr.as_str() == "update";
                    self.add(offset, if is_update { Use::Updated(call) } else { Use::Unknown });
                }
                is_pure = PURE.contains(&attribute.attr.as_str()) || CHANGING.contains(&attribute.attr.as_str());
            }
            Expr::Name(name) => is_pure = PURE.contains(&name.id.as_str()),
            _ => {}
        }
        let arguments = call.arguments.args.iter().chain(call.arguments.keywords.iter().map(|keyword| &keyword.value));
        if !is_pure && arguments.into_iter().any(|argument| self.is_name(argument)) {
            self.uses.push((offset, Use::Unknown));
        }
    }
}

impl<'a> Visitor<'a> for UseFinder<'a, '_> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::Assign(assign) => {
                let (offset, single) = (assign.range.start().to_usize(), assign.targets.len() == 1);
                for target in &assign.targets {
                    if !self.assigned(offset, target, single.then_some(&*assign.value)) {
                        self.visit_expr(target);
                    }
                }
                self.visit_expr(&assign.value);
                return;
            }
            Stmt::AnnAssign(assign) => {
                if let Some(value) = &assign.value {
                    self.assigned(assign.range.start().to_usize(), &assign.target, Some(value));
                    self.visit_expr(value);
                }
                return;
            }
            Stmt::AugAssign(assign) => {
                self.assigned(assign.range.start().to_usize(), &assign.target, None);
            }
            Stmt::Delete(delete) => {
                for target in &delete.targets {
                    self.assigned(delete.range.start().to_usize(), target, None);
                }
            }
            Stmt::Expr(expression) => {
                if let Expr::Call(call) = &*expression.value {
                    self.called(call, true);
                    walk_expr(self, &expression.value);
                    return;
                }
            }
            Stmt::Import(import) => {
                let bound =
                    import.names.iter().any(|alias| alias.asname.as_ref().unwrap_or(&alias.name).as_str() == self.name);
                if bound {
                    self.uses.push((import.range.start().to_usize(), Use::Unknown));
                }
            }
            Stmt::ImportFrom(import) => {
                let bound =
                    import.names.iter().any(|alias| alias.asname.as_ref().unwrap_or(&alias.name).as_str() == self.name);
                if bound {
                    self.uses.push((import.range.start().to_usize(), Use::Unknown));
                }
            }
            Stmt::FunctionDef(function) if function.name.as_str() == self.name => {
                self.uses.push((function.range.start().to_usize(), Use::Unknown));
            }
            Stmt::ClassDef(class) if class.name.as_str() == self.name => {
                self.uses.push((class.range.start().to_usize(), Use::Unknown));
            }
            _ => {}
        }
        self.depth += 1;
        walk_stmt(self, stmt);
        self.depth -= 1;
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Name(name) if !name.ctx.is_load() && name.id.as_str() == self.name => {
                self.uses.push((name.range.start().to_usize(), Use::Unknown));
            }
            Expr::Call(call) => self.called(call, false),
            _ => {}
        }
        walk_expr(self, expr);
    }
}

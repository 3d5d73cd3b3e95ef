//! What a Python source needs of its interpreter and of the machine, besides the files of its payload: modules that it
//! imports, functions of those modules, and commands.
//!
//! The source is not run, so this is a bound from above: an import that no run reaches counts, too. An expression that
//! builds a name at run time does not.

use std::collections::{BTreeMap, BTreeSet};

use ruff_python_ast::visitor::{Visitor, walk_expr, walk_stmt};
use ruff_python_ast::{BoolOp, CmpOp, Expr, Stmt, StmtIf, StmtImport, StmtImportFrom};

use crate::ansiballz::imports::{SourceError, parse};

/// Methods of `AnsibleModule`, and functions of its utilities, that start commands or look for programs.
const OF_UTILITIES: [&str; 5] =
    ["run_command", "get_bin_path", "get_file_attributes", "get_service_status", "set_attributes_if_different"];

/// Functions of the standard library that start commands.
const OF_LIBRARY: [(&str, &[&str]); 2] = [
    ("os", &["popen", "system"]),
    ("subprocess", &["Popen", "call", "check_call", "check_output", "getoutput", "getstatusoutput", "run"]),
];

/// Packages that are in the payload, or are not looked up.
const OWN: [&str; 3] = ["__future__", "ansible", "ansible_collections"];

/// What a source needs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Needs {
    /// Top-level names of imported modules, such as `yaml`, and whether all imports of it are optional: inside of a
    /// statement, such as `try`, or of a function.
    pub modules: BTreeMap<String, bool>,
    /// Names of imported modules that it uses, such as `os` and `fork`.
    pub names: BTreeSet<(String, String)>,
    /// Uses of commands.
    pub commands: Vec<CommandUse>,
    /// Whether it makes temporary files.
    pub makes_temporary: bool,
}

/// A use of commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandUse {
    /// Name of the function, such as `run_command`.
    pub function: String,
    /// Names in the conditions around it, those of parameters in place of variables. All of them are true when it is
    /// reached. They may be names of options.
    pub conditions: BTreeSet<String>,
}

/// Finds what a source needs.
///
/// # Errors
///
/// A source that is not valid Python 3.
pub fn needs(source: &[u8]) -> Result<Needs, SourceError> {
    let text = String::from_utf8_lossy(source);
    let parsed = parse(text.strip_prefix('\u{feff}').unwrap_or(&text))?;
    let mut finder = Finder {
        needs: Needs::default(),
        aliases: BTreeMap::new(),
        variables: BTreeMap::new(),
        conditions: Vec::new(),
        depth: 0,
    };
    finder.visit_body(parsed.suite());
    Ok(std::mem::take(&mut finder.needs))
}

struct Finder {
    needs: Needs,
    /// Modules by the names under which they were imported.
    aliases: BTreeMap<String, String>,
    /// Keys of parameters by the variables that they were assigned to; `None` for a variable with other values, too.
    variables: BTreeMap<String, Option<String>>,
    conditions: Vec<String>,
    /// Number of statements around the current one.
    depth: usize,
}

impl Finder {
    fn add_module(&mut self, name: &str) -> bool {
        let top = name.split('.').next().unwrap_or_default();
        let counts = !OWN.contains(&top) && !top.is_empty();
        if counts {
            let is_optional = self.depth > 0;
            self.needs.modules.entry(top.to_owned()).and_modify(|known| *known &= is_optional).or_insert(is_optional);
        }
        counts
    }

    fn import(&mut self, import: &StmtImport) {
        for alias in &import.names {
            let name = alias.name.as_str();
            if !self.add_module(name) {
                continue;
            }
            let (local, module) = match &alias.asname {
                Some(local) => (local.as_str(), name),
                // `import a.b` binds `a`.
                None => (name.split('.').next().unwrap_or(name), name.split('.').next().unwrap_or(name)),
            };
            self.aliases.insert(local.to_owned(), module.to_owned());
        }
    }

    fn import_from(&mut self, import: &StmtImportFrom) {
        let Some(module) = import.module.as_ref().filter(|_| import.level == 0) else { return };
        if self.add_module(module.as_str()) {
            for alias in &import.names {
                self.add_name(module.as_str(), alias.name.as_str());
            }
        }
    }

    fn add_name(&mut self, module: &str, name: &str) {
        if OF_LIBRARY.iter().any(|(known, functions)| *known == module && functions.contains(&name)) {
            self.add_command(&format!("{module}.{name}"));
        }
        self.needs.makes_temporary |= module == "tempfile";
        self.needs.names.insert((module.to_owned(), name.to_owned()));
    }

    fn add_command(&mut self, function: &str) {
        let conditions = self.conditions.iter().cloned().collect();
        self.needs.commands.push(CommandUse { function: function.to_owned(), conditions });
    }

    fn visit_if(&mut self, statement: &StmtIf) {
        self.visit_expr(&statement.test);
        self.visit_under(Some(&statement.test), &statement.body);
        for clause in &statement.elif_else_clauses {
            clause.test.iter().for_each(|test| self.visit_expr(test));
            self.visit_under(clause.test.as_ref(), &clause.body);
        }
    }

    fn visit_under(&mut self, test: Option<&Expr>, body: &[Stmt]) {
        let before = self.conditions.len();
        test.iter().for_each(|test| add_conditions(test, &mut self.conditions));
        for name in &mut self.conditions[before..] {
            match self.variables.get(name) {
                Some(Some(key)) => name.clone_from(key),
                // It may be true although the option of this name is not.
                Some(None) => name.clear(),
                None => {}
            }
        }
        self.visit_body(body);
        self.conditions.truncate(before);
    }
}

impl<'a> Visitor<'a> for Finder {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::Import(import) => return self.import(import),
            Stmt::ImportFrom(import) => return self.import_from(import),
            _ => self.depth += 1,
        }
        match stmt {
            Stmt::If(statement) => self.visit_if(statement),
            Stmt::Assign(assign) => {
                let key = key_of(&assign.value);
                for name in assign.targets.iter().filter_map(Expr::as_name_expr) {
                    let known = self.variables.entry(name.id.to_string()).or_insert_with(|| key.clone());
                    if *known != key {
                        *known = None;
                    }
                }
                walk_stmt(self, stmt);
            }
            stmt => walk_stmt(self, stmt),
        }
        self.depth -= 1;
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Attribute(attribute) => {
                let name = attribute.attr.as_str();
                if OF_UTILITIES.contains(&name) {
                    self.add_command(name);
                }
                self.needs.makes_temporary |= name == "tmpdir";
                if let Expr::Name(of) = &*attribute.value
                    && let Some(module) = self.aliases.get(of.id.as_str()).cloned()
                {
                    self.add_name(&module, name);
                }
            }
            Expr::Name(name) if OF_UTILITIES.contains(&name.id.as_str()) => self.add_command(name.id.as_str()),
            _ => {}
        }
        walk_expr(self, expr);
    }
}

/// Adds the names that are true when a test is: `NAME`, `x.NAME`, `x['NAME']`, `x.get('NAME')`, compared with None, or
/// connected with `and`.
fn add_conditions(test: &Expr, names: &mut Vec<String>) {
    match test {
        Expr::BoolOp(operation) if operation.op == BoolOp::And => {
            operation.values.iter().for_each(|value| add_conditions(value, names));
        }
        Expr::Compare(compare) if *compare.ops == [CmpOp::IsNot] && compare.comparators[0].is_none_literal_expr() => {
            add_conditions(&compare.left, names);
        }
        Expr::Name(name) => names.push(name.id.to_string()),
        Expr::Attribute(attribute) => names.push(attribute.attr.to_string()),
        value => names.extend(key_of(value)),
    }
}

/// Returns the key of `x['KEY']` and of `x.get('KEY')`.
fn key_of(value: &Expr) -> Option<String> {
    match value {
        Expr::Subscript(subscript) => text(&subscript.slice),
        Expr::Call(call) => {
            let is_get = matches!(&*call.func, Expr::Attribute(function) if function.attr.as_str() == "get");
            call.arguments.args.first().filter(|_| is_get).and_then(text)
        }
        _ => None,
    }
}

fn text(expr: &Expr) -> Option<String> {
    if let Expr::StringLiteral(literal) = expr { Some(literal.value.to_str().to_owned()) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(source: &str) -> Needs {
        needs(source.as_bytes()).unwrap()
    }

    #[test]
    fn modules_and_their_names_are_found_wherever_they_are_used() {
        let needs = found(
            "from __future__ import annotations\nimport os, xml.dom as dom\nfrom . import own\n\
             from ansible.module_utils.basic import AnsibleModule\n\
             def f():\n    try:\n        import apt\n    except ImportError:\n        from signal import alarm\n    \
             return [os.fork() for _ in x if dom.minidom]\nif os.path.exists(x): pass\n",
        );
        let modules: Vec<(&str, bool)> =
            needs.modules.iter().map(|(name, optional)| (name.as_str(), *optional)).collect();
        assert_eq!(modules, [("apt", true), ("os", false), ("signal", true), ("xml", false)]);
        let names: Vec<String> = needs.names.iter().map(|(module, name)| format!("{module}.{name}")).collect();
        assert_eq!(names, ["os.fork", "os.path", "signal.alarm", "xml.dom.minidom"]);
        assert!(needs.commands.is_empty(), "{needs:?}");
    }

    #[test]
    fn commands_are_found_with_their_conditions() {
        let needs = found(
            "import subprocess as s, os\nfrom subprocess import PIPE\n\
             def write(module, validate):\n    if validate and module.params['backup']:\n        \
             module.run_command(validate)\n    elif module.params.get('mode') is not None:\n        os.system('x')\n    \
             else:\n        s.Popen('y')\n    if not other:\n        get_bin_path('z')\n    a = p['first']\n    b = p.get('b')\n    \
             b = True\n    if a:\n        run_command()\n    if b:\n        run_command()\n",
        );
        let shown: Vec<String> = needs
            .commands
            .iter()
            .map(|found| {
                format!("{} {}", found.function, found.conditions.iter().cloned().collect::<Vec<_>>().join(","))
            })
            .collect();
        let expect = ["run_command backup,validate", "os.system mode", "subprocess.Popen ", "get_bin_path "];
        assert_eq!(shown, [&expect[..], &["run_command first", "run_command "]].concat());
    }

    #[test]
    fn temporary_files_are_found() {
        for (source, expect) in [
            ("import tempfile\n", false),
            ("import tempfile\ntempfile.mkstemp()\n", true),
            ("from tempfile import mkdtemp\n", true),
            ("open(module.tmpdir + 'x')\n", true),
        ] {
            assert_eq!(found(source).makes_temporary, expect, "{source}");
        }
    }

    #[test]
    fn a_definition_of_the_same_name_does_not_count() {
        let needs = found("def run_command():\n    pass\nclass A:\n    def get_bin_path(self):\n        pass\n");
        assert_eq!(needs, Needs::default());
    }

    #[test]
    fn invalid_python_is_an_error() {
        assert!(needs(b"def (:\n").is_err());
    }
}

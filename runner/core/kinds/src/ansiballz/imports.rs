//! Finds the imports of a Python source that have to be included in its payload.
//!
//! The rules follow ansible-core 2.19, `ModuleDepFinder`: `import` and `from … import`, absolute and relative, of
//! `ansible.module_utils` and of collections' `module_utils`, anywhere in the source. An import that is not at the top
//! level, but in a `try` or a function, is optional.

use std::collections::BTreeMap;

use ruff_python_ast::statement_visitor::{StatementVisitor, walk_stmt};
use ruff_python_ast::{ModModule, Stmt, StmtImport, StmtImportFrom};
use ruff_python_parser::{Parsed, parse_module};

use crate::ansiballz::embeds::{self, Embeds};
use crate::ansiballz::name::DottedName;

// Maximum nesting of brackets, and maximum number of consecutive signs.
const MAX_BRACKETS: usize = 2000;
const MAX_SIGNS: usize = 5000;

/// The imported names, each with whether the import is optional. A name alone does not show whether its last part is a
/// module or a name inside one.
pub type Imports = BTreeMap<DottedName, bool>;

/// What a source takes into its payload.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scan {
    /// The Python modules that belong into the payload, by their dotted names.
    pub imports: Imports,
    /// The files that `EmbedManager.embed` names (ansible-core 2.21).
    pub embeds: Embeds,
}

/// A source that is not valid Python.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct SourceError {
    /// The number of the line where the parser stopped, from 1.
    pub line: usize,
    /// What is wrong, in the words of the parser.
    pub reason: String,
}

/// Finds the imports of a source, and the files that it embeds. `name` is the source's own name, from which relative imports start; for a package it
/// is the name of its `__init__`.
///
/// Encodings other than UTF-8 do not matter: the names in an import are ASCII in all of them.
///
/// # Errors
///
/// A source that is not valid Python 3.
pub fn scan(source: &[u8], name: &DottedName, is_package: bool) -> Result<Scan, SourceError> {
    let text = String::from_utf8_lossy(source);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let parsed = parse(text)?;
    let mut finder = Finder { name, is_package, depth: 0, imports: Imports::new() };
    finder.visit_body(parsed.suite());
    let embeds = embeds::find(text, parsed.suite(), name, |import| finder.absolute(import));
    Ok(Scan { imports: std::mem::take(&mut finder.imports), embeds })
}

/// Parses a source. The parser and the tree that it returns are recursive, with bounds.
pub(crate) fn parse(text: &str) -> Result<Parsed<ModModule>, SourceError> {
    check_nesting(text)?;
    parse_module(text).map_err(|error| {
        let end = error.location.start().to_usize().min(text.len());
        let line = text.as_bytes()[..end].iter().filter(|byte| **byte == b'\n').count() + 1;
        SourceError { line, reason: error.error.to_string() }
    })
}

/// Refuses a source whose nesting would cost the parser gigabytes of memory. Python itself allows two hundred nested
/// brackets. The limit here is higher because brackets in strings and comments count as well: only the parser can tell
/// those apart.
fn check_nesting(text: &str) -> Result<(), SourceError> {
    let (mut brackets, mut signs, mut line) = (0_usize, 0_usize, 1);
    for byte in text.bytes() {
        match byte {
            b'(' | b'[' | b'{' => brackets += 1,
            b')' | b']' | b'}' => brackets = brackets.saturating_sub(1),
            b'\n' => line += 1,
            _ => {}
        }
        match byte {
            b'-' | b'+' | b'~' => signs += 1,
            b' ' | b'\t' | b'\n' | b'\r' | b'\\' => {}
            _ => signs = 0,
        }
        if brackets > MAX_BRACKETS || signs > MAX_SIGNS {
            return Err(SourceError { line, reason: "too many levels in one another".to_owned() });
        }
    }
    Ok(())
}

struct Finder<'a> {
    name: &'a DottedName,
    is_package: bool,
    /// Number of statements around the current one.
    depth: usize,
    imports: Imports,
}

impl Finder<'_> {
    fn add(&mut self, name: DottedName) {
        let optional = self.depth > 0;
        *self.imports.entry(name).or_default() |= optional;
    }

    fn import(&mut self, import: &StmtImport) {
        for alias in &import.names {
            let name = alias.name.as_str();
            if name.starts_with("ansible.module_utils.") || name.starts_with("ansible_collections.") {
                self.add(DottedName::parse(name));
            }
        }
    }

    fn import_from(&mut self, import: &StmtImportFrom) {
        // six creates `_six` at run time.
        if import.names.first().is_some_and(|alias| alias.name.as_str() == "_six") {
            return;
        }
        let module = self.absolute(import);
        let of_collection = module.starts_with("ansible_collections.")
            && (module.ends_with("plugins.module_utils") || module.contains(".plugins.module_utils."));
        if module == "ansible.module_utils" || module.starts_with("ansible.module_utils.") || of_collection {
            let module = DottedName::parse(&module);
            for alias in &import.names {
                self.add(module.child(alias.name.as_str()));
            }
        }
    }

    /// Returns the absolute name of the module after `from`. Dots lead upwards from the source's own name.
    fn absolute(&self, import: &StmtImportFrom) -> String {
        let module = import.module.as_ref().map(|module| module.as_str());
        let level = usize::try_from(import.level).unwrap_or(usize::MAX);
        if level == 0 {
            return module.unwrap_or_default().to_owned();
        }
        let up = if self.is_package { level - 1 } else { level };
        let parts = self.name.parts();
        let base = parts[..parts.len().saturating_sub(up)].iter().map(String::as_str);
        base.chain(module).collect::<Vec<_>>().join(".")
    }
}

impl<'a> StatementVisitor<'a> for Finder<'_> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::Import(import) => self.import(import),
            Stmt::ImportFrom(import) => self.import_from(import),
            stmt => {
                self.depth += 1;
                walk_stmt(self, stmt);
                self.depth -= 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(source: &str, name: &str, is_package: bool, expect: &[&str]) {
        let imports = scan(source.as_bytes(), &DottedName::parse(name), is_package).unwrap().imports;
        let shown: Vec<String> =
            imports.iter().map(|(name, optional)| format!("{name}{}", if *optional { "?" } else { "" })).collect();
        assert_eq!(shown, expect, "{source}");
    }

    #[test]
    fn absolute_imports_are_found_wherever_they_stand() {
        check(
            "import ansible.module_utils.a, os, ansible.module_utils.b.c as d",
            "x",
            false,
            &["ansible.module_utils.a", "ansible.module_utils.b.c"],
        );
        check("import ansible.module_utils\nimport ansible.errors\nfrom ansible import errors", "x", false, &[]);
        check(
            "from ansible.module_utils import a, b as c",
            "x",
            false,
            &["ansible.module_utils.a", "ansible.module_utils.b"],
        );
        check(
            "from ansible.module_utils.a.b import (\n  C,\n  d,\n)",
            "x",
            false,
            &["ansible.module_utils.a.b.C", "ansible.module_utils.a.b.d"],
        );
        check("from ansible.module_utils.basic import *", "x", false, &["ansible.module_utils.basic.*"]);
        for around in [
            "try:\n    {}\nexcept ImportError:\n    pass",
            "try:\n    pass\nexcept ImportError:\n    {}\n",
            "try:\n    pass\nfinally:\n    {}",
            "if True:\n    pass\nelif x:\n    {}\nelse:\n    pass",
            "for a in b:\n    pass\nelse:\n    {}",
            "class A:\n    async def f(self):\n        with x:\n            {}",
            "match x:\n    case 1:\n        {}",
            "while x:\n    {}",
            "if x: {}",
        ] {
            let source = around.replace("{}", "from ansible.module_utils.a import b");
            check(&source, "x", false, &["ansible.module_utils.a.b?"]);
        }
        // One optional import makes the name optional.
        check(
            "import ansible.module_utils.a\nif x:\n    import ansible.module_utils.a",
            "x",
            false,
            &["ansible.module_utils.a?"],
        );
    }

    #[test]
    fn relative_imports_start_from_the_sources_own_name() {
        let name = "ansible_collections.n.c.plugins.modules.m";
        let utils = "ansible_collections.n.c.plugins.module_utils";
        check("from ..module_utils import a", name, false, &[&format!("{utils}.a")]);
        check("from ..module_utils.a import b", name, false, &[&format!("{utils}.a.b")]);
        check("from . import a\nfrom .b import c\nfrom ... import d\nfrom ....... import e", name, false, &[]);
        let name = "ansible.module_utils.common.text";
        check("from . import a", name, false, &["ansible.module_utils.common.a"]);
        check("from . import a", name, true, &["ansible.module_utils.common.text.a"]);
        check("from .. import a", name, true, &["ansible.module_utils.common.a"]);
        check("from ..b import a", name, false, &["ansible.module_utils.b.a"]);
    }

    #[test]
    fn only_utilities_of_collections_are_included() {
        check(
            "from ansible_collections.n.c.plugins.lookup import a\n\
             from ansible_collections.n.c.plugins.module_utils import b\n\
             import ansible_collections.n.c.plugins.module_utils.d",
            "x",
            false,
            &["ansible_collections.n.c.plugins.module_utils.b", "ansible_collections.n.c.plugins.module_utils.d"],
        );
    }

    #[test]
    fn text_that_only_looks_like_an_import_is_ignored() {
        check(
            "'''\nimport ansible.module_utils.a\n'''\n# import ansible.module_utils.b\nx = 'import ansible.module_utils.c'",
            "x",
            false,
            &[],
        );
        check(
            "\u{feff}from ansible.module_utils.six.moves import _six\nfrom ansible.module_utils_x import y",
            "x",
            false,
            &[],
        );
        check("from ansible.module_utils.six import _six, b", "x", false, &[]);
    }

    #[test]
    fn levels_are_bounded() {
        let name = DottedName::parse("x");
        for unit in ["(", "[", "{", "f'{", "-", "~ ", "+\\\n"] {
            let error = scan(format!("x = {}1", unit.repeat(6000)).as_bytes(), &name, false).unwrap_err();
            assert!(error.reason.contains("too many levels"), "{unit}: {error}");
        }
        let ruled = format!("# {}\nx = {}1{}\n", "-".repeat(4000), "(".repeat(150), ")".repeat(150));
        assert!(scan(ruled.as_bytes(), &name, false).unwrap().imports.is_empty());
    }

    #[test]
    fn invalid_python_is_reported_with_its_line() {
        let error = scan(b"import os\n\nprint 'x'\n", &DottedName::parse("x"), false).unwrap_err();
        assert_eq!(error.line, 3, "{error}");
        let imports = scan(b"# \xe9\nimport ansible.module_utils.a", &DottedName::parse("x"), false).unwrap().imports;
        assert_eq!(imports.len(), 1);
    }
}

//! Finds the files that a Python source embeds in its payload by `EmbedManager.embed`.
//!
//! The rules and messages follow ansible-core 2.21, `ModuleDepFinder.visit_Assign`. A source that imports `EmbedManager`, or
//! its module, at its top level has to embed a file. The call stands at the top level too, is all of an assignment's value,
//! and has two literal texts: a package, which may be relative to the source's own, and the name of a file in it. Later
//! imports replace the names of earlier ones. Which file that is, and whether it exists, is not decided here.

use ruff_python_ast::{Expr, ExprCall, Stmt, StmtAssign, StmtImportFrom};

use crate::ansiballz::bounds::MAX_SOURCE;
use crate::ansiballz::name::DottedName;

/// The package and the module that have the manager, and its name.
const PACKAGE: &str = "ansible.module_utils";
const MODULE: &str = "embed";
const MANAGER: &str = "EmbedManager";

/// The manager's method.
const METHOD: &str = "embed";

/// Packages below which embedded files lie.
const ROOTS: [&str; 2] = ["ansible", "ansible_collections"];

/// Longest name of an embedded file.
const MAX_NAME: usize = 200;

/// Endings of names, and a folder, of compiled Python. In a payload that is laid out in a folder such a file would be imported
/// in the place of a source, which it is not in ansible-core's zip.
const COMPILED: [&str; 3] = [".so", ".pyc", ".pyd"];
const COMPILED_FOLDER: &str = "__pycache__";

/// A file that a source embeds.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Embed {
    /// The package that has the file.
    pub package: DottedName,
    /// The name of the file.
    pub resource: String,
    /// The line of the call.
    pub line: usize,
}

impl Embed {
    /// Returns the path of the file in a payload.
    #[must_use]
    pub fn file(&self) -> String {
        format!("{}/{}", self.package.parts().join("/"), self.resource)
    }
}

/// Why a file cannot be embedded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EmbedFault {
    /// The manager is imported and not used.
    #[error("Module embedding support was imported, but no EmbedManager.embed calls were found.")]
    Unused,
    /// Arguments other than two texts.
    #[error("Invalid EmbedManager request: Embed requires exactly two inline literal strings.")]
    NotLiteral,
    /// Arguments with keywords.
    #[error("Invalid EmbedManager request: Embed does not support keyword args.")]
    Keywords,
    /// A relative package above the outermost one.
    #[error("Invalid EmbedManager request: `{0}` is a relative import beyond the top-level package.")]
    Beyond(String),
    /// A package that is neither ansible-core's nor a collection's.
    #[error("Embed must be an ansible/ansible_collections resource.")]
    Root,
    /// A package that was not found.
    #[error("Embed package not found while packaging module: `{0}`")]
    NoPackage(DottedName),
    /// A file that was not found.
    #[error("Embed resource '{0}' not found while packaging module.")]
    NoFile(String),
    /// A name that modbox does not pack.
    #[error(
        "failed to embed `{0}`: modbox packs files with names of up to {MAX_NAME} letters, digits, `_`, `-` and `.`, not at \
         the start, in packages with names of letters, digits and `_`, and no compiled Python"
    )]
    Name(String),
    /// A file that is too long.
    #[error("failed to embed `{0}`: it is longer than the limit of {MAX_SOURCE} bytes")]
    TooLong(String),
}

/// What a source embeds: nothing, since it does not import the manager; files; or a fault with its line.
pub type Embeds = Option<Result<Vec<Embed>, (usize, EmbedFault)>>;

/// Finds what a source embeds. `name` is the source's own, and `absolute` returns the whole name of the module of an import.
pub(super) fn find(
    text: &str,
    body: &[Stmt],
    name: &DottedName,
    absolute: impl Fn(&StmtImportFrom) -> String,
) -> Embeds {
    let line = |at: usize| text.as_bytes()[..at.min(text.len())].iter().filter(|byte| **byte == b'\n').count() + 1;
    let mut imported: Option<(Import, usize)> = None;
    let mut embeds = Vec::new();
    for statement in body {
        match statement {
            Stmt::ImportFrom(import) => {
                if let Some(found) = Import::of(import, &absolute(import)) {
                    imported = Some((found, line(import.range.start().to_usize())));
                }
            }
            Stmt::Assign(assign) => {
                let call = imported.as_ref().and_then(|(import, _)| import.call(assign));
                if let Some(call) = call {
                    let at = line(call.arguments.range.start().to_usize());
                    match request(call, name) {
                        Ok((package, resource)) => embeds.push(Embed { package, resource, line: at }),
                        Err(fault) => return Some(Err((at, fault))),
                    }
                }
            }
            _ => {}
        }
    }
    let (_, at) = imported?;
    Some(if embeds.is_empty() { Err((at, EmbedFault::Unused)) } else { Ok(embeds) })
}

/// The names by which a source knows the manager.
struct Import {
    /// The name of its module, if that was imported.
    module: Option<String>,
    manager: String,
}

impl Import {
    fn of(import: &StmtImportFrom, module: &str) -> Option<Self> {
        let is_package = module == PACKAGE;
        let is_module = module.strip_prefix(PACKAGE).and_then(|rest| rest.strip_prefix('.')) == Some(MODULE);
        let wanted = if is_package { MODULE } else { MANAGER };
        let alias =
            import.names.iter().rfind(|alias| alias.name.as_str() == wanted).filter(|_| is_package || is_module)?;
        let known = alias.asname.as_ref().unwrap_or(&alias.name).to_string();
        Some(match is_package {
            true => Self { module: Some(known), manager: MANAGER.to_owned() },
            false => Self { module: None, manager: known },
        })
    }

    /// Returns the call of the manager's method that an assignment has as its value.
    fn call<'a>(&self, assign: &'a StmtAssign) -> Option<&'a ExprCall> {
        let Expr::Call(call) = &*assign.value else { return None };
        let Expr::Attribute(function) = &*call.func else { return None };
        let is_manager = match &*function.value {
            Expr::Name(name) => name.id.as_str() == self.manager,
            Expr::Attribute(manager) => {
                manager.attr.as_str() == self.manager
                    && matches!(&*manager.value, Expr::Name(name) if self.module.as_deref() == Some(name.id.as_str()))
            }
            _ => false,
        };
        (function.attr.as_str() == METHOD && is_manager).then_some(call)
    }
}

/// Reads package and name from a call.
fn request(call: &ExprCall, name: &DottedName) -> Result<(DottedName, String), EmbedFault> {
    let [Expr::StringLiteral(package), Expr::StringLiteral(resource)] = &*call.arguments.args else {
        return Err(EmbedFault::NotLiteral);
    };
    if !call.arguments.keywords.is_empty() {
        return Err(EmbedFault::Keywords);
    }
    let (package, resource) = (package.value.to_str(), resource.value.to_str());
    let package = resolve(package, name).ok_or_else(|| EmbedFault::Beyond(package.to_owned()))?;
    if !ROOTS.contains(&package.parts()[0].as_str()) {
        return Err(EmbedFault::Root);
    }
    let embed = Embed { package, resource: resource.to_owned(), line: 0 };
    // A slash in a part would move the border between package and file.
    let has_parts = embed.package.parts().iter().all(|part| is_identifier(part)) && !embed.resource.contains('/');
    let is_packed = has_parts && is_packed(&embed.file());
    if is_packed { Ok((embed.package, embed.resource)) } else { Err(EmbedFault::Name(embed.file())) }
}

/// Returns the whole name of a package that may be relative to the package of a source (Python's `resolve_name`).
fn resolve(package: &str, source: &DottedName) -> Option<DottedName> {
    let rest = package.trim_start_matches('.');
    let level = package.len() - rest.len();
    if level == 0 {
        return Some(DottedName::parse(package));
    }
    let own = source.parts();
    let base = own.len().checked_sub(level).filter(|count| *count > 0).map(|count| source.first(count))?;
    Some(if rest.is_empty() { base } else { DottedName::parse(&format!("{base}.{rest}")) })
}

/// Returns whether a path may be that of an embedded file in a payload: a file of a plain name in packages below ansible-core
/// or the collections.
pub(super) fn is_packed(path: &str) -> bool {
    let Some((folders, name)) = path.rsplit_once('/') else { return false };
    let is_package = |part: &str| is_identifier(part) && part != COMPILED_FOLDER;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    ROOTS.contains(&folders.split('/').next().unwrap_or_default())
        && folders.split('/').all(is_package)
        && (1..=MAX_NAME).contains(&name.len())
        && !name.starts_with('.')
        && name.bytes().all(is_plain)
        && !COMPILED.iter().any(|ending| name.to_ascii_lowercase().ends_with(ending))
}

/// Returns whether a text is a name in Python, in ASCII.
pub(super) fn is_identifier(text: &str) -> bool {
    let mut letters = text.chars();
    letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ansiballz::imports::scan;

    const FROM: &str = "from ansible.module_utils.embed import EmbedManager\n";
    const NAME: &str = "ansible_collections.a.b.plugins.modules.m";

    fn embeds(source: &str, name: &str) -> Embeds {
        scan(source.as_bytes(), &DottedName::parse(name), false).unwrap().embeds
    }

    #[track_caller]
    fn found(source: &str, expect: &[&str]) {
        let embeds = embeds(source, NAME).unwrap().unwrap();
        assert_eq!(embeds.iter().map(Embed::file).collect::<Vec<_>>(), expect, "{source}");
    }

    #[track_caller]
    fn fault(source: &str, line: usize, expect: &str) {
        let (at, fault) = embeds(source, NAME).unwrap().unwrap_err();
        assert_eq!((at, fault.to_string().contains(expect)), (line, true), "{source}: {fault}");
    }

    #[test]
    fn calls_are_found_by_all_names_of_the_manager() {
        let file = "ansible_collections/a/b/plugins/module_utils/d/x.txt";
        for (import, call) in [
            ("from ansible.module_utils.embed import EmbedManager", "EmbedManager.embed"),
            ("from ansible.module_utils.embed import EmbedManager as E", "E.embed"),
            ("from ansible.module_utils.embed import EmbeddedResource, EmbedManager", "EmbedManager.embed"),
            ("from ansible.module_utils import embed", "embed.EmbedManager.embed"),
            ("from ansible.module_utils import basic, embed as e", "e.EmbedManager.embed"),
            ("from ansible.module_utils import embed", "EmbedManager.embed"),
            // The later import holds.
            (
                "from ansible.module_utils.embed import EmbedManager as E\nfrom ansible.module_utils import embed",
                "embed.EmbedManager.embed",
            ),
        ] {
            found(&format!("{import}\nx = {call}('..module_utils.d', 'x.txt')\n"), &[file]);
            found(&format!("{import}\nx = y.z = {call}('..module_utils' '.d', \"x.txt\",)\n"), &[file]);
        }
    }

    #[test]
    fn packages_may_be_relative() {
        for (package, expect) in [
            (".", "ansible_collections/a/b/plugins/modules/x"),
            (".d", "ansible_collections/a/b/plugins/modules/d/x"),
            ("..", "ansible_collections/a/b/plugins/x"),
            (".....", "ansible_collections/x"),
            ("ansible.module_utils._embed", "ansible/module_utils/_embed/x"),
        ] {
            found(&format!("{FROM}x = EmbedManager.embed('{package}', 'x')\n"), &[expect]);
        }
        fault(&format!("{FROM}x = EmbedManager.embed('......', 'x')\n"), 2, "beyond the top-level package");
    }

    #[test]
    fn other_forms_are_not_calls() {
        for source in [
            "x = EmbedManager.embed('a', 'b')\n",
            "import ansible.module_utils.embed\nx = ansible.module_utils.embed.EmbedManager.embed('a', 'b')\n",
            "from ansible.module_utils.basic import EmbedManager\nx = EmbedManager.embed('a', 'b')\n",
            "try:\n    from ansible.module_utils.embed import EmbedManager\nexcept ImportError:\n    pass\n",
            "from ansible.module_utils.embed import EmbeddedResource\n",
        ] {
            assert_eq!(embeds(source, NAME), None, "{source}");
        }
        for source in [
            "",
            "EmbedManager.embed('ansible', 'b')\n",
            "x: object = EmbedManager.embed('ansible', 'b')\n",
            "def f():\n    x = EmbedManager.embed('ansible', 'b')\n",
            "x = [EmbedManager.embed('ansible', 'b')]\n",
            "x = Other.embed('ansible', 'b')\n",
            "x = EmbedManager.other('ansible', 'b')\n",
            "x = embed.EmbedManager.embed('ansible', 'b')\n",
        ] {
            fault(&format!("\n{FROM}{source}"), 2, "no EmbedManager.embed calls were found");
        }
        // A call above the import is none.
        fault(&format!("x = EmbedManager.embed('ansible', 'b')\n{FROM}"), 2, "no EmbedManager.embed calls");
    }

    #[test]
    fn faults_have_ansibles_messages_and_their_lines() {
        for (arguments, expect) in [
            ("", "exactly two inline literal strings"),
            ("'ansible'", "exactly two inline literal strings"),
            ("'ansible', 'b', 'c'", "exactly two inline literal strings"),
            ("'ansible', b'b'", "exactly two inline literal strings"),
            ("'ansible', f'b'", "exactly two inline literal strings"),
            ("'ansible', name", "exactly two inline literal strings"),
            ("*names", "exactly two inline literal strings"),
            ("'ansible', resource='b'", "exactly two inline literal strings"),
            ("'ansible', 'b', c='d'", "does not support keyword args"),
            ("'os', 'b'", "must be an ansible/ansible_collections resource"),
            ("'', 'b'", "must be an ansible/ansible_collections resource"),
            ("'ansible', ''", "failed to embed `ansible/`"),
            ("'ansible', '../b'", "failed to embed"),
            ("'ansible', 'a/b'", "failed to embed"),
            ("'ansible', '.b'", "failed to embed"),
            ("'ansible', 'é'", "failed to embed"),
            ("'ansible', 'b.so'", "no compiled Python"),
            ("'ansible.__pycache__', 'b'", "no compiled Python"),
            ("'ansible.a/b', 'c'", "failed to embed"),
            ("'ansible.', 'c'", "failed to embed"),
        ] {
            fault(&format!("{FROM}\nx = EmbedManager.embed({arguments})\n"), 3, expect);
        }
    }
}

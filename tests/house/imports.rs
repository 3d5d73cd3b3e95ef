//! The house rules for imports: which layer may import which, and that files of a crate have no import cycles.
//! Those for crates are in `crates.rs`, those for rooms in `climbs.rs`.
//!
//! The rules read text, as those in `tidy.rs` do. Declaring a file by `mod` counts as importing it, so a file may not
//! import the one that declares it. What two files share is in a third file. Unit tests and the files that hold them
//! are left out.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::house::tidy::{ascii, rust_files};
use crate::support::repository;

/// What is left out of one run: `batch` and `jobs` make many, and stand on it.
const MANY_RUNS: [&str; 2] = ["batch", "jobs"];

/// The files of `runner/core/kinds` that kinds share, and so may name; the rest are kinds.
const KINDS_SHARED: [&str; 7] = ["ansiballz", "detect", "kind", "native", "powershell_source", "request", "shebang"];

/// A file of a crate, and the path of its module in the crate.
pub(super) struct Module {
    pub(super) path: String,
    pub(super) name: Vec<String>,
    /// Without comments and unit tests.
    code: String,
}

/// What each file imports, by the files' paths, with the names that it takes.
pub(super) type Imports = BTreeMap<String, BTreeMap<String, BTreeSet<String>>>;

#[test]
fn no_files_import_each_other_in_a_circle() {
    let mut found = Vec::new();
    let crates = crates();
    assert!(crates.len() > 20, "only {} crates were found", crates.len());
    for modules in crates.values() {
        let imports = imports(modules);
        found.extend(circles(&imports).iter().map(|circle| describe(circle, &imports)));
    }
    assert!(found.is_empty(), "files import each other in a circle:\n{}", found.join("\n"));
}

#[test]
fn one_run_knows_nothing_of_many() {
    let crates = crates();
    let modules = crates.get(Path::new("runner/run")).expect("runs are a crate");
    let mut wrong = Vec::new();
    let of_many = |name: &[String]| name.first().is_some_and(|first| MANY_RUNS.contains(&first.as_str()));
    for module in modules.iter().filter(|module| !module.name.is_empty() && !of_many(&module.name)) {
        let up = paths(&module.name, &module.code).into_iter().filter(|path| of_many(path));
        wrong.extend(up.map(|path| format!("{} names {}", module.path, path.join("::"))));
    }
    assert!(modules.len() > 100, "only {} files were found", modules.len());
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_kind_names_no_other_kind() {
    let crates = crates();
    let modules = crates.get(Path::new("runner/core/kinds")).expect("kinds are a crate");
    let kind_of = |name: &[String]| name.first().filter(|name| !KINDS_SHARED.contains(&name.as_str())).cloned();
    let kinds: BTreeSet<String> = modules.iter().filter_map(|module| kind_of(&module.name)).collect();
    assert!(kinds.len() >= 7, "{kinds:?}");
    let mut wrong = Vec::new();
    for module in modules.iter().filter(|module| !module.name.is_empty()) {
        // Detection needs the token that makes a script a `jsonargs` one; `request` has the errors of PowerShell in its
        // own.
        if matches!(module.name[0].as_str(), "detect" | "request" | "tests") {
            continue;
        }
        let other = |path: Vec<String>| kind_of(&path).filter(|kind| kinds.contains(kind) && *kind != module.name[0]);
        let named = paths(&module.name, &module.code).into_iter().filter_map(other);
        wrong.extend(named.map(|kind| format!("{} names {kind}", module.path)));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The files of every crate, by the crate's folder.
pub(super) fn crates() -> BTreeMap<PathBuf, Vec<Module>> {
    let unit_tests = ascii(r"(?m)^#\[cfg\(test\)\]\n(?:#\[(?u:.)*\n)*mod tests \{");
    let mut crates: BTreeMap<PathBuf, Vec<Module>> = BTreeMap::new();
    for source in rust_files() {
        let path = Path::new(&source.path);
        let home = path.ancestors().skip(1).find(|dir| repository().join(dir).join("Cargo.toml").is_file());
        let home = home.expect("every file belongs to a package").to_owned();
        // Beside a library, `main.rs` is a separate crate, as is each file in `bin`.
        let is_program =
            |file: &Path| file == Path::new("main.rs") && repository().join(&home).join("src/lib.rs").is_file();
        let Ok(file) = path.strip_prefix(home.join("src")) else { continue };
        if file.starts_with("bin") || is_program(file) {
            continue;
        }
        let mut name: Vec<String> =
            file.with_extension("").iter().map(|part| part.to_string_lossy().into_owned()).collect();
        if name.last().is_some_and(|last| last == "mod") || matches!(file.to_str(), Some("lib.rs" | "main.rs")) {
            name.pop();
        }
        let code = source.code();
        let code = unit_tests.split(&code).next().unwrap_or_default().to_owned();
        crates.entry(home).or_default().push(Module { path: source.path, name, code });
    }
    crates
}

/// Returns what the files of a crate import of each other.
pub(super) fn imports(modules: &[Module]) -> Imports {
    let declared: Vec<_> = modules.iter().flat_map(|module| declarations(module, modules)).collect();
    let tests: BTreeSet<&str> = declared.iter().filter(|found| found.is_test).map(|found| found.to.as_str()).collect();
    // What a folder of tests holds is of tests, too.
    let folders: Vec<&[String]> =
        modules.iter().filter(|file| tests.contains(&*file.path)).map(|file| &*file.name).collect();
    let is_of_tests = |file: &&Module| folders.iter().any(|folder| file.name.starts_with(folder));
    let tests: BTreeSet<&str> = modules.iter().filter(is_of_tests).map(|file| &*file.path).collect();
    // A name for another crate: what goes by it leaves this one.
    let alias = ascii(r"(?m)^pub(?:\([a-z: ]*\))? use (\w+)(?: as (\w+))?;");
    let aliases: BTreeSet<Vec<String>> = modules
        .iter()
        .flat_map(|module| {
            let names =
                alias.captures_iter(&module.code).map(|found| found.get(2).unwrap_or_else(|| found.get(1).unwrap()));
            names.map(|name| [module.name.as_slice(), &[name.as_str().to_owned()]].concat()).collect::<Vec<_>>()
        })
        .collect();
    let mut imports = Imports::new();
    let mut add = |from: &str, to: &str, name: String| {
        if from != to && !tests.contains(from) && !tests.contains(to) {
            imports.entry(from.to_owned()).or_default().entry(to.to_owned()).or_default().insert(name);
        }
    };
    for found in &declared {
        add(&found.from, &found.to, "mod".to_owned());
    }
    for module in modules {
        for path in paths(&module.name, &module.code) {
            if (1..=path.len()).any(|length| aliases.contains(&path[..length])) {
                continue;
            }
            let defines = |length: &usize| modules.iter().find(|other| other.name == path[..*length]);
            if let Some((length, other)) = (0..=path.len()).rev().find_map(|length| Some((length, defines(&length)?))) {
                add(&module.path, &other.path, path[length..].join("::"));
            }
        }
    }
    imports
}

/// A file that declares another one by `mod`.
struct Declaration {
    from: String,
    to: String,
    is_test: bool,
}

fn declarations(module: &Module, modules: &[Module]) -> Vec<Declaration> {
    let declaration = ascii(r"(?m)((?:^[ \t]*#\[(?u:.)*\]\n)*)^[ \t]*(?:pub(?:\([a-z: ]*\))? )?mod (\w+);");
    let path = ascii(r#"path = "([a-z_./]+)""#);
    let mut found = Vec::new();
    for declared in declaration.captures_iter(&module.code) {
        let is_test = declared[1].contains("cfg(test)") || declared[1].contains("cfg(all(test");
        let folder = Path::new(&module.path).parent().expect("a file lies in a folder");
        let mut files: Vec<PathBuf> = path.captures_iter(&declared[1]).map(|path| folder.join(&path[1])).collect();
        if files.is_empty() {
            let name = [module.name.as_slice(), &[declared[2].to_owned()]].concat();
            files.extend(modules.iter().filter(|other| other.name == name).map(|other| PathBuf::from(&other.path)));
        }
        let to = files.into_iter().map(|file| file.to_string_lossy().into_owned());
        found.extend(to.map(|to| Declaration { from: module.path.clone(), to, is_test }));
    }
    found
}

/// Returns the paths within its crate that the code of a module names, from the crate's root.
fn paths(name: &[String], code: &str) -> Vec<Vec<String>> {
    let start = ascii(r"\b(?:(crate)::|(self)::|((?:super::)+))");
    let mut paths = Vec::new();
    for found in start.captures_iter(code) {
        let whole = found.get(0).expect("it matched");
        let before = &code[..whole.start()];
        // The end of a longer path, or the folder that something is visible in.
        if before.ends_with(':') || before.ends_with("pub(in ") {
            continue;
        }
        let depth = name.len();
        let prefix = match (found.get(1), found.get(3)) {
            (Some(_), _) => &[],
            (_, Some(supers)) => &name[..depth.saturating_sub(supers.as_str().len() / "super::".len())],
            _ => name,
        };
        for path in expand(&code[whole.end()..]) {
            let rest = path.split("::").filter(|part| !part.is_empty()).map(str::to_owned);
            paths.push(prefix.iter().cloned().chain(rest).collect());
        }
    }
    paths
}

/// Returns the sets of files of which each imports each other one, directly or by way of others.
pub(super) fn circles(imports: &Imports) -> Vec<BTreeSet<String>> {
    let reach: BTreeMap<&str, BTreeSet<&str>> =
        imports.keys().map(|file| (file.as_str(), reach(file, imports))).collect();
    let mut circles: BTreeSet<BTreeSet<String>> = BTreeSet::new();
    for (file, reached) in &reach {
        if reached.contains(file) {
            let back = |other: &&&str| reach.get(**other).is_some_and(|reached| reached.contains(file));
            circles.insert(reached.iter().filter(back).map(|other| (*other).to_owned()).collect());
        }
    }
    circles.into_iter().collect()
}

/// Returns the files that a file imports, directly or by way of others.
fn reach<'a>(file: &str, imports: &'a Imports) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut pending: Vec<&str> = imports.get(file).into_iter().flat_map(BTreeMap::keys).map(String::as_str).collect();
    while let Some(next) = pending.pop() {
        if reached.insert(next) {
            pending.extend(imports.get(next).into_iter().flat_map(BTreeMap::keys).map(String::as_str));
        }
    }
    reached
}

/// Lists the imports within a circle, with the names that are taken.
pub(super) fn describe(circle: &BTreeSet<String>, imports: &Imports) -> String {
    let mut lines = Vec::new();
    for (from, to) in imports.iter().filter(|(from, _)| circle.contains(*from)) {
        for (to, names) in to.iter().filter(|(to, _)| circle.contains(*to)) {
            lines.push(format!("  {from} -> {to}: {}", names.iter().cloned().collect::<Vec<_>>().join(", ")));
        }
    }
    format!("{} files:\n{}", circle.len(), lines.join("\n"))
}

/// A file of a crate for the tests below.
pub(super) fn module(path: &str, name: &[&str], code: &str) -> Module {
    Module { path: path.to_owned(), name: name.iter().map(|&part| part.to_owned()).collect(), code: code.to_owned() }
}

#[test]
fn circles_are_found_by_way_of_others_and_of_a_parent() {
    let found = |files: &[Module]| circles(&imports(files));
    let root = module("lib.rs", &[], "mod a;\nmod b;\n#[cfg(test)]\nmod c;\n");
    let straight = [
        module("lib.rs", &[], "mod a;\nmod b;\n#[cfg(test)]\nmod c;\n"),
        module("a.rs", &["a"], "use crate::b::{B, Other};"),
        module("b.rs", &["b"], ""),
        module("c.rs", &["c"], "use crate::a::A; use super::*;"),
    ];
    assert!(found(&straight).is_empty());
    let [_, a, ..] = straight;
    let back = module("b.rs", &["b"], "fn f() { super::a::f() }");
    let circle = found(&[root, a, back]);
    assert_eq!(circle, [BTreeSet::from(["a.rs".to_owned(), "b.rs".to_owned()])]);
    let root = module("lib.rs", &[], "mod a;\npub struct Shared;\n");
    let child = module("a.rs", &["a"], "use crate::Shared;");
    assert_eq!(found(&[root, child]).len(), 1);
}

/// Spells out the path at the beginning of some code: `a::{b, c::d}` is `a::b` and `a::c::d`.
fn expand(code: &str) -> Vec<String> {
    let code = code.trim_start();
    if let Some(group) = code.strip_prefix('{') {
        let mut depth = 0_usize;
        let mut items = vec![String::new()];
        for c in group.chars() {
            match c {
                '}' if depth == 0 => break,
                ',' if depth == 0 => items.push(String::new()),
                _ => {
                    depth = depth + usize::from(c == '{') - usize::from(c == '}');
                    items.last_mut().expect("it starts with one").push(c);
                }
            }
        }
        return items.iter().filter(|item| !item.trim().is_empty()).flat_map(|item| expand(item)).collect();
    }
    let end = code.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(code.len());
    let (word, rest) = code.split_at(end);
    match rest.strip_prefix("::") {
        Some(rest) => {
            expand(rest).into_iter().map(|path| format!("{word}::{path}").trim_end_matches(':').to_owned()).collect()
        }
        None => vec![word.to_owned()],
    }
}

#[test]
fn paths_in_groups_are_spelled_out() {
    assert_eq!(expand("a::{self, b::{c, d}, e};"), ["a::self", "a::b::c", "a::b::d", "a::e"]);
    assert_eq!(expand("a::B<c::D>(e)"), ["a::B"]);
    assert_eq!(expand("a::*;"), ["a"]);
}

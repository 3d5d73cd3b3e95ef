//! `modbox list`: the modules that have a name, those that were pulled, and providers of libral, one line each. Runs, compiles and builds nothing.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use modbox_python_json::{Value, encode};
use modbox_registry::layout::StoredModule;
use modbox_registry::reference::Reference;
use modbox_vocabulary::error_chain;

use modbox_policy::NamePattern;
use modbox_run::library::ListedModule;
use modbox_run::{ModuleSummary, PythonConfig, package_version, provider_files};

use crate::cli::args::ListArgs;
use crate::cli::context::Context;
use crate::cli::exit::{ExitStatus, Failure, OrExit};
use crate::cli::folders::data_dirs::data_dirs;
use crate::cli::named::find::Lookup;
use crate::cli::named::module_store::module_store;
use crate::cli::named::standard;
use crate::cli::printing::output::{self, clean_line};
use crate::cli::runner::runner;

/// Prints the modules whose names fit the pattern.
pub(crate) fn run(context: &Context, args: &ListArgs) -> Result<ExitStatus, Failure> {
    let lookup = Lookup::new(context, &args.lookup)?;
    let inventory = lookup.inventory(context);
    for problem in &inventory.problems {
        output::print_note(problem);
    }
    if inventory.is_cut {
        output::print_note("there are more files than `modbox list` looks at; not all modules are listed");
    }
    let mut modules: BTreeMap<String, Option<ListedModule>> =
        inventory.modules.into_iter().map(|(name, module)| (name, Some(module))).collect();
    for name in modbox_authoring::standard_names() {
        modules.entry(name.to_owned()).or_insert_with(|| {
            let path = standard::find(context, name)?;
            Some(ListedModule { path, package: None })
        });
    }
    if let Some(pattern) = &args.pattern {
        let pattern = NamePattern::new(pattern);
        modules.retain(|name, _| is_match(&pattern, name));
    }
    let mut versions: HashMap<PathBuf, String> = HashMap::new();
    let mut rows: Vec<Row> = modules.into_iter().map(|(name, module)| Row::new(name, module, &mut versions)).collect();
    rows.extend(stored(context, args));
    rows.extend(providers(context, args));
    let width = |column: fn(&Row) -> &str| rows.iter().map(|row| column(row).chars().count()).max().unwrap_or(0);
    let widths = [width(|row| &row.name).min(60), width(|row| &row.version).min(16), width(Row::kind)];
    let lines: Vec<String> = rows
        .iter()
        .map(|row| if args.json { encode(&row.to_value()) } else { row.to_line(widths, args.long) })
        .collect();
    if !lines.is_empty() {
        output::print_line(&lines.join("\n")).or_internal()?;
    } else if let Some(pattern) = &args.pattern {
        output::print_note(&format!("no module has a name like `{pattern}`"));
    }
    Ok(ExitStatus::Success)
}

/// Returns the modules that were pulled and whose references, or the last parts of their names, fit the pattern.
fn stored(context: &Context, args: &ListArgs) -> Vec<Row> {
    // A user without a home has pulled nothing.
    let Ok(store) = module_store(&context.environment) else { return Vec::new() };
    let modules = store.layout().modules().unwrap_or_else(|error| {
        output::print_note(&error_chain(&error));
        Vec::new()
    });
    let pattern = args.pattern.as_ref().map(|pattern| NamePattern::new(pattern));
    let rows = modules.into_iter().filter_map(|StoredModule { reference, manifest }| {
        let reference = Reference::from_layout(&reference).ok()?;
        let last = reference.repository.module_name();
        let name = reference.to_string();
        let fits = |pattern: &NamePattern| pattern.matches(&name) || pattern.matches(last);
        if !pattern.as_ref().is_none_or(fits) {
            return None;
        }
        let (manifest, _) = store.layout().manifest(&manifest.digest).ok()?;
        let path = store.layout().path(&manifest.module().ok()?.digest);
        let summary = ModuleSummary::of(&path);
        Some(Row { name, path: Some(path), version: summary.version.clone(), summary })
    });
    let mut rows: Vec<Row> = rows.collect();
    rows.sort_by(|one, other| one.name.cmp(&other.name));
    rows
}

/// Returns the providers of libral whose names fit the pattern. One that would have to be asked has only the name of its
/// file.
fn providers(context: &Context, args: &ListArgs) -> Vec<Row> {
    let pattern = args.pattern.as_ref().map(|pattern| NamePattern::new(pattern));
    let (files, _) = provider_files(&data_dirs(&context.environment, &args.providers, &[]));
    let runner = runner(context, None, PythonConfig::default());
    let rows = files.into_iter().filter_map(|path| {
        let mut summary = ModuleSummary::of(&path);
        if summary.kind != Some("provider") {
            return None;
        }
        let mut name = path.file_name()?.to_string_lossy().into_owned();
        summary.description = match runner.known_provider(&path) {
            Ok(Some(metadata)) => {
                name = metadata.qualified_name();
                metadata.description.trim_start().lines().next().unwrap_or_default().to_owned()
            }
            Ok(None) => "a provider that was not asked for its metadata; `modbox resource` asks it".to_owned(),
            Err(error) => {
                summary.problem = Some(error_chain(&error));
                String::new()
            }
        };
        Some(Row { name, path: Some(path), version: String::new(), summary })
    });
    let fits = |row: &Row| {
        pattern
            .as_ref()
            .is_none_or(|pattern| is_match(pattern, &row.name.replace("::", ".")) || pattern.matches(&row.name))
    };
    let mut rows: Vec<Row> = rows.filter(fits).collect();
    rows.sort_by(|one, other| one.name.cmp(&other.name));
    rows
}

/// One module of the list.
struct Row {
    name: String,
    path: Option<PathBuf>,
    version: String,
    summary: ModuleSummary,
}

impl Row {
    fn new(name: String, module: Option<ListedModule>, versions: &mut HashMap<PathBuf, String>) -> Self {
        let Some(module) = module else {
            let description = format!("a module of modbox that is not built; `modbox build {name}` builds it");
            let summary = ModuleSummary { kind: Some("component"), description, ..ModuleSummary::default() };
            return Self { name, path: None, version: String::new(), summary };
        };
        let summary = ModuleSummary::of(&module.path);
        let version = match &module.package {
            Some(package) => match versions.get(package) {
                Some(known) => known.clone(),
                None => versions.entry(package.clone()).or_insert_with(|| package_version(package)).clone(),
            },
            None => summary.version.clone(),
        };
        Self { name, path: Some(module.path), version, summary }
    }

    fn kind(&self) -> &str {
        self.summary.kind.unwrap_or("broken")
    }

    fn to_line(&self, [name, version, kind]: [usize; 3], long: bool) -> String {
        let said = self.summary.problem.as_ref().unwrap_or(&self.summary.description);
        let mut line = format!("{:<name$}  {:<version$}  {:<kind$}  {said}", self.name, self.version, self.kind());
        if long {
            let digest = if self.summary.digest.is_empty() { "-" } else { &self.summary.digest };
            let path = self.path.as_ref().map(|path| path.display().to_string()).unwrap_or_default();
            line = format!("{}  sha256:{digest}  {path}", line.trim_end());
        }
        clean_line(line.trim_end())
    }

    fn to_value(&self) -> Value {
        let digest = Some(&self.summary.digest).filter(|digest| !digest.is_empty());
        [
            ("name", Value::from(self.name.as_str())),
            ("version", self.version.as_str().into()),
            ("kind", self.summary.kind.into()),
            ("description", self.summary.description.as_str().into()),
            ("digest", digest.map(|digest| format!("sha256:{digest}")).into()),
            ("path", self.path.as_ref().map(|path| path.display().to_string()).into()),
            ("problem", self.summary.problem.clone().into()),
        ]
        .into()
    }
}

/// Returns whether a name, or its last part, fits a pattern.
fn is_match(pattern: &NamePattern, name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or(name);
    pattern.matches(name) || pattern.matches(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_text() {
        for (pattern, name, expect) in [
            ("a.b.*", "a.b.c", true),
            ("a.b.*", "a.x.c", false),
            ("c", "a.b.c", true),
            ("*file*", "a.b.ini_file", true),
            ("*i*f*e", "a.b.ini_file", true),
            ("*ab*ab", "n.c.xab", false),
            ("**", "x", true),
            ("", "x", false),
        ] {
            assert_eq!(is_match(&NamePattern::new(pattern), name), expect, "{pattern} {name}");
        }
    }
}

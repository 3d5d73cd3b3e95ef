//! `modbox list`: the modules that have a name, those that were pulled, and providers of libral, one line each. Without a
//! pattern, modules of collections are counted, since there are thousands. Runs, compiles and builds nothing.

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
use crate::cli::module_store::module_store;
use crate::cli::named::find::Lookup;
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
    let wanted = args.pattern.as_deref().map(NameFilter::new);
    if let Some(collection) = &args.collection {
        modules.retain(|name, _| collection_of(name) == Some(collection));
    }
    let counts = wanted.is_none() && args.collection.is_none() && !args.json;
    let is_counted =
        |module: &Option<ListedModule>| counts && module.as_ref().is_some_and(|module| module.package.is_some());
    let (counted, listed): (BTreeMap<_, _>, BTreeMap<_, _>) =
        modules.into_iter().partition(|(_, module)| is_counted(module));
    let mut versions: HashMap<PathBuf, String> = HashMap::new();
    let mut rows: Vec<Row> = listed.into_iter().map(|(name, module)| Row::new(name, module, &mut versions)).collect();
    if args.collection.is_none() {
        rows.extend(stored(context));
        rows.extend(providers(context, args));
    }
    rows.retain(|row| wanted.as_ref().is_none_or(|wanted| wanted.fits(row)));
    let is_unbuilt = rows.iter().any(|row| row.is_unbuilt);
    rows.extend(collections(counted, &mut versions));
    let width = |column: fn(&Row) -> &str| rows.iter().map(|row| column(row).chars().count()).max().unwrap_or(0);
    let widths = [width(|row| &row.name).min(60), width(|row| &row.version).min(16), width(Row::kind)];
    let lines: Vec<String> = rows
        .iter()
        .map(|row| if args.json { encode(&row.to_value()) } else { row.to_line(widths, args.long) })
        .collect();
    if !lines.is_empty() {
        output::print_line(&lines.join("\n")).or_internal()?;
    } else if let Some(pattern) = &args.pattern {
        output::print_note(&format!("no module has `{pattern}` in its name or description"));
    } else if let Some(collection) = &args.collection {
        output::print_note(&format!("no module of a collection `{collection}` is installed"));
    }
    if is_unbuilt && !args.json {
        output::print_note("modules that are not built are built by their first run, or by `modbox build --all`");
    }
    Ok(ExitStatus::Success)
}

/// Returns the collection of a module by its full name.
fn collection_of(name: &str) -> Option<&str> {
    let (second, _) = name.match_indices('.').nth(1)?;
    Some(&name[..second])
}

/// Returns one row for each collection, with the number of its modules.
fn collections(modules: BTreeMap<String, Option<ListedModule>>, versions: &mut HashMap<PathBuf, String>) -> Vec<Row> {
    let mut counts: BTreeMap<String, (u64, Option<PathBuf>)> = BTreeMap::new();
    for (name, module) in modules {
        let collection = collection_of(&name).unwrap_or(&name).to_owned();
        let (count, package) = counts.entry(collection).or_default();
        *count += 1;
        *package = package.take().or_else(|| module.and_then(|module| module.package));
    }
    let row = |(name, (count, package)): (String, (u64, Option<PathBuf>))| {
        let modules = if count == 1 { "module" } else { "modules" };
        let description = format!("{count} {modules}; `modbox list --collection {name}` lists them");
        let summary = ModuleSummary { kind: Some("collection"), description, ..ModuleSummary::default() };
        let version = package.map(|package| version_of(package, versions)).unwrap_or_default();
        Row { name, path: None, version, summary, is_unbuilt: false }
    };
    counts.into_iter().map(row).collect()
}

/// Returns the version of a collection or of ansible-core, which is read once.
fn version_of(package: PathBuf, versions: &mut HashMap<PathBuf, String>) -> String {
    versions.entry(package).or_insert_with_key(|package| package_version(package)).clone()
}

/// Returns the modules that were pulled.
fn stored(context: &Context) -> Vec<Row> {
    // A user without a home has pulled nothing.
    let Ok(store) = module_store(&context.environment) else { return Vec::new() };
    let modules = store.layout().modules().unwrap_or_else(|error| {
        output::print_note(&error_chain(&error));
        Vec::new()
    });
    let rows = modules.into_iter().filter_map(|StoredModule { reference, manifest }| {
        let name = Reference::from_layout(&reference).ok()?.to_string();
        let (manifest, _) = store.layout().manifest(&manifest.digest).ok()?;
        let path = store.layout().path(&manifest.module().ok()?.digest);
        let summary = ModuleSummary::of(&path);
        Some(Row { name, path: Some(path), version: summary.version.clone(), summary, is_unbuilt: false })
    });
    let mut rows: Vec<Row> = rows.collect();
    rows.sort_by(|one, other| one.name.cmp(&other.name));
    rows
}

/// Returns the providers of libral. One that would have to be asked has only the name of its
/// file.
fn providers(context: &Context, args: &ListArgs) -> Vec<Row> {
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
        Some(Row { name, path: Some(path), version: String::new(), summary, is_unbuilt: false })
    });
    let mut rows: Vec<Row> = rows.collect();
    rows.sort_by(|one, other| one.name.cmp(&other.name));
    rows
}

/// One module of the list.
struct Row {
    name: String,
    path: Option<PathBuf>,
    version: String,
    summary: ModuleSummary,
    /// Whether this is one of modbox's own modules that has to be built first.
    is_unbuilt: bool,
}

/// What the names of listed modules have to fit.
enum NameFilter {
    /// Text that the name, or its last part, has to fit.
    Pattern(NamePattern),
    /// A word in the name or in the description, in lower case.
    Word(String),
}

impl NameFilter {
    fn new(text: &str) -> Self {
        match text.contains(['*', '?']) {
            true => Self::Pattern(NamePattern::new(text)),
            false => Self::Word(text.to_lowercase()),
        }
    }

    fn fits(&self, row: &Row) -> bool {
        match self {
            Self::Pattern(pattern) => fits_name(pattern, &row.name),
            Self::Word(word) => {
                row.name.to_lowercase().contains(word) || row.summary.description.to_lowercase().contains(word)
            }
        }
    }
}

impl Row {
    fn new(name: String, module: Option<ListedModule>, versions: &mut HashMap<PathBuf, String>) -> Self {
        let Some(module) = module else {
            let description = modbox_authoring::standard_description(&name).unwrap_or_default();
            let description = format!("{description} (not built)");
            let summary = ModuleSummary { kind: Some("component"), description, ..ModuleSummary::default() };
            return Self { name, path: None, version: String::new(), summary, is_unbuilt: true };
        };
        let summary = ModuleSummary::of(&module.path);
        let version = match module.package {
            Some(package) => version_of(package, versions),
            None => summary.version.clone(),
        };
        Self { name, path: Some(module.path), version, summary, is_unbuilt: false }
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

/// Returns whether a name, its last part, or the name of the module in a reference fits a pattern.
fn fits_name(pattern: &NamePattern, name: &str) -> bool {
    let plain = name.replace("::", ".");
    let reference: Option<Reference> = name.parse().ok();
    let of_reference = reference.as_ref().map(|reference| reference.repository.module_name());
    let last = of_reference.unwrap_or_else(|| plain.rsplit('.').next().unwrap_or(&plain));
    pattern.matches(name) || pattern.matches(&plain) || pattern.matches(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_text() {
        for (pattern, name, expect) in [
            ("a.b.*", "a.b.c", true),
            ("a.b.*", "a.x.c", false),
            ("*file*", "a.b.ini_file", true),
            ("*i*f*e", "a.b.ini_file", true),
            ("*ab*ab", "n.c.xab", false),
            ("**", "x", true),
            ("ini?file", "a.b.ini_file", true),
            ("line*", "oci://ghcr.io/acme/lineinfile:1.4.2", true),
            ("ssh::*", "ssh::key", true),
        ] {
            assert_eq!(fits_name(&NamePattern::new(pattern), name), expect, "{pattern} {name}");
        }
    }

    #[test]
    fn a_full_name_has_a_collection() {
        for (name, expect) in [("ping", None), ("a.b", None), ("a.b.c", Some("a.b")), ("a.b.c.d", Some("a.b"))] {
            assert_eq!(collection_of(name), expect, "{name}");
        }
    }
}

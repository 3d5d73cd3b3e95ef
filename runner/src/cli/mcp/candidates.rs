//! The modules that may be tools: those that the names and patterns of policy files find. They are not read here.

use std::collections::BTreeSet;
use std::path::Path;

use modbox_policy::{NamePattern, OWN_TOOLS};
use modbox_run::library::{FoundModule, ManyNames};

use crate::cli::asking::own_files::OwnFiles;
use crate::cli::exit::error_words;
use crate::cli::mcp::examined::Sources;
use crate::cli::mcp::tool_settings;

/// The most modules whose descriptions are in memory at a time, beside the tools. They are read in a second or two; with more of them,
/// clients are answered before.
pub(super) const EXAMINED_TOGETHER: usize = 256;

/// The modules that may be tools.
pub(crate) struct Candidates {
    pub(super) modules: Vec<FoundModule>,
    pub(super) left_out: Vec<LeftOut>,
    /// What no tool may write.
    pub(super) own_files: OwnFiles,
}

impl Candidates {
    /// Finds the modules that the policy files name.
    pub(crate) fn find(sources: &Sources<'_>) -> Self {
        let mut own_files = OwnFiles::new(sources.context, sources.settings);
        for folder in sources.lookup.folders(sources.context) {
            own_files.add(&folder, "a folder of modules");
        }
        let (names, mut left_out) = names(sources);
        let mut modules = Vec::new();
        let mut taken = BTreeSet::new();
        let library = sources.lookup.library(sources.context);
        let many = library.for_many();
        for name in names {
            let found = match find(sources, &many, &name) {
                Ok(found) => found,
                Err(reason) => {
                    left_out.push(LeftOut { module: name, reason });
                    continue;
                }
            };
            own_files.add(&found.path, "a module");
            if taken.insert(found.name.clone()) {
                modules.push(found);
            }
        }
        Self { modules, left_out, own_files }
    }

    /// Returns whether there are so many modules that clients are answered before these are read.
    pub(crate) fn are_many(&self) -> bool {
        self.modules.len() > EXAMINED_TOGETHER
    }
}

/// A module that cannot be a tool.
pub(crate) struct LeftOut {
    pub(crate) module: String,
    pub(crate) reason: String,
}

/// Returns the names of modules that all files with tools have, in their order, and patterns that no module fits.
fn names(sources: &Sources<'_>) -> (Vec<String>, Vec<LeftOut>) {
    let (mut names, mut left_out) = (Vec::new(), Vec::new());
    let mut known: Option<BTreeSet<String>> = None;
    for pattern in tool_settings::patterns(sources.settings) {
        if !pattern.contains(['*', '?']) {
            names.push(pattern);
            continue;
        }
        let known = known.get_or_insert_with(|| {
            let standard = modbox_authoring::standard_names().into_iter().map(str::to_owned);
            sources.lookup.inventory(sources.context).modules.into_keys().chain(standard).collect()
        });
        let fits = NamePattern::new(&pattern);
        let before = names.len();
        names.extend(known.iter().filter(|name| fits.matches(name)).cloned());
        if names.len() == before {
            left_out.push(LeftOut { module: pattern, reason: "no module has a name that fits".to_owned() });
        }
    }
    let mut seen = BTreeSet::new();
    names.retain(|name| tool_settings::is_tool(sources.settings, name) && seen.insert(name.clone()));
    (names, left_out)
}

fn find(sources: &Sources<'_>, many: &ManyNames<'_>, name: &str) -> Result<FoundModule, String> {
    let found = sources.lookup.find_of_many(sources.context, many, Path::new(name));
    let found = found.map_err(|failure| error_words(&failure.error))?;
    match found.name.starts_with(OWN_TOOLS) {
        true => Err(format!("names that begin with `{OWN_TOOLS}` are those of modbox's own tools")),
        false => Ok(found),
    }
}

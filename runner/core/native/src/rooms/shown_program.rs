//! The programs of commands outside, in whose places a room shows scripts.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use modbox_policy::Policy;
use modbox_policy::outside::{Kind, RuleProgram};
use modbox_vocabulary::native_path;
use serde::{Deserialize, Serialize};

/// Folder of service scripts.
const SERVICE_SCRIPTS: &str = "/etc/init.d";

/// Maximum number of service scripts.
const MAX_SCRIPTS: usize = 1024;

/// A program that rules name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ShownProgram {
    /// Its path in the rules.
    #[serde(with = "native_path")]
    pub(crate) program: PathBuf,
    /// The path that it has without links in its directories.
    #[serde(with = "native_path")]
    pub(crate) place: PathBuf,
}

/// Returns the programs of a policy's rules that this machine has.
pub(crate) fn programs(policy: &Policy) -> Vec<ShownProgram> {
    let mut seen = BTreeSet::new();
    let mut programs = Vec::new();
    let mut add = |program: PathBuf| {
        let (Some(parent), Some(name)) = (program.parent(), program.file_name()) else { return };
        let Some(place) = parent.canonicalize().ok().map(|parent| parent.join(name)) else { return };
        if program.metadata().is_ok_and(|found| found.is_file()) && seen.insert(place.clone()) {
            programs.push(ShownProgram { program, place });
        }
    };
    for grant in policy.outside() {
        match grant.rule.program() {
            RuleProgram::Named(_) => grant.programs.first().cloned().into_iter().for_each(&mut add),
            RuleProgram::Script => {
                let entries = std::fs::read_dir(SERVICE_SCRIPTS).into_iter().flatten().flatten().take(MAX_SCRIPTS);
                let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
                let permitted = names.filter(|name| grant.names.permit(Kind::Unit, name));
                permitted.map(|name| Path::new(SERVICE_SCRIPTS).join(name)).for_each(&mut add);
            }
        }
    }
    programs
}

//! The programs of rules for commands outside, as this machine has them.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use modbox_policy::outside::shipped::ShippedRule;
use modbox_policy::outside::{BoundNames, OutsideGrant, OutsideRule, RuleProgram};
use modbox_policy::run;
use modbox_vocabulary::GrantSource;

/// Returns the grant of a rule of a profile. It has no programs if the machine does not have them.
#[must_use]
pub fn outside_of_profile(shipped: ShippedRule, names: &BoundNames, source: &GrantSource) -> OutsideGrant {
    let ShippedRule { rule, is_query } = shipped;
    let (names, source) = (names.clone(), source.clone());
    OutsideGrant { programs: programs_outside(&rule), rule, names, is_query, is_shipped: true, source }
}

/// Returns the paths of the program of a rule.
#[must_use]
pub fn programs_outside(rule: &OutsideRule) -> Vec<PathBuf> {
    match rule.program() {
        RuleProgram::Named(program) => granted_programs(program),
        RuleProgram::Script => Vec::new(),
    }
}

/// Returns the paths of a program that a rule names: an absolute path as it is, and a name where it is now.
#[must_use]
pub fn granted_programs(program: &str) -> Vec<PathBuf> {
    let real = |path: &Path| path.canonicalize().ok();
    match Path::new(program) {
        path if path.is_absolute() => run::known_as(path, real),
        _ => run::look_up(program, is_program, real),
    }
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

//! What a person is not asked for: what no answer should grant, and what the policy files and the trust rules do not let be
//! asked.

use modbox_policy::{PathGrant, Rules, Shape, merge, never_asked};
use modbox_vocabulary::quoting::quote;

use crate::cli::asking::facts::RunFacts;
use crate::cli::asking::own_files::OwnFiles;
use crate::cli::asking::wish::Wish;
use crate::cli::exit::error_words;
use crate::cli::process::environment::Environment;

/// Maximum bytes of the grants of one question, as they are shown. A longer text would hide what is asked.
const MAX_SHOWN: usize = 512;

/// What stands for a secret in reports.
const MASK: &str = "********";

/// Returns the resolved grants of a wish, if a person may be asked for them.
///
/// # Errors
///
/// The reason why not, in words.
pub(crate) fn askable(
    wish: &Wish,
    facts: &RunFacts,
    environment: &Environment,
    own: &OwnFiles,
) -> Result<Rules, String> {
    let shown: usize = wish.grants.iter().map(|(_, value)| quote(value).len()).sum();
    if shown > MAX_SHOWN {
        return Err(format!("it has more than {MAX_SHOWN} bytes, and could not be read in a question"));
    }
    if wish.grants.iter().any(|(_, value)| value.contains(MASK) || value.contains(char::is_control)) {
        return Err("it has a masked secret or control characters in it".to_owned());
    }
    let rules = wish.resolved(environment).map_err(|error| error_words(&error))?;
    if let Some(why) = never_asked(&rules) {
        return Err(why);
    }
    let home = environment.home().and_then(|home| home.canonicalize().ok());
    let holds_home = |grant: &&PathGrant| {
        grant.shape == Shape::Directory && home.as_ref().is_some_and(|home| home.starts_with(&grant.host))
    };
    if let Some(grant) = rules.paths.iter().find(holds_home) {
        return Err(format!("`{}` contains your home folder", grant.host.display()));
    }
    let merged = merge(std::slice::from_ref(&rules)).map_err(|error| error.to_string())?;
    let mut wanted = merged.policy;
    facts.policy.audit().iter().for_each(|path| wanted.add_audit(path.clone()));
    own.check(&wanted).map_err(|_| "it decides about grants, or modbox keeps it".to_owned())?;
    if let Some(ceiling) = facts.policy.trust().ceilings.iter().find(|ceiling| !ceiling.includes(&rules)) {
        return Err(format!("{} may not be granted that ({})", ceiling.party, ceiling.rule));
    }
    if !facts.bounds.hold(&rules) {
        return Err("the sections `ask` of the policy files do not have it".to_owned());
    }
    let mut policy = facts.policy.clone();
    policy.allow_paths(rules.paths.iter().cloned()).map_err(|error| error.to_string())?;
    Ok(rules)
}

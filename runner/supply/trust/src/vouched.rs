//! Whether statements vouch for every part of a module: the parts that the module's own statement lists, and those of one release of
//! ansible-core.

use std::collections::BTreeMap;

use modbox_closure::{Closure, Part};

use crate::core_statement::{CoreFile, CoreStatement};
use crate::signature_file::SignatureFileError;
use crate::ssh_signature::{SigningKey, SshSignatureError};
use crate::statement::Statement;

/// Beginning of the names of ansible-core's files.
const OF_CORE: &str = "ansible/";

/// What helps where a statement is about the file of a module alone.
const FILE_ALONE: &str =
    "`modbox sign` signs a module with its parts, and `modbox sign --ansible-core` those of ansible-core";

/// What helps where parts are ansible-core's.
const OF_RELEASE: &str = "`modbox sign --ansible-core` signs the files of an ansible-core, and `ansible-core` in the section \
                          `trust` names its signer";

/// What helps where parts are the module's own.
const WITH_PARTS: &str = "`modbox sign` signs a module with its parts";

/// A file about a release of ansible-core whose signatures were verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedCore {
    pub(crate) statement: CoreStatement,
    pub(crate) signatures: Vec<Result<SigningKey, SshSignatureError>>,
}

/// A release of ansible-core with a signature that counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VouchedCore {
    pub(crate) statement: CoreStatement,
}

impl CheckedCore {
    /// Reads a file, and verifies its signatures.
    ///
    /// # Errors
    ///
    /// The bytes are another file.
    pub fn of(file: &[u8]) -> Result<Self, SignatureFileError> {
        let CoreFile { statement, signatures } = CoreFile::parse(file)?;
        let text = statement.to_string();
        let signatures = signatures.iter().map(|signature| SigningKey::verify(signature, &text)).collect();
        Ok(Self { statement, signatures })
    }
}

/// A part of a module that no statement vouches for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PartsError {
    /// A statement vouches for no such part.
    #[error("the signature does not cover the part `{}` (sha256:{}) of the module{}; {remedy}", part.name, part.digest, and_more(*more))]
    Other {
        /// The first such part.
        part: Part,
        /// The number of further ones.
        more: usize,
        /// What helps.
        remedy: &'static str,
    },
    /// A part that the statement lists is not among those of the module.
    #[error("the module lacks the part `{0}` that was signed with it")]
    Missing(String),
}

fn and_more(more: usize) -> String {
    if more == 0 { String::new() } else { format!(", and {more} more") }
}

/// Checks that the statement of a module, and at most one release of ansible-core, vouch for every part. Returns that release, if it
/// was needed.
///
/// # Errors
///
/// A part is not vouched for, or one that the statement lists is missing.
pub(crate) fn release_for(
    closure: &Closure,
    statement: &Statement,
    cores: &[VouchedCore],
) -> Result<Option<String>, PartsError> {
    let listed: BTreeMap<&str, &str> =
        statement.parts.iter().map(|part| (part.name.as_str(), part.digest.as_str())).collect();
    let found: BTreeMap<&str, &str> =
        closure.parts().iter().map(|part| (part.name.as_str(), part.digest.as_str())).collect();
    let is_missing = |part: &&Part| !found.contains_key(part.name.as_str()) && !is_fragment(&part.name);
    if let Some(part) = statement.parts.iter().find(is_missing) {
        return Err(PartsError::Missing(part.name.clone()));
    }
    let is_listed = |part: &Part| listed.get(part.name.as_str()) == Some(&part.digest.as_str());
    let rest: Vec<&Part> = closure.parts().iter().filter(|part| !is_listed(part)).collect();
    let left_by = |core: Option<&VouchedCore>| {
        let has = |part: &Part| core.is_some_and(|core| core.statement.has(part));
        let has_name =
            |name: &str| listed.contains_key(name) || core.is_some_and(|core| core.statement.files.contains_key(name));
        let left = rest.iter().filter(|part| !has(part) && !closure.is_inert(part, has_name));
        left.map(|part| (*part).clone()).collect::<Vec<Part>>()
    };
    let mut least = left_by(None);
    if least.is_empty() {
        return Ok(None);
    }
    for core in cores {
        let left = left_by(Some(core));
        if left.is_empty() {
            return Ok(Some(core.statement.release.clone()));
        }
        if left.len() < least.len() {
            least = left;
        }
    }
    let first = least[0].clone();
    let is_of_core =
        least.iter().all(|part| part.name.starts_with(OF_CORE)) && !listed.contains_key(first.name.as_str());
    let remedy = match (is_of_core, cores.is_empty() && statement.parts.is_empty()) {
        (_, true) => FILE_ALONE,
        (true, false) => OF_RELEASE,
        (false, false) => WITH_PARTS,
    };
    Err(PartsError::Other { part: first, more: least.len() - 1, remedy })
}

/// Returns whether a part is a documentation fragment. A module that Ansible sends has none, and one that is missing only lets less be
/// known of the module.
fn is_fragment(name: &str) -> bool {
    name.contains("/plugins/doc_fragments/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(name: &str) -> Part {
        Part::of(name, name.as_bytes())
    }

    fn statement(parts: &[Part]) -> Statement {
        let (digest, file) = ("ab".repeat(32), "m.py".to_owned());
        Statement { digest, file, name: None, version: None, requests: None, parts: parts.to_vec() }
    }

    fn core(release: &str, parts: &[Part]) -> VouchedCore {
        VouchedCore { statement: CoreStatement::new(release.to_owned(), parts.to_vec()).unwrap() }
    }

    fn closure(parts: &[Part]) -> Closure {
        Closure::of(part("m.py"), parts.to_vec(), ["ansible/__init__.py".to_owned()].into())
    }

    #[test]
    fn every_part_is_vouched_for_by_the_statement_or_by_one_release() {
        let (basic, text, own) =
            (part("ansible/module_utils/basic.py"), part("ansible/module_utils/text.py"), part("a/own.py"));
        let whole = closure(&[part("ansible/__init__.py"), basic.clone(), text.clone(), own.clone()]);
        let all = [basic.clone(), text.clone()];
        let release = |statement: &Statement, cores: &[VouchedCore]| release_for(&whole, statement, cores);
        let named = statement(std::slice::from_ref(&own));
        assert_eq!(release(&named, &[core("1", &all[..1]), core("2", &all)]), Ok(Some("2".to_owned())));
        assert_eq!(release(&statement(&[own.clone(), basic.clone(), text.clone()]), &[]), Ok(None));
        // Two releases together do not vouch for a mixture of both.
        for cores in [&[][..], &[core("1", &all[..1]), core("2", &all[1..])]] {
            assert!(matches!(release(&named, cores), Err(PartsError::Other { .. })));
        }
        let error = release(&statement(&[]), &[core("2", &all)]).unwrap_err().to_string();
        assert!(
            error.contains("`a/own.py`") && error.contains("`modbox sign` signs a module with its parts"),
            "{error}"
        );
        let other = closure(&[Part::of(basic.name.clone(), b"other"), text, own]);
        let error = release_for(&other, &named, &[core("2", &all)]).unwrap_err().to_string();
        assert!(error.contains("`ansible/module_utils/basic.py`"), "{error}");
        let error = release_for(&closure(&[basic]), &named, &[core("2", &all)]).unwrap_err().to_string();
        assert!(error.contains("lacks the part `a/own.py`"), "{error}");
    }

    #[test]
    fn a_fragment_may_be_missing_and_not_be_another_one() {
        let (own, fragment) = (part("a/own.py"), part("ansible_collections/a/b/plugins/doc_fragments/f.py"));
        let listed = statement(&[own.clone(), fragment.clone()]);
        assert_eq!(release_for(&closure(&[own.clone(), fragment.clone()]), &listed, &[]), Ok(None));
        assert_eq!(release_for(&closure(std::slice::from_ref(&own)), &listed, &[]), Ok(None), "as Ansible sends it");
        let other = closure(&[own.clone(), Part::of(fragment.name.clone(), b"other")]);
        assert!(matches!(release_for(&other, &listed, &[]), Err(PartsError::Other { .. })));
        assert!(release_for(&closure(&[fragment]), &listed, &[]).is_err());
    }

    #[test]
    fn a_package_in_the_place_of_a_file_of_the_release_is_not_vouched_for() {
        let empty = part("ansible/__init__.py");
        let hiding = closure(&[empty.clone(), part("a.py")]);
        let listed = statement(&[part("a.py")]);
        assert_eq!(release_for(&hiding, &listed, &[]), Ok(None));
        assert!(
            release_for(&hiding, &listed, &[core("1", &[part("ansible.py")])]).is_ok(),
            "the release is not needed"
        );
        let hidden = closure(&[empty, part("ansible.py"), part("a.py")]);
        assert!(release_for(&hidden, &listed, &[core("1", &[part("ansible.py")])]).is_err());
    }
}

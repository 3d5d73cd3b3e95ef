//! The trust rules of one policy file: which of them fits a module, and the most that it lets the module be granted.

use std::io;
use std::path::{Path, PathBuf};

use modbox_policy::run::RunRule;
use modbox_policy::{
    Access, Allow, AtMost, Ceiling, FileRules, Located, NamePattern, Rules, Subject, TrustRule, TrustStanding,
};
use modbox_trust::allowed_signers::{AllowedSigners, Signer};
use modbox_trust::verification::VerifiedStatement;
use modbox_vocabulary::GrantSource;

use crate::cli::process::environment::Environment;
use crate::cli::settings::signature_files::is_meant;
use crate::cli::settings::{files, grants};

/// The trust rules of one policy file.
#[derive(Debug)]
pub(super) struct TrustFile {
    pub(super) path: PathBuf,
    pub(super) signers: AllowedSigners,
    pub(super) require_signature: bool,
    /// Whose statements about releases of ansible-core count.
    pub(super) ansible_core: Option<NamePattern>,
    pub(super) rules: Vec<Located<TrustRule>>,
    /// What each rule lets modules be granted.
    pub(super) most: Vec<Option<Rules>>,
}

impl TrustFile {
    /// Returns why no rule for signed modules fits a module that is signed.
    fn why_no_rule(&self, verified: &VerifiedStatement) -> String {
        let by_name = self.rules.iter().position(|rule| fits_but_for_name(&rule.value.subject, verified));
        match (by_name, &verified.statement.name) {
            (Some(number), None) => format!(
                "its statement has no name, and no module without a name fits the `modules` of trust rule {}; sign it with `--name`",
                number + 1
            ),
            (Some(number), Some(name)) => {
                format!("its name `{name}` does not fit the `modules` of trust rule {}", number + 1)
            }
            (None, _) => "no trust rule fits its signers".to_owned(),
        }
    }

    /// Adds what this file says of a module. Returns why no rule for signed modules fits one that is signed.
    pub(super) fn judge(
        &self,
        verdict: &Result<VerifiedStatement, String>,
        standing: &mut TrustStanding,
    ) -> Option<String> {
        let signed = |rule: &TrustRule| verdict.as_ref().ok().is_some_and(|verified| fits(&rule.subject, verified));
        let is_of_signed = |rule: &Located<TrustRule>| rule.value.subject != Subject::Unsigned;
        let counts = verdict.is_ok()
            && (!self.rules.iter().any(is_of_signed) || self.rules.iter().any(|rule| signed(&rule.value)));
        if self.require_signature && !counts {
            let reason = match verdict {
                Ok(verified) => self.why_no_rule(verified),
                Err(reason) => reason.clone(),
            };
            let shown = self.path.display();
            standing.refusals.push(format!("`{shown}` requires a signature of the module, and none counts: {reason}"));
        }
        let fitting = self.rules.iter().zip(&self.most).enumerate().find(|(_, (rule, _))| match rule.value.subject {
            Subject::Unsigned => !counts,
            Subject::Signed { .. } => signed(&rule.value),
        });
        if let Some((number, (rule, Some(most)))) = fitting {
            let party = match (&rule.value.subject, verdict) {
                (Subject::Signed { signer, .. }, Ok(verified)) => names(signers_of(signer, verified)).join(", "),
                _ => "a module without a signature that counts".to_owned(),
            };
            let rule = format!("trust rule {}, {}:{}", number + 1, self.path.display(), rule.place.line);
            standing.ceilings.push(Ceiling { party, rule, most: most.clone() });
        }
        verdict.as_ref().ok().filter(|_| !counts).map(|verified| self.why_no_rule(verified))
    }
}

/// Returns whether a rule would fit a module of any name.
fn fits_but_for_name(subject: &Subject, verified: &VerifiedStatement) -> bool {
    let mut subject = subject.clone();
    if let Subject::Signed { modules, .. } = &mut subject {
        modules.clear();
    }
    fits(&subject, verified)
}

/// Returns the signers that a pattern means.
fn signers_of<'v>(pattern: &NamePattern, verified: &'v VerifiedStatement) -> Vec<&'v Signer> {
    verified.signers.iter().filter(|signer| is_meant(pattern, signer)).collect()
}

pub(super) fn names(signers: Vec<&Signer>) -> Vec<String> {
    signers.into_iter().flat_map(|signer| signer.principals.clone()).collect()
}

fn fits(subject: &Subject, verified: &VerifiedStatement) -> bool {
    let Subject::Signed { signer, modules, versions, signatures } = subject else { return false };
    let name = verified.statement.name.as_deref();
    let has_name = modules.is_empty() || name.is_some_and(|name| modules.iter().any(|pattern| pattern.matches(name)));
    let version = verified.statement.version.as_deref().and_then(|text| text.parse::<semver::Version>().ok());
    let has_version = versions.as_ref().is_none_or(|wanted| version.is_some_and(|version| wanted.matches(&version)));
    has_name && has_version && signers_of(signer, verified).len() >= usize::from(*signatures)
}

/// Resolves the most that a rule lets modules be granted.
pub(super) fn resolve(
    environment: &Environment,
    path: &Path,
    rule: &Located<TrustRule>,
    at_most: &AtMost,
) -> anyhow::Result<Rules> {
    let allow = on_this_host(environment, &at_most.allow);
    let AtMost { designated, min_confinement, .. } = *at_most;
    let rules = FileRules { allow, designated, min_confinement, ..FileRules::default() };
    let source = GrantSource::Named(format!("trust rule at {}", rule.place));
    files::resolve_all(environment, path, &rules, &source)
}

/// Leaves out paths and programs that this host lacks: a ceiling is often written for many hosts, and what is not there
/// cannot be granted.
fn on_this_host(environment: &Environment, allow: &Allow) -> Allow {
    let is_missing = |error: &anyhow::Error| {
        let cause = error.root_cause().downcast_ref::<io::Error>();
        cause.is_some_and(|cause| matches!(cause.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory))
    };
    // These grants are only tried.
    let by = GrantSource::named("");
    let has_path = |written: &str, access| {
        grants::path_of_file(environment, written, access, &by).map_or_else(|error| !is_missing(&error), |_| true)
    };
    let mut found = allow.clone();
    found.read.retain(|path| has_path(&path.value, Access::Read));
    found.write.retain(|path| has_path(&path.value, Access::Write));
    // A rule that is well written fails only for want of its program.
    found.run.retain(|rule| rule.value.parse::<RunRule>().is_err() || grants::run(&rule.value, &by).is_ok());
    found
}

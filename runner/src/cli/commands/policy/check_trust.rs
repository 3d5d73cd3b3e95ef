//! Checks the section `trust` of a policy file.

use std::path::Path;

use jiff::Timestamp;
use modbox_policy::{PolicyFile, Subject, TrustRule, TrustRules};
use modbox_trust::allowed_signers::AllowedSigners;

use super::findings::Finding;
use crate::cli::exit::error_words;
use crate::cli::process::environment::Environment;
use crate::cli::settings::Trust;

/// Adds the findings about the trust rules of a file.
pub(super) fn check(environment: &Environment, path: &Path, file: &PolicyFile, findings: &mut Vec<Finding>) {
    let trust = &file.trust;
    if let Err(error) = Trust::default().add(environment, path, trust) {
        findings.push(Finding::error(None, error_words(&error)));
        return;
    }
    if let Some(named) = &trust.signers
        && let Ok(signers) = Trust::signers(Path::new(&named.value))
    {
        let shown = &named.value;
        for (line, reason) in signers.out_of_time(Timestamp::now()) {
            findings.push(Finding::warning(Some(named.place), format!("line {line} of `{shown}`: {reason}")));
        }
        check_signers(&signers, shown, trust, findings);
    }
    for (number, rule) in trust.rules.iter().enumerate() {
        if let Some(earlier) = trust.rules[..number].iter().position(|earlier| hides(&earlier.value, &rule.value)) {
            let text = format!("this rule is never reached: trust rule {} fits the same modules", earlier + 1);
            findings.push(Finding::warning(Some(rule.place), text));
        }
    }
}

/// Warns of signers without a rule, and of rules without a signer.
fn check_signers(signers: &AllowedSigners, shown: &str, trust: &TrustRules, findings: &mut Vec<Finding>) {
    let of_rules: Vec<_> = trust
        .rules
        .iter()
        .filter_map(|rule| match &rule.value.subject {
            Subject::Signed { signer, .. } => Some((rule.place, signer)),
            Subject::Unsigned => None,
        })
        .collect();
    let of_core = trust.ansible_core.iter().map(|signer| (signer.place, &signer.value));
    let patterns: Vec<_> = of_rules.iter().copied().chain(of_core).collect();
    for (place, pattern) in &patterns {
        let text = pattern.to_string();
        let is_named = signers.names().any(|(_, names)| names.iter().any(|name| pattern.matches(name)));
        if !is_named && !signers.has_signer(&text) {
            findings.push(Finding::warning(Some(*place), format!("no key in `{shown}` signs for `{text}`")));
        }
    }
    for (line, names) in signers.names().filter(|_| !of_rules.is_empty()) {
        let has_rule = patterns
            .iter()
            .any(|(_, pattern)| names.iter().any(|name| pattern.matches(name)) || names.iter().any(|name| name == "*"));
        if !has_rule {
            let text = format!(
                "no trust rule is for line {line} of `{shown}` ({}), so its signatures do not count",
                names.join(",")
            );
            findings.push(Finding::warning(None, text));
        }
    }
}

/// Returns whether a rule fits all modules that a later one fits.
fn hides(earlier: &TrustRule, later: &TrustRule) -> bool {
    let (
        Subject::Signed { signer, modules, versions, signatures },
        Subject::Signed { signer: other, signatures: more, .. },
    ) = (&earlier.subject, &later.subject)
    else {
        return earlier.subject == later.subject;
    };
    let text = signer.to_string();
    let is_wider = text == "*" || text == other.to_string();
    is_wider && (modules.is_empty() && versions.is_none() && signatures <= more || earlier.subject == later.subject)
}

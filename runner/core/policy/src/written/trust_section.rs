//! Reads the section `trust`.

use modbox_vocabulary::NamePattern;

use crate::limit::parse_level;
use crate::written::allow::ALLOW_KEYS;
use crate::written::node::{Content, Located, Node};
use crate::written::reader::{FileReader, parse_flag};
use crate::written::trust_rules::{AtMost, Subject, TrustRule, TrustRules};

/// The most signatures that a rule can ask for.
const MAX_SIGNATURES: u8 = 16;

impl FileReader {
    pub(crate) fn trust(&mut self, node: Node) -> TrustRules {
        let mut trust = TrustRules::default();
        for (key, node) in self.map(node, "`trust`") {
            match key.value.as_str() {
                "signers" => trust.signers = self.absolute(node, "the file of signers"),
                "revoked" => trust.revoked = self.absolute(node, "the file of revocations"),
                "signatures" => trust.signatures = self.absolute(node, "the folder of signatures"),
                "ansible-core" => {
                    let place = node.place;
                    let pattern = self.scalar(node, |text| Ok(NamePattern::new(text)));
                    trust.ansible_core = pattern.map(|value| Located { value, place });
                }
                "require-signature" => trust.require_signature = self.scalar(node, parse_flag),
                "rules" => trust.rules = self.trust_rules(node),
                _ => self.unknown(&key, "signers, revoked, signatures, ansible-core, require-signature, rules"),
            }
        }
        trust
    }

    fn trust_rules(&mut self, node: Node) -> Vec<Located<TrustRule>> {
        let Content::List(items) = node.content else {
            self.note(node.place, format!("expected a list of rules, not {}", node.content.type_name()));
            return Vec::new();
        };
        items.into_iter().filter_map(|item| self.trust_rule(item)).collect()
    }

    fn trust_rule(&mut self, node: Node) -> Option<Located<TrustRule>> {
        let place = node.place;
        let (mut signer, mut is_unsigned, mut at_most) = (None, false, None);
        let (mut modules, mut versions, mut signatures) = (Vec::new(), None, None);
        for (key, node) in self.map(node, "a rule of `trust`") {
            match key.value.as_str() {
                "signer" => signer = self.scalar(node, |text| Ok(NamePattern::new(text))),
                "unsigned" => is_unsigned = self.scalar(node, parse_flag) == Some(true),
                "modules" => modules = self.texts(node).iter().map(|text| NamePattern::new(&text.value)).collect(),
                "versions" => versions = self.scalar(node, parse_versions),
                "signatures" => signatures = self.scalar(node, parse_signatures),
                "at-most" => at_most = Some(self.at_most(node)),
                _ => self.unknown(&key, "signer, unsigned, modules, versions, signatures, at-most"),
            }
        }
        let is_plain = modules.is_empty() && versions.is_none() && signatures.is_none();
        let subject = match (signer, is_unsigned) {
            (Some(signer), false) => Subject::Signed { signer, modules, versions, signatures: signatures.unwrap_or(1) },
            (None, true) if is_plain => Subject::Unsigned,
            (None, true) => {
                self.note(place, "`modules`, `versions` and `signatures` are of signed modules");
                return None;
            }
            _ => {
                self.note(place, "a rule of `trust` has either `signer: NAME` or `unsigned: true`");
                return None;
            }
        };
        Some(Located { value: TrustRule { subject, at_most }, place })
    }

    fn at_most(&mut self, node: Node) -> AtMost {
        let mut at_most = AtMost::default();
        for (key, node) in self.map(node, "`at-most`") {
            match key.value.as_str() {
                "designated" => at_most.designated = self.scalar(node, str::parse),
                "min-confinement" => at_most.min_confinement = self.scalar(node, parse_level),
                _ => {
                    let known = format!("{ALLOW_KEYS}, designated, min-confinement");
                    self.allow_entry(&mut at_most.allow, &key, node, &known);
                }
            }
        }
        at_most
    }
}

fn parse_versions(text: &str) -> Result<semver::VersionReq, String> {
    text.parse().map_err(|_| format!("`{text}` is not a requirement of versions, such as `>=1.4`"))
}

fn parse_signatures(text: &str) -> Result<u8, String> {
    match text.parse() {
        Ok(count @ 1..=MAX_SIGNATURES) => Ok(count),
        _ => Err(format!("`{text}` is not a number of signatures from 1 to {MAX_SIGNATURES}")),
    }
}

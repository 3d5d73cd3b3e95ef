//! Removes secrets from reports: every text of a report that a module, an argument or a path can be in.
//!
//! A report is masked where it is made, so that nothing that is printed, saved, sent or audited of it needs to be. Words,
//! numbers, digests and the path of the module stay, and so do requests to a stub, which a test compares with its own
//! secrets. A result is masked as Ansible would show it: before 2.22 by the rules of its modules, which keep the keys, and
//! that of a module of 2.22 by the rules of its callbacks. The result with its secrets stays beside what is shown, for a
//! controller of 2.22 and for variables of plays.

use modbox_argument_spec::Secrets;
use modbox_contract::{ModuleResult, Redactor, Value};
use modbox_vocabulary::{Capability, quoting};

use crate::reports::parts::effect_report::EffectReport;
use crate::reports::report::Report;
use crate::request::run_request::Arguments;

/// The key of a result that modbox adds to.
const WARNINGS: &str = "warnings";

impl Report {
    /// Learns what the result tells of the secrets of a run, and masks the report. Call it again after texts were added.
    pub(crate) fn mask(&mut self, arguments: &Arguments) {
        self.secrets.learn(&self.result, arguments);
        self.mask_known();
    }

    /// Masks the report by the secrets that are known.
    pub(crate) fn mask_known(&mut self) {
        if self.secrets.hides_result() {
            self.censor();
        }
        let declared = self.secrets.declared();
        if declared.is_empty() {
            return;
        }
        let raw = declared.with_escapes();
        let one = |text: &mut String| *text = raw.mask_text(text);
        let denials = self.denials.iter_mut().map(|denial| (denial.capability, &mut denial.subject, &mut denial.allow));
        let hints = self.hints.iter_mut().map(|hint| (hint.capability, &mut hint.subject, &mut hint.allow));
        for (capability, subject, allow) in denials.chain(hints) {
            let told = allow.clone();
            mask_need(capability, (subject, allow), &raw);
            // Warnings have the options, too.
            if *allow != raw.mask_text(&told) {
                self.result.map(|key, value| if key == WARNINGS { replaced(value, &told, allow) } else { value });
            }
        }
        match self.secrets.redactor() {
            Some(redactor) => redact(&mut self.result, &redactor, (&raw, &declared.escapes())),
            None => self.result.map(|_, value| raw.mask(value)),
        }
        one(&mut self.stderr);
        for grant in &mut self.grants {
            grant.source.texts_mut().into_iter().chain([&mut grant.subject]).for_each(one);
        }
        self.observation.texts_mut().chain(&mut self.survivors).for_each(one);
        for run in &mut self.outside {
            run.source.texts_mut().into_iter().chain([&mut run.command, &mut run.rule]).for_each(one);
        }
        for lost in &mut self.lost {
            [&mut lost.path, &mut lost.reason, &mut lost.allow].into_iter().for_each(one);
        }
        self.notes.iter_mut().chain(&mut self.objections).chain(&mut self.obstacles).for_each(one);
        if let Some(python) = &mut self.python {
            python.needs.iter_mut().chain(&mut python.failure).for_each(one);
        }
        if let Some(effect) = &mut self.effect {
            mask_effect(effect, one);
        }
    }
}

/// Masks what a run lacked, and the option that grants it. The option can end amid a secret, as that of a directory does whose
/// name is the beginning of one, or have it in quotes within quotes.
fn mask_need(capability: Capability, (subject, allow): (&mut String, &mut String), raw: &Secrets) {
    let shown = raw.mask_text(subject);
    *allow = raw.mask_text(allow);
    let is_told = matches!(capability, Capability::Read | Capability::Write | Capability::Run | Capability::Outside);
    if is_told && shown != *subject {
        let words = quoting::split(allow).unwrap_or_default();
        if let [option, value] = words.as_slice()
            && option.starts_with("--allow-")
            && !shown.starts_with(value.as_str())
        {
            *allow = format!("{option} {}", quoting::quote(&shown));
        }
    }
    *subject = shown;
}

/// Returns warnings with another option in the place of one.
fn replaced(warnings: Value, option: &str, other: &str) -> Value {
    match warnings {
        Value::Str(text) => text.replace(&format!("`{option}`"), &format!("`{other}`")).into(),
        Value::List(items) => Value::List(items.into_iter().map(|item| replaced(item, option, other)).collect()),
        value => value,
    }
}

/// Masks the result of a module of ansible-core 2.22. Its callbacks know fewer notations of a secret than there are, such as
/// those of Python's messages.
fn redact(result: &mut ModuleResult, redactor: &Redactor, (raw, escapes): (&Secrets, &Secrets)) {
    result.show(|dict| redactor.mask_result(dict));
    let is_made = !result.parsed();
    // Warnings and failures of modbox have words for a shell.
    result.map(|key, value| if is_made || key == WARNINGS { raw.mask(value) } else { escapes.mask(value) });
}

/// Masks the remarks on layers. The changes were masked when they were listed.
fn mask_effect(effect: &mut EffectReport, one: impl Fn(&mut String)) {
    for remark in effect.incomplete.iter_mut().chain(&mut effect.commit.reasons) {
        [&mut remark.path, &mut remark.why].into_iter().for_each(&one);
    }
    effect.outside.iter_mut().for_each(|outside| one(&mut outside.subject));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_option_for_a_masked_need_has_no_part_of_the_secret() {
        let mut secrets = Secrets::default();
        secrets.add("Q7x9/it's");
        let raw = secrets.with_escapes();
        let hidden = "--allow-write '/srv/********'";
        for (subject, allow, expect) in [
            ("/srv/Q7x9/it's", "--allow-write /srv/Q7x9", hidden),
            ("/srv/Q7x9/it's", r#"--allow-write '/srv/Q7x9/it'"'"'s'"#, hidden),
            ("/srv/Q7x9/it's", "--allow-write /srv", "--allow-write /srv"),
            ("/srv/Q7x9/it's", "--designate where:write", "--designate where:write"),
            ("/srv/a", "--allow-write /srv/a", "--allow-write /srv/a"),
        ] {
            let (mut subject, mut allow) = (subject.to_owned(), allow.to_owned());
            mask_need(Capability::Write, (&mut subject, &mut allow), &raw);
            assert_eq!(allow, expect, "{subject}");
        }
    }
}

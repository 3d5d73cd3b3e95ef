//! What a play lacks besides paths, as rules of a policy file: profiles with names, commands outside, and modules without confinement.
//! One line for each module, under its full name.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use modbox_run::ManagedNeeds;
use modbox_run::suggestion::{comment, quoted};
use modbox_vocabulary::quoting::quote;

use crate::cli::play::explained_call::ExplainedCall;

#[derive(Default)]
struct ModuleRules {
    /// The names by profile; none for all but the reserved ones.
    profiles: BTreeMap<String, Option<BTreeSet<String>>>,
    outside: BTreeSet<String>,
    write: BTreeSet<String>,
    net: BTreeSet<String>,
}

/// What a play lacks besides paths.
#[derive(Default)]
pub(crate) struct LackingRules {
    modules: BTreeMap<String, ModuleRules>,
    /// Names and reasons of the modules that work unconfined alone, by their digests.
    unconfined: BTreeMap<String, (String, String)>,
    comments: BTreeSet<String>,
}

/// A profile that a call lacks, for people.
pub(crate) struct LackingProfile {
    pub(crate) profile: String,
    pub(crate) names: Vec<String>,
    /// Those of the names that are reserved.
    pub(crate) reserved: Vec<String>,
    /// The templates of names that are not known before the run.
    pub(crate) unknown: Vec<String>,
    /// Why the whole profile is as powerful as root.
    pub(crate) power: Option<&'static str>,
}

/// Returns the profiles that a call lacks. `templates` are those of arguments that are not known before the run.
pub(crate) fn profiles(call: &ExplainedCall, templates: &[(String, String)]) -> Vec<LackingProfile> {
    let mut all = Vec::new();
    for need in &call.managed.profiles {
        let open = templates.iter().filter(|(option, _)| need.options.contains(option));
        let unknown: Vec<String> = open.map(|(_, template)| template.clone()).collect();
        if need.names.is_empty() && !need.is_whole && unknown.is_empty() {
            continue;
        }
        let owned = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect();
        all.push(LackingProfile {
            profile: need.profile.to_string(),
            names: need.names.clone(),
            reserved: owned(need.reserved()),
            unknown,
            power: need.profile.as_powerful_as_root(),
        });
    }
    all
}

impl LackingProfile {
    /// Returns whether a policy can grant something before the run: the profile for all names, or for some.
    fn is_known(&self) -> bool {
        self.unknown.is_empty() || !self.names.is_empty()
    }

    /// Returns the lines for people.
    pub(crate) fn lines(&self) -> Vec<String> {
        let Self { profile, names, reserved, unknown, power } = self;
        let mut lines = Vec::new();
        match (names.is_empty(), unknown.is_empty()) {
            (false, _) => lines.push(format!("needs {profile}: [{}]", names.join(", "))),
            (true, true) => lines.push(format!("needs {profile}")),
            (true, false) => {}
        }
        lines
            .extend(unknown.iter().map(|template| format!("needs {profile}, for names known at run time: {template}")));
        lines
            .extend(reserved.iter().map(|name| format!("as powerful as root: {profile} of `{name}`, a reserved name")));
        lines.extend(power.map(|why| format!("as powerful as root: {profile}: {why}")));
        lines
    }
}

/// Returns the lines for people about what a module chooses itself: commands, paths and hosts.
pub(crate) fn own_choices(needs: &ManagedNeeds) -> Vec<String> {
    let outside = needs.outside.iter().map(|rule| format!("needs outside: {rule}"));
    let write = needs.write.iter().map(|path| format!("needs --allow-write {}", quote(path)));
    let net = needs.net.iter().map(|rule| format!("needs --allow-net {}", quote(rule)));
    outside.chain(write).chain(net).collect()
}

impl LackingRules {
    /// Adds what a call lacks. `place` is that of its task.
    pub(crate) fn add(&mut self, call: &ExplainedCall, templates: &[(String, String)], place: &str) {
        let module = &call.managed.module;
        if let (Some(reason), Some(digest)) = (&call.managed.unconfined, &call.digest) {
            self.unconfined.insert(format!("sha256:{digest}"), (module.clone(), reason.clone()));
        }
        let profiles = profiles(call, templates);
        self.remark(module, &profiles, place);
        let known: Vec<_> = profiles.into_iter().filter(LackingProfile::is_known).collect();
        let ManagedNeeds { outside, write, net, .. } = &call.managed;
        if known.is_empty() && [outside, write, net].iter().all(|list| list.is_empty()) {
            return;
        }
        let rules = self.modules.entry(module.clone()).or_default();
        rules.outside.extend(outside.iter().cloned());
        // A policy file can grant a missing file, and not one in a missing directory.
        let has_directory = |path: &&String| Path::new(path.as_str()).parent().is_some_and(Path::is_dir);
        let (there, missing): (Vec<&String>, Vec<&String>) = write.iter().partition(has_directory);
        rules.write.extend(there.into_iter().cloned());
        let open = missing.iter().map(|path| format!("{module}: write {path}, whose directory is missing yet"));
        self.comments.extend(open);
        rules.net.extend(net.iter().cloned());
        for LackingProfile { profile, names, .. } in known {
            if names.is_empty() {
                rules.profiles.insert(profile, None);
            } else if let Some(known) = rules.profiles.entry(profile).or_insert_with(|| Some(BTreeSet::new())) {
                known.extend(names);
            }
        }
    }

    fn remark(&mut self, module: &str, profiles: &[LackingProfile], place: &str) {
        for LackingProfile { profile, reserved, unknown, power, .. } in profiles {
            let open = unknown
                .iter()
                .map(|template| format!("{module}: {profile}, for names known at run time: {template} ({place})"));
            self.comments.extend(open);
            let spelled =
                reserved.iter().map(|name| format!("as powerful as root: {profile} of `{name}`, a reserved name"));
            self.comments.extend(spelled);
            self.comments.extend(power.map(|why| format!("as powerful as root: {profile}: {why}")));
        }
    }

    /// Returns whether nothing lacks, as far as that is known.
    pub(crate) fn is_empty(&self) -> bool {
        self.modules.is_empty() && self.unconfined.is_empty()
    }

    /// Returns the section of a policy file; with nothing to grant, at most comments.
    pub(crate) fn text(&self) -> String {
        let mut text: String = self.comments.iter().map(|line| format!("# {}\n", comment(line))).collect();
        if self.is_empty() {
            return text;
        }
        text.push_str("modules:\n");
        for (module, rules) in &self.modules {
            text.push_str(&format!("  {}: {{{}}}\n", word(module), rules.text()));
        }
        for (digest, (module, reason)) in &self.unconfined {
            let why = format!("{module}: {reason}; as powerful as root");
            text.push_str(&format!("  \"{digest}\": {{unconfined: true}}  # {}\n", comment(&why)));
        }
        text
    }
}

impl ModuleRules {
    /// Returns the keys of the rules.
    fn text(&self) -> String {
        let list = |words: &BTreeSet<String>| words.iter().map(|name| word(name)).collect::<Vec<_>>().join(", ");
        let profile = |(profile, names): (&String, &Option<BTreeSet<String>>)| match names {
            None => profile.clone(),
            Some(names) => format!("{{{profile}: [{}]}}", list(names)),
        };
        let profiles = self.profiles.iter().map(profile).collect::<Vec<_>>().join(", ");
        let profiles = if profiles.is_empty() { None } else { Some(format!("profiles: [{profiles}]")) };
        let allowed = |(key, items): (&str, &BTreeSet<String>)| {
            let items = items.iter().map(|item| item_text(item)).collect::<Vec<_>>().join(", ");
            (!items.is_empty()).then(|| format!("{key}: [{items}]"))
        };
        let keys = [("write", &self.write), ("net", &self.net), ("outside", &self.outside)];
        let allow = keys.into_iter().filter_map(allowed).collect::<Vec<_>>().join(", ");
        let allow = if allow.is_empty() { None } else { Some(format!("allow: {{{allow}}}")) };
        profiles.into_iter().chain(allow).collect::<Vec<_>>().join(", ")
    }
}

/// Returns an item of `allow`: a plain path, or a text in quotes.
fn item_text(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    let is_path = text.starts_with('/') && text.chars().all(is_plain);
    if is_path { text.to_owned() } else { format!("\"{}\"", quoted(text)) }
}

/// Quotes a word where YAML needs it.
fn word(text: &str) -> String {
    // A number or a word such as `on` is a text only in quotes; names of modules and most others have a letter and none of these.
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let is_word = text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.chars().all(is_plain);
    let is_special =
        ["y", "n", "on", "off", "yes", "no", "true", "false", "null"].contains(&&*text.to_ascii_lowercase());
    if is_word && !is_special { text.to_owned() } else { format!("\"{}\"", quoted(text)) }
}

#[cfg(test)]
mod tests {
    use modbox_policy::{PolicyFile, Profile};
    use modbox_run::ManagedNeed;

    use super::*;

    fn call(profile: Profile, names: &[&str], is_whole: bool) -> ExplainedCall {
        let names = names.iter().map(|&name| name.to_owned()).collect();
        let need = ManagedNeed { profile, names, is_whole, options: vec!["name".to_owned()] };
        let (module, profiles) = ("ansible.builtin.service".to_owned(), vec![need]);
        let managed = ManagedNeeds { module, profiles, ..ManagedNeeds::default() };
        ExplainedCall { managed, ..ExplainedCall::default() }
    }

    #[test]
    fn names_of_all_tasks_are_one_line() {
        let mut rules = LackingRules::default();
        rules.add(&call(Profile::ManageServices, &["nginx", "no"], false), &[], "a:1");
        rules.add(&call(Profile::ManageServices, &["php\"8", "nginx"], false), &[], "a:2");
        let text = rules.text();
        assert_eq!(
            text,
            "modules:\n  ansible.builtin.service: {profiles: [{manage-services: [nginx, \"no\", \"php\\\"8\"]}]}\n"
        );
        rules.add(&call(Profile::ManageServices, &[], true), &[], "a:3");
        rules.add(&call(Profile::ManageServices, &["more"], false), &[], "a:4");
        assert_eq!(rules.text(), "modules:\n  ansible.builtin.service: {profiles: [manage-services]}\n");
        PolicyFile::parse(&rules.text()).unwrap();
    }

    #[test]
    fn names_that_are_not_known_and_reserved_ones_are_said() {
        let mut rules = LackingRules::default();
        let templates = [("name".to_owned(), "{{ x }}".to_owned())];
        rules.add(&call(Profile::ManageServices, &[], false), &templates, "a:1");
        let open = "# ansible.builtin.service: manage-services, for names known at run time: {{ x }} (a:1)\n";
        assert!(rules.is_empty() && rules.text() == open, "{}", rules.text());
        rules.add(&call(Profile::ManageServices, &["reboot"], false), &[], "a:2");
        let text = rules.text();
        assert!(text.contains("# as powerful as root: manage-services of `reboot`, a reserved name\n"), "{text}");
        assert!(text.contains("{profiles: [{manage-services: [reboot]}]}"), "{text}");
        // Nothing is open, and nothing is named: the run does without.
        let mut none = LackingRules::default();
        none.add(&call(Profile::ManageServices, &[], false), &[], "a:1");
        assert_eq!(none.text(), "");
    }
}

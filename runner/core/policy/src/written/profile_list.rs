//! Reads the key `profiles`: names of profiles, and the names that they bind.
//!
//! ```yaml
//! profiles: [facts, manage-host, {manage-services: [nginx, "php*-fpm"]}]
//! ```

use crate::outside::BoundNames;
use crate::written::node::{Content, Located, Node, Place};
use crate::written::profile::{GrantedProfile, Profile};
use crate::written::reader::FileReader;

impl FileReader {
    pub(crate) fn profiles(&mut self, node: Node) -> Vec<Located<GrantedProfile>> {
        self.list(node).into_iter().flat_map(|item| self.profile_item(item)).collect()
    }

    fn profile_item(&mut self, item: Node) -> Vec<Located<GrantedProfile>> {
        let place = item.place;
        match item.content {
            Content::Scalar(text) => {
                let found =
                    self.profile(&text, place).map(|profile| GrantedProfile { profile, names: BoundNames::default() });
                found.map(|value| Located { value, place }).into_iter().collect()
            }
            Content::Map(entries) => {
                entries.into_iter().filter_map(|(key, names)| self.bound_profile(&key, names)).collect()
            }
            other => {
                let expected = "expected a profile, or a profile with names such as `{manage-services: [nginx]}`";
                self.note(place, format!("{expected}, not {}", other.type_name()));
                Vec::new()
            }
        }
    }

    fn profile(&mut self, text: &str, place: Place) -> Option<Profile> {
        text.parse().map_err(|message: String| self.note(place, message)).ok()
    }

    fn bound_profile(&mut self, key: &Located<String>, node: Node) -> Option<Located<GrantedProfile>> {
        let names_place = node.place;
        let names = self.texts(node);
        let profile = self.profile(&key.value, key.place)?;
        let kinds = profile.commands().map(|commands| commands.kinds).unwrap_or_default();
        if kinds.is_empty() {
            self.note(names_place, format!("the profile `{profile}` binds no names; write `{profile}` alone"));
            return None;
        }
        // Without names, the profile reaches all but the reserved ones: an empty list would mean the opposite of what it says.
        if names.is_empty() {
            self.note(
                names_place,
                format!("no names for `{profile}`; write `{profile}` alone for all but the reserved ones"),
            );
            return None;
        }
        let texts: Vec<&str> = names.iter().map(|name| name.value.as_str()).collect();
        match BoundNames::new(&texts, kinds) {
            Ok(names) => Some(Located { value: GrantedProfile { profile, names }, place: key.place }),
            Err((index, message)) => {
                self.note(names[index].place, message);
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::written::file::PolicyFile;

    #[test]
    fn profiles_have_names_or_none() {
        let text = "modules:\n  service: {profiles: [facts, manage-host, {manage-services: [nginx, 'php*-fpm']}]}\n\
                    tasks:\n  'Install *': {profiles: [{manage-packages: [git]}], allow: {outside: ['nginx -t']}}\n";
        let file = PolicyFile::parse(text).unwrap();
        let rules = &file.modules[0].1;
        let shown: Vec<String> = rules
            .profiles
            .iter()
            .map(|it| format!("{}: {:?} {}", it.value.profile, it.value.names.names(), it.place))
            .collect();
        assert_eq!(
            shown,
            [
                "facts: [] line 2, column 24",
                "manage-host: [] line 2, column 31",
                "manage-services: [\"nginx\", \"php*-fpm\"] line 2, column 45"
            ]
        );
        let task = &file.tasks[0].1;
        assert_eq!((task.profiles.len(), task.allow.outside[0].value.as_str()), (1, "nginx -t"));
    }

    #[test]
    fn mistakes_in_profiles_have_places() {
        let all = "`facts`, `packages`, `services`, `users`, `manage-cron`, `manage-firewall`, `manage-host`, `manage-kernel`, \
                   `manage-packages`, `manage-services`, `manage-users`, `update-packages`";
        for (profiles, expect) in [
            ("x", "expected a list, such as `[…]`, not a scalar at line 1, column 25".to_owned()),
            ("[manage]", format!("unknown profile `manage`; expected one of {all} at line 1, column 26")),
            ("[{manage: [x]}]", format!("unknown profile `manage`; expected one of {all} at line 1, column 27")),
            (
                "[{facts: [x]}]",
                "the profile `facts` binds no names; write `facts` alone at line 1, column 34".to_owned(),
            ),
            (
                "[{manage-host: [x]}]",
                "the profile `manage-host` binds no names; write `manage-host` alone at line 1, column 40".to_owned(),
            ),
            (
                "[{manage-users: []}]",
                "no names for `manage-users`; write `manage-users` alone for all but the reserved ones at line 1, column 41"
                    .to_owned(),
            ),
            (
                "[{manage-users: }]",
                "no names for `manage-users`; write `manage-users` alone for all but the reserved ones at line 1, column 39"
                    .to_owned(),
            ),
            (
                "[{manage-services: [nginx, ../x]}]",
                "`../x` is not a name for <unit>; expected a name, with `*` for any characters at line 1, column 52".to_owned(),
            ),
            (
                "[[facts]]",
                "expected a profile, or a profile with names such as `{manage-services: [nginx]}`, not a list at line 1, column 26"
                    .to_owned(),
            ),
        ] {
            let text = format!("modules: {{a: {{profiles: {profiles}}}}}");
            assert_eq!(PolicyFile::parse(&text).unwrap_err().to_string(), expect, "{text}");
        }
    }

    #[test]
    fn commands_outside_are_for_single_modules_and_tasks() {
        let expect =
            "`outside` is for single modules and tasks; write it below `modules` or `tasks` at line 1, column 9";
        assert_eq!(PolicyFile::parse("allow: {outside: ['nginx -t']}").unwrap_err().to_string(), expect);
    }
}

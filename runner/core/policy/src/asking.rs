//! What a person may be asked to grant: the sections `ask` of policy files, and what is never asked.
//!
//! A section bounds questions and grants nothing. Every file with such a section bounds them, for every module, so the
//! strictest holds. An empty section lets nothing be asked.

use std::path::Path;

use modbox_vocabulary::Grant;

use crate::grants::{PathGrant, Shape};
use crate::rules::source_rules::Rules;
use crate::trust::Ceiling;
use crate::written::merge::merge;

/// Number of parts of the path of a top-level folder: the root and a name.
const TOP_LEVEL: usize = 2;

/// What a person may be asked to grant to a module, by the policy files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AskBounds(Vec<Ceiling>);

impl AskBounds {
    /// Adds the bound of one policy file: the grants of its sections `ask` that are for the module.
    pub fn add(&mut self, sections: impl IntoIterator<Item = Rules>) {
        let mut most = Rules::default();
        for section in sections {
            most.add_grants(section);
        }
        self.0.push(Ceiling { party: String::new(), rule: String::new(), most });
    }

    /// Returns whether all of a wish may be asked for. Without any section, everything may be.
    #[must_use]
    pub fn hold(&self, wanted: &Rules) -> bool {
        self.0.iter().all(|bound| bound.includes(wanted))
    }

    /// Returns what may be asked for, as grants; `None` if no file bounds it.
    #[must_use]
    pub fn grants(&self) -> Option<Vec<Grant>> {
        if self.0.is_empty() {
            return None;
        }
        let mut grants: Vec<Grant> = Vec::new();
        for mut most in self.common() {
            // Paths that contradict each other as grants do not as bounds.
            let paths = std::mem::take(&mut most.paths);
            let paths = paths.into_iter().map(|path| Rules { paths: vec![path], ..Rules::default() });
            for rules in paths.chain([most]) {
                let listed = merge(std::slice::from_ref(&rules)).map(|merged| merged.policy.grants());
                for grant in listed.unwrap_or_default() {
                    let same = |other: &Grant| (other.capability, &other.subject) == (grant.capability, &grant.subject);
                    if !grants.iter().any(same) {
                        grants.push(grant);
                    }
                }
            }
        }
        Some(grants)
    }

    /// Returns the paths that may be asked for, or that are below one that may be.
    #[must_use]
    pub fn paths(&self) -> Vec<PathGrant> {
        self.common().flat_map(|most| most.paths).collect()
    }

    /// Returns what each file lets be asked, as far as the others let it be asked, too.
    fn common(&self) -> impl Iterator<Item = Rules> + '_ {
        self.0.iter().enumerate().map(|(index, bound)| {
            let mut most = bound.most.clone();
            let others = self.0.iter().enumerate().filter(|(other, _)| *other != index);
            others.for_each(|(_, other)| other.cut(&mut most));
            most
        })
    }
}

/// Returns why a grant is never asked for, whatever the policy files say; `None` if it may be.
#[must_use]
pub fn never_asked(wanted: &Rules) -> Option<String> {
    if wanted.everything.is_some() || wanted.min_confinement.is_some() {
        return Some("less confinement is never asked for".to_owned());
    }
    if let Some(grant) = wanted.paths.iter().find(|grant| is_top_level(grant)) {
        return Some(format!("`{}` is the root or a top-level folder", grant.host.display()));
    }
    if let Some(grant) = wanted.run.iter().find(|grant| !grant.rule.is_exact()) {
        return Some(format!("`{}` is more than one command", grant.rule));
    }
    if let Some(grant) = wanted.outside.iter().find(|grant| !grant.rule.is_exact()) {
        return Some(format!("`{}` is more than one command", grant.rule));
    }
    if let Some(grant) = wanted.net.iter().find(|grant| !grant.rule.names_one_host()) {
        return Some(format!("`{}` does not name a host", grant.rule));
    }
    None
}

fn is_top_level(grant: &PathGrant) -> bool {
    let is_short = |path: &Path| path.components().count() <= TOP_LEVEL;
    grant.shape == Shape::Directory && (is_short(&grant.host) || is_short(Path::new(&grant.guest)))
}

#[cfg(test)]
mod tests {
    use modbox_vocabulary::GrantSource;

    use super::*;
    use crate::access::Access;
    use crate::net::NetGrant;
    use crate::outside::{BoundNames, OutsideGrant};
    use crate::run::RunGrant;

    fn path(path: &str, shape: Shape, access: Access) -> Rules {
        let (host, guest, source) = (path.into(), path.to_owned(), GrantSource::named("test"));
        Rules { paths: vec![PathGrant { host, shape, guest, access, source }], ..Rules::default() }
    }

    fn folder(text: &str, access: Access) -> Rules {
        path(text, Shape::Directory, access)
    }

    fn file(text: &str, access: Access) -> Rules {
        path(text, Shape::Name, access)
    }

    fn command(text: &str) -> Rules {
        let grant = RunGrant { rule: text.parse().unwrap(), programs: Vec::new(), source: GrantSource::named("test") };
        Rules { run: vec![grant], ..Rules::default() }
    }

    fn outside(text: &str) -> Rules {
        let (rule, names) = (text.parse().unwrap(), BoundNames::default());
        let (programs, source) = (Vec::new(), GrantSource::named("test"));
        let grant = OutsideGrant { programs, rule, names, is_query: false, is_shipped: false, source };
        Rules { outside: vec![grant], ..Rules::default() }
    }

    fn net(text: &str) -> Rules {
        let grant = NetGrant { rule: text.parse().unwrap(), source: GrantSource::named("test") };
        Rules { net: vec![grant], ..Rules::default() }
    }

    #[test]
    fn without_a_section_everything_may_be_asked_and_with_an_empty_one_nothing() {
        let mut bounds = AskBounds::default();
        assert!(bounds.hold(&file("/etc/motd", Access::Write)));
        assert_eq!(bounds.grants(), None);
        bounds.add([]);
        assert!(!bounds.hold(&file("/etc/motd", Access::Read)) && !bounds.hold(&command("id")));
        assert_eq!(bounds.grants(), Some(Vec::new()));
    }

    #[test]
    fn the_strictest_file_holds() {
        let mut bounds = AskBounds::default();
        bounds.add([folder("/etc", Access::Write)]);
        bounds.add([net("*.example.org:443"), folder("/etc/nginx", Access::Read)]);
        for (wanted, expect) in [
            (file("/etc/nginx/a", Access::Read), true),
            (folder("/etc/nginx", Access::Read), true),
            (file("/etc/nginx/a", Access::Write), false),
            (file("/etc/motd", Access::Read), false),
            (net("a.example.org:443"), false),
        ] {
            assert_eq!(bounds.hold(&wanted), expect, "{wanted:?}");
        }
        let paths: Vec<_> = bounds.paths().into_iter().map(|grant| (grant.host, grant.access)).collect();
        assert_eq!(paths, [0; 2].map(|_| ("/etc/nginx".into(), Access::Read)));
        let listed = bounds.grants().unwrap();
        assert_eq!(listed.len(), 1, "{listed:?}");
        assert_eq!((listed[0].capability.as_str(), listed[0].subject.as_str()), ("read", "/etc/nginx"));
    }

    #[test]
    fn wide_grants_are_never_asked_for() {
        for (wanted, expect) in [
            (folder("/", Access::Read), true),
            (folder("/etc", Access::Read), true),
            (file("/motd", Access::Write), false),
            (folder("/etc/nginx", Access::Write), false),
            (command("systemctl restart *"), true),
            (command("systemctl restart a?c"), true),
            (command("systemctl restart 'a*c'"), false),
            (outside("systemctl restart <unit>"), true),
            (outside("systemctl restart nginx"), false),
            (outside("systemctl (start|stop) nginx"), true),
            (net("*:443"), true),
            (net("*.example.org:443"), true),
            (net("10.0.0.0/8:443"), true),
            (net("10.0.0.1:443"), false),
            (net("example.org"), false),
            (Rules { everything: Some(GrantSource::named("test")), ..Rules::default() }, true),
            (Rules { min_confinement: Some(3), ..Rules::default() }, true),
        ] {
            assert_eq!(never_asked(&wanted).is_some(), expect, "{wanted:?}");
        }
    }
}

//! What a failed run lacks, as grants that a person can be asked for.

use std::path::Path;

use modbox_contract::{Dict, Value};
use modbox_policy::{Allow, FileRules, Located, Place, Rules};
use modbox_run::Report;
use modbox_vocabulary::{Capability, Denial, GrantSource, HintSource, Operation, quoting};

use crate::cli::process::environment::Environment;
use crate::cli::settings::{Resolved, resolve};

/// Name of the source of what a person has granted.
pub(crate) const SOURCE: &str = "--ask";

/// The options that grant something, and what they grant.
const OPTIONS: [(&str, Capability); 8] = [
    ("--allow-read", Capability::Read),
    ("--allow-write", Capability::Write),
    ("--allow-own", Capability::Own),
    ("--allow-env", Capability::Env),
    ("--allow-net", Capability::Net),
    ("--allow-listen", Capability::Listen),
    ("--allow-run", Capability::Run),
    ("--allow-outside", Capability::Outside),
];

/// Option that makes the value of an argument a path.
const DESIGNATE: &str = "--designate";

/// Stands for the host in the option of a socket that was refused before it had an address.
const NO_HOST: &str = "HOST:PORT";

/// Why a run lacks something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Cause {
    /// It was refused.
    Denied(Operation),
    /// The change of a path did not reach the machine.
    Lost,
    /// It is a guess.
    Guessed(HintSource),
}

/// What a run lacks, and one answer grants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wish {
    /// The grants as policy files have them.
    pub(crate) grants: Vec<(Capability, String)>,
    /// An argument that has to name its path in another way.
    pub(crate) argument: Option<(String, String)>,
    /// The subject of the denial, as the module named it.
    pub(crate) subject: String,
    pub(crate) cause: Cause,
}

impl Wish {
    /// Returns whether each denial has an option that a person can be asked for.
    pub(crate) fn cover(report: &Report, task: &Dict, environment: &Environment) -> bool {
        let mut denials = report.denials.iter();
        denials.all(|it| Self::of_denial(it, task, environment).is_some())
    }

    /// Returns what a run lacks, without repetitions. Guesses count only if nothing was observed.
    pub(crate) fn all_of(report: &Report, task: &Dict, environment: &Environment) -> Vec<Self> {
        let wish = |subject: &str, cause, allow: &str| Self::of(subject, cause, allow, task, environment);
        let denied = report.denials.iter().map(|it| Self::of_denial(it, task, environment));
        // What was refused says more exactly what is needed than what was lost by it.
        let is_refused = |path: &String| report.denials.iter().any(|denial| denial.subject == *path);
        let lost = report.lost.iter().filter(|it| !is_refused(&it.path));
        let lost = lost.map(|it| wish(&it.path, Cause::Lost, &it.allow));
        let mut wishes = distinct(denied.chain(lost).flatten());
        if wishes.is_empty() {
            let guessed = report.hints.iter().map(|it| wish(&it.subject, Cause::Guessed(it.source), &it.allow));
            wishes = distinct(guessed.flatten());
        }
        wishes
    }

    /// Returns what a denial is about; `None` if a person cannot be asked for it.
    pub(crate) fn of_denial(denial: &Denial, task: &Dict, environment: &Environment) -> Option<Self> {
        Self::of(&denial.subject, Cause::Denied(denial.operation), &denial.allow, task, environment)
    }

    /// Reads the option that allows what was denied; `None` if none does that a person can be asked for.
    fn of(subject: &str, cause: Cause, allow: &str, task: &Dict, environment: &Environment) -> Option<Self> {
        let words = quoting::split(allow).ok()?;
        let (mut argument, options) = match words.split_first()? {
            (first, rest) if !first.starts_with("--") => (Some(first.split_once('=')?), rest),
            _ => (None, &words[..]),
        };
        let mut grants = Vec::new();
        let absolute;
        if options.is_empty() || !options.len().is_multiple_of(2) {
            return None;
        }
        for pair in options.chunks(2) {
            let [option, value] = pair else { return None };
            if option == DESIGNATE && options.len() == 2 && argument.is_none() {
                let (name, access) = value.rsplit_once(':')?;
                let named = task.get(name)?.as_str()?;
                absolute = environment.absolute(Path::new(named)).to_str()?.to_owned();
                argument = (absolute != named).then_some((name, absolute.as_str()));
                let capability = if access == "write" { Capability::Write } else { Capability::Read };
                grants.push((capability, absolute.clone()));
                break;
            }
            if value.ends_with(NO_HOST) {
                return None;
            }
            let (_, capability) = OPTIONS.iter().find(|(known, _)| known == option)?;
            grants.push((*capability, value.clone()));
        }
        // What modbox says of an argument is about one that was given.
        if argument.is_some_and(|(name, _)| !task.contains_key(name)) {
            return None;
        }
        let argument = argument.map(|(name, value)| (name.to_owned(), value.to_owned()));
        Some(Self { grants, argument, subject: subject.to_owned(), cause })
    }

    /// Returns the grants as rules of a policy file.
    pub(crate) fn file_rules(&self) -> FileRules {
        let mut allow = Allow::default();
        for (capability, value) in &self.grants {
            let list = match capability {
                Capability::Read => &mut allow.read,
                Capability::Write => &mut allow.write,
                Capability::Own => &mut allow.own,
                Capability::Env => &mut allow.env,
                Capability::Net => &mut allow.net,
                Capability::Listen => &mut allow.listen,
                Capability::Run => &mut allow.run,
                Capability::Outside => &mut allow.outside,
                // No option of these is in the table above.
                Capability::Confinement | Capability::All => continue,
            };
            list.push(Located { value: value.clone(), place: Place::default() });
        }
        FileRules { allow, ..FileRules::default() }
    }

    /// Resolves the grants on this machine, now.
    ///
    /// # Errors
    ///
    /// One of them cannot be granted here.
    pub(crate) fn resolved(&self, environment: &Environment) -> anyhow::Result<Rules> {
        let is_path = |capability: Capability| matches!(capability, Capability::Read | Capability::Write);
        let mut paths = self.grants.iter().filter(|(capability, _)| is_path(*capability));
        if let Some((_, path)) = paths.find(|(_, path)| !path.starts_with('/')) {
            anyhow::bail!("`{path}` is not an absolute path");
        }
        let Resolved { rules, wrong, .. } = resolve(environment, &self.file_rules(), &GrantSource::named(SOURCE));
        if let Some(wrong) = wrong.into_iter().next() {
            return Err(wrong.error);
        }
        let has_variables = self.grants.iter().any(|(capability, _)| *capability == Capability::Env);
        anyhow::ensure!(!has_variables || !rules.env.is_empty(), "the variable is not set");
        Ok(rules)
    }

    /// Returns the name of the argument that names the subject.
    pub(crate) fn named_by<'a>(&self, task: &'a Dict, environment: &Environment) -> Option<&'a str> {
        let subject = environment.absolute(Path::new(&self.subject));
        let names = |value: &Value| {
            let text = value.as_str().filter(|text| !text.is_empty());
            text.is_some_and(|text| environment.absolute(Path::new(text)) == subject)
        };
        task.iter().find(|(_, value)| names(value)).map(|(name, _)| name.as_str())
    }
}

fn distinct(wishes: impl Iterator<Item = Wish>) -> Vec<Wish> {
    let mut distinct: Vec<Wish> = Vec::new();
    for wish in wishes {
        if distinct.iter().all(|other| other.grants != wish.grants) {
            distinct.push(wish);
        }
    }
    distinct
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish(allow: &str) -> Option<String> {
        let task = Dict::from_iter([("path".to_owned(), Value::from("file"))]);
        let wish = Wish::of("x", Cause::Lost, allow, &task, &Environment::empty(Path::new("/place")))?;
        let grants = wish.grants.iter().map(|(capability, value)| format!("{capability} {value}"));
        let argument = wish.argument.map(|(name, value)| format!("{name}={value}"));
        Some(argument.into_iter().chain(grants).collect::<Vec<_>>().join(", "))
    }

    #[test]
    fn only_options_that_grant_one_thing_are_wishes() {
        for (allow, expect) in [
            ("--allow-read /a", Some("read /a")),
            ("--allow-write '/a b'", Some("write /a b")),
            ("--allow-write /a --allow-write /a/b", Some("write /a, write /a/b")),
            ("path=/w/file --allow-write /w/file", Some("path=/w/file, write /w/file")),
            ("--designate path:write", Some("path=/place/file, write /place/file")),
            ("--designate other:write", None),
            ("other=/w --allow-read /w", None),
            ("--allow-run 'id -u'", Some("run id -u")),
            ("--allow-net udp:HOST:PORT", None),
            ("--allow-all", None),
            ("--min-confinement 0", None),
            ("--allow-read", None),
            ("--allow-read /a --allow-all", None),
            ("'", None),
            ("", None),
        ] {
            assert_eq!(wish(allow).as_deref(), expect, "{allow}");
        }
    }

    #[test]
    fn a_wish_is_resolved_when_it_is_asked_for() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().canonicalize().unwrap();
        std::fs::write(dir.join("file"), "").unwrap();
        std::os::unix::fs::symlink(dir.join("file"), dir.join("link")).unwrap();
        let wish = |capability, value: String| Wish {
            grants: vec![(capability, value)],
            argument: None,
            subject: String::new(),
            cause: Cause::Lost,
        };
        let link = wish(Capability::Read, dir.join("link").display().to_string());
        assert_eq!(link.resolved(&Environment::empty(Path::new("/place"))).unwrap().paths[0].host, dir.join("file"));
        let missing = wish(Capability::Read, dir.join("none").display().to_string());
        assert!(missing.resolved(&Environment::empty(Path::new("/place"))).is_err());
        let relative = wish(Capability::Write, "x".to_owned())
            .resolved(&Environment::empty(Path::new("/place")))
            .unwrap_err()
            .to_string();
        assert!(relative.contains("absolute"), "{relative}");
        assert!(wish(Capability::Env, "UNSET".to_owned()).resolved(&Environment::empty(Path::new("/place"))).is_err());
    }
}

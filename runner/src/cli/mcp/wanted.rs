//! What a call lacks and a person may be asked for, within the sections `ask` of policy files with tools.
//!
//! A run that has used something of it may have read what the client must not know before the person says yes. So from then on nothing
//! that comes from a run is told: neither a name that the module asks for, nor what it changed.

use std::path::{Path, PathBuf};

use anyhow::bail;
use modbox_contract::{Dict, Value};
use modbox_policy::Rules;
use modbox_run::{Report, Status};
use modbox_vocabulary::{Capability, Grant};

use crate::cli::asking::facts::RunFacts;
use crate::cli::asking::limits::askable;
use crate::cli::asking::own_files::OwnFiles;
use crate::cli::asking::question::{Asker, in_line};
use crate::cli::asking::rounds::may_ask;
use crate::cli::asking::wish::{Cause, Wish};
use crate::cli::mcp::plans::KeptGrant;
use crate::cli::process::environment::Environment;

/// Maximum number of grants that one call wants. A person who is asked for more does not read them.
const MAX_WANTED: usize = 16;

/// Maximum number of runs of one call. Each but the first has a grant that the one before lacked.
const MAX_RUNS: usize = 24;

/// Capabilities whose use no preview shows.
const OUTSIDE: [Capability; 2] = [Capability::Net, Capability::Listen];

/// What a call lacks and a person is asked for.
#[derive(Debug, Clone, Default)]
pub(crate) struct WantedGrants {
    list: Vec<OneGrant>,
    runs: usize,
    /// Whether a run has used some of it.
    is_used: bool,
}

/// What one line of a question is about.
#[derive(Debug, Clone)]
struct OneGrant {
    grants: Vec<(Capability, String)>,
    rules: Rules,
    line: String,
    /// Whether the line names it.
    is_named: bool,
}

/// What decides about what a person may be asked for.
pub(crate) struct AskingModule<'a> {
    pub(crate) environment: &'a Environment,
    /// What no grant may reach.
    pub(crate) own: &'a OwnFiles,
    /// What the sections `ask` have for the module.
    pub(crate) asks: &'a [Grant],
    pub(crate) name: &'a str,
}

impl WantedGrants {
    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Returns whether what a run has told may not reach the client.
    pub(crate) fn is_used(&self) -> bool {
        self.is_used
    }

    /// Returns a line for each question of a person.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.list.iter().map(|one| one.line.clone()).collect()
    }

    /// Returns those of the lines that name what was lacking before a run has used any of it.
    pub(crate) fn named_lines(&self) -> Vec<String> {
        self.list.iter().filter(|one| one.is_named).map(|one| one.line.clone()).collect()
    }

    /// Returns what is wanted as grants of a run.
    pub(crate) fn rules(&self) -> Rules {
        let mut all = Rules::default();
        self.list.iter().for_each(|one| all.add_grants(one.rules.clone()));
        all
    }

    /// Returns whether some of it is an effect that no preview shows.
    pub(crate) fn has_outside(&self) -> bool {
        self.list.iter().flat_map(|one| &one.grants).any(|(capability, _)| OUTSIDE.contains(capability))
    }

    /// Returns whether the question names a path, or a granted folder around it.
    pub(crate) fn names(&self, path: &Path) -> bool {
        let named = self.list.iter().filter(|one| one.is_named).flat_map(|one| &one.rules.paths);
        named.into_iter().any(|grant| grant.host == path)
    }

    /// Returns what is kept until a person has decided.
    pub(crate) fn kept(&self) -> Vec<KeptGrant> {
        let kept =
            |one: &OneGrant| KeptGrant { grants: one.grants.clone(), hosts: hosts(&one.rules), line: one.line.clone() };
        self.list.iter().map(kept).collect()
    }

    /// Returns what a person has said yes to, on the machine as it is now.
    ///
    /// # Errors
    ///
    /// A path leads elsewhere than when the person was asked, or cannot be granted any more.
    pub(crate) fn given(kept: &[KeptGrant], environment: &Environment) -> anyhow::Result<Self> {
        let given = |kept: &KeptGrant| {
            let KeptGrant { grants, line, .. } = kept.clone();
            let wish = Wish { grants: grants.clone(), argument: None, subject: String::new(), cause: Cause::Lost };
            let rules = wish.resolved(environment)?;
            if hosts(&rules) != kept.hosts {
                bail!("a path that the person was asked for leads elsewhere now");
            }
            Ok(OneGrant { grants, rules, line, is_named: true })
        };
        let list = kept.iter().map(given).collect::<anyhow::Result<_>>()?;
        Ok(Self { list, runs: 0, is_used: false })
    }

    /// Notes that the call ran with what it wants.
    pub(crate) fn note_run(&mut self, report: &Report) {
        self.runs += 1;
        self.is_used |= !self.list.is_empty() && report.status != Status::Denied;
    }

    /// Adds what a run, or the refusal of one, shows to be lacking. Returns whether it is worth another run.
    pub(crate) fn add(
        &mut self,
        module: &AskingModule<'_>,
        report: &Report,
        facts: &RunFacts,
        arguments: &Dict,
    ) -> bool {
        if !may_ask(report) || self.runs >= MAX_RUNS || facts.digest.is_none() {
            return false;
        }
        let environment = module.environment;
        let (mut found, mut left_out) = (Vec::new(), 0);
        for wish in Wish::all_of(report, arguments, environment) {
            let has_outside = wish.grants.iter().any(|(capability, _)| *capability == Capability::Outside);
            let is_new = self.list.iter().all(|one| one.grants != wish.grants);
            match askable(&wish, facts, environment, module.own) {
                // Arguments of tools are absolute paths, so none has to be another.
                Ok(rules) if is_new && !has_outside && wish.argument.is_none() => found.push((wish, rules)),
                _ => left_out += 1,
            }
        }
        let has_started = report.status != Status::Denied;
        // A run that does not start lacks all of them.
        let is_enough = has_started || (left_out == 0 && Wish::cover(report, arguments, environment));
        if found.is_empty() || !is_enough || self.list.len() + found.len() > MAX_WANTED {
            return false;
        }
        let asker = Asker {
            name: module.name.to_owned(),
            version: report.module.version.clone(),
            signature: facts.policy.trust().signature.clone(),
            requests: facts.requests.clone(),
            task: None,
        };
        let is_named = !self.is_used;
        self.list.extend(found.into_iter().map(|(wish, rules)| {
            let line = match is_named {
                true => in_line(&asker, &wish, &rules, wish.named_by(arguments, environment)),
                false => unnamed(&asker, &wish, module.asks),
            };
            OneGrant { grants: wish.grants, rules, line, is_named }
        }));
        true
    }
}

/// Returns the line for something whose name may tell what the module has read.
fn unnamed(asker: &Asker, wish: &Wish, asks: &[Grant]) -> String {
    let of = |capability: Capability| {
        let subjects = asks.iter().filter(move |grant| {
            grant.capability == capability || (capability, grant.capability) == (Capability::Read, Capability::Write)
        });
        let subjects: Vec<&str> = subjects.map(|grant| grant.subject.as_str()).collect();
        format!("{capability} in {}", subjects.join(", "))
    };
    let mut words: Vec<String> = wish.grants.iter().map(|(capability, _)| of(*capability)).collect();
    words.dedup();
    format!(
        "{} asks for more to {}; it was not granted what it has read, so what it names is not told before",
        asker.in_words(),
        words.join(", and to ")
    )
}

fn hosts(rules: &Rules) -> Vec<PathBuf> {
    rules.paths.iter().map(|grant| grant.host.clone()).collect()
}

/// Returns whether the arguments of a call name a path.
pub(crate) fn name_path(arguments: &Dict, path: &Path) -> bool {
    fn has(value: &Value, path: &Path) -> bool {
        match value {
            Value::List(values) => values.iter().any(|value| has(value, path)),
            Value::Dict(values) => values.iter().any(|(_, value)| has(value, path)),
            value => value.as_str().is_some_and(|text| Path::new(text) == path),
        }
    }
    arguments.iter().any(|(_, value)| has(value, path))
}

//! Naming is granting: which paths the arguments of a run name, and what that grants.
//!
//! An option that the module's spec types as `path`, with `access: read`, `write` or `entry`, designates what the
//! caller names in it: exactly that path is granted, with exactly that access, as far as the policy's `designated` lets
//! it. The rules:
//!
//! - **Only what the caller wrote designates.** A default was written by the module's author and a fallback variable was
//!   chosen by them: a module that could grant itself a path by naming it there would need no grants at all. Such a path
//!   needs a grant like any other, and the run is denied, with the remedy, when it has none.
//! - A relative path is relative to where the caller stands, and `~` is the caller's home. Since the module would look for
//!   both in its own `/tmp`, the argument is rewritten to the absolute path. `$NAME` is the module's to expand, in its
//!   own environment: what it makes of it needs a grant of its own. A native module keeps a bare name of
//!   nothing that could be read: it may be relative to a place of the module's own, as `cron_file` is.
//! - A directory that is there is granted with all that is in it; anything else is one name in its directory. Where that
//!   directory is missing, too, nothing can be granted and the module finds nothing, which is the truth.
//! - Symbolic links are followed once, here. The module sees what they lead to under the name that was given. With `access: entry`
//!   the last one is not: what the module is to remove or replace is the link, and the granted name shows it as one.
//! - What an operator's grant covers needs no other one. A path that is named for writing in a directory that is granted
//!   for reading is a writable place in it.
//! - `/tmp` and `/args` are every guest's own and cannot be designated; what lies in the host's `/tmp` can.
//!
//! The spec is read from the module's bytes by the host; what a guest validates plays no part.

mod caller;
mod place;
#[cfg(test)]
mod tests;

use modbox_argument_spec::{self as spec, Metadata, NamedPath, Origin};
use modbox_contract::args::RESERVED_PREFIX;
use modbox_policy::{Access, PathGrant, Policy};
use modbox_python_json::Dict;
use modbox_vocabulary::{Denial, Operation, quoting};

pub(super) use self::caller::Caller;
use crate::app::missing_grant::{MissingGrant, Need};
use crate::app::request::Arguments;

/// More paths than anybody names one by one; each is looked at and opened.
const MAX_PATHS: usize = 256;

/// More than a person reads.
const MAX_MISSING: usize = 64;

/// What a run may reach once its arguments have been read, and the arguments as the module gets them.
pub(super) struct Settled {
    pub(super) policy: Policy,
    pub(super) arguments: Arguments,
    /// What the run needs and nothing grants.
    pub(super) missing: Vec<MissingGrant>,
    /// What an operator may want to know.
    pub(super) notes: Vec<String>,
}

/// Grants what the arguments name.
pub(super) fn settle(metadata: &Metadata, policy: &Policy, arguments: &Arguments, caller: &Caller<'_>) -> Settled {
    let mut arguments = arguments.clone();
    let args = match &mut arguments {
        Arguments::Task { args, .. } | Arguments::Complete(args) => args,
    };
    let mut run = Run { policy: policy.clone(), caller, missing: Vec::new(), notes: Vec::new() };
    run.settle(metadata, args);
    let Run { policy, missing, notes, .. } = run;
    Settled { policy, arguments, missing, notes }
}

/// The variables that the module sees.
struct GrantedVariables<'a>(&'a Policy);

impl spec::Environment for GrantedVariables<'_> {
    fn variable(&self, name: &str) -> Option<String> {
        self.0.env().iter().find(|grant| grant.name == name).map(|grant| grant.value.clone())
    }
}

struct Run<'a> {
    policy: Policy,
    caller: &'a Caller<'a>,
    missing: Vec<MissingGrant>,
    notes: Vec<String>,
}

impl Run<'_> {
    fn settle(&mut self, metadata: &Metadata, args: &mut Dict) {
        let granted = self.policy.clone();
        let environment = GrantedVariables(&granted);
        let mut seen = 0;
        metadata.argument_spec.visit_paths(args, &environment, &mut |named| {
            // What Ansible adds to the arguments was not named by anybody.
            if named.option.starts_with(RESERVED_PREFIX) {
                return None;
            }
            match named.origin {
                Origin::Argument if !named.has_variables => {
                    seen += 1;
                    self.named(&named, seen <= MAX_PATHS)
                }
                _ => {
                    self.unnamed(&named, &environment);
                    None
                }
            }
        });
        if seen > MAX_PATHS {
            self.notes.push(format!(
                "the arguments name {seen} paths; naming grants the first {MAX_PATHS}, the rest needs the grant of a directory"
            ));
        }
    }

    /// A path that the caller wrote. Returns what to write in its place.
    fn named(&mut self, named: &NamedPath, grants: bool) -> Option<String> {
        let access = access(named.access);
        if !grants || !self.policy.designated().allows(access) {
            self.check(named, access);
            return None;
        }
        // Nobody knows the user: the module will say so.
        let absolute = self.caller.absolute(&named.path)?;
        // The documentation of a native module does not say what a name is relative to.
        let is_name = !named.path.contains('/') && !named.path.starts_with('~');
        if self.caller.is_native && is_name && access == Access::Read && !absolute.exists() {
            return None;
        }
        let Some(path) = place::clean(&absolute) else {
            self.notes.push(format!("`{}` names a path that is not UTF-8, which no guest can see", named.option));
            return None;
        };
        self.grant(named, &path);
        let slash = if named.path.ends_with('/') && path != "/" { "/" } else { "" };
        let replacement = format!("{path}{slash}");
        (replacement != named.path).then_some(replacement)
    }

    fn grant(&mut self, named: &NamedPath, path: &str) {
        let (access, follow) = (access(named.access), named.access != spec::Access::Entry);
        if place::is_covered(&self.policy, path, access, follow) {
            return;
        }
        let (host, shape) = match place::find(path.as_ref(), follow) {
            Ok(found) => found,
            Err(error) => {
                let option = &named.option;
                self.notes.push(format!("`{option}` names `{path}`, which grants nothing: {error}"));
                return;
            }
        };
        // No argument hands the audit log to the module that it is about.
        let holds_log = |log: &std::path::PathBuf| log.canonicalize().is_ok_and(|log| log.starts_with(&host));
        if access == Access::Write && self.policy.audit().iter().any(holds_log) {
            self.lacks_argument(access, path);
            return;
        }
        let source = format!("argument {}", named.option);
        let grant = PathGrant { host, shape, guest: path.to_owned(), access, source };
        if self.policy.designate(grant).is_err() {
            self.lacks_argument(access, path);
        }
    }

    /// A path that naming does not grant: another grant must cover it as it stands.
    fn check(&mut self, named: &NamedPath, access: Access) {
        if named.path.starts_with('~') {
            return;
        }
        let Some(path) = self.caller.absolute(&named.path).and_then(|path| place::clean(&path)) else { return };
        let mut allow = Vec::new();
        if !named.path.starts_with('/') {
            allow.push(format!("{}={}", named.option, quoting::quote(&path)));
        }
        if !place::is_covered(&self.policy, &path, access, named.access != spec::Access::Entry) {
            allow.push(place::switch(&path, access));
        }
        if !allow.is_empty() {
            let need = match (named.path.starts_with('/'), place::is_hidden(&path, access)) {
                (false, _) => Need::RelativeArgument,
                (true, true) => Need::HiddenArgument,
                (true, false) => Need::Argument,
            };
            self.lacks(access, &named.path, need, allow.join(" "));
        }
    }

    /// A path that the module's author chose, or that the module makes of a variable. What it is relative to is the
    /// module's own.
    fn unnamed(&mut self, named: &NamedPath, environment: &dyn spec::Environment) {
        let access = access(named.access);
        let seen = named.seen_by(environment);
        if !seen.starts_with('/') {
            return;
        }
        let Some(path) = place::clean(seen.as_ref()) else { return };
        // What is not there cannot be read, whoever allows it.
        let missing = access == Access::Read && !std::path::Path::new(&path).exists();
        if missing || place::is_covered(&self.policy, &path, access, named.access != spec::Access::Entry) {
            return;
        }
        if named.origin == Origin::Argument {
            return self.lacks_argument(access, &path);
        }
        let at_top = !named.option.contains(['.', '[']);
        let allow = if at_top && self.policy.designated().allows(access) {
            format!("{}={}", named.option, quoting::quote(&path))
        } else {
            place::switch(&path, access)
        };
        self.lacks(access, &path, Need::Default, allow);
    }

    /// Notes that an argument names an absolute path that nothing grants.
    fn lacks_argument(&mut self, access: Access, path: &str) {
        let need = if place::is_hidden(path, access) { Need::HiddenArgument } else { Need::Argument };
        self.lacks(access, path, need, place::switch(path, access));
    }

    fn lacks(&mut self, access: Access, subject: &str, need: Need, allow: String) {
        let operation = if need == Need::Default { Operation::Default } else { Operation::Argument };
        let denial = Denial { capability: access.capability(), subject: subject.to_owned(), operation, allow };
        let missing = MissingGrant { denial, need };
        if self.missing.len() < MAX_MISSING && !self.missing.contains(&missing) {
            self.missing.push(missing);
        }
    }
}

fn access(access: spec::Access) -> Access {
    match access {
        spec::Access::Read => Access::Read,
        spec::Access::Write | spec::Access::Entry => Access::Write,
    }
}

//! Designation: which paths the arguments of a run name, and which grants follow from that.
//!
//! An option that the module's spec types as `path`, with `access: read`, `write` or `entry`, designates the path that
//! the caller names in it: exactly that path is granted, with exactly that access, as far as the policy's `designated`
//! setting allows. The rules:
//!
//! - **Only paths that the caller wrote designate.** The module's author chose the defaults and the fallback variables:
//!   a module that could grant itself a path by naming it there would need no grants at all. Such a path needs a grant
//!   like any other; without one, the run is denied, with the remedy.
//! - The path is the one that the kernel finds. Where the kernel finds none on the way, as for `typo/..`, nothing is granted,
//!   and the module gets the kernel's error. An empty path names nothing.
//! - The module gets the argument as it was written. Only a relative path gets the caller's working directory in front, and
//!   `~` becomes the home of the user whose run it is: a guest would look for both in its own `/tmp`. The module itself expands `$NAME`,
//!   in its own environment; the resulting path needs a separate grant. A native module's argument stays unchanged if
//!   it is a bare name for reading and no such file exists: it may be relative to another place that the module knows,
//!   as `cron_file` is.
//! - An existing directory is granted with all its contents; any other path is granted as one name in its directory. If
//!   that directory is missing, too, nothing can be granted, and the module finds nothing, which is correct. If the
//!   module makes that directory in a directory of its own, such as `/tmp`, the run fails.
//! - A link is a link for the module, too: it can look at each link on the way, and the target is granted at its own
//!   place. For an option with `access: entry`, the last link is not followed: the module is to remove or replace the
//!   link itself; a file that it leads to is granted, too. A guest can also replace the last link of a path that is named
//!   for writing.
//! - A link is not followed for writing where a user other than root and the user of the run can have made it: the file
//!   that it leads to would be changed with rights that this user does not have.
//! - A path that an operator's grant covers needs no further grant. A path that is named for writing in a directory
//!   that is granted for reading becomes a writable place in it.
//! - Every guest has its own `/tmp` and `/args`, which cannot be designated; paths below the host's `/tmp` can.
//!
//! - A path that a play made from results of modules designates as far as `designated-by-results` allows, too. The source
//!   of its grant says so.
//! - What Ansible's own modules do with a path is in a table. A native module can make, replace and remove single files
//!   that are granted. For other entries, such as links and folders, it needs the directory around them: a run without a
//!   grant of it is denied.
//!
//! The host reads the spec from the module's bytes; validation by the guest plays no part.

mod caller;
mod entry;
mod not_text;
mod place;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use modbox_argument_spec::{self as spec, Metadata, NamedPath, Origin};
use modbox_contract::args::RESERVED_PREFIX;
use modbox_policy::{Access, FailingPath, PathGrant, Policy, Shape};
use modbox_python_json::Dict;
use modbox_vocabulary::{Denial, GrantSource, Operation, quoting};
use rustix::io::Errno;

pub(crate) use self::caller::Caller;
pub(crate) use self::entry::missing_besides;
use crate::grants::way::{End, Way, is_trusted, resolve};
use crate::modules::path_uses::PathUses;
use crate::reports::missing_grant::{MissingGrant, Need};
use crate::request::argument_origin::ArgumentOrigin;
use crate::request::run_request::Arguments;

/// Paths that can be designated; more than a caller names one by one. Each is examined and opened.
const MAX_PATHS: usize = 256;

/// Missing grants that are listed; a person reads no more.
const MAX_MISSING: usize = 64;

/// MergedPolicy policy of a run after its arguments were read, and the arguments for the module.
pub(crate) struct EffectiveGrants {
    pub(crate) policy: Policy,
    pub(crate) arguments: Arguments,
    /// Grants that the run needs but lacks.
    pub(crate) missing: Vec<MissingGrant>,
    /// Notes for the operator.
    pub(crate) notes: Vec<String>,
    /// What keeps the module from writing a path that an argument names, although the run starts.
    pub(crate) obstacles: Vec<String>,
}

/// Grants the paths that the arguments name. `uses` is what modbox knows of a native module's options.
pub(crate) fn apply(
    metadata: &Metadata,
    uses: &PathUses,
    policy: &Policy,
    arguments: &Arguments,
    origins: &[ArgumentOrigin],
    caller: &Caller<'_>,
) -> EffectiveGrants {
    let mut arguments = arguments.clone();
    let (missing, notes, obstacles) = (Vec::new(), Vec::new(), Vec::new());
    let mut run = Run { policy: policy.clone(), uses, origins, caller, missing, notes, obstacles };
    let odd = not_text::missing(&metadata.argument_spec, arguments.given(), policy, caller);
    odd.into_iter().for_each(|missing| run.add(missing));
    run.grant_arguments(metadata, arguments.given_mut());
    let Run { policy, missing, notes, obstacles, .. } = run;
    EffectiveGrants { policy, arguments, missing, notes, obstacles }
}

/// Environment that the module sees.
struct GrantedVariables<'a>(&'a Policy);

impl spec::Environment for GrantedVariables<'_> {
    fn variable(&self, name: &str) -> Option<String> {
        self.0.env().iter().find(|grant| grant.name == name).map(|grant| grant.value.clone())
    }
}

struct Run<'a> {
    policy: Policy,
    uses: &'a PathUses,
    origins: &'a [ArgumentOrigin],
    caller: &'a Caller<'a>,
    missing: Vec<MissingGrant>,
    notes: Vec<String>,
    obstacles: Vec<String>,
}

impl Run<'_> {
    fn grant_arguments(&mut self, metadata: &Metadata, args: &mut Dict) {
        let granted = self.policy.clone();
        let environment = GrantedVariables(&granted);
        let mut seen = 0;
        metadata.argument_spec.visit_paths(args, &environment, &mut |named| {
            // Ansible added this argument; the caller did not name it.
            if named.option.starts_with(RESERVED_PREFIX) {
                return None;
            }
            match named.origin {
                // Some modules take URLs in options that are paths.
                Origin::Argument if self.caller.is_native && named.path.contains("://") => None,
                Origin::Argument if !named.has_variables => {
                    seen += 1;
                    let written = named.path.clone();
                    let named = entry::with_known_use(named, self.uses, self.caller);
                    if let Some(missing) = entry::missing_directory(&named, self.uses, &self.policy, self.caller) {
                        self.add(missing);
                        return None;
                    }
                    let replacement = self.grant_named(&named, seen <= MAX_PATHS);
                    // The module itself looks for a bare name in the folder that it knows.
                    replacement.filter(|_| named.path == written)
                }
                _ => {
                    self.check_unnamed(&named, &environment);
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

    /// Grants a path that the caller wrote. Returns the text to replace it with in the arguments, if any.
    fn grant_named(&mut self, named: &NamedPath, grants: bool) -> Option<String> {
        let access = access(named.access);
        if !grants || !self.policy.designated().allows(access) {
            return self.check(named, access, None);
        }
        let of_argument = || self.origins.iter().filter(|origin| origin.is_of(&named.option));
        if let Some(origin) = of_argument().find(|origin| !origin.designates(&self.policy).allows(access)).cloned() {
            return self.check(named, access, Some(&origin));
        }
        if named.path.is_empty() {
            return None;
        }
        // The home is that of an unknown user; the module reports that.
        let absolute = self.caller.absolute(&named.path)?;
        // The documentation of a native module does not say which directory a bare name is relative to.
        let is_name = !named.path.contains('/') && !named.path.starts_with('~');
        if self.caller.is_native && is_name && access == Access::Read && !absolute.exists() {
            return None;
        }
        let Some(path) = absolute.to_str() else {
            self.notes.push(format!("`{}` names a path that is not UTF-8, which no guest can see", named.option));
            return None;
        };
        self.grant(named, path);
        (path != named.path).then(|| path.to_owned())
    }

    /// Grants an absolute path, given as it was written.
    fn grant(&mut self, named: &NamedPath, path: &str) {
        let (access, follow) = (access(named.access), named.access != spec::Access::Entry);
        if place::is_mapped(&self.policy, path, access) {
            return;
        }
        let way = resolve(path.as_ref(), follow);
        if access == Access::Write
            && let Some(link) = way.links.iter().find(|link| !is_trusted(link))
        {
            self.grant_beside_link(named, path, link);
            return;
        }
        match &way.end {
            End::Failed { at, errno } => self.grant_nothing(named, (path, access), at, *errno),
            End::At(host, shape) => self.grant_place(named, access, follow, host.clone(), *shape),
        }
        if !follow {
            self.grant_file_behind(named, path);
        }
        // The module may replace the link, as Ansible's `copy` does.
        if access == Access::Write
            && !self.caller.is_native
            && let End::At(link, shape) = resolve(path.as_ref(), false).end
            && way.links.contains(&link)
        {
            self.grant_place(named, access, false, link, shape);
        }
        // Last, since what has been granted shows its links by itself.
        self.show(&way);
    }

    /// Grants the file that a link leads to, where an option names the link itself: modules such as Ansible's `file` set modes
    /// and owners of the file. A directory behind a link is left out, since that grants all that is in it.
    fn grant_file_behind(&mut self, named: &NamedPath, path: &str) {
        let way = resolve(path.as_ref(), true);
        if let End::At(host, Shape::Name) = &way.end
            && host.is_file()
            && !way.links.is_empty()
            && way.links.iter().all(|link| is_trusted(link))
        {
            self.grant_place(named, Access::Write, true, host.clone(), Shape::Name);
            self.show(&way);
        }
    }

    /// Grants nothing where the way to a path ends before the path does.
    fn grant_nothing(&mut self, named: &NamedPath, (path, access): (&str, Access), at: &Path, errno: Errno) {
        let option = &named.option;
        let why = place::why_not(errno, access);
        if self.caller.is_native && !matches!(errno, Errno::NOENT | Errno::LOOP) {
            // In its room, the module would find nothing there, and call that a success.
            self.add_missing(access, path, Need::Unreachable(why), String::new());
            return;
        }
        let note = format!("`{option}` names `{path}`, which grants nothing: {why}");
        self.notes.push(note.clone());
        // A circle of links is one for the module, too, since it sees the links.
        if let Some(at) = at.to_str().filter(|_| errno != Errno::LOOP)
            && !place::is_covered(&self.policy, at, Access::Read, false)
        {
            self.policy.waypoints_mut().show_failing(FailingPath { path: at.to_owned(), errno: errno.raw_os_error() });
        }
        if access == Access::Write {
            self.obstacles.push(note);
            self.policy.add_missing(place::missing(path));
        }
    }

    /// Grants what a link that another user can have made allows: to replace the link, if it is what the path names.
    fn grant_beside_link(&mut self, named: &NamedPath, path: &str, link: &Path) {
        let way = resolve(path.as_ref(), false);
        let is_link = way.end == End::At(link.to_owned(), Shape::Name);
        if self.caller.is_native || !is_link || way.links.iter().any(|link| !is_trusted(link)) {
            let need = Need::Link { link: link.display().to_string() };
            return self.add_missing(Access::Write, path, need, String::new());
        }
        self.grant_place(named, Access::Write, false, link.to_owned(), Shape::Name);
        self.show(&way);
        self.obstacles.push(format!(
            "`{}` names `{path}`, a link that another user can have made, so its target is not granted; name the target",
            named.option
        ));
    }

    /// Lets the module see the links and directories on a way, unless a grant shows them already.
    fn show(&mut self, way: &Way) {
        let policy = &mut self.policy;
        let hidden = |policy: &Policy, paths: &[PathBuf]| -> Vec<String> {
            let paths = paths.iter().filter_map(|path| path.to_str());
            paths.filter(|path| !place::is_covered(policy, path, Access::Read, false)).map(str::to_owned).collect()
        };
        hidden(policy, &way.links).into_iter().for_each(|link| policy.waypoints_mut().show_link(link));
        hidden(policy, &way.passed).into_iter().for_each(|path| policy.waypoints_mut().show_passed(path));
    }

    /// Grants a path without links.
    fn grant_place(&mut self, named: &NamedPath, mut access: Access, follow: bool, host: PathBuf, shape: Shape) {
        let Some(path) = host.to_str().map(str::to_owned) else {
            let option = &named.option;
            self.notes.push(format!("`{option}` leads to a path that is not UTF-8, which grants nothing"));
            return;
        };
        let path = path.as_str();
        if place::is_covered(&self.policy, path, access, follow) {
            return;
        }
        if let Some(reason) = entry::write_obstacle(named, self.uses, access, &host, shape) {
            let option = &named.option;
            let note = format!("`{option}` names `{path}`, which is granted for reading only: {reason}");
            self.notes.push(note.clone());
            self.obstacles.push(note);
            access = Access::Read;
        }
        // What a native module makes there is made in a directory of its own, and must not count as made.
        if self.caller.is_native && access == Access::Read && !host.exists() {
            self.policy.add_missing(place::missing(path));
        }
        // An argument must not grant writing to the audit log of the run.
        let holds_log = |log: &std::path::PathBuf| log.canonicalize().is_ok_and(|log| log.starts_with(&host));
        if access == Access::Write && self.policy.audit().iter().any(holds_log) {
            self.add_missing_argument(access, path);
            return;
        }
        let origin = self.origins.iter().find(|origin| origin.is_of(&named.option));
        let source = GrantSource::Argument {
            option: named.option.clone(),
            made_from: origin.map(|ArgumentOrigin { made_from, .. }| made_from.to_string()),
        };
        let grant = PathGrant { host, shape, guest: path.to_owned(), access, source };
        if self.policy.designate(grant).is_err() {
            self.add_missing_argument(access, path);
        }
    }

    /// Checks that a grant covers a path, as written, that naming it does not grant. `origin` is the reason, if it is
    /// that of the argument. Returns the text to replace a path below a home with.
    fn check(&mut self, named: &NamedPath, access: Access, origin: Option<&ArgumentOrigin>) -> Option<String> {
        let absolute = self.caller.absolute(&named.path)?;
        let path = place::clean(&absolute)?;
        let is_below_home = named.path.starts_with('~');
        let is_placed = is_below_home || named.path.starts_with('/');
        let mut allow = Vec::new();
        if !is_placed {
            allow.push(format!("{}={}", named.option, quoting::quote(&path)));
        }
        if !place::is_reached(&self.policy, &path, access, named.access != spec::Access::Entry) {
            allow.push(place::switch(&path, access));
        }
        if !allow.is_empty() {
            let need = match (origin, is_placed, place::is_hidden(&path, access)) {
                (_, false, _) => Need::RelativeArgument,
                (_, true, true) => Need::HiddenArgument,
                (None, true, false) => Need::Argument,
                (Some(origin), true, false) => Need::MadeArgument(origin.clone()),
            };
            self.add_missing(access, &named.path, need, allow.join(" "));
        }
        absolute.to_str().filter(|_| is_below_home).map(str::to_owned)
    }

    /// Checks that a grant covers a path from a default or a variable. A relative one is left alone, since it is
    /// relative to the module's own directory.
    fn check_unnamed(&mut self, named: &NamedPath, environment: &dyn spec::Environment) {
        let access = access(named.access);
        let seen = named.seen_by(environment);
        let in_home =
            || (access == Access::Write && self.caller.is_native).then(|| self.caller.absolute(&seen)).flatten();
        let path = match seen.chars().next() {
            Some('/') => Some(PathBuf::from(&seen)),
            // The module finds the home by itself; a guest has none. What cannot be read there is missing.
            Some('~') => in_home(),
            _ => None,
        };
        let Some(path) = path.and_then(|path| place::clean(&path)) else { return };
        // A missing file cannot be read, with or without a grant.
        let missing = access == Access::Read && !std::path::Path::new(&path).exists();
        if missing || place::is_reached(&self.policy, &path, access, named.access != spec::Access::Entry) {
            return;
        }
        if named.origin == Origin::Argument {
            return self.add_missing_argument(access, &path);
        }
        let at_top = !named.option.contains(['.', '[']);
        let allow = if at_top && self.policy.designated().allows(access) {
            format!("{}={}", named.option, quoting::quote(&path))
        } else {
            place::switch(&path, access)
        };
        self.add_missing(access, &path, Need::Default, allow);
    }

    /// Records that an argument names an absolute path without a grant.
    fn add_missing_argument(&mut self, access: Access, path: &str) {
        let need = if place::is_hidden(path, access) { Need::HiddenArgument } else { Need::Argument };
        self.add_missing(access, path, need, place::switch(path, access));
    }

    fn add_missing(&mut self, access: Access, subject: &str, need: Need, allow: String) {
        let operation = if need == Need::Default { Operation::Default } else { Operation::Argument };
        let denial = Denial { capability: access.capability(), subject: subject.to_owned(), operation, allow };
        self.add(MissingGrant { denial, need });
    }

    fn add(&mut self, missing: MissingGrant) {
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

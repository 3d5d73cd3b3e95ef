//! Reads and parses policy files, and resolves their grants.

use std::io;
use std::path::Path;

use anyhow::{Context, bail};
use modbox_files::{open_at_once, read_stream};
use modbox_policy::{Access, Allow, FileRules, GrantedProfile, Located, OwnerError, Place, PolicyFile, Profile, Rules};
use modbox_run::outside_of_profile;
use modbox_vocabulary::GrantSource;

use crate::cli::printing::output;
use crate::cli::process::environment::Environment;
use crate::cli::settings::exposure::{self, Exposure};
use crate::cli::settings::grants;

/// Maximum bytes of a policy file. No hand-written policy is longer.
pub(crate) const MAX_POLICY: u64 = 1 << 20;

/// How a policy file was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileChoice {
    /// It applies to every run.
    Implied,
    /// The caller named it.
    Named,
}

/// The text of a policy file.
pub(crate) struct PolicyText {
    pub(crate) text: String,
    /// How another user can change the file.
    pub(crate) exposure: Option<Exposure>,
}

/// Reads and parses a policy file, and returns its text, too; returns `None` when it does not exist. Warns if another user can change a file that
/// the caller named.
///
/// # Errors
///
/// The file cannot be read, or is not a valid policy file, or is an implied one that another user can change.
pub(super) fn load(path: &Path, choice: FileChoice) -> anyhow::Result<Option<(PolicyFile, String)>> {
    let Some(PolicyText { text, exposure }) = read(path)? else { return Ok(None) };
    tracing::debug!(file = %path.display(), "read a policy file");
    match (exposure, choice) {
        (Some(exposure), FileChoice::Implied) => {
            bail!("failed to use the policy file `{}`, which another user can change: {exposure}", path.display())
        }
        (Some(exposure), FileChoice::Named) => {
            output::print_note(&format!("another user can change the policy file `{}`: {exposure}", path.display()));
        }
        (None, _) => {}
    }
    let file = PolicyFile::parse(&text).with_context(|| format!("invalid policy file `{}`", path.display()))?;
    Ok(Some((file, text)))
}

/// Reads the text of a policy file; returns `None` when it does not exist. Only a regular file is accepted: another
/// kind of file could read as empty, which would be a policy without its restrictions.
///
/// # Errors
///
/// The file cannot be read, is not regular, is too long or is not UTF-8.
pub(crate) fn read(path: &Path) -> anyhow::Result<Option<PolicyText>> {
    read_as("policy file", path)
}

/// Does the same with another file that policies depend on; `what` names it in errors.
///
/// # Errors
///
/// As [`read`].
pub(super) fn read_as(what: &str, path: &Path) -> anyhow::Result<Option<PolicyText>> {
    let failed = || format!("failed to read the {what} `{}`", path.display());
    let (file, metadata) = match open_at_once(path) {
        Ok(opened) => opened,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(error).with_context(failed),
    };
    if !metadata.is_file() {
        bail!("the {what} `{}` is not a regular file", path.display());
    }
    let exposure = exposure::find(path, &metadata);
    match String::from_utf8(read_stream(file, MAX_POLICY).with_context(failed)?) {
        Ok(text) => Ok(Some(PolicyText { text, exposure })),
        Err(_) => bail!("the {what} `{}` is not UTF-8", path.display()),
    }
}

/// A grant in a policy file that cannot be resolved.
pub(crate) struct WrongGrant {
    /// Its position in the file.
    pub(crate) place: Place,
    /// The grant as written.
    pub(crate) written: String,
    /// The reason.
    pub(crate) error: anyhow::Error,
}

impl WrongGrant {
    /// Returns whether what the grant names does not exist.
    fn is_absent(&self) -> bool {
        let is_missing = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
        self.error.chain().filter_map(|error| error.downcast_ref()).any(is_missing)
            || matches!(self.error.downcast_ref(), Some(OwnerError::Unknown { .. }))
    }
}

/// The rules of a policy file, with grants resolved.
pub(crate) struct Resolved {
    /// The rules, with all valid grants.
    pub(crate) rules: Rules,
    /// The positions of the path grants in the file, in the order of `rules.paths`.
    pub(crate) places: Vec<Place>,
    /// The positions of the grants of commands outside, in the order of `rules.outside`.
    pub(crate) outside_places: Vec<Place>,
    /// The grants that cannot be resolved.
    pub(crate) wrong: Vec<WrongGrant>,
}

/// Returns the source of what a profile grants that a source names.
fn profile_source(profile: Profile, named_by: &GrantSource) -> GrantSource {
    GrantSource::Profile { name: profile.to_string(), named_by: Box::new(named_by.clone()) }
}

/// Returns whether a path of a profile exists and is one of the machine. `/etc/mtab` often leads to the list of mounts of the process that
/// asks, which each room has for itself.
fn is_of_machine(path: &Path) -> bool {
    path.canonicalize().is_ok_and(|real| !real.starts_with("/proc"))
}

/// Resolves the grants of a policy file, and collects those that cannot be resolved.
pub(crate) fn resolve(environment: &Environment, rules: &FileRules, source: &GrantSource) -> Resolved {
    let mut resolved = Resolved {
        rules: without_grants(rules, source),
        places: Vec::new(),
        outside_places: Vec::new(),
        wrong: Vec::new(),
    };
    // The operator's own entries take precedence over those of a profile, since they may grant more.
    add_paths(environment, &rules.allow, source, &mut resolved);
    add_paths_of_profiles(environment, rules, source, &mut resolved);
    add_commands_of_profiles(rules, source, &mut resolved);
    add_others(environment, &rules.allow, source, &mut resolved);
    resolved
}

/// Returns the rules of a policy file, except its grants.
fn without_grants(rules: &FileRules, source: &GrantSource) -> Rules {
    Rules {
        source: Some(source.clone()),
        designated: rules.designated,
        designated_by_results: rules.designated_by_results,
        check: rules.check,
        python: rules.python,
        python_modules: rules.python_modules,
        accept_policy: rules.accept_policy,
        min_confinement: rules.min_confinement,
        limits: rules.limits.clone(),
        audit: rules.audit.iter().map(|audit| audit.value.clone().into()).collect(),
        audit_in_results: rules.audit_in_results,
        everything: rules.unconfined.as_ref().filter(|flag| flag.value).map(|_| source.clone()),
        ..Rules::default()
    }
}

fn add_paths(environment: &Environment, allow: &Allow, source: &GrantSource, resolved: &mut Resolved) {
    let Resolved { rules, places, wrong, .. } = resolved;
    for (access, paths) in [(Access::Read, &allow.read), (Access::Write, &allow.write)] {
        let resolve = |written: &str| grants::path_of_file(environment, written, access, source);
        resolve_each(paths, wrong, resolve, |named, place| {
            named.add_to(rules);
            places.push(place);
        });
    }
}

fn add_paths_of_profiles(environment: &Environment, rules: &FileRules, source: &GrantSource, resolved: &mut Resolved) {
    // What a profile may write takes precedence over what another one only reads, in whatever order they are written.
    let written = |profile: Profile| profile.written_paths().iter().map(|path| (*path, Access::Write)).collect();
    let read = |profile: Profile| profile.paths().iter().map(|path| (*path, Access::Read)).collect();
    let paths: [&dyn Fn(Profile) -> Vec<(&'static str, Access)>; 2] = [&written, &read];
    for (paths, granted) in paths.iter().flat_map(|paths| rules.profiles.iter().map(move |granted| (paths, granted))) {
        let Located { value: GrantedProfile { profile, .. }, place } = granted;
        let source = profile_source(*profile, source);
        let is_covered =
            |path: &str| resolved.rules.paths.iter().any(|grant| Path::new(path).starts_with(&grant.guest));
        let paths: Vec<(&str, Access)> = paths(*profile)
            .into_iter()
            .filter(|(path, _)| is_of_machine(Path::new(path)) && !is_covered(path))
            .collect();
        for (path, access) in paths {
            match grants::path_of_file(environment, path, access, &source) {
                Ok(named) => {
                    named.add_to(&mut resolved.rules);
                    resolved.places.push(*place);
                }
                Err(error) => resolved.wrong.push(WrongGrant { place: *place, written: path.to_owned(), error }),
            }
        }
    }
}

fn add_commands_of_profiles(rules: &FileRules, source: &GrantSource, resolved: &mut Resolved) {
    for Located { value: GrantedProfile { profile, names }, place } in &rules.profiles {
        let source = profile_source(*profile, source);
        for rule in profile.commands().map(|commands| commands.rules(!names.is_empty())).unwrap_or_default() {
            resolved.rules.outside.push(outside_of_profile(rule, names, &source));
            resolved.outside_places.push(*place);
        }
    }
}

/// Adds all grants but those of paths.
fn add_others(environment: &Environment, allow: &Allow, source: &GrantSource, resolved: &mut Resolved) {
    let Resolved { rules, outside_places, wrong, .. } = resolved;
    let outside = |written: &str| grants::outside(written, source);
    resolve_each(&allow.outside, wrong, outside, |grant, place| {
        rules.outside.push(grant);
        outside_places.push(place);
    });
    resolve_each(&allow.own, wrong, |rule| grants::own(rule, source), |grant, _| rules.own.push(grant));
    let variable = |written: &str| grants::env(environment, written.as_ref(), source);
    resolve_each(&allow.env, wrong, variable, |grant, _| rules.env.extend(grant));
    resolve_each(&allow.net, wrong, |rule| grants::net(rule, source), |grant, _| rules.net.push(grant));
    resolve_each(&allow.listen, wrong, |rule| grants::listen(rule, source), |grant, _| rules.listen.push(grant));
    resolve_each(&allow.run, wrong, |rule| grants::run(rule, source), |grant, _| rules.run.push(grant));
}

/// Resolves the grants of one kind. Calls `add` with each of them, and notes those that cannot be resolved.
fn resolve_each<G>(
    grants: &[Located<String>],
    wrong: &mut Vec<WrongGrant>,
    resolve: impl Fn(&str) -> anyhow::Result<G>,
    mut add: impl FnMut(G, Place),
) {
    for Located { value, place } in grants {
        match resolve(value) {
            Ok(grant) => add(grant, *place),
            Err(error) => wrong.push(WrongGrant { place: *place, written: value.clone(), error }),
        }
    }
}

/// Resolves all grants of a policy file.
///
/// # Errors
///
/// A grant cannot be resolved; the error names the first one in the file.
pub(super) fn resolve_all(
    environment: &Environment,
    path: &Path,
    rules: &FileRules,
    source: &GrantSource,
) -> anyhow::Result<Rules> {
    let Resolved { rules, wrong, .. } = resolve(environment, rules, source);
    refuse(path, rules, wrong)
}

/// Resolves the grants of a section for a module or a task, when it starts. What is not there grants nothing: an earlier task may not
/// have made it on this host, and the module finds nothing there either.
///
/// # Errors
///
/// As [`resolve_all`], but for paths that do not exist and unknown users and groups.
pub(super) fn resolve_there(
    environment: &Environment,
    path: &Path,
    rules: &FileRules,
    source: &GrantSource,
) -> anyhow::Result<Rules> {
    let Resolved { rules, mut wrong, .. } = resolve(environment, rules, source);
    wrong.retain(|wrong| {
        let is_absent = wrong.is_absent();
        if is_absent {
            tracing::warn!(grant = wrong.written, error = %wrong.error, "left out, since it is not there");
        }
        !is_absent
    });
    refuse(path, rules, wrong)
}

fn refuse(path: &Path, rules: Rules, wrong: Vec<WrongGrant>) -> anyhow::Result<Rules> {
    match wrong.into_iter().min_by_key(|wrong| wrong.place) {
        None => Ok(rules),
        Some(wrong) => Err(wrong.error)
            .with_context(|| format!("invalid grant `{}` at {}", wrong.written, wrong.place))
            .with_context(|| format!("invalid policy file `{}`", path.display())),
    }
}

/// Checks a policy file that applies to every run, with the grants in it. Returns whether it exists.
///
/// # Errors
///
/// The file is wrong, names something that does not exist, or can be changed by another user.
pub(crate) fn check_implied(environment: &Environment, path: &Path) -> anyhow::Result<bool> {
    let Some((file, _)) = load(path, FileChoice::Implied)? else { return Ok(false) };
    resolve_all(environment, path, &file.rules, &source(path))?;
    Ok(true)
}

/// Returns the name of a policy file in reports and listings.
pub(crate) fn source(path: &Path) -> GrantSource {
    GrantSource::PolicyFile(path.display().to_string())
}

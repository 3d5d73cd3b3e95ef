//! `modbox policy check`: reports errors and warnings about policy files.
//!
//! An error makes a run refuse the file. A warning is about a rule that a run accepts but that may be a mistake. Both
//! depend on this machine: another one may have other files.

use std::path::{Path, PathBuf};

use modbox_policy::run::RunRule;
use modbox_policy::{
    AcceptPolicy, Allow, Designated, FileRules, ModuleKey, PathGrant, Place, PolicyFile, PolicyFileProblem, PythonRule,
    Rules, merge,
};
use modbox_vocabulary::GrantSource;

use super::check_outside;
use super::check_trust;
use super::findings::{Finding, Gravity};
use crate::cli::context::Context;
use crate::cli::exit::{ExitStatus, Failure, OrExit, error_words};
use crate::cli::printing::output;
use crate::cli::process::environment::Environment;
use crate::cli::settings::{self, PolicyText, Resolved, WrongGrant};

/// Directories that hold the system's configuration and programs, or all users' data.
const BROAD: [&str; 14] =
    ["/", "/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/opt", "/proc", "/root", "/run", "/sys", "/usr", "/var"];

/// Prints all findings about the files.
pub(super) fn run(context: &Context, files: &[PathBuf]) -> Result<ExitStatus, Failure> {
    let mut wrong = false;
    for path in files {
        let findings = check_file(&context.environment, path);
        wrong |= findings.iter().any(|finding| finding.gravity == Gravity::Error);
        let shown = path.display();
        for Finding { place, gravity, text } in &findings {
            let place = place.map(|place| format!(":{}:{}", place.line, place.column)).unwrap_or_default();
            let word = if *gravity == Gravity::Error { "error" } else { "warning" };
            output::print_line(&output::clean(&format!("{shown}{place}: {word}: {text}"))).or_internal()?;
        }
        if findings.is_empty() {
            output::print_line(&output::clean(&format!("{shown}: ok"))).or_internal()?;
        }
    }
    Ok(if wrong { ExitStatus::Usage } else { ExitStatus::Success })
}

/// Resolved rules, with the positions of their path grants.
struct PlacedRules {
    rules: Rules,
    places: Vec<Place>,
}

fn check_file(environment: &Environment, path: &Path) -> Vec<Finding> {
    let error = |place, text| Finding { place, gravity: Gravity::Error, text };
    let PolicyText { text, exposure } = match settings::read_policy_file(path) {
        Ok(Some(read)) => read,
        Ok(None) => return vec![error(None, "the file does not exist".to_owned())],
        Err(why) => return vec![error(None, error_words(&why))],
    };
    let (file, mistakes) = PolicyFile::read(&text);
    let mistakes = mistakes.into_iter().map(|PolicyFileProblem { place, message }| error(place, message));
    let mut findings: Vec<Finding> = mistakes.collect();
    // A run refuses a file that it would use unasked, and warns of others.
    let is_implied = settings::policy_folder::is_implied(environment, path);
    findings.extend(exposure.map(|exposure| Finding {
        place: None,
        gravity: if is_implied { Gravity::Error } else { Gravity::Warning },
        text: format!("another user can change this file: {exposure}"),
    }));
    let of_tasks = file.tasks.iter().map(|(_, rules)| rules);
    let all = std::iter::once(&file.rules).chain(file.modules.iter().map(|(_, rules)| rules)).chain(of_tasks);
    let is_observed = all.clone().any(|rules| rules.python_modules == Some(PythonRule::Observe));
    findings.extend(is_observed.then(|| Finding {
        place: None,
        gravity: Gravity::Warning,
        text: "with `python-modules: observe`, modules that `modbox-python` runs are not confined".to_owned(),
    }));
    let manages = all.clone().any(|rules| rules.designated.is_some_and(Designated::allows_managing));
    findings.extend(manages.then(|| Finding {
        place: None,
        gravity: Gravity::Warning,
        text: "`designated: manage`: who writes the arguments decides which services, packages and users a module changes, but reserved ones"
            .to_owned(),
    }));
    findings.extend((file.rules.accept_policy == Some(AcceptPolicy::Grants)).then(|| Finding {
        place: None,
        gravity: Gravity::Warning,
        text: "with `accept-policy: grants`, a controller grants to its tasks whatever it sends".to_owned(),
    }));
    check_trust::check(environment, path, &file, &mut findings);
    let general = check_rules(environment, &file.rules, &GrantSource::named("the file"), &mut findings);
    add_contradictions(&[&general], &mut findings);
    for (_, rules) in &file.modules {
        let own = check_rules(environment, rules, &GrantSource::named("the rule"), &mut findings);
        add_contradictions(&[&general, &own], &mut findings);
    }
    findings.extend(names_warning(&file));
    for (key, rules) in &file.tasks {
        let own = check_rules(environment, rules, &GrantSource::named("the rule"), &mut findings);
        add_contradictions(&[&general, &own], &mut findings);
        if rules.allow != Allow::default() {
            let text = format!("this applies to each task that fits `{}`, in every play", key.value);
            findings.push(Finding { place: Some(key.place), gravity: Gravity::Warning, text });
        }
    }
    findings.sort();
    // An error in the general rules was found again for each module.
    findings.dedup();
    findings
}

fn check_rules(
    environment: &Environment,
    written: &FileRules,
    source: &GrantSource,
    findings: &mut Vec<Finding>,
) -> PlacedRules {
    let Resolved { rules, places, outside_places, wrong } = settings::resolve(environment, written, source);
    // What may be asked is not granted, so only what a run refuses is wrong with it.
    let asked = settings::resolve(environment, &settings::asked_rules(written), source).wrong;
    findings.extend(wrong.into_iter().chain(asked).map(|WrongGrant { place, written, error }| Finding {
        place: Some(place),
        gravity: Gravity::Error,
        text: format!("invalid grant `{written}`: {}", error_words(&error)),
    }));
    for (grant, place) in rules.paths.iter().zip(&places) {
        let warnings = path_warnings(environment, grant).into_iter();
        findings.extend(warnings.map(|text| Finding { place: Some(*place), gravity: Gravity::Warning, text }));
    }
    check_outside::check(written, &rules, (&places, &outside_places), findings);
    for command in &written.allow.run {
        let warnings = command.value.parse().ok().and_then(|rule| command_warning(&rule));
        findings.extend(warnings.map(|text| Finding { place: Some(command.place), gravity: Gravity::Warning, text }));
    }
    PlacedRules { rules, places }
}

/// Returns one warning about all rules that are for names, not for modules.
fn names_warning(file: &PolicyFile) -> Option<Finding> {
    let named = file.modules.iter().filter_map(|(key, _)| match &key.value {
        ModuleKey::Name(name) => Some((key.place, name)),
        _ => None,
    });
    let named: Vec<_> = named.collect();
    let (place, first) = named.first()?;
    let rules = match named.len() - 1 {
        0 => format!("this applies to every module named `{first}`"),
        1 => "this and 1 more rule are for names, and apply to every module with such a name".to_owned(),
        more => format!("this and {more} more rules are for names, and apply to every module with such a name"),
    };
    let text = format!("{rules}; a `sha256:` digest selects one module");
    Some(Finding { place: Some(*place), gravity: Gravity::Warning, text })
}

/// Returns a warning about a command whose program does not exist.
fn command_warning(rule: &RunRule) -> Option<String> {
    let program = Path::new(rule.program());
    (program.is_absolute() && !program.exists()).then(|| format!("`{}` does not exist yet", program.display()))
}

/// Adds an error if grants contradict each other, since a run would refuse them.
fn add_contradictions(sources: &[&PlacedRules], findings: &mut Vec<Finding>) {
    let rules: Vec<Rules> = sources.iter().map(|source| source.rules.clone()).collect();
    if let Err(error) = merge(&rules) {
        let mut placed = sources.iter().flat_map(|source| source.rules.paths.iter().zip(&source.places));
        // Report the later one of two contradicting grants.
        let place = placed.rfind(|(grant, _)| grant.guest == error.guest()).map(|(_, place)| *place);
        findings.push(Finding { place, gravity: Gravity::Error, text: error.to_string() });
    }
}

/// Returns warnings about a path grant that may be a mistake.
fn path_warnings(environment: &Environment, grant: &PathGrant) -> Vec<String> {
    let mut warnings = Vec::new();
    let shown = grant.host.display();
    match grant.host.symlink_metadata() {
        Err(_) => warnings.push(format!("`{shown}` does not exist yet")),
        Ok(metadata) if !metadata.is_dir() && !metadata.is_file() => {
            warnings.push(format!("`{shown}` is neither a file nor a directory; guests cannot open it"));
        }
        Ok(_) => {}
    }
    let home = environment.variable("HOME").map(|home| PathBuf::from(home).canonicalize());
    let is_home = matches!(home, Some(Ok(home)) if home.starts_with(&grant.host) && grant.host.parent().is_some());
    if BROAD.iter().any(|broad| grant.host == Path::new(broad)) {
        warnings
            .push(format!("`{shown}` is a broad grant to {}; grant only what the modules need", grant.access.as_str()));
    } else if is_home {
        warnings.push(format!("`{shown}` contains your home folder"));
    }
    warnings
}

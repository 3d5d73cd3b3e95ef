//! `modbox update`: moves the lock file to what tags stand for now, and shows what changes with that.

use anyhow::Context as _;
use modbox_registry::lock_file::{LockFile, LockedModule};
use modbox_registry::reference::Reference;

use crate::cli::args::UpdateArgs;
use crate::cli::context::Context;
use crate::cli::exit::{ExitStatus, Failure, OrExit};
use crate::cli::module_store::module_store;
use crate::cli::printing::output::{clean_line, print_line};
use crate::cli::registry::{ModuleJudge, RegistryAccess, UserLibrary};
use crate::cli::settings::Settings;

/// Updates the lock file, and prints a line for each tag and what changes.
pub(crate) fn run(context: &Context, args: &UpdateArgs) -> Result<ExitStatus, Failure> {
    let environment = &context.environment;
    let library = args.installed.then(|| UserLibrary::of(environment)).transpose().or_unavailable()?;
    let lock_path = library.as_ref().map_or_else(|| environment.absolute(&args.lock), UserLibrary::lock);
    let lock = LockFile::read(&lock_path).or_usage()?;
    let trust = Settings::trust_of(environment, &args.policy).or_usage()?;
    let store = module_store(environment).or_unavailable()?;
    let access = RegistryAccess::new(context, &args.registry, &args.policy);
    let judge = ModuleJudge { store: &store, trust: &trust };
    for reference in references(args, &lock)? {
        let new = judge.pull(&access, &reference)?;
        for line in changes(&reference, lock.get(&reference), &new.locked) {
            print_line(&line).or_internal()?;
        }
        if args.dry_run {
            continue;
        }
        if let Some(library) = &library {
            library.write(&store, &new).or_unavailable()?;
        }
        let inserted = LockFile::update(&lock_path, |lock| lock.insert(&reference, new.locked).map(drop));
        inserted.or_unavailable()?.or_usage()?;
    }
    Ok(ExitStatus::Success)
}

/// Returns the tags that are to be asked for.
fn references(args: &UpdateArgs, lock: &LockFile) -> Result<Vec<Reference>, Failure> {
    let named: Result<Vec<Reference>, _> = args.references.iter().map(|text| text.parse()).collect();
    let named = named.or_usage()?;
    if let Some(fixed) = named.iter().find(|reference| reference.digest.is_some()) {
        return Err(anyhow::anyhow!("`{fixed}` has a digest, which stands for one module; name the tag alone"))
            .or_usage();
    }
    let all = || lock.iter().map(|(reference, _)| reference.clone()).collect();
    let references: Vec<Reference> = if named.is_empty() { all() } else { named };
    let nothing = || match args.installed {
        true => "nothing is installed; `modbox install oci://HOST/NAME:TAG` does".to_owned(),
        false => format!("`{}` has no modules; pull one first", args.lock.display()),
    };
    if let Some(other) = references.iter().find(|reference| args.installed && lock.get(reference).is_none()) {
        return Err(anyhow::anyhow!("`{other}` is not installed")).or_usage();
    }
    (!references.is_empty()).then_some(references).with_context(nothing).or_usage()
}

/// Describes what changes for a tag, in lines.
fn changes(reference: &Reference, old: Option<&LockedModule>, new: &LockedModule) -> Vec<String> {
    let Some(old) = old else {
        return vec![format!("{reference}: new, {}", new.manifest)];
    };
    if old.manifest == new.manifest && old.signers == new.signers && old.keys == new.keys {
        return vec![format!("{reference}: unchanged")];
    }
    let mut lines = vec![format!("{reference}: {} -> {}", old.manifest, new.manifest)];
    let unknown = "unknown".to_owned();
    let [before, after] = [old, new].map(|module| module.version.as_ref().unwrap_or(&unknown));
    if before != after {
        lines.push(format!("  version: {before} -> {after}"));
    }
    if old.signers != new.signers || old.keys != new.keys {
        lines.push(format!("  signed by: {} -> {}", signers(old), signers(new)));
    }
    let only_in = |one: &LockedModule, other: &LockedModule| {
        one.requests.iter().filter(|request| !other.requests.contains(request)).cloned().collect::<Vec<_>>()
    };
    lines.extend(only_in(new, old).iter().map(|request| format!("  now asks for: {}", clean_line(request))));
    lines.extend(only_in(old, new).iter().map(|request| format!("  no longer asks for: {}", clean_line(request))));
    lines
}

fn signers(module: &LockedModule) -> String {
    let names = module.signers.join(", ");
    if names.is_empty() {
        "no known signer".to_owned()
    } else {
        clean_line(&format!("{names} ({})", module.keys.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use modbox_registry::digest::Digest;

    use super::*;

    #[test]
    fn changes_name_version_signers_and_requests() {
        let reference: Reference = "oci://h/a:stable".parse().unwrap();
        let module = |content: &[u8], version: &str, signer: &str, requests: &[&str]| LockedModule {
            manifest: Digest::of(content),
            module: Digest::of(content),
            version: Some(version.to_owned()),
            signers: [signer].into_iter().filter(|signer| !signer.is_empty()).map(str::to_owned).collect(),
            keys: Vec::new(),
            requests: requests.iter().map(|request| (*request).to_owned()).collect(),
        };
        let old = module(b"a", "1.0", "", &["net x:443", "run git"]);
        let new = module(b"b", "1.1", "a@x", &["net y:443", "run git"]);
        let lines = changes(&reference, Some(&old), &new);
        let expect = ["  version: 1.0 -> 1.1", "  signed by: no known signer -> a@x ()", "  now asks for: net y:443"];
        assert_eq!(lines[1..4], expect);
        assert_eq!(lines[4], "  no longer asks for: net x:443");
        assert_eq!(changes(&reference, Some(&old), &old), ["oci://h/a:stable: unchanged"]);
        assert!(changes(&reference, None, &new)[0].starts_with("oci://h/a:stable: new, sha256:"));
    }
}

//! What policy files say of tools: which modules are tools, and what confirms their changes.

use std::path::{Path, PathBuf};

use modbox_policy::{Confirm, ToolRules};

use crate::cli::args::{GrantArgs, LimitArgs};
use crate::cli::process::environment::Environment;
use crate::cli::settings::{Audience, Settings};

/// Reads the policy files for tools of an agent: those that apply to every run, and these.
///
/// # Errors
///
/// As [`Settings::load`]; or no file has tools.
pub(crate) fn load(environment: &Environment, policy: &[PathBuf]) -> anyhow::Result<Settings> {
    let grants = GrantArgs { policy: policy.to_vec(), ..GrantArgs::default() };
    let audience = Audience::Agent { reads_only: true };
    let mut settings = Settings::load_for(audience, environment, &grants, &LimitArgs::default())?;
    anyhow::ensure!(
        !settings.tools.is_empty(),
        "no policy file says which modules are tools; add `tools: {{modules: [NAME], confirm: person}}` to a file, and name it with \
         `--policy`"
    );
    settings.audience = Audience::Agent { reads_only: confirm(&settings) == Confirm::Never };
    Ok(settings)
}

/// Returns the patterns of the first file with tools: others can only take away from its modules.
pub(crate) fn patterns(settings: &Settings) -> Vec<String> {
    let first = settings.tools.first();
    first.into_iter().flat_map(|(_, tools)| tools.modules.iter().map(|pattern| pattern.value.to_string())).collect()
}

/// Returns whether every file with tools has a module by this name.
pub(crate) fn is_tool(settings: &Settings, module: &str) -> bool {
    let has = |tools: &ToolRules| tools.modules.iter().any(|pattern| pattern.value.matches(module));
    !settings.tools.is_empty() && settings.tools.iter().all(|(_, tools)| has(tools))
}

/// Returns what confirms a change: the strictest of all files.
pub(crate) fn confirm(settings: &Settings) -> Confirm {
    settings.tools.iter().map(|(_, tools)| tools.confirm).max().unwrap_or(Confirm::Never)
}

/// Returns whether every file with tools lets changes of these paths be made at once: of what is in the folders. The folders
/// themselves are not, since one that is replaced by a link would lead elsewhere.
pub(crate) fn are_unconfirmed<'a>(settings: &[Unconfirmed], mut paths: impl Iterator<Item = &'a Path>) -> bool {
    !settings.is_empty()
        && paths.all(|path| settings.iter().all(|file| file.0.iter().any(|own| path != own && path.starts_with(own))))
}

/// The paths of one file, of which changes are made at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unconfirmed(Vec<PathBuf>);

/// Returns the paths of each file with tools, of which changes are made at once. A path that does not exist covers nothing.
///
/// # Errors
///
/// A path leads over a link. Who may change the link would decide what is unconfirmed.
pub(crate) fn unconfirmed(settings: &Settings) -> anyhow::Result<Vec<Unconfirmed>> {
    let of_file = |(file, tools): &(PathBuf, ToolRules)| {
        let mut paths = Vec::new();
        for path in tools.unconfirmed.iter().map(|path| Path::new(&path.value)) {
            let Ok(real) = path.canonicalize() else { continue };
            anyhow::ensure!(
                real == path,
                "`unconfirmed` of `{}` names `{}`, which leads over a link to `{}`; write that path",
                file.display(),
                path.display(),
                real.display()
            );
            paths.push(real);
        }
        Ok(Unconfirmed(paths))
    };
    settings.tools.iter().map(of_file).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use modbox_policy::{Access, Designated, LimitName, MergedPolicy, Policy};

    use super::*;
    use crate::cli::identity::Identity;
    use crate::cli::settings::ModuleIdentity;

    fn written(dir: &Path, agent: &str, person: &str) -> anyhow::Result<Settings> {
        fs::write(dir.join("agent.yaml"), agent)?;
        fs::write(dir.join("person.yaml"), person)?;
        let environment = Environment { policy_files: vec![dir.join("person.yaml")], ..Environment::empty(dir) };
        load(&environment, &[dir.join("agent.yaml")])
    }

    fn policies(settings: &Settings, dir: &Path) -> (MergedPolicy, MergedPolicy) {
        let identity = Identity::of_file("stat", &"0".repeat(64));
        let module = ModuleIdentity { name: "stat", identity: &identity, path: &dir.join("stat"), signature: None };
        (settings.granted_to(module).unwrap(), settings.for_module(module).unwrap())
    }

    #[test]
    fn only_files_with_tools_grant_and_all_restrict() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| {
            fs::create_dir_all(dir.path().join(name)).unwrap();
            dir.path().canonicalize().unwrap().join(name)
        };
        let (own, agents, narrow) = (path("own"), path("agents"), path("narrow"));
        let agent = format!(
            "tools: {{modules: [stat, 'a.*'], confirm: never}}\nallow: {{write: [{}], own: ['0:0'], net: ['h:1'], run: [/bin/true]}}\n\
             min-confinement: 0\ndesignated: write\nlimits: {{files: 100}}\n",
            agents.display()
        );
        let person = format!(
            "allow: {{read: [{}], env: [A=1]}}\nmodules: {{stat: {{allow: {{read: [{}]}}, limits: {{memory: 1MiB}}}}}}\n\
             limits: {{timeout: 300days, output: 1KiB}}\n",
            own.display(),
            narrow.display()
        );
        let settings = written(dir.path(), &agent, &person).unwrap();
        let (granted, given) = policies(&settings, dir.path());
        let hosts =
            |policy: &Policy| policy.paths().iter().map(|grant| (grant.host.clone(), grant.access)).collect::<Vec<_>>();
        assert_eq!(hosts(&granted.policy), [(agents.clone(), Access::Write)]);
        assert_eq!(hosts(&given.policy), [(agents, Access::Read)]);
        assert!(given.policy.own().is_empty() && given.policy.net().is_empty() && given.policy.run().is_empty());
        assert!(given.policy.env().is_empty());
        assert_eq!(given.policy.designated(), Designated::None);
        assert_eq!(given.policy.least_confinement().map(|least| least.level), Some(2));
        let defaults = modbox_vocabulary::Limits::default();
        assert_eq!((given.limits.max_memory, given.limits.max_files), (1 << 20, 100));
        assert_eq!(given.limits.timeout, defaults.timeout, "a file without tools raises no limit");
        assert!(
            given
                .limits_by
                .contains(&(LimitName::Output, format!("policy file {}", dir.path().join("person.yaml").display())))
        );
    }

    #[test]
    fn every_file_with_tools_must_have_a_module() {
        let dir = tempfile::tempdir().unwrap();
        let settings = written(
            dir.path(),
            "tools: {modules: [stat, 'a.*'], confirm: never}",
            "tools: {modules: ['*stat', 'a.b'], confirm: never}",
        )
        .unwrap();
        let tools = ["stat", "lstat", "a.b", "a.c", "x"].map(|name| is_tool(&settings, name));
        assert_eq!(tools, [true, false, true, false, false]);
        assert_eq!(patterns(&settings), ["*stat", "a.b"]);
        assert_eq!(confirm(&settings), Confirm::Never);
        let error = written(dir.path(), "allow: {}", "").err().unwrap().to_string();
        assert!(error.contains("no policy file says which modules are tools"), "{error}");
    }

    #[test]
    fn changes_are_unconfirmed_only_where_every_file_says_so() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("drafts/new")).unwrap();
        std::os::unix::fs::symlink(root.join("drafts"), root.join("link")).unwrap();
        std::os::unix::fs::symlink("nowhere", root.join("broken")).unwrap();
        let file = |paths: &str| format!("tools: {{modules: [stat], unconfirmed: [{paths}]}}");
        let under = |path: &str| root.join(path).display().to_string();
        let inner = file(&format!("{}, /nowhere, {}", under("drafts/new"), under("broken")));
        let settings = |outer: &str| written(dir.path(), &file(&under(outer)), &inner).unwrap();
        for link in ["link", "link/new", "link/../drafts"] {
            let error = unconfirmed(&settings(link)).unwrap_err().to_string();
            assert!(error.contains("leads over a link to") && error.contains("agent.yaml"), "{error}");
        }
        let own = unconfirmed(&settings("drafts")).unwrap();
        let paths = |paths: &[&str]| paths.iter().map(|path| root.join(path)).collect::<Vec<_>>();
        let are = |named: &[&str]| are_unconfirmed(&own, paths(named).iter().map(PathBuf::as_path));
        assert!(are(&["drafts/new/a", "drafts/new/b/c"]));
        assert!(!are(&["drafts/new"]) && !are(&["drafts/new/a", "drafts/new"]));
        assert!(!are(&["drafts/a"]) && !are(&["drafts/new/a", "other"]) && !are(&["drafts/newer"]));
        assert!(!are_unconfirmed(&[], paths(&["drafts"]).iter().map(PathBuf::as_path)));
    }
}

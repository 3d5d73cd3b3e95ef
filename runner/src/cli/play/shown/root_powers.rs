//! Says which grants of a policy are as powerful as root, as comments at its end.

use modbox_policy::PolicyFile;
use modbox_policy::outside::RootPower;
use modbox_run::suggestion::comment;
use modbox_vocabulary::GrantSource;

use crate::cli::process::environment::Environment;
use crate::cli::settings;

/// Returns the policy with a comment for each path, owner and rule in it that is as powerful as root. Reserved names of profiles are left out:
/// what suggests them says it.
pub(crate) fn with_root_powers(environment: &Environment, policy: &str) -> String {
    let Ok(file) = PolicyFile::parse(policy) else { return policy.to_owned() };
    let of_modules = file.modules.iter().map(|(_, rules)| rules);
    let all = std::iter::once(&file.rules).chain(of_modules).chain(file.tasks.iter().map(|(_, rules)| rules));
    let mut lines = Vec::new();
    for written in all {
        let rules = settings::resolve(environment, written, &GrantSource::named("")).rules;
        let of_rules = rules.outside.iter().filter(|grant| grant.is_own_rule()).flat_map(RootPower::of_command);
        let of_owners = rules.own.iter().filter_map(RootPower::of_owner);
        let all = rules.paths.iter().filter_map(RootPower::of_path).chain(of_rules).chain(of_owners);
        for RootPower { what, why, .. } in all {
            let line = format!("# as powerful as root: {}\n", comment(&format!("{what}: {why}")));
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
    }
    format!("{policy}{}", lines.concat())
}

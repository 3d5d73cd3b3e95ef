//! `ansible.cfg`, which modbox does not read: tells which of its settings would change a play, and how to set them here.
//!
//! A setting that would silently change what a play means is an error.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use modbox_vocabulary::quoting::quote;

use crate::cli::bounded;
use crate::cli::environment::Environment;
use crate::cli::output;

/// Maximum bytes of the file.
const MAX_FILE: u64 = 1 << 20;

/// A setting that would change a play.
struct Setting {
    section: &'static str,
    key: &'static str,
    /// What to do instead.
    instead: &'static str,
}

const fn setting(section: &'static str, key: &'static str, instead: &'static str) -> Setting {
    Setting { section, key, instead }
}

/// What to do about plugins.
const PLUGINS: &str = "plugins in Python are not supported";

/// The settings, in the order of the documentation of Ansible's sections.
const SETTINGS: [Setting; 31] = [
    setting("defaults", "roles_path", "use `--roles-path DIR`"),
    setting("defaults", "collections_path", "use `--collections-path DIR`"),
    setting("defaults", "collections_paths", "use `--collections-path DIR`"),
    setting("defaults", "library", "use `--module-path DIR`"),
    setting("defaults", "module_utils", "use `--module-utils DIR`"),
    setting("defaults", "inventory", "use `-i`, or `--as NAME` and `--groups NAMES`"),
    setting("defaults", "jinja2_extensions", "extensions of templates are not supported"),
    setting("defaults", "error_on_undefined_vars", "an undefined variable is always an error"),
    setting("defaults", "gathering", "set `gather_facts` in the play"),
    setting("defaults", "gather_subset", "set `gather_subset` in the play"),
    setting("defaults", "gather_timeout", "set `gather_timeout` in the play"),
    setting("defaults", "fact_path", "local facts are not supported"),
    setting("defaults", "inject_facts_as_vars", "facts are always variables, too"),
    setting("defaults", "force_handlers", "use `--force-handlers`"),
    setting("defaults", "interpreter_python", "use `--interpreter PATH`"),
    setting("defaults", "timeout", "use `--timeout TIME`"),
    setting("defaults", "vault_password_file", "vaults are not supported"),
    setting("defaults", "no_log", "set `no_log` in the play"),
    setting("defaults", "private_role_vars", "set `public` where a role is included"),
    setting("defaults", "strategy", "tasks run one after the other"),
    setting("defaults", "any_errors_fatal", "set `any_errors_fatal` in the play"),
    setting("defaults", "action_plugins", PLUGINS),
    setting("defaults", "filter_plugins", PLUGINS),
    setting("defaults", "lookup_plugins", PLUGINS),
    setting("defaults", "test_plugins", PLUGINS),
    setting("defaults", "vars_plugins", PLUGINS),
    setting("defaults", "callback_plugins", PLUGINS),
    setting("privilege_escalation", "become", "use `--become`"),
    setting("privilege_escalation", "become_user", "use `--become-user USER`"),
    setting("tags", "run", "use `--tags TAGS`"),
    setting("tags", "skip", "use `--skip-tags TAGS`"),
];

/// The settings that would change what variables mean, with their values and variables of the environment.
const HASH_BEHAVIOUR: (&str, &str, &str) = ("hash_behaviour", "merge", "ANSIBLE_HASH_BEHAVIOUR");

/// Looks for the file that Ansible would read, and for variables of the environment of the same kind. Prints a note on the
/// settings that are not read.
///
/// # Errors
///
/// A setting would silently change what the play means, or the file cannot be read.
pub(crate) fn check(environment: &Environment, plays: &[PathBuf]) -> anyhow::Result<()> {
    let (key, value, variable) = HASH_BEHAVIOUR;
    if environment.variable(variable).is_some_and(|given| given == value) {
        bail!("failed to run the play as Ansible would: `{variable}={value}` is not supported; {REMEDY}");
    }
    let Some(path) = find(environment, plays) else { return Ok(()) };
    let shown = path.display();
    let bytes = bounded::read_file(&path, MAX_FILE).with_context(|| format!("failed to read `{shown}`"))?;
    let settings = parse(&String::from_utf8_lossy(&bytes));
    let merges = |(section, name, given): &(String, String, String)| {
        section == "defaults" && name == key && given.eq_ignore_ascii_case(value)
    };
    if settings.iter().any(merges) {
        bail!(
            "failed to run the play as Ansible would: `{shown}` sets `{key} = {value}`, which is not supported; {REMEDY}"
        );
    }
    let ignored = ignored(&settings);
    if !ignored.is_empty() {
        let list = ignored.join(", ");
        output::print_note(&format!("`{shown}` is not read; it sets {list}"));
    }
    Ok(())
}

/// What to do about variables that are merged.
const REMEDY: &str = "combine the variables in the play with the filter `combine(recursive=true)`";

/// Returns the first file that there is, in Ansible's order. A play brings the file beside it, too.
fn find(environment: &Environment, plays: &[PathBuf]) -> Option<PathBuf> {
    const NAME: &str = "ansible.cfg";
    let named = environment.variable("ANSIBLE_CONFIG").filter(|path| !path.is_empty()).map(|path| {
        let path = environment.absolute(Path::new(path));
        if path.is_dir() { path.join(NAME) } else { path }
    });
    let beside = plays.iter().filter_map(|play| play.parent()).map(|folder| folder.join(NAME));
    let home = environment.variable("HOME").map(|home| Path::new(home).join(".ansible.cfg"));
    let places = named.into_iter().chain([environment.cwd.join(NAME)]).chain(beside).chain(home);
    places.chain([PathBuf::from("/etc/ansible/ansible.cfg")]).find(|path| path.is_file())
}

/// Returns the settings of a file: section, key and value.
fn parse(text: &str) -> Vec<(String, String, String)> {
    let (mut section, mut settings) = (String::new(), Vec::new());
    for line in text.lines() {
        let line = line.split(" ;").next().unwrap_or_default();
        if let Some(name) = line.trim_end().strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            name.trim().clone_into(&mut section);
        } else if !line.starts_with(['#', ';', ' ', '\t'])
            && let Some((key, value)) = line.split_once(['=', ':'])
        {
            settings.push((section.clone(), key.trim().to_lowercase(), value.trim().to_owned()));
        }
    }
    settings
}

/// Returns what is said of the settings that are not read.
fn ignored(settings: &[(String, String, String)]) -> Vec<String> {
    let is_set =
        |setting: &&Setting| settings.iter().any(|(section, key, _)| section == setting.section && key == setting.key);
    SETTINGS.iter().filter(is_set).map(|setting| format!("{} ({})", quote(setting.key), setting.instead)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_matter_are_told() {
        let check = |text: &str, expect: &[&str]| assert_eq!(ignored(&parse(text)), expect, "{text}");
        check("", &[]);
        check("roles_path = x\n", &[]);
        check("[defaults]\n# roles_path = x\n;library = y\nforks = 5\n continued\n", &[]);
        check(
            "[defaults]\nRoles_Path: a:b\n[tags]\nrun=x\n",
            &["roles_path (use `--roles-path DIR`)", "run (use `--tags TAGS`)"],
        );
        check(
            "[ssh_connection]\nbecome = 1\n[privilege_escalation]\nbecome = 1 ; always\n",
            &["become (use `--become`)"],
        );
        let settings = parse("[defaults]\nhash_behaviour = merge ; x\n");
        assert_eq!(settings, [("defaults".to_owned(), "hash_behaviour".to_owned(), "merge".to_owned())]);
    }

    #[test]
    fn the_settings_are_told_once() {
        let mut keys: Vec<_> = SETTINGS.iter().map(|setting| (setting.section, setting.key)).collect();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), SETTINGS.len());
    }
}

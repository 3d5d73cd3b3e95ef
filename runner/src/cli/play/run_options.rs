//! The options of a run: what switches say, and settings of Ansible where switches say nothing.

use std::sync::Arc;

use modbox_policy::accounts::Accounts;
use modbox_tasks::inventory::sources::GivenInventory;
use modbox_tasks::run::options::{OnMismatch, RunOptions, UserInfo};
use modbox_template::Layer;

use crate::cli::args::PlayArgs;
use crate::cli::play::ansible_settings::{AnsibleSettings, gathers_explicitly};
use crate::cli::play::files::inventory::{self, InventorySource};
use crate::cli::printing::output;

/// Returns the options of a run, by switches first, then by settings.
///
/// # Errors
///
/// A setting has an unknown value.
pub(crate) fn run_options(
    args: &PlayArgs,
    extra_vars: Layer,
    ansible: &AnsibleSettings,
    sources: &[InventorySource],
    given: Option<GivenInventory>,
    python: Option<&str>,
) -> anyhow::Result<RunOptions> {
    let usual = RunOptions::default();
    let chosen = |given: &[String], name| if given.is_empty() { ansible.list(name) } else { given.to_vec() };
    let flag = |given: bool, name| given || ansible.flag(name).unwrap_or(false);
    let mut groups = args.groups.clone();
    let host = inventory::only_host(sources).unwrap_or(&args.host).to_owned();
    given.iter().flat_map(|given| &given.warnings).for_each(|warning| output::print_note(warning));
    groups.retain(|group| !group.is_empty());
    Ok(RunOptions {
        is_named: host != usual.host,
        host,
        groups,
        inventory: given.map(Arc::new),
        connection: args.connection.clone(),
        check: args.check,
        diff: flag(args.diff, "DIFF_ALWAYS"),
        verbosity: verbosity(args, ansible),
        forks: args.ansible.forks.or_else(|| ansible.number("DEFAULT_FORKS")?.try_into().ok()).unwrap_or(usual.forks),
        tags: chosen(&args.tags, "TAGS_RUN"),
        skip_tags: chosen(&args.skip_tags, "TAGS_SKIP"),
        start_at_task: args.start_at_task.clone(),
        step: args.step,
        force_handlers: flag(args.force_handlers, "DEFAULT_FORCE_HANDLERS"),
        repeats_arguments: flag(false, "INJECT_INVOCATION"),
        gather_explicitly: gathers_explicitly(ansible)?,
        become_by_default: flag(args.become_user_by_default, "DEFAULT_BECOME"),
        become_user: args.become_user.clone().or_else(|| ansible.text("DEFAULT_BECOME_USER").map(str::to_owned)),
        no_log: flag(false, "DEFAULT_NO_LOG"),
        any_errors_fatal: flag(false, "ANY_ERRORS_FATAL"),
        task_timeout: ansible.number("TASK_TIMEOUT").unwrap_or(usual.task_timeout),
        poll_interval: ansible.number("DEFAULT_POLL_INTERVAL").unwrap_or(usual.poll_interval),
        needs_handlers: ansible.flag("ERROR_ON_MISSING_HANDLER").unwrap_or(usual.needs_handlers),
        user: user(),
        extra_vars: Arc::new(extra_vars),
        limit: args.limit.clone(),
        injects_facts: ansible.flag("INJECT_FACTS_AS_VARS").unwrap_or(usual.injects_facts),
        on_mismatch: match ansible.text("HOST_PATTERN_MISMATCH") {
            Some("error") => OnMismatch::Fail,
            Some("ignore") => OnMismatch::Ignore,
            _ => OnMismatch::Warn,
        },
        managed: ansible.text("DEFAULT_MANAGED_STR").map(managed_template),
        shows_skipped: ansible.flag("DISPLAY_SKIPPED_HOSTS").unwrap_or(usual.shows_skipped),
        open_files: ansible
            .number("PYTHON_MODULE_RLIMIT_NOFILE")
            .and_then(|number| number.try_into().ok())
            .unwrap_or(0),
        python: python.map_or_else(|| RunOptions::default().python, str::to_owned),
        ..RunOptions::default()
    })
}

/// Returns the template that a setting of `ansible_managed` stands for: `{file}`, `{host}` and `{uid}` are variables of the template
/// file, doubled braces are braces, and the rest is written by `strftime` with the time of the file (ansible-core 2.21,
/// `_generate_ansible_managed`).
fn managed_template(setting: &str) -> String {
    let named = [("{file}", "template_path"), ("{host}", "template_host"), ("{uid}", "template_uid")];
    let (mut template, mut rest) = (String::new(), setting);
    let text = |text: &str| {
        let text = text.replace("{{", "{").replace("}}", "}");
        let quoted = text.replace('\\', r"\\").replace('\'', r"\'");
        if text.contains('%') { format!("{{{{ template_mtime.strftime('{quoted}') }}}}") } else { text }
    };
    loop {
        let next = named.iter().filter_map(|(word, name)| Some((rest.find(word)?, word, name))).min();
        let Some((place, word, name)) = next else { break };
        template.push_str(&text(rest.get(..place).unwrap_or_default()));
        template.push_str(&format!("{{{{ {name} }}}}"));
        rest = rest.get(place + word.len()..).unwrap_or_default();
    }
    template + &text(rest)
}

/// Returns the number of `-v`, to which the setting adds.
pub(crate) fn verbosity(args: &PlayArgs, ansible: &AnsibleSettings) -> u8 {
    let more = ansible.number("DEFAULT_VERBOSITY").unwrap_or(0).clamp(0, 6);
    args.verbose.saturating_add(u8::try_from(more).unwrap_or(0))
}

/// Returns the user that modbox runs as.
pub(crate) fn user() -> UserInfo {
    let uid = rustix::process::geteuid();
    let name = Accounts::host().users().name(uid.as_raw()).map_or_else(|| uid.as_raw().to_string(), str::to_owned);
    UserInfo { name, is_root: uid.is_root() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_of_ansible_managed_is_a_template() {
        assert_eq!(managed_template("by hand"), "by hand");
        assert_eq!(managed_template("it's {{x}} {file}"), "it's {x} {{ template_path }}");
        let expect = "{{ template_mtime.strftime('it\\'s %Y: ') }}{{ template_path }} on {{ template_host }}";
        assert_eq!(managed_template("it's %Y: {file} on {host}"), expect);
    }
}
